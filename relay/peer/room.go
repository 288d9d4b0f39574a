package peer

import (
	"context"
	"slices"
	"sync"
)

// room bounds bytes. Those who wait get room in the order in which they came.
type room struct {
	size int

	mu      sync.Mutex
	free    int
	shut    bool
	waiting []*waiter // guarded by mu
}

type waiter struct {
	n     int
	ready chan struct{} // closed when it has its room, or the room is shut
}

func newRoom(size int) *room { return &room{size: size, free: size} }

// weight is what n bytes count for: what is larger than the room has it for itself.
func (r *room) weight(n int) int { return min(n, r.size) }

// take waits for room of n bytes; give it back with put. ErrNotSent says that the
// room was shut.
func (r *room) take(ctx context.Context, n int) error {
	n = r.weight(n)
	r.mu.Lock()
	if r.shut {
		r.mu.Unlock()
		return ErrNotSent
	}
	if len(r.waiting) == 0 && r.free >= n {
		r.free -= n
		r.mu.Unlock()
		return nil
	}
	w := &waiter{n: n, ready: make(chan struct{})}
	r.waiting = append(r.waiting, w)
	r.mu.Unlock()
	select {
	case <-w.ready:
		return r.granted(w)
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.waiting, w); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
	} else if w.n > 0 { // granted meanwhile
		r.free += w.n
	}
	r.grant()
	return context.Cause(ctx)
}

// granted tells a grant from the shutting of the room.
func (r *room) granted(w *waiter) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.n == 0 {
		return ErrNotSent
	}
	return nil
}

func (r *room) put(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free += r.weight(n)
	r.grant()
}

// grant serves those who wait. The caller holds mu.
func (r *room) grant() {
	for len(r.waiting) > 0 && r.waiting[0].n <= r.free {
		w := r.waiting[0]
		r.waiting = r.waiting[1:]
		r.free -= w.n
		close(w.ready)
	}
}

// close lets nobody in any more.
func (r *room) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = true
	for _, w := range r.waiting {
		w.n = 0
		close(w.ready)
	}
	r.waiting = nil
}
