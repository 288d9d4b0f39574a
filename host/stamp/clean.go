package stamp

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/contract"
)

// lenient takes what the encoder mends: broken UTF-8 and repeated names.
func lenient() json.Options {
	return json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// object returns v when it is one JSON object, else nil.
func object(v jsontext.Value) jsontext.Value {
	if v.Kind() != '{' || !valid(v) {
		return nil
	}
	return v
}

// maxDepth bounds the nesting of a raw value. The encoder refuses whole envelopes
// beyond 9,000 levels; a value beyond this one is kept as text.
const maxDepth = 1000

// valid reports whether v is JSON that the encoder takes.
func valid(v jsontext.Value) bool {
	return v.IsValid(lenient()) && !contract.Deeper(v, maxDepth)
}

// value returns v when it is JSON, nil when it is empty, and the text of v as a
// JSON string when it is neither: a value JSON cannot hold never reaches a writer.
func value(v jsontext.Value) jsontext.Value {
	if len(v) == 0 {
		return nil
	}
	if valid(v) {
		return v
	}
	return quote(string(v))
}

// quote makes a JSON string.
func quote(s string) jsontext.Value {
	b, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		return jsontext.Value(`""`)
	}
	return b
}

// args makes a JSON object of a tool's input; what is none goes under "input".
func args(v jsontext.Value) jsontext.Value {
	if o := object(v); o != nil {
		return o
	}
	if v = value(v); len(v) == 0 || v.Kind() == 'n' {
		return jsontext.Value(`{}`)
	}
	return slices.Concat(jsontext.Value(`{"input":`), v, jsontext.Value(`}`))
}
