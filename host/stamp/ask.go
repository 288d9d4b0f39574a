package stamp

import (
	"github.com/agenthost/agenthost/contract"
)

// Ask is a permission-request that has no response yet.
type Ask struct {
	// Call is the session's id of the call, the key of the response.
	Call string
	// Request is the envelope.
	Request contract.Envelope
	// Question is set when the agent asked a question.
	Question *contract.Question
}

// OpenAsks lists the open asks, the oldest first.
func (s *Stamper) OpenAsks() []Ask {
	var asks []Ask
	for _, c := range s.calls {
		if c.ask != nil {
			asks = append(asks, *c.ask)
		}
	}
	return asks
}

// request opens an ask; ev.Call is native.
func (s *Stamper) request(subagent, origin string, ev contract.PermissionRequest) {
	c := s.findCall(subagent, ev.Call)
	switch {
	case c == nil:
		c = s.openCall(subagent, origin, startOf(ev))
	case c.ask != nil:
		// Answers are matched by call, so a second ask needs one of its own.
		split := &call{key: c.key, agent: c.agent, of: c}
		start := startOf(ev)
		start.Native = c.start.Native
		s.announce(split, origin, start)
		c = split
	}
	ev.Call = c.id
	ev = cleanRequest(ev, c.start)
	e := s.emitAgent(c.agent, origin, ev)
	c.ask = &Ask{Call: c.id, Request: e, Question: ev.Question}
}

// startOf makes the start of a call that only its request announces.
func startOf(ev contract.PermissionRequest) contract.ToolCallStart {
	name := ev.ToolName
	if name == "" && ev.Question != nil {
		name = "ask-user"
	}
	return contract.ToolCallStart{
		Call: ev.Call, Name: name, Title: ev.Title, Description: ev.Description, Args: ev.Args,
	}
}

// settle answers c's ask.
func (s *Stamper) settle(c *call, from contract.Envelope, r contract.PermissionResponse) {
	r.Call = c.id
	r = cleanResponse(r, c.ask.Question)
	c.ask = nil
	s.emitUser(from, s.turn, r)
}

// callOf finds an open call by the session's id.
func (s *Stamper) callOf(id string) *call {
	for _, c := range s.calls {
		if c.id == id {
			return c
		}
	}
	return nil
}
