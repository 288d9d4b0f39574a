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

// steers are messages for the running turn that the agent will fetch.
type steers struct{ queue []adapters.Steer }

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
		return true
	case SteerDrain:
		return p.since()
	case SteerAdvertised:
		return p.agent.steering
	}
	return false
}

// steerWith gives a message to the running turn. Its Outcome says whether the
// agent took it there.
func (p *Protocol) steerWith(c adapters.Steer) error {
	switch {
	case !p.steers():
		return fmt.Errorf("%s takes no message in the middle of a turn: %w", p.name(), adapters.ErrUnsupported)
	case !p.turn.open || p.turn.auto || p.turn.cancelled:
		return errors.New("no turn is running that could be steered")
	case p.spec.Quirks.Steer == SteerDrain && len(c.Files) > 0:
		return fmt.Errorf("%s takes no files in the middle of a turn: %w", p.name(), adapters.ErrUnsupported)
	}
	blocks, err := p.blocks(c.Text, c.Files)
	if err != nil {
		return err
	}
	switch p.spec.Quirks.Steer {
	case SteerDrain:
		p.steer.queue = append(p.steer.queue, c)
	case SteerPrompt:
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
			p.done(id, nil, nil)
		case "startedNewTurn":
			if !p.turn.open {
				p.beginTurn()
			}
			p.done(id, nil, nil)
		default:
			p.done(id, nil, &contract.Error{Code: contract.CodeUnsupported, Message: "the turn was over before the message came: " + outcome})
		}
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
		texts = append(texts, s.Text)
		p.done(s.ID, nil, nil)
	}
	p.steer.queue = nil
	p.respond(m.ID, encode(struct {
		Messages        []string `json:"messages"`
		HasQueuedPrompt bool     `json:"hasQueuedPrompt"`
	}{texts, false}))
}

// endSteers gives back the messages that the turn did not take.
func (p *Protocol) endSteers() {
	for _, s := range p.steer.queue {
		p.done(s.ID, nil, &contract.Error{
			Code: contract.CodeUnsupported, Message: "the turn ended before the agent took the message",
		})
	}
	p.steer.queue = nil
}
