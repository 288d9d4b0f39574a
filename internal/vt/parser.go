package vt

import (
	"unicode/utf8"
)

const (
	// maxString is how many bytes of a control string (OSC, DCS) are kept. What is
	// longer has no effect: it is a picture, or something for the clipboard.
	maxString = 64 << 10
	// maxParams is how many parameters a control sequence has; more are dropped.
	maxParams = 32
	// maxValue bounds the value of a parameter.
	maxValue = 1 << 16
	// maxSequence is how many bytes of an unfinished control sequence are kept to
	// be painted again.
	maxSequence = 256
)

// param is a parameter of a control sequence.
type param struct {
	value int  // -1 when it is empty
	sub   bool // it follows a colon
}

// or is the value, or def when it is empty.
func (p param) or(def int) int {
	if p.value < 0 {
		return def
	}
	return p.value
}

type params []param

// at is a parameter by number, def when it is empty or not there.
func (p params) at(i, def int) int {
	if i >= len(p) {
		return def
	}
	return p[i].or(def)
}

// count is a parameter that counts: 0 is 1.
func (p params) count(i int) int { return max(p.at(i, 1), 1) }

// group is how many parameters the one at i and those joined to it by colons are.
func (p params) group(i int) int {
	n := 1
	for i+n < len(p) && p[i+n].sub {
		n++
	}
	return n
}

// state of the parser, after Paul Williams's diagram of a VT500's.
type state uint8

const (
	ground state = iota
	escape
	escapeIntermediate
	csiParam
	csiIntermediate
	csiIgnore
	oscString
	dcsString
	otherString // SOS, PM, APC
)

// parser cuts what is written into characters, controls and sequences.
type parser struct {
	state    state
	rune     [utf8.UTFMax]byte // a character that has not come whole
	runeSize int
	seq      []byte // an unfinished sequence as it came, up to maxSequence; not of strings
	prefix   byte   // one of <=>? behind CSI, 0 for none
	inter    byte   // intermediate, 0 for none; the last one counts
	params   params
	str      []byte // content of an unfinished string
	cut      bool   // it was longer than maxString
}

// Write takes what a program writes. It never fails.
func (t *Terminal) Write(p []byte) (int, error) {
	for rest := p[t.flood(p):]; len(rest) > 0; {
		if t.p.state == ground && t.p.runeSize == 0 {
			if n := printable(rest); n > 0 {
				t.printASCII(rest[:n])
				rest = rest[n:]
				continue
			}
		}
		had := len(t.answers)
		rest = rest[t.step(rest):]
		if len(t.answers) > had {
			t.asked = append(t.asked, asked{t.taken + len(p) - len(rest), len(t.answers)})
		}
	}
	t.taken += len(p)
	return len(p), nil
}

// printable is how many bytes at the start of p are printable ASCII.
func printable(p []byte) int {
	for i, b := range p {
		if b < 0x20 || b > 0x7e {
			return i
		}
	}
	return len(p)
}

// step takes at least one byte, and says how many.
func (t *Terminal) step(p []byte) int {
	b := p[0]
	switch t.p.state {
	case oscString, dcsString, otherString:
		return t.stringBytes(p)
	case ground:
		if b >= utf8.RuneSelf || t.p.runeSize > 0 {
			return t.runeByte(p)
		}
		t.control(b)
		return 1
	}
	switch {
	case b == 0x1b:
		t.begin(escape)
	case b == 0x18, b == 0x1a: // CAN and SUB end what was begun
		t.p.state = ground
	case b < 0x20:
		t.control(b) // controls work inside of sequences
	case b == 0x7f:
	case b >= utf8.RuneSelf:
		// No sequence has such bytes: it is text again.
		t.p.state = ground
		return t.runeByte(p)
	default:
		if len(t.p.seq) < maxSequence {
			t.p.seq = append(t.p.seq, b)
		}
		t.sequenceByte(b)
	}
	return 1
}

// begin starts a sequence anew.
func (t *Terminal) begin(s state) {
	t.p.state = s
	t.p.seq = append(t.p.seq[:0], 0x1b)
	t.p.prefix, t.p.inter = 0, 0
	t.p.params = t.p.params[:0]
	t.p.str, t.p.cut = t.p.str[:0], false
}

// runeByte takes a byte of a character of several, or the whole of it. Each wrong byte
// is one replacement character, wherever the pieces are cut.
func (t *Terminal) runeByte(p []byte) int {
	if t.p.runeSize == 0 && utf8.FullRune(p) {
		r, n := utf8.DecodeRune(p)
		t.character(r)
		return n
	}
	if t.p.runeSize > 0 && utf8.RuneStart(p[0]) {
		t.broken()
		return 0
	}
	t.p.rune[t.p.runeSize] = p[0]
	t.p.runeSize++
	whole := t.p.rune[:t.p.runeSize]
	if !utf8.FullRune(whole) {
		return 1
	}
	if r, n := utf8.DecodeRune(whole); n == len(whole) && n > 1 {
		t.p.runeSize = 0
		t.character(r)
	} else {
		t.broken()
	}
	return 1
}

// broken ends a character that does not go on.
func (t *Terminal) broken() {
	n := t.p.runeSize
	t.p.runeSize = 0
	for range n {
		t.character(utf8.RuneError)
	}
}

// character takes one of several bytes; the C1 controls are among them.
func (t *Terminal) character(r rune) {
	if r >= 0x80 && r < 0xa0 {
		t.begin(escape)
		t.p.seq = append(t.p.seq, byte(r-0x40))
		t.sequenceByte(byte(r - 0x40))
		return
	}
	t.print(r)
}

// sequenceByte takes a byte from 0x20 to 0x7e outside of text and strings.
func (t *Terminal) sequenceByte(b byte) {
	switch t.p.state {
	case escape, escapeIntermediate:
		t.escapeByte(b)
	case csiParam:
		t.csiByte(b)
	case csiIntermediate:
		switch {
		case b < 0x30:
			t.p.inter = b
		case b < 0x40:
			t.p.state = csiIgnore
		default:
			t.p.state = ground
			t.csi(b)
		}
	case csiIgnore:
		if b >= 0x40 {
			t.p.state = ground
		}
	}
}

func (t *Terminal) escapeByte(b byte) {
	switch {
	case b < 0x30:
		t.p.inter, t.p.state = b, escapeIntermediate
		return
	case t.p.state == escapeIntermediate:
	case b == '[':
		t.p.state = csiParam
		return
	case b == ']':
		t.p.state = oscString
		return
	case b == 'P':
		t.p.state = dcsString
		return
	case b == 'X', b == '^', b == '_':
		t.p.state = otherString
		return
	}
	t.p.state = ground
	t.esc(b)
}

func (t *Terminal) csiByte(b byte) {
	p := &t.p
	switch {
	case b >= '0' && b <= '9':
		if len(p.params) == 0 {
			p.params = append(p.params, param{value: -1})
		}
		last := &p.params[len(p.params)-1]
		last.value = min(max(last.value, 0)*10+int(b-'0'), maxValue)
	case b == ';' || b == ':':
		if len(p.params) == 0 {
			p.params = append(p.params, param{value: -1})
		}
		if len(p.params) == maxParams {
			p.state = csiIgnore
			return
		}
		p.params = append(p.params, param{value: -1, sub: b == ':'})
	case b >= '<' && b <= '?':
		if len(p.params) > 0 || p.prefix != 0 {
			p.state = csiIgnore
			return
		}
		p.prefix = b
	case b < 0x30:
		p.inter, p.state = b, csiIntermediate
	default:
		p.state = ground
		t.csi(b)
	}
}

// stringBytes takes the bytes of a control string, up to its end. ESC ends it; if \
// follows that was its terminator, and does nothing by itself.
func (t *Terminal) stringBytes(p []byte) int {
	for i, b := range p {
		switch {
		case b == 0x07 && t.p.state == oscString:
			t.p.state = ground
			if !t.p.cut {
				t.osc(t.p.str, "\a")
			}
			return i + 1
		case b == 0x18, b == 0x1a:
			t.p.state = ground
			return i + 1
		case b == 0x1b:
			kind := t.p.state
			if !t.p.cut {
				t.endString(kind)
			}
			t.begin(escape)
			return i + 1
		case len(t.p.str) == maxString:
			t.p.cut = true
		case t.p.state != otherString:
			t.p.str = append(t.p.str, b)
		default:
			t.p.cut = true // nothing of it is needed
		}
	}
	return len(p)
}

func (t *Terminal) endString(kind state) {
	switch kind {
	case oscString:
		t.osc(t.p.str, "\x1b\\")
	case dcsString:
		t.dcs(t.p.str)
	}
}

// pending is the sequence or character that has not come to its end, in a form that a
// terminal goes on with as this one does.
func (p *parser) pending() []byte {
	introducer := map[state]string{oscString: "\x1b]", dcsString: "\x1bP", otherString: "\x1b_"}[p.state]
	switch {
	case introducer != "" && p.cut:
		return []byte(introducer + "x") // of no kind that anybody knows
	case introducer != "":
		return append([]byte(introducer), p.str...)
	case p.state == ground:
		return append([]byte(nil), p.rune[:p.runeSize]...)
	case len(p.seq) == maxSequence:
		return []byte("\x1b[?<") // to be ignored, however it ends
	}
	return append([]byte(nil), p.seq...)
}
