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
	text := string(r.Output)
	if r.Output.Kind() == '"' {
		if b, err := jsontext.AppendUnquote(nil, r.Output); err == nil || len(b) > 0 {
			text = string(b)
		}
	}
	short, err := jsontext.AppendQuote(nil, prefix(text, limit))
	if err != nil && len(short) == 0 {
		short = []byte(`""`)
	}
	c := *r
	c.Output, c.Truncated = short, true
	return &c
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
