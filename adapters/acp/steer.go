package acp

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
)

// steers are messages that people gave to the running turn.
type steers struct {
	queue []lateSteer // for the agent to fetch
	late  []lateSteer // that came after the turn, in truth
}

// lateSteer is a message that waits.
type lateSteer struct {
	id     string
	blocks []any
}

// since reports whether the agent has the version from which its quirks hold.
func (p *Protocol) since() bool {
	from := p.spec.Quirks.Since
	return from == "" || !older(p.agent.version, from)
}

// older compares versions number by number.
func older(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		m, n := 0, 0
		if i < len(x) {
			m, _ = strconv.Atoi(x[i])
		}
		if i < len(y) {
			n, _ = strconv.Atoi(y[i])
		}
		if m != n {
			return m < n
		}
	}
	return false
}

// steers reports whether the agent takes a message in the middle of a turn.
func (p *Protocol) steers() bool {
	switch p.spec.Quirks.Steer {
	case SteerPrompt:
		return p.wasOpen
	case SteerDrain:
		return p.wasOpen && p.since()
	case SteerAdvertised:
		return p.agent.steering
	}
	return false
}

// steerWith gives a message to the running turn. Its Outcome comes when the agent
// took it, there or, if it came too late, as the beginning of the next turn.
func (p *Protocol) steerWith(c adapters.Steer) error {
	switch {
	case !p.steers():
		return fmt.Errorf("%s takes no message in the middle of a turn: %w", p.name(), adapters.ErrUnsupported)
	case !p.turn.open || p.phase != ready:
		return errors.New("no turn is running that could be steered")
	case p.spec.Quirks.Steer == SteerDrain && len(c.Files) > 0:
		return fmt.Errorf("%s takes no files in the middle of a turn: %w", p.name(), adapters.ErrUnsupported)
	}
	blocks, err := p.blocks(c.Text, c.Files)
	if err != nil {
		return err
	}
	switch {
	case p.turn.cancelled:
		p.steer.late = append(p.steer.late, lateSteer{c.ID, blocks})
	case p.turn.auto: // the agent is at rest but for its own work: this is a prompt
		p.steer.late = append(p.steer.late, lateSteer{c.ID, blocks})
		p.endTurn(contract.TurnCompleted, nil)
	case p.spec.Quirks.Steer == SteerDrain:
		p.steer.queue = append(p.steer.queue, lateSteer{c.ID, blocks})
	case p.spec.Quirks.Steer == SteerPrompt:
		p.sendPrompt(blocks, func(r reply) { p.done(c.ID, nil, p.promptFault(r)) })
	default:
		p.sendSteering(c.ID, blocks)
	}
	return nil
}

// sendSteering uses the extension _session/steering of claude-agent-acp and
// codex-acp. An agent that is idle by now is asked to leave the message to us.
func (p *Protocol) sendSteering(id string, blocks []any) {
	type steering struct {
		IdleBehavior string `json:"idleBehavior"`
	}
	var params struct {
		SessionID string `json:"sessionId"`
		Prompt    []any  `json:"prompt"`
		Meta      struct {
			Steering steering `json:"steering"`
		} `json:"_meta"`
	}
	params.SessionID, params.Prompt = p.session, blocks
	params.Meta.Steering.IdleBehavior = "promptRequired"
	p.call("_session/steering", params, ConfigWait, func(r reply) {
		if !r.ok() {
			fault := p.fault(r, "_session/steering")
			p.done(id, nil, &fault)
			return
		}
		switch outcome := r.result.Get("outcome").Text(); outcome {
		case "injected", "":
		case "startedNewTurn":
			p.ensureTurn()
		default: // promptRequired
			p.steer.late = append(p.steer.late, lateSteer{id, blocks})
			p.startLate()
			return
		}
		p.done(id, nil, nil)
	})
}

// drain answers the agent's question for messages, which qwen asks after each
// batch of tools.
func (p *Protocol) drain(m jsonrpc.Message) {
	if p.spec.Quirks.Steer != SteerDrain {
		p.refuse(m.ID, jsonrpc.MethodNotFound, "Method not found: "+m.Method)
		return
	}
	texts := []string{}
	for _, s := range p.steer.queue {
		texts = append(texts, s.text())
		p.done(s.id, nil, nil)
	}
	p.steer.queue = nil
	p.respond(m.ID, encode(struct {
		Messages        []string `json:"messages"`
		HasQueuedPrompt bool     `json:"hasQueuedPrompt"`
	}{texts, false}))
}

// text is the message without files.
func (l lateSteer) text() string {
	for _, b := range l.blocks {
		if t, ok := b.(textBlock); ok {
			return t.Text
		}
	}
	return ""
}

// dropSteers gives back what waits, because a person stops the turn and does not
// want more work begun.
func (p *Protocol) dropSteers() {
	for _, s := range append(p.steer.queue, p.steer.late...) {
		p.done(s.id, nil, &contract.Error{
			Code: contract.CodeUnsupported, Message: "the turn was stopped before the agent took the message",
		})
	}
	p.steer = steers{}
}

// startLate begins a turn with the messages that the last one did not take.
func (p *Protocol) startLate() {
	p.steer.late = append(p.steer.late, p.steer.queue...)
	p.steer.queue = nil
	if p.exit != nil {
		p.dropSteers()
	}
	if p.turn.open || len(p.steer.late) == 0 || p.phase != ready {
		return
	}
	var ids []string
	var blocks []any
	for _, l := range p.steer.late {
		ids, blocks = append(ids, l.id), append(blocks, l.blocks...)
		p.done(l.id, nil, nil)
	}
	p.steer.late = nil
	p.beginTurn(ids...)
	p.sendPrompt(blocks, p.mainAnswer)
}
