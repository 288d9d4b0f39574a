package console

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// told is what events mean, in short: text as it is, commands as <d>.
func told(events []keyEvent) string {
	var b strings.Builder
	for _, e := range events {
		if e.typed != nil {
			b.Write(e.typed)
			continue
		}
		fmt.Fprintf(&b, "<%c>", e.command)
	}
	return b.String()
}

func TestKeys(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"text", "hällo\r", "hällo\r"},
		{"control characters pass", "\x03\x04\x1a\x1b\x7f\x00", "\x03\x04\x1a\x1b\x7f\x00"},
		{"arrows and mouse pass", "\x1b[A\x1bOB\x1b[<0;10;5M\x1b[M !!", "\x1b[A\x1bOB\x1b[<0;10;5M\x1b[M !!"},
		{"detach", "a\x1ddb", "a<d>b"},
		{"detach, with control still held", "\x1d\x04", "<d>"},
		{"upper case", "\x1dT", "<t>"},
		{"itself", "\x1d\x1d", "\x1d"},
		{"what is none is said so", "\x1d5", "<5>"},
		{"an arrow is none", "\x1d\x1b[Ax", "<?>x"},
		{"kitty", "\x1b[93;5ud", "<d>"},
		{"kitty with Caps Lock", "\x1b[93;69ud", "<d>"},
		{"kitty on another layout", "\x1b[43::93;5ud", "<d>"},
		{"kitty with all keys and releases", "\x1b[57442;5u\x1b[93;5u\x1b[93;5:3u\x1b[57442;1:3u\x1b[100u\x1b[100;1:3u", "\x1b[57442;5u<d>\x1b[100;1:3u"},
		{"kitty, itself", "\x1b[93;5u\x1b[93;5u", "\x1b[93;5u"},
		{"the release of it alone", "\x1b[93;5:3u", ""},
		{"the bracket with Shift and Control is another key", "\x1b[93;6u", "\x1b[93;6u"},
		{"xterm", "\x1b[27;5;93~d", "<d>"},
		{"xterm, other keys", "\x1b[27;5;13~\x1b[3~", "\x1b[27;5;13~\x1b[3~"},
		{"not in a paste", "\x1b[200~a\x1ddb\x1b[93;5u\x1b[201~\x1dd", "\x1b[200~a\x1ddb\x1b[93;5u\x1b[201~<d>"},
		{"a paste in a paste", "\x1b[200~\x1b[200~\x1b[201~\x1dd", "\x1b[200~\x1b[200~\x1b[201~<d>"},
		{"answers of the terminal pass", "\x1b[?62;22c\x1b[5;7R\x1b]11;rgb:0/0/0\x1b\\\x1bP1+r\x1b\\", "\x1b[?62;22c\x1b[5;7R\x1b]11;rgb:0/0/0\x1b\\\x1bP1+r\x1b\\"},
		{"broken off by a control character", "\x1b[9\x1dd", "\x1b[9<d>"},
	} {
		for cut := 1; cut <= len(c.in); cut++ {
			k := &keys{escape: DefaultEscape}
			var got string
			for i := 0; i < len(c.in); i += cut {
				got += told(k.feed(time.Time{}, []byte(c.in[i:min(i+cut, len(c.in))])))
			}
			got += told(k.flush())
			// Cut within ESC [ the escape goes on alone at once, as the key of that name
			// must: a terminal sends a sequence whole.
			if cut < 3 && strings.Contains(c.in, "\x1b[") {
				continue
			}
			if whole := cut == len(c.in); got != c.want && (whole || !splits(c.in, cut)) {
				t.Errorf("%s, %d at a time: %q, want %q", c.name, cut, got, c.want)
			}
		}
	}
}

// splits reports whether pieces of n bytes cut behind an escape, or behind its bracket.
func splits(in string, n int) bool {
	for i := n; i < len(in); i += n {
		if in[i-1] == 0x1b || strings.HasSuffix(in[:i], "\x1b[") {
			return true
		}
	}
	return false
}

// What may be the escape key waits, all else does not.
func TestKeysWait(t *testing.T) {
	for in, waits := range map[string]bool{
		"\x1b": false, "\x1b[": false, "\x1b[9": true, "\x1b[93;5": true, "\x1b[27;5;": true, "a": false,
		"\x1b[" + strings.Repeat("1;", 100): false,
	} {
		k := &keys{escape: DefaultEscape}
		got := told(k.feed(time.Time{}, []byte(in)))
		if waits != (len(k.held) > 0) || waits && got != "" || !waits && got != in {
			t.Errorf("feed(%q) = %q, %d wait; want waiting %t", in, got, len(k.held), waits)
		}
		if got += told(k.flush()); got != in {
			t.Errorf("flush of %q gives %q", in, got)
		}
	}
	k := &keys{escape: DefaultEscape}
	k.feed(time.Time{}, []byte("\x1d\x1b"))
	if got := told(k.flush()); got != "<?>" {
		t.Errorf("the escape key and Escape = %q", got)
	}
}

// A paste whose end never came does not keep the escape key for ever.
func TestKeysTornPaste(t *testing.T) {
	k, now := &keys{escape: DefaultEscape}, time.Unix(0, 0)
	k.feed(now, []byte("\x1b[200~text"))
	if got := told(k.feed(now.Add(time.Second), []byte("\x1dd"))); got != "\x1dd" {
		t.Errorf("within the paste = %q", got)
	}
	if got := told(k.feed(now.Add(10*time.Second), []byte("\x1dd"))); got != "<d>" {
		t.Errorf("long after it = %q", got)
	}
}

func TestEscapeNames(t *testing.T) {
	for name, want := range map[string]byte{"ctrl-]": 0x1d, "^]": 0x1d, "ctrl-A": 1, "^b": 2, "ctrl-\\": 0x1c, "ctrl-^": 0x1e, "ctrl-_": 0x1f} {
		got, err := ParseEscape(name)
		if err != nil || got != want {
			t.Errorf("ParseEscape(%q) = %#x, %v", name, got, err)
			continue
		}
		if again, err := ParseEscape(EscapeName(got)); err != nil || again != got {
			t.Errorf("ParseEscape(EscapeName(%#x)) = %#x, %v", got, again, err)
		}
	}
	for _, bad := range []string{"", "]", "ctrl-", "ctrl-ab", "ctrl-[", "ctrl-m", "ctrl-i", "ctrl-j", "ctrl-@", "ctrl-é", "alt-x", "ctrl-1"} {
		if got, err := ParseEscape(bad); err == nil {
			t.Errorf("ParseEscape(%q) = %#x, want an error", bad, got)
		}
	}
}

// FuzzKeys: without the escape key nothing is lost, added or reordered, however it is
// cut; with it no more is typed than came.
func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\x1b[200~\x1d\x1b[201~\x1b[93;5ud\x1dd"), 3)
	f.Add([]byte("\x1b[9\x1b[27;5;93~\x1b]0;x\x07"), 1)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		if cut = cut % 64; cut <= 0 {
			cut = 7
		}
		k := &keys{escape: DefaultEscape}
		var typed []byte
		commands := false
		take := func(events []keyEvent) {
			for _, e := range events {
				if e.typed == nil {
					commands = true
				}
				typed = append(typed, e.typed...)
			}
		}
		for i := 0; i < len(in); i += cut {
			take(k.feed(time.Time{}, in[i:min(i+cut, len(in))]))
			if len(k.held) > maxSequence+cut {
				t.Fatalf("%d bytes wait", len(k.held))
			}
		}
		take(k.flush())
		if len(typed) > len(in) {
			t.Fatalf("%d bytes typed of %d", len(typed), len(in))
		}
		escape := strings.Contains(string(in), "\x1d") || strings.Contains(string(in), "93")
		if !escape && (commands || string(typed) != string(in)) {
			t.Fatalf("%q became %q, commands %t", in, typed, commands)
		}
	})
}
