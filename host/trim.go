package host

import (
	"encoding/json/jsontext"
	"unicode/utf8"

	"github.com/agenthost/agenthost/contract"
)

// cut bounds the output of a tool result to limit bytes and marks it. A string
// stays a string, cut at a code point; any other value becomes the beginning of
// its JSON text, since a cut value is no JSON. The native log has it whole.
func cut(r *contract.ToolResult, limit int) *contract.ToolResult {
	if r == nil || limit <= 0 || len(r.Output) <= limit {
		return r
	}
	text, whole := begin(r.Output, limit)
	if whole {
		return r
	}
	short, err := jsontext.AppendQuote(nil, prefix(text, limit))
	if err != nil && len(short) == 0 {
		short = []byte(`""`)
	}
	c := *r
	c.Output, c.Truncated = short, true
	return &c
}

// begin is the text of an output, at least limit bytes of it where it has as many;
// an output can be many MB, and no more of it is copied. whole says that it is a
// string of at most limit bytes.
func begin(output jsontext.Value, limit int) (text string, whole bool) {
	if output.Kind() != '"' {
		return string(output[:min(len(output), limit+utf8.UTFMax)]), false
	}
	end := literal(output, limit)
	b, err := jsontext.AppendUnquote(nil, append(output[:end:end], '"'))
	if err != nil && len(b) == 0 {
		return string(output[:min(len(output), limit)]), false
	}
	return string(b), end == len(output)-1 && len(b) <= limit
}

// literal is the length of the beginning of a JSON string, without its last quote,
// that has more than limit bytes of text, or all of it. It cuts no escape in two.
func literal(s jsontext.Value, limit int) int {
	i, most := 1, len(s)-1
	for n := 0; i < most && n <= limit; n++ {
		switch {
		case s[i] != '\\':
			i++
		case s[i+1] != 'u':
			i += 2
		case i+12 <= most && s[i+6] == '\\' && s[i+7] == 'u':
			i += 12 // perhaps one character in two escapes
		default:
			i += 6
		}
	}
	return min(i, most)
}

// prefix is the longest prefix of text of at most n bytes that ends at a code point.
func prefix(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
