package acp

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// clientSide is what we do for the agent on this machine.
type clientSide struct {
	last    int
	waiting []effect
}

// effect is one thing that the host does at the moment.
type effect struct {
	id      string
	request rawjson.Value
	then    func(adapters.EffectDone)
}

// clientRequest handles fs/* and terminal/*. What was not offered does not exist:
// agents call it all the same, and do without. Reading and what concerns an
// existing terminal is confined by the host; writing and running a command of the
// agent's need a permission like any tool.
func (p *Protocol) clientRequest(m jsonrpc.Message) {
	f := p.spec.Quirks.Client
	offered := map[string]bool{"fs/read_text_file": f.ReadFile, "fs/write_text_file": f.WriteFile}
	if on, isFile := offered[m.Method]; isFile && !on || !isFile && !f.Terminal {
		p.refuse(m.ID, jsonrpc.MethodNotFound, "Method not found: "+m.Method)
		return
	}
	if m.Params.Get("sessionId").Text() != p.session || p.phase != ready {
		p.refuse(m.ID, jsonrpc.NotFound, "no such session")
		return
	}
	id, params := rawjson.Value(m.ID.Clean()), m.Params
	file := params.Get("path").Text()
	if strings.HasPrefix(m.Method, "fs/") && (!path.IsAbs(file) || strings.ContainsRune(file, 0)) {
		p.refuse(m.ID, jsonrpc.InvalidParams, "path: want an absolute path")
		return
	}
	terminal := params.Get("terminalId").Text()
	switch m.Method {
	case "fs/read_text_file":
		line, _ := params.Get("line").Int()
		limit, _ := params.Get("limit").Int()
		p.effect(id, func(e string) adapters.Effect {
			return adapters.ReadFile{ID: e, Path: file, Line: max(int(line), 0), Limit: max(int(limit), 0)}
		}, p.readDone)
	case "fs/write_text_file":
		p.writeFile(id, file, params.Get("content").Text())
	case "terminal/create":
		p.createTerminal(id, params)
	case "terminal/output":
		p.effect(id, func(e string) adapters.Effect { return adapters.TerminalOutput{ID: e, Terminal: terminal} }, p.outputDone)
	case "terminal/wait_for_exit":
		p.effect(id, func(e string) adapters.Effect { return adapters.TerminalWait{ID: e, Terminal: terminal} },
			func(id rawjson.Value, d adapters.EffectDone) { p.respond(id, encode(exitStatus(d.Exit))) })
	case "terminal/kill":
		p.effect(id, func(e string) adapters.Effect { return adapters.TerminalKill{ID: e, Terminal: terminal} }, p.emptyDone)
	case "terminal/release":
		p.effect(id, func(e string) adapters.Effect { return adapters.TerminalRelease{ID: e, Terminal: terminal} }, p.emptyDone)
	}
}

// effect asks the host to do something and answers the agent's request with what
// became of it.
func (p *Protocol) effect(request rawjson.Value, of func(id string) adapters.Effect, then func(rawjson.Value, adapters.EffectDone)) {
	p.client.last++
	id := "effect-" + strconv.Itoa(p.client.last)
	eff := of(id)
	_, reads := eff.(adapters.ReadFile)
	missingEmpty := reads && p.spec.Quirks.Client.MissingReadsEmpty
	p.client.waiting = append(p.client.waiting, effect{id, request, func(d adapters.EffectDone) {
		if d.Err != nil && d.Err.NotFound && missingEmpty {
			d.Err, d.Content = nil, ""
		}
		if d.Err != nil {
			p.refuse(request, effectCode(d.Err), d.Err.Message)
			return
		}
		then(request, d)
	}})
	p.step.Effects = append(p.step.Effects, eff)
}

func effectCode(e *adapters.EffectError) int64 {
	switch {
	case e.NotFound:
		return jsonrpc.NotFound
	case e.Refused:
		return jsonrpc.InvalidParams
	}
	return jsonrpc.InternalError
}

// effectDone takes what became of an effect.
func (p *Protocol) effectDone(d adapters.EffectDone) error {
	i := slices.IndexFunc(p.client.waiting, func(e effect) bool { return e.id == d.ID })
	if i < 0 {
		return ErrNoAsk
	}
	then := p.client.waiting[i].then
	p.client.waiting = slices.Delete(p.client.waiting, i, i+1)
	then(d)
	return nil
}

func (p *Protocol) emptyDone(id rawjson.Value, _ adapters.EffectDone) { p.respond(id, []byte("{}")) }

func (p *Protocol) readDone(id rawjson.Value, d adapters.EffectDone) {
	p.respond(id, encode(struct {
		Content string `json:"content"`
	}{d.Content}))
}

func (p *Protocol) outputDone(id rawjson.Value, d adapters.EffectDone) {
	p.respond(id, encode(struct {
		Output     string `json:"output"`
		Truncated  bool   `json:"truncated"`
		ExitStatus any    `json:"exitStatus"`
	}{d.Output, d.Truncated, exitStatus(d.Exit)}))
}

// exitStatus is how a command ended, nil while it runs.
func exitStatus(e *adapters.TerminalExit) any {
	type status struct {
		ExitCode *int    `json:"exitCode"`
		Signal   *string `json:"signal"`
	}
	if e == nil {
		return nil
	}
	if e.Signal != "" {
		return status{Signal: &e.Signal}
	}
	return status{ExitCode: &e.Code}
}

// writeFile writes a file for the agent when that is allowed.
func (p *Protocol) writeFile(id rawjson.Value, file, content string) {
	write := func() {
		p.effect(id, func(e string) adapters.Effect {
			return adapters.WriteFile{ID: e, Path: file, Content: content}
		}, p.emptyDone)
	}
	for _, c := range p.calls.list {
		if c.allowed && slices.Contains(c.paths, file) {
			write() // the permission for this call was for this file
			return
		}
	}
	input := encode(struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}{file, content})
	p.askFirst(id, "write", file, input, write)
}

// createTerminal runs a command for the agent when that is allowed.
func (p *Protocol) createTerminal(id, params rawjson.Value) {
	argv := []byte{'['}
	argv = append(argv, params.Get("command").Clean()...)
	var args []string
	for a := range params.Get("args").Elements() {
		args = append(args, a.Text())
		argv = append(append(argv, ','), a.Clean()...)
	}
	command := params.Get("command").Text()
	line := command // agents put a whole shell line here, without arguments
	if len(args) > 0 {
		line = shellLine(rawjson.Value(append(argv, ']')))
	}
	if strings.TrimSpace(command) == "" {
		p.refuse(id, jsonrpc.InvalidParams, "command: want a command")
		return
	}
	var env []adapters.Pair
	for e := range params.Get("env").Elements() {
		env = append(env, adapters.Pair{Name: e.Get("name").Text(), Value: e.Get("value").Text()})
	}
	limit, _ := params.Get("outputByteLimit").Int()
	dir := params.Get("cwd").Text()
	run := func() {
		p.effect(id, func(e string) adapters.Effect {
			return adapters.TerminalCreate{ID: e, Command: command, Args: args, Env: env, Dir: dir, Limit: max(limit, 0)}
		}, func(id rawjson.Value, d adapters.EffectDone) {
			p.respond(id, encode(struct {
				TerminalID string `json:"terminalId"`
			}{d.Terminal}))
		})
	}
	for _, c := range p.calls.list {
		if c.allowed && len(env) == 0 && rawjson.Value(p.args(c)).Get("command").Text() == line {
			run() // the permission for this call was for this command
			return
		}
	}
	input := encode(struct {
		Command string            `json:"command"`
		Cwd     string            `json:"cwd,omitzero"`
		Env     map[string]string `json:"env,omitempty"`
	}{line, dir, pairMap(env)})
	p.askFirst(id, "bash", line, input, run)
}

func pairMap(list []adapters.Pair) map[string]string {
	m := map[string]string{}
	for _, x := range list {
		m[x.Name] = x.Value
	}
	return m
}

// askFirst asks people for something that the agent wants us to do, with a tool
// call of its own.
func (p *Protocol) askFirst(id rawjson.Value, tool, title string, input []byte, do func()) {
	if p.turn.cancelled {
		p.refuse(id, jsonrpc.Cancelled, "cancelled")
		return
	}
	c := p.newCall("client-"+strconv.Itoa(p.asks.last+1), "", nil)
	c.native, c.title, c.input = tool, title, input
	if tool == "write" {
		c.paths = []string{title}
	}
	p.startCall(c)
	a := p.asks.add(&ask{call: c.id, effect: func(allow bool) {
		if !allow {
			p.refuse(id, jsonrpc.InternalError, "refused by the user")
			c.rejected = true
			p.endCall(c, &contract.ToolResult{Status: contract.ToolError, Error: "refused"})
			return
		}
		do()
		p.endCall(c, &contract.ToolResult{Status: contract.ToolCompleted})
	}})
	t := p.describe(c)
	p.ask(c, a, contract.PermissionRequest{
		Call: c.id, ToolName: t.Name, Title: t.Title, Description: t.Description, Args: t.Args,
		Options: []contract.PermissionOption{
			{Decision: contract.AllowOnce, Label: "Allow once"},
			{Decision: contract.AllowAlways, Label: "Always allow"},
			{Decision: contract.RejectOnce, Label: "Reject"},
		},
	})
}
