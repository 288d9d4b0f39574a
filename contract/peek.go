package contract

import "bytes"

// PeekType returns the event type of an encoded envelope without decoding it,
// for those who route or filter lines. It does not check the line: for one that
// Decode accepts it is the type that Decode finds, for any other it is anything,
// often empty.
func PeekType(line []byte) EventType {
	ev := peek(line, "ev")
	if len(ev) == 0 || ev[0] != '{' {
		return ""
	}
	t := peek(ev, "t")
	if len(t) < 2 || t[0] != '"' {
		return ""
	}
	return eventType(t)
}

// peek finds the value of the last member called name in the object v. Broken
// JSON ends the search.
func peek(v []byte, name string) (value []byte) {
	i := skipSpace(v, 0)
	if i >= len(v) || v[i] != '{' {
		return nil
	}
	for i++; ; i++ {
		start := skipSpace(v, i)
		end := skipValue(v, start)
		colon := skipSpace(v, end)
		if end <= start+1 || v[start] != '"' || colon >= len(v) || v[colon] != ':' {
			return value
		}
		from := skipSpace(v, colon+1)
		to := skipValue(v, from)
		if isName(v[start:end], name) {
			value = v[from:to]
		}
		if i = skipSpace(v, to); i >= len(v) || v[i] != ',' {
			return value
		}
	}
}

func isName(literal []byte, name string) bool {
	if bytes.IndexByte(literal, '\\') >= 0 {
		return string(unquote(literal)) == name
	}
	return string(literal[1:len(literal)-1]) == name
}
