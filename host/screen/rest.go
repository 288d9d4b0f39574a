package screen

import (
	"reflect"
	"time"

	"github.com/agenthost/agenthost/adapters"
)

// rest finds out when the screen has come to rest. It is guarded by Hub.mu.
type rest struct {
	call  func(adapters.Screen) // nil for nobody
	told  adapters.Screen       // at the last call; guarded by armed
	anew  bool                  // nothing was told yet of the present agent
	moved time.Time             // when the screen was last written to
	alarm alarm
	armed bool // the alarm runs, or a call is under way
}

// Rested has f called when the output was quiet for Options.Rest and the screen looks
// otherwise than at the last call, or is of another agent. One call at a time, not under
// a lock. There is one such f; nil is none.
func (h *Hub) Rested(f func(adapters.Screen)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.rest.call = f
	h.touched()
}

// touched says that the screen was written to. It is called under mu.
func (h *Hub) touched() {
	r := &h.rest
	r.moved = time.Now()
	if r.armed || r.call == nil || h.closed {
		return
	}
	r.armed = true
	r.alarm.set(h.o.Rest, h.settle)
}

// settle runs when the screen may have come to rest.
func (h *Hub) settle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &h.rest
	moved := r.moved
	if left := h.o.Rest - time.Since(moved); left > 0 && !h.closed {
		r.alarm.set(left, h.settle)
		return
	}
	if call := r.call; call != nil {
		anew := r.anew
		r.anew = false
		h.mu.Unlock()
		// Only this reads and sets told: one call at a time.
		if now := h.Snapshot(); anew || !reflect.DeepEqual(now, r.told) {
			r.told = now
			call(now)
		}
		h.mu.Lock()
	}
	r.armed = false
	if !r.moved.Equal(moved) && r.call != nil && !h.closed {
		r.armed = true
		r.alarm.set(h.o.Rest, h.settle)
	}
}
