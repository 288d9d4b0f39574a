package screen

import (
	"time"

	"github.com/agenthost/agenthost/adapters"
)

// drawPause is the least time between two drawings while output goes on: a flood is
// drawn in large pieces, of which most has scrolled away before anybody could see it.
// What comes after a pause is drawn at once, and who looks at the screen sees all.
// While a person's terminal answers the agent's questions nothing waits for a drawing
// at all, and the pieces may be larger.
const (
	drawPause    = 20 * time.Millisecond
	consolePause = 200 * time.Millisecond
)

// besideBytes is from how much on the agent does not wait for a drawing.
const besideBytes = 64 << 10

// lazy puts off drawing. It is guarded by Hub.mu.
type lazy struct {
	drew   time.Time // when it was last drawn
	alarm  alarm
	armed  bool // it runs
	beside bool // a drawing is under way of its own
}

// due reports whether it is time to draw; else it sees to it that it will be. It is
// called under mu, by who draws then before anything else comes: so what is not drawn
// is never more than half of the ring and what comes at once.
func (h *Hub) due() bool {
	l := &h.lazy
	now, pause, undrawn := time.Now(), drawPause, h.ring.head-h.drawn
	if h.console {
		pause = consolePause
	}
	switch {
	case undrawn >= int64(h.ring.max/2), undrawn < besideBytes && now.Sub(l.drew) >= pause:
		l.drew = now
		return true
	case undrawn >= int64(h.ring.max/4) || now.Sub(l.drew) >= pause:
		if !l.beside {
			l.drew, l.beside = now, true
			go h.drawBeside()
		}
	case !l.armed:
		l.armed = true
		l.alarm.set(pause, h.drawLate)
	}
	return false
}

// drawBeside is draw, and has drawn what came meanwhile.
func (h *Hub) drawBeside() {
	h.draw()
	h.mu.Lock()
	defer h.mu.Unlock()
	l := &h.lazy
	l.beside = false
	if h.drawn < h.ring.head && !l.armed && !h.closed {
		l.armed = true
		l.alarm.set(drawPause, h.drawLate)
	}
}

func (h *Hub) drawLate() {
	h.mu.Lock()
	h.lazy.armed = false
	h.lazy.drew = time.Now()
	h.mu.Unlock()
	h.draw()
}

// draw brings the screen to where the bytes are.
func (h *Hub) draw() {
	h.drawing.Lock()
	defer h.drawing.Unlock()
	h.catchUp()
}

// catchUp is draw under drawing. What the agent asked its terminal is answered then, by
// whose turn it is.
func (h *Hub) catchUp() {
	h.mu.Lock()
	end := h.ring.head // not what comes meanwhile: that could go on for ever
	for h.drawn < end {
		c := h.piece(h.scratch[:0], h.drawn, 0)
		h.mu.Unlock()
		h.term.Resize(c.Cols, c.Rows)
		_, _ = h.term.Write(c.Data)
		if h.scratch = nil; len(c.Data) >= besideBytes {
			h.scratch = c.Data // in a flood; new memory for each piece takes longer than drawing it
		}
		h.mu.Lock()
		h.drawn = c.At
		h.asked(c.At - int64(len(c.Data)))
	}
	h.mu.Unlock()
}

// wholeBytes bounds the lines that go before a Reset: thousands of them.
const wholeBytes = 256 << 10

// repaint is a Reset, of the whole with what left the screen.
func (h *Hub) repaint(whole bool) Chunk {
	h.drawing.Lock()
	defer h.drawing.Unlock()
	h.catchUp()
	h.mu.Lock()
	_, now := h.status(h.drawn)
	epoch := h.epoch
	h.mu.Unlock()
	paint := h.term.Repaint
	if whole {
		paint = func() []byte { return h.term.RepaintAll(wholeBytes) }
	}
	return Chunk{At: h.drawn, Data: paint(), Reset: true, Cols: now.cols, Rows: now.rows, Running: now.running, Epoch: epoch}
}

// Repaint is what shows the screen on a terminal of its size, see vt.Terminal.Repaint.
func (h *Hub) Repaint() []byte { return h.repaint(false).Data }

// Snapshot is the screen as text.
func (h *Hub) Snapshot() adapters.Screen {
	h.drawing.Lock()
	defer h.drawing.Unlock()
	h.catchUp()
	s := adapters.Screen{Alt: h.term.Alt(), Paste: h.term.Paste(), Title: h.term.Title(), Lines: h.term.Lines()}
	s.Cols, s.Rows = h.term.Size()
	s.X, s.Y = h.term.Cursor()
	return s
}
