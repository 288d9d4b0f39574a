package acp

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// turn is the turn that is open, if one is.
type turn struct {
	open bool
	auto bool // the agent began it by itself
	n    int  // counts the turns, to tell a late answer from one that is waited for
	// waiting are prompts of the turn that have no answer yet: the one that began
	// it and those that steer it.
	waiting   int
	cancelled bool      // session/cancel was sent
	giveUpAt  time.Time // set with cancelled
	active    time.Time // the last sign of work in an autonomous turn
	fault     *contract.Error

	garbled     bool   // a malformed message was told
	compaction  string // the last state that was told
	systemError bool   // Codex: the model's service failed
	lastText    string // the last text that was written
}

// beginTurn opens a turn that takes up the prompts, none for one of the agent's own.
func (p *Protocol) beginTurn(prompts ...string) {
	p.turn = turn{open: true, auto: len(prompts) == 0, n: p.turn.n + 1, active: p.now}
	p.silence.Heard(p.now)
	p.usage.begin()
	p.flushText()
	p.step.Emit = append(p.step.Emit, adapters.Draft{Event: contract.TurnStart{}, Prompts: prompts})
}

// ensureTurn opens an autonomous turn when none is open: work that goes on after
// the answer to a prompt belongs somewhere.
func (p *Protocol) ensureTurn() {
	if !p.turn.open {
		p.beginTurn()
	}
	p.turn.active = p.now
}

// prompt begins a turn. v1 of the protocol has no sign that an agent accepted it.
func (p *Protocol) prompt(c adapters.Prompt) error {
	switch {
	case p.phase != ready:
		return errors.New("the session is not open")
	case p.turn.open && !p.turn.auto:
		return errors.New("a turn is running")
	}
	blocks, err := p.blocks(c.Text, c.Files)
	if err != nil {
		return err
	}
	if p.turn.open {
		p.endTurn(contract.TurnCompleted, nil)
	}
	p.beginTurn(c.ID)
	p.sendPrompt(blocks, p.mainAnswer)
	return nil
}

// mainAnswer takes the answer to the prompt that began the turn.
func (p *Protocol) mainAnswer(r reply) {
	if fault := p.promptFault(r); fault != nil {
		p.turn.fault = fault
	}
}

// sendPrompt sends session/prompt in the open turn. The turn ends when all its
// prompts are answered: an agent that is steered hands the first one over to the
// second, or answers both together.
func (p *Protocol) sendPrompt(blocks []any, then func(reply)) {
	n := p.turn.n
	p.turn.waiting++
	params := struct {
		SessionID string `json:"sessionId"`
		Prompt    []any  `json:"prompt"`
	}{p.session, blocks}
	p.call("session/prompt", params, 0, func(r reply) {
		if !p.turn.open || p.turn.n != n || r.gone {
			then(r) // the turn was given up, or Exit ends it
			return
		}
		p.turn.waiting--
		p.usageAnswer(r.result)
		then(r)
		if p.turn.waiting == 0 {
			p.answered(r)
		}
	})
}

// answered ends the turn after the last answer.
func (p *Protocol) answered(r reply) {
	if p.turn.cancelled {
		p.endTurn(contract.TurnCancelled, nil) // whatever came: end_turn, cancelled or an error
		return
	}
	if fault := p.turn.fault; fault != nil {
		p.endTurn(contract.TurnFailed, fault)
		return
	}
	p.flushText()
	if fault := p.failedText(); fault != nil {
		p.endTurn(contract.TurnFailed, fault)
		return
	}
	switch stop := r.result.Get("stopReason").Text(); stop {
	case "cancelled":
		p.endTurn(contract.TurnCancelled, nil)
	case "max_tokens":
		p.stopped("The answer was cut: the model reached its output limit.", contract.CodeMaxTokens)
	case "max_turn_requests":
		p.stopped("The agent stopped at its own limit of model requests for one turn.", contract.CodeMaxTurns)
	case "refusal":
		p.stopped("The model declined to go on.", contract.CodeRefusal)
	case "error": // ACP 2
		p.endTurn(contract.TurnFailed, &contract.Error{Code: contract.CodeAgentError, Message: p.name() + " reported an error"})
	case "end_turn", "":
		p.endTurn(contract.TurnCompleted, nil)
	default:
		p.stopped(fmt.Sprintf("The agent stopped: %s.", stop), "")
	}
}

// stopped completes a turn whose end a person should know about.
func (p *Protocol) stopped(text string, code contract.ErrorCode) {
	p.emit(contract.Service{Text: text, Kind: contract.ServiceNotice, Code: code})
	p.endTurn(contract.TurnCompleted, nil)
}

// failedText finds the failure that an agent reports as text in a turn that it
// calls completed.
func (p *Protocol) failedText() *contract.Error {
	last, prefix := strings.TrimSpace(p.turn.lastText), p.spec.Quirks.ErrorText
	switch {
	case p.turn.systemError:
	case prefix != "" && strings.HasPrefix(last, prefix) && statusIn(last) != 0:
		last = strings.TrimSpace(strings.TrimPrefix(last, prefix))
	default:
		return nil
	}
	fault := faultOf(0, last, nil)
	return &fault
}

// endTurn closes everything that is open and ends the turn.
func (p *Protocol) endTurn(status contract.TurnStatus, fault *contract.Error) {
	if p.turn.cancelled {
		status, fault = contract.TurnCancelled, nil
	}
	p.flushText()
	p.dropAsks()
	p.agents.overdue(p, true)
	p.closeCalls(status, fault)
	p.agents.stopAll(p)
	if fault != nil && fault.Code != contract.CodeHostStopped {
		p.emit(contract.Service{Text: fault.Message, Kind: contract.ServiceError, Code: fault.Code})
	}
	end := contract.TurnEnd{Status: status, Error: fault, Usage: p.usage.take(p.spec.Quirks.Usage), Model: p.usage.model}
	if end.Model == "" {
		end.Model = p.config.settings[settingModel].current
	}
	p.emit(end)
	p.turn = turn{n: p.turn.n}
	p.startLate()
}

// abort stops the running turn, once. Agents wait for their pending questions, so
// these are answered first.
func (p *Protocol) abort() {
	if !p.turn.open || p.turn.cancelled {
		return
	}
	p.settleCalls("")
	p.cancelAsks()
	p.dropSteers()
	p.notify("session/cancel", sessionID{p.session})
	if p.turn.waiting == 0 { // the agent's own turn: nothing will tell its end
		p.turn.cancelled = true
		p.endTurn(contract.TurnCancelled, nil)
		return
	}
	p.turn.cancelled = true
	p.turn.giveUpAt = p.now.Add(p.cancelWait)
}

// goodbye ends the session on the protocol's level. An agent that takes it saves its
// session and ends its commands before it answers.
func (p *Protocol) goodbye(id string) {
	p.abort()
	answered := func(reply) {
		if id != "" {
			p.done(id, nil, nil)
		}
	}
	if p.phase == ready && p.agent.can("close") {
		p.call("session/close", sessionID{p.session}, ConfigWait, answered)
		return
	}
	answered(reply{})
}

// promptFault is the failure that an answer to a prompt reports, nil for none.
func (p *Protocol) promptFault(r reply) *contract.Error {
	if r.ok() {
		return nil
	}
	fault := p.fault(r, "session/prompt")
	return &fault
}

// textBlock is a content block of type text.
type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func blank(s string) bool { return strings.TrimSpace(rawjson.Repair(s)) == "" }
