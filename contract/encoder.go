package contract

import (
	"encoding/json/jsontext"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// encoder appends JSON objects to b. A member's name is one of ours and needs no
// escapes. Faults carry paths relative to the object that is being written.
type encoder struct {
	b      []byte
	faults Faults
}

// name starts a member. An object's first member has no comma before it.
func (w *encoder) name(name string) {
	if w.b[len(w.b)-1] != '{' {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
}

func (w *encoder) text(name, s string) {
	w.name(name)
	// The error only reports that broken UTF-8 was replaced, which is wanted.
	w.b, _ = jsontext.AppendQuote(w.b, s)
}

func (w *encoder) optText(name, s string) {
	if s != "" {
		w.text(name, s)
	}
}

func (w *encoder) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.name(name)
	w.b = append(w.b, '[')
	for i, s := range list {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b, _ = jsontext.AppendQuote(w.b, s)
	}
	w.b = append(w.b, ']')
}

func (w *encoder) integer(name string, n int64) {
	w.name(name)
	w.b = strconv.AppendInt(w.b, n, 10)
}

func (w *encoder) optInteger(name string, n int64) {
	if n != 0 {
		w.integer(name, n)
	}
}

func (w *encoder) optNumber(name string, n *float64) {
	if n == nil {
		return
	}
	if math.IsNaN(*n) || math.IsInf(*n, 0) {
		w.faults.add(name, "finite number", strconv.FormatFloat(*n, 'g', -1, 64))
		return
	}
	w.name(name)
	w.b = jsontext.AppendFloat(w.b, *n, 64)
}

// flag writes a boolean that is left out when false.
func (w *encoder) flag(name string, v bool) {
	if v {
		w.boolean(name, v)
	}
}

func (w *encoder) boolean(name string, v bool) {
	w.name(name)
	w.b = strconv.AppendBool(w.b, v)
}

func (w *encoder) optBoolean(name string, v *bool) {
	if v != nil {
		w.boolean(name, *v)
	}
}

// optRaw writes any JSON value, left out when nil.
func (w *encoder) optRaw(name string, v jsontext.Value) {
	if v == nil {
		return
	}
	good, ok := repaired(v)
	if !ok {
		w.faults.add(name, "JSON value", describe(v))
		return
	}
	w.name(name)
	w.b = append(w.b, good...)
}

// optObject writes a JSON object, left out when nil or null.
func (w *encoder) optObject(name string, v jsontext.Value) {
	if v != nil && v.Kind() != jsontext.KindNull {
		w.object(name, v)
	}
}

// object writes a JSON object; nil and null count as the empty one, since agents
// have tools without input.
func (w *encoder) object(name string, v jsontext.Value) {
	good, ok := repaired(v)
	switch {
	case v == nil || v.Kind() == jsontext.KindNull && ok:
		w.name(name)
		w.b = append(w.b, '{', '}')
	case !ok || v.Kind() != jsontext.KindBeginObject:
		w.faults.add(name, "JSON object", describe(v))
	default:
		w.name(name)
		w.b = append(w.b, good...)
	}
}

// extra writes the unknown members of the struct of type known, which ends its
// object. A name that known has is a fault: it would be read as that member.
func (w *encoder) extra(v jsontext.Value, known reflect.Type, also ...string) {
	if v == nil {
		return
	}
	good, ok := repaired(v)
	if !ok || v.Kind() != jsontext.KindBeginObject {
		w.faults.add("extra", "JSON object", describe(v))
		return
	}
	good = trimSpace(good)
	for _, m := range members(nil, good) {
		if name := m.name(good); hasMember(known, name) || slices.Contains(also, name) {
			w.faults.add(name, "member once", "it in Extra too")
			continue
		}
		if w.b[len(w.b)-1] != '{' {
			w.b = append(w.b, ',')
		}
		w.b = append(w.b, m.whole(good)...)
	}
}

// describe says what a raw value that cannot be written is.
func describe(v jsontext.Value) string {
	if _, ok := repaired(v); !ok {
		return "invalid JSON " + quoted(string(v))
	}
	return kindOf(trimSpace(v))
}

// hasMember reports whether the struct type t has a member of that name. Only
// envelopes with unknown members pay for the reflection.
func hasMember(t reflect.Type, name string) bool {
	for f := range t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name && name != "" {
			return true
		}
	}
	return false
}
