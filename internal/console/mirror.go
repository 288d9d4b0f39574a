package console

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// mirror shows a screen of any size in a terminal of any size. It is the terminal's
// only user while it is on, and draws into the alternate screen.
type mirror struct {
	em         *vt.Emulator
	drained    chan struct{} // closed when what the emulator answers is no longer read
	cols, rows int           // of the screen
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
func (m *mirror) reset(cols, rows int) {
	m.close()
	m.cols, m.rows = cols, rows
	em, drained := vt.NewEmulator(cols, rows), make(chan struct{})
	em.SetScrollbackSize(0)
	m.em, m.drained = em, drained
	go func() { // it blocks at a question until its answer is read
		defer close(drained)
		_, _ = io.Copy(io.Discard, em)
	}()
}

// resize follows the size of the screen; 0 is not known.
func (m *mirror) resize(cols, rows int) {
	if m.em == nil || cols <= 0 || rows <= 0 || cols == m.cols && rows == m.rows {
		return
	}
	m.cols, m.rows = cols, rows
	m.em.Resize(cols, rows)
}

func (m *mirror) close() {
	if m.em == nil {
		return
	}
	closeEmulator(m.em)
	<-m.drained
	m.em = nil
}

// closeEmulator ends the reading of what an emulator answers. Its own Close may not be
// called while it is read.
func closeEmulator(em *vt.Emulator) {
	if w, ok := em.InputPipe().(io.Closer); ok {
		_ = w.Close() // has no error
	}
}

// write takes what the agent wrote. An emulator that fails on it is no reason to fail:
// the screen is wrong until the next repaint, which false asks for.
func (m *mirror) write(p []byte) (fine bool) {
	if m.em == nil {
		return true // nothing is known of the screen yet
	}
	defer func() {
		if recover() != nil {
			fine = false
		}
	}()
	_, err := m.em.Write(p)
	return err == nil
}

// paint draws what changed into a terminal of cols and rows, whose last line is status.
func (m *mirror) paint(cols, rows int, status string) []byte {
	room := max(1, rows-1)
	lines := make([]string, 0, rows)
	x, y, hidden := 0, 0, true
	if m.em != nil {
		pos := m.em.CursorPosition()
		m.pan(cols, room, pos.X, pos.Y)
		x, y, hidden = pos.X-m.left, pos.Y-m.top, m.em.CursorHidden()
		all := strings.Split(m.em.Render(), "\n")
		for i := m.top; i < len(all) && len(lines) < room; i++ {
			lines = append(lines, ansi.Cut(strings.TrimSuffix(all[i], "\r"), m.left, m.left+cols))
		}
	}
	for len(lines) < room {
		lines = append(lines, "")
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
		if ansi.StringWidth(line) < cols {
			b = append(b, "\x1b[K"...)
		}
		m.shown[i] = line
	}
	if !hidden && x >= 0 && x < cols && y >= 0 && y < room {
		b = fmt.Appendf(b, "\x1b[%d;%dH\x1b[?25h", y+1, x+1)
	}
	return append(b, "\x1b[?2026l"...)
}

// pan moves the part that is shown so that the cursor is in it, and no further than
// needed.
func (m *mirror) pan(cols, rows, x, y int) {
	place := func(at, size, all, want int) int {
		if want < at {
			at = want
		}
		if want >= at+size {
			at = want - size + 1
		}
		return max(0, min(at, all-size))
	}
	m.left, m.top = place(m.left, cols, m.cols, x), place(m.top, rows, m.rows, y)
}

// statusLine is a line in reverse video, as wide as the terminal.
func statusLine(s string, cols int) string {
	s = ansi.Truncate(" "+ansi.Strip(s), cols, "…")
	return "\x1b[7m" + s + strings.Repeat(" ", max(0, cols-ansi.StringWidth(s))) + "\x1b[m"
}
