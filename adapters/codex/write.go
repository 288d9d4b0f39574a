package codex

import (
	"strconv"

	"github.com/agenthost/agenthost/internal/rawjson"
)

// object builds one JSON object. Raw members are kept byte for byte, which no
// encoder promises: request ids are echoed.
type object struct{ b []byte }

func (o *object) name(name string) {
	if len(o.b) == 0 {
		o.b = append(o.b, '{')
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(rawjson.AppendString(o.b, name), ':')
}

func (o *object) str(name, v string) *object {
	o.name(name)
	o.b = rawjson.AppendString(o.b, v)
	return o
}

// text adds a member unless its value is empty.
func (o *object) text(name, v string) *object {
	if v != "" {
		o.str(name, v)
	}
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

func (o *object) num(name string, n int64) *object {
	o.name(name)
	o.b = strconv.AppendInt(o.b, n, 10)
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

func quote(s string) []byte { return rawjson.AppendString(nil, s) }

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

// quoted is an array of strings.
func quoted(list []string) []byte {
	var values [][]byte
	for _, s := range list {
		values = append(values, quote(s))
	}
	return array(values...)
}

// requestLine is a request of ours. The server wants params even when there are
// none.
func requestLine(id int64, method string, params []byte) []byte {
	if params == nil {
		params = []byte("{}")
	}
	return new(object).num("id", id).str("method", method).raw("params", params).line()
}

// resultLine answers a request of the server, whose id is echoed as it came.
func resultLine(id rawjson.Value, result []byte) []byte {
	return new(object).raw("id", id.Clean()).raw("result", result).line()
}

// errorLine refuses a request of the server.
func errorLine(id rawjson.Value, code int64, message string) []byte {
	e := new(object).num("code", code).str("message", message)
	return new(object).raw("id", id.Clean()).raw("error", e.value()).line()
}
