package rawjson

import "bytes"

// The scanners trust their input: Parse has checked it.

func skipSpace(v []byte, i int) int {
	for v[i] == ' ' || v[i] == '\t' || v[i] == '\n' || v[i] == '\r' {
		i++
	}
	return i
}

// next returns the start of the next member or element after the one that ends
// at i, or the index of the closing bracket.
func next(v []byte, i int) int {
	i = skipSpace(v, i)
	if v[i] == ',' {
		i = skipSpace(v, i+1)
	}
	return i
}

// skipString returns the index after the string that starts at i.
func skipString(v []byte, i int) int {
	for i++; ; {
		n := bytes.IndexByte(v[i:], '"')
		// A quote ends the string unless an odd number of backslashes is before it.
		// They are counted back to the string's start at most.
		j := i + n
		back := 0
		for k := j - 1; k >= i && v[k] == '\\'; k-- {
			back++
		}
		if back%2 == 0 {
			return j + 1
		}
		i = j + 1
	}
}

// skipValue returns the index after the value that starts at i.
func skipValue(v []byte, i int) int {
	switch v[i] {
	case '"':
		return skipString(v, i)
	case '{', '[':
		return skipNested(v, i)
	}
	for i < len(v) && !ends(v[i]) {
		i++
	}
	return i
}

// ends reports whether c ends a literal or number.
func ends(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\r' || c == '\n'
}

func skipNested(v []byte, i int) int {
	for depth := 0; ; {
		switch v[i] {
		case '"':
			i = skipString(v, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
}

// sameName compares a string literal with a name.
func sameName(literal []byte, name string) bool {
	inner := literal[1 : len(literal)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	return Value(literal).Text() == name
}
