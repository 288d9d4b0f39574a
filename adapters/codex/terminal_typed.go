package codex

import (
	"fmt"
	"slices"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// typedWait is how long the start of a turn is held back for the message that it
// takes up, which comes within milliseconds. A turn that has none by then (a goal, a
// queue, a command of the person's own) is one that nobody asked for.
const typedWait = time.Second

// sayTurn emits the start of a turn that was held back.
func (p *protocol) sayTurn() {
	if !p.turn.unsaid {
		return
	}
	ids := p.turn.prompts
	p.turn.unsaid, p.turn.sayBy, p.turn.prompts = false, time.Time{}, nil
	p.startTurn(ids, p.loose)
}

// typedThere takes a message that a person typed at the screen: it begins the turn
// whose start is held back, or joins the one that runs.
func (p *protocol) typedThere(turn, item, text string) {
	if text == "" || p.turn.said[item] {
		return
	}
	d := adapters.Draft{Role: contract.RoleUser, Origin: origin(turn, item), Event: contract.Text{Text: text}}
	if p.turn.said != nil {
		p.turn.said[item] = true
	}
	if !p.turn.unsaid {
		d.Event = contract.Text{Text: text, Steer: p.turn.open}
		p.emit(d)
		return
	}
	p.tui.typed++
	d.Key = fmt.Sprintf("typed-%d", p.tui.typed)
	p.turn.prompts = slices.Insert(p.turn.prompts, 0, d.Key)
	p.step.Emit = append(p.step.Emit, d) // not emit: it stands before the turn
	p.sayTurn()
}

// stoppedThere takes a turn that a person stopped at the screen.
func (p *protocol) stoppedThere() {
	for _, s := range p.takeSettling(func(s settling) bool { return s.ask.th == p.root }) {
		p.decide(s.ask, contract.RejectOnce, nil)
	}
	p.emit(adapters.Draft{Role: contract.RoleUser, Event: contract.Abort{}})
}

// expireScreen does what of the screen is due.
func (p *protocol) expireScreen() {
	if t := &p.turn; t.unsaid && !t.sayBy.After(p.now) {
		if t.compacts {
			t.sayBy = p.now.Add(typedWait) // the message comes after it
		} else {
			p.sayTurn()
		}
	}
	p.expireSettling()
}
