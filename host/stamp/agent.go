package stamp

import (
	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// Agent stamps what a Protocol said: the draft's own envelope and those it takes
// to keep the stream valid, in order. The result is empty when the draft adds
// nothing (a duplicate, an empty text). Drafts of the user (typed in the agent's
// own terminal, say) come here as well; their ids are native.
//
// A permission-request in the result carries the call under which the ask is to
// be decided. A permission-response in the result that was not in the draft
// settles an ask that cannot be answered any more.
func (s *Stamper) Agent(d adapters.Draft) []contract.Envelope {
	d.Origin = cleanOrigin(d.Origin)
	switch ev := d.Event.(type) {
	case contract.TurnStart:
		if d.Subagent == "" {
			s.turnStart(cleanTurnStart(ev), d.Origin, len(d.Prompts) > 0)
		}
	case contract.TurnEnd:
		if d.Subagent == "" && s.turn != "" {
			s.endTurn(cleanTurnEnd(ev), d.Origin)
		}
	case contract.ToolCallStart:
		s.callStart(d.Subagent, d.Origin, ev)
	case contract.ToolCallEnd:
		s.callEnd(d.Subagent, d.Origin, ev)
	case contract.SubagentStart:
		s.agentStart(d.Subagent, d.Origin, ev, d.Background)
	case contract.SubagentStop:
		s.agentStop(d.Origin, ev)
	case contract.PermissionRequest:
		s.request(d.Subagent, d.Origin, ev)
	case contract.PermissionResponse, contract.Abort:
		s.nativeUser(d)
	default:
		if d.Role == contract.RoleUser {
			s.nativeUser(d)
		} else {
			s.say(d)
		}
	}
	return s.take()
}

// say stamps an agent's event that opens and closes nothing.
func (s *Stamper) say(d adapters.Draft) {
	switch ev := d.Event.(type) {
	case contract.Text:
		ev.Steer = false
		if ev, ok := cleanText(ev); ok {
			s.activity(d.Subagent, d.Origin, ev)
		}
	case contract.File:
		if ev, ok := cleanFile(ev); ok {
			s.activity(d.Subagent, d.Origin, ev)
		}
	case contract.Service:
		s.aside(d.Subagent, d.Origin, cleanService(ev))
	case contract.SessionControlChanged:
		s.aside("", d.Origin, cleanControl(ev))
	case contract.AgentConfigurationChanged:
		s.aside(d.Subagent, d.Origin, cleanConfiguration(ev))
	case contract.Unknown:
		if ev, ok := cleanUnknown(ev); ok {
			s.aside(d.Subagent, d.Origin, ev)
		}
	}
}

// activity puts out an event that stands inside a turn.
func (s *Stamper) activity(subagent, origin string, ev contract.Event) {
	s.ensureTurn()
	s.emitAgent(s.ensureAgent(subagent), origin, ev)
}

// aside puts out an event that may stand outside of turns. It opens no sub-agent:
// a notice about one that stopped comes from the main agent.
func (s *Stamper) aside(subagent, origin string, ev contract.Event) {
	a := s.byNative[subagent]
	if s.turn == "" {
		a = nil
	}
	s.emitAgent(a, origin, ev)
}

// nativeUser stamps what a person did in the agent's own interface. What cannot
// stand (an answer to no ask) is dropped: there it already had its effect.
func (s *Stamper) nativeUser(d adapters.Draft) {
	ev := d.Event
	if r, ok := ev.(contract.PermissionResponse); ok {
		c := s.findCall(d.Subagent, r.Call)
		if c == nil {
			return
		}
		r.Call = c.id
		ev = r
	}
	_ = s.user(contract.Envelope{Origin: d.Origin, Event: ev})
}
