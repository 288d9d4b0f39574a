package claude

import (
	"fmt"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// Exit implements adapters.Protocol.
func (p *protocol) Exit(now time.Time, s adapters.ExitStatus) adapters.Step {
	p.begin(now)
	p.gone = true
	cause := exitError(s)
	if p.open.pending() {
		e := startFailure(exitText(s))
		if cause.code == contract.CodeNotInstalled {
			e.code = cause.code
		}
		p.openFailed(e)
	}
	// First of all: a turn that opens here must not ask anew.
	for _, a := range p.asks {
		p.withdraw(a.key)
		p.endOwn(a)
	}
	p.asks = nil
	p.flushNext()
	if p.turn.open {
		p.keepPartial("")
		p.closeTurn(p.exitTurn(s, cause))
	}
	p.agents.stopAll(p)
	p.endLooseCalls()
	for _, in := range p.inputs {
		p.lost(in, s, cause)
	}
	p.inputs = nil
	p.flushLate()
	for _, q := range p.requests.list {
		q.got(reply{now: now, err: &cause})
	}
	p.requests.list = nil
	return p.end()
}

// endLooseCalls ends the calls that no turn and no sub-agent ended.
func (p *protocol) endLooseCalls() {
	for _, c := range p.openCalls("") {
		c.ended = true
		if !c.cut {
			p.emit(adapters.Draft{Event: contract.ToolCallEnd{Call: c.id, Result: cutOff(contract.TurnFailed)}})
		}
	}
}

// exitTurn is how a turn ends that the process did not live to end.
func (p *protocol) exitTurn(s adapters.ExitStatus, cause wireError) contract.TurnEnd {
	if p.turn.aborted {
		return contract.TurnEnd{Status: contract.TurnCancelled}
	}
	if s.Requested {
		return failedTurn(wireError{contract.CodeHostStopped, "the agent was stopped"})
	}
	return failedTurn(cause)
}

// lost ends an input that the process never took up.
func (p *protocol) lost(in *input, s adapters.ExitStatus, cause wireError) {
	switch {
	case in.op:
		return // its request fails
	case in.steer:
		p.fail(in.id, cause)
		return
	}
	p.emit(adapters.Draft{Event: contract.TurnStart{}, Prompts: []string{in.id}})
	end := failedTurn(cause)
	switch {
	case p.abortNext:
		end = contract.TurnEnd{Status: contract.TurnCancelled}
	case s.Requested:
		end = failedTurn(wireError{contract.CodeHostStopped, "the agent was stopped"})
	}
	p.emit(adapters.Draft{Event: end})
}

// exitError is why the process ended, from what it wrote on stderr when that says
// more than "it ended".
func exitError(s adapters.ExitStatus) wireError {
	e := wireError{contract.CodeAgentExited, exitText(s)}
	if strings.Contains(s.Err, "executable file not found") || strings.Contains(s.Err, "no such file or directory") {
		e.code = contract.CodeNotInstalled
		return e
	}
	if code, ok := wordingCode(s.Stderr, 0); ok {
		e.code = code
	}
	return e
}

// exitText says how a process ended, with the end of its stderr.
func exitText(s adapters.ExitStatus) string {
	text := fmt.Sprintf("the agent ended without a result (exit status %d)", s.Code)
	switch {
	case s.Err != "":
		text = "the agent could not run: " + s.Err
	case s.Signal != "":
		text = "the agent was ended by " + s.Signal
	}
	if tail := strings.TrimSpace(s.Stderr); tail != "" {
		text += ": " + tail
	}
	return text
}
