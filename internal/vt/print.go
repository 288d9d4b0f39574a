package vt

import (
	"bytes"
	"unicode/utf8"
)

// drawing is the DEC special graphics set, from 0x5f on.
var drawing = [...]rune{
	' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼',
	'⎺', '⎻', '─', '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
}

// characters are those of cells: a space is a blank. A table, since a branch for spaces
// is one that nobody foresees.
var characters = func() (c [0x80]rune) {
	for b := range c {
		c[b] = rune(b)
	}
	c[' '] = 0
	return c
}()

// printASCII prints characters from 0x20 to 0x7e: nearly all there is, and so fast.
func (t *Terminal) printASCII(p []byte) {
	c := &t.cursor
	if c.sets[c.gl] != 0 || c.single != 0 || t.modes.insert {
		for _, b := range p {
			t.print(rune(b))
		}
		return
	}
	t.last = rune(p[len(p)-1])
	for len(p) > 0 {
		t.wrap()
		row := t.on.rows[c.y]
		n := min(len(p), t.cols-c.x)
		blank := cell{style: c.pen}
		into := row[c.x : c.x+n]
		for i, b := range p[:len(into)] {
			into[i] = blank
			into[i].rune = characters[b&0x7f]
		}
		mend(row, c.x)
		mend(row, c.x+n)
		t.advance(n)
		p = p[n:]
		if t.pending && !t.modes.wrap && len(p) > 1 {
			p = p[len(p)-1:] // each is written over the one before
		}
	}
}

// wrap goes to the next line when the cursor is behind the last column.
func (t *Terminal) wrap() {
	if !t.pending {
		return
	}
	t.pending = false
	if t.modes.wrap {
		t.cursor.x = 0
		t.lineFeed()
	}
}

// advance moves the cursor behind what was printed in n columns.
func (t *Terminal) advance(n int) {
	t.cursor.x += n
	if t.cursor.x >= t.cols {
		t.cursor.x = t.cols - 1
		t.pending = true
	}
}

// print prints any character.
func (t *Terminal) print(r rune) {
	c := &t.cursor
	r = t.translate(r)
	w := t.widths.of(r)
	if w == 0 {
		t.combine(r)
		return
	}
	t.last = r
	t.wrap()
	if c.x+w > t.cols {
		if !t.modes.wrap {
			return // a wide character has no place in one column
		}
		t.pending = true
		t.wrap()
	}
	row := t.on.rows[c.y]
	if t.modes.insert {
		t.insert(w)
	}
	if r == ' ' {
		r = 0
	}
	row[c.x] = cell{rune: r, wide: w == 2, style: c.pen}
	if w == 2 {
		row[c.x+1] = cell{rune: tail, style: c.pen}
	}
	mend(row, c.x)
	mend(row, c.x+w)
	t.advance(w)
}

// translate applies the character set in use.
func (t *Terminal) translate(r rune) rune {
	c := &t.cursor
	set := c.sets[c.gl]
	if c.single != 0 {
		set = c.sets[c.single]
		c.single = 0
	}
	switch {
	case set == '0' && r >= 0x5f && r <= 0x7e:
		return drawing[r-0x5f]
	case set == 'A' && r == '#':
		return '£'
	}
	return r
}

// combine adds a mark to the character before the cursor, if there is one.
func (t *Terminal) combine(r rune) {
	x := t.cursor.x
	row := t.on.rows[t.cursor.y]
	if !t.pending {
		x--
	}
	if x > 0 && row[x].rune == tail {
		x--
	}
	if x < 0 || row[x].rune == 0 || row[x].rune == tail {
		return
	}
	marks := t.marks.strings[row[x].marks]
	if len(marks) > maxMarks-utf8.UTFMax {
		return
	}
	if n := t.number(&t.marks, marks+string(r)); n != 0 {
		row[x].marks = n
	}
}

// insert makes room for n columns at the cursor.
func (t *Terminal) insert(n int) {
	x, row := t.cursor.x, t.on.rows[t.cursor.y]
	n = min(n, t.cols-x)
	copy(row[x+n:], row[x:])
	mend(row, t.cols)
	t.fill(row, x, x+n)
}

// remove takes n columns away at the cursor.
func (t *Terminal) remove(n int) {
	x, row := t.cursor.x, t.on.rows[t.cursor.y]
	n = min(n, t.cols-x)
	copy(row[x:], row[x+n:])
	mend(row, x)
	t.fill(row, t.cols-n, t.cols)
}

// repeat is REP.
func (t *Terminal) repeat(n int) {
	if t.last == 0 {
		return
	}
	c := &t.cursor
	sets := c.sets
	c.sets, c.single = [4]byte{}, 0 // it was translated before
	n = min(n, t.cols*t.rows)       // more than the screen holds looks no different
	if t.last < utf8.RuneSelf {
		line := bytes.Repeat([]byte{byte(t.last)}, min(n, t.cols))
		for ; n > 0; n -= len(line) {
			t.printASCII(line[:min(n, len(line))])
		}
	}
	for ; n > 0; n-- {
		t.print(t.last)
	}
	c.sets = sets
}
