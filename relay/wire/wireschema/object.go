package wireschema

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
)

// Object is a JSON object whose members keep their order, which is that of the Go
// fields. Values are Object, []any, string, bool, jsontext.Value for numbers, or nil.
type Object []Member

// Member is one member of an Object.
type Member struct {
	Name  string
	Value any
}

// Get is the value of a member, nil when there is none.
func (o Object) Get(name string) any {
	for _, m := range o {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

// Text is a member that is a string, "" for any other.
func (o Object) Text(name string) string {
	s, _ := o.Get(name).(string)
	return s
}

// With is o with a member behind the others, or in place of the one of that name.
func (o Object) With(name string, value any) Object {
	out := append(Object(nil), o...)
	for i := range out {
		if out[i].Name == name {
			out[i].Value = value
			return out
		}
	}
	return append(out, Member{name, value})
}

// Encode is a value as indented JSON with a line end.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := jsontext.NewEncoder(&b, jsontext.WithIndent("  "))
	if err := write(enc, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func write(enc *jsontext.Encoder, v any) error {
	switch v := v.(type) {
	case Object:
		if err := enc.WriteToken(jsontext.BeginObject); err != nil {
			return err
		}
		for _, m := range v {
			if err := enc.WriteToken(jsontext.String(m.Name)); err != nil {
				return err
			}
			if err := write(enc, m.Value); err != nil {
				return err
			}
		}
		return enc.WriteToken(jsontext.EndObject)
	case []any:
		if err := enc.WriteToken(jsontext.BeginArray); err != nil {
			return err
		}
		for _, e := range v {
			if err := write(enc, e); err != nil {
				return err
			}
		}
		return enc.WriteToken(jsontext.EndArray)
	case string:
		return enc.WriteToken(jsontext.String(v))
	case bool:
		return enc.WriteToken(jsontext.Bool(v))
	case int:
		return enc.WriteToken(jsontext.Int(int64(v)))
	case jsontext.Value:
		return enc.WriteValue(v)
	case nil:
		return enc.WriteToken(jsontext.Null)
	}
	return fmt.Errorf("no JSON for %T", v)
}

// Decode reads JSON and keeps the order of members.
func Decode(data []byte) (any, error) {
	return read(jsontext.NewDecoder(bytes.NewReader(data)))
}

func read(dec *jsontext.Decoder) (any, error) {
	switch dec.PeekKind() {
	case jsontext.KindBeginObject:
		out := Object{}
		if _, err := dec.ReadToken(); err != nil {
			return nil, err
		}
		for dec.PeekKind() != jsontext.KindEndObject {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			member := Member{Name: name.String()}
			if member.Value, err = read(dec); err != nil {
				return nil, err
			}
			out = append(out, member)
		}
		_, err := dec.ReadToken()
		return out, err
	case jsontext.KindBeginArray:
		out := []any{}
		if _, err := dec.ReadToken(); err != nil {
			return nil, err
		}
		for dec.PeekKind() != jsontext.KindEndArray {
			e, err := read(dec)
			if err != nil {
				return nil, err
			}
			out = append(out, e)
		}
		_, err := dec.ReadToken()
		return out, err
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	switch raw.Kind() {
	case jsontext.KindString:
		s, err := jsontext.AppendUnquote(nil, raw)
		return string(s), err
	case jsontext.KindTrue, jsontext.KindFalse:
		return raw.Kind() == jsontext.KindTrue, nil
	case jsontext.KindNull:
		return nil, nil
	}
	return raw.Clone(), nil
}
