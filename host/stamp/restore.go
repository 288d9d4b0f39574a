package stamp

import (
	"fmt"
	"iter"
	"slices"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/contract"
)

// Restore rebuilds the state from the session's journal, so that Finish writes
// the ends that a crash left out and what follows is a valid continuation. It is
// called once, before anything else. An error of the sequence ends it; the state
// then covers what came before and can still be finished.
//
// Native ids are not in the journal. Calls are found again by their id where that
// is the native one; a sub-agent that speaks again gets a new start.
func (s *Stamper) Restore(envelopes iter.Seq2[contract.Envelope, error]) error {
	byID := map[string]*subagent{}
	for e, err := range envelopes {
		if err != nil {
			return fmt.Errorf("restoring: %w", err)
		}
		s.replay(e, byID)
	}
	return nil
}

// replay applies one envelope of the journal. What a valid journal cannot hold
// is passed over. byID has the open sub-agents.
func (s *Stamper) replay(e contract.Envelope, byID map[string]*subagent) {
	s.last = max(s.last, e.Time)
	s.seen.add(e.ID)
	if e.Role == contract.RoleUser && e.Origin != "" && !cuid2.IsCuid(e.Origin) {
		s.seen.add(e.Origin) // may be an id a client chose
	}
	switch ev := e.Event.(type) {
	case contract.TurnStart:
		s.turn, s.kind = e.Turn, autonomous
		s.seen.add(e.Turn)
	case contract.TurnEnd:
		s.turn = ""
		for _, a := range s.agents {
			a.background = true // it outlived its turn
		}
	case contract.ToolCallStart:
		s.used.add(ev.Call)
		c := &call{id: ev.Call, key: callKey{nativeKey(byID[e.Subagent]), ev.Call}, agent: byID[e.Subagent], start: ev}
		s.calls = append(s.calls, c)
		s.byKey[c.key] = c
	case contract.ToolCallEnd:
		s.forget(ev.Call)
	case contract.SubagentStart:
		s.seen.add(ev.AgentID)
		// The native id is lost; no agent can make this one.
		a := &subagent{native: "\x00" + ev.AgentID, id: ev.AgentID, parent: byID[e.Subagent]}
		s.agents = append(s.agents, a)
		s.byNative[a.native] = a
		byID[a.id] = a
	case contract.SubagentStop:
		s.forgetAgent(byID[ev.AgentID])
		delete(byID, ev.AgentID)
	case contract.PermissionRequest:
		if c := s.callOf(ev.Call); c != nil {
			c.ask = &Ask{Call: c.id, Request: e, Question: ev.Question}
		}
	case contract.PermissionResponse:
		if c := s.callOf(ev.Call); c != nil {
			c.ask = nil
		}
	}
}

// nativeKey is the native id of a, empty for the main agent.
func nativeKey(a *subagent) string {
	if a == nil {
		return ""
	}
	return a.native
}

// forget takes an ended call out.
func (s *Stamper) forget(id string) {
	c := s.callOf(id)
	if c == nil {
		return
	}
	s.calls = slices.DeleteFunc(s.calls, func(o *call) bool { return o == c })
	delete(s.byKey, c.key)
	s.ended.add(c.key, c.id)
}

// forgetAgent takes a stopped sub-agent out.
func (s *Stamper) forgetAgent(a *subagent) {
	if a == nil {
		return
	}
	s.agents = slices.DeleteFunc(s.agents, func(o *subagent) bool { return o == a })
	delete(s.byNative, a.native)
}
