package acp

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// opener is the state of opening the session.
type opener struct {
	id          string // of the Open command
	authMethods []adapters.AuthMethod
	authTried   bool
	authRunning bool
	urls        int // told so far
	// replaying: updates of the session are history.
	replaying bool
	// at is when to go on with next: after a wait before loading, or after the
	// silence that ends a replay.
	at   time.Time
	next func()
}

// wake goes on when it is time.
func (o *opener) wake(p *Protocol) {
	if !p.due(o.at) {
		return
	}
	next := o.next
	o.at, o.next = time.Time{}, nil
	next()
}

// heard puts off the end of a replay that is waited for.
func (o *opener) heard(p *Protocol) {
	if !o.at.IsZero() && p.spec.Quirks.ReplaySettle > 0 {
		o.at = p.now.Add(p.spec.Quirks.ReplaySettle)
	}
}

// openSession opens what the options say: a new session, an earlier one or a
// branch of one. What the agent cannot do is said at once, not after a wait.
func (p *Protocol) openSession() {
	o := p.info.Options
	p.facts() // the agent's name is worth a Step of its own
	if why := p.cannotOpen(); why != "" {
		p.openFailed(contract.Error{Code: contract.CodeUnsupported, Message: p.name() + " " + why})
		return
	}
	begin := func() {
		switch {
		case o.Fork != "":
			p.openFork(o.Fork)
		case o.Resume != "":
			p.openEarlier(o.Resume)
		case o.Continue:
			p.openNewest("", "", "", 0)
		default:
			p.openNew()
		}
	}
	earlier := o.Fork != "" || o.Resume != "" || o.Continue
	if hook := p.spec.Hooks.LoadAt; hook != nil && earlier {
		if at := hook(p.now, p.info); at.After(p.now) {
			p.opener.at, p.opener.next = at, begin
			return
		}
	}
	begin()
}

// cannotOpen says what the agent lacks for what the options want, empty for
// nothing.
func (p *Protocol) cannotOpen() string {
	o := p.info.Options
	loads := p.agent.caps.Get("loadSession").True()
	switch {
	case o.Fork != "" && !p.forks():
		return "cannot start from a fork of a session"
	case o.Fork != "" || o.Resume == "" && !o.Continue:
	case o.Continue && o.Resume == "" && !p.agent.can("list"):
		return "does not list its sessions: name one to resume"
	case !loads && (!p.agent.can("resume") || p.spec.Quirks.NoResume):
		return "cannot open earlier sessions"
	}
	return ""
}

// sessionParams are the parameters that open a session in every way.
type sessionParams struct {
	SessionID    string        `json:"sessionId,omitzero"`
	Cwd          string        `json:"cwd"`
	MCPServers   []any         `json:"mcpServers"`
	Dirs         []string      `json:"additionalDirectories,omitempty"`
	SystemPrompt *systemPrompt `json:"systemPrompt,omitzero"`
}

type systemPrompt struct {
	Mode    string      `json:"mode"`
	Content []textBlock `json:"content"`
}

// sessionParams checks the options against what the agent can do.
func (p *Protocol) sessionParams(id string) (sessionParams, error) {
	o, takes := p.info.Options, p.spec.Quirks.LaunchTakes
	params := sessionParams{SessionID: id, Cwd: p.info.Dir, MCPServers: []any{}}
	for _, s := range o.MCPServers {
		if s.Transport != "" && s.Transport != "stdio" && !p.agent.caps.Get("mcpCapabilities", s.Transport).True() {
			return params, fmt.Errorf("%s takes no MCP server over %s (%q)", p.name(), s.Transport, s.Name)
		}
		params.MCPServers = append(params.MCPServers, mcpServer(s))
	}
	if len(o.Dirs) > 0 && !slices.Contains(takes, "Dirs") {
		if !p.agent.can("additionalDirectories") {
			return params, fmt.Errorf("%s works in one directory only", p.name())
		}
		params.Dirs = o.Dirs
	}
	if o.SystemPrompt != "" && !slices.Contains(takes, "SystemPrompt") {
		if !p.agent.can("systemPrompt") {
			return params, fmt.Errorf("%s takes no system prompt over ACP", p.name())
		}
		params.SystemPrompt = &systemPrompt{"append", []textBlock{{"text", o.SystemPrompt}}}
	}
	return params, nil
}

func mcpServer(s adapters.MCPServer) any {
	type pair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	pairs := func(list []adapters.Pair) []pair {
		out := make([]pair, 0, len(list))
		for _, x := range list {
			out = append(out, pair(x))
		}
		return out
	}
	if s.Transport == "http" || s.Transport == "sse" {
		return struct {
			Type    string `json:"type"`
			Name    string `json:"name"`
			URL     string `json:"url"`
			Headers []pair `json:"headers"`
		}{s.Transport, s.Name, s.URL, pairs(s.Headers)}
	}
	return struct {
		Name    string   `json:"name"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Env     []pair   `json:"env"`
	}{s.Name, s.Command, slices.Concat([]string{}, s.Args), pairs(s.Env)}
}

func (p *Protocol) openNew() {
	params, err := p.sessionParams("")
	if err != nil {
		p.openFailed(contract.Error{Code: contract.CodeUnsupported, Message: err.Error()})
		return
	}
	p.openCall("session/new", params, func(r reply) {
		if !r.ok() {
			p.openFailed(p.startFault(r, "session/new"))
			return
		}
		id := r.result.Get("sessionId").Text()
		if id == "" {
			p.openFailed(contract.Error{Code: contract.CodeProtocol, Message: p.name() + " gave no session id"})
			return
		}
		p.usage.fresh = true
		p.sessionIs(id, r.result)
	})
}

// openEarlier opens an earlier session: by session/resume, which replays nothing,
// or by session/load, whose replay is dropped.
func (p *Protocol) openEarlier(id string) {
	params, err := p.sessionParams(id)
	if err != nil {
		p.openFailed(contract.Error{Code: contract.CodeUnsupported, Message: err.Error()})
		return
	}
	p.session = id
	p.opener.replaying = true
	load := func() {
		if !p.agent.caps.Get("loadSession").True() {
			p.openFailed(contract.Error{Code: contract.CodeUnsupported, Message: p.name() + " cannot open earlier sessions"})
			return
		}
		p.openCall("session/load", params, func(r reply) { p.loaded(id, r, "session/load") })
	}
	if !p.agent.can("resume") || p.spec.Quirks.NoResume {
		load()
		return
	}
	p.openCall("session/resume", params, func(r reply) {
		if r.unknownMethod() { // advertised and not there: qwen 0.15
			load()
			return
		}
		p.loaded(id, r, "session/resume")
	})
}

func (p *Protocol) loaded(id string, r reply, method string) {
	if !r.ok() {
		p.session = ""
		fault := p.startFault(r, method)
		if fault.Code == contract.CodeAgentError || fault.Code == contract.CodeInvalidRequest {
			fault.Code = contract.CodeSessionNotFound // some agents have no code of their own for it
		}
		p.openFailed(fault)
		return
	}
	if other := r.result.Get("sessionId").Text(); other != "" && other != id {
		p.emit(contract.Service{
			Text: fmt.Sprintf("%s went on with session %s in place of %s.", p.name(), other, id),
			Kind: contract.ServiceNotice,
		})
		id = other
	}
	result := rawjson.Value(r.result.Clean())
	if settle := p.spec.Quirks.ReplaySettle; settle > 0 && method == "session/load" {
		p.opener.at, p.opener.next = p.now.Add(settle), func() { p.sessionIs(id, result) }
		return
	}
	p.sessionIs(id, result)
}

// openNewest looks for the newest session of the directory, page by page.
func (p *Protocol) openNewest(cursor, best, bestTime string, page int) {
	p.openCall("session/list", listParams{p.info.Dir, cursor}, func(r reply) {
		if !r.ok() {
			p.openFailed(p.startFault(r, "session/list"))
			return
		}
		for s := range r.result.Get("sessions").Elements() {
			cwd := s.Get("cwd")
			id, at := s.Get("sessionId").Text(), s.Get("updatedAt").Text()
			if id != "" && (!cwd.Given() || cwd.Text() == p.info.Dir) && (best == "" || newer(at, bestTime)) {
				best, bestTime = id, at
			}
		}
		const pages = 50 // more is a loop
		if c := r.result.Get("nextCursor").Text(); c != "" && c != cursor && page < pages {
			p.openNewest(c, best, bestTime, page+1)
			return
		}
		if best == "" {
			p.openFailed(contract.Error{
				Code: contract.CodeSessionNotFound, Message: "no earlier session in " + p.info.Dir,
			})
			return
		}
		p.openEarlier(best)
	})
}

type listParams struct {
	Cwd    string `json:"cwd,omitzero"`
	Cursor string `json:"cursor,omitzero"`
}

// newer compares ISO 8601 times, which sort as text only in one form.
func newer(a, b string) bool {
	x, errA := time.Parse(time.RFC3339Nano, a)
	y, errB := time.Parse(time.RFC3339Nano, b)
	if errA == nil && errB == nil {
		return x.After(y)
	}
	return errA == nil || errB != nil && cmp.Compare(a, b) > 0
}

// openFork branches off an earlier session and opens the branch.
func (p *Protocol) openFork(from string) {
	params, err := p.sessionParams(from)
	if err != nil {
		p.openFailed(contract.Error{Code: contract.CodeUnsupported, Message: err.Error()})
		return
	}
	p.opener.replaying = true
	p.openCall("session/fork", params, func(r reply) {
		id := r.result.Get("sessionId").Text()
		if r.ok() && id == "" {
			p.openFailed(contract.Error{Code: contract.CodeProtocol, Message: p.name() + " gave no session id"})
			return
		}
		p.loaded(id, r, "session/fork")
	})
}

// sessionIs takes the session's id and settings, then brings it into the mode,
// model and thinking level that were asked for.
func (p *Protocol) sessionIs(id string, result rawjson.Value) {
	p.session = id
	p.config.read(result)
	p.replayEarly()
	p.applyOptions()
}

// applyOptions sends one change after the other and opens the session when all
// were confirmed. A session that is not in the mode that was asked for must not
// start: it could act without asking.
func (p *Protocol) applyOptions() {
	o := p.info.Options
	mode := o.Mode
	if mode == "" {
		mode = p.startMode()
	}
	type change struct {
		what  settingKind
		value string
	}
	var changes []change
	for _, c := range []change{{settingModel, o.Model}, {settingThinking, o.Thinking}, {settingMode, mode}} {
		if c.value != "" {
			changes = append(changes, c)
		}
	}
	var next func()
	next = func() {
		if p.phase != opening {
			return
		}
		if len(changes) == 0 {
			p.askAgain()
			return
		}
		c := changes[0]
		changes = changes[1:]
		p.change(c.what, c.value, func(fault *contract.Error) {
			if fault != nil {
				p.openFailed(*fault)
				return
			}
			next()
		})
	}
	next()
}

// startMode is the mode to switch to when nobody chose one: that of the quirks,
// else what the agent has for the contract's default. The agent's own settings may
// begin in one that allows more than anybody allowed here.
func (p *Protocol) startMode() string {
	s, start := p.config.settings[settingMode], p.spec.Quirks.StartMode
	if offered(s, start) {
		return start
	}
	_, err := p.nativeMode(contract.ModeDefault)
	switch {
	case err == nil, p.free(s.current) && !p.info.Options.AllowBypass:
		return string(contract.ModeDefault) // which it may not have: the session must not open then
	}
	return ""
}
