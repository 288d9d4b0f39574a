package codex

import (
	"encoding/base64"
	"fmt"
	"mime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// input is a message for the agent.
type input struct {
	id    string // the command's, which Codex keeps as clientUserMessageId
	text  string
	body  []byte // UserInput[]
	steer bool
	// sent says that the server has it; turn is the native turn that it named.
	sent bool
	turn string
	// deadline is when the turn must have begun, zero while nothing is sent.
	deadline time.Time
	// seen says that the agent was shown it.
	seen bool
}

// startTimeout is how long a turn may take to begin after the server accepted it.
// When it is hit the prompt fails; should the turn begin later, it is one that
// nobody asked for.
const startTimeout = time.Minute

// submitMessage takes a prompt or a steer. A prompt waits while a turn runs: given
// to the server it would become part of that turn.
func (p *protocol) submitMessage(id, text string, files []adapters.Attachment, steer bool) error {
	if strings.TrimSpace(text) == "" && len(files) == 0 {
		return fmt.Errorf("codex: message %q: want a text or a file, got neither", id)
	}
	if err := p.ready("message"); err != nil {
		return err
	}
	body, err := userInput(text, files)
	if err != nil {
		return err
	}
	in := &input{id: id, text: text, body: body, steer: steer}
	switch {
	case steer && p.turn.open:
		p.sendSteer(in)
	case p.turn.open:
		p.inputs = append(p.inputs, in)
	default:
		p.inputs = append(p.inputs, in)
		p.sendNext()
	}
	return nil
}

// sendNext starts a turn with the first prompt that waits.
func (p *protocol) sendNext() {
	if p.turn.open || p.gone || slices.ContainsFunc(p.inputs, func(in *input) bool { return in.sent }) {
		return
	}
	if len(p.inputs) > 0 {
		p.sendTurn(p.inputs[0])
	}
}

// sendTurn sends turn/start. What the mode allows goes along every time: nothing
// that happened in between can have left the thread freer.
func (p *protocol) sendTurn(in *input) {
	in.sent = true
	f := p.facts
	params := new(object).str("threadId", p.root.id).raw("input", in.body).str("clientUserMessageId", in.id).
		str("approvalPolicy", p.approvalPolicy(f.want)).raw("sandboxPolicy", p.sandboxPolicy(f.want, f.box)).
		str("summary", p.cfg.summary)
	if p.tui != nil {
		params.str("approvalsReviewer", "user")
	}
	if f.resend {
		p.facts.resend = false
		params.text("model", f.model).text("effort", f.effort)
	}
	if c := p.collaboration(f.want, f.model, f.effort); c != nil {
		params.raw("collaborationMode", c)
	}
	p.request("turn/start", params.value(), func(r reply) { p.turnAccepted(in, r) })
}

// turnAccepted takes the answer to turn/start, which names the turn: a fresh one,
// or the one that runs already and that the message became a part of.
func (p *protocol) turnAccepted(in *input, r reply) {
	if p.gone || r.broken {
		return
	}
	waits := slices.Contains(p.inputs, in)
	if r.err != nil {
		if !waits {
			p.notice(contract.ServiceError, r.err.code, r.err.message)
			return
		}
		p.settle(in, failedTurn(*r.err))
		p.sendNext()
		return
	}
	if !waits {
		return // its turn began before the answer came
	}
	in.turn = r.result.Get("turn", "id").Text()
	in.deadline = p.now.Add(startTimeout)
	switch {
	case in.turn == "":
	case p.turn.open && p.turn.is(in.turn):
		p.joined(in)
	case in.turn == p.lastTurn:
		p.settle(in, contract.TurnEnd{Status: contract.TurnCompleted})
		p.sendNext()
	}
}

// joined gives a prompt that the server made a part of a running turn a
// turn-start: what ran before it ends here for the stream.
func (p *protocol) joined(in *input) {
	if p.turn.unsaid {
		p.drop(in)
		p.turn.inputs, p.turn.prompts = append(p.turn.inputs, in), append(p.turn.prompts, in.id)
		if p.abortNext {
			p.abortNext = false
			p.interruptTurn()
		}
		return
	}
	id, root := p.turn.id, p.turn.root
	p.closeTurn(contract.TurnEnd{Status: contract.TurnCompleted})
	p.drop(in)
	p.openTurn(id, []*input{in})
	p.turn.root = root
}

// settled is a prompt whose fate is known although no turn of its own was seen.
type settled struct {
	in  *input
	end contract.TurnEnd
}

// settle gives a prompt that never had a turn one of its own, when no other is
// open.
func (p *protocol) settle(in *input, end contract.TurnEnd) {
	p.drop(in)
	if p.turn.open && !in.steer {
		p.late = append(p.late, settled{in, end})
		return
	}
	if in.steer {
		p.fail(in.id, wireError{contract.CodeAgentError, "the agent did not take the message"})
		return
	}
	if p.abortNext {
		p.abortNext = false
		end = contract.TurnEnd{Status: contract.TurnCancelled}
	}
	p.suspend()
	p.emit(adapters.Draft{Event: contract.TurnStart{}, Prompts: []string{in.id}})
	p.emit(adapters.Draft{Event: end})
	p.reask()
}

func (p *protocol) drop(in *input) {
	p.inputs = slices.DeleteFunc(p.inputs, func(o *input) bool { return o == in })
}

// flushLate settles what had to wait for the end of a turn.
func (p *protocol) flushLate() {
	for !p.turn.open && len(p.late) > 0 {
		s := p.late[0]
		p.late = p.late[1:]
		p.settle(s.in, s.end)
	}
}

// expireInputs fails the prompts whose turn did not begin.
func (p *protocol) expireInputs() {
	for _, in := range slices.Clone(p.inputs) {
		if !in.deadline.IsZero() && !in.deadline.After(p.now) {
			p.settle(in, failedTurn(wireError{contract.CodeTimeout, "the agent accepted the message and did not begin a turn"}))
		}
	}
	p.sendNext()
}

// sendSteer gives a message to the running turn.
func (p *protocol) sendSteer(in *input) {
	turn := p.turn.id
	in.sent, in.turn = true, turn
	p.turn.steers = append(p.turn.steers, in)
	params := new(object).str("threadId", p.root.id).str("expectedTurnId", turn).raw("input", in.body).
		str("clientUserMessageId", in.id).value()
	p.request("turn/steer", params, func(r reply) {
		if r.err == nil || r.broken {
			return // it is taken when the agent is shown it
		}
		if i := slices.Index(p.turn.steers, in); i >= 0 {
			p.turn.steers = slices.Delete(p.turn.steers, i, i+1)
			p.fail(in.id, *r.err)
		}
	})
}

// userMessage takes a message that the agent is shown: one of ours, or one from
// elsewhere (another client, the server's queue), which is told.
func (p *protocol) userMessage(th *thread, turn string, item rawjson.Value) {
	if th != p.root {
		return // the task that the parent gave, which its call tells
	}
	text, other := messageText(item)
	client := item.Get("clientId").Text()
	if in := p.echoed(client, text); in != nil {
		in.seen = true
		p.sayTurn()
		if in.steer && slices.Contains(p.turn.steers, in) {
			p.keepPartials(th)
			p.turn.steers = slices.DeleteFunc(p.turn.steers, func(o *input) bool { return o == in })
			p.succeed(in.id, []byte(`{"taken":"turn"}`))
		}
		return
	}
	if client == "" && p.turn.inReview() {
		return // what the reviewer is told, which Codex or an operation words
	}
	p.keepPartials(th)
	text = strings.TrimSpace(strings.Join(append([]string{text}, other...), "\n"))
	if p.tui != nil {
		p.typedThere(turn, item.Get("id").Text(), text)
		return
	}
	if text != "" {
		p.emit(adapters.Draft{Role: contract.RoleUser, Origin: origin(turn, item.Get("id").Text()), Event: contract.Text{Text: text}})
	}
}

// echoed finds our message that an echo stands for, nil for none. A server that
// does not name the client's id is matched by the text.
func (p *protocol) echoed(client, text string) *input {
	ours := slices.Concat(p.turn.inputs, p.turn.steers)
	if client != "" {
		i := slices.IndexFunc(ours, func(in *input) bool { return in.id == client })
		if i >= 0 {
			return ours[i]
		}
		return nil
	}
	i := slices.IndexFunc(ours, func(in *input) bool { return !in.seen && in.text == text })
	if i < 0 {
		return nil
	}
	return ours[i]
}

// messageText is the text of a userMessage, and what else it holds in words.
func messageText(item rawjson.Value) (text string, other []string) {
	for c := range item.Get("content").Elements() {
		switch kind := c.Get("type").Text(); kind {
		case "text":
			text += c.Get("text").Text()
		case "":
		default:
			what := orElse(c.Get("path").Text(), c.Get("name").Text())
			other = append(other, strings.TrimSpace("["+kind+"] "+what))
		}
	}
	return text, other
}

// userInput is a message as the server takes it. Pictures on this machine go by
// path, others inline; any other file is named in the text, and the agent reads it.
func userInput(text string, files []adapters.Attachment) ([]byte, error) {
	var parts [][]byte
	for _, f := range files {
		kind, _, _ := mime.ParseMediaType(f.MIME)
		picture := strings.HasPrefix(kind, "image/")
		switch {
		case picture && f.Path != "":
			parts = append(parts, new(object).str("type", "localImage").str("path", f.Path).value())
		case picture && len(f.Data) > 0:
			url := "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(f.Data)
			parts = append(parts, new(object).str("type", "image").str("url", url).value())
		case f.Path != "":
			text = strings.TrimSpace(text + "\n\n" + f.Path)
		case len(f.Data) > 0 && utf8.Valid(f.Data):
			text = strings.TrimSpace(text + "\n\n" + f.Name + ":\n" + string(f.Data))
		default:
			return nil, fmt.Errorf("codex: file %q of type %q: want a picture, a text, or a file on this machine", f.Name, f.MIME)
		}
	}
	if text != "" {
		t := new(object).str("type", "text").str("text", text).raw("text_elements", []byte("[]")).value()
		parts = append([][]byte{t}, parts...)
	}
	return array(parts...), nil
}
