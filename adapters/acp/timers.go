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
	p.step.Stop = fmt.Sprintf("%s did not end the turn within %v of session/cancel", p.name(), p.wait.cancel)
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

// stallAt is when to tell that the agent has been silent for long. While a person
// is asked, the person is waited for, not the agent; while a tool runs, the tool.
func (p *Protocol) stallAt() time.Time {
	factors := []time.Duration{1, 5, 15}
	if p.wait.stall == 0 || !p.turn.open || p.turn.auto || p.turn.cancelled || p.asks.open() > 0 || p.stalls >= len(factors) {
		return time.Time{}
	}
	wait := p.wait.stall * factors[p.stalls]
	if p.calls.open() > 0 {
		wait *= toolPatience
	}
	return p.silentSince().Add(wait)
}

// toolPatience is how much longer silence may last while a tool runs: many agents
// tell nothing of it before its end.
const toolPatience = 5

func (p *Protocol) silentSince() time.Time {
	if p.heard.Before(p.turn.began) {
		return p.turn.began
	}
	return p.heard
}

func (p *Protocol) stall() {
	if !p.due(p.stallAt()) {
		return
	}
	p.stalls++
	why := "It may be retrying a request to its model, or hang"
	if p.calls.open() > 0 {
		why = "A tool may be running, or it hangs"
	}
	p.emit(contract.Service{
		Text: fmt.Sprintf("No word from %s for %v. %s; you can stop the turn.", p.name(), p.now.Sub(p.silentSince()).Round(time.Second), why),
		Kind: contract.ServiceNotice,
	})
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
