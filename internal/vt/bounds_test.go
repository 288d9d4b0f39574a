package vt

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// kept is about how much more memory is in use after f than before.
func kept(f func()) int {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int(after.HeapAlloc) - int(before.HeapAlloc)
}

// TestBounds: whatever a program sends, the memory for it is bounded in bytes.
func TestBounds(t *testing.T) {
	long := strings.Repeat("x", 4000)
	for name, c := range map[string]struct {
		piece func(i int) string
		n     int
		most  int // bytes
	}{
		"links":      {func(i int) string { return fmt.Sprintf("\x1b]8;;http://%d/%s\ax\x1b]8;;\a", i, long) }, 1200, 2 << 20},
		"links kept": {func(i int) string { return fmt.Sprintf("\x1b[%dG\x1b]8;;http://%d/%s\ax", i%80+1, i, long) }, 1200, 2 << 20},
		"marks": {func(i int) string {
			return "a" + strings.Repeat(string(rune(0x300+i%80)), 25) + strings.Repeat(string(rune(0x300+i/80%80)), 25)
		}, 6000, 4 << 20},
		"titles":           {func(i int) string { return fmt.Sprintf("\x1b]2;%d%s\a\x1b[22;0t", i, long) }, 300, 64 << 10},
		"colours":          {func(i int) string { return fmt.Sprintf("\x1b]4;%d;%s\a\x1b]10;%s\a", i, long, long) }, 300, 128 << 10},
		"modes":            {func(i int) string { return fmt.Sprintf("\x1b[?%dh\x1b[>%du\x1b7\x1b[?1048h\x1bH", i, i) }, 5000, 64 << 10},
		"a picture":        {func(int) string { return "\x1bPq" + long + long }, 200, 256 << 10},
		"an endless OSC":   {func(int) string { return "\x1b]52;c;" + long }, 200, 256 << 10},
		"an endless APC":   {func(int) string { return "\x1b_G" + long }, 300, 64 << 10},
		"an endless CSI":   {func(int) string { return "\x1b[" + strings.Repeat("1;", 2000) }, 300, 64 << 10},
		"questions":        {func(int) string { return "\x1b[6n\x1b[c\x1b]11;?\a" }, 5000, 256 << 10},
		"long lines":       {func(int) string { return strings.Repeat("long", 250) + "\r\n" }, 1000, 10 << 20},
		"one line, resent": {func(int) string { return "\r\n\x1b[3J" }, 5000, 64 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			cols := 80
			if name == "long lines" {
				cols = 1000
			}
			term := New(cols, 24, 1000)
			got := kept(func() {
				for i := range c.n {
					_, _ = term.Write([]byte(c.piece(i)))
				}
			})
			if got > c.most {
				t.Errorf("%d bytes are kept, want at most %d", got, c.most)
			}
			if n := len(term.Repaint()); n > 8<<20 {
				t.Errorf("a repaint has %d bytes", n)
			}
			runtime.KeepAlive(term)
		})
	}
	if n := unsafe.Sizeof(cell{}); n != 24 {
		t.Errorf("a cell has %d bytes: maxScrollback and the package's doc say 24", n)
	}
}

// TestLinksAreReplaced: of any number of links those that are shown are kept, on both
// screens, in the scrollback and in the pens, as long as there is room for them.
func TestLinksAreReplaced(t *testing.T) {
	long := strings.Repeat("x", 3000)
	link := func(i int) string { return fmt.Sprintf(";http://%d/%s", i, long) }
	term := New(20, 4, 3)
	for i := range 3000 {
		_, _ = fmt.Fprintf(term, "\x1b]8;%s\a%d\r\n", link(i), i%10)
	}
	at := func(row []cell) string { return term.links.strings[row[0].style.link] }
	for n, row := range []int{2999, 2998, 2997} {
		if got := at(term.main.rows[2-n]); got != link(row) {
			t.Fatalf("line %d has the link %.20q, want %.20q", row, got, link(row))
		}
	}
	if got := at(term.scrollback.at(0)); got != link(2994) {
		t.Errorf("the scrollback has the link %.20q, want %.20q", got, link(2994))
	}
	_, _ = fmt.Fprintf(term, "\x1b]8;%s\a\x1b7\x1b[?1049h", link(7))
	for i := range 3000 {
		_, _ = fmt.Fprintf(term, "\x1b]8;%s\a%d\r\n", link(i), i%10)
	}
	_, _ = fmt.Fprintf(term, "\x1b[?1049l\x1b8")
	if got := term.links.strings[term.cursor.pen.link]; got != link(7) {
		t.Errorf("the pen has the link %.20q, want %.20q", got, link(7))
	}
	if got := at(term.main.rows[2]); got != link(2999) {
		t.Errorf("the main screen has the link %.20q, want %.20q", got, link(2999))
	}
	checkRepaint(t, term, []byte("x"))
}

// TestLinksWithoutRoom: when all links that there is room for are shown, later ones are
// text, quickly, and the others stay.
func TestLinksWithoutRoom(t *testing.T) {
	term := New(100, 20, 0)
	long := strings.Repeat("x", 3000)
	for i := range 2000 {
		_, _ = fmt.Fprintf(term, "\x1b[%d;%dH\x1b]8;;http://%d/%s\ax", i/100+1, i%100+1, i, long)
	}
	linked := 0
	for _, row := range term.main.rows {
		for _, c := range row {
			if c.style.link != 0 {
				linked++
			}
		}
	}
	if room := maxTableBytes / (3000 + 100); linked < room || linked > maxTableBytes/3000 {
		t.Errorf("%d links are kept, want about %d", linked, room)
	}
	for y, row := range term.Lines() {
		if row != strings.Repeat("x", 100) {
			t.Fatalf("line %d is %q", y, row)
		}
	}
}

// TestScrollbackRing: the scrollback has the newest lines, whatever their lengths, and
// however often it is full.
func TestScrollbackRing(t *testing.T) {
	for _, limit := range []int{1, 2, 15, 16, 17, 40} {
		term := New(10, 2, limit)
		for i := range 100 {
			_, _ = fmt.Fprintf(term, "%d%s\r\n", i, strings.Repeat("x", i%5))
			var want strings.Builder
			for n := max(0, i-limit); n < i; n++ {
				fmt.Fprintf(&want, "%d%s\r\n", n, strings.Repeat("x", n%5))
			}
			if got := string(term.Scrollback()); got != want.String() {
				t.Fatalf("limit %d after line %d: %q, want %q", limit, i, got, want.String())
			}
		}
	}
}

// TestPaintedLinks: what is painted is bounded too when a few links are on every other
// cell.
func TestPaintedLinks(t *testing.T) {
	term := New(200, 50, 100)
	for y := range 50 {
		for x := range 200 {
			_, _ = fmt.Fprintf(term, "\x1b[%d;%dH\x1b]8;;http://%d/%s\a%d", y+1, x+1, x%2, strings.Repeat("x", 3000), x%10)
		}
	}
	for name, paint := range map[string][]byte{"Repaint": term.Repaint(), "RepaintAll": term.RepaintAll(1 << 20)} {
		if len(paint) > maxPainted+1<<20 {
			t.Errorf("%s has %d bytes", name, len(paint))
		}
		again := New(200, 50, 0)
		_, _ = again.Write(paint)
		if d := difference(strings.Join(again.Lines(), "\n"), strings.Join(term.Lines(), "\n")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
