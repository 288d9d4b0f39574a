package contracttest

import (
	"encoding/json/jsontext"
	"fmt"
	"reflect"
	"strings"

	"pgregory.net/rapid"

	"github.com/agenthost/agenthost/contract"
)

// Events lists the zero value of each of the 14 event structs, in the order of
// contract.EventTypes.
func Events() []contract.Event {
	return []contract.Event{
		contract.Text{},
		contract.File{},
		contract.TurnStart{},
		contract.TurnEnd{},
		contract.ToolCallStart{},
		contract.ToolCallEnd{},
		contract.Service{},
		contract.SubagentStart{},
		contract.SubagentStop{},
		contract.SessionControlChanged{},
		contract.PermissionRequest{},
		contract.PermissionResponse{},
		contract.Abort{},
		contract.AgentConfigurationChanged{},
	}
}

// Arbitrary generates envelopes that can be encoded but obey no other rule: any
// text in any field, unknown members at every level, unknown events. All raw
// JSON is compact and well-formed.
func Arbitrary() *rapid.Generator[contract.Envelope] {
	return rapid.Custom(func(t *rapid.T) contract.Envelope {
		e := contract.Envelope{
			ID:       anyText.Draw(t, "id"),
			Time:     rapid.Int64().Draw(t, "time"),
			Role:     contract.Role(anyText.Draw(t, "role")),
			Turn:     anyText.Draw(t, "turn"),
			Subagent: anyText.Draw(t, "subagent"),
			Origin:   anyText.Draw(t, "origin"),
			Extra:    extra(t),
		}
		events := Events()
		if i := rapid.IntRange(0, len(events)).Draw(t, "event"); i == len(events) {
			e.Event = unknown(t)
		} else {
			v := reflect.New(reflect.TypeOf(events[i])).Elem()
			fill(t, v)
			e.Event = v.Interface().(contract.Event)
		}
		return e
	})
}

func unknown(t *rapid.T) contract.Event {
	name := string([]rune("x-" + anyText.Draw(t, "t"))) // broken bytes become U+FFFD
	b, err := contract.AppendEvent(nil, contract.Unknown{T: contract.EventType(name)})
	if err != nil {
		t.Fatalf("encoding an unknown event: %v", err)
	}
	if v := extra(t); v != nil {
		b = append(append(b[:len(b)-1], ','), v[1:]...)
	}
	return contract.Unknown{T: contract.EventType(name), Body: b}
}

// fill sets every field of a struct of package contract to something.
func fill(t *rapid.T, v reflect.Value) {
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		if field.Type() == reflect.TypeFor[jsontext.Value]() {
			field.SetBytes(raw(t, name))
			continue
		}
		fillValue(t, name, field)
	}
}

func raw(t *rapid.T, field string) jsontext.Value {
	switch {
	case field == "Extra":
		return extra(t)
	case field == "Args", field == "Answers":
		return Object().Draw(t, field)
	case rapid.Bool().Draw(t, field):
		return nil
	}
	return JSON().Draw(t, field)
}

func fillValue(t *rapid.T, name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(anyText.Draw(t, name))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, name))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, name))
	case reflect.Float64:
		v.SetFloat(rapid.Float64().Draw(t, name))
	case reflect.Struct:
		fill(t, v)
	case reflect.Pointer:
		if rapid.Bool().Draw(t, name) {
			v.Set(reflect.New(v.Type().Elem()))
			fillValue(t, name, v.Elem())
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 2).Draw(t, name)
		if n == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fillValue(t, name, v.Index(i))
		}
	default:
		panic(fmt.Sprintf("contracttest: no generator for %s of kind %s", name, v.Kind()))
	}
}

// anyText is mostly ordinary and has what breaks encoders: quotes, control and
// separator characters, broken UTF-8.
var anyText = rapid.OneOf(
	rapid.SampledFrom([]string{"", "a", "text", "{\"a\":1}", "\\", "\"", "\n\r\t\x00\x1f\x7f", "<&>\u2028\u2029", "\u00e9\U0001F600", "\ufffd", "\xff\xfe", "\xed\xa0\x80", "a\xe2\x82"}),
	rapid.String(),
)

// extra is nil or an object with members that no struct of contract has.
func extra(t *rapid.T) jsontext.Value {
	n := rapid.IntRange(0, 4).Draw(t, "extra") - 2
	if n <= 0 {
		return nil
	}
	b := jsontext.Value("{")
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "\"x-%d\":%s", i, JSON().Draw(t, "value"))
	}
	return append(b, '}')
}

// Object generates a compact JSON object.
func Object() *rapid.Generator[jsontext.Value] {
	return rapid.Custom(func(t *rapid.T) jsontext.Value { return object(t, 2) })
}

// JSON generates any compact JSON value with valid UTF-8.
func JSON() *rapid.Generator[jsontext.Value] {
	return rapid.Custom(func(t *rapid.T) jsontext.Value { return value(t, 2) })
}

func object(t *rapid.T, depth int) jsontext.Value {
	b := jsontext.Value("{")
	for i := range rapid.IntRange(0, 2).Draw(t, "members") {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "\"m%d\":%s", i, value(t, depth-1))
	}
	return append(b, '}')
}

func value(t *rapid.T, depth int) jsontext.Value {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]jsontext.Value{
			jsontext.Value("null"), jsontext.Value("true"), jsontext.Value("false"),
		}).Draw(t, "literal")
	case 1:
		return rapid.SampledFrom([]jsontext.Value{
			jsontext.Value("0"), jsontext.Value("-1.5e300"), jsontext.Value("9007199254740993"), jsontext.Value("1.0"),
		}).Draw(t, "number")
	case 2:
		return rapid.SampledFrom([]jsontext.Value{
			jsontext.Value(`"\u00e9\/\ud83d\ude00"`), jsontext.Value(`"\\\""`), jsontext.Value(`"` + "\u2028" + `"`),
		}).Draw(t, "escapes")
	case 3:
		b, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(rapid.String().Draw(t, "string"), "\uFFFD"))
		if err != nil {
			t.Fatalf("quoting valid text: %v", err)
		}
		return b
	case 4:
		return object(t, depth)
	}
	b := jsontext.Value("[")
	for i := range rapid.IntRange(0, 2).Draw(t, "elements") {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, value(t, depth-1)...)
	}
	return append(b, ']')
}
