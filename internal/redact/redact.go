// Package redact takes secrets out of what is logged: the native log of a
// session, slog records, and error texts.
//
// # Guarantees
//
//   - A secret given to New does not come out: not as it is, not as JSON or a URL
//     would write it, and not as a piece of 8 or more bytes that a cut left at the
//     start or the end of a text.
//   - Credentials of well-known shapes (bearer tokens, sk-…, AIza…, private keys,
//     ?token=…, JSON members called "password") do not come out either, whether
//     or not New was told of them.
//   - JSON stays JSON: a replacement never crosses the end of a string.
//
// # Non-goals
//
// It finds no secret it does not know of that looks like ordinary text. Envelopes
// are not redacted: they are what the agent said to its user.
//
// # Testing
//
// go test ./internal/redact holds tables, a fuzz target and a benchmark.
package redact

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Mask stands for what was taken out.
const Mask = "***"

// minSecret is the length from which on a secret is looked for, in bytes: a
// shorter one would take innocent text out everywhere and can be guessed anyway.
const minSecret = 6

// minPiece is the length from which on a piece of a secret, cut off by the end of
// a text, is taken out.
const minPiece = 8

// Redactor takes secrets out. It is immutable and safe for concurrent use. Make it
// with New.
type Redactor struct {
	secrets [][]byte // longest first
	shapes  *regexp.Regexp
	marks   [256][]mark
}

// New makes a Redactor that knows secrets besides the well-known shapes. Ones
// shorter than 6 bytes are not looked for.
func New(secrets ...string) *Redactor {
	r := &Redactor{shapes: regexp.MustCompile(shapes), marks: newMarks()}
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) < minSecret {
			continue
		}
		quoted, err := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\uFFFD"))
		if err != nil {
			quoted = []byte(`""`)
		}
		forms := [][]byte{[]byte(s), quoted[1 : len(quoted)-1], []byte(url.QueryEscape(s)), []byte(url.PathEscape(s))}
		for _, form := range forms {
			if !slices.ContainsFunc(r.secrets, func(have []byte) bool { return bytes.Equal(have, form) }) {
				r.secrets = append(r.secrets, form)
			}
		}
	}
	slices.SortFunc(r.secrets, func(a, b []byte) int { return cmp.Compare(len(b), len(a)) })
	return r
}

// shapes are the well-known credentials, as one RE2. The first group is kept.
const shapes = `(?i)` +
	// What announces a credential: it is kept.
	`(\bbearer\s+)[a-z0-9._~+/=-]{6,}` +
	`|(\bbasic\s+)[a-z0-9+/]{12,}={0,2}` +
	`|([?&](?:[a-z0-9_-]*token|key|api[_-]?key|secret|client_secret|password|sig|signature|code)=)[^&\s"'\\<>]+` +
	`|("(?:[a-z_-]*authorization|x-[a-z-]*key|[a-z_-]*api[_-]?key|(?:access|refresh|id|auth|oauth|session)[_-]?token|[a-z_-]*secret|password|passwd)"\s*:\s*")(?:[^"\\]|\\.)+` +
	// What is one by its own shape.
	`|\bsk-[a-z0-9_-]{6,}` +
	`|\bAIza[a-z0-9_-]{10,}` +
	`|\bya29\.[a-z0-9_-]{10,}` +
	`|\bgh[opsur]_[a-z0-9]{16,}|\bgithub_pat_[a-z0-9_]{16,}|\bglpat-[a-z0-9_-]{12,}|\bnpm_[a-z0-9]{24,}` +
	`|\bxox[abeoprs]-[a-z0-9-]{10,}` +
	`|\b(?:AKIA|ASIA)[a-z0-9]{16}\b` +
	`|\beyJ[a-z0-9_-]{10,}\.[a-z0-9_-]{10,}\.[a-z0-9_-]{5,}` +
	`|-----BEGIN [a-z0-9 ]*PRIVATE KEY-----[^"]*?-----END [a-z0-9 ]*PRIVATE KEY-----`

// Bytes returns b without secrets; b itself when there are none. It does not
// change b.
func (r *Redactor) Bytes(b []byte) []byte {
	out := b
	for _, s := range r.secrets {
		if bytes.Contains(out, s) {
			out = bytes.ReplaceAll(out, s, []byte(Mask))
		}
	}
	out = r.pieces(out)
	if r.marked(out) {
		out = r.shapes.ReplaceAll(out, []byte("${1}${2}${3}${4}"+Mask))
	}
	return out
}

// String is Bytes for a string.
func (r *Redactor) String(s string) string {
	b := []byte(s)
	if out := r.Bytes(b); !bytes.Equal(out, b) {
		return string(out)
	}
	return s
}

// pieces masks the start of a secret at the end of b and the end of one at the
// start of b: what a cut leaves.
func (r *Redactor) pieces(b []byte) []byte {
	for _, s := range r.secrets {
		if n := overlap(b, s); n >= minPiece {
			b = append(slices.Clone(b[:len(b)-n]), Mask...)
		}
		if n := overlap(s, b); n >= minPiece {
			b = append([]byte(Mask), b[n:]...)
		}
	}
	return b
}

// overlap is the length of the longest proper prefix of b that a ends with.
func overlap(a, b []byte) int {
	for n := min(len(a), len(b)-1); n >= minPiece; n-- {
		if a[len(a)-n] == b[0] && bytes.Equal(a[len(a)-n:], b[:n]) {
			return n
		}
	}
	return 0
}

// mark is a piece of lower-case text, found by its rarest letter.
type mark struct {
	text  string
	pivot int
}

// newMarks indexes the marks by their pivot. Every well-known shape has one of
// them in it, whatever the case, and looking for them costs a fraction of the
// expression.
func newMarks() (table [256][]mark) {
	for _, m := range [...]mark{
		{"bearer", 0},
		{"basic", 0},
		{"token", 2},
		{"key", 0},
		{"secret", 2},
		{"passw", 4},
		{"sig=", 2},
		{"signature=", 2},
		{"code=", 4},
		{"authorization", 7},
		{"sk-", 1},
		{"aiza", 2},
		{"ya29.", 3},
		{"gh", 1},
		{"glpat-", 5},
		{"npm_", 3},
		{"xox", 0},
		{"akia", 1},
		{"asia", 2},
		{"eyj", 2},
	} {
		low := m.text[m.pivot]
		table[low] = append(table[low], m)
		if 'a' <= low && low <= 'z' {
			table[low&^0x20] = append(table[low&^0x20], m)
		}
	}
	return table
}

// marked reports whether b may hold a well-known shape.
func (r *Redactor) marked(b []byte) bool {
	for i, c := range b {
		for _, m := range r.marks[c] {
			from := i - m.pivot
			if from >= 0 && from+len(m.text) <= len(b) && equalFold(b[from:from+len(m.text)], m.text) {
				return true
			}
		}
	}
	return false
}

// equalFold compares with lower-case ASCII text of the same length.
func equalFold(b []byte, low string) bool {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != low[i] {
			return false
		}
	}
	return true
}

// SecretName reports whether the value of an environment variable, header or
// setting of that name is to be kept secret.
func SecretName(name string) bool {
	name = strings.ToUpper(name)
	for _, part := range [...]string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "APIKEY", "API_KEY", "API-KEY", "CREDENTIAL", "AUTHORIZATION", "COOKIE", "PRIVATE_KEY", "ACCESS_KEY"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "-KEY")
}
