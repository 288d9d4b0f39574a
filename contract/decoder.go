package contract

import (
	"encoding/json/jsontext"
	"math"
	"strconv"
)

// decoder is the state of one Decode. The members of the objects that are being
// read lie one behind the other in one list, which room saves from growing.
type decoder struct {
	faults  Faults
	members []member
	room    [20]member
}

func newDecoder() *decoder {
	d := new(decoder)
	d.members = d.room[:0]
	return d
}

// object reads the members of one JSON object. Of members with the same name the
// last one counts, as in JavaScript. A null stands for an absent member.
//
// The accessors collect faults with paths relative to the object; what they
// return after one is the zero value.
type object struct {
	*decoder
	v []byte
	// first and last bound the object's members.
	first, last int
}

// own are the object's members.
func (o object) own() []member { return o.members[o.first:o.last] }

// get returns the value of a member, nil when it is absent or null; found says
// which of both.
func (o object) get(name string) (value []byte, found bool) {
	own := o.own()
	for i := range own {
		if m := &own[i]; m.isNamed(o.v, name) {
			m.known, found = true, true
			value = m.value(o.v)
		}
	}
	if found && value[0] == 'n' {
		return nil, true
	}
	return value, found
}

// require is get for a member that must be there.
func (o object) require(name, want string) []byte {
	value, found := o.get(name)
	if value == nil {
		got := "nothing"
		if found {
			got = "null"
		}
		o.faults.add(name, want, got)
	}
	return value
}

func (o object) text(name string) string {
	return o.toText(name, o.require(name, "string"))
}

func (o object) optText(name string) string {
	value, _ := o.get(name)
	return o.toText(name, value)
}

func (o object) toText(name string, value []byte) string {
	switch {
	case value == nil:
		return ""
	case value[0] != '"':
		o.faults.add(name, "string", kindOf(value))
		return ""
	}
	return text(value)
}

func (o object) optTexts(name string) (list []string) {
	o.each(name, false, func(i int, element []byte) {
		if element[0] != '"' {
			o.faults.add("["+strconv.Itoa(i)+"]", "string", kindOf(element))
			return
		}
		list = append(list, text(element))
	})
	return list
}

// each yields the elements of an array. Faults that yield adds are put beneath name.
func (o object) each(name string, required bool, yield func(i int, element []byte)) {
	value, _ := o.get(name)
	if value == nil && required {
		o.require(name, "array")
	}
	switch {
	case value == nil:
		return
	case value[0] != '[':
		o.faults.add(name, "array", kindOf(value))
		return
	}
	mark := len(o.faults)
	elements(value, yield)
	o.faults.under(mark, name)
}

func (o object) integer(name string) int64 {
	return o.toInteger(name, "integer", o.require(name, "integer"))
}

// count is an integer that is never negative, which is Validate's to check.
func (o object) count(name string) int64 {
	return o.toInteger(name, "integer >= 0", o.require(name, "integer >= 0"))
}

func (o object) optCount(name string) int64 {
	value, _ := o.get(name)
	return o.toInteger(name, "integer >= 0", value)
}

// size is a count that fits an int on every platform the host runs on.
func (o object) size(name string) int    { return o.toSize(name, o.count(name)) }
func (o object) optSize(name string) int { return o.toSize(name, o.optCount(name)) }

func (o object) toSize(name string, n int64) int {
	if int64(int(n)) != n {
		o.faults.add(name, "integer of "+strconv.Itoa(strconv.IntSize)+" bits", strconv.FormatInt(n, 10))
		return 0
	}
	return int(n)
}

// toInteger keeps all 64 bits. It takes 1e3 and 2.0 too: some peers only have
// floating point.
func (o object) toInteger(name, want string, value []byte) int64 {
	if value == nil {
		return 0
	}
	if kindOf(value) != "number" {
		o.faults.add(name, want, kindOf(value))
		return 0
	}
	s := string(value)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	// Beyond 2^53 a float names no integer exactly; up to there it does.
	if f, err := strconv.ParseFloat(s, 64); err == nil && f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
		return int64(f)
	}
	o.faults.add(name, want, s[:min(len(s), 32)])
	return 0
}

func (o object) optNumber(name string) *float64 {
	value, _ := o.get(name)
	if value == nil {
		return nil
	}
	if kindOf(value) != "number" {
		o.faults.add(name, "number", kindOf(value))
		return nil
	}
	s := string(value)
	f, err := strconv.ParseFloat(s, 64)
	if err != nil { // out of range; JSON's grammar is Go's otherwise
		o.faults.add(name, "number", s[:min(len(s), 32)])
		return nil
	}
	return &f
}

func (o object) flag(name string) bool {
	v := o.optBoolean(name)
	return v != nil && *v
}

func (o object) optBoolean(name string) *bool {
	value, _ := o.get(name)
	switch {
	case value == nil:
		return nil
	case value[0] != 't' && value[0] != 'f':
		o.faults.add(name, "boolean", kindOf(value))
		return nil
	}
	v := value[0] == 't'
	return &v
}

// object returns a copy of a member that must be a JSON object.
func (o object) object(name string) jsontext.Value {
	return o.toObject(name, o.require(name, "object"))
}

func (o object) optObject(name string) jsontext.Value {
	value, _ := o.get(name)
	return o.toObject(name, value)
}

func (o object) toObject(name string, value []byte) jsontext.Value {
	switch {
	case value == nil:
		return nil
	case value[0] != '{':
		o.faults.add(name, "object", kindOf(value))
		return nil
	}
	return clone(value)
}

// optRaw returns a copy of a member of any type, null included.
func (o object) optRaw(name string) jsontext.Value {
	value, found := o.get(name)
	if found && value == nil {
		return jsontext.Value("null")
	}
	return clone(value)
}

// rest returns the members that no accessor read as one object, nil when there
// are none.
func (o object) rest() jsontext.Value {
	size := 0
	for _, m := range o.own() {
		if !m.known {
			size += len(m.whole(o.v)) + 1
		}
	}
	if size == 0 {
		return nil
	}
	rest := append(make(jsontext.Value, 0, size+1), '{')
	for _, m := range o.own() {
		if m.known {
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(rest, m.whole(o.v)...)
	}
	return append(rest, '}')
}

// nested reads a member that is an object into a new T, nil when it is absent.
func nested[T any](o object, name string, read func(object) T) *T {
	value, _ := o.get(name)
	if value == nil {
		return nil
	}
	if value[0] != '{' {
		o.faults.add(name, "object", kindOf(value))
		return nil
	}
	mark := len(o.faults)
	v := inside(o.decoder, value, read)
	o.faults.under(mark, name)
	return &v
}

// nestedList reads a member that is an array of objects.
func nestedList[T any](o object, name string, required bool, read func(object) T) (list []T) {
	o.each(name, required, func(i int, element []byte) {
		mark := len(o.faults)
		if element[0] != '{' {
			o.faults.add("", "object", kindOf(element))
		} else {
			list = append(list, inside(o.decoder, element, read))
		}
		o.faults.underIndex(mark, i)
	})
	return list
}

// inside reads the object value.
func inside[T any](d *decoder, value []byte, read func(object) T) T {
	first := len(d.members)
	d.members = members(d.members, value)
	v := read(object{decoder: d, v: value, first: first, last: len(d.members)})
	d.members = d.members[:first]
	return v
}

func clone(v []byte) jsontext.Value {
	if v == nil {
		return nil
	}
	return append(make(jsontext.Value, 0, len(v)), v...)
}
