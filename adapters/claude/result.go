package claude

import (
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// result takes the end of a turn.
func (p *protocol) result(m message) {
	failed := m.Get("is_error").True()
	if p.open.pending() && failed && !p.turn.open && len(p.inputs) == 0 {
		// A start-up failure; the process exits after it.
		p.openFailed(startFailure(resultMessage(m)))
		return
	}
	p.opened()
	usage := p.meter.turn(m)
	if !p.turn.open {
		claimed := p.claim(m.userUUIDs())
		if len(claimed) == 0 && usage == nil && !failed {
			return // the end of nothing
		}
		p.openTurn(claimed)
	}
	p.settleText(m)
	end := p.turnEnd(m)
	end.Usage = usage
	p.closeTurn(end)
	p.contextFacts(m)
}

// turnEnd says how a turn ended. The terminal reason decides, then is_error; the
// subtype says "success" for API errors too.
func (p *protocol) turnEnd(m message) contract.TurnEnd {
	reason, failed := m.text("terminal_reason"), m.Get("is_error").True()
	cut := strings.HasPrefix(reason, "aborted_") || reason == "" && m.subtype == "error_during_execution"
	switch {
	case cut && (p.turn.aborted || p.turn.interrupted || m.subtype == "success" && !failed):
		return contract.TurnEnd{Status: contract.TurnCancelled}
	case cut:
		return failedTurn(wireError{contract.CodeAgentError, "the agent stopped in the middle of the turn"})
	case !failed && m.subtype != "error_during_execution":
		return contract.TurnEnd{Status: contract.TurnCompleted}
	case p.turn.aborted:
		return contract.TurnEnd{Status: contract.TurnCancelled}
	}
	return failedTurn(p.resultError(m))
}

func failedTurn(e wireError) contract.TurnEnd {
	return contract.TurnEnd{Status: contract.TurnFailed, Error: e.contract()}
}

// resultMessage is what the CLI says about a failure. The first of errors is an
// internal diagnostic when the turn was cut.
func resultMessage(m message) string {
	for _, s := range texts(m.Get("errors")) {
		if !strings.HasPrefix(s, "[ede_diagnostic]") {
			return s
		}
	}
	return m.text("result")
}

// settleText emits the texts that only the result or the deltas hold.
func (p *protocol) settleText(m message) {
	failed := m.Get("is_error").True()
	switch {
	case p.turn.failure != nil:
		// The request failed; what was streamed of it is void.
		p.dropPartial("")
	case failed, p.turn.malformed, p.turn.aborted, p.turn.interrupted:
		p.keepPartial("")
	}
	if failed {
		return
	}
	if p.turn.failure != nil {
		// An API error that the turn survived.
		p.notice(contract.ServiceError, p.turn.failure.code(), p.turn.failure.text)
	}
	text := m.text("result")
	if text == "" && !p.turn.compacted {
		text = p.turn.local
	}
	if !p.turn.said && text != "" {
		p.emit(adapters.Draft{Origin: m.uuid, Event: contract.Text{Text: text}})
	}
}

// closeTurn ends the open turn and whatever does not outlive it.
func (p *protocol) closeTurn(end contract.TurnEnd) {
	if end.Model == "" {
		end.Model = p.turn.model
	}
	p.closeAsks()
	p.agents.stopForeground(p)
	p.endCalls("", cutOff(end.Status))
	p.suspend()
	p.emit(adapters.Draft{Event: end})
	for _, in := range p.turn.inputs {
		if in.op {
			p.compactDone(in, end)
		}
	}
	p.requests.take(func(q *pending) bool { return q.kind == waitAbort })
	p.turn = turn{}
	p.reask()
}

// cutOff is the outcome of a call that its turn cut off.
func cutOff(status contract.TurnStatus) *contract.ToolResult {
	if status == contract.TurnFailed {
		return &contract.ToolResult{Status: contract.ToolError, Error: "the turn failed before this call ended"}
	}
	return &contract.ToolResult{Status: contract.ToolCancelled, Error: "the turn ended before this call did"}
}

// contextFacts reports how full the context is.
func (p *protocol) contextFacts(m message) {
	used, model := p.meter.context, p.facts.model
	size := integer(m.Get("modelUsage", model, "contextWindow"))
	if size == 0 {
		for _, u := range m.Get("modelUsage").Members() {
			size = max(size, integer(u.Get("contextWindow")))
		}
	}
	if used != 0 && used != p.facts.contextUsed {
		p.facts.contextUsed = used
		p.learn().ContextUsed = used
	}
	if size != 0 && size != p.facts.contextSize {
		p.facts.contextSize = size
		p.learn().ContextSize = size
	}
}
