package screen

import (
	"slices"
	"time"
)

// holdLimit is how long the agent waits for a reader with a Hold that does not move: a
// terminal that was stopped, or a machine that was asleep, must not stop the agent for
// ever. Such a reader has to take a Reset.
const holdLimit = 10 * time.Second

// hold is a reader that the agent waits for.
type hold struct {
	at      int64     // what it has shown
	since   time.Time // when it got there
	dropped bool      // it did not move for holdLimit
}

// Hold has the agent wait for a reader who must not miss anything: no more than
// Options.Ring bytes are taken of the agent beyond where progress, called with the At
// of what was shown, says the reader is. It begins where the output is now. A reader
// that is waited for and makes no progress for 10 s is waited for no more until it does.
// Release ends it, and may be called again.
func (h *Hub) Hold() (release func(), progress func(at int64)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := &hold{at: h.ring.head, since: time.Now()}
	h.holds = append(h.holds, l)
	release = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.holds = slices.DeleteFunc(h.holds, func(other *hold) bool { return other == l })
		h.move()
	}
	progress = func(at int64) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if at <= l.at && !l.dropped || at < h.ring.tail {
			return
		}
		l.at, l.since, l.dropped = min(at, h.ring.head), time.Now(), false
		h.move()
	}
	return release, progress
}

// move has the pump look again how far the holds are. It is called under mu.
func (h *Hub) move() {
	if h.moved != nil {
		close(h.moved)
		h.moved = nil
	}
}

// room waits until no hold is so far behind that n bytes more would overwrite what it
// has not shown. It is called under mu, and lets go of it while it waits.
func (h *Hub) room(s *shown, n int) {
	var began time.Time
	for h.source == s {
		l := h.laggard(n)
		if l == nil {
			return
		}
		if began.IsZero() {
			began = time.Now()
			h.wake() // it may wait for more to come
		}
		waited := time.Since(began)
		if l.since.After(began) {
			waited = time.Since(l.since)
		}
		if waited >= holdLimit {
			l.dropped = true
			h.o.Logger.Warn("a console does not take the agent's output: not waiting for it", "after", holdLimit)
			continue
		}
		if h.moved == nil {
			h.moved = make(chan struct{})
		}
		moved, limit := h.moved, time.NewTimer(holdLimit-waited)
		h.mu.Unlock()
		select {
		case <-moved:
		case <-limit.C:
		}
		limit.Stop()
		h.mu.Lock()
	}
}

// laggard is a hold that has not shown what n more bytes would overwrite. Changes of size
// take some room too, and come in between.
func (h *Hub) laggard(n int) *hold {
	room := int64(h.ring.max - min(maxMarks, h.ring.max/4) - n)
	for _, l := range h.holds {
		if !l.dropped && h.ring.head-l.at > room {
			return l
		}
	}
	return nil
}
