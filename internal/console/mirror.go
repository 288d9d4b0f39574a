package console

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/agenthost/agenthost/internal/vt"
)

// mirror shows a screen of any size in a terminal of any size. It is the terminal's
// only user while it is on, and draws into the alternate screen.
type mirror struct {
	em *vt.Terminal // nil while nothing is known of the screen
	// shown are the lines as they were drawn last; nil draws all.
	shown []string
	// left and top are the part of the screen that is shown.
	left, top int
}

// on switches to the alternate screen of the terminal, with the cursor hidden.
func (m *mirror) on() string {
	m.shown = nil
	return "\x1b[?1049h\x1b[?7l\x1b[?25l\x1b[m\x1b[2J"
}

// off leaves it.
func (m *mirror) off() string {
	return "\x1b[?25h\x1b[?7h\x1b[0 q\x1b[m\x1b[?1049l"
}

// reset makes the screen anew.
func (m *mirror) reset(cols, rows int) { m.em = vt.New(cols, rows, 0) }

// resize follows the size of the screen; 0 is not known.
func (m *mirror) resize(cols, rows int) {
	if m.em != nil && cols > 0 && rows > 0 {
		m.em.Resize(cols, rows)
	}
}

// write takes what the agent wrote. Its questions are answered elsewhere.
func (m *mirror) write(p []byte) {
	if m.em == nil {
		return
	}
	_, _ = m.em.Write(p) // never fails
	m.em.Answers()
}

// paint draws what changed into a terminal of cols and rows, whose last line is status.
func (m *mirror) paint(cols, rows int, status string) []byte {
	room := max(1, rows-1)
	lines := make([]string, 0, rows)
	x, y, hidden := 0, 0, true
	if m.em != nil {
		atX, atY := m.em.Cursor()
		m.pan(cols, room)
		x, y, hidden = atX-m.left, atY-m.top, !m.em.Visible()
		for len(lines) < room {
			line, width := m.em.Line(m.top+len(lines), m.left, m.left+cols)
			if width < cols {
				line = append(line, "\x1b[K"...)
			}
			lines = append(lines, string(line))
		}
	}
	for len(lines) < room {
		lines = append(lines, "\x1b[K")
	}
	if rows > 1 {
		lines = append(lines, statusLine(status, cols))
	}
	if len(m.shown) != len(lines) {
		m.shown = make([]string, len(lines))
		for i := range m.shown {
			m.shown[i] = "\x00" // drawn never
		}
	}
	var b []byte
	b = append(b, "\x1b[?2026h\x1b[?25l"...)
	for i, line := range lines {
		if line == m.shown[i] {
			continue
		}
		b = fmt.Appendf(b, "\x1b[%d;1H\x1b[m%s\x1b[m", i+1, line)
		m.shown[i] = line
	}
	if !hidden && x >= 0 && x < cols && y >= 0 && y < room {
		b = fmt.Appendf(b, "\x1b[%d;%dH\x1b[?25h", y+1, x+1)
	}
	return append(b, "\x1b[?2026l"...)
}

// pan moves the part that is shown so that the cursor is in it, and no further than
// needed.
func (m *mirror) pan(cols, rows int) {
	x, y := m.em.Cursor()
	allCols, allRows := m.em.Size()
	place := func(at, size, all, want int) int {
		if want < at {
			at = want
		}
		if want >= at+size {
			at = want - size + 1
		}
		return max(0, min(at, all-size))
	}
	m.left, m.top = place(m.left, cols, allCols, x), place(m.top, rows, allRows, y)
}

// statusLine is a line in reverse video, as wide as the terminal.
func statusLine(s string, cols int) string {
	s = ansi.Truncate(" "+ansi.Strip(s), cols, "…")
	return "\x1b[7m" + s + strings.Repeat(" ", max(0, cols-ansi.StringWidth(s))) + "\x1b[m"
}
