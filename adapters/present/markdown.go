package present

import "strings"

// markers are the ASCII characters that mean something in inline markdown
// (CommonMark 0.31, section 6, and GitHub's strikethrough).
const markers = "\\`*_[]<>~!&|#"

// Escape puts s on one line with every inline marker escaped, so that it is
// shown as it is.
func Escape(s string) string {
	s = Line(s)
	if !strings.ContainsAny(s, markers) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	for i := range len(s) {
		if strings.IndexByte(markers, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// Bold shows s in bold: **s**. It is empty for an empty s.
func Bold(s string) string {
	if s = Escape(s); s == "" {
		return ""
	}
	return "**" + s + "**"
}

// Code shows s as a code span, fenced by as many backticks as it takes
// (CommonMark 0.31, section 6.1). It is empty for an empty s.
func Code(s string) string {
	return fence(Line(s))
}

// CodeCut is Code for a text of at most n graphemes. Use it for what may be
// long: cutting a finished code span would lose its closing fence.
func CodeCut(s string, n int) string {
	return fence(Cut(Line(s), n))
}

// fence puts s, one line, between backticks.
func fence(s string) string {
	if s == "" {
		return ""
	}
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	f := strings.Repeat("`", longest+1)
	if s[0] == '`' || s[len(s)-1] == '`' {
		return f + " " + s + " " + f
	}
	return f + s + f
}
