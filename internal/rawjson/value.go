package rawjson

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"iter"
	"math"
	"strconv"
)

// Value is one JSON value as it was written, without surrounding white space.
// The zero Value is absent: it has no kind, no members and no text.
type Value []byte

// Kind is the type of a Value.
type Kind byte

// The kinds.
const (
	Absent Kind = 0
	Null   Kind = 'n'
	Bool   Kind = 't'
	Number Kind = '0'
	String Kind = '"'
	Object Kind = '{'
	Array  Kind = '['
)

var errNotJSON = errors.New("not a JSON text")

// Parse checks that line is one JSON text and returns it without the white space
// and the byte order mark around it. The Value aliases line.
func Parse(line []byte) (Value, error) {
	line = bytes.Trim(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(line) == 0 {
		return nil, errNotJSON
	}
	v := jsontext.Value(line)
	if !v.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return nil, errNotJSON
	}
	return Value(line), nil
}

// Kind returns the type of v.
func (v Value) Kind() Kind {
	if len(v) == 0 {
		return Absent
	}
	switch c := v[0]; c {
	case '{', '[', '"', 'n':
		return Kind(c)
	case 't', 'f':
		return Bool
	}
	return Number
}

// Given reports whether v is there and not null.
func (v Value) Given() bool { return len(v) > 0 && v[0] != 'n' }

// Get follows path through objects. It is absent when a step is missing or not
// an object.
func (v Value) Get(path ...string) Value {
	for _, name := range path {
		if v = v.member(name); v == nil {
			return nil
		}
	}
	return v
}

// member returns the last member of that name.
func (v Value) member(name string) Value {
	if v.Kind() != Object {
		return nil
	}
	var found Value
	for i := skipSpace(v, 1); v[i] != '}'; {
		end := skipString(v, i)
		from := skipSpace(v, skipSpace(v, end)+1)
		to := skipValue(v, from)
		if sameName(v[i:end], name) {
			found = v[from:to:to]
		}
		i = next(v, to)
	}
	return found
}

// Members yields the members of an object in their order, duplicates included.
// Names are repaired. Any other value has none.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		for i := skipSpace(v, 1); v[i] != '}'; {
			end := skipString(v, i)
			from := skipSpace(v, skipSpace(v, end)+1)
			to := skipValue(v, from)
			if !yield(v[i:end].Text(), v[from:to:to]) {
				return
			}
			i = next(v, to)
		}
	}
}

// Elements yields the elements of an array. Any other value has none.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		for i := skipSpace(v, 1); v[i] != ']'; {
			to := skipValue(v, i)
			if !yield(v[i:to:to]) {
				return
			}
			i = next(v, to)
		}
	}
}

// Empty reports whether v is absent, null, or an object, array or string with
// nothing in it.
func (v Value) Empty() bool {
	switch v.Kind() {
	case Absent, Null:
		return true
	case Object, Array:
		return v[skipSpace(v, 1)] == v[0]+2 // '{'+2 == '}', '['+2 == ']'
	case String:
		return len(v) == 2
	}
	return false
}

// Int returns v as an integer: an integral number, or a string of one, as some
// programs write ids. ok is false otherwise and beyond int64.
func (v Value) Int() (n int64, ok bool) {
	s := []byte(v)
	if v.Kind() == String {
		s = s[1 : len(s)-1]
	} else if v.Kind() != Number {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(s), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(s), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// Float returns a number. ok is false for anything else and beyond float64.
func (v Value) Float() (f float64, ok bool) {
	if v.Kind() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil
}

// True reports whether v is true.
func (v Value) True() bool { return len(v) > 0 && v[0] == 't' }
