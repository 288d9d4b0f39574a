package stamp

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/contract"
)

// UserOptions are what a client may give with a user's event.
type UserOptions struct {
	// ID is the envelope id the client chose, empty for none. A cuid2 becomes the
	// envelope's id; any other is remembered, so that a repetition is noticed, and
	// becomes the origin when there is none.
	ID string
	// Origin is the native message id, empty for none.
	Origin string
	// Extra are members of the envelope that this version does not know, one JSON
	// object or nil.
	Extra jsontext.Value
}

// ErrDuplicate says that the session already has an envelope with the client's
// id: the event was taken before and must not take effect twice.
var ErrDuplicate = errors.New("duplicate envelope id")

// ErrNoAsk says that the call of a permission-response has no open request:
// there never was one, or somebody answered it.
var ErrNoAsk = errors.New("no open permission request")

// User stamps an event of a person or of the mediator (a permission-response;
// its Call is the session's). Exactly one envelope is the event's own: the last.
// Permission-response, abort and steer text carry the open turn, others none.
// On an error nothing happened.
func (s *Stamper) User(ev contract.Event, o UserOptions) ([]contract.Envelope, error) {
	if o.ID != "" && s.seen.has(o.ID) {
		return nil, fmt.Errorf("%w %q", ErrDuplicate, o.ID)
	}
	if err := s.user(ev, o); err != nil {
		return nil, err
	}
	return s.take(), nil
}

// user checks and puts out a user's event.
func (s *Stamper) user(ev contract.Event, o UserOptions) error {
	turn := ""
	switch e := ev.(type) {
	case contract.PermissionResponse:
		return s.respond(e, o)
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
		ev = cleanFile(e)
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
	s.emitUser(o, turn, ev)
	return nil
}

// respond answers an open ask. Answering twice is an error, whatever the answer.
func (s *Stamper) respond(r contract.PermissionResponse, o UserOptions) error {
	c := s.callOf(r.Call)
	if c == nil || c.ask == nil {
		return fmt.Errorf("%w for call %q", ErrNoAsk, r.Call)
	}
	switch r.Decision {
	case contract.AllowOnce, contract.AllowAlways, contract.RejectOnce, contract.RejectAlways:
	default:
		return fmt.Errorf("decision: want allow-once, allow-always, reject-once or reject-always, got %q", r.Decision)
	}
	s.settle(c, o, r)
	return nil
}

// emitUser puts out a user's event.
func (s *Stamper) emitUser(o UserOptions, turn string, ev contract.Event) {
	it := item{
		role: contract.RoleUser, turn: turn, origin: cleanOrigin(o.Origin), event: ev, extra: object(o.Extra),
	}
	if o.ID != "" {
		s.seen.add(o.ID)
		if cuid2.IsCuid(o.ID) {
			it.id = o.ID
		} else if it.origin == "" {
			it.origin = cleanOrigin(o.ID)
		}
	}
	s.emit(it)
}
