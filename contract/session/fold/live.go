package fold

import (
	"strings"

	"github.com/agenthost/agenthost/contract/session"
)

// Delta is a piece of text as it is made. It is never stored: the envelope that
// follows has the whole text. Ids are those of the stream.
type Delta struct {
	// Time is Unix milliseconds.
	Time int64
	// Subagent is empty for the main agent.
	Subagent string
	// Call is the tool call whose output it is, empty for the agent's text.
	Call     string
	Thinking bool
	Text     string
}

// livePart is a text that has deltas and no envelope yet.
type livePart struct {
	part session.Part
	text strings.Builder
}

// Delta turns a delta into events: part.delta, after a part.start if it is the
// first of its part. The text envelope that comes later ends that same part. A
// delta that no open message or call can take gives nothing, and nothing is
// lost: the envelope will bring it.
func (f *Fold) Delta(d Delta) []session.Event {
	s := f.root
	if d.Subagent != "" {
		s = f.byAgent[d.Subagent]
	}
	if s == nil || d.Text == "" {
		return nil
	}
	f.begin("", d.Time)
	if d.Call != "" {
		f.callDelta(d)
		return f.out
	}
	if s.open < 0 {
		return nil
	}
	m := &s.messages[s.open]
	l := s.live[d.Thinking]
	if l == nil {
		n := s.texts
		if d.Thinking {
			n = s.reasonings
		}
		l = &livePart{part: textPart(m.ID, d.Thinking, n+1)}
		s.live[d.Thinking] = l
		f.part(s, session.EventPartStart, m.ID, l.part)
	}
	l.text.WriteString(d.Text)
	f.emit(s, session.Event{Type: session.EventPartDelta, MessageID: m.ID, PartID: l.part.ID, Delta: d.Text})
	return f.out
}

func (f *Fold) callDelta(d Delta) {
	c := f.calls[d.Call]
	if c == nil || c.shell {
		return
	}
	m := &c.scope.messages[c.message]
	f.emit(c.scope, session.Event{
		Type: session.EventPartDelta, MessageID: m.ID, PartID: m.Parts[c.place].ID, Delta: d.Text,
	})
}

// Live brings one who comes late up to date with the texts that are being made:
// a part.start and one part.delta with all of the text so far for each. now is
// Unix milliseconds.
func (f *Fold) Live(now int64) []session.Event {
	f.begin("", now)
	for _, s := range append([]*scope{f.root}, f.children...) {
		for _, thinking := range []bool{true, false} {
			l := s.live[thinking]
			if l == nil {
				continue
			}
			id := s.messages[s.open].ID
			f.part(s, session.EventPartStart, id, l.part)
			f.emit(s, session.Event{Type: session.EventPartDelta, MessageID: id, PartID: l.part.ID, Delta: l.text.String()})
		}
	}
	return f.out
}

// dropLive ends the live parts of a message that closes without their envelopes.
// The message's end shows that they are not part of it.
func (f *Fold) dropLive(s *scope) {
	for _, thinking := range []bool{true, false} {
		if l := s.live[thinking]; l != nil {
			f.part(s, session.EventPartEnd, s.messages[s.open].ID, l.part)
			delete(s.live, thinking)
		}
	}
}
