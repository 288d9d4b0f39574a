package stamp

import (
	"slices"

	"github.com/agenthost/agenthost/contract"
)

// subagent is an open sub-agent.
type subagent struct {
	native string
	id     string    // the agentId
	parent *subagent // nil for the main agent
	// background: it outlives the turn.
	background bool
	// implied: the agent did not announce it, so it may never say that it stopped.
	implied bool
}

// agentStart opens a sub-agent; ev.AgentID and ev.Call are native. parent is the
// native id of the agent that spawned it, empty for the main agent.
func (s *Stamper) agentStart(parent, origin string, ev contract.SubagentStart, background bool) {
	if ev.AgentID == "" {
		return
	}
	if a := s.byNative[ev.AgentID]; a != nil {
		a.background = a.background || background
		a.implied = false
		return
	}
	if parent == ev.AgentID {
		parent = "" // an adapter that names the sub-agent itself as the source
	}
	s.openAgent(parent, origin, ev, background, false)
}

func (s *Stamper) openAgent(parent, origin string, ev contract.SubagentStart, background, implied bool) *subagent {
	s.ensureTurn()
	a := &subagent{native: ev.AgentID, parent: s.ensureAgent(parent), background: background, implied: implied}
	for background && a.parent != nil && !a.parent.background {
		a.parent = a.parent.parent // it outlives that one, but nested sub-agents stop first
	}
	if ev.Call != "" {
		ev.Call = s.callID(parent, ev.Call)
	}
	a.id = s.newID()
	ev.AgentID = a.id
	s.agents = append(s.agents, a)
	s.byNative[a.native] = a
	s.emitAgent(a.parent, origin, cleanSubagentStart(ev))
	return a
}

// callID gives the id of a native call that is open or ended not long ago, empty
// when there is none.
func (s *Stamper) callID(subagent, native string) string {
	if c := s.findCall(subagent, native); c != nil {
		return c.id
	}
	return s.ended.get(callKey{subagent, native})
}

// ensureAgent finds the open sub-agent of a native id and opens one when there
// is none. It is nil for the main agent.
func (s *Stamper) ensureAgent(native string) *subagent {
	if native == "" {
		return nil
	}
	if a := s.byNative[native]; a != nil {
		return a
	}
	return s.openAgent("", "", contract.SubagentStart{AgentID: native}, false, true)
}

// agentStop ends a sub-agent by its native id.
func (s *Stamper) agentStop(origin string, ev contract.SubagentStop) {
	a := s.byNative[ev.AgentID]
	if a == nil {
		return
	}
	s.ensureTurn()
	s.closeAgent(a, origin, ev, closing{
		status: contract.ToolCancelled, text: "the sub-agent stopped before this call ended", by: contract.ByHost,
	})
}

// closeAgent ends a, and before it its children and calls.
func (s *Stamper) closeAgent(a *subagent, origin string, ev contract.SubagentStop, why closing) {
	a.background = false // nothing of it goes on
	for child := range s.agentsBackward {
		if child.parent == a {
			s.closeAgent(child, "", contract.SubagentStop{}, why)
		}
	}
	s.closeCalls(a, why)
	s.agents = slices.DeleteFunc(s.agents, func(o *subagent) bool { return o == a })
	delete(s.byNative, a.native)
	ev.AgentID = a.id
	s.emitAgent(a.parent, origin, cleanSubagentStop(ev))
}

// closeAgents ends the sub-agents that do not outlive the turn, children first,
// and the calls of those that do. A child of one in the background goes on too.
func (s *Stamper) closeAgents(why closing) {
	for a := range s.agentsBackward {
		if s.outlives(a) {
			s.closeCalls(a, why)
			continue
		}
		s.closeAgent(a, "", contract.SubagentStop{}, why)
	}
}

// outlives reports whether a or one of its parents runs in the background.
func (s *Stamper) outlives(a *subagent) bool {
	for ; a != nil; a = a.parent {
		if a.background {
			return true
		}
	}
	return false
}

// agentsBackward ranges over the open sub-agents, the newest first. The loop may
// end the one it is given: that takes out only it and children, which stand
// behind it.
func (s *Stamper) agentsBackward(yield func(*subagent) bool) {
	for i := len(s.agents) - 1; i >= 0; i-- {
		if !yield(s.agents[i]) {
			return
		}
	}
}

// Subagents is the number of sub-agents that are open.
func (s *Stamper) Subagents() int { return len(s.agents) }
