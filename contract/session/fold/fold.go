package fold

import (
	"slices"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// Fold is the state of one session and its sub-agents.
type Fold struct {
	root     *scope
	children []*scope // in the order of their first start
	byAgent  map[string]*scope
	calls    map[string]*call // open ones
	asks     []*ask           // without a response, oldest first

	// The rest is for the envelope that is being applied.
	id  string
	now time.Time
	out []session.Event
}

// Transcript is a session with what was said in it.
type Transcript struct {
	Session  session.Session   `json:"session"`
	Messages []session.Message `json:"messages,omitempty"`
	// Pending are the open requests of this session and of its sub-agents, the
	// oldest first.
	Pending []session.InputRequest `json:"pending,omitempty"`
	// Children are the sub-agents that this session started itself.
	Children []Transcript `json:"children,omitempty"`
}

// New folds the stream of the session that meta describes. Of meta the stream
// changes Status, Cost, Time, Model and AgentID; an empty Status means idle.
func New(meta session.Session) *Fold {
	if meta.Status == "" {
		meta.Status = session.StatusIdle
	}
	return &Fold{
		root:    newScope(cloneSession(meta)),
		byAgent: make(map[string]*scope),
		calls:   make(map[string]*call),
	}
}

// Describe takes over what the stream does not tell: WorkspaceID, Title,
// Summary and Archived. A session that is archived while no turn runs has the
// status archived until it is taken out or a turn starts. It returns a
// session.updated event when something changed. now is Unix milliseconds.
func (f *Fold) Describe(now int64, meta session.Session) []session.Event {
	s := &f.root.session
	before := *s
	s.WorkspaceID, s.Title, s.Summary, s.Archived = meta.WorkspaceID, meta.Title, meta.Summary, meta.Archived
	switch {
	case s.Archived && !before.Archived && (s.Status == session.StatusIdle || s.Status == session.StatusError):
		s.Status = session.StatusArchived
	case !s.Archived && s.Status == session.StatusArchived:
		s.Status = session.StatusIdle
	}
	if *s == before {
		return nil
	}
	f.begin("", now)
	f.updated(f.root)
	return f.out
}

// Apply takes the next envelope and returns what changed, in order. The events
// are the caller's; what they point to must not be changed.
func (f *Fold) Apply(e contract.Envelope) []session.Event {
	f.begin(e.ID, e.Time)
	if f.root.session.Time == nil {
		f.root.session.Time = &session.TimeRange{StartedAt: f.now}
		f.updated(f.root)
	}
	s := f.scope(e.Subagent)
	switch ev := e.Event.(type) {
	case contract.Text:
		f.text(s, e.Role, ev)
	case contract.File:
		f.file(s, e.Role, ev)
	case contract.TurnStart:
		f.turnStart()
	case contract.TurnEnd:
		f.turnEnd(ev)
	case contract.ToolCallStart:
		f.callStart(s, ev)
	case contract.ToolCallEnd:
		f.callEnd(ev)
	case contract.Service:
		f.service(s, ev)
	case contract.SubagentStart:
		f.subagentStart(s, ev)
	case contract.SubagentStop:
		f.subagentStop(ev)
	case contract.PermissionRequest:
		f.request(s, ev)
	case contract.PermissionResponse:
		f.response(ev)
	case contract.AgentConfigurationChanged:
		f.configuration(s, ev)
	case contract.Unknown:
		f.unknown(s, e.Role, ev)
	}
	return f.out
}

// begin prepares for one envelope.
func (f *Fold) begin(id string, ms int64) {
	f.id, f.now, f.out = id, at(ms), nil
}

// maxTime is the last millisecond that RFC 3339 can write.
const maxTime = 253_402_300_799_999

// at is a time of the stream, in UTC. What is out of range is cut, so that every
// event can be written as JSON.
func at(ms int64) time.Time {
	return time.UnixMilli(max(0, min(ms, maxTime))).UTC()
}

// Session is the session as it is now.
func (f *Fold) Session() session.Session { return cloneSession(f.root.session) }

// Transcript is everything so far. It is the caller's; what it points to must
// not be changed.
func (f *Fold) Transcript() Transcript { return f.transcript(f.root) }

func (f *Fold) transcript(s *scope) Transcript {
	t := Transcript{Session: cloneSession(s.session)}
	for i := range s.messages {
		t.Messages = append(t.Messages, cloneMessage(s.messages[i]))
	}
	for _, child := range f.children {
		if child.parent == s {
			t.Children = append(t.Children, f.transcript(child))
		}
	}
	for _, a := range f.asks {
		if a.scope.within(s) {
			t.Pending = append(t.Pending, a.input)
		}
	}
	return t
}

// Pending are the open requests of the session and its sub-agents, the oldest
// first.
func (f *Fold) Pending() []session.InputRequest {
	var list []session.InputRequest
	for _, a := range f.asks {
		list = append(list, a.input)
	}
	return list
}

// emit adds an event about s.
func (f *Fold) emit(s *scope, ev session.Event) {
	ev.Timestamp, ev.SessionID = f.now, s.session.ID
	f.out = append(f.out, ev)
}

// updated says that the session of s changed.
func (f *Fold) updated(s *scope) {
	now := cloneSession(s.session)
	f.emit(s, session.Event{Type: session.EventSessionUpdated, Session: &now})
}

// status says that the status of s is now st, if that is new.
func (f *Fold) status(s *scope, st session.Status) {
	if s.session.Status != st {
		s.session.Status = st
		f.emit(s, session.Event{Type: session.EventSessionStatus, Status: st})
	}
}

// cloneSession copies what the fold changes in place.
func cloneSession(s session.Session) session.Session {
	if s.Model != nil {
		s.Model = new(*s.Model)
	}
	if s.Cost != nil {
		s.Cost = new(*s.Cost)
	}
	if s.Time != nil {
		t := *s.Time
		if t.CompletedAt != nil {
			t.CompletedAt = new(*t.CompletedAt)
		}
		s.Time = &t
	}
	return s
}

// cloneMessage copies the list of parts. What parts point to is never changed.
func cloneMessage(m session.Message) session.Message {
	m.Parts = slices.Clone(m.Parts)
	return m
}
