package codex

import (
	"bytes"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// The requests of the server that ask people.
const (
	askCommand     = "item/commandExecution/requestApproval"
	askFiles       = "item/fileChange/requestApproval"
	askPermissions = "item/permissions/requestApproval"
	askUser        = "item/tool/requestUserInput"
	askMCP         = "mcpServer/elicitation/request"
)

// ask is a request of the server that waits for people.
type ask struct {
	key     string        // ours, for the Answer
	request rawjson.Value // the server's id
	method  string
	th      *thread
	call    string
	draft   adapters.Draft
	params  rawjson.Value
	form    form
	// own says that the call was made up for the ask and ends with it.
	own bool
	n   int // how often it was asked
	// stale says that the connection broke since, and the server has not repeated it.
	stale bool
}

// serverRequest takes a request of the server. What is not understood is refused:
// a request that is left unanswered hangs the turn.
func (p *protocol) serverRequest(m jsonrpc.Message) error {
	switch m.Method {
	case askCommand, askFiles, askPermissions, askUser, askMCP:
		return p.asked(m)
	}
	if p.tui != nil {
		return p.leave(m)
	}
	switch m.Method {
	case "attestation/generate":
		p.refuse(m)
	case "item/tool/call":
		p.refuse(m)
		p.notice(contract.ServiceError, contract.CodeUnsupported,
			fmt.Sprintf("The agent called the tool %q, which only another client of the session has.", m.Params.Get("tool").Text()))
	case "account/chatgptAuthTokens/refresh":
		p.refuse(m)
		p.notice(contract.ServiceError, contract.CodeAuthRequired, "The agent's login has run out and is not renewed here: run codex login.")
	default:
		p.refuse(m)
		p.notice(contract.ServiceError, contract.CodeUnsupported, fmt.Sprintf("The agent asked its host for %q, which was refused.", m.Method))
		return unknownRequest(m)
	}
	return nil
}

func unknownRequest(m jsonrpc.Message) error {
	return fmt.Errorf("request %q: want one of the documented ones", m.Method)
}

func (p *protocol) refuse(m jsonrpc.Message) {
	p.write(errorLine(m.ID, jsonrpc.MethodNotFound, "agenthost does not serve "+m.Method))
}

// asked takes a request that asks people.
func (p *protocol) asked(m jsonrpc.Message) error {
	th := p.threadOf(m.Params.Get("threadId").Text())
	if p.tui != nil && p.notHere(th, m) {
		return nil
	}
	if slices.ContainsFunc(p.asks, func(a *ask) bool { return bytes.Equal(a.request, m.ID) }) {
		return fmt.Errorf("request %q: its id %s waits already", m.Method, m.ID.Clean())
	}
	if th == nil || th == p.root && !p.turn.open {
		// A thread that is not ours, or a turn that is over: nobody could decide.
		p.write(errorLine(m.ID, jsonrpc.InvalidRequest, "no session of agenthost's waits for this"))
		return fmt.Errorf("request %q: want a thread of this session in a turn", m.Method)
	}
	a := &ask{request: slices.Clone(m.ID), method: m.Method, th: th, params: rawjson.Value(m.Params.Clean())}
	if th != p.root {
		p.startChild(th, "")
	}
	if m.Method == askMCP && !p.elicits(a) {
		if p.tui != nil {
			p.notice(contract.ServiceNotice, "", "An MCP server asks in a way that only the terminal can answer.")
			return nil
		}
		p.write(resultLine(m.ID, []byte(`{"action":"decline","content":null,"_meta":null}`)))
		p.notice(contract.ServiceError, contract.CodeUnsupported, "An MCP server asked in a way that only Codex's own applications answer. It was declined.")
		return nil
	}
	if m.Method == askUser {
		a.form = userForm(a.params)
	}
	c := p.askedCall(a)
	p.askedAgain(a)
	a.draft = p.askDraft(a, c)
	p.asks = append(p.asks, a)
	p.putAsk(a)
	return nil
}

// askedCall is the open call that an ask is about; one is made up where the
// server tells none.
func (p *protocol) askedCall(a *ask) *call {
	turn := a.params.Get("turnId").Text()
	id := a.params.Get("itemId").Text()
	switch a.method {
	case askMCP:
		if c := p.mcpCall(a); c != nil {
			a.call = c.id
			if c.cut {
				p.tell(a.th, turn, c)
			}
			return c
		}
		id = ""
	case askCommand, askFiles:
		if c := a.th.calls[id]; c != nil && !c.ended {
			a.call = id
			return p.announce(a.th, turn, id, nil)
		}
	}
	a.call, a.own = orElse(id, "ask-"+string(a.request.Clean())), true
	kind := map[string]string{
		askCommand: itemCommand, askFiles: itemFiles, askPermissions: itemPermissions, askUser: itemQuestion, askMCP: itemQuestion,
	}[a.method]
	if a.types() {
		kind = itemTyped
	}
	it := new(object).str("type", kind)
	for name, v := range a.params.Members() {
		if name != "type" {
			it.raw(name, v)
		}
	}
	return p.announce(a.th, turn, a.call, rawjson.Value(it.value()))
}

// types reports whether the ask is about what is typed into a running command.
func (a *ask) types() bool {
	return a.method == askCommand && a.params.Get("kind").Text() == "writeStdin"
}

// putAsk emits an ask under a fresh key.
func (p *protocol) putAsk(a *ask) {
	a.n++
	a.key = string(a.request)
	if p.tui != nil {
		p.tui.asked[a.key]++
		a.n = p.tui.asked[a.key]
	}
	if a.n > 1 {
		a.key += "#" + strconv.Itoa(a.n)
	}
	d := a.draft
	d.Ask = a.key
	p.emit(d)
}

// askDraft words an ask.
func (p *protocol) askDraft(a *ask, c *call) adapters.Draft {
	shown, args := p.askShown(a, c)
	ev := contract.PermissionRequest{
		Call: a.call, ToolName: shown.name, Title: shown.title, Description: askDescription(a, shown), Args: args,
	}
	switch {
	case a.form.question != nil:
		ev.Question = a.form.question
		ev.Options = []contract.PermissionOption{
			{Decision: contract.AllowOnce, Label: "Answer"}, {Decision: contract.RejectOnce, Label: "Skip"},
		}
	default:
		ev.Options = []contract.PermissionOption{
			{Decision: contract.AllowOnce, Label: "Allow once"},
			{Decision: contract.AllowAlways, Label: "Always allow"},
			{Decision: contract.RejectOnce, Label: "Reject"},
		}
	}
	return adapters.Draft{Subagent: a.th.agent, Event: ev}
}

// askShown says what an ask shows: the call, or what the request itself names.
// A command may ask about another one that it starts, about what is typed into it,
// or about a host; whoever allows the command has not allowed those.
func (p *protocol) askShown(a *ask, c *call) (tool, jsontext.Value) {
	if a.method != askCommand {
		return c.shown, c.args
	}
	shown, args := c.shown, c.args
	if command := a.params.Get("command"); !command.Empty() {
		kind := itemCommand
		if a.types() {
			kind = itemTyped
		}
		it := new(object).str("type", kind).raw("command", command)
		if cwd := a.params.Get("cwd"); cwd.Given() {
			it.raw("cwd", cwd)
		}
		shown, args = p.describe(rawjson.Value(it.value()))
	}
	if host := a.params.Get("networkApprovalContext", "host"); host.Text() != "" {
		shown.name, shown.title = "network-access", present.Title("Network access to "+present.Code(host.Text()))
		args = new(object).raw("host", host.Clean()).raw("call", args).value()
	}
	return shown, args
}

// askDescription says what is asked for and why Codex asks.
func askDescription(a *ask, shown tool) string {
	parts := []string{shown.description}
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if a.method == askMCP {
		add(present.Escape(a.params.Get("message").Text()))
	}
	if why := a.params.Get("reason").Text(); why != "" && a.method != askPermissions {
		add(present.Escape(why))
	}
	if host := a.params.Get("networkApprovalContext", "host").Text(); host != "" {
		add("Network access to " + present.Code(host))
	}
	if root := a.params.Get("grantRoot").Text(); root != "" {
		add("Below " + present.Code(root))
	}
	if more := a.params.Get("additionalPermissions"); more.Given() {
		add("With more permissions: " + present.CodeCut(string(more.Clean()), codeLimit))
	}
	return orElse(present.Description(strings.Join(parts, "\n")), shown.title)
}

// submitAnswer settles an ask.
func (p *protocol) submitAnswer(c adapters.Answer) error {
	i := slices.IndexFunc(p.asks, func(a *ask) bool { return a.key == c.Ask })
	if i < 0 {
		return fmt.Errorf("codex: answer to %q: that ask is not open any more", c.Ask)
	}
	a := p.asks[i]
	result, err := p.answer(a, c)
	if err != nil {
		return err
	}
	p.asks = slices.Delete(p.asks, i, i+1)
	p.write(resultLine(a.request, result))
	p.endOwn(a)
	return nil
}

// answer is what the server gets for an Answer. A rejection lets the turn go on;
// when nobody decided, the turn is cancelled.
func (p *protocol) answer(a *ask, c adapters.Answer) ([]byte, error) {
	allowed := c.Decision.Allows() && !c.Cancelled
	session := c.Decision == contract.AllowAlways && p.cfg.rememberInAgent
	switch a.method {
	case askUser:
		return a.form.userInput(allowed, c)
	case askMCP:
		return a.form.elicited(allowed, session, c)
	case askPermissions:
		granted, scope := []byte("{}"), "turn"
		if allowed {
			granted = a.params.Get("permissions").Clean()
			if session {
				scope = "session"
			}
		}
		return new(object).raw("permissions", granted).str("scope", scope).value(), nil
	}
	decision := "decline"
	switch {
	case c.Cancelled:
		decision = "cancel"
	case allowed && session:
		decision = "acceptForSession"
	case allowed:
		decision = "accept"
	}
	return new(object).str("decision", decision).value(), nil
}

// endOwn ends a call that was made up for an ask.
func (p *protocol) endOwn(a *ask) {
	c := a.th.calls[a.call]
	if !a.own || c == nil || c.ended {
		return
	}
	if c.cut {
		c.ended = true
		return
	}
	p.endCall(a.th, "", c, nil)
}

// withdrawAsks withdraws the asks of a call that is over.
func (p *protocol) withdrawAsks(th *thread, call string) {
	p.asks = slices.DeleteFunc(p.asks, func(a *ask) bool {
		if a.th != th || a.call != call {
			return false
		}
		p.withdraw(a.key)
		return true
	})
}

// resolved takes the end of a request of the server: answered here, by another
// client, or moot.
func (p *protocol) resolved(params rawjson.Value) {
	id := params.Get("requestId")
	p.asks = slices.DeleteFunc(p.asks, func(a *ask) bool {
		if !bytes.Equal(a.request, id) {
			return false
		}
		if p.tui != nil {
			p.answeredThere(a)
			return true
		}
		p.withdraw(a.key)
		p.endOwn(a)
		return true
	})
}

// closeAsks withdraws the asks of a thread whose turn ends. The server has dropped
// them; an answer makes sure.
func (p *protocol) closeAsks(th *thread) {
	p.settleAll(th)
	p.asks = slices.DeleteFunc(p.asks, func(a *ask) bool {
		if a.th != th {
			return false
		}
		p.withdraw(a.key)
		if p.tui == nil {
			p.write(errorLine(a.request, jsonrpc.InvalidRequest, "the turn is over"))
		}
		p.endOwn(a)
		return true
	})
}

// reask asks again what the end of a turn closed and sub-agents still wait for.
func (p *protocol) reask() {
	for _, a := range p.asks {
		if c := a.th.calls[a.call]; c != nil && c.cut {
			p.tell(a.th, "", c)
		}
		p.putAsk(a)
	}
}
