package codex

import (
	"slices"
	"time"

	"github.com/agenthost/agenthost/contract"
)

// abortTimeout is how long the server may take to end a turn that was
// interrupted; it takes milliseconds. When it is hit the child is given up.
const abortTimeout = 30 * time.Second

// submitAbort stops the turn, and the sub-agents.
func (p *protocol) submitAbort() {
	// The host has settled the open asks, and the server drops them itself.
	for _, a := range p.asks {
		p.endOwn(a)
	}
	p.asks = nil
	p.forgetSettling()
	switch {
	case p.turn.open:
		p.interruptTurn()
	case slices.ContainsFunc(p.inputs, func(in *input) bool { return in.sent }):
		// An interrupt before the turn began is refused.
		p.abortNext = true
	case p.running():
		// Only sub-agents run. Their turn is the stamper's; from here on we answer for
		// its end.
		p.interruptChildren()
		p.openTurn("", nil)
		p.turn.aborted = true
		p.closeTurn(contract.TurnEnd{Status: contract.TurnCancelled})
	}
}

func (p *protocol) interruptTurn() {
	if p.turn.aborted {
		return
	}
	p.turn.aborted = true
	p.turn.abortBy = p.now.Add(abortTimeout)
	p.interruptChildren()
	p.interrupt(p.root.id, p.turn.id)
}

// interrupt asks for the end of a turn. A refusal says that it has ended.
func (p *protocol) interrupt(thread, turn string) {
	params := new(object).str("threadId", thread).str("turnId", turn).value()
	p.request("turn/interrupt", params, func(reply) {})
}

func (p *protocol) interruptChildren() {
	for _, th := range p.children {
		if th.running() && th.turn != "" {
			p.interrupt(th.id, th.turn)
		}
	}
}

// expireTurn gives up on a turn that does not end, and on a server that retries
// without end.
func (p *protocol) expireTurn() {
	t := &p.turn
	if !t.abortBy.IsZero() && !t.abortBy.After(p.now) {
		t.abortBy = time.Time{}
		p.step.Stop = "it did not end the turn that was stopped"
	}
	if !t.retryBy.IsZero() && !t.retryBy.After(p.now) {
		t.retryBy, t.gaveUp = time.Time{}, true
		t.abortBy = p.now.Add(abortTimeout)
		p.notice(contract.ServiceError, t.failure.code, "The model's service did not come back. The turn is stopped.")
		p.interrupt(p.root.id, t.id)
	}
}

// runningCommands are the commands that run, by thread.
func (p *protocol) runningCommands() map[string][]string {
	left := map[string][]string{}
	for _, th := range p.threads() {
		for _, c := range p.openCalls(th) {
			if c.native == itemCommand {
				left[th.id] = append(left[th.id], c.id)
			}
		}
	}
	return left
}

// endCommands ends commands that an interrupted turn left running: the server
// takes them for terminals in the background. Those that were there before stay.
func (p *protocol) endCommands(left map[string][]string) {
	for _, th := range p.threads() {
		items := left[th.id]
		if len(items) == 0 {
			continue
		}
		params := new(object).str("threadId", th.id).value()
		p.request("thread/backgroundTerminals/list", params, func(r reply) { p.terminate(th.id, items, r) })
	}
}

func (p *protocol) terminate(thread string, items []string, r reply) {
	if p.gone {
		return // nothing outlives the server
	}
	if r.err != nil {
		p.notice(contract.ServiceError, r.err.code, "What the stopped turn had started may still run: "+r.err.message)
		return
	}
	for t := range r.result.Get("data").Elements() {
		process := t.Get("processId").Text()
		if process == "" || !slices.Contains(items, t.Get("itemId").Text()) {
			continue
		}
		params := new(object).str("threadId", thread).str("processId", process).value()
		p.request("thread/backgroundTerminals/terminate", params, func(r reply) {
			if r.err != nil && !p.gone {
				p.notice(contract.ServiceError, r.err.code, "A command of the stopped turn could not be ended: "+r.err.message)
			}
		})
	}
}
