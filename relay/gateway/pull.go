package gateway

import (
	"context"
	"iter"
	"sync"
	"time"
)

const (
	// pullBytes and pullItems bound what is read of a stream before it is sent.
	pullBytes = 256 << 10
	pullItems = 1024
)

// puller reads a stream one small batch ahead, so that what is there at once is sent
// together, and a reader that waits knows it.
type puller struct {
	mem   *pool // what it reads counts there until the reader gives it back
	stop  context.CancelFunc
	done  chan struct{} // closed when the stream is let go
	wake  chan struct{} // has room for one: there is something to take
	space chan struct{} // has room for one: there is room again

	mu    sync.Mutex
	items []Item
	bytes int
	over  bool
	err   error
}

// pull starts reading, within mem. The stream must end with ctx. The caller calls
// close.
func pull(ctx context.Context, mem *pool, open func(context.Context) (iter.Seq2[Item, error], error)) (*puller, error) {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, holdKey{}, mem))
	seq, err := open(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	p := &puller{mem: mem, stop: cancel, done: make(chan struct{}), wake: make(chan struct{}, 1), space: make(chan struct{}, 1)}
	go p.run(ctx, seq)
	return p, nil
}

func (p *puller) run(ctx context.Context, seq iter.Seq2[Item, error]) {
	defer close(p.done)
	var failed error
	for item, err := range seq {
		if err != nil {
			failed = err
			break
		}
		if !p.put(ctx, item) {
			break
		}
	}
	if failed == nil && ctx.Err() != nil {
		// Streams end with ctx as they do when a session is removed, which it was not.
		failed = context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over, p.err = true, failed
	signal(p.wake)
}

// cost is what an item counts for while it is sent.
func (i Item) cost() int {
	n := copies * len(i.Line)
	if i.Live != nil && i.Live.Delta != nil {
		n += copies * len(i.Live.Delta.Text)
	}
	if i.Live != nil && i.Live.Ask != nil {
		n += copies * len(i.Live.Ask.Request)
	}
	if i.Changed != nil {
		n += metadataCost
	}
	return n
}

func (p *puller) put(ctx context.Context, item Item) bool {
	item.counted = copies * item.Held
	if more := item.cost() - item.counted; more > 0 {
		if p.mem.take(ctx, more) != nil {
			return false
		}
		item.counted += more
	}
	for {
		p.mu.Lock()
		if len(p.items) == 0 || p.bytes < pullBytes && len(p.items) < pullItems {
			p.items = append(p.items, item)
			p.bytes += item.counted / copies
			signal(p.wake)
			p.mu.Unlock()
			return true
		}
		p.mu.Unlock()
		select {
		case <-p.space:
		case <-ctx.Done():
			return false
		}
	}
}

// take returns what there is, waiting until there is something. It returns nothing
// after idle (0 for never), when ctx is over, and at the end, which over says.
func (p *puller) take(ctx context.Context, idle time.Duration) (items []Item, over bool, err error) {
	var late <-chan time.Time
	if idle > 0 {
		t := time.NewTimer(idle)
		defer t.Stop()
		late = t.C
	}
	for {
		p.mu.Lock()
		items, p.items, p.bytes = p.items, nil, 0
		over, err = p.over, p.err
		p.mu.Unlock()
		if len(items) > 0 {
			signal(p.space)
			return items, false, nil
		}
		if over {
			return nil, true, err
		}
		select {
		case <-p.wake:
		case <-late:
			return nil, false, nil
		case <-ctx.Done():
			return nil, false, context.Cause(ctx)
		}
	}
}

func (p *puller) close() {
	p.stop()
	<-p.done
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
