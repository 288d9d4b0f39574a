package stamp

import (
	"slices"

	"github.com/agenthost/agenthost/contract"
)

// callKey is what an agent calls a call: native ids may repeat in sub-agents.
type callKey struct{ subagent, native string }

// call is an open tool call.
type call struct {
	id    string
	key   callKey
	agent *subagent // nil for the main agent
	start contract.ToolCallStart
	ask   *Ask // open, nil when none
	// of is the call this one was split from, for a second request while the
	// first is open; nil for a call of the agent's own.
	of *call
}

// closing says how to end what is open.
type closing struct {
	status contract.ToolStatus
	text   string
	by     contract.Resolver
}

// findCall finds an open call by its native ids. An adapter that gets the
// sub-agent wrong is forgiven when the call's own id is enough.
func (s *Stamper) findCall(subagent, native string) *call {
	if c := s.byKey[callKey{subagent, native}]; c != nil {
		return c
	}
	var found *call
	for _, c := range s.calls {
		if c.of != nil || c.key.native != native {
			continue
		}
		if found != nil {
			return nil
		}
		found = c
	}
	return found
}

// callStart opens a call of the agent.
func (s *Stamper) callStart(subagent, origin string, ev contract.ToolCallStart) {
	if s.byKey[callKey{subagent, ev.Call}] != nil {
		return
	}
	s.openCall(subagent, origin, ev)
}

// openCall opens a call; ev.Call is native and not open.
func (s *Stamper) openCall(subagent, origin string, ev contract.ToolCallStart) *call {
	s.ensureTurn()
	c := &call{key: callKey{subagent, ev.Call}, agent: s.ensureAgent(subagent)}
	s.byKey[c.key] = c
	delete(s.cut, c.key)
	s.announce(c, origin, ev)
	return c
}

// announce gives c its id and puts out its start.
func (s *Stamper) announce(c *call, origin string, ev contract.ToolCallStart) {
	c.id = s.uniqueCall(ev.Call)
	ev.Call = c.id
	c.start = cleanCallStart(ev)
	s.calls = append(s.calls, c)
	s.emitAgent(c.agent, origin, c.start)
}

// callEnd ends a call of the agent.
func (s *Stamper) callEnd(subagent, origin string, ev contract.ToolCallEnd) {
	c := s.findCall(subagent, ev.Call)
	key := callKey{subagent, ev.Call}
	switch start, wasCut := s.cut[key]; {
	case c != nil:
	case wasCut:
		if ev.Result == nil || ev.Result.Status == contract.ToolCancelled {
			return
		}
		start.Call = ev.Call
		c = s.openCall(subagent, origin, start)
	default:
		if s.ended.get(key) != "" {
			return
		}
		c = s.openCall(subagent, origin, contract.ToolCallStart{Call: ev.Call})
	}
	s.closeCall(c, origin, ev, contract.ByHost)
	s.ended.add(key, c.id) // also under the sub-agent that it was ended with
}

// closeCall ends c, and before it its ask and the calls split from it.
func (s *Stamper) closeCall(c *call, origin string, ev contract.ToolCallEnd, by contract.Resolver) {
	for i := len(s.calls) - 1; i >= 0; i-- {
		if split := s.calls[i]; split.of == c {
			s.closeCall(split, "", contract.ToolCallEnd{Result: outcome(ev.Result)}, by)
		}
	}
	if c.ask != nil {
		s.settle(c, contract.Envelope{}, contract.PermissionResponse{Decision: contract.RejectOnce, By: &contract.DecisionBy{Resolver: by}})
	}
	ev.Call = c.id
	s.emitAgent(c.agent, origin, cleanCallEnd(ev))
	s.calls = slices.DeleteFunc(s.calls, func(o *call) bool { return o == c })
	if c.of == nil {
		delete(s.byKey, c.key)
		s.ended.add(c.key, c.id)
	}
}

// outcome is a result without what it gave.
func outcome(r *contract.ToolResult) *contract.ToolResult {
	if r == nil {
		return nil
	}
	return &contract.ToolResult{Status: r.Status}
}

// maxCut bounds the calls that are remembered after their turn cut them off. When
// it is hit all are forgotten, and a late end gets a start without a title.
const maxCut = 1024

// closeCalls ends the open calls of an agent (nil for the main agent), the newest
// first.
func (s *Stamper) closeCalls(a *subagent, why closing) {
	// Closing one takes out only itself and what was split from it, which stands
	// behind it.
	for i := len(s.calls) - 1; i >= 0; i-- {
		c := s.calls[i]
		if c.agent != a || c.of != nil {
			continue // what was split off ends with the call it belongs to
		}
		ev := contract.ToolCallEnd{Result: &contract.ToolResult{Status: why.status, Error: why.text}}
		if a != nil && a.background {
			ev.Result = nil // it goes on; nobody knows the outcome yet
		}
		if len(s.cut) >= maxCut {
			clear(s.cut)
		}
		s.cut[c.key] = c.start
		s.closeCall(c, "", ev, why.by)
	}
}
