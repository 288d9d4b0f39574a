package vt

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// cell is one place of the screen. The zero value is a blank.
type cell struct {
	rune  rune   // 0 for a blank, tail for the right half of a wide character
	marks uint16 // index in Terminal.marks: combining characters
	wide  bool   // the next cell is its tail
	style style
}

const tail rune = -1

// cursor is what DECSC saves.
type cursor struct {
	x, y   int
	pen    style
	sets   [4]byte // of G0 to G3: 0 for ASCII, else its final byte
	gl     int     // which of them is in use
	single int     // the one for the next character only, 0 for none
	origin bool    // positions count from the scrolling region
}

func (c *cursor) clamp(cols, rows int) {
	c.x, c.y = min(max(c.x, 0), cols-1), min(max(c.y, 0), rows-1)
}

// screen is the main or the alternate screen.
type screen struct {
	rows  [][]cell
	saved cursor // by DECSC
}

func newScreen(cols, rows int) screen {
	s := screen{rows: make([][]cell, rows)}
	for y := range s.rows {
		s.rows[y] = make([]cell, cols)
	}
	return s
}

// resize drops up lines at the top, and what is too much at the bottom.
func (s *screen) resize(cols, rows, up int) {
	old := s.rows[up:]
	s.rows = make([][]cell, rows)
	for y := range s.rows {
		s.rows[y] = make([]cell, cols)
		if y < len(old) {
			copy(s.rows[y], old[y])
			mend(s.rows[y], cols)
		}
	}
	s.saved.y -= up
	s.saved.clamp(cols, rows)
}

// mend makes a blank of the half of a wide character whose other half, on the other
// side of the border before x, was written over.
func mend(row []cell, x int) {
	if x > 0 && x <= len(row) && row[x-1].wide && (x == len(row) || row[x].rune != tail) {
		row[x-1] = cell{style: row[x-1].style.erased()}
	}
	if x < len(row) && row[x].rune == tail {
		if x == 0 || !row[x-1].wide {
			row[x] = cell{style: row[x].style.erased()}
		} else {
			row[x].style = row[x-1].style // half of another one that met it
		}
	}
}

// runeWidth is how many columns a character takes, 0 for one that belongs to the one
// before.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r < 0x2000 && !unicode.In(r, unicode.Mn, unicode.Me) && (r < 0x1100 || r > 0x11ff):
		return 1
	case r >= 0x1160 && r <= 0x11ff: // the vowels and finals of Hangul join the initial
		return 0
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// widths remembers how wide characters are: a screen has few different ones that are not
// ASCII.
type widths [256]struct {
	rune  rune
	width int
}

func (w *widths) of(r rune) int {
	if r < 0x300 {
		return 1
	}
	known := &w[r%int32(len(w))]
	if known.rune != r {
		known.rune, known.width = r, runeWidth(r)
	}
	return known.width
}

// appendCell appends the character of a cell, nothing for a tail.
func (t *Terminal) appendCell(b []byte, c cell) []byte {
	switch c.rune {
	case 0:
		return append(b, ' ')
	case tail:
		return b
	}
	return append(utf8.AppendRune(b, c.rune), t.marks.strings[c.marks]...)
}

// fill erases columns of a row.
func (t *Terminal) fill(row []cell, from, to int) {
	if t.cursor.pen.bg == 0 {
		clear(row[from:to])
	} else {
		blank := cell{style: t.cursor.pen.erased()}
		for x := from; x < to; x++ {
			row[x] = blank
		}
	}
	mend(row, from)
	mend(row, to)
}

// scrollUp moves the lines from top to bottom up by n.
func (t *Terminal) scrollUp(top, bottom, n int) {
	if top == 0 && t.on == &t.main {
		for _, row := range t.on.rows[:min(n, bottom)] {
			t.scrollback.push(row)
		}
	}
	t.deleteLines(top, bottom, n)
}

// deleteLines is scrollUp of lines that are not for the scrollback: those of DL.
func (t *Terminal) deleteLines(top, bottom, n int) {
	n = min(n, bottom-top)
	rows := t.on.rows[top:bottom]
	t.turn(rows, n)
	for _, row := range rows[len(rows)-n:] {
		t.fill(row, 0, t.cols)
	}
}

// scrollDown moves them down.
func (t *Terminal) scrollDown(top, bottom, n int) {
	n = min(n, bottom-top)
	rows := t.on.rows[top:bottom]
	t.turn(rows, len(rows)-n)
	for _, row := range rows[:n] {
		t.fill(row, 0, t.cols)
	}
}

// turn brings the first n rows behind the others.
func (t *Terminal) turn(rows [][]cell, n int) {
	if n == 1 {
		first := rows[0]
		copy(rows, rows[1:])
		rows[len(rows)-1] = first
		return
	}
	first := slices.Clone(rows[:n])
	copy(rows, rows[n:])
	copy(rows[len(rows)-n:], first)
}

// lineFeed moves the cursor down, and the region up at its last line.
func (t *Terminal) lineFeed() {
	t.pending = false
	switch {
	case t.cursor.y == t.bottom-1:
		t.scrollUp(t.top, t.bottom, 1)
	case t.cursor.y < t.rows-1:
		t.cursor.y++
	}
}

func (t *Terminal) reverseLineFeed() {
	t.pending = false
	switch {
	case t.cursor.y == t.top:
		t.scrollDown(t.top, t.bottom, 1)
	case t.cursor.y > 0:
		t.cursor.y--
	}
}

// moveTo sets the cursor, relative to the region in origin mode.
func (t *Terminal) moveTo(x, y int) {
	low, high := 0, t.rows-1
	if t.cursor.origin {
		low, high = t.top, t.bottom-1
	}
	t.pending = false
	t.cursor.x = min(max(x, 0), t.cols-1)
	t.cursor.y = min(max(low+y, low), high)
}

// moveUp and moveDown stop at the region's border when they start inside of it. In
// origin mode the cursor is never outside.
func (t *Terminal) moveUp(n int) {
	low := 0
	if t.cursor.y >= t.top {
		low = t.top
	}
	t.pending = false
	t.cursor.y = max(t.cursor.y-n, low)
}

func (t *Terminal) moveDown(n int) {
	high := t.rows - 1
	if t.cursor.y < t.bottom {
		high = t.bottom - 1
	}
	t.pending = false
	t.cursor.y = min(t.cursor.y+n, high)
}

// moveX sets the column.
func (t *Terminal) moveX(x int) {
	t.pending = false
	t.cursor.x = min(max(x, 0), t.cols-1)
}

// switchTo shows the other screen, the alternate one blank.
func (t *Terminal) switchTo(alt bool, mode int) {
	if alt == t.Alt() {
		return
	}
	t.pending = false
	if alt {
		t.alt = newScreen(t.cols, t.rows)
		for _, row := range t.alt.rows {
			t.fill(row, 0, t.cols)
		}
		t.on, t.altMode = &t.alt, mode
		return
	}
	t.alt = screen{}
	t.on, t.altMode = &t.main, 0
}

// save and restore are DECSC and DECRC, of the screen that is shown.
func (t *Terminal) save() {
	t.on.saved = t.cursor
	t.on.saved.single = 0
}

func (t *Terminal) restore() {
	t.cursor, t.pending = t.on.saved, false
	t.cursor.clamp(t.cols, t.rows)
	if t.cursor.origin {
		t.cursor.y = min(max(t.cursor.y, t.top), t.bottom-1)
	}
}
