package screen

import (
	"time"
)

const (
	// fullRead is what a PTY gives at most at once (Linux; elsewhere less, which is
	// no harm). So much means that more is on its way, and that readers may be woken
	// with it: waking one for every piece of a flood costs more than all else.
	fullRead = 4095
	// maxUnwoken is for how much they are woken in any case.
	maxUnwoken = 64 << 10
	// wakeLimit is when they are, should no more come.
	wakeLimit = time.Millisecond
)

// late puts off waking readers. It is guarded by Hub.mu.
type late struct {
	bytes int // since they were woken
	alarm alarm
	armed bool // it runs
}

// wake has those read who wait. It is called under mu.
func (h *Hub) wake() {
	h.late.bytes = 0
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// wakeFor is wake for n bytes that came. It is called under mu.
func (h *Hub) wakeFor(n int) {
	l := &h.late
	l.bytes += n
	if n < fullRead || l.bytes >= maxUnwoken {
		h.wake()
		return
	}
	if l.armed || h.changed == nil {
		return
	}
	l.armed = true
	l.alarm.set(wakeLimit, h.wakeLate)
}

func (h *Hub) wakeLate() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.late.armed = false
	h.wake()
}
