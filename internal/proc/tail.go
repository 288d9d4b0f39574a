package proc

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// Tail keeps the last bytes written to it. It is safe for concurrent use. The
// zero value keeps nothing.
type Tail struct {
	mu    sync.Mutex
	size  int
	bytes []byte // at most 2*size, so that a byte is moved once at most
	cut   int64  // bytes thrown away
}

// NewTail returns a Tail of the last size bytes; size <= 0 keeps nothing.
func NewTail(size int) *Tail { return &Tail{size: max(size, 0)} }

// Write implements io.Writer. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if n > t.size {
		t.cut += int64(len(t.bytes) + n - t.size)
		t.bytes = append(t.bytes[:0], p[n-t.size:]...)
		return n, nil
	}
	if len(t.bytes)+n > 2*t.size {
		keep := copy(t.bytes, t.bytes[len(t.bytes)+n-t.size:])
		t.cut += int64(len(t.bytes) - keep)
		t.bytes = t.bytes[:keep]
	}
	t.bytes = append(t.bytes, p...)
	return n, nil
}

// Text returns the end of what was written, at most size bytes, as valid UTF-8:
// it starts at a character's border, a character that has not come whole yet is
// left out, and bytes that are none become U+FFFD. Truncated reports whether
// anything before the text is missing.
func (t *Tail) Text() (text string, truncated bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.bytes
	truncated = t.cut > 0
	if len(end) > t.size {
		end = end[len(end)-t.size:]
		truncated = true
	}
	if truncated {
		end = fromBorder(end)
	}
	text = strings.ToValidUTF8(string(toBorder(end)), string(utf8.RuneError))
	if len(text) > t.size {
		// U+FFFD is longer than the byte it stands for.
		text = text[len(text)-t.size:]
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
		truncated = true
	}
	return text, truncated
}

// fromBorder cuts the continuation bytes at the start of p, whose character's
// first byte is gone.
func fromBorder(p []byte) []byte {
	for n := 0; n < utf8.UTFMax-1 && len(p) > 0 && !utf8.RuneStart(p[0]); n++ {
		p = p[1:]
	}
	return p
}

// toBorder cuts a character at the end of p whose last bytes have not come.
func toBorder(p []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		start := len(p) - n
		if utf8.RuneStart(p[start]) {
			if !utf8.FullRune(p[start:]) {
				return p[:start]
			}
			return p
		}
	}
	return p
}
