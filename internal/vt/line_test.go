package vt

import "testing"

func TestLine(t *testing.T) {
	term := New(10, 2, 0)
	_, _ = term.Write([]byte("a\x1b[31mb界\x1b[0m c\x1b[2;1H\x1b[41m  \x1b[0m"))
	for _, c := range []struct {
		y, left, right int
		want           string
		width          int
	}{
		{0, 0, 10, "a\x1b[0;31mb界\x1b[0m c", 6},
		{0, 1, 3, "\x1b[0;31mb \x1b[0m", 2},  // a character that is cut at the right
		{0, 3, 6, "\x1b[0;31m \x1b[0m c", 3}, // and one at the left
		{0, 6, 10, "", 0},
		{0, -5, 1, "a", 1},
		{1, 0, 99, "\x1b[0;41m  \x1b[0m", 2},
		{2, 0, 10, "", 0},
		{-1, 0, 10, "", 0},
		{0, 4, 2, "", 0},
	} {
		if line, width := term.Line(c.y, c.left, c.right); string(line) != c.want || width != c.width {
			t.Errorf("Line(%d, %d, %d) = %q, %d, want %q, %d", c.y, c.left, c.right, line, width, c.want, c.width)
		}
	}
}
