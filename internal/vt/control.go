package vt

import (
	"fmt"
	"unicode/utf8"
)

// control does a control character.
func (t *Terminal) control(b byte) {
	if b != 0x1b { // what it begins may repeat
		t.last = 0
	}
	switch b {
	case '\b':
		t.moveX(t.cursor.x - 1)
	case '\t':
		t.tab(1)
	case '\n', '\v', '\f':
		t.lineFeed()
		if t.modes.newLine {
			t.cursor.x = 0
		}
	case '\r':
		t.moveX(0)
	case 0x0e:
		t.cursor.gl = 1
	case 0x0f:
		t.cursor.gl = 0
	case 0x1b:
		t.begin(escape)
	}
}

// tab goes to the n-th tab stop from here, or the last column.
func (t *Terminal) tab(n int) {
	if t.pending {
		return
	}
	for ; n > 0 && t.cursor.x < t.cols-1; n-- {
		for t.cursor.x++; t.cursor.x < t.cols-1 && !t.tabs[t.cursor.x]; t.cursor.x++ {
		}
	}
}

func (t *Terminal) backTab(n int) {
	t.pending = false
	for ; n > 0 && t.cursor.x > 0; n-- {
		for t.cursor.x--; t.cursor.x > 0 && !t.tabs[t.cursor.x]; t.cursor.x-- {
		}
	}
}

// esc does an escape sequence with this final byte.
func (t *Terminal) esc(final byte) {
	t.last = 0
	switch t.p.inter {
	case 0:
		t.plainEsc(final)
	case '(', ')', '*', '+':
		set := final
		if set != '0' && set != 'A' {
			set = 0
		}
		t.cursor.sets[t.p.inter-'('] = set
	case '#':
		if final == '8' {
			t.align()
		}
	}
}

func (t *Terminal) plainEsc(final byte) {
	switch final {
	case '7':
		t.save()
	case '8':
		t.restore()
	case 'D':
		t.lineFeed()
	case 'E':
		t.lineFeed()
		t.cursor.x = 0
	case 'H':
		t.tabs[t.cursor.x] = true
	case 'M':
		t.reverseLineFeed()
	case 'N', 'O':
		t.cursor.single = int(final-'N') + 2
	case 'c':
		t.reset()
	case 'n', 'o':
		t.cursor.gl = int(final-'n') + 2
	case '=', '>':
		t.modes.keypad = final == '='
	}
}

// align is DECALN: a screen full of E.
func (t *Terminal) align() {
	t.top, t.bottom = 0, t.rows
	t.cursor.origin = false
	t.moveTo(0, 0)
	for _, row := range t.on.rows {
		for x := range row {
			row[x] = cell{rune: 'E'}
		}
	}
}

// csi does a control sequence with this final byte.
func (t *Terminal) csi(final byte) {
	p := t.p.params
	switch {
	case t.p.inter != 0:
		t.csiIntermediate(final, p)
	case t.p.prefix != 0:
		t.csiPrivate(final, p)
	case !t.csiMove(final, p) && !t.csiEdit(final, p):
		t.csiOther(final, p)
	}
	t.last = 0
}

func (t *Terminal) csiMove(final byte, p params) bool {
	c := &t.cursor
	switch final {
	case 'A':
		t.moveUp(p.count(0))
	case 'B', 'e':
		t.moveDown(p.count(0))
	case 'C', 'a':
		t.moveX(c.x + p.count(0))
	case 'D':
		t.moveX(c.x - p.count(0))
	case 'E':
		t.moveDown(p.count(0))
		c.x = 0
	case 'F':
		t.moveUp(p.count(0))
		c.x = 0
	case 'G', '`':
		t.moveX(p.count(0) - 1)
	case 'H', 'f':
		t.moveTo(p.count(1)-1, p.count(0)-1)
	case 'I':
		t.tab(p.count(0))
	case 'Z':
		t.backTab(p.count(0))
	case 'd':
		t.moveTo(c.x, p.count(0)-1)
	default:
		return false
	}
	return true
}

func (t *Terminal) csiEdit(final byte, p params) bool {
	c := &t.cursor
	row := t.on.rows[c.y]
	switch final {
	case '@':
		t.insert(p.count(0))
	case 'J':
		t.eraseDisplay(p.at(0, 0))
	case 'K':
		t.eraseLine(p.at(0, 0))
	case 'L', 'M':
		if c.y < t.top || c.y >= t.bottom {
			break
		}
		if final == 'L' {
			t.scrollDown(c.y, t.bottom, p.count(0))
		} else {
			t.deleteLines(c.y, t.bottom, p.count(0))
		}
		c.x = 0
	case 'P':
		t.remove(p.count(0))
	case 'S':
		t.scrollUp(t.top, t.bottom, p.count(0))
		return true
	case 'T':
		if len(p) <= 1 { // with more it is about the mouse
			t.scrollDown(t.top, t.bottom, p.count(0))
		}
		return true
	case 'X':
		t.fill(row, c.x, min(c.x+p.count(0), t.cols))
	case 'b':
		t.repeat(p.count(0))
		return true
	default:
		return false
	}
	t.pending = false
	return true
}

func (t *Terminal) eraseDisplay(how int) {
	c := &t.cursor
	from, to := 0, 0
	switch how {
	case 0:
		t.eraseLine(0)
		from, to = c.y+1, t.rows
	case 1:
		t.eraseLine(1)
		to = c.y
	case 2:
		to = t.rows
	case 3:
		t.scrollback.clear()
	}
	for y := from; y < to; y++ {
		t.fill(t.on.rows[y], 0, t.cols)
	}
}

func (t *Terminal) eraseLine(how int) {
	c := &t.cursor
	row := t.on.rows[c.y]
	switch how {
	case 0:
		t.fill(row, c.x, t.cols)
	case 1:
		t.fill(row, 0, c.x+1)
	case 2:
		t.fill(row, 0, t.cols)
	}
}

func (t *Terminal) csiOther(final byte, p params) {
	switch final {
	case 'c':
		if p.at(0, 0) == 0 {
			t.answer("\x1b[?62;22c") // a VT220 with colours
		}
	case 'g':
		switch p.at(0, 0) {
		case 0:
			t.tabs[t.cursor.x] = false
		case 3:
			clear(t.tabs)
		}
	case 'h', 'l':
		for _, mode := range p {
			t.setMode(mode.or(0), final == 'h')
		}
	case 'm':
		t.cursor.pen.sgr(p)
	case 'n':
		t.report("", p.at(0, 0))
	case 'r':
		t.region(p)
	case 's':
		if len(p) == 0 {
			t.save()
		}
	case 'u':
		if len(p) == 0 {
			t.restore()
		}
	case 't':
		t.window(p)
	}
}

// region is DECSTBM.
func (t *Terminal) region(p params) {
	top, bottom := p.count(0)-1, p.at(1, 0)
	if bottom <= 0 || bottom > t.rows {
		bottom = t.rows
	}
	if top >= bottom-1 {
		return
	}
	t.top, t.bottom = top, bottom
	t.moveTo(0, 0)
}

// report is DSR; prefix is that of the question and the answer.
func (t *Terminal) report(prefix string, what int) {
	switch {
	case what == 5 && prefix == "":
		t.answer("\x1b[0n")
	case what == 6:
		y := t.cursor.y
		if t.cursor.origin {
			y -= t.top
		}
		page := ""
		if prefix != "" {
			page = ";1"
		}
		t.answer(fmt.Sprintf("\x1b[%s%d;%d%sR", prefix, y+1, t.cursor.x+1, page))
	case what == 996 && prefix != "":
		t.answer("\x1b[?997;1n") // dark, as the colours that osc tells
	}
}

func (t *Terminal) reportSize() {
	t.answer(fmt.Sprintf("\x1b[48;%d;%d;0;0t", t.rows, t.cols))
}

// window is XTWINOPS: size in characters, and the stack of titles.
func (t *Terminal) window(p params) {
	switch p.at(0, 0) {
	case 18, 19:
		t.answer(fmt.Sprintf("\x1b[%d;%d;%dt", p.at(0, 0)-10, t.rows, t.cols))
	case 22:
		if len(t.titles) < maxStack && p.at(1, 0) != 1 {
			t.titles = append(t.titles, t.title)
		}
	case 23:
		if n := len(t.titles); n > 0 && p.at(1, 0) != 1 {
			t.title, t.titles = t.titles[n-1], t.titles[:n-1]
		}
	}
}

func (t *Terminal) csiPrivate(final byte, p params) {
	switch prefix := t.p.prefix; {
	case prefix == '?' && (final == 'h' || final == 'l'):
		for _, mode := range p {
			t.setPrivate(mode.or(0), final == 'h')
		}
	case prefix == '?' && (final == 'J' || final == 'K'):
		t.csiEdit(final, p)
	case prefix == '?' && final == 'n':
		t.report("?", p.at(0, 0))
	case prefix == '?' && final == 'W' && p.at(0, 0) == 5:
		t.tabs = defaultTabs(nil, t.cols)
	case prefix == '>' && final == 'c' && p.at(0, 0) == 0:
		t.answer("\x1b[>1;10;0c")
	case prefix == '>' && final == 'q' && p.at(0, 0) == 0:
		t.answer("\x1bP>|agenthost\x1b\\")
	case prefix == '>' && final == 'm':
		if p.at(0, 0) == 4 {
			t.modes.keys = p.at(1, -1)
		}
	case final == 'u' && prefix != '?':
		// The question what flags are set has no answer: the page's terminal has
		// no such keys, and who gets none asks for DA1 too and knows.
		t.modes.kittyFlags(prefix, p)
	}
}

func (t *Terminal) csiIntermediate(final byte, p params) {
	switch {
	case t.p.inter == ' ' && final == 'q' && t.p.prefix == 0:
		if n := p.at(0, 0); n <= 6 {
			t.modes.shape = n
		}
	case t.p.inter == '!' && final == 'p':
		t.softReset()
	case t.p.inter == '$' && final == 'p' && t.p.prefix == '?':
		t.answer(fmt.Sprintf("\x1b[?%d;%d$y", p.at(0, 0), t.setting(p.at(0, 0))))
	case t.p.inter == '$' && final == 'p' && t.p.prefix == 0:
		on := map[int]bool{4: t.modes.insert, 20: t.modes.newLine}
		set, known := on[p.at(0, 0)]
		n := 0
		if known {
			n = 2
			if set {
				n = 1
			}
		}
		t.answer(fmt.Sprintf("\x1b[%d;%d$y", p.at(0, 0), n))
	}
}

// softReset is DECSTR.
func (t *Terminal) softReset() {
	t.modes.insert, t.modes.visible, t.modes.wrap, t.modes.keypad = false, true, true, false
	delete(t.modes.private, 1)
	t.top, t.bottom = 0, t.rows
	x, y := t.cursor.x, t.cursor.y
	t.cursor, t.pending = cursor{x: x, y: y}, false
	t.on.saved = cursor{}
}

// dcs does a device control string: questions that have no answer here, but wait for
// one.
func (t *Terminal) dcs(s []byte) {
	if len(s) < 2 {
		return
	}
	switch string(s[:2]) {
	case "$q": // DECRQSS
		t.answer("\x1bP0$r\x1b\\")
	case "+q": // XTGETTCAP
		t.answer("\x1bP0+r\x1b\\")
	}
}

// validText is what of b can be a title: valid UTF-8 without controls, bounded.
func validText(b []byte, limit int) string {
	var out []byte
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		b = b[n:]
		if len(out)+utf8.RuneLen(r) > limit {
			break
		}
		if r >= 0x20 && (r < 0x7f || r >= 0xa0) {
			out = utf8.AppendRune(out, r)
		}
	}
	return string(out)
}
