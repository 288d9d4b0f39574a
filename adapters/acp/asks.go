package acp

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// ErrNoAsk says that an answer is for an ask that is not open: answered already,
// withdrawn, or never made.
var ErrNoAsk = errors.New("no such ask is open")

// asks are the questions to people that are open, in their order.
type asks struct {
	last int
	list []*ask
}

// ask is one question: a permission, a form, or an act on this machine that the
// agent wants of us.
type ask struct {
	key     string
	request rawjson.Value // the id of the agent's request, nil when it made none
	call    string
	options []option
	form    *form            // an elicitation
	effect  func(allow bool) // a client method that waits for permission
}

// option is one of the agent's permission options.
type option struct{ id, kind, name string }

func (a *asks) open() int { return len(a.list) }

func (a *asks) add(x *ask) *ask {
	a.last++
	x.key = "ask-" + strconv.Itoa(a.last)
	a.list = append(a.list, x)
	return x
}

func (a *asks) take(match func(*ask) bool) *ask {
	i := slices.IndexFunc(a.list, match)
	if i < 0 {
		return nil
	}
	x := a.list[i]
	a.list = slices.Delete(a.list, i, i+1)
	return x
}

// requestPermission asks people for a tool call, which may be one that was never
// announced.
func (p *Protocol) requestPermission(m jsonrpc.Message) {
	tool := m.Params.Get("toolCall")
	id := tool.Get("toolCallId").Text()
	if id == "" {
		id = "permission-" + strconv.Itoa(p.asks.last+1)
	}
	sid := m.Params.Get("sessionId").Text()
	if p.phase != ready && !p.opener.replaying || sid != "" && sid != p.session && !p.agents.isSession(sid) {
		p.respond(m.ID, []byte(outcomeCancelled)) // not of a session that people see
		return
	}
	p.settleCalls(id)
	c := p.calls.find(id)
	if c == nil {
		sub := ""
		if sid != p.session {
			sub = sid
		}
		c = p.newCall(id, sub, tool)
	}
	c.askedFor(tool, p.spec.Quirks)
	p.turn.active = p.now
	if p.turn.cancelled {
		p.asks.last++                             // keys count the agent's questions, whatever became of them
		p.respond(m.ID, []byte(outcomeCancelled)) // it crossed the cancel on its way
		return
	}
	p.startCall(c)
	var options []option
	for o := range m.Params.Get("options").Elements() {
		options = append(options, option{o.Get("optionId").Text(), o.Get("kind").Text(), o.Get("name").Text()})
	}
	a := p.asks.add(&ask{request: rawjson.Value(m.ID.Clean()), call: id, options: options})
	t := p.describeAsk(c)
	p.ask(c, a, contract.PermissionRequest{
		Call: id, ToolName: t.Name, Title: t.Title, Description: t.Description, Args: t.Args,
		Options: p.offered(options),
	})
}

// ask writes the request.
func (p *Protocol) ask(c *call, a *ask, e contract.PermissionRequest) {
	p.flushText()
	p.step.Emit = append(p.step.Emit, adapters.Draft{Subagent: p.agents.keyOf(c.subagent), Event: e, Ask: a.key})
}

// askedFor keeps what the agent shows with its question apart from the call: it
// is no output, and its input can have another form than the tool's.
func (c *call) askedFor(tool rawjson.Value, q Quirks) {
	c.asked = rawjson.Value(tool.Clean())
	content, resulting, diffs, input := c.content, c.resulting, c.diffs, c.input
	c.merge(c.asked, q)
	c.content, c.resulting, c.diffs = content, resulting, diffs
	if !input.Empty() && (c.kind != "execute" || hasCommand(input)) {
		c.input = input
	}
	c.status = "pending"
}

// describeAsk describes what is asked: by the name, kind and input that came with
// the question, for that is what the agent is about to do. What it said of the call
// before fills the gaps.
func (p *Protocol) describeAsk(c *call) Tool {
	asked := &call{id: c.id, firstTitle: c.firstTitle, input: c.input}
	asked.merge(c.asked, p.spec.Quirks)
	asked.asked, asked.diffs = c.asked, c.diffs
	if asked.native == "" {
		asked.native = c.native
	}
	if asked.kind == "" {
		asked.kind = c.kind
	}
	if asked.title == "" {
		asked.title = c.title
	}
	if len(asked.paths) == 0 {
		asked.paths = c.paths
	}
	asked.acts = true
	return p.described(asked, p.args(asked), c.askDescription())
}

func (c *call) askDescription() string {
	asked := call{input: c.asked.Get("rawInput"), asked: c.asked}
	if d := asked.description(); d != "" {
		return d
	}
	return c.description()
}

// outcomeCancelled is the answer to session/request_permission that nobody decided.
const outcomeCancelled = `{"outcome":{"outcome":"cancelled"}}`

func outcomeSelected(id string) []byte {
	return append(rawjson.AppendString([]byte(`{"outcome":{"outcome":"selected","optionId":`), id), '}', '}')
}

// answer settles an ask.
func (p *Protocol) answer(c adapters.Answer) error {
	if c.Args != nil {
		return fmt.Errorf("%s takes no changed arguments over ACP: %w", p.name(), adapters.ErrUnsupported)
	}
	a := p.asks.take(func(a *ask) bool { return a.key == c.Ask })
	if a == nil {
		return fmt.Errorf("answer to %q: %w", c.Ask, ErrNoAsk)
	}
	p.silence.Heard(p.now) // it counts from here
	if a.form != nil {
		p.answerForm(a, c)
		return nil
	}
	allow := c.Decision.Allows() && !c.Cancelled
	if a.effect != nil {
		a.effect(allow)
		return nil
	}
	id, found := p.choose(a.options, c.Decision)
	if c.Cancelled || !found {
		p.respond(a.request, []byte(outcomeCancelled))
		allow = false
	} else {
		p.respond(a.request, outcomeSelected(id))
	}
	if allow {
		if x := p.calls.find(a.call); x != nil {
			x.allowed = true
		}
		return nil
	}
	// Some agents say nothing more of a call that was refused.
	if x := p.calls.find(a.call); x != nil {
		x.rejected = true
		p.endCall(x, refused(c))
	}
	return nil
}

func refused(c adapters.Answer) *contract.ToolResult {
	if c.Cancelled {
		return &contract.ToolResult{Status: contract.ToolCancelled}
	}
	return &contract.ToolResult{Status: contract.ToolError, Error: "refused"}
}

// cancelAsks answers all that is open because the turn is stopped.
func (p *Protocol) cancelAsks() {
	for len(p.asks.list) > 0 {
		p.withdraw(p.asks.list[0], true)
	}
}

// dropAsks forgets all that is open because the turn is over.
func (p *Protocol) dropAsks() { p.cancelAsks() }

// withdraw takes an ask back and, where the agent still waits for it, tells it
// that nobody decided.
func (p *Protocol) withdraw(a *ask, respond bool) {
	p.asks.take(func(x *ask) bool { return x == a })
	p.step.Withdraw = append(p.step.Withdraw, a.key)
	switch {
	case a.effect != nil:
		a.effect(false)
	case !respond:
	case a.form != nil:
		p.respond(a.request, []byte(`{"action":"cancel"}`))
	default:
		p.respond(a.request, []byte(outcomeCancelled))
	}
}

// cancelRequest is the agent taking back a request of its own.
func (p *Protocol) cancelRequest(id rawjson.Value) {
	same := func(a *ask) bool { return a.request != nil && string(a.request) == string(id.Clean()) }
	for _, a := range p.asks.list {
		if same(a) {
			p.withdraw(a, false)
			p.refuse(a.request, jsonrpc.Cancelled, "cancelled")
			return
		}
	}
	for i, e := range p.client.waiting {
		if string(e.request) == string(id.Clean()) {
			p.refuse(e.request, jsonrpc.Cancelled, "cancelled")
			p.client.waiting[i].then = func(adapters.EffectDone) {} // its answer was given
			p.client.waiting[i].request = nil
			return
		}
	}
}
