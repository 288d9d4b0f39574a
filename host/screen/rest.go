package screen

import (
	"reflect"
	"time"

	"github.com/agenthost/agenthost/adapters"
)

// rest finds out when the screen has come to rest. It is guarded by Hub.mu.
type rest struct {
	call  func(adapters.Screen) // nil for nobody
	told  adapters.Screen       // at the last call; guarded by Hub.telling
	anew  bool                  // what is at rest is to be told however it looks
	moved time.Time             // when the screen was last written to
	alarm alarm
	armed bool // the alarm runs, or a call is under way
}

// Rested has f called when the output was quiet for Options.Rest and the screen looks
// otherwise than at the last call, or is of another agent, or was looked at since (Look).
// One call at a time, each with a screen that is no older than that of the one before. f
// must not use the Hub. There is one such f; nil is none.
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
	if r.call != nil {
		h.mu.Unlock()
		h.tell(false)
		h.mu.Lock()
	}
	r.armed = false
	if !r.moved.Equal(moved) && r.call != nil && !h.closed {
		r.armed = true
		r.alarm.set(h.o.Rest, h.settle)
	}
}

// Look calls the f of Rested with the screen as it is now, at rest or not, and however it
// looks. It may be drawn in part: when it comes to rest f is called again.
func (h *Hub) Look() { h.tell(true) }

// tell calls the f of Rested: in any case, or when there is something to tell.
func (h *Hub) tell(anyway bool) {
	h.telling.Lock()
	defer h.telling.Unlock()
	r := &h.rest
	h.mu.Lock()
	call, anew := r.call, r.anew
	if call != nil {
		r.anew = anyway
	}
	h.mu.Unlock()
	if call == nil {
		return
	}
	if now := h.Snapshot(); anyway || anew || !reflect.DeepEqual(now, r.told) {
		r.told = now
		call(now)
	}
}
