package contract

import "bytes"

// PeekType returns the event type of an encoded envelope without decoding it,
// for those who route or filter lines. It does not check the line: for one that
// Decode accepts it is the type that Decode finds, for any other it is anything,
// often empty.
func PeekType(line []byte) EventType {
	t, _ := peek(line, skipSpace(line, 0), "ev", "t")
	if len(t) < 2 || t[0] != '"' {
		return ""
	}
	return eventType(t)
}

// peek follows names into the object at i, in one pass. It returns the value, nil
// when there is none, and the index after the object. Of members with the same
// name the last one counts. Broken JSON ends the search.
func peek(v []byte, i int, names ...string) (value []byte, end int) {
	if i >= len(v) || v[i] != '{' {
		return nil, skipValue(v, i)
	}
	for i++; ; i++ {
		start := skipSpace(v, i)
		end = skipValue(v, start)
		colon := skipSpace(v, end)
		if end <= start+1 || v[start] != '"' || colon >= len(v) || v[colon] != ':' {
			return value, min(end+1, len(v)) // behind the closing brace, if this is one
		}
		from := skipSpace(v, colon+1)
		switch {
		case !isName(v[start:end], names[0]):
			i = skipValue(v, from)
		case len(names) == 1:
			i = skipValue(v, from)
			value = v[from:i]
		default:
			value, i = peek(v, from, names[1:]...)
		}
		if i = skipSpace(v, i); i >= len(v) || v[i] != ',' {
			return value, min(i+1, len(v))
		}
	}
}

func isName(literal []byte, name string) bool {
	if bytes.IndexByte(literal, '\\') >= 0 {
		return string(unquote(literal)) == name
	}
	return string(literal[1:len(literal)-1]) == name
}
