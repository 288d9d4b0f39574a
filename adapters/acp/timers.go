package acp

import (
	"fmt"
	"time"

	"github.com/agenthost/agenthost/contract"
)

// timers does everything that is due.
func (p *Protocol) timers() {
	for _, w := range p.pending.Expired(p.now) {
		p.notify("$/cancel_request", struct {
			RequestID int64 `json:"requestId"`
		}{w.ID})
		w.Value(reply{timeout: true})
	}
	p.releaseCalls()
	p.agents.overdue(p, false)
	p.opener.wake(p)
	p.escalate()
	p.quiet()
	p.stall()
}

// nextWake is the earliest of all deadlines, zero when there is none.
func (p *Protocol) nextWake() time.Time {
	next := p.pending.Next()
	for _, t := range []time.Time{p.calls.nextRelease(), p.agents.nextReport(), p.opener.at, p.turn.giveUpAt, p.quietAt(), p.stallAt()} {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}

func (p *Protocol) due(t time.Time) bool { return !t.IsZero() && !t.After(p.now) }

// escalate gives up on an agent that does not end a cancelled turn.
func (p *Protocol) escalate() {
	if !p.turn.open || !p.due(p.turn.giveUpAt) {
		return
	}
	p.endTurn(contract.TurnCancelled, nil)
	p.step.Stop = fmt.Sprintf("%s did not end the turn within %v of session/cancel", p.name(), p.cancelWait)
}

// quietAt is when a turn that the agent began by itself counts as over.
func (p *Protocol) quietAt() time.Time {
	switch {
	case !p.turn.open || !p.turn.auto || p.asks.open() > 0:
		return time.Time{}
	case p.calls.open() > 0:
		return p.turn.active.Add(QuietCallWait)
	}
	return p.turn.active.Add(QuietWait)
}

func (p *Protocol) quiet() {
	if p.due(p.quietAt()) {
		p.calls.leaving = true
		p.endTurn(contract.TurnCompleted, nil)
		p.calls.leaving = false
	}
}

// busy reports whether word of the agent is waited for, and whether a tool runs. While
// a person is asked, the person is waited for.
func (p *Protocol) busy() (busy, tool bool) {
	return p.turn.open && !p.turn.auto && !p.turn.cancelled && p.asks.open() == 0, p.calls.open() > 0
}

// stallAt is when to tell that the agent has been silent for long.
func (p *Protocol) stallAt() time.Time {
	busy, tool := p.busy()
	if !busy {
		return time.Time{}
	}
	return p.silence.At(tool)
}

func (p *Protocol) stall() {
	busy, tool := p.busy()
	if !busy {
		return
	}
	if text := p.silence.Notice(p.now, p.name(), tool); text != "" {
		p.emit(contract.Service{Text: text, Kind: contract.ServiceNotice})
	}
}

// name is the agent's name for people.
func (p *Protocol) name() string {
	switch {
	case p.spec.Title != "":
		return p.spec.Title
	case p.agent.title != "":
		return p.agent.title
	}
	return "the agent"
}
