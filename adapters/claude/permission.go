package claude

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// ask is a request of the CLI that waits for people.
type ask struct {
	key     string // ours, for the Answer
	request string // the CLI's
	call    string
	agent   string
	draft   adapters.Draft
	// input is what was asked about, byte for byte: the answer echoes it.
	input       rawjson.Value
	suggestions rawjson.Value
	form        form
	elicitation bool
	dialog      bool
	// own says that the call was made up for the ask and ends with it.
	own bool
	n   int // how often it was asked
}

// canUseTool takes a permission request.
func (p *protocol) canUseTool(m message, id string, req rawjson.Value) {
	p.opened()
	input := req.Get("input")
	if id == "" || slices.ContainsFunc(p.asks, func(a *ask) bool { return a.request == id }) {
		return
	}
	native, callID := req.Get("tool_name").Text(), req.Get("tool_use_id").Text()
	if native == "" || input.Kind() != rawjson.Object {
		p.write(controlResponse(id, deny("agenthost could not read this request")))
		p.notice(contract.ServiceError, contract.CodeProtocol, "A permission request of the agent could not be read and was refused.")
		return
	}
	a := &ask{request: id, call: callID, input: clone(input), suggestions: clone(req.Get("permission_suggestions"))}
	if a.call == "" {
		a.call, a.own = "ask-"+id, true
	}
	a.agent = p.askAgent(req, a.call)
	if a.agent == "" {
		p.enterMain(nil)
	}
	c := p.announce(a.call, a.agent, native, a.input, "")
	a.agent = c.agent // who made the call, whoever asks about it
	a.draft = p.permissionDraft(c, a, req)
	p.asks = append(p.asks, a)
	p.putAsk(a)
}

// askAgent is the sub-agent that a request comes from.
func (p *protocol) askAgent(req rawjson.Value, call string) string {
	if task := req.Get("agent_id").Text(); task != "" {
		return p.agentOf(message{agent: task})
	}
	if c := p.calls[call]; c != nil {
		return c.agent
	}
	return ""
}

// putAsk emits an ask under a fresh key.
func (p *protocol) putAsk(a *ask) {
	a.n++
	a.key = a.request
	if a.n > 1 {
		a.key += "#" + strconv.Itoa(a.n)
	}
	d := a.draft
	d.Ask = a.key
	p.emit(d)
}

// permissionDraft words a permission request.
func (p *protocol) permissionDraft(c *call, a *ask, req rawjson.Value) adapters.Draft {
	// A plan is told in the call, and the request may repeat none of it.
	shown := a.input
	if c.native == toolExitPlan && shown.Empty() {
		shown = c.input
	}
	t := p.describe(c.native, shown)
	ev := contract.PermissionRequest{
		Call: a.call, ToolName: t.name, Title: t.title, Description: permissionDescription(t, req), Args: shown.Clean(),
		Options: []contract.PermissionOption{{Decision: contract.AllowOnce, Label: "Allow once"}},
		Always:  alwaysPatterns(a.suggestions),
	}
	d := adapters.Draft{Subagent: a.agent, AskOptions: adapters.AskOptions{EditArgs: true, Message: true}}
	interactive := req.Get("requires_user_interaction").True() || c.native == toolExitPlan || c.native == toolAsk
	if !interactive && !req.Get("suppress_always_allow_rule").True() {
		ev.Options = append(ev.Options, contract.PermissionOption{Decision: contract.AllowAlways, Label: "Always allow"})
	}
	ev.Options = append(ev.Options, contract.PermissionOption{Decision: contract.RejectOnce, Label: "Reject"})
	switch c.native {
	case toolAsk:
		a.form = questionForm(a.input)
		ev.Question, ev.Always = a.form.question, nil
		ev.Options = []contract.PermissionOption{
			{Decision: contract.AllowOnce, Label: "Answer"}, {Decision: contract.RejectOnce, Label: "Skip"},
		}
		d.AskOptions.EditArgs = false
	case toolExitPlan:
		ev.Always = nil
		ev.Options = []contract.PermissionOption{
			{Decision: contract.AllowOnce, Label: "Approve the plan"}, {Decision: contract.RejectOnce, Label: "Keep planning"},
		}
	}
	d.Event = ev
	return d
}

// permissionDescription says what is asked for and why the CLI asks.
func permissionDescription(t tool, req rawjson.Value) string {
	parts := []string{t.description}
	if why := req.Get("decision_reason").Text(); why != "" {
		parts = append(parts, present.Escape(why))
	}
	if path := req.Get("blocked_path").Text(); path != "" {
		parts = append(parts, "Concerns "+present.Code(path))
	}
	return strings.Join(parts, "\n")
}

// alwaysPatterns are the rules that the CLI suggests, in the policy's syntax.
// Its other suggestions (a freer mode, further directories) are broader than one
// tool and never offered.
func alwaysPatterns(suggestions rawjson.Value) []string {
	var list []string
	for s := range suggestions.Elements() {
		if s.Get("type").Text() != "addRules" || s.Get("behavior").Text() != "allow" {
			continue
		}
		for r := range s.Get("rules").Elements() {
			if pattern := rulePattern(r); pattern != "" {
				list = append(list, pattern)
			}
		}
	}
	return list
}

func rulePattern(rule rawjson.Value) string {
	native := rule.Get("toolName").Text()
	if native == "" {
		return ""
	}
	content, prefix := strings.CutSuffix(rule.Get("ruleContent").Text(), ":*")
	if prefix {
		content += " *"
	}
	if server, tool, ok := mcpName(native); ok {
		return "mcp(" + server + "/" + tool + ")"
	}
	if strings.ContainsAny(content, ",()\n") {
		// The policy's own separators: the mediator words these itself.
		return ""
	}
	switch name := toolName(native); {
	case name == "bash" && content != "":
		return "bash(" + content + ")"
	case strings.HasPrefix(content, "//"):
		// The CLI's mark of an absolute path.
		return name + "(" + content[1:] + ")"
	case content == "" && name != "bash":
		return name + "(*)"
	}
	// A path that is relative to a settings file, a domain: not the policy's words.
	return ""
}

// submitAnswer settles an ask.
func (p *protocol) submitAnswer(c adapters.Answer) error {
	i := slices.IndexFunc(p.asks, func(a *ask) bool { return a.key == c.Ask })
	if i < 0 {
		return fmt.Errorf("claude: answer to %q: that ask is not open any more", c.Ask)
	}
	a := p.asks[i]
	response, err := p.response(a, c)
	if err != nil {
		return err
	}
	p.asks = slices.Delete(p.asks, i, i+1)
	p.answer(a, response)
	p.endOwn(a)
	return nil
}

// response is what the CLI gets for an Answer.
func (p *protocol) response(a *ask, c adapters.Answer) ([]byte, error) {
	allowed := c.Decision.Allows() && !c.Cancelled
	switch {
	case a.elicitation:
		return a.form.elicited(allowed, c)
	case a.dialog:
		return dismissed(), nil
	case !allowed:
		return deny(rejection(c)), nil
	}
	input := []byte(a.input)
	switch {
	case a.form.question != nil:
		answered, err := a.form.answered(a.input, c)
		if err != nil {
			return nil, err
		}
		input = answered
	case len(c.Args) > 0:
		args := slices.Clone(c.Args)
		if args.Kind() != '{' || args.Compact() != nil {
			return nil, fmt.Errorf("claude: answer to %q: args: want a JSON object", c.Ask)
		}
		input = args
	}
	o := new(object).str("behavior", "allow").raw("updatedInput", input)
	if c.Decision == contract.AllowAlways && p.cfg.rememberInAgent {
		if rules := allowRules(a.suggestions); len(rules) > 0 {
			o.raw("updatedPermissions", array(rules...))
		}
	}
	return o.value(), nil
}

// allowRules are the suggestions that an allow-always hands to the CLI when the
// user chose its memory: rules for the tool alone, nothing broader.
func allowRules(suggestions rawjson.Value) [][]byte {
	var list [][]byte
	for s := range suggestions.Elements() {
		if s.Get("type").Text() == "addRules" && s.Get("behavior").Text() == "allow" {
			list = append(list, s)
		}
	}
	return list
}

func rejection(c adapters.Answer) string {
	switch {
	case c.Message != "":
		return c.Message
	case c.Cancelled:
		return "Nobody decided about this request. It was not allowed."
	}
	return "The user rejected this."
}

// deny rejects a tool call. It never interrupts: the turn goes on.
func deny(message string) []byte {
	return new(object).str("behavior", "deny").str("message", message).value()
}

// endOwn ends a call that was made up for an ask.
func (p *protocol) endOwn(a *ask) {
	c := p.calls[a.call]
	if !a.own || c == nil || c.ended {
		return
	}
	c.ended = true
	p.emit(adapters.Draft{Subagent: a.agent, Event: contract.ToolCallEnd{Call: c.id}})
}

// settleAsksOf withdraws the asks of a call that is over.
func (p *protocol) settleAsksOf(call string) {
	p.asks = slices.DeleteFunc(p.asks, func(a *ask) bool {
		if a.call != call || a.own {
			return false
		}
		p.withdraw(a.key)
		return true
	})
}

// settleOwnAsksOf withdraws the asks of a sub-agent that stops whose calls were made
// up for them: they end with it.
func (p *protocol) settleOwnAsksOf(agent string) {
	p.asks = slices.DeleteFunc(p.asks, func(a *ask) bool {
		if a.agent != agent || !a.own {
			return false
		}
		p.withdraw(a.key)
		return true
	})
}

// closeAsks answers the asks that end with the main agent's turn: the host closes
// them with it, and a CLI that still waits must not wait for ever.
func (p *protocol) closeAsks() {
	p.asks = slices.DeleteFunc(p.asks, func(a *ask) bool {
		if a.agent != "" && p.agentLives(a.agent) {
			return false
		}
		p.withdraw(a.key)
		if !p.gone {
			p.answer(a, a.closed())
		}
		p.endOwn(a)
		return true
	})
}

func (a *ask) closed() []byte {
	switch {
	case a.elicitation:
		return new(object).str("action", "cancel").value()
	case a.dialog:
		return dismissed()
	}
	return deny("The turn is over. This was not allowed.")
}

// agentLives reports whether a sub-agent outlives the turn that ends.
func (p *protocol) agentLives(id string) bool {
	a := p.agents.named(id)
	return a != nil && a.running() && (a.kept || a.background)
}

// reask asks again what the end of a turn closed and background work still
// waits for.
func (p *protocol) reask() {
	for _, a := range p.asks {
		if agent := p.agents.named(a.agent); agent != nil {
			p.startAgent(agent)
		}
		if c := p.calls[a.call]; c != nil && c.cut {
			p.tell(c, "")
		}
		p.putAsk(a)
	}
}
