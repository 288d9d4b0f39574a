package console

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

const (
	// MaxTyped is how many bytes may wait until the agent's side takes them; what is
	// typed beyond waits in the person's terminal.
	MaxTyped = 1 << 20
	// inputBytes is the most that is typed at once.
	inputBytes = 32 << 10
	// sequenceTime is how long the rest of a sequence of a terminal may take: they send
	// it at once.
	sequenceTime = 50 * time.Millisecond
)

// outbox is what goes to the agent's side: what is typed in its order, the newest size,
// the wish for control.
type outbox struct {
	c    *console
	wake chan struct{} // holds a value when there is something to send
	room chan struct{} // holds a value when something was sent
	idle chan struct{} // holds a value when nothing is left to send

	mu         sync.Mutex
	typed      []byte // guarded by mu
	cols, rows int    // guarded by mu; 0 for none
	taking     bool   // guarded by mu
	busy       bool   // guarded by mu: something is being sent
}

func newOutbox(c *console) *outbox {
	return &outbox{c: c, wake: make(chan struct{}, 1), room: make(chan struct{}, 1), idle: make(chan struct{}, 1)}
}

func signalTo(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (o *outbox) put(f func()) {
	o.mu.Lock()
	f()
	o.mu.Unlock()
	signalTo(o.wake)
}

func (o *outbox) resize(cols, rows int) { o.put(func() { o.cols, o.rows = cols, rows }) }
func (o *outbox) take()                 { o.put(func() { o.taking = true }) }

// drop forgets what waits to be typed, and reports whether something did.
func (o *outbox) drop() (dropped bool) {
	o.put(func() { dropped, o.typed = len(o.typed) > 0, nil })
	signalTo(o.room)
	return dropped
}

// add adds what was typed, and waits while there is too much.
func (o *outbox) add(ctx context.Context, p []byte) {
	for {
		o.mu.Lock()
		if len(o.typed) < MaxTyped {
			o.typed = append(o.typed, p...)
			o.mu.Unlock()
			signalTo(o.wake)
			return
		}
		o.mu.Unlock()
		select {
		case <-o.room:
		case <-ctx.Done():
			return
		}
	}
}

// next takes out what is to be sent.
func (o *outbox) next() (taking bool, cols, rows int, typed []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	taking, cols, rows = o.taking, o.cols, o.rows
	n := min(len(o.typed), inputBytes)
	typed = o.typed[:n:n]
	if o.typed = o.typed[n:]; len(o.typed) == 0 {
		o.typed = nil
	}
	o.taking, o.cols, o.rows = false, 0, 0
	o.busy = taking || cols > 0 || n > 0
	return taking, cols, rows, typed
}

// run sends until ctx is over.
func (o *outbox) run(ctx context.Context) {
	for ctx.Err() == nil {
		taking, cols, rows, typed := o.next()
		if !taking && cols == 0 && len(typed) == 0 {
			signalTo(o.idle)
			select {
			case <-o.wake:
			case <-ctx.Done():
			}
			continue
		}
		o.send(ctx, taking, cols, rows, typed)
		signalTo(o.room)
	}
}

func (o *outbox) send(ctx context.Context, taking bool, cols, rows int, typed []byte) {
	if taking {
		if err := o.c.t.Take(ctx); err != nil && ctx.Err() == nil {
			o.tell(ctx, "control could not be taken: "+err.Error())
		}
	}
	if cols > 0 {
		o.check(ctx, o.c.t.Resize(ctx, cols, rows))
	}
	if len(typed) > 0 {
		o.check(ctx, o.c.t.Input(ctx, typed))
	}
}

// tell lets the loop show a hint.
func (o *outbox) tell(ctx context.Context, hint string) {
	select {
	case o.c.told <- hint:
	case <-ctx.Done():
	}
}

// check drops what waits when another one holds control or keys do not go else, and ends
// the console when the other side is gone.
func (o *outbox) check(ctx context.Context, err error) {
	var why *NotTypedError
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, ErrLocked): // the line at the bottom says so
		o.drop()
	case errors.As(err, &why):
		o.drop()
		o.tell(ctx, "keys do not go: "+why.Why)
	default:
		select {
		case o.c.faults <- fault{err: err}:
		case <-ctx.Done():
		}
	}
}

// flush waits until all is sent, for a while.
func (o *outbox) flush(most time.Duration) {
	late := time.After(most)
	for {
		o.mu.Lock()
		over := !o.busy && len(o.typed) == 0
		o.mu.Unlock()
		if over {
			return
		}
		select {
		case <-o.idle:
		case <-late:
			return
		}
	}
}

// keyboard reads what the person types.
func (c *console) keyboard(ctx context.Context) {
	k := &keys{escape: c.opts.Escape}
	buf := make([]byte, 32<<10)
	for ctx.Err() == nil {
		if len(k.held) > 0 {
			_ = c.tty.in.SetReadDeadline(time.Now().Add(sequenceTime)) // without deadlines it waits for the next key
		}
		n, err := c.tty.in.Read(buf)
		switch {
		case n > 0:
			c.typed(ctx, k.feed(time.Now(), buf[:n]))
		case errors.Is(err, os.ErrDeadlineExceeded):
			c.typed(ctx, k.flush())
		default:
			c.leaving.Store(true)
			close(c.hungUp)
			return
		}
		if len(k.held) == 0 && ctx.Err() == nil {
			_ = c.tty.in.SetReadDeadline(time.Time{})
		}
	}
}

// typed passes on what the person did.
func (c *console) typed(ctx context.Context, events []keyEvent) {
	for _, e := range events {
		if e.typed != nil {
			c.typedKeys(ctx, e.typed)
			continue
		}
		if e.command == 'd' && !c.opts.Alone {
			c.leaving.Store(true)
		}
		select {
		case c.events <- e.command:
		case <-ctx.Done():
		}
	}
}

// typedKeys passes on keys for the agent. They end the hint that stands, and not the one
// that comes of them.
func (c *console) typedKeys(ctx context.Context, p []byte) {
	if c.notice.Load() {
		select {
		case c.events <- 0:
		default: // it has enough to do
		}
	}
	if c.held.Load() {
		c.out.add(ctx, p)
	}
}
