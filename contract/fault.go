package contract

import (
	"strconv"
	"strings"
)

// PathError is one fault of an envelope: where, what was wanted, what was there.
type PathError struct {
	// Path names the member, like "ev.usage.inputTokens" or "ev.refs[2].name".
	// It is empty for the envelope itself.
	Path string
	// Want and Got are short phrases: "integer >= 0", "string".
	Want, Got string
	// Rule is the broken rule: "E1" to "E7", "id" for the shape of an id,
	// "profile" for what only the strict profile forbids. It is empty for types
	// and values.
	Rule string
}

// Error is like "ev.usage.inputTokens: want integer >= 0, got string".
func (e *PathError) Error() string {
	return e.place() + ": want " + e.Want + ", got " + e.Got
}

func (e *PathError) place() string {
	if e.Path == "" {
		return "envelope"
	}
	return e.Path
}

// Faults are all the faults of one envelope, in the order of its members. It is
// the error type of Decode, Encode and Validate; errors.As finds the first
// *PathError in it.
type Faults []*PathError

// Error joins the faults with "; ".
func (f Faults) Error() string {
	texts := make([]string, len(f))
	for i, e := range f {
		texts[i] = e.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap gives errors.Is and errors.As every fault.
func (f Faults) Unwrap() []error {
	errs := make([]error, len(f))
	for i, e := range f {
		errs[i] = e
	}
	return errs
}

// err is nil when there are no faults.
func (f Faults) err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

func (f *Faults) add(path, want, got string) {
	*f = append(*f, &PathError{Path: path, Want: want, Got: got})
}

// under puts the faults from index mark on beneath the member name. Paths are
// built on the way out, so that the faultless case costs nothing.
func (f Faults) under(mark int, name string) {
	for _, e := range f[mark:] {
		switch {
		case e.Path == "":
			e.Path = name
		case e.Path[0] == '[':
			e.Path = name + e.Path
		default:
			e.Path = name + "." + e.Path
		}
	}
}

// underIndex puts the faults from index mark on beneath element i.
func (f Faults) underIndex(mark, i int) {
	if len(f) > mark {
		f.under(mark, "["+strconv.Itoa(i)+"]")
	}
}

// quoted renders a value for Got, cut so that an error stays one short line and
// never carries a whole prompt.
func quoted(s string) string {
	const limit = 48
	if len(s) > limit {
		cut := limit
		for cut > 0 && s[cut]&0xC0 == 0x80 {
			cut--
		}
		s = s[:cut] + "…"
	}
	return strconv.Quote(s)
}
