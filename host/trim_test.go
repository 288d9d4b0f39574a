package host

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agenthost/agenthost/contract"
)

func TestCut(t *testing.T) {
	const limit = 10
	for _, c := range []struct {
		in, want  string
		truncated bool
	}{
		{`"0123456789"`, `"0123456789"`, false},
		{`"01234567890"`, `"0123456789"`, true},
		{`"\n\n\n\n\n\n\n\n\n\n"`, `"\n\n\n\n\n\n\n\n\n\n"`, false}, // 20 bytes of JSON, 10 of text
		{`"\u0041\u0041\u0041"`, `"\u0041\u0041\u0041"`, false},
		{`"\u0041123456789\u0042"`, `"A123456789"`, true},
		{`"12345678€"`, `"12345678"`, true},
		{`"1234567€"`, `"1234567€"`, false},
		{`"123456789\ud83d\ude00"`, `"123456789"`, true},
		{`"12345678\\\"\\"`, `"12345678\\\""`, true},
		{`{"a":"0123456789"}`, `"{\"a\":\"0123"`, true},
		{`["€€€€€€"]`, `"[\"€€"`, true},
		{`[1,2]`, `[1,2]`, false},
		{`12345678901`, `"1234567890"`, true},
	} {
		in := &contract.ToolResult{Output: jsontext.Value(c.in)}
		got := cut(in, limit)
		if string(got.Output) != c.want || got.Truncated != c.truncated {
			t.Errorf("cut(%s) = %s, truncated %t; want %s, %t", c.in, got.Output, got.Truncated, c.want, c.truncated)
		}
		if string(in.Output) != c.in || in.Truncated {
			t.Errorf("cut(%s) changed its argument", c.in)
		}
	}
}

func FuzzCut(f *testing.F) {
	for _, s := range []string{"", "plain", "\n\t\"\\", "€😀", "\ufffd", strings.Repeat("ab\n", 20)} {
		f.Add(s, 5)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		s = strings.ToValidUTF8(s, "?")
		if limit < 1 || limit > 1<<20 {
			return
		}
		for _, quote := range []func([]byte, string) ([]byte, error){jsontext.AppendQuote[string], escaped} {
			in, err := quote(nil, s)
			if err != nil {
				t.Fatal(err)
			}
			got := cut(&contract.ToolResult{Output: in}, limit)
			text, err := jsontext.AppendUnquote(nil, got.Output)
			if err != nil || !utf8.Valid(text) {
				t.Fatalf("cut(%s, %d) = %s, which is no string: %v", in, limit, got.Output, err)
			}
			if want := prefix(s, limit); string(text) != want || got.Truncated != (want != s) {
				t.Errorf("cut(%s, %d) is the text %q, truncated %t; want %q, %t", in, limit, text, got.Truncated, want, want != s)
			}
		}
	})
}

// escaped writes every UTF-16 unit as an escape.
func escaped(b []byte, s string) ([]byte, error) {
	b = append(b, '"')
	for _, r := range s {
		for _, unit := range utf16.Encode([]rune{r}) {
			b = fmt.Appendf(b, "\\u%04x", unit)
		}
	}
	return append(b, '"'), nil
}
