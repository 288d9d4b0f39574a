package screen

import (
	"time"

	"github.com/agenthost/agenthost/adapters"
)

// drawPause is the least time between two drawings while output goes on: a flood is
// drawn in large pieces, of which most has scrolled away before anybody could see it.
// What comes after a pause is drawn at once, and who looks at the screen sees all.
const drawPause = 20 * time.Millisecond

// lazy puts off drawing. It is guarded by Hub.mu.
type lazy struct {
	drew  time.Time // when it was last drawn
	alarm alarm
	armed bool // it runs
}

// due reports whether it is time to draw; else it sees to it that it will be. It is
// called under mu, by who draws then before anything else comes: so what is not drawn
// is never more than half of the ring and what comes at once.
func (h *Hub) due() bool {
	l := &h.lazy
	now := time.Now()
	if now.Sub(l.drew) >= drawPause || h.ring.head-h.drawn >= int64(h.ring.max/2) {
		l.drew = now
		return true
	}
	if !l.armed {
		l.armed = true
		l.alarm.set(drawPause, h.drawLate)
	}
	return false
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

// catchUp is draw under drawing. What the agent asked its terminal is answered then.
func (h *Hub) catchUp() {
	h.mu.Lock()
	end := h.ring.head // not what comes meanwhile: that could go on for ever
	for h.drawn < end {
		c := h.piece(h.drawn, 0)
		h.mu.Unlock()
		h.term.Resize(c.Cols, c.Rows)
		_, _ = h.term.Write(c.Data)
		h.mu.Lock()
		h.drawn = c.At
	}
	h.mu.Unlock()
	if answers := h.term.Answers(); len(answers) > 0 {
		h.reply(answers)
	}
}

// reply types answers of the terminal, unless a person's terminal gives its own.
func (h *Hub) reply(answers []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.console || h.source == nil {
		return
	}
	if _, err := h.source.Write(answers); err != nil {
		h.o.Logger.Warn("the agent did not take its terminal's answers", "err", err)
	}
}

// repaint is a Reset.
func (h *Hub) repaint() Chunk {
	h.drawing.Lock()
	defer h.drawing.Unlock()
	h.catchUp()
	h.mu.Lock()
	_, now := h.status(h.drawn)
	h.mu.Unlock()
	return Chunk{At: h.drawn, Data: h.term.Repaint(), Reset: true, Cols: now.cols, Rows: now.rows, Running: now.running}
}

// Repaint is what shows the screen on a terminal of its size, see vt.Terminal.Repaint.
func (h *Hub) Repaint() []byte { return h.repaint().Data }

// Scrollback are the lines that left the screen at its top, the oldest first, with
// their colours and ends.
func (h *Hub) Scrollback() []byte {
	h.drawing.Lock()
	defer h.drawing.Unlock()
	h.catchUp()
	return h.term.Scrollback()
}

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
