package rawjson

import (
	"bytes"
	"encoding/json/jsontext"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns the text of a string, with U+FFFD for broken UTF-8 and unpaired
// surrogates. It is empty for any other value.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	return Repair(v.Wobbly())
}

// Wobbly returns the text of a string as the agent cut it: broken bytes stay as
// they are, and an unpaired surrogate becomes its three bytes in WTF-8, so that a
// Joiner can join the halves of a character that was split over two strings. It
// is empty for any other value.
func (v Value) Wobbly() string {
	if v.Kind() != String {
		return ""
	}
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var out strings.Builder // a slice of bytes would be copied once more
	out.Grow(len(inner))
	for i := 0; i < len(inner); {
		if inner[i] != '\\' {
			n := bytes.IndexByte(inner[i:], '\\')
			if n < 0 {
				n = len(inner) - i
			}
			out.Write(inner[i : i+n])
			i += n
			continue
		}
		var room [utf8.UTFMax]byte
		text, n := appendUnescaped(room[:0], inner[i:])
		out.Write(text)
		i += n
	}
	return out.String()
}

// appendUnescaped resolves the escape at the start of s and returns its length.
func appendUnescaped(dst, s []byte) ([]byte, int) {
	switch c := s[1]; c {
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'n':
		return append(dst, '\n'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'u':
	default:
		return append(dst, c), 2
	}
	r := hex4(s[2:])
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(dst, r), 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(s[8:])); pair != utf8.RuneError {
			return utf8.AppendRune(dst, pair), 12
		}
	}
	return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f), 6
}

// hex4 reads the four hex digits of a valid escape.
func hex4(s []byte) (r rune) {
	for _, c := range s[:4] {
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

// Repair makes a wobbly text valid: halves of a surrogate pair that stand side by
// side become their character, every other broken byte sequence U+FFFD.
func Repair(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			r, n = wobblyRune(s[i:])
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	return string(out)
}

// wobblyRune reads what is no UTF-8 at the start of s.
func wobblyRune(s string) (rune, int) {
	high, ok := surrogate(s)
	if !ok {
		return utf8.RuneError, 1
	}
	if low, ok := surrogate(s[3:]); ok {
		if r := utf16.DecodeRune(high, low); r != utf8.RuneError {
			return r, 6
		}
	}
	return utf8.RuneError, 3
}

// surrogate reads a surrogate in WTF-8.
func surrogate(s string) (rune, bool) {
	if len(s) < 3 || s[0] != 0xed || s[1]&0xe0 != 0xa0 || s[2]&0xc0 != 0x80 {
		return 0, false
	}
	return 0xd000 | rune(s[1]&0x3f)<<6 | rune(s[2]&0x3f), true
}

// Joiner puts a text together from pieces that may be cut inside a character.
// The zero Joiner is ready.
type Joiner struct{ tail string }

// Add takes a wobbly piece and returns the valid text that is complete with it.
// What may be the first part of a character waits for the next piece.
func (j *Joiner) Add(piece string) string {
	if j.tail != "" {
		piece, j.tail = j.tail+piece, ""
	}
	cut := len(piece) - incomplete(piece)
	j.tail = piece[cut:]
	return Repair(piece[:cut])
}

// Flush returns what waits, repaired, and forgets it.
func (j *Joiner) Flush() string {
	tail := j.tail
	j.tail = ""
	return Repair(tail)
}

// incomplete returns how many bytes at the end of s can be the first part of a
// character: of UTF-8, or a high surrogate in WTF-8.
func incomplete(s string) int {
	for n := 1; n <= 3 && n <= len(s); n++ {
		c := s[len(s)-n]
		if c < utf8.RuneSelf {
			return 0
		}
		if !utf8.RuneStart(c) {
			continue
		}
		tail := s[len(s)-n:]
		if r, ok := surrogate(tail); ok && r < 0xdc00 && n == 3 {
			return 3
		}
		if !utf8.FullRuneInString(tail) || n == 2 && c == 0xed && tail[1]&0xe0 == 0xa0 {
			return n
		}
		return 0
	}
	return 0
}

// Clean returns a copy of v in valid UTF-8 and without unpaired surrogates, fit
// for strict readers, on one line. It is nil for an absent value.
func (v Value) Clean() jsontext.Value {
	if v == nil {
		return nil
	}
	if clean(v) {
		return jsontext.Value(bytes.Clone(v))
	}
	out := make([]byte, 0, len(v)+16)
	for i := 0; i < len(v); {
		switch c := v[i]; {
		case c == '"':
			end := skipString(v, i)
			if literal := v[i:end]; clean(literal) {
				out = append(out, literal...)
			} else {
				out = AppendString(out, Value(literal).Text())
			}
			i = end
		case c == '\n' || c == '\r':
			i++
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// clean reports whether strict readers take v as it is. An escaped surrogate
// counts as unclean even in a pair: telling them apart is Text's work.
func clean(v []byte) bool {
	if !utf8.Valid(v) || bytes.IndexByte(v, '\n') >= 0 || bytes.IndexByte(v, '\r') >= 0 {
		return false
	}
	for rest := v; ; {
		i := bytes.Index(rest, []byte(`\u`))
		if i < 0 || len(rest) < i+4 {
			return true
		}
		if c := rest[i+2]; c == 'd' || c == 'D' {
			if c = rest[i+3]; c >= '8' {
				return false
			}
		}
		rest = rest[i+2:]
	}
}

// AppendString appends s as a JSON string, repaired. <, > and & stay as they are.
func AppendString(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil { // broken UTF-8, which AppendQuote replaced byte by byte
		out, _ = jsontext.AppendQuote(dst, Repair(s))
	}
	return out
}
