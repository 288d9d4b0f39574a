package present_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/agenthost/agenthost/adapters/present"
)

const family = "👩‍👩‍👧‍👦" // one grapheme of 25 bytes

func TestTitle(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{" \n\t ", ""},
		{"Run `npm test`", "Run `npm test`"},
		{"  two\r\nlines\tand\ta tab  ", "two lines and a tab"},
		{"\x1b[31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;http://a\x1b\\link", "red xlink"},
		{"bell\a nul\x00 del\x7f c1\u0085", "bell nul del c1"},
		{"broken \xff utf\xc3", "broken \uFFFD utf\uFFFD"},
		{"rm -rf \u202e/emoh\u202c x\u200b\u2066y", "rm -rf \uFFFD/emoh\uFFFD x\uFFFD\uFFFDy"},
		{"می\u200cخواهم " + family + " 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪", "می\u200cخواهم " + family + " 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪"},
		{"pass\u200cword a\u200db", "pass\uFFFDword a\uFFFDb"},
		{"a\u2028b\u00a0c", "a b c"},
		{"\x1b", ""},
		{"\x1b[1;2", ""},
		{"\x1bcx", "x"},
		{"\x1b]never ends\nnext", "next"},
		{"\x1b\x01y", "y"},
		{strings.Repeat("a", 120), strings.Repeat("a", 120)},
		{strings.Repeat("a", 121), strings.Repeat("a", 119) + "…"},
		{strings.Repeat("é", 121), strings.Repeat("é", 119) + "…"},
		{strings.Repeat("e\u0301", 120), strings.Repeat("e\u0301", 120)},
		{strings.Repeat(family, 121), strings.Repeat(family, 119) + "…"},
	} {
		if got := present.Title(c.in); got != c.want {
			t.Errorf("Title(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestDescription(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"\n a\r\nb\rc\n", "a\nb\nc"},
		{strings.Repeat("한", 1001), strings.Repeat("한", 999) + "…"},
		{strings.Repeat("x", 990) + strings.Repeat(" ", 20), strings.Repeat("x", 990)},
		{strings.Repeat("x", 990) + strings.Repeat(" ", 20) + "y", strings.Repeat("x", 990) + "…"},
	} {
		if got := present.Description(c.in); got != c.want {
			t.Errorf("Description(%.40q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	zalgo := "z" + strings.Repeat("\u0301", 10_000)
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"abc", 0, ""},
		{"abc", -1, ""},
		{"abc", 1, "…"},
		{"abc", 2, "a…"},
		{"abc", 3, "abc"},
		{"", 3, ""},
		{"🇩🇪🇫🇷🇮🇹", 2, "🇩🇪…"},
		{"각각각", 2, "각…"},
		{zalgo, 5, "…"},
		{"ab" + zalgo, 5, "ab…"},
	} {
		if got := present.Cut(c.in, c.n); got != c.want {
			t.Errorf("Cut(%.40q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestCutBytes(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
		cut  bool
	}{
		{"abc", 3, "abc", false},
		{"abc", 2, "ab", true},
		{"a한", 3, "a", true},
		{"a한", 4, "a한", false},
		{"한", 0, "", true},
		{"한", -5, "", true},
		{"", 0, "", false},
		{"\x80\x80\x80", 2, "", true},
	} {
		if got, cut := present.CutBytes(c.in, c.n); got != c.want || cut != c.cut {
			t.Errorf("CutBytes(%q, %d) = %q, %t, want %q, %t", c.in, c.n, got, cut, c.want, c.cut)
		}
	}
}

func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ name, got, want string }{
		{"Code", present.Code("npm test"), "`npm test`"},
		{"Code", present.Code("echo `date`"), "`` echo `date` ``"},
		{"Code", present.Code("a``b"), "```a``b```"},
		{"Code", present.Code("one\ntwo"), "`one two`"},
		{"Code", present.Code(" \n"), ""},
		{"CodeCut", present.CodeCut("abcdef`", 3), "`ab…`"},
		{"Bold", present.Bold("src/my_file*.ts"), `**src/my\_file\*.ts**`},
		{"Bold", present.Bold(""), ""},
		{"Escape", present.Escape("a <b> [c](d) `e` ![f] ~~g~~ \\ h&amp; #1 |"), "a \\<b\\> \\[c\\](d) \\`e\\` \\!\\[f\\] \\~\\~g\\~\\~ \\\\ h\\&amp; \\#1 \\|"},
		{"Escape", present.Escape("plain  text\n한"), "plain text 한"},
		{"Line", present.Line("already plain"), "already plain"},
		{"Line", present.Line("ends "), "ends"},
		{"Clean", present.Clean("keep\nlines"), "keep\nlines"},
	} {
		if c.got != c.want {
			t.Errorf("%s = %q, want %q", c.name, c.got, c.want)
		}
	}
}

func FuzzPresent(f *testing.F) {
	for _, s := range []string{"", "a\x1b[0m", family, "\u202e\x1b]x", "`", "e\u0301\xff", strings.Repeat("🇩🇪", 200)} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		for name, got := range map[string]string{"Title": present.Title(s), "Description": present.Description(s)} {
			limit := map[string]int{"Title": present.TitleLimit, "Description": present.DescriptionLimit}[name]
			if count := uniseg.GraphemeClusterCount(got); count > limit || len(got) > 32*limit {
				t.Errorf("%s(%q) has %d graphemes in %d bytes", name, s, count, len(got))
			}
			shown(t, name, got, name == "Description")
		}
		if got := present.Cut(s, n); n > 0 && n < 1<<20 && (len(got) > 32*n || got != s && !strings.HasSuffix(got, "…")) {
			t.Errorf("Cut(%q, %d) = %q", s, n, got)
		}
		code := present.Code(s)
		fence := code[:len(code)-len(strings.TrimLeft(code, "`"))]
		if code != "" {
			inner, closed := strings.CutSuffix(code[len(fence):], fence)
			if !closed || strings.Contains(inner, fence) {
				t.Errorf("Code(%q) = %q is not closed, or closed inside", s, code)
			}
		}
		shown(t, "Code", code, false)
		shown(t, "Bold", present.Bold(s), false)
		if cut, was := present.CutBytes(s, n); !strings.HasPrefix(s, cut) || was != (len(cut) < len(s)) || n >= 0 && len(cut) > n {
			t.Errorf("CutBytes(%q, %d) = %q, %t", s, n, cut, was)
		}
	})
}

// shown checks what every text for people must be.
func shown(t *testing.T, name, s string, lines bool) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("%s gave invalid UTF-8 %q", name, s)
	}
	for _, r := range s {
		if unicode.IsControl(r) && !(lines && r == '\n') || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200b {
			t.Errorf("%s gave %q with %U", name, s, r)
		}
	}
}
