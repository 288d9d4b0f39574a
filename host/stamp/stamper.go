package stamp

import (
	"encoding/json/jsontext"
	"time"

	"github.com/agenthost/agenthost/contract"
)

// Config is what a Stamper needs from outside.
type Config struct {
	// NewID makes a cuid2. It is called again when it returns an id that the
	// session has used.
	NewID func() string
	// Now is the clock. Going back does no harm.
	Now func() time.Time
}

// Stamper stamps the envelopes of one session. Make it with New.
type Stamper struct {
	cfg  Config
	last int64 // time of the newest envelope, Unix ms
	seen idSet // every envelope, turn and agent id, and every id a client gave
	used idSet // every call id

	turn     string // empty between turns
	kind     turnKind
	calls    []*call // open, in the order of their starts
	byKey    map[callKey]*call
	ended    endedCalls
	cut      map[callKey]contract.ToolCallStart
	agents   []*subagent // open, parents before their children
	byNative map[string]*subagent
	out      []contract.Envelope
}

// New makes the Stamper of a new session. Both functions of c must be set.
func New(c Config) *Stamper {
	return &Stamper{
		cfg:      c,
		seen:     newIDSet(),
		used:     newIDSet(),
		byKey:    map[callKey]*call{},
		ended:    endedCalls{newer: map[callKey]string{}},
		cut:      map[callKey]contract.ToolCallStart{},
		byNative: map[string]*subagent{},
	}
}

// Turn is the id of the open turn, empty when there is none.
func (s *Stamper) Turn() string { return s.turn }

// Autonomous reports whether the open turn is one that nobody prompted.
func (s *Stamper) Autonomous() bool { return s.turn != "" && s.kind != prompted }

// Call gives the session's id of an open native call of a native sub-agent
// (empty for the main agent). It is for live deltas.
func (s *Stamper) Call(native, subagent string) (string, bool) {
	if c := s.findCall(subagent, native); c != nil {
		return c.id, true
	}
	return "", false
}

// Subagent gives the agentId of an open native sub-agent.
func (s *Stamper) Subagent(native string) (string, bool) {
	if a := s.byNative[native]; a != nil {
		return a.id, true
	}
	return "", false
}

// item is an envelope to be stamped.
type item struct {
	id       string // empty for a fresh one
	role     contract.Role
	turn     string
	subagent *subagent
	origin   string
	event    contract.Event
	extra    jsontext.Value
}

// emit stamps it and puts it out.
func (s *Stamper) emit(it item) contract.Envelope {
	if it.id == "" {
		it.id = s.newID()
	}
	s.last = max(s.last, s.cfg.Now().UnixMilli(), 1) // a clock before 1970 is not set
	e := contract.Envelope{
		ID: it.id, Time: s.last, Role: it.role, Turn: it.turn, Origin: it.origin, Event: it.event, Extra: it.extra,
	}
	if it.subagent != nil {
		e.Subagent = it.subagent.id
	}
	s.out = append(s.out, e)
	return e
}

// emitAgent puts out an agent's event in the open turn, or outside of turns.
func (s *Stamper) emitAgent(a *subagent, origin string, ev contract.Event) contract.Envelope {
	return s.emit(item{role: contract.RoleAgent, turn: s.turn, subagent: a, origin: origin, event: ev})
}

// take returns what was put out since the last take.
func (s *Stamper) take() []contract.Envelope {
	out := s.out
	s.out = nil
	return out
}

// maxIDRetries bounds the search for an unused id, so that a broken source of
// ids does not hang a session.
const maxIDRetries = 100

// newID returns an id that the session has not used, and uses it.
func (s *Stamper) newID() string {
	id := s.cfg.NewID()
	for range maxIDRetries {
		if !s.seen.has(id) {
			break
		}
		id = s.cfg.NewID()
	}
	s.seen.add(id)
	return id
}
