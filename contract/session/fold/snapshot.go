package fold

import (
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"

	"github.com/agenthost/agenthost/contract/session"
)

// snapshotVersion changes with the meaning of state. Snapshots are a cache: one
// of another version is thrown away and the stream folded from its start.
const snapshotVersion = 1

// state is a Fold as JSON. Scopes are named by their index; the root is 0.
type state struct {
	Version int          `json:"version"`
	Scopes  []scopeState `json:"scopes"`
	Calls   []callState  `json:"calls,omitempty"`
	Asks    []askState   `json:"asks,omitempty"`
}

type scopeState struct {
	Parent     int               `json:"parent"`
	Session    session.Session   `json:"session"`
	Messages   []session.Message `json:"messages,omitempty"`
	Open       int               `json:"open"`
	Texts      int               `json:"texts"`
	Reasonings int               `json:"reasonings"`
}

type callState struct {
	Call     string `json:"call"`
	Scope    int    `json:"scope"`
	Message  int    `json:"message"`
	Place    int    `json:"place"`
	Shell    bool   `json:"shell"`
	Rejected string `json:"rejected"`
}

type askState struct {
	Scope int                  `json:"scope"`
	Call  string               `json:"call"`
	Input session.InputRequest `json:"input"`
}

// Snapshot returns the state as JSON, for Restore. Deltas are not in it.
func (f *Fold) Snapshot() ([]byte, error) {
	scopes := append([]*scope{f.root}, f.children...)
	index := make(map[*scope]int, len(scopes))
	s := state{Version: snapshotVersion}
	for i, sc := range scopes {
		index[sc] = i
		s.Scopes = append(s.Scopes, scopeState{
			Parent: index[sc.parent], Session: sc.session, Messages: sc.messages,
			Open: sc.open, Texts: sc.texts, Reasonings: sc.reasonings,
		})
	}
	for _, id := range slices.Sorted(maps.Keys(f.calls)) {
		c := f.calls[id]
		s.Calls = append(s.Calls, callState{
			Call: id, Scope: index[c.scope], Message: c.message, Place: c.place, Shell: c.shell, Rejected: c.rejected,
		})
	}
	for _, a := range f.asks {
		s.Asks = append(s.Asks, askState{Scope: index[a.scope], Call: a.call, Input: a.input})
	}
	return Encode(s)
}

// Restore makes the Fold that Snapshot was taken of. An error says that snapshot
// is of another version or damaged.
func Restore(snapshot []byte) (*Fold, error) {
	var s state
	if err := json.Unmarshal(snapshot, &s, wire); err != nil {
		return nil, fmt.Errorf("reading snapshot: %w", err)
	}
	if s.Version != snapshotVersion {
		return nil, fmt.Errorf("reading snapshot: want version %d, got %d", snapshotVersion, s.Version)
	}
	scopes, err := restoreScopes(s.Scopes)
	if err != nil {
		return nil, err
	}
	f := New(session.Session{})
	f.root, f.children = scopes[0], scopes[1:]
	for _, sc := range f.children {
		f.byAgent[sc.session.ID] = sc
	}
	for _, c := range s.Calls {
		if !c.fits(scopes) {
			return nil, fmt.Errorf("reading snapshot: call %q is nowhere", c.Call)
		}
		f.calls[c.Call] = &call{scope: scopes[c.Scope], message: c.Message, place: c.Place, shell: c.Shell, rejected: c.Rejected}
	}
	for _, a := range s.Asks {
		if a.Scope < 0 || a.Scope >= len(scopes) {
			return nil, fmt.Errorf("reading snapshot: request %q is nowhere", a.Input.ID)
		}
		f.asks = append(f.asks, &ask{scope: scopes[a.Scope], call: a.Call, input: a.Input})
	}
	return f, nil
}

func restoreScopes(list []scopeState) ([]*scope, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("reading snapshot: want a session, got none")
	}
	var scopes []*scope
	for i, st := range list {
		if st.Open < -1 || st.Open >= len(st.Messages) || i > 0 && (st.Parent < 0 || st.Parent >= i || st.Session.Time == nil) {
			return nil, fmt.Errorf("reading snapshot: session %q is damaged", st.Session.ID)
		}
		sc := newScope(st.Session)
		sc.messages, sc.open, sc.texts, sc.reasonings = st.Messages, st.Open, st.Texts, st.Reasonings
		if i > 0 {
			sc.parent = scopes[st.Parent]
		}
		scopes = append(scopes, sc)
	}
	return scopes, nil
}

// fits reports whether the call's part is where it says.
func (c callState) fits(scopes []*scope) bool {
	if c.Scope < 0 || c.Scope >= len(scopes) {
		return false
	}
	messages := scopes[c.Scope].messages
	if c.Message < 0 || c.Message >= len(messages) {
		return false
	}
	parts := messages[c.Message].Parts
	return c.Shell || c.Place >= 0 && c.Place < len(parts) && parts[c.Place].Tool != nil
}
