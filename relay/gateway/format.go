package gateway

import (
	"encoding/json/jsontext"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/contract/session/fold"
	"github.com/agenthost/agenthost/relay/wire"
)

// format makes of a stream what a viewer wants of it.
type format interface {
	// line is what an envelope becomes: one entry, or its events.
	line(line []byte) []jsontext.Value
	// live is what passing things become.
	live(l wire.Live) (items []wire.Live, events []jsontext.Value)
	// changed is what new metadata become in the stream.
	changed(s wire.Session) []jsontext.Value
}

var null = jsontext.Value("null")

// envelopes gives the lines as they are, or cut down to the strict profile.
type envelopes struct{ profile contract.Profile }

func (f envelopes) line(line []byte) []jsontext.Value {
	if f.profile != contract.ProfileStrict {
		if !jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true)) {
			return []jsontext.Value{null}
		}
		return []jsontext.Value{line}
	}
	e, ok := decode(line, f.profile)
	if !ok {
		return []jsontext.Value{null}
	}
	out, err := contract.Encode(e)
	if err != nil {
		return []jsontext.Value{null}
	}
	return []jsontext.Value{out}
}

func (envelopes) live(l wire.Live) ([]wire.Live, []jsontext.Value) { return []wire.Live{l}, nil }
func (envelopes) changed(wire.Session) []jsontext.Value            { return nil }

// decode is a line as a profile shows it; false when it has no place there, or is
// damaged.
func decode(line []byte, p contract.Profile) (contract.Envelope, bool) {
	e, err := contract.Decode(line)
	if err != nil {
		return e, false
	}
	return p.Apply(e)
}

// events folds the stream into events of the session contract.
type events struct {
	profile contract.Profile
	fold    *fold.Fold
}

func newEvents(s wire.Session, p contract.Profile) *events {
	return &events{profile: p, fold: fold.New(describe(s))}
}

// describe is a session in the words of the session contract, as far as its stream
// does not tell.
func describe(s wire.Session) session.Session {
	return session.Session{ID: s.ID, WorkspaceID: s.Dir, ParentID: s.Parent, Title: s.Title, AgentID: s.Agent, Archived: s.Archived}
}

func (f *events) line(line []byte) []jsontext.Value {
	e, ok := decode(line, f.profile)
	if !ok {
		return nil
	}
	return encode(f.fold.Apply(e))
}

func (f *events) live(l wire.Live) ([]wire.Live, []jsontext.Value) {
	if l.Delta == nil {
		return []wire.Live{l}, nil
	}
	d := l.Delta
	return nil, encode(f.fold.Delta(fold.Delta{Time: d.Time, Subagent: d.Subagent, Call: d.Call, Thinking: d.Thinking, Text: d.Text}))
}

func (f *events) changed(s wire.Session) []jsontext.Value {
	return encode(f.fold.Describe(time.Now().UnixMilli(), describe(s)))
}

func (f *events) transcript() (jsontext.Value, error) { return fold.Encode(f.fold.Transcript()) }

func encode(list []session.Event) []jsontext.Value {
	out := make([]jsontext.Value, 0, len(list))
	for _, e := range list {
		raw, err := fold.Encode(e)
		if err != nil || !jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true)) {
			continue // raw JSON of an agent that is none; the envelope has it
		}
		out = append(out, raw)
	}
	return out
}
