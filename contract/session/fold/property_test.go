package fold_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/contracttest"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/contract/session/fold"
)

// client builds transcripts from events alone, as package fold tells clients to.
type client struct {
	sessions map[string]*session.Session
	order    []string
	messages map[string][]session.Message
	pending  []session.InputRequest
}

func newClient(root session.Session) *client {
	c := &client{sessions: map[string]*session.Session{}, messages: map[string][]session.Message{}}
	c.session(root)
	return c
}

func (c *client) session(s session.Session) {
	if c.sessions[s.ID] == nil {
		c.order = append(c.order, s.ID)
	}
	c.sessions[s.ID] = &s
}

func (c *client) message(sid string, m session.Message) *session.Message {
	list := c.messages[sid]
	if i := slices.IndexFunc(list, func(o session.Message) bool { return o.ID == m.ID }); i >= 0 {
		list[i] = m
		return &list[i]
	}
	c.messages[sid] = append(list, m)
	return &c.messages[sid][len(list)]
}

func (c *client) part(ev session.Event, p session.Part) {
	list := c.messages[ev.SessionID]
	i := slices.IndexFunc(list, func(o session.Message) bool { return o.ID == ev.MessageID })
	m := &list[i]
	if j := slices.IndexFunc(m.Parts, func(o session.Part) bool { return o.ID == p.ID }); j >= 0 {
		m.Parts[j] = p
		return
	}
	m.Parts = append(slices.Clip(slices.Clone(m.Parts)), p)
}

func (c *client) apply(t *rapid.T, events []session.Event) {
	for _, ev := range events {
		switch ev.Type {
		case session.EventSessionStatus:
			c.sessions[ev.SessionID].Status = ev.Status
		case session.EventSessionUpdated:
			c.session(*ev.Session)
		case session.EventMessageStart, session.EventMessageEnd:
			c.message(ev.SessionID, *ev.Message)
		case session.EventPartStart, session.EventPartEnd:
			if ev.PartID != ev.Part.ID || ev.PartID == "" {
				t.Errorf("%s of part %q: want the part with that id, got %+v", ev.Type, ev.PartID, ev.Part)
			}
			c.part(ev, *ev.Part)
		case session.EventPartDelta:
			if ev.Delta == "" || ev.PartID == "" {
				t.Errorf("part.delta of part %q with text %q: want both", ev.PartID, ev.Delta)
			}
		case session.EventInputRequest:
			c.pending = append(c.pending, *ev.Input)
		case session.EventInputResolved:
			c.pending = slices.DeleteFunc(c.pending, func(in session.InputRequest) bool { return in.ID == ev.Input.ID })
		case session.EventError:
			c.message(ev.SessionID, *ev.Message)
		default:
			t.Errorf("event of type %q", ev.Type)
		}
		if _, err := fold.Encode(ev); err != nil {
			t.Errorf("Encode(%+v) = %v", ev, err)
		}
	}
}

// transcript is what the client has of a session; pending is the root's.
func (c *client) transcript(id string) fold.Transcript {
	t := fold.Transcript{Session: *c.sessions[id], Messages: c.messages[id]}
	for _, in := range c.pending {
		if c.within(in.SessionID, id) {
			t.Pending = append(t.Pending, in)
		}
	}
	for _, child := range c.order {
		if c.sessions[child].ParentID == id {
			t.Children = append(t.Children, c.transcript(child))
		}
	}
	return t
}

func (c *client) within(id, ancestor string) bool {
	for ; id != ""; id = c.sessions[id].ParentID {
		if id == ancestor {
			return true
		}
	}
	return false
}

func meta() session.Session {
	return session.Session{ID: "root", WorkspaceID: "ws", Title: "T", AgentID: "claude", Status: session.StatusIdle}
}

func encoded(t *rapid.T, v any) string {
	t.Helper()
	b, err := fold.Encode(v)
	if err != nil {
		t.Fatalf("Encode = %v", err)
	}
	return string(b)
}

// randomDelta is one that may or may not fit the stream at e.
func randomDelta(t *rapid.T, e contract.Envelope) fold.Delta {
	d := fold.Delta{Time: e.Time, Subagent: e.Subagent, Thinking: rapid.Bool().Draw(t, "thinking"), Text: rapid.SampledFrom([]string{"", "a", "bc"}).Draw(t, "delta")}
	switch ev := e.Event.(type) {
	case contract.ToolCallStart:
		d.Call = ev.Call
	case contract.SubagentStart:
		d.Subagent = ev.AgentID
	case contract.ToolCallEnd:
		d.Subagent = rapid.SampledFrom([]string{"", "nobody"}).Draw(t, "subagent")
	}
	return d
}

// TestLiveEqualsReplay: deltas change no transcript, a client that sees them has
// the same in the end, and so has one that began at a snapshot.
func TestLiveEqualsReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := contracttest.Stream().Draw(t, "stream")
		replay, live := fold.New(meta()), fold.New(meta())
		watching, following := newClient(meta()), newClient(meta())
		cut := rapid.IntRange(0, len(stream)).Draw(t, "cut")
		for i, e := range stream {
			if i == cut {
				snapshot, err := live.Snapshot()
				if err != nil {
					t.Fatalf("Snapshot = %v", err)
				}
				if live, err = fold.Restore(snapshot); err != nil {
					t.Fatalf("Restore(%s) = %v", snapshot, err)
				}
			}
			watching.apply(t, replay.Apply(e))
			following.apply(t, live.Apply(e))
			for range rapid.IntRange(0, 2).Draw(t, "deltas") {
				following.apply(t, live.Delta(randomDelta(t, e)))
			}
			want := encoded(t, replay.Transcript())
			if got := encoded(t, live.Transcript()); got != want {
				t.Fatalf("after envelope %d of type %s: live transcript %s\nwant %s", i, e.Event.EventType(), got, want)
			}
			if got := encoded(t, watching.transcript("root")); got != want {
				t.Fatalf("after envelope %d of type %s: client %s\nwant %s", i, e.Event.EventType(), got, want)
			}
		}
		want := encoded(t, replay.Transcript())
		if got := encoded(t, following.transcript("root")); got != want {
			t.Fatalf("the client that saw deltas has %s\nwant %s", got, want)
		}
		if n := len(replay.Pending()); n != 0 {
			t.Errorf("%d requests are pending at the end of the stream", n)
		}
	})
}

// TestIdsAreUnique: no two messages or parts of a session and its sub-agents have
// one id, and each part has one payload, that of its type.
func TestIdsAreUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := fold.New(meta())
		for _, e := range contracttest.Stream().Draw(t, "stream") {
			f.Apply(e)
		}
		seen := map[string]bool{}
		fresh := func(id string) {
			if id == "" || seen[id] {
				t.Errorf("id %q is empty or not the only one", id)
			}
			seen[id] = true
		}
		var walk func(fold.Transcript)
		walk = func(tr fold.Transcript) {
			for _, m := range tr.Messages {
				fresh(m.ID)
				if m.SessionID != tr.Session.ID {
					t.Errorf("message %q has session %q, want %q", m.ID, m.SessionID, tr.Session.ID)
				}
				for _, p := range m.Parts {
					fresh(p.ID)
					checkPart(t, p)
				}
			}
			for _, child := range tr.Children {
				if child.Session.ParentID != tr.Session.ID {
					t.Errorf("child %q has parent %q, want %q", child.Session.ID, child.Session.ParentID, tr.Session.ID)
				}
				walk(child)
			}
		}
		walk(f.Transcript())
	})
}

func checkPart(t *rapid.T, p session.Part) {
	payloads := map[session.PartType]bool{
		session.PartTool: p.Tool != nil, session.PartFileChange: p.FileChange != nil, session.PartCustom: p.Custom != nil,
	}
	for typ, set := range payloads {
		if set != (p.Type == typ) {
			t.Errorf("part %+v: payload of type %s is set: %t", p, typ, set)
		}
	}
	if p.Text != "" && p.Type != session.PartText || p.Reasoning != "" && p.Type != session.PartReasoning {
		t.Errorf("part %+v: text of another type", p)
	}
}

// TestAnythingFolds: no envelope panics the fold, in any order, and what comes
// out can be written, restored and gone on with.
func TestAnythingFolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := fold.New(meta())
		for _, e := range rapid.SliceOfN(contracttest.Arbitrary(), 0, 12).Draw(t, "envelopes") {
			e.Subagent = rapid.SampledFrom([]string{"", "root", "s1", e.Subagent}).Draw(t, "subagent")
			switch ev := e.Event.(type) {
			case contract.SubagentStart:
				ev.AgentID = rapid.SampledFrom([]string{"root", "s1", "s2"}).Draw(t, "agentId")
				e.Event = ev
			case contract.SubagentStop:
				ev.AgentID = "s1"
				e.Event = ev
			}
			for _, ev := range append(f.Apply(e), f.Delta(randomDelta(t, e))...) {
				encoded(t, ev)
			}
			snapshot, err := f.Snapshot()
			if err != nil {
				t.Fatalf("Snapshot = %v", err)
			}
			want := encoded(t, f.Transcript())
			if f, err = fold.Restore(snapshot); err != nil {
				t.Fatalf("Restore = %v", err)
			}
			if got := encoded(t, f.Transcript()); got != want {
				t.Fatalf("restored %s\nwant     %s", got, want)
			}
		}
	})
}
