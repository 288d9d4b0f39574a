package codex

import (
	"slices"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// turn is the root thread's turn.
type turn struct {
	open bool
	id   string // native
	// root is what the items and the end of the turn call it. It differs in a review,
	// whose turn runs inside of the one that was asked for.
	root   string
	inputs []*input
	// steers are messages for it that the agent was not shown yet.
	steers []*input
	// aborted says that somebody stopped it, abortBy when it must have ended.
	aborted bool
	abortBy time.Time
	// failure is why it fails or failed, should it.
	failure *wireError
	// gaveUp says that we stopped it because of failure.
	gaveUp bool
	// retryBy is when an uninterrupted row of retries is enough.
	retryBy time.Time
	// malformed says that output was lost in it.
	malformed bool
	// compacted says that the conversation was compacted in it.
	compacted bool
	// review is what a review found, until its message came.
	review string
	// said are the ids of the messages that were told in it.
	said map[string]bool
	// unsaid says that its start is held back until it is known who asked for it, or
	// until sayBy. prompts are the commands and Keys that it will name.
	unsaid  bool
	sayBy   time.Time
	prompts []string
	// compacts says that the conversation is being compacted in it.
	compacts bool
}

// is reports whether an id is the turn's.
func (t *turn) is(id string) bool { return id == t.id || id == t.root && id != "" }

// inReview reports whether the turn is that of a review.
func (t *turn) inReview() bool { return t.root != "" && t.root != t.id }

// retryLimit is how long the server may go on reconnecting without a sign of
// life from the model. Its own limit is a handful of attempts; this one is for
// servers whose feature to wait for the network without end cannot be switched
// off. When it is hit the turn is stopped and fails.
const retryLimit = 10 * time.Minute

// turnStarted takes the start of a turn, whether or not anybody asked for it.
func (p *protocol) turnStarted(th *thread, t rawjson.Value) {
	id := t.Get("id").Text()
	if th != p.root {
		p.childStarted(th, id)
		return
	}
	if p.turn.open {
		if p.turn.is(id) {
			return
		}
		// The end of the running turn was lost.
		p.closeTurn(contract.TurnEnd{Status: contract.TurnCompleted})
	}
	var taken []*input
	for _, in := range p.inputs {
		// A prompt whose answer is still to come is part of whatever runs now; beside a
		// screen others start turns too, and the answer tells.
		if in.sent && (in.turn == id || in.turn == "" && p.tui == nil) {
			taken = append(taken, in)
		}
	}
	for _, in := range taken {
		p.drop(in)
	}
	p.openTurn(id, taken)
	p.turn.root = t.Get("rootTurnId").Text()
}

// openTurn opens a turn that takes up inputs, none for one that nobody asked for.
func (p *protocol) openTurn(id string, inputs []*input) {
	malformed, loose := p.turn.malformed, p.loose
	p.turn = turn{open: true, id: id, inputs: inputs, malformed: malformed, said: map[string]bool{}}
	var ids []string
	for _, in := range inputs {
		if in.steer {
			p.succeed(in.id, []byte(`{"taken":"next-turn"}`))
		}
		ids = append(ids, in.id)
	}
	first := p.root.joined
	p.root.joined = false
	if p.tui != nil && len(ids) == 0 {
		if first {
			p.imposeAgain()
		}
		p.turn.unsaid, p.turn.sayBy = true, p.now.Add(typedWait)
		return
	}
	p.startTurn(ids, loose)
	if p.abortNext {
		// Stop was pressed before the turn began.
		p.abortNext = false
		p.interruptTurn()
	}
}

// startTurn emits the start of the open turn.
func (p *protocol) startTurn(ids []string, loose bool) {
	work := loose && len(ids) > 0
	if work {
		// The stamper's turn for work in the background ends here.
		p.suspend()
	}
	p.emit(adapters.Draft{Event: contract.TurnStart{}, Prompts: ids})
	if work {
		p.reask()
	}
}

// turnCompleted takes the end of a turn.
func (p *protocol) turnCompleted(th *thread, t rawjson.Value) {
	id := t.Get("id").Text()
	if th != p.root {
		p.childStopped(th)
		return
	}
	if !p.turn.open {
		if !slices.ContainsFunc(p.inputs, func(in *input) bool { return in.turn == id && id != "" }) {
			return // the end of nothing
		}
		p.turnStarted(th, t)
	}
	if !p.turn.is(id) {
		return // of a turn that the stream has closed
	}
	status := t.Get("status").Text()
	if status != "failed" {
		p.missedMessages(t)
	}
	end := p.turnEnd(status, t.Get("error"))
	aborted := p.turn.aborted || p.turn.gaveUp
	left := p.runningCommands()
	if p.tui != nil && status == "interrupted" && !aborted {
		p.stoppedThere()
	}
	p.closeTurn(end)
	if aborted {
		p.endCommands(left)
		for _, in := range slices.Clone(p.inputs) {
			if !in.sent {
				p.settle(in, contract.TurnEnd{Status: contract.TurnCancelled})
			}
		}
	}
	p.sendNext()
}

// missedMessages tells the messages that only the end of the turn has: their own
// lines were lost.
func (p *protocol) missedMessages(t rawjson.Value) {
	for item := range t.Get("items").Elements() {
		if item.Get("type").Text() == "agentMessage" && !p.turn.said[item.Get("id").Text()] {
			p.say(p.root, p.turn.id, item, item.Get("text").Text(), false)
		}
	}
}

// turnEnd says how a turn ended.
func (p *protocol) turnEnd(status string, e rawjson.Value) contract.TurnEnd {
	end := contract.TurnEnd{Status: contract.TurnCompleted}
	switch {
	case status == "completed":
	case p.turn.gaveUp && p.turn.failure != nil && !p.turn.aborted:
		end = failedTurn(*p.turn.failure)
	case p.turn.aborted, status == "interrupted":
		end.Status = contract.TurnCancelled
	case e.Given():
		end = failedTurn(turnError(e))
	case p.turn.failure != nil:
		end = failedTurn(*p.turn.failure)
	default:
		end = failedTurn(wireError{contract.CodeAgentError, "the turn ended as " + orElse(status, "nothing known")})
	}
	return end
}

// closeTurn ends the open turn and whatever does not outlive it.
func (p *protocol) closeTurn(end contract.TurnEnd) {
	if end.Model == "" {
		end.Model = p.facts.model
	}
	end.Usage = p.takeUsage()
	p.closeAsks(p.root)
	if end.Status == contract.TurnFailed {
		p.dropPartials(p.root)
	} else {
		p.keepPartials(p.root)
	}
	if p.turn.aborted {
		p.stopChildren()
	}
	if p.turn.review != "" {
		p.emit(adapters.Draft{Event: contract.Text{Text: p.turn.review}})
	}
	p.endCalls(p.root, p.cutOff(end.Status))
	p.suspend()
	p.emit(adapters.Draft{Event: end})
	for _, in := range p.turn.steers {
		p.fail(in.id, wireError{contract.CodeAgentError, "the turn ended before the agent took the message"})
	}
	if p.turn.id != "" {
		p.lastTurn = p.turn.id
	}
	compacted := p.turn.compacted
	p.turn = turn{}
	p.compactEnd(end, compacted)
	p.reask()
}

// cutOff is the outcome of a call that its turn left open. A command that goes on
// after a completed turn has none yet.
func (p *protocol) cutOff(status contract.TurnStatus) *contract.ToolResult {
	switch status {
	case contract.TurnFailed:
		return &contract.ToolResult{Status: contract.ToolError, Error: "the turn failed before this call ended"}
	case contract.TurnCancelled:
		return &contract.ToolResult{Status: contract.ToolCancelled, Error: "the turn ended before this call did"}
	}
	return nil
}

// errorSeen takes an error of a turn: one that is retried, or the one that the
// turn is about to fail with.
func (p *protocol) errorSeen(th *thread, params rawjson.Value) {
	e := turnError(params.Get("error"))
	if !params.Get("willRetry").True() {
		if th == p.root {
			p.turn.failure = &e
		} else {
			p.noticeOf(th.agent, contract.ServiceError, e.code, e.message)
		}
		return
	}
	// What was streamed of the attempt is void.
	p.dropPartials(th)
	text := e.message
	if more := params.Get("error", "additionalDetails").Text(); more != "" {
		text += " (" + more + ")"
	}
	p.noticeOf(th.agent, contract.ServiceRetry, e.code, text)
	if th == p.root && p.turn.open && p.turn.retryBy.IsZero() {
		p.turn.retryBy = p.now.Add(retryLimit)
		p.turn.failure = &e
	}
}

// alive notes that the model said something: a row of retries is over.
func (p *protocol) alive(th *thread) {
	if th == p.root && !p.turn.retryBy.IsZero() && !p.turn.gaveUp {
		p.turn.retryBy, p.turn.failure = time.Time{}, nil
	}
}
