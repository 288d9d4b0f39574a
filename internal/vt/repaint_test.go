package vt

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// state is all that Repaint promises, in a form to compare and to read.
func (t *Terminal) state() string {
	var b strings.Builder
	pens := map[style]string{}
	pen := func(s style) string {
		if pens[s] == "" {
			pens[s] = fmt.Sprintf("%x/%x/%x/%x/%q", s.fg, s.bg, s.under, s.attrs, t.links.strings[s.link])
		}
		return pens[s]
	}
	cur := func(name string, c cursor) {
		fmt.Fprintf(&b, "%s %d,%d %s sets=%v gl=%d single=%d origin=%v\n", name, c.x, c.y, pen(c.pen), c.sets, c.gl, c.single, c.origin)
	}
	fmt.Fprintf(&b, "size %dx%d alt=%d region %d-%d pending=%v\n", t.cols, t.rows, t.altMode, t.top, t.bottom, t.pending)
	cur("cursor", t.cursor)
	m := t.modes
	flags := 0
	if n := len(m.kitty); n > 0 {
		flags = m.kitty[n-1]
	}
	private := maps.Clone(m.private)
	maps.DeleteFunc(private, func(_ int, on bool) bool { return !on })
	fmt.Fprintf(&b, "modes insert=%v newline=%v wrap=%v visible=%v keypad=%v mouse=%d/%d shape=%d kitty=%d keys=%d %v\n",
		m.insert, m.newLine, m.wrap, m.visible, m.keypad, m.mouse, m.coding, m.shape, flags, max(m.keys, 0), slices.Sorted(maps.Keys(private)))
	fmt.Fprintf(&b, "title %v %q colors %v %v tabs %v\n", t.titled, t.title, t.colors, t.palette, t.tabs)
	for _, s := range []*screen{&t.main, &t.alt} {
		if s == &t.alt && !t.Alt() {
			continue
		}
		cur("saved", s.saved)
		for y, row := range s.rows {
			fmt.Fprintf(&b, "%3d ", y)
			for _, c := range row {
				b.WriteString(strconv.QuoteRune(c.rune) + t.marks.strings[c.marks] + " " + pen(c.style) + " ")
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// difference is the first line that differs, empty for none.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("got  %s\nwant %s", g[i], w[i])
		}
	}
	if len(g) != len(w) {
		return fmt.Sprintf("%d lines, want %d", len(g), len(w))
	}
	return ""
}

// checkInvariants holds after whatever was written.
func (t *Terminal) checkInvariants(tb testing.TB) {
	tb.Helper()
	c := t.cursor
	if c.x < 0 || c.x >= t.cols || c.y < 0 || c.y >= t.rows {
		tb.Fatalf("cursor at %d,%d of %dx%d", c.x, c.y, t.cols, t.rows)
	}
	if t.top < 0 || t.bottom > t.rows || t.top >= t.bottom || c.origin && (c.y < t.top || c.y >= t.bottom) {
		tb.Fatalf("region %d-%d of %d rows, cursor in %d, origin %v", t.top, t.bottom, t.rows, c.y, c.origin)
	}
	if t.pending && c.x != t.cols-1 {
		tb.Fatalf("a wrap is pending in column %d of %d", c.x, t.cols)
	}
	for _, s := range []*screen{&t.main, &t.alt} {
		if s == &t.alt && !t.Alt() {
			continue
		}
		if len(s.rows) != t.rows {
			tb.Fatalf("%d rows, want %d", len(s.rows), t.rows)
		}
		for y, row := range s.rows {
			if len(row) != t.cols {
				tb.Fatalf("row %d has %d columns, want %d", y, len(row), t.cols)
			}
			for x := range row {
				if row[x].wide && (x+1 == len(row) || row[x+1].rune != tail) || row[x].rune == tail && (x == 0 || !row[x-1].wide) {
					tb.Fatalf("half of a wide character at %d,%d", x, y)
				}
			}
		}
	}
}

// dirty is a terminal that another program left in a bad state.
func dirty(cols, rows int) *Terminal {
	t := New(cols, rows, 0)
	_, _ = t.Write([]byte("old\x1b[?1049h\x1b[2;3r\x1b[?6h\x1b[4h\x1b[?7l\x1b[7;31mjunk\x1b(0\x0e\x1b[?1003;1006;2004;1004h\x1b[?1h\x1b=\x1b[?25l\x1b[5 q\x1b]4;1;red\a\x1b]11;blue\a\x1b]8;;http://x\a\x1b[>4;2m\x1b[3g\x1b7half \x1b[3"))
	t.Resize(cols, rows)
	return t
}

// checkRepaint: the repaint gives the same state, on a fresh terminal and on one in a
// bad state, and what is written next has the same effect.
func checkRepaint(tb testing.TB, t *Terminal, next []byte) {
	tb.Helper()
	t.checkInvariants(tb)
	paint := t.Repaint()
	fresh := New(t.cols, t.rows, 0)
	_, _ = fresh.Write(paint)
	if d := difference(fresh.state(), t.state()); d != "" {
		tb.Fatalf("repainted:\n%s\nby %q", d, paint)
	}
	again := New(t.cols, t.rows, 0)
	_, _ = again.Write(paint[:len(paint)/2])
	_, _ = again.Write(paint[len(paint)/2:])
	t.last, t.titles = 0, nil // not repainted, see the package's doc
	_, _ = again.Write(next)
	_, _ = t.Write(next)
	t.checkInvariants(tb)
	// Nor is the stack of kitty's flags.
	again.modes.kitty, t.modes.kitty = nil, nil
	if d := difference(again.state(), t.state()); d != "" {
		tb.Fatalf("after %q:\n%s\nrepainted by %q", next, d, paint)
	}
}

// onDirty: over another program's leavings only colours named by it and modes that
// nobody knows may stay.
func TestRepaintOverAnother(t *testing.T) {
	term := New(20, 5, 0)
	_, _ = term.Write([]byte("a\x1b[1mb\r\nc\x1b[2;4r\x1b[3;3H"))
	over := dirty(20, 5)
	_, _ = over.Write(term.Repaint())
	want, got := term.state(), over.state()
	// The key modes of xterm are the person's when the program does not use them.
	got = strings.Replace(got, "keys=2", "keys=0", 1)
	if d := difference(got, want); d != "" {
		t.Error(d)
	}
}

// pieces are what the random programs are made of.
var pieces = []string{
	"a", "hello world", " ", "\r\n", "\n", "\r", "\b", "\t", "\x0e", "\x0f", "世界", "é", "e\u0301", "\u0301", "👩\u200d👩", "│─┐", "ー",
	"\x1b[H", "\x1b[%d;%dH", "\x1b[%dA", "\x1b[%dB", "\x1b[%dC", "\x1b[%dD", "\x1b[%dG", "\x1b[%dd", "\x1b[%dE", "\x1b[%dF", "\x1b[%dI", "\x1b[%dZ",
	"\x1b[J", "\x1b[1J", "\x1b[2J", "\x1b[3J", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[%dX", "\x1b[%d@", "\x1b[%dP", "\x1b[%dL", "\x1b[%dM", "\x1b[%dS", "\x1b[%dT", "\x1b[%db",
	"\x1b[%d;%dr", "\x1b[r", "\x1b[?6h", "\x1b[?6l", "\x1b[?7h", "\x1b[?7l", "\x1b[4h", "\x1b[4l", "\x1b[20h", "\x1b[20l", "\x1b[?25l", "\x1b[?25h",
	"\x1b[?1049h", "\x1b[?1049l", "\x1b[?47h", "\x1b[?1047h", "\x1b[?1047l", "\x1b[?1048h", "\x1b[?1048l", "\x1b7", "\x1b8", "\x1b[s", "\x1b[u",
	"\x1b[m", "\x1b[1;31m", "\x1b[38;5;%dm", "\x1b[48;2;%d;%d;7m", "\x1b[38:2::1:2:3m", "\x1b[4:3;58:5:9m", "\x1b[7;9;53m", "\x1b[22;24;27m", "\x1b[97;104m", "\x1b[39;49m",
	"\x1b]8;id=1;https://example.com/%d\x1b\\", "\x1b]8;;\a", "\x1b]2;title %d\a", "\x1b]0;\xff\x1b\\", "\x1b]10;red\a", "\x1b]11;?\a", "\x1b]111\a", "\x1b]4;%d;rgb:1/2/3\a", "\x1b]104\a",
	"\x1b(0", "\x1b(B", "\x1b)0", "\x1b*A", "\x1bn", "\x1bN", "lqqk#", "\x1bH", "\x1b[g", "\x1b[3g", "\x1bD", "\x1bM", "\x1bE", "\x1bc", "\x1b[!p", "\x1b#8",
	"\x1b[?1000h", "\x1b[?1003;1006h", "\x1b[?1003l", "\x1b[?2004h", "\x1b[?2004l", "\x1b[?1h", "\x1b=", "\x1b>", "\x1b[?1004h", "\x1b[?2026h", "\x1b[?%dh", "\x1b[?%dl", "\x1b[%d q",
	"\x1b[>1u", "\x1b[<u", "\x1b[=5;2u", "\x1b[>4;2m", "\x1b[>4m", "\x1b[c", "\x1b[6n", "\x1b[?u", "\x1b[18t", "\x1b[22;0t", "\x1b[23;0t", "\x1bP$qm\x1b\\", "\x1b_Gx\x1b\\",
	"\x1b", "\x1b[", "\x1b[3", "\x1b]2;ti", "\x1bP+q", "\xe4\xb8", "\x18", "\x9b", "\u009b1m", "\xff", "\x00", "\x7f",
}

func randomPiece(r *rand.Rand) string {
	p := pieces[r.IntN(len(pieces))]
	for strings.Contains(p, "%d") {
		n := r.IntN(12)
		if r.IntN(20) == 0 {
			n = []int{0, 255, 999, 1 << 30}[r.IntN(4)]
		}
		p = strings.Replace(p, "%d", fmt.Sprint(n), 1)
	}
	return p
}

// TestRepaintRandom: programs of all that there is, at sizes down to the smallest, with
// changes of size between.
func TestRepaintRandom(t *testing.T) {
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 7))
		term := New(2+r.IntN(30), 1+r.IntN(10), 5)
		var program []string
		for range 1 + r.IntN(120) {
			p := randomPiece(r)
			program = append(program, p)
			_, _ = term.Write([]byte(p))
			if r.IntN(40) == 0 {
				cols, rows := 1+r.IntN(30), r.IntN(10)
				program = append(program, fmt.Sprintf("<%dx%d>", cols, rows))
				term.Resize(cols, rows)
			}
		}
		var next string
		for range r.IntN(10) {
			next += randomPiece(r)
		}
		checkRepaint(t, term, []byte(next))
		if t.Failed() {
			t.Fatalf("seed %d: %q", seed, program)
		}
	}
}

// checkRepaintAll: a fresh terminal has the same state and the same scrollback, as far as
// its lines are no longer than the screen is wide.
func checkRepaintAll(tb testing.TB, t *Terminal) {
	tb.Helper()
	fresh := New(t.cols, t.rows, 10_000)
	_, _ = fresh.Write(t.RepaintAll(1 << 20))
	if d := difference(fresh.state(), t.state()); d != "" {
		tb.Fatalf("repainted:\n%s", d)
	}
	var want []byte
	for row := range t.scrollback.all() {
		for _, piece := range t.folded(row) {
			want = t.appendLine(want, piece)
		}
	}
	if got := fresh.Scrollback(); string(got) != string(want) {
		tb.Fatalf("the scrollback is\n%q, want\n%q", got, want)
	}
}

// TestRepaintAllRandom: what left the screen is above the repainted one, line by line,
// after random programs and changes of size.
func TestRepaintAllRandom(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 8))
		term := New(2+r.IntN(30), 1+r.IntN(10), 30)
		for range 1 + r.IntN(150) {
			_, _ = term.Write([]byte(randomPiece(r)))
			if r.IntN(30) == 0 {
				term.Resize(1+r.IntN(30), r.IntN(10))
			}
		}
		checkRepaintAll(t, term)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestRepaintAll: of the main screen, also while the alternate one is shown; the newest
// lines when not all may be; nothing of it where there is none. What was on the other
// terminal before is not in between.
func TestRepaintAll(t *testing.T) {
	term := New(10, 3, 100)
	for i := range 50 {
		_, _ = fmt.Fprintf(term, "\x1b[3%dmline %d\r\n", i%8, i)
	}
	_, _ = term.Write([]byte("\x1b[?1049halt\r\n1\r\n2\r\n3\r\n4"))
	checkRepaintAll(t, term)
	over := New(10, 3, 100)
	_, _ = over.Write([]byte("$ run\r\nold\r\n"))
	_, _ = over.Write([]byte("\x1b[3;1H\n\n\n")) // moved up, as a console does
	_, _ = over.Write(term.RepaintAll(1 << 20))
	if got, want := string(over.Scrollback()), "$ run\r\nold\r\n\r\n"+string(term.Scrollback()); got != want {
		t.Errorf("the scrollback is\n%q, want\n%q", got, want)
	}
	few := New(10, 3, 100)
	_, _ = few.Write(term.RepaintAll(60))
	if got := string(few.Scrollback()); !strings.HasSuffix(string(term.Scrollback()), got) || strings.Count(got, "\n") != 3 {
		t.Errorf("of 60 bytes the scrollback is %q, want the 3 newest lines", got)
	}
	if d := difference(few.state(), term.state()); d != "" {
		t.Error(d)
	}
	none := New(10, 3, 100)
	if got, want := string(none.RepaintAll(1<<20)), string(none.Repaint()); got != want {
		t.Errorf("without scrollback: %q, want %q", got, want)
	}
}
