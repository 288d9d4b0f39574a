package vt

import (
	"bytes"
)

// minFlood is how much has to come at once before it is looked at as a flood, in bytes.
const minFlood = 16 << 10

// flood applies the start of p that has no effect on what will be seen, without drawing
// it, and says how much that was: lines that scroll by and out of the scrollback, before
// others that do the same behind them. Only text, line ends (CR LF), tabs and SGR are
// looked at: then nothing moves the cursor up, and each line end behind the first
// screenful moves all up by one. So twice the lines of the screen, and those that the
// scrollback keeps, are all that is needed from the end.
func (t *Terminal) flood(p []byte) int {
	if len(p) < minFlood || t.p.state != ground || t.p.runeSize > 0 || t.top != 0 || t.bottom != t.rows {
		return 0
	}
	needed := 2 * t.rows
	if t.on == &t.main {
		needed += t.scrollback.limit
	}
	text := p[:plainText(p)]
	surplus := bytes.Count(text, crlf) - needed
	if surplus <= 0 {
		return 0
	}
	n := 0
	for range surplus {
		n += bytes.Index(text[n:], crlf) + len(crlf)
	}
	t.pens(text[:n])
	t.cursor.single = 0
	t.moveX(0)
	return n
}

var crlf = []byte("\r\n")

// plainText is how much of p is text, line ends, tabs and SGR.
func plainText(p []byte) int {
	for i := 0; i < len(p); i++ {
		switch b := p[i]; {
		case b >= 0x20 && b != 0x7f && b != 0xc2: // 0xc2 may begin a C1 control
		case b == '\r', b == '\n', b == '\t':
		case b == 0x1b:
			n := sgrLen(p[i:])
			if n == 0 {
				return i
			}
			i += n - 1
		default:
			return i
		}
	}
	return len(p)
}

// sgrLen is the length of the SGR sequence at the start of p, 0 if there is none.
func sgrLen(p []byte) int {
	if len(p) < 3 || p[1] != '[' {
		return 0
	}
	for i := 2; i < len(p); i++ {
		switch b := p[i]; {
		case b >= '0' && b <= ';':
		case b == 'm':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

// pens applies the SGR sequences of what plainText found.
func (t *Terminal) pens(p []byte) {
	for {
		i := bytes.IndexByte(p, 0x1b)
		if i < 0 {
			return
		}
		n := sgrLen(p[i:])
		for _, b := range p[i : i+n] {
			t.step([]byte{b})
		}
		p = p[i+n:]
	}
}
