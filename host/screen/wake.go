package screen

import (
	"time"
)

const (
	// wakePause is how long readers wait for more in a flood: waking one for every
	// piece of it costs more than all else.
	wakePause = time.Millisecond
	// quickBytes is how much may come within a wakePause for which readers are woken
	// at once, each time: what is typed is echoed in less, and a small change drawn.
	quickBytes = 2 << 10
	// maxUnwoken is for how much they are woken in any case.
	maxUnwoken = 64 << 10
)

// late puts off waking readers. It is guarded by Hub.mu.
type late struct {
	bytes int       // since they were woken
	began time.Time // of the present wakePause
	burst int       // bytes since then
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
	now := time.Now()
	if now.Sub(l.began) >= wakePause {
		l.began, l.burst = now, 0
	}
	quick := l.burst < quickBytes
	l.burst += n
	l.bytes += n
	if quick || l.bytes >= maxUnwoken {
		h.wake()
		return
	}
	if l.armed || h.changed == nil {
		return
	}
	l.armed = true
	l.alarm.set(wakePause, h.wakeLate)
}

func (h *Hub) wakeLate() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.late.armed = false
	h.wake()
}
