package host

import "sync"

// inbox hands work to the loop. Posting never blocks, so that a decision may
// come from inside the loop's own call; its length is bounded by the callers,
// each of which waits for its own message.
type inbox struct {
	mu    sync.Mutex
	queue []func() // guarded by mu
	over  bool     // guarded by mu; nothing is taken any more
	// ready holds one token while queue is not empty.
	ready chan struct{}
}

func newInbox() *inbox { return &inbox{ready: make(chan struct{}, 1)} }

// post reports whether the loop will run f.
func (b *inbox) post(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return false
	}
	b.queue = append(b.queue, f)
	select {
	case b.ready <- struct{}{}:
	default:
	}
	return true
}

// next takes the oldest message, nil when there is none.
func (b *inbox) next() func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.queue) == 0 {
		return nil
	}
	f := b.queue[0]
	b.queue[0] = nil
	b.queue = b.queue[1:]
	if len(b.queue) > 0 {
		select {
		case b.ready <- struct{}{}:
		default:
		}
	}
	return f
}

// close refuses further messages and returns those that were never run.
func (b *inbox) close() []func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	rest := b.queue
	b.queue = nil
	return rest
}
