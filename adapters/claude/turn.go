package claude

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// input is a message that was sent to the CLI.
type input struct {
	id    string // the command's
	uuid  string // the native id
	steer bool
	// op is set for a slash command that an Op became: it is no prompt.
	op bool
}

// settled is a prompt whose fate is known although no turn of its own was seen.
type settled struct {
	in  *input
	end contract.TurnEnd
}

// turn is the main agent's turn: from taking up a message, or starting on its
// own, to the result.
type turn struct {
	open   bool
	inputs []*input
	// aborted says that we interrupted it; interrupted that the CLI says somebody did.
	aborted, interrupted bool
	// said says that a text of the main agent was emitted in it.
	said bool
	// malformed says that output was lost in it.
	malformed bool
	// background says that it stands for background work alone, which was aborted.
	background bool
	// compacted says that the conversation was compacted in it.
	compacted bool
	// local is what a local command printed.
	local string
	// failure is the CLI's text about an API error, which is no answer.
	failure *failure
	model   string
}

// openTurn opens a turn that takes up inputs, none for one that the agent
// starts itself.
func (p *protocol) openTurn(inputs []*input) {
	malformed := p.turn.malformed
	loose := p.loose
	p.turn = turn{open: true, inputs: inputs, malformed: malformed}
	var ids []string
	for _, in := range inputs {
		p.answers[in.uuid] = p.lastAnswer
		if in.op {
			continue
		}
		ids = append(ids, in.id)
		if in.steer {
			p.taken(in, "next-turn")
		}
	}
	work := loose && len(ids) > 0
	if work {
		// The stamper's turn for background work ends here.
		p.agents.stopForeground(p)
		p.suspend()
	}
	p.emit(adapters.Draft{Event: contract.TurnStart{}, Prompts: ids})
	if work {
		p.reask()
	}
	if p.abortNext {
		// Stop was pressed before the CLI took the message up.
		p.abortNext = false
		p.interruptTurn()
	}
}

// taken reports what became of a steer.
func (p *protocol) taken(in *input, how string) {
	p.succeed(in.id, new(object).str("taken", how).value())
}

// enterMain makes sure that a turn is open, for what the main agent does. uuids are the
// messages it answers, as far as the CLI says.
func (p *protocol) enterMain(uuids []string) {
	p.flushNext()
	if p.turn.open {
		p.turn.background = false
		return
	}
	p.openTurn(p.claim(uuids))
}

// claim takes the inputs that a turn without acknowledgement takes up.
func (p *protocol) claim(uuids []string) []*input {
	var got []*input
	p.inputs = slices.DeleteFunc(p.inputs, func(in *input) bool {
		if slices.Contains(uuids, in.uuid) {
			got = append(got, in)
			return true
		}
		return false
	})
	if len(got) > 0 || p.acks || len(p.inputs) == 0 {
		return got
	}
	// A CLI without acknowledgements takes one message a turn, or says how many.
	n := min(max(len(uuids), 1), len(p.inputs))
	if n == 1 {
		i := max(slices.IndexFunc(p.inputs, func(in *input) bool { return !in.steer }), 0)
		got = append(got, p.inputs[i])
		p.inputs = slices.Delete(p.inputs, i, i+1)
		return got
	}
	got = append(got, p.inputs[:n]...)
	p.inputs = slices.Delete(p.inputs, 0, n)
	return got
}

// flushNext opens the turn of the messages that were taken up.
func (p *protocol) flushNext() {
	if len(p.next) == 0 {
		return
	}
	if p.turn.open {
		// A result was lost, or the CLI folded a prompt into the running turn. Each
		// prompt needs a turn-start, so the running turn ends here.
		p.closeTurn(contract.TurnEnd{Status: contract.TurnCompleted})
	}
	inputs := p.next
	p.next = nil
	p.openTurn(inputs)
}

// flushLate gives the prompts that never had a turn one of their own.
func (p *protocol) flushLate() {
	if p.turn.open || len(p.next) > 0 {
		return
	}
	if len(p.late) == 0 {
		return
	}
	p.suspend()
	for _, s := range p.late {
		p.emit(adapters.Draft{Event: contract.TurnStart{}, Prompts: []string{s.in.id}})
		p.emit(adapters.Draft{Event: s.end})
	}
	p.late = nil
	p.reask()
}

// lifecycle takes an acknowledgement of a message.
func (p *protocol) lifecycle(m message) {
	uuid := m.text("command_uuid")
	if slices.ContainsFunc(p.inputs, func(in *input) bool { return in.uuid == uuid }) {
		p.acks = true
		p.requests.take(func(q *pending) bool { return q.kind == waitAck+uuid })
	}
	switch state := m.text("state"); state {
	case "started":
		if in := p.takeInput(uuid); in != nil {
			p.started(in)
		}
	case "completed", "cancelled":
		p.over(uuid, state == "cancelled")
	}
}

func (p *protocol) started(in *input) {
	if in.steer && p.turn.open && len(p.next) == 0 {
		p.turn.inputs = append(p.turn.inputs, in)
		p.answers[in.uuid] = p.lastAnswer
		p.taken(in, "turn")
		return
	}
	p.next = append(p.next, in)
}

// over takes the end of a message that may never have been taken up.
func (p *protocol) over(uuid string, cancelled bool) {
	in := p.takeInput(uuid)
	if in == nil {
		i := slices.IndexFunc(p.next, func(in *input) bool { return in.uuid == uuid })
		if i < 0 {
			return // its turn's result tells
		}
		in = p.next[i]
		p.next = slices.Delete(p.next, i, i+1)
	}
	status := contract.TurnCompleted
	if cancelled {
		status = contract.TurnCancelled
	}
	switch {
	case in.op:
		p.requests.drop(in.id)
		p.fail(in.id, wireError{contract.CodeAgentError, "the command was cancelled before it ran"})
	case !in.steer:
		p.late = append(p.late, settled{in, contract.TurnEnd{Status: status}})
	case cancelled:
		p.fail(in.id, wireError{contract.CodeAgentError, "the message was cancelled before the agent took it up"})
	default:
		p.taken(in, "turn")
	}
}

// takeInput takes a pending input by its native id, nil when there is none.
func (p *protocol) takeInput(uuid string) *input {
	i := slices.IndexFunc(p.inputs, func(in *input) bool { return in.uuid == uuid })
	if i < 0 {
		return nil
	}
	in := p.inputs[i]
	p.inputs = slices.Delete(p.inputs, i, i+1)
	return in
}

// submitMessage sends a prompt or a steer.
func (p *protocol) submitMessage(id, text string, files []adapters.Attachment, steer bool) error {
	if strings.TrimSpace(text) == "" && len(files) == 0 {
		return fmt.Errorf("claude: message %q: want a text or a file, got neither", id)
	}
	body, err := content(text, files)
	if err != nil {
		return err
	}
	if !steer && !p.turn.open && !p.acks {
		p.folded()
	}
	in := &input{id: id, uuid: MessageUUID(id), steer: steer}
	p.inputs = append(p.inputs, in)
	priority := priorityLater
	if steer {
		priority = priorityNext
	}
	p.write(userMessage(in.uuid, priority, body))
	if p.acks {
		p.waitFor("", waitAck+in.uuid, requestTimeout, func(reply) { p.ignored(in) })
	}
	return nil
}

// waitAck begins the kind of the wait for the acknowledgement of a message.
const waitAck = "acknowledgement of "

// ignored gives up a message that a CLI which acknowledges messages did not: it
// drops one whose UUID its session has already, without a word.
func (p *protocol) ignored(in *input) {
	if p.takeInput(in.uuid) == nil {
		return
	}
	e := wireError{contract.CodeTimeout, "the agent did not take the message: its session may have it already"}
	if in.steer {
		p.fail(in.id, e)
		return
	}
	p.late = append(p.late, settled{in, failedTurn(e)})
}

// folded gives up waiting for steers that a CLI without acknowledgements would
// have made a turn of by now.
func (p *protocol) folded() {
	p.inputs = slices.DeleteFunc(p.inputs, func(in *input) bool {
		if in.steer {
			p.taken(in, "unconfirmed")
		}
		return in.steer
	})
}

// submitAbort stops the turn and the background work.
func (p *protocol) submitAbort() {
	// The host has settled the open asks, and the CLI withdraws them itself.
	p.asks = nil
	switch {
	case p.turn.open:
	case len(p.inputs)+len(p.next) > 0:
		p.abortNext = true
	case p.loose:
		// Only background work runs. Its turn is the stamper's; from here on we
		// answer for its end.
		p.openTurn(nil)
		p.turn.background = true
	}
	p.interruptTurn()
}

// abortTimeout is how long the CLI may take to end a turn that was interrupted.
// When it is hit the child is given up.
const abortTimeout = 30 * time.Second

// interruptTurn asks the CLI to stop. While idle that has no effect and no result.
func (p *protocol) interruptTurn() {
	if p.turn.open && !p.turn.aborted {
		p.turn.aborted = true
		p.waitFor("", waitAbort, abortTimeout, func(reply) {
			p.step.Stop = "it did not end the turn that was stopped"
		})
	}
	body := new(object).str("subtype", "interrupt").flag("cancel_queued", true).value()
	p.request("interrupt", body, p.interrupted)
}

// interrupted takes the receipt of an interrupt.
func (p *protocol) interrupted(r reply) {
	for _, uuid := range texts(r.response.Get("cancelled")) {
		p.over(uuid, true)
	}
	if p.turn.open && p.turn.background {
		// The CLI has killed the background work, and no result comes.
		p.agents.stopAll(p)
		p.closeTurn(contract.TurnEnd{Status: contract.TurnCancelled})
	}
}
