package present

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Title makes a summary from inline markdown: cleaned, on one line, at most
// TitleLimit graphemes. It is empty when nothing visible is left.
func Title(markdown string) string {
	return Cut(Line(head(markdown, TitleLimit)), TitleLimit)
}

// Description makes a description from inline markdown: cleaned, line breaks
// kept, at most DescriptionLimit graphemes. It is empty when nothing visible is
// left.
func Description(markdown string) string {
	return Cut(strings.TrimSpace(Clean(head(markdown, DescriptionLimit))), DescriptionLimit)
}

// head is the start of s from which a text of limit graphemes is made, so that a
// plan of megabytes is not cleaned for its first line: twice what Cut can keep.
// White space and escape sequences beyond that much may hide what follows them.
func head(s string, limit int) string {
	s, _ = CutBytes(s, 2*limit*bytesPerGrapheme)
	return s
}

// Line cleans s and puts it on one line: each run of white space, line breaks
// included, becomes one space.
func Line(s string) string {
	if plainLine(s) {
		return s
	}
	return strings.Join(strings.Fields(Clean(s)), " ")
}

// plainLine reports whether Line would change nothing, for ASCII only.
func plainLine(s string) bool {
	space := true // a leading space must go
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x7f || c == ' ' && space {
			return false
		}
		space = c == ' '
	}
	return !space || s == ""
}

// Clean makes s fit to be shown: valid UTF-8, no terminal escape sequences, no
// control characters except line feeds (tabs become a space, CR LF and CR one
// line feed), and U+FFFD for each character that reorders or hides text.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	var before rune
	for i := 0; i < len(s); {
		if n := escape(s[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		after := rune(0)
		if i+n < len(s) {
			after, _ = utf8.DecodeRuneInString(s[i+n:])
		}
		if shown, ok := visible(r, before, after); ok {
			b.WriteRune(shown)
		}
		before = r
		i += n
	}
	return b.String()
}

// plain reports whether s is ASCII without control characters but line feeds.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '\n' && (c < ' ' || c >= 0x7f) {
			return false
		}
	}
	return true
}

// visible says what to show for r, which stands between before and after, and
// whether to show anything.
func visible(r, before, after rune) (rune, bool) {
	switch {
	case r == '\n':
		return r, true
	case r == '\r':
		return '\n', after != '\n'
	case r == '\t', r == '\u2028', r == '\u2029':
		return ' ', true
	case unicode.Is(unicode.Cc, r):
		return 0, false
	case r == '\u200d':
		// A zero-width joiner builds emoji and Indic ligatures; between other
		// characters it only hides a difference.
		return joined(r, before, after)
	case r == '\u200c': // non-joiner: Persian and Indic spelling needs it
		return joined(r, before, after)
	case r >= 0xe0020 && r <= 0xe007f: // tags of a regional flag
		return r, before == 0x1f3f4 || before >= 0xe0020 && before <= 0xe007f
	case unicode.Is(unicode.Cf, r), r == '\u115f', r == '\u1160', r == '\u3164', r == '\uffa0':
		return utf8.RuneError, true
	}
	return r, true
}

// joined keeps a joiner only between visible characters beyond ASCII.
func joined(r, before, after rune) (rune, bool) {
	if min(before, after) > unicode.MaxASCII && unicode.IsPrint(before) && unicode.IsPrint(after) {
		return r, true
	}
	return utf8.RuneError, true
}

// escape returns the length of the terminal escape sequence at the start of s,
// 0 when there is none: CSI, the string sequences (OSC, DCS, PM, APC, SOS) and
// two-byte sequences of ECMA-48. An unfinished one reaches to the end of a CSI's
// parameters or, for strings, of the line.
func escape(s string) int {
	if len(s) < 2 || s[0] != 0x1b {
		return 0
	}
	switch s[1] {
	case '[':
		i := 2
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
			i++
		}
		if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
			i++
		}
		return i
	case ']', 'P', '^', '_', 'X':
		for i := 2; i < len(s); i++ {
			switch {
			case s[i] == 0x07:
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == '\n':
				return i
			}
		}
		return len(s)
	}
	if s[1] >= 0x20 && s[1] <= 0x7e {
		return 2
	}
	return 1
}
