// Package sessionref is the rule by which people name a session: its id, the agent's own
// id, the beginning of its id (MinPrefix characters or more), or "last".
//
// # Guarantees
//
// A whole id goes before the beginning of others, so that a session can always be named.
// The rule is the same at the command line, at a daemon and at a relay; what the last
// session is, the caller says by the order of the list.
//
// # Testing
//
// go test ./internal/sessionref
package sessionref

import (
	"errors"
	"fmt"
	"iter"
	"strings"
)

// MinPrefix is the shortest beginning of an id that names a session: with a shorter one
// people hit what they did not mean.
const MinPrefix = 4

// Last names the session that was changed last.
const Last = "last"

// ErrEmpty says that nothing was named.
var ErrEmpty = errors.New("want a session's id, got none")

// ErrNone says that there is no session of that name.
var ErrNone = errors.New("no such session")

// AmbiguousError says that a name begins several ids.
type AmbiguousError struct {
	Ref string
	N   int
}

// Error implements error.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("session %q: want one session, %d begin like this", e.Ref, e.N)
}

// Find is the session that ref names among all, the newest of which comes first. ids are
// a session's id and the agent's own, empty for none. last says which session may be the
// last one; nil is any. Its error is ErrEmpty, ErrNone or an *AmbiguousError.
func Find[S any](ref string, all iter.Seq[S], ids func(S) (id, native string), last func(S) bool) (S, error) {
	var none, found S
	if ref == "" {
		return none, ErrEmpty
	}
	n := 0
	for s := range all {
		id, native := ids(s)
		switch {
		case id == ref || native == ref:
			return s, nil
		case ref == Last && (last == nil || last(s)):
			return s, nil
		case len(ref) >= MinPrefix && strings.HasPrefix(id, ref):
			n++
			found = s
		}
	}
	switch n {
	case 0:
		return none, ErrNone
	case 1:
		return found, nil
	}
	return none, &AmbiguousError{ref, n}
}
