package fold

import (
	"strconv"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// scope is the state of one session: the root's or a sub-agent's.
type scope struct {
	// parent is nil for the root. It is older than its child, so there is no ring.
	parent   *scope
	session  session.Session
	messages []session.Message
	// open is the index of the assistant message that is being written, -1 when
	// there is none.
	open int
	// texts and reasonings count the stored parts of that message by their kind.
	texts, reasonings int
	// live are the parts that deltas began, by thinking; never in a snapshot.
	live map[bool]*livePart
}

func newScope(s session.Session) *scope {
	return &scope{session: s, open: -1, live: make(map[bool]*livePart)}
}

// within reports whether s is other or one of its descendants.
func (s *scope) within(other *scope) bool {
	for ; s != nil; s = s.parent {
		if s == other {
			return true
		}
	}
	return false
}

// scope finds the sub-agent's scope. One that never started is taken as started
// by the main agent, so that its words are not mixed with another's.
func (f *Fold) scope(agentID string) *scope {
	if agentID == "" {
		return f.root
	}
	if s := f.byAgent[agentID]; s != nil {
		return s
	}
	s := f.addChild(f.root, agentID, "")
	f.updated(s)
	return s
}

// addChild makes the session of a sub-agent.
func (f *Fold) addChild(parent *scope, agentID, title string) *scope {
	s := newScope(session.Session{
		ID:          agentID,
		WorkspaceID: f.root.session.WorkspaceID,
		ParentID:    parent.session.ID,
		Title:       title,
		AgentID:     f.root.session.AgentID,
		Status:      session.StatusBusy,
		Time:        &session.TimeRange{StartedAt: f.now},
	})
	s.parent = parent
	f.children = append(f.children, s)
	f.byAgent[agentID] = s
	return s
}

func (f *Fold) subagentStart(parent *scope, ev contract.SubagentStart) {
	s := f.byAgent[ev.AgentID]
	if s == nil {
		s = f.addChild(parent, ev.AgentID, ev.Title)
	} else { // it goes on after a stop
		s.session.Status, s.session.Time.CompletedAt = session.StatusBusy, nil
		if ev.Title != "" {
			s.session.Title = ev.Title
		}
	}
	f.updated(s)
	f.openMessage(s)
}

func (f *Fold) subagentStop(ev contract.SubagentStop) {
	s := f.byAgent[ev.AgentID]
	if s == nil {
		return
	}
	f.closeMessage(s, nil)
	s.session.Status, s.session.Time.CompletedAt = session.StatusIdle, new(f.now)
	f.updated(s)
}

// openMessage starts the assistant message of the envelope's id.
func (f *Fold) openMessage(s *scope) {
	f.closeMessage(s, nil)
	m := session.AssistantMessage(f.id, nil, f.now)
	m.SessionID = s.session.ID
	if s.session.Model != nil {
		m.Model = new(*s.session.Model)
	}
	s.open, s.texts, s.reasonings = len(s.messages), 0, 0
	s.messages = append(s.messages, m)
	f.emit(s, session.Event{Type: session.EventMessageStart, MessageID: m.ID, Message: &m})
}

// closeMessage ends the open assistant message; finish may complete it first.
func (f *Fold) closeMessage(s *scope, finish func(*session.Message)) {
	if s.open < 0 {
		return
	}
	m := &s.messages[s.open]
	if finish != nil {
		finish(m)
	}
	f.dropLive(s)
	s.open = -1
	f.messageEnd(s, *m)
}

func (f *Fold) messageEnd(s *scope, m session.Message) {
	m = cloneMessage(m)
	f.emit(s, session.Event{Type: session.EventMessageEnd, MessageID: m.ID, Message: &m})
}

// addMessage adds a message that is complete at once.
func (f *Fold) addMessage(s *scope, m session.Message) {
	m.SessionID = s.session.ID
	s.messages = append(s.messages, m)
	start := cloneMessage(m)
	f.emit(s, session.Event{Type: session.EventMessageStart, MessageID: m.ID, Message: &start})
	f.messageEnd(s, m)
}

// message returns the index of the assistant message that takes a part now. What
// stands outside a turn gets a message of its own, which the next turn closes.
func (f *Fold) message(s *scope) int {
	if s.open < 0 {
		f.openMessage(s)
	}
	return s.open
}

// addPart appends a part to the open message and says that it started; with
// complete also that it ended. It returns the message and the place in it.
func (f *Fold) addPart(s *scope, p session.Part, complete bool) (message, place int) {
	message = f.message(s)
	m := &s.messages[message]
	place = len(m.Parts)
	m.Parts = append(m.Parts, p)
	f.part(s, session.EventPartStart, m.ID, p)
	if complete {
		f.part(s, session.EventPartEnd, m.ID, p)
	}
	return message, place
}

func (f *Fold) part(s *scope, t session.EventType, messageID string, p session.Part) {
	f.emit(s, session.Event{Type: t, MessageID: messageID, PartID: p.ID, Part: &p})
}

// textPart names the n-th text or reasoning of a message, counted from 1.
func textPart(messageID string, thinking bool, n int) session.Part {
	kind, t := "-text-", session.PartText
	if thinking {
		kind, t = "-reasoning-", session.PartReasoning
	}
	return session.Part{Type: t, ID: messageID + kind + strconv.Itoa(n)}
}
