package proc

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTail(t *testing.T) {
	for _, test := range []struct {
		name      string
		size      int
		writes    []string
		want      string
		truncated bool
	}{
		{"nothing", 4, nil, "", false},
		{"fits", 4, []string{"ab", "cd"}, "abcd", false},
		{"one too many", 4, []string{"ab", "cde"}, "bcde", true},
		{"one large write", 4, []string{"abcdefghij"}, "ghij", true},
		{"many small writes", 4, strings.Split("abcdefghijklmnopqrstuvwxyz", ""), "wxyz", true},
		{"keeps nothing", 0, []string{"abc"}, "", true},
		{"negative", -1, []string{"abc"}, "", true},
		{"cut inside of a character", 4, []string{"aé", "bcd"}, "bcd", true},
		{"cut before a character", 5, []string{"xaé", "bcd"}, "ébcd", true},
		{"character over two writes", 8, []string{"a\xf0\x9f", "\x98\x80b"}, "a😀b", false},
		{"character not whole yet", 8, []string{"a\xf0\x9f"}, "a", false},
		{"broken bytes", 16, []string{"a\xffb\xc3(\xe2\x82"}, "a\uFFFDb\uFFFD(", false},
		{"U+FFFD makes it longer than the size", 4, []string{"\xffab", "c"}, "abc", true},
		{"only continuation bytes", 8, []string{strings.Repeat("\x80", 20)}, "\uFFFD", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			tail := NewTail(test.size)
			for _, s := range test.writes {
				if n, err := tail.Write([]byte(s)); n != len(s) || err != nil {
					t.Fatalf("Write(%q) = %d, %v", s, n, err)
				}
			}
			got, truncated := tail.Text()
			if got != test.want || truncated != test.truncated {
				t.Errorf("Text() = %q, %v, want %q, %v", got, truncated, test.want, test.truncated)
			}
		})
	}
}

func FuzzTail(f *testing.F) {
	f.Add("a\xf0\x9f\x98\x80bcd", 3, 5)
	f.Fuzz(func(t *testing.T, in string, size, step int) {
		size, step = size&63, step&15+1
		tail := NewTail(size)
		for at := 0; at < len(in); at += step {
			_, _ = tail.Write([]byte(in[at:min(at+step, len(in))]))
		}
		got, truncated := tail.Text()
		if !utf8.ValidString(got) || len(got) > size {
			t.Errorf("Text() = %q, want at most %d bytes of valid UTF-8", got, size)
		}
		if utf8.ValidString(in) {
			if !strings.HasSuffix(in, got) {
				t.Errorf("Text() = %q, which isn't the end of %q", got, in)
			}
			if len(in)-len(got) >= utf8.UTFMax && len(got) <= size-utf8.UTFMax {
				t.Errorf("Text() = %q of %q, want nearer to %d bytes", got, in, size)
			}
			if truncated != (got != in) {
				t.Errorf("truncated = %v for %q of %q", truncated, got, in)
			}
		}
		if cap(tail.bytes) > 4*size+64 {
			t.Errorf("the tail of %d bytes holds %d", size, cap(tail.bytes))
		}
	})
}
