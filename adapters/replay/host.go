package replay

import (
	"fmt"
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// What follows is the host's part of a replay: it queues prompts, settles asks and
// stamps what is said.

// host does what the host does with the commands of people.
func (p *Player) host(cmds []adapters.Command) {
	for _, c := range cmds {
		switch c := c.(type) {
		case adapters.Prompt:
			p.prompt(c)
		case adapters.Abort:
			p.Abort()
		case adapters.Answer:
			p.answer(c)
		case adapters.Configure:
			c.ID = p.commandID(c.ID)
			p.Submit(c)
		case adapters.Op:
			c.ID = p.commandID(c.ID)
			p.Submit(c)
		default:
			p.Submit(c)
		}
	}
}

func (p *Player) commandID(id string) string {
	if id != "" {
		return id
	}
	return fmt.Sprintf("c%d", len(p.calls))
}

// prompt stamps a person's text and submits it, now or when its time comes.
func (p *Player) prompt(c adapters.Prompt) {
	p.patient(func() bool { return p.openID != "" && !p.opened })
	steer := p.busy() && p.stamper.Turn() != "" && slices.Contains(p.proto.Capabilities(), session.CapSteer)
	c.ID = p.userText(c.ID, c.Text, c.Files, steer)
	if steer {
		if _, err := p.Submit(adapters.Steer(c)); err == nil {
			return
		}
	}
	p.queue = append(p.queue, c)
	p.pump()
}

func (p *Player) userText(id, text string, files []adapters.Attachment, steer bool) string {
	ev := contract.Text{Text: text, Steer: steer}
	for _, f := range files {
		ev.Refs = append(ev.Refs, contract.FileRef{Ref: f.Path + f.Name, Name: f.Name, MIME: f.MIME, Size: int64(len(f.Data))})
	}
	envs, err := p.stamper.User(contract.Envelope{ID: id, Event: ev})
	if err != nil {
		// An empty prompt has no envelope; the host refuses it before it comes here.
		return p.newID()
	}
	p.envs = append(p.envs, envs...)
	return envs[len(envs)-1].ID
}

func (p *Player) busy() bool {
	if len(p.sent) > 0 {
		return true
	}
	return p.stamper.Turn() != "" && !(p.stamper.Autonomous() && p.stamper.Settled())
}

// pump submits the next prompt when nothing is under way.
func (p *Player) pump() {
	for len(p.queue) > 0 && p.opened && !p.busy() && !p.exited {
		c := p.queue[0]
		p.queue = p.queue[1:]
		p.sent = append(p.sent, c.ID)
		if _, err := p.Submit(c); err != nil {
			p.stamp(adapters.Draft{Event: contract.TurnStart{}, Prompts: []string{c.ID}})
			p.stamp(adapters.Draft{Event: contract.TurnEnd{
				Status: contract.TurnFailed, Error: &contract.Error{Code: contract.CodeInvalidRequest, Message: err.Error()},
			}})
		}
	}
}

// Abort is a person's abort. It does nothing when nothing is under way or the turn
// is being aborted.
func (p *Player) Abort() {
	if p.aborting || !p.busy() {
		return
	}
	if !p.direct {
		p.stop()
	}
	p.Submit(adapters.Abort{})
}

// stop puts an abort into the stream, which settles the open asks.
func (p *Player) stop() {
	p.aborting = true
	p.user(contract.Abort{})
	for _, a := range p.stamper.OpenAsks() {
		p.respond(contract.PermissionResponse{
			Call: a.Call, Decision: contract.RejectOnce, By: &contract.DecisionBy{Resolver: contract.ByTurnEnd},
		})
	}
}

func (p *Player) answer(c adapters.Answer) {
	call, open := p.asks[c.Ask]
	if !open {
		return // settled meanwhile; the host would not pass it on
	}
	if !p.direct {
		p.decided(call, c)
	}
	p.Submit(c)
}

// decided puts a person's decision into the stream.
func (p *Player) decided(call string, c adapters.Answer) {
	p.respond(contract.PermissionResponse{
		Call: call, Decision: c.Decision, By: &contract.DecisionBy{Resolver: contract.ByClient},
		Message: c.Message, Args: c.Args, Answers: c.Answers,
	})
}

func (p *Player) user(ev contract.Event) {
	envs, err := p.stamper.User(contract.Envelope{Event: ev})
	if err == nil {
		p.envs = append(p.envs, envs...)
	}
}

// respond writes a decision and forgets the ask.
func (p *Player) respond(r contract.PermissionResponse) {
	envs := p.stamper.Response(r, contract.Envelope{})
	p.envs = append(p.envs, envs...)
	p.moot(envs)
}

// moot forgets the asks that envs settle.
func (p *Player) moot(envs []contract.Envelope) {
	for _, e := range envs {
		r, ok := e.Event.(contract.PermissionResponse)
		if !ok {
			continue
		}
		for key, call := range p.asks {
			if call == r.Call {
				delete(p.asks, key)
			}
		}
	}
}

// people puts into the stream what people did, of a recorded command.
func (p *Player) people(c adapters.Command) {
	switch c := c.(type) {
	case adapters.Prompt:
		p.userText(c.ID, c.Text, c.Files, false)
		p.sent = append(p.sent, c.ID)
	case adapters.Steer:
		p.userText(c.ID, c.Text, c.Files, true)
	case adapters.Abort:
		p.stop()
	case adapters.Answer:
		if call, open := p.asks[c.Ask]; open {
			p.decided(call, c)
		}
	}
}

// stamp puts a draft into the stream.
func (p *Player) stamp(d adapters.Draft) {
	p.spoke = p.now
	switch d.Event.(type) {
	case contract.TurnStart:
		p.sent = slices.DeleteFunc(p.sent, func(id string) bool { return slices.Contains(d.Prompts, id) })
	case contract.TurnEnd:
		p.aborting = false
	}
	envs := p.stamper.Agent(d)
	p.envs = append(p.envs, envs...)
	p.moot(envs)
	if d.Ask == "" {
		return
	}
	for _, e := range envs {
		if r, ok := e.Event.(contract.PermissionRequest); ok {
			p.asks[d.Ask] = r.Call
		}
	}
}
