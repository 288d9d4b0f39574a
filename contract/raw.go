package contract

import (
	"bytes"
	"encoding/json/jsontext"
	"math"
	"unicode/utf8"
)

// maxDepth bounds the nesting of an envelope, in levels. jsontext refuses more
// than 10,000, so a deeper line could be written but never be read again; the
// distance leaves room for what envelopes are wrapped in. Encode and Decode
// refuse a deeper one.
const maxDepth = 9_000

// maxSize bounds an envelope, in bytes, so that places in it fit 32 bits. Encode
// and Decode refuse a larger one; the host cuts output far below it.
const maxSize = math.MaxInt32

// replacement is U+FFFD in UTF-8.
const replacement = "\uFFFD"

// CleanJSON returns v as Encode would write it: v itself when it is one valid
// JSON value, in valid UTF-8, without unpaired surrogates and line ends, else a
// mended copy. ok is false when v is not JSON.
func CleanJSON(v jsontext.Value) (_ jsontext.Value, ok bool) { return repaired(v) }

// repaired returns v when it is one valid JSON value, in valid UTF-8, without
// unpaired surrogates and line ends; else a copy mended to be so. Duplicate
// names stay. ok is false when v is not JSON at all, or too large.
func repaired(v jsontext.Value) (_ jsontext.Value, ok bool) {
	if len(v) > maxSize {
		return nil, false
	}
	if v.IsValid(jsontext.AllowDuplicateNames(true)) {
		// Strings hold no raw line ends in valid JSON, so any is white space.
		if bytes.IndexByte(v, '\n') < 0 && bytes.IndexByte(v, '\r') < 0 {
			return v, true
		}
		return appendRepaired(make([]byte, 0, len(v)), v), true
	}
	if v.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return appendRepaired(make([]byte, 0, len(v)+16), v), true
	}
	return nil, false
}

// Deeper reports whether the valid JSON v is nested more than levels deep. It
// counts brackets, and only where there are enough bytes for it.
func Deeper(v jsontext.Value, levels int) bool {
	if len(v) < 2*levels {
		return false
	}
	for i, depth := 0, 0; i < len(v); {
		switch v[i] {
		case '"':
			i = skipString(v, i)
			continue
		case '{', '[':
			if depth++; depth > levels {
				return true
			}
		case '}', ']':
			depth--
		}
		i++
	}
	return false
}

// appendRepaired copies v, which is valid JSON but for its UTF-8 and surrogates.
func appendRepaired(dst, v []byte) []byte {
	inString := false
	for i := 0; i < len(v); {
		c := v[i]
		switch {
		case !inString:
			if c == '"' {
				inString = true
			}
			if c != '\n' && c != '\r' {
				dst = append(dst, c)
			}
			i++
		case c == '"':
			inString = false
			dst = append(dst, c)
			i++
		case c == '\\':
			var n int
			dst, n = appendEscape(dst, v[i:])
			i += n
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRune(v[i:])
			dst = utf8.AppendRune(dst, r) // RuneError is U+FFFD
			i += n
		}
	}
	return dst
}

// appendEscape copies the escape sequence at the start of v, a surrogate pair as
// a whole and a lone surrogate as U+FFFD, and returns its length in v.
func appendEscape(dst, v []byte) ([]byte, int) {
	if v[1] != 'u' {
		return append(dst, v[:2]...), 2
	}
	r := hex4(v[2:])
	switch {
	case r < 0xD800 || r > 0xDFFF:
		return append(dst, v[:6]...), 6
	case r < 0xDC00 && len(v) >= 12 && v[6] == '\\' && v[7] == 'u':
		if low := hex4(v[8:]); low >= 0xDC00 && low <= 0xDFFF {
			return append(dst, v[:12]...), 12
		}
	}
	return append(dst, replacement...), 6
}

// hex4 reads the four hex digits of an escape that is known to be valid.
func hex4(v []byte) (r rune) {
	for _, c := range v[:4] {
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		r = r<<4 | rune(c)
	}
	return r
}
