package sessionref_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/agenthost/agenthost/internal/sessionref"
)

type session struct{ id, native string }

func TestFind(t *testing.T) {
	all := []session{{"k3newest", ""}, {"abcdefgh", "native-1"}, {"abcdeffh", "abcd"}, {"abcde", "native-2"}, {"lastxyz1", ""}}
	started := func(s session) bool { return s.native != "" }
	for _, c := range []struct {
		ref  string
		last func(session) bool
		want string
		err  error
	}{
		{"abcdefgh", nil, "abcdefgh", nil},
		{"abcdefg", nil, "abcdefgh", nil},
		{"abcde", nil, "abcde", nil},   // whole, though others begin so
		{"abcd", nil, "abcdeffh", nil}, // the agent's own id
		{"native-2", nil, "abcde", nil},
		{"native-", nil, "", sessionref.ErrNone}, // whole only
		{"abcdef", nil, "", &sessionref.AmbiguousError{Ref: "abcdef", N: 2}},
		{"k3n", nil, "", sessionref.ErrNone}, // too short
		{"k3ne", nil, "k3newest", nil},
		{"last", nil, "k3newest", nil},
		{"last", started, "abcdefgh", nil},
		{"last", func(session) bool { return false }, "lastxyz1", nil}, // the beginning of an id, too
		{"", nil, "", sessionref.ErrEmpty},
		{"zzzz", nil, "", sessionref.ErrNone},
	} {
		got, err := sessionref.Find(c.ref, slices.Values(all), func(s session) (string, string) { return s.id, s.native }, c.last)
		var many *sessionref.AmbiguousError
		if got.id != c.want || !errors.Is(err, c.err) && (!errors.As(err, &many) || c.err == nil || many.Error() != c.err.Error()) {
			t.Errorf("Find(%q) = %v, %v; want %q, %v", c.ref, got, err, c.want, c.err)
		}
	}
}
