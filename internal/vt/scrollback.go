package vt

import (
	"iter"
	"slices"
)

// maxScrollback is how many cells the scrollback has at most, but for the newest line,
// however long its lines are: 8 MiB.
const maxScrollback = 8 << 20 / 24

// scrollback are the newest lines that left the main screen at its top.
type scrollback struct {
	limit int
	lines [][]cell // a ring, the oldest at first; it grows to limit
	first int
	count int
	cells int // that lines has room for, also where none is at the moment
}

func (s *scrollback) push(row []cell) {
	if s.limit == 0 {
		return
	}
	row = row[:written(row)]
	if s.count == s.limit {
		s.first = (s.first + 1) % len(s.lines)
		s.count--
	}
	if s.count == len(s.lines) {
		s.grow()
	}
	at := &s.lines[(s.first+s.count)%len(s.lines)] // its room is used again
	s.cells -= cap(*at)
	for s.count > 0 && s.cells+max(len(row), cap(*at)) > maxScrollback {
		s.cells -= cap(s.lines[s.first])
		s.lines[s.first] = nil
		s.first = (s.first + 1) % len(s.lines)
		s.count--
	}
	*at = append((*at)[:0], row...)
	s.cells += cap(*at)
	s.count++
}

// grow makes room for more lines.
func (s *scrollback) grow() {
	lines := slices.Collect(s.all())
	s.lines = append(lines, make([][]cell, min(max(len(lines), 16), s.limit-len(lines)))...)
	s.first = 0
}

// at is a line, 0 for the oldest.
func (s *scrollback) at(i int) []cell { return s.lines[(s.first+i)%len(s.lines)] }

// all are the lines, the oldest first.
func (s *scrollback) all() iter.Seq[[]cell] {
	return func(yield func([]cell) bool) {
		for i := range s.count {
			if !yield(s.at(i)) {
				return
			}
		}
	}
}

func (s *scrollback) clear() { *s = scrollback{limit: s.limit} }

// Scrollback are the lines that left the main screen at its top, the oldest first, each
// with its pens and a line's end.
func (t *Terminal) Scrollback() []byte {
	t.linked = 0
	var b []byte
	for row := range t.scrollback.all() {
		b = t.appendLine(b, row)
	}
	return b
}

// appendLine appends a line with its end, the plain pen before and after.
func (t *Terminal) appendLine(b []byte, row []cell) []byte {
	b, pen := t.appendCells(b, style{}, row)
	return append(t.appendPen(b, pen, style{}), "\r\n"...)
}

// RepaintAll is Repaint which before that brings the newest lines of the scrollback, in at
// most limit bytes, to where lines go that leave the screen of the other terminal. What that
// shows goes there too if it is moved up before. Lines that are longer than the screen is
// wide by now are several.
func (t *Terminal) RepaintAll(limit int) []byte { return t.repaint(limit) }

// appendScrollback appends what shows the scrollback on a plain terminal and moves it up.
func (t *Terminal) appendScrollback(b []byte, limit int) []byte {
	var lines [][]byte // the newest first
	for i := t.scrollback.count - 1; i >= 0; i-- {
		pieces := t.folded(t.scrollback.at(i))
		for p := len(pieces) - 1; p >= 0; p-- {
			line := t.appendLine(nil, pieces[p])
			if limit -= len(line); limit < 0 {
				i = 0
				break
			}
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return b
	}
	b = append(b, "\x1b[H\x1b[J"...)
	for _, line := range slices.Backward(lines) {
		b = append(b, line...)
	}
	b = appendBottom(b, t.rows)
	return append(b, slices.Repeat([]byte{'\n'}, min(len(lines), t.rows-1))...)
}

// folded is a line in pieces that are no wider than the screen, one at least.
func (t *Terminal) folded(row []cell) (pieces [][]cell) {
	for len(row) > t.cols {
		n := t.cols
		if row[n].rune == tail {
			n-- // a wide character stays whole
		}
		pieces = append(pieces, row[:written(row[:n])])
		row = row[n:]
	}
	return append(pieces, row)
}
