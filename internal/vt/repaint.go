package vt

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Repaint is what shows this screen on a terminal of its size, whatever that shows and
// however it is set. It takes the place of what is seen there, on the main screen too
// where the alternate one is on: who wants to keep that scrolls it away before. See the
// package's doc for what is promised.
func (t *Terminal) Repaint() []byte { return t.repaint(0) }

// repaint is Repaint, behind at most some bytes of the scrollback.
func (t *Terminal) repaint(scrollback int) []byte {
	t.linked = 0
	b := append([]byte(nil), "\x18\x1b[?1049l\x1b[?47l\x1b[r\x1b[4l\x1b[20l\x1b[?7h\x1b[?25l"+plain...)
	b = t.appendColors(b)
	b = t.appendScrollback(b, scrollback)
	b = t.appendScreen(b, &t.main)
	b = t.appendSaved(b, t.main.saved)
	if t.Alt() {
		b = appendMode(b, "?", t.altMode, true)
		b = append(b, plain...)
		b = t.appendScreen(b, &t.alt)
		b = t.appendSaved(b, t.alt.saved)
	}
	b = append(b, plain...)
	b = t.appendTabs(b)
	b = fmt.Appendf(b, "\x1b[%d;%dr", t.top+1, t.bottom)
	if t.titled {
		b = fmt.Appendf(b, "\x1b]2;%s\x1b\\", t.title)
	}
	b = t.appendPosition(b, t.cursor, t.top)
	if t.pending {
		b = t.appendPending(b)
	}
	b = t.appendCharacter(b, t.cursor)
	b = t.modes.append(b)
	if t.cursor.single != 0 {
		b = append(b, 0x1b, byte('N'+t.cursor.single-2))
	}
	return append(b, t.p.pending()...)
}

// plain makes origin mode, pen and character sets what they are at the start.
const plain = "\x1b[?6l\x1b[0m\x1b]8;;\x1b\\\x1b(B\x1b)B\x1b*B\x1b+B\x0f"

// appendColors appends the colours of the terminal: those that the program set.
func (t *Terminal) appendColors(b []byte) []byte {
	b = append(b, "\x1b]104\x1b\\"...)
	for _, n := range slices.Sorted(maps.Keys(t.palette)) {
		b = fmt.Appendf(b, "\x1b]4;%d;%s\x1b\\", n, t.palette[n])
	}
	for n := 10; n <= 12; n++ {
		if name, set := t.colors[n]; set {
			b = fmt.Appendf(b, "\x1b]%d;%s\x1b\\", n, name)
		} else {
			b = fmt.Appendf(b, "\x1b]%d\x1b\\", n+100)
		}
	}
	return b
}

// appendScreen appends all cells of a screen, with the plain pen before and after.
func (t *Terminal) appendScreen(b []byte, s *screen) []byte {
	b = append(b, "\x1b[H\x1b[J"...)
	var pen style
	for y, row := range s.rows {
		n := written(row)
		if n == 0 {
			continue
		}
		b = strconv.AppendInt(append(b, "\x1b["...), int64(y+1), 10)
		b = append(b, 'H')
		b, pen = t.appendCells(b, pen, row[:n])
	}
	return t.appendPen(b, pen, style{})
}

// written is how much of a row is not blank at its end.
func written(row []cell) int {
	n := len(row)
	for n > 0 && row[n-1] == (cell{}) {
		n--
	}
	return n
}

// appendCells appends cells, and gives the pen they leave.
func (t *Terminal) appendCells(b []byte, pen style, row []cell) ([]byte, style) {
	for _, c := range row {
		if c.style != pen && c.rune != tail {
			b = t.appendPen(b, pen, c.style)
			pen = c.style
		}
		b = t.appendCell(b, c)
	}
	return b, pen
}

// maxPainted is how many bytes of links a painting has at most: the same ones again and
// again could be a thousand times what is kept. What comes behind has none.
const maxPainted = 4 << 20

// appendPen appends what makes one pen the other.
func (t *Terminal) appendPen(b []byte, from, to style) []byte {
	if from.link != to.link {
		link := t.link(to.link)
		if t.linked += len(link); t.linked > maxPainted {
			link = t.link(0)
		}
		b = append(append(b, "\x1b]8;"...), link...)
		b = append(b, "\x1b\\"...)
	}
	from.link = to.link
	if from != to {
		b = to.appendSGR(b)
	}
	return b
}

func (t *Terminal) link(n uint16) string {
	if n == 0 {
		return ";"
	}
	return t.links.strings[n]
}

// appendSaved appends what saves a cursor. All is plain before, and no region set.
func (t *Terminal) appendSaved(b []byte, c cursor) []byte {
	b = t.appendPosition(b, c, 0)
	b = t.appendCharacter(b, c)
	return append(b, "\x1b7"...)
}

// appendPosition appends what moves the cursor, in a region that begins at top.
func (t *Terminal) appendPosition(b []byte, c cursor, top int) []byte {
	y := c.y
	if c.origin {
		b = appendMode(b, "?", 6, true)
		y -= top
	}
	return fmt.Appendf(b, "\x1b[%d;%dH", y+1, c.x+1)
}

// appendPending prints what is in the last column once more, which leaves the cursor
// behind it as it was left before.
func (t *Terminal) appendPending(b []byte) []byte {
	row := t.on.rows[t.cursor.y]
	c := row[t.cols-1]
	if c.rune == tail {
		b = append(b, '\b')
		c = row[t.cols-2]
	}
	b = t.appendPen(b, style{}, c.style)
	b = t.appendCell(b, c)
	return t.appendPen(b, c.style, style{})
}

// appendCharacter appends what sets pen and character sets, plain before.
func (t *Terminal) appendCharacter(b []byte, c cursor) []byte {
	b = t.appendPen(b, style{}, c.pen)
	for i, set := range c.sets {
		if set != 0 {
			b = append(b, 0x1b, byte('('+i), set)
		}
	}
	return append(b, [...]string{"", "\x0e", "\x1bn", "\x1bo"}[c.gl]...)
}

// appendBottom appends what moves the cursor to the last line.
func appendBottom(b []byte, rows int) []byte { return fmt.Appendf(b, "\x1b[%d;1H", rows) }

// appendTabs appends what sets the tab stops.
func (t *Terminal) appendTabs(b []byte) []byte {
	b = append(b, "\x1b[3g"...)
	for x, set := range t.tabs {
		if set {
			b = fmt.Appendf(b, "\x1b[%dG\x1bH", x+1)
		}
	}
	return b
}

// Line is what shows the columns from left on, before right, of a row, beginning and
// ending with the plain pen, and how many columns it fills: what is blank at its end
// is left out. Of a character that is cut a blank is shown. What lies outside of the
// screen is blank.
func (t *Terminal) Line(y, left, right int) (line []byte, width int) {
	if y < 0 || y >= t.rows {
		return nil, 0
	}
	t.linked = 0
	row := t.on.rows[y]
	left = max(0, left)
	right = min(right, written(row))
	if left >= right {
		return nil, 0
	}
	cut := slices.Clone(row[left:right])
	if first := &cut[0]; first.rune == tail {
		*first = cell{style: first.style}
	}
	if last := &cut[len(cut)-1]; last.wide {
		*last = cell{style: last.style}
	}
	line, pen := t.appendCells(nil, style{}, cut)
	return t.appendPen(line, pen, style{}), len(cut)
}
