package host

import (
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/journal"
)

// Rewind is one rewind of a session's conversation.
type Rewind struct {
	// Position is the end of the stream then: what stands before it and after the
	// answer of Origin is not part of the conversation any more.
	Position journal.Position `json:"position"`
	// Origin is that of the last answer that was kept.
	Origin string `json:"origin"`
	// Open says that the agent has taken up no message since: its own session still
	// ends with what was cut off, and is to be opened at Origin.
	Open bool `json:"open,omitzero"`
}

// cutAt is where the agent's session is to be opened: at its end when empty.
func (m Meta) cutAt() string {
	if n := len(m.Rewinds); n > 0 && m.Rewinds[n-1].Open {
		return m.Rewinds[n-1].Origin
	}
	return ""
}

// cut notes that the conversation goes on from an answer. open says that the
// agent's session is to be opened there until it has taken up a message.
func (s *Session) cut(origin string, open bool) {
	s.meta.Rewinds = append(slices.Clone(s.meta.Rewinds), Rewind{Position: s.journal.End(), Origin: origin, Open: open})
	s.saveMeta()
}

// restoreBranch takes up what an earlier run knew of where the conversation goes
// on. An agent's session that was rewound is opened where it was.
func (s *Session) restoreBranch(old Meta) {
	m := &s.meta
	m.Rewinds = old.Rewinds
	if m.Parent == "" && m.Origin == "" {
		m.Parent, m.Origin = old.Parent, old.Origin
	}
	if o := &s.cfg.Options; o.Resume != "" && o.Resume == old.Facts.NativeSession && o.ForkAt == "" {
		o.ForkAt = m.cutAt()
	}
}

// taken notes that the agent took up what was said after a rewind.
func (s *Session) taken(drafts []adapters.Draft) {
	if s.child == nil || s.meta.cutAt() == "" {
		return
	}
	for _, d := range drafts {
		if _, end := d.Event.(contract.TurnEnd); end && d.Subagent == "" {
			s.meta.Rewinds[len(s.meta.Rewinds)-1].Open = false
			s.saveMeta()
			return
		}
	}
}
