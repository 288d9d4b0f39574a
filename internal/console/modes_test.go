package console

import (
	"bytes"
	"testing"
)

func TestModes(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "plain text\r\n", "\x1b[m"},
		{"colours of text", "\x1b[31mred", "\x1b[m"},
		{"the alternate screen", "\x1b[?1049h\x1b[2J", "\x1b[m\x1b[?1049l\x1b[m"},
		{"the alternate screen, left", "\x1b[?1049h\x1b[?1049l", "\x1b[m"},
		{"mouse and paste", "\x1b[?1000;1006h\x1b[?2004h", "\x1b[?1000l\x1b[?1006l\x1b[?2004l\x1b[m"},
		{"mouse, switched off", "\x1b[?1000;1006h\x1b[?1006l\x1b[?1000l", "\x1b[m"},
		{"no cursor, no wrapping", "\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[m"},
		{"kitty on both screens", "\x1b[>1u\x1b[?1049h\x1b[>5u\x1b[>3u\x1b[<1u", "\x1b[<1u\x1b[m\x1b[?1049l\x1b[<1u\x1b[m"},
		{"kitty, popped more often", "\x1b[>1u\x1b[<u\x1b[<5u", "\x1b[m"},
		{"xterm's other keys", "\x1b[>4;2m", "\x1b[>4m\x1b[m"},
		{"xterm's other keys, off", "\x1b[>4;2m\x1b[>4;0m", "\x1b[m"},
		{"keypad and cursor keys", "\x1b=\x1b[?1h", "\x1b>\x1b[?1l\x1b[m"},
		{"a region", "\x1b[2;10r", "\x1b7\x1b[r\x1b8\x1b[m"},
		{"the whole screen as a region", "\x1b[2;10r\x1b[1;24r", "\x1b[m"},
		{"a cursor's shape", "\x1b[5 q", "\x1b[0 q\x1b[m"},
		{"line drawing", "\x1b(0\x0e", "\x1b(B\x0f\x1b[m"},
		{"insert mode", "\x1b[4h", "\x1b[4l\x1b[m"},
		{"a link that is open", "\x1b]8;;http://x\x1b\\x", "\x1b]8;;\x1b\\\x1b[m"},
		{"a link", "\x1b]8;id=1;http://x\x07x\x1b]8;;\x07", "\x1b[m"},
		{"progress", "\x1b]9;4;1;50\x07", "\x1b]9;4;0;\x1b\\\x1b[m"},
		{"a background", "\x1b]11;#000\x07\x1b]10;?\x07", "\x1b]111\x1b\\\x1b[m"},
		{"a title that was saved", "\x1b[22;0t\x1b]0;agent\x07", "\x1b[23;0t\x1b[m"},
		{"synchronised output", "\x1b[?2026h", "\x1b[?2026l\x1b[?2026l\x1b[m"},
		{"within a sequence", "\x1b[31", "\x18\x1b[m"},
		{"within a string", "\x1b]0;half a tit", "\x1b\\\x1b[m"},
		{"within a string, at its end", "\x1bPq#0\x1b", "\x1b\\\x1b[m"},
		{"a full reset", "\x1b[?1049h\x1b[>1u\x1b[?2004h\x1bc", "\x1b[m"},
		{"a soft reset", "\x1b[?1049h\x1b[?25l\x1b[!p", "\x1b[m\x1b[?1049l\x1b[m"},
	} {
		for _, cut := range []int{len(c.in), 1, 2, 3} {
			m := newModes()
			m.rows = 24
			for i := 0; i < len(c.in); i += max(1, cut) {
				m.see([]byte(c.in[i:min(i+max(1, cut), len(c.in))]))
			}
			if got := string(m.restore()); got != c.want {
				t.Errorf("%s, %d at a time: restore = %q, want %q", c.name, cut, got, c.want)
			}
		}
	}
}

// FuzzModes: however the output is cut the same is known, and what restores leaves
// nothing to restore.
func FuzzModes(f *testing.F) {
	f.Add([]byte("\x1b[?1049h\x1b[>1u\x1b]8;;x\x07\x1bP\x1b\\\x1b[?25l\x1b(0\x0e"), 3)
	f.Add([]byte("\x1b[\x1b]\x1b[=5;1u\x1b[4h\x1b[22t"), 1)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		if cut = cut % 64; cut <= 0 {
			cut = 7
		}
		whole, pieces := newModes(), newModes()
		whole.see(in)
		for i := 0; i < len(in); i += cut {
			pieces.see(in[i:min(i+cut, len(in))])
		}
		after := newModes()
		after.see(in)
		a, b := whole.restore(), pieces.restore()
		if !bytes.Equal(a, b) {
			t.Fatalf("in one %q, in pieces %q", a, b)
		}
		after.see(a)
		if after.changed() {
			t.Fatalf("%q leaves something behind after %q", a, in)
		}
		if again := whole.restore(); string(again) != "\x1b[m" {
			t.Fatalf("restored again: %q", again)
		}
	})
}

func BenchmarkModes(b *testing.B) {
	for name, unit := range map[string]string{"text": "a line of plain text that is 40 bytes.\r\n", "redraw": "\x1b[12;3H\x1b[38;5;208mword\x1b[m\x1b[K"} {
		b.Run(name, func(b *testing.B) {
			p := bytes.Repeat([]byte(unit), 1000)
			m := newModes()
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				m.see(p)
			}
		})
	}
}
