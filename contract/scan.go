package contract

import (
	"bytes"
	"encoding/json/jsontext"
)

// member is one member of a JSON object, as places in the object's text: small,
// since decoding makes many.
type member struct {
	start, nameEnd int32 // the name with its quotes
	from, to       int32 // the value
	escaped        bool
	known          bool
}

// isNamed compares the name, whose escapes are resolved.
func (m *member) isNamed(v []byte, name string) bool {
	if m.escaped {
		return m.name(v) == name
	}
	return string(v[m.start+1:m.nameEnd-1]) == name
}

// name is the name, escapes resolved.
func (m *member) name(v []byte) string { return text(v[m.start:m.nameEnd]) }

// value is the value as it was written.
func (m *member) value(v []byte) []byte { return v[m.from:m.to] }

// whole is name, colon and value as they were written.
func (m *member) whole(v []byte) []byte { return v[m.start:m.to] }

// members appends the members of the object v, which is valid JSON, to list. It
// trusts v; callers check it, and that it is at most maxSize, once for the line.
func members(list []member, v []byte) []member {
	i := skipSpace(v, 1)
	for v[i] != '}' {
		start := i
		end := skipString(v, i)
		from := skipSpace(v, skipSpace(v, end)+1)
		to := skipValue(v, from)
		escaped := bytes.IndexByte(v[start:end], '\\') >= 0
		list = append(list, member{start: int32(start), nameEnd: int32(end), from: int32(from), to: int32(to), escaped: escaped})
		i = skipSpace(v, to)
		if v[i] == ',' {
			i = skipSpace(v, i+1)
		}
	}
	return list
}

// elements yields the elements of the array v, which is valid JSON.
func elements(v []byte, yield func(i int, element []byte)) {
	i := skipSpace(v, 1)
	for n := 0; v[i] != ']'; n++ {
		end := skipValue(v, i)
		yield(n, v[i:end])
		i = skipSpace(v, end)
		if v[i] == ',' {
			i = skipSpace(v, i+1)
		}
	}
}

// skipSpace returns the index of the first byte at or after i that is no white
// space. It and the other skip functions stay within v, whatever v is.
func skipSpace(v []byte, i int) int {
	for i < len(v) && (v[i] == ' ' || v[i] == '\t' || v[i] == '\n' || v[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at i. It jumps from
// quote to quote; one after an odd number of backslashes belongs to the string.
func skipString(v []byte, i int) int {
	for start := i; ; {
		n := bytes.IndexByte(v[i+1:], '"')
		if n < 0 {
			return len(v)
		}
		i += 1 + n
		escapes := 0
		for j := i - 1; j > start && v[j] == '\\'; j-- {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns the index after the value that starts at i.
func skipValue(v []byte, i int) int {
	for depth := 0; i < len(v); {
		switch v[i] {
		case '"':
			if i = skipString(v, i); depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the end of what surrounds a number or literal
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// unquote resolves the escapes of a JSON string literal; broken UTF-8 and lone
// surrogates become U+FFFD.
func unquote(literal []byte) []byte {
	text, _ := jsontext.AppendUnquote(nil, literal) // the error only reports the replacement
	return text
}

// text is the value of a JSON string literal.
func text(literal []byte) string {
	if inner := literal[1 : len(literal)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) // the line is valid UTF-8 by now
	}
	return string(unquote(literal))
}

// trimSpace cuts JSON white space off both ends.
func trimSpace(v []byte) []byte { return bytes.Trim(v, " \t\r\n") }

// kindOf names the JSON type of a value for an error.
func kindOf(v []byte) string {
	if len(v) == 0 {
		return "nothing"
	}
	switch v[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
