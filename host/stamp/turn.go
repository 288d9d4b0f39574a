package stamp

import "github.com/agenthost/agenthost/contract"

// turnKind says who opened a turn.
type turnKind int

const (
	prompted    turnKind = iota // a person: the turn-start named prompts
	autonomous                  // the agent said turn-start without prompts
	synthesised                 // activity outside a turn
)

// turnStart is a turn-start of the agent; prompts says that it takes up prompts.
func (s *Stamper) turnStart(ev contract.TurnStart, origin string, prompts bool) {
	switch {
	case s.turn == "":
	case !prompts:
		// E6a: the open turn's id is used. From here on the agent answers for its end.
		if s.kind == synthesised {
			s.kind = autonomous
		}
		return
	case s.kind == prompted:
		s.endTurn(contract.TurnEnd{Status: contract.TurnFailed, Error: &contract.Error{
			Code: contract.CodeProtocol, Message: "the agent took up another prompt before it ended this turn",
		}}, "")
	default:
		s.endTurn(contract.TurnEnd{Status: contract.TurnCompleted}, "")
	}
	kind := autonomous
	if prompts {
		kind = prompted
	}
	s.openTurn(ev, origin, kind)
}

// openTurn opens a turn; none is open.
func (s *Stamper) openTurn(ev contract.TurnStart, origin string, kind turnKind) {
	s.turn, s.kind = s.newID(), kind
	s.emitAgent(nil, origin, ev)
}

// ensureTurn opens an autonomous turn when none is open.
func (s *Stamper) ensureTurn() {
	if s.turn == "" {
		s.openTurn(contract.TurnStart{}, "", synthesised)
	}
}

// endTurn ends the open turn and before it whatever does not outlive it.
func (s *Stamper) endTurn(ev contract.TurnEnd, origin string) {
	why := closing{status: contract.ToolCancelled, text: "the turn ended before this call did", by: contract.ByTurnEnd}
	if ev.Status == contract.TurnFailed {
		why.status = contract.ToolError
		if ev.Error != nil {
			why.by = resolverOf(ev.Error.Code)
		}
	}
	s.closeAgents(why)
	s.closeCalls(nil, why)
	s.emitAgent(nil, origin, ev)
	s.turn = ""
}

// resolverOf says who answers the asks that a failure leaves behind.
func resolverOf(c contract.ErrorCode) contract.Resolver {
	switch c {
	case contract.CodeAgentExited:
		return contract.ByExit
	case contract.CodeHostStopped:
		return contract.ByHost
	}
	return contract.ByTurnEnd
}

// Finish ends whatever is open: asks, calls, sub-agents (those in the background
// too) and the turn, with the given status and error, nil for none. The host
// calls it on every path on which the agent will say nothing more, after the
// Protocol's Exit. It returns nil when nothing is open. Asks are rejected by
// "exit" when err's code is agent-exited, by "host" for host-stopped, else by
// "turn-end".
func (s *Stamper) Finish(status contract.TurnStatus, err *contract.Error) []contract.Envelope {
	if s.turn == "" && len(s.agents) == 0 {
		return nil
	}
	s.ensureTurn()
	for _, a := range s.agents {
		a.background = false
	}
	s.endTurn(cleanTurnEnd(contract.TurnEnd{Status: status, Error: err}), "")
	clear(s.cut)
	return s.take()
}

// Settled reports whether the open turn is one that activity outside a turn
// opened and nothing in it is under way: no call, no ask, no sub-agent of the
// foreground that the agent announced. The host should then call Idle when
// nothing more comes for a while.
func (s *Stamper) Settled() bool {
	if s.turn == "" || s.kind != synthesised || len(s.calls) > 0 {
		return false
	}
	for _, a := range s.agents {
		if !a.background && !a.implied {
			return false
		}
	}
	return true
}

// Idle ends a settled turn as completed. It returns nil when the turn is not
// settled.
func (s *Stamper) Idle() []contract.Envelope {
	if !s.Settled() {
		return nil
	}
	s.endTurn(contract.TurnEnd{Status: contract.TurnCompleted}, "")
	return s.take()
}
