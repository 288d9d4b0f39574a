package vt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/internal/vt/vttest"
)

// TestWrite: what sequences do, on 10 columns and 4 rows. The screen is told as its
// lines with | between, then the cursor.
func TestWrite(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"text", "ab\r\ncd", "ab|cd|| 2,1"},
		{"wrap is pending", "0123456789", "0123456789||| 9,0+"},
		{"wrap", "0123456789a", "0123456789|a|| 1,1"},
		{"a pending wrap and a line's end", "0123456789\r\na", "0123456789|a|| 1,1"},
		{"no wrap", "\x1b[?7l0123456789abc", "012345678c||| 9,0+"},
		{"scroll", "1\r\n2\r\n3\r\n4\r\n5", "2|3|4|5 1,3"},
		{"wide", "世界", "世界||| 4,0"},
		{"wide wraps whole", "123456789世", "123456789|世|| 2,1"},
		{"wide without wrap", "\x1b[?7l123456789世", "123456789||| 9,0"},
		{"half of a wide one is written over", "世\x1b[1Gx", "x||| 1,0"},
		{"the other half", "世\x1b[2Gx", " x||| 2,0"},
		{"erased half", "a世b\x1b[3G\x1b[X", "a  b||| 2,0"},
		{"combining", "e\u0301x", "e\u0301x||| 2,0"},
		{"combining at the margin", "123456789e\u0301", "123456789e\u0301||| 9,0+"},
		{"combining with nothing", "\u0301a", "a||| 1,0"},
		{"combining with a wide one", "世\u0301", "世\u0301||| 2,0"},
		{"backspace", "ab\bc", "ac||| 2,0"},
		{"backspace from a pending wrap", "0123456789\bx", "01234567x9||| 9,0"},
		{"tab", "a\tb", "a       b||| 9,0"},
		{"tab to the margin", "\t\t\tx", "         x||| 9,0+"},
		{"tab stops", "\x1b[3g\x1b[4G\x1bH\r\tx", "   x||| 4,0"},
		{"back tab", "0123456789\x1b[Zx", "01234567x9||| 9,0"},
		{"repeat", "ab\x1b[3b", "abbbb||| 5,0"},
		{"repeat of nothing", "a\x1b[m\x1b[3b", "a||| 1,0"},
		{"repeat more than there is", "a\x1b[999999999b", "aaaaaaaaaa|aaaaaaaaaa|aaaaaaaaaa|a 1,3"},
		{"insert mode", "abc\r\x1b[4hx", "xabc||| 1,0"},
		{"insert", "abc\x1b[2G\x1b[2@", "a  bc||| 1,0"},
		{"delete", "abcde\x1b[2G\x1b[2P", "ade||| 1,0"},
		{"insert lines", "a\r\nb\r\nc\x1b[2;3H\x1b[L", "a||b|c 0,1"},
		{"delete lines", "a\r\nb\r\nc\x1b[1;1H\x1b[2M", "c||| 0,0"},
		{"region", "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[3;1H\n", "a|c||d 0,2"},
		{"region and reverse line feed", "a\r\nb\r\nc\r\nd\x1b[2;3r\x1b[2;1H\x1bM", "a||b|d 0,1"},
		{"region too large", "a\x1b[2;99r\x1b[4;1Hx\r\ny", "a||x|y 1,3"},
		{"region of a line is none", "\x1b[2;2rx", "x||| 1,0"},
		{"origin", "\x1b[2;3r\x1b[?6hx\x1b[9;9Hy", "|x|        y| 9,2"},
		{"up stops at the region", "\x1b[2;3r\x1b[3;1H\x1b[9Ax", "|x|| 1,1"},
		{"up from above the region", "\x1b[3;4r\x1b[2;1H\x1b[9Ax", "x||| 1,0"},
		{"scroll up", "a\r\nb\x1b[S", "b||| 1,1"},
		{"scroll down", "a\r\nb\x1b[T", "|a|b| 1,1"},
		{"erase below", "abc\r\ndef\r\nghi\x1b[2;2H\x1b[J", "abc|d|| 1,1"},
		{"erase above", "abc\r\ndef\r\nghi\x1b[2;2H\x1b[1J", "|  f|ghi| 1,1"},
		{"save and restore", "a\x1b7bc\x1b8d", "adc||| 2,0"},
		{"save and restore as of SCO", "a\x1b[sbc\x1b[ud", "adc||| 2,0"},
		{"restore what was never saved", "abc\x1b8d", "dbc||| 1,0"},
		{"alternate", "main\x1b[?1049halt", "    alt||| 7,0"},
		{"back from alternate", "main\x1b[?1049hal\r\nt\x1b[?1049l!", "main!||| 5,0"},
		{"line drawing", "\x1b(0lqk\x1b(Bq", "┌─┐q||| 4,0"},
		{"shift out", "\x1b)0q\x0eq\x0fq", "q─q||| 3,0"},
		{"single shift", "\x1b*0q\x1bNqq", "q─q||| 3,0"},
		{"broken UTF-8", "\xe4\xb8a\xff\x80", "��a��||| 5,0"},
		{"control inside of a sequence", "a\x1b[2\r\nCb", "a|  b|| 3,1"},
		{"cancelled sequence", "a\x1b[3\x18C", "aC||| 2,0"},
		{"sequence in a sequence", "a\x1b[3\x1b[Cb", "a b||| 3,0"},
		{"C1 as character", "a\u009b2Cb\u0085c", "a  b|c|| 1,1"},
		{"unknown sequences", "a\x1b[<5;6;7M\x1b[?9$w\x1b%G\x1b_x\x1b\\\x1bPq#1\x1b\\\x1b^p\x1b\\b", "ab||| 2,0"},
		{"title", "\x1b]0;✳ a title\x07b", "b||| 1,0"},
		{"an endless string", "\x1b]52;c;" + strings.Repeat("A", 2*maxString) + "\x07b", "b||| 1,0"},
		{"too many parameters", "a\x1b[" + strings.Repeat("1;", 100) + "mb", "ab||| 2,0"},
		{"alignment", "\x1b#8", "EEEEEEEEEE|EEEEEEEEEE|EEEEEEEEEE|EEEEEEEEEE 0,0"},
		{"full reset", "abc\x1b[2;3r\x1bcx", "x||| 1,0"},
		{"soft reset", "abc\x1b[2;3r\x1b[4h\x1b[!p\rx", "xbc||| 1,0"},
		{"line feed mode", "a\x1b[20h\nb", "a|b|| 1,1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			term := New(10, 4, 0)
			_, _ = term.Write([]byte(c.in))
			if got := term.told(); got != c.want {
				t.Errorf("%q gives %q, want %q", c.in, got, c.want)
			}
			checkRepaint(t, term, []byte("next\r\n"))
		})
	}
}

func (t *Terminal) told() string {
	pending := ""
	if t.pending {
		pending = "+"
	}
	return fmt.Sprintf("%s %d,%d%s", strings.Join(t.Lines(), "|"), t.cursor.x, t.cursor.y, pending)
}

// TestAnswersB139: the questions that agents ask their terminal at the start, and do
// not start without an answer to.
func TestAnswersB139(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"ab\x1b[6n", "\x1b[1;3R"},
		{"ab\x1b[?6n", "\x1b[?1;3;1R"},
		{"\x1b[2;3r\x1b[?6h\x1b[2;1H\x1b[6n", "\x1b[2;1R"},
		{"\x1b[5n", "\x1b[0n"},
		{"\x1b[c", "\x1b[?62;22c"},
		{"\x1b[0c", "\x1b[?62;22c"},
		{"\x1b[>c", "\x1b[>1;10;0c"},
		{"\x1b[>q", "\x1bP>|agenthost\x1b\\"},
		{"\x1b[18t", "\x1b[8;4;10t"},
		{"\x1b]10;?\x1b\\", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\"},
		{"\x1b]11;?\a", "\x1b]11;rgb:0000/0000/0000\a"},
		{"\x1b]11;rgb:1111/2222/3333\a\x1b]11;?\a", "\x1b]11;rgb:1111/2222/3333\a"},
		{"\x1b]11;red\a\x1b]111\a\x1b]10;?;?\a", "\x1b]10;rgb:ffff/ffff/ffff\a\x1b]11;rgb:0000/0000/0000\a"},
		{"\x1b[?2026$p\x1b[?2004h\x1b[?2004$p\x1b[?4711$p", "\x1b[?2026;2$y\x1b[?2004;1$y\x1b[?4711;0$y"},
		{"\x1b[?7$p\x1b[?25l\x1b[?25$p\x1b[?1049h\x1b[?1049$p", "\x1b[?7;1$y\x1b[?25;2$y\x1b[?1049;1$y"},
		{"\x1b[4$p\x1b[4h\x1b[4$p\x1b[2$p", "\x1b[4;2$y\x1b[4;1$y\x1b[2;0$y"},
		{"\x1bP+q544e\x1b\\\x1bP$qm\x1b\\", "\x1bP0+r\x1b\\\x1bP0$r\x1b\\"},
		{"\x1b[?2048h", "\x1b[48;4;10;0;0t"},
		{"\x1b[?996n", "\x1b[?997;1n"},
		// Not this one: who has an answer gets keys that the viewers don't have.
		{"\x1b[?u", ""},
		{"text \x1b[31m\x1b[2J", ""},
	} {
		term := New(10, 4, 0)
		_, _ = term.Write([]byte(c.in))
		if got := string(term.Answers()); got != c.want {
			t.Errorf("%q is answered %q, want %q", c.in, got, c.want)
		}
		if got := term.Answers(); len(got) > 0 {
			t.Errorf("%q is answered again: %q", c.in, got)
		}
	}
}

// TestAnswersAt: it is known behind which byte what was asked, however it comes.
func TestAnswersAt(t *testing.T) {
	const in = "ab\x1b[6nc\x1b[5n\x1b]11;?\ad"
	want := []string{"6 \x1b[1;3R", "11 \x1b[0n", "18 \x1b]11;rgb:0000/0000/0000\a"}
	for size := 1; size <= len(in); size++ {
		term := New(10, 4, 0)
		_, _ = term.Write([]byte("\x1b[6n"))
		term.Answers()
		for p := range slices.Chunk([]byte(in), size) {
			_, _ = term.Write(p)
		}
		var got []string
		for at, answer := range term.AnswersAt() {
			got = append(got, fmt.Sprintf("%d %s", at, answer))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d bytes at once: answered %q, want %q", size, got, want)
		}
		for range term.AnswersAt() {
			t.Errorf("%d bytes at once: answered again", size)
		}
	}
}

// TestAnswersAreBounded: a program that asks and never reads.
func TestAnswersAreBounded(t *testing.T) {
	term := New(10, 4, 0)
	_, _ = term.Write([]byte(strings.Repeat("\x1b[c", 1<<20)))
	if n := len(term.Answers()); n > 1<<17 {
		t.Errorf("%d bytes of answers", n)
	}
}

func TestSGR(t *testing.T) {
	for _, c := range []struct {
		in   string
		want style
	}{
		{"1;3;4;9", style{attrs: bold | italic | strike | underline1}},
		{"1;2;22", style{}},
		{"4:3", style{attrs: 3 * underline1}},
		{"4:0", style{}},
		{"4:9", style{attrs: underline1}},
		{"21;24", style{}},
		{"31;42", style{fg: indexed | 1, bg: indexed | 2}},
		{"91;102", style{fg: indexed | 9, bg: indexed | 10}},
		{"38;5;200;1", style{fg: indexed | 200, attrs: bold}},
		{"38:5:200;1", style{fg: indexed | 200, attrs: bold}},
		{"38;2;1;2;3;48;2;4;5;6", style{fg: trueColor | 0x010203, bg: trueColor | 0x040506}},
		{"38:2::1:2:3", style{fg: trueColor | 0x010203}},
		{"38:2:1:2:3", style{fg: trueColor | 0x010203}},
		{"38;2;999;0;0", style{fg: trueColor | 0xff0000}},
		{"38;5;300", style{}},
		{"38;5", style{}},
		{"38", style{}},
		{"58:5:3;59", style{}},
		{"58:2::1:2:3", style{under: trueColor | 0x010203}},
		{"31;39;41;49", style{}},
		{"1;31;", style{}},
		{"7;27;8;28;5;25;53;55;9;29;3;23", style{}},
	} {
		term := New(10, 4, 0)
		_, _ = term.Write([]byte("\x1b[" + c.in + "m"))
		if got := term.cursor.pen; got != c.want {
			t.Errorf("%q gives %+v, want %+v", c.in, got, c.want)
		}
	}
}

// TestResize: what is cut, what stays, and where the cursor is.
func TestResize(t *testing.T) {
	for _, c := range []struct {
		name, in   string
		cols, rows int
		want       string
		scrollback string
	}{
		{"wider", "0123456789", 12, 4, "0123456789||| 9,0", ""},
		{"narrower", "0123456789", 5, 4, "01234||| 4,0", ""},
		{"through a wide character", "0世", 2, 4, "0||| 1,0", ""},
		{"lines below the cursor go first", "a\r\nb", 10, 2, "a|b 1,1", ""},
		{"then those at the top", "a\r\nb\r\nc\r\nd", 10, 2, "c|d 1,1", "a\r\nb\r\n"},
		{"higher", "a\r\nb\r\nc\r\nd", 10, 6, "a|b|c|d|| 1,3", ""},
		{"alternate", "m\x1b[?1049h\x1b[Ha\r\nb\r\nc\r\nd", 10, 2, "c|d 1,1", ""},
		{"to nothing", "a\r\nb", 0, 0, "b 1,0", "a\r\n"},
		{"region", "\x1b[2;3r\x1b[4;1Hx\r\ny", 10, 5, "|||y| 1,3", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			term := New(10, 4, 10)
			_, _ = term.Write([]byte(c.in))
			term.Resize(c.cols, c.rows)
			if got := term.told(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if got := string(term.Scrollback()); got != c.scrollback {
				t.Errorf("scrollback %q, want %q", got, c.scrollback)
			}
			checkRepaint(t, term, nil)
		})
	}
}

func TestClampB143(t *testing.T) {
	for _, c := range [][4]int{{0, 0, 2, 1}, {1, 1, 2, 1}, {-5, 1 << 40, 2, MaxRows}, {1000, 500, 1000, 500}, {80, 24, 80, 24}} {
		if cols, rows := Clamp(c[0], c[1]); cols != c[2] || rows != c[3] {
			t.Errorf("Clamp(%d, %d) = %d, %d, want %d, %d", c[0], c[1], cols, rows, c[2], c[3])
		}
	}
}

func TestScrollback(t *testing.T) {
	term := New(10, 2, 3)
	_, _ = term.Write([]byte("1\r\n\x1b[31m2\x1b[m x\r\n3\r\n4\r\n5\r\n6"))
	if got, want := string(term.Scrollback()), "\x1b[0;31m2\x1b[0m x\r\n3\r\n4\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_, _ = term.Write([]byte("\x1b[3J"))
	if got := string(term.Scrollback()); got != "" {
		t.Errorf("after ED 3: %q", got)
	}
	none := New(10, 2, -1)
	_, _ = none.Write([]byte("1\r\n2\r\n3"))
	if got := string(none.Scrollback()); got != "" {
		t.Errorf("without scrollback: %q", got)
	}
}

// TestTables: more links and characters than are kept lose what makes them so, and
// nothing else.
func TestTables(t *testing.T) {
	term := New(10, 2, 0)
	for i := range maxTable + 10 {
		_, _ = fmt.Fprintf(term, "\x1b]8;;http://example.com/%d\ax\x1b]8;;\a", i)
	}
	if n := len(term.links.strings); n > maxTable {
		t.Errorf("%d links are kept", n)
	}
	_, _ = term.Write([]byte("a" + strings.Repeat("\u0301", 10000)))
	if n := len(term.marks.strings); n > maxMarks {
		t.Errorf("%d marks are kept of one character", n)
	}
	checkRepaint(t, term, []byte("x"))
}

// TestFlood: what is not drawn of a flood leaves no trace: not on the screen, not in the
// scrollback, not in the pen.
func TestFlood(t *testing.T) {
	lines := []string{"plain", "", "a longer line that goes over several lines of the screen", "\x1b[3%dmred\x1b[1m", "\x1b[m", "世界", "\ttab", "é\u0301", "\x1b[48;5;%dmback"}
	starts := []string{"", "\x1b[5;9H", "\x1b[?1049h", "0123456789", "\x1b[44m", "\x1b[?7l", "\x1b[2;4r", "\x1bN", "\x1b[4h", "\x1b[3", "\xe4\xb8"}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		var text strings.Builder
		for text.Len() < minFlood+r.IntN(minFlood) {
			line := strings.ReplaceAll(lines[r.IntN(len(lines))], "%d", fmt.Sprint(r.IntN(8)))
			text.WriteString(line)
			switch r.IntN(300) {
			case 0:
				text.WriteString("\x1b[2A") // ends what may be skipped
			case 1:
				text.WriteString("\n")
			case 2:
				text.WriteString("\u0085")
			default:
				text.WriteString("\r\n")
			}
		}
		start := starts[r.IntN(len(starts))]
		once, pieces := New(20, 6, 30), New(20, 6, 30)
		_, _ = once.Write([]byte(start))
		_, _ = pieces.Write([]byte(start))
		_, _ = once.Write([]byte(text.String()))
		for rest := text.String(); rest != ""; {
			n := min(1+r.IntN(500), len(rest))
			_, _ = pieces.Write([]byte(rest[:n]))
			rest = rest[n:]
		}
		if d := difference(once.state(), pieces.state()); d != "" {
			t.Fatalf("seed %d after %q:\n%s", seed, start, d)
		}
		if got, want := string(once.Scrollback()), string(pieces.Scrollback()); got != want {
			t.Fatalf("seed %d: scrollback\n%q, want\n%q", seed, got, want)
		}
	}
}

// TestFloodIsSkipped: that it is, which is what it is for.
func TestFloodIsSkipped(t *testing.T) {
	text := []byte(strings.Repeat("line\r\n", 100_000))
	if n := New(80, 24, 1000).flood(text); n < len(text)*9/10 {
		t.Errorf("%d of %d bytes are skipped", n, len(text))
	}
}

// FuzzWrite: whatever is written, in whatever pieces, at whatever size: the invariants
// hold, and the repaint gives the same.
func FuzzWrite(f *testing.F) {
	for _, p := range pieces {
		f.Add([]byte(p), uint8(10), uint8(4), uint8(3))
	}
	for _, r := range vttest.Recordings(f, "testdata") {
		all := strings.Join(r.Chunks, "")
		f.Add([]byte(all[:min(len(all), 8000)]), uint8(r.Cols), uint8(r.Rows), uint8(100))
	}
	f.Fuzz(func(t *testing.T, in []byte, cols, rows, cut uint8) {
		term := New(int(cols%130), int(rows%50), 10)
		n := min(int(cut), len(in))
		_, _ = term.Write(in[:n])
		term.checkInvariants(t)
		term.Resize(int(rows%130), int(cols%50))
		term.checkInvariants(t)
		_, _ = term.Write(in[n:])
		checkRepaint(t, term, in[:n])
		for _, line := range term.Lines() {
			if strings.ToValidUTF8(line, "") != line {
				t.Fatalf("%q is not valid UTF-8", line)
			}
		}
	})
}
