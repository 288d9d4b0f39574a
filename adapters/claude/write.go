package claude

import (
	"encoding/json/jsontext"
	"strconv"
	"strings"
)

// object builds one JSON object. Raw members are kept byte for byte, which no
// encoder promises: permissions echo what was asked about.
type object struct{ b []byte }

func (o *object) name(name string) {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = appendQuote(o.b, name)
	o.b = append(o.b, ':')
}

func (o *object) str(name, v string) *object {
	o.name(name)
	o.b = appendQuote(o.b, v)
	return o
}

// raw adds a member whose value is JSON already.
func (o *object) raw(name string, v []byte) *object {
	o.name(name)
	o.b = append(o.b, v...)
	return o
}

func (o *object) flag(name string, v bool) *object {
	o.name(name)
	o.b = strconv.AppendBool(o.b, v)
	return o
}

// value closes the object.
func (o *object) value() []byte {
	if len(o.b) == 0 {
		return []byte("{}")
	}
	return append(o.b, '}')
}

// line closes the object and ends the line.
func (o *object) line() []byte { return append(o.value(), '\n') }

func appendQuote(b []byte, s string) []byte {
	b, err := jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil {
		// Only invalid UTF-8 is an error, and there is none left.
		return append(b, '"', '"')
	}
	return b
}

func quote(s string) []byte { return appendQuote(nil, s) }

// array joins JSON values.
func array(values ...[]byte) []byte {
	b := []byte{'['}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}

// controlRequest is a request of ours to the CLI; body is the whole "request".
func controlRequest(id string, body []byte) []byte {
	return new(object).str("type", "control_request").str("request_id", id).raw("request", body).line()
}

// controlResponse answers a request of the CLI.
func controlResponse(id string, response []byte) []byte {
	r := new(object).str("subtype", "success").str("request_id", id).raw("response", response)
	return new(object).str("type", "control_response").raw("response", r.value()).line()
}

// controlError refuses a request of the CLI.
func controlError(id, reason string) []byte {
	r := new(object).str("subtype", "error").str("request_id", id).str("error", reason)
	return new(object).str("type", "control_response").raw("response", r.value()).line()
}

// The priorities of a user message. "next" is folded into the running turn
// between two tool rounds, "later" always starts a turn of its own.
const (
	priorityNext  = "next"
	priorityLater = "later"
)

// userMessage sends a message; content is a JSON string or an array of blocks.
func userMessage(uuid, priority string, content []byte) []byte {
	m := new(object).str("role", "user").raw("content", content)
	return new(object).str("type", "user").str("uuid", uuid).raw("message", m.value()).
		raw("parent_tool_use_id", []byte("null")).str("session_id", "").str("priority", priority).line()
}
