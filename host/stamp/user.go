package stamp

import (
	"errors"
	"fmt"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/contract"
)

// ErrDuplicate says that the session already has an envelope with the client's
// id: the event was taken before and must not take effect twice.
var ErrDuplicate = errors.New("duplicate envelope id")

// ErrNoAsk says that the call of a permission-response has no open request:
// there never was one, or somebody answered it.
var ErrNoAsk = errors.New("no open permission request")

// User stamps an event of a person as a client sent it, or of the mediator (a
// permission-response; its Call is the session's). Of e it takes the event, the
// members this version does not know, the origin, and the id, which may be empty:
// a cuid2 becomes the envelope's id; any other is remembered, so that a
// repetition is noticed, and becomes the origin when there is none. Time, role,
// turn and subagent are the Stamper's: permission-response, abort and steer text
// carry the open turn, others none.
//
// The result is one envelope. On an error, which may be ErrDuplicate or ErrNoAsk,
// nothing happened.
func (s *Stamper) User(e contract.Envelope) ([]contract.Envelope, error) {
	if e.ID != "" && s.seen.has(e.ID) {
		return nil, fmt.Errorf("%w %q", ErrDuplicate, e.ID)
	}
	if err := s.user(e); err != nil {
		return nil, err
	}
	return s.take(), nil
}

// Took reports whether the session has an envelope of this id, or took one of a
// client under it: what is sent again under it must not take effect.
func (s *Stamper) Took(id string) bool { return id != "" && s.seen.has(id) }

// Take remembers a client's id whose event took effect without an envelope of its
// own.
func (s *Stamper) Take(id string) {
	if id != "" {
		s.seen.add(id)
	}
}

// Response stamps a decision for an open ask, by the session's id of its call.
// from is the envelope that a client sent it in, of which it takes what User
// does, the zero one for none. It returns nil when there is no such ask (any more)
// or the decision is none of the four.
func (s *Stamper) Response(r contract.PermissionResponse, from contract.Envelope) []contract.Envelope {
	if s.Took(from.ID) {
		from.ID = "" // the decision counts, under an id of its own
	}
	if s.respond(r, from) != nil {
		return nil
	}
	return s.take()
}

// user checks and puts out a user's event.
func (s *Stamper) user(from contract.Envelope) error {
	ev, turn := from.Event, ""
	switch e := ev.(type) {
	case contract.PermissionResponse:
		return s.respond(e, from)
	case contract.Text:
		e.Thinking = false
		text, ok := cleanText(e)
		if !ok {
			return errors.New("text: want some, got none")
		}
		if ev = text; text.Steer {
			turn = s.turn
		}
	case contract.Abort:
		ev, turn = cleanAbort(e), s.turn
	case contract.File:
		file, ok := cleanFile(e)
		if !ok {
			return errors.New("file: want a ref, got none")
		}
		ev = file
	case contract.SessionControlChanged:
		ev = cleanControl(e)
	case contract.AgentConfigurationChanged:
		ev = cleanConfiguration(e)
	case contract.Unknown:
		u, ok := cleanUnknown(e)
		if !ok {
			return fmt.Errorf("event %q: want a JSON object with that t, got %.100q", e.T, e.Body)
		}
		ev = u
	case nil:
		return errors.New("event: want one, got none")
	default:
		return fmt.Errorf("event %q: want an event of the user, got one of the agent", ev.EventType())
	}
	s.emitUser(from, turn, ev)
	return nil
}

// respond answers an open ask. Answering twice is an error, whatever the answer.
func (s *Stamper) respond(r contract.PermissionResponse, from contract.Envelope) error {
	c := s.callOf(r.Call)
	if c == nil || c.ask == nil {
		return fmt.Errorf("%w for call %q", ErrNoAsk, r.Call)
	}
	if !decides(r.Decision) {
		return fmt.Errorf("decision: want allow-once, allow-always, reject-once or reject-always, got %q", r.Decision)
	}
	s.settle(c, from, r)
	return nil
}

// emitUser puts out a user's event with what a client's envelope gave.
func (s *Stamper) emitUser(from contract.Envelope, turn string, ev contract.Event) {
	it := item{
		role: contract.RoleUser, turn: turn, origin: cleanOrigin(from.Origin), event: ev, extra: object(from.Extra),
	}
	if from.ID != "" {
		s.seen.add(from.ID)
		if cuid2.IsCuid(from.ID) {
			it.id = from.ID
		} else if it.origin == "" {
			it.origin = cleanOrigin(from.ID)
		}
	}
	s.emit(it)
}
