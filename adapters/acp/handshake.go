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

// agent is what the agent told of itself in the handshake.
type agent struct {
	title       string
	version     string
	caps        rawjson.Value // agentCapabilities
	sessionCaps rawjson.Value // agentCapabilities.sessionCapabilities
	steering    bool
}

func (a agent) can(capability string) bool { return a.sessionCaps.Get(capability).Given() }

// open performs the handshake and opens the session.
func (p *Protocol) open(c adapters.Open) error {
	if p.phase != fresh {
		return fmt.Errorf("the session was opened already")
	}
	if err := refusedOptions(p.spec, p.info.Options); err != nil {
		return err
	}
	p.phase = opening
	p.opener.id = c.ID
	if hook := p.spec.Hooks.Refuse; hook != nil {
		if fault := hook(p.info); fault != nil {
			p.openFailed(*fault)
			return nil
		}
	}
	p.call("initialize", initializeParams(p.info.Client, p.spec.Quirks.Client), InitializeWait, func(r reply) {
		if !r.ok() {
			p.openFailed(p.startFault(r, "initialize"))
			return
		}
		if v := r.result.Get("protocolVersion"); v.Given() {
			if n, ok := v.Int(); !ok || n != 1 {
				p.openFailed(contract.Error{
					Code:    contract.CodeProtocol,
					Message: fmt.Sprintf("%s speaks ACP version %s, want 1", p.name(), v.Clean()),
				})
				return
			}
		}
		p.introduced(r.result)
		p.openSession()
	})
	return nil
}

// initializeParams offers no more than what is really done for an agent.
func initializeParams(c adapters.ClientInfo, f ClientFeatures) any {
	type marker struct{}
	type elicitation struct {
		Form marker `json:"form"`
		URL  marker `json:"url"`
	}
	type sessionCaps struct {
		Compaction    marker `json:"compaction"`
		ConfigOptions struct {
			Boolean marker `json:"boolean"`
		} `json:"configOptions"`
		Notices marker `json:"notices"`
	}
	type fsCaps struct {
		ReadTextFile  bool `json:"readTextFile"`
		WriteTextFile bool `json:"writeTextFile"`
	}
	type clientInfo struct {
		Name    string `json:"name"`
		Title   string `json:"title,omitzero"`
		Version string `json:"version"`
	}
	var params struct {
		ProtocolVersion int `json:"protocolVersion"`
		Capabilities    struct {
			FS          fsCaps       `json:"fs"`
			Terminal    bool         `json:"terminal"`
			Elicitation *elicitation `json:"elicitation,omitzero"`
			Session     sessionCaps  `json:"session"`
			Subagents   *marker      `json:"subagents,omitzero"`
		} `json:"clientCapabilities"`
		ClientInfo clientInfo `json:"clientInfo"`
	}
	params.ProtocolVersion = 1
	params.Capabilities.FS = fsCaps{f.ReadFile, f.WriteFile}
	params.Capabilities.Terminal = f.Terminal
	if !f.NoElicitation {
		params.Capabilities.Elicitation = &elicitation{}
	}
	if f.Subagents {
		params.Capabilities.Subagents = &marker{}
	}
	params.ClientInfo = clientInfo{c.Name, c.Title, c.Version}
	if c.Name == "" {
		params.ClientInfo.Name = "agenthost"
	}
	return params
}

// introduced takes the answer to initialize.
func (p *Protocol) introduced(result rawjson.Value) {
	caps := rawjson.Value(result.Get("agentCapabilities").Clean())
	info := result.Get("agentInfo")
	p.agent = agent{
		title: info.Get("title").Text(), version: info.Get("version").Text(), caps: caps, sessionCaps: caps.Get("sessionCapabilities"),
		steering: result.Get("_meta", "steering", "supported").True() || caps.Get("_meta", "steering", "supported").True(),
	}
	f := p.facts()
	f.AgentName, f.AgentVersion = info.Get("name").Text(), info.Get("version").Text()
	if p.agent.title == "" {
		p.agent.title = f.AgentName
	}
	f.AuthMethods = []adapters.AuthMethod{}
	for m := range result.Get("authMethods").Elements() {
		f.AuthMethods = append(f.AuthMethods, adapters.AuthMethod{
			ID: m.Get("id").Text(), Name: m.Get("name").Text(), Description: m.Get("description").Text(),
		})
	}
	p.opener.authMethods = f.AuthMethods
}

// cannot is an ErrUnsupported that says nothing but why.
type cannot string

func (c cannot) Error() string { return string(c) }

// Is makes errors.Is know it.
func (cannot) Is(target error) bool { return target == adapters.ErrUnsupported }

// refusedOptions says what of the options ACP has no way to say, or the agent cannot do:
// before it is started, and before anything is sent.
func refusedOptions(spec AgentSpec, o adapters.Options) error {
	q, name := spec.Quirks, cmp.Or(spec.Title, spec.Name)
	for _, x := range []struct {
		name string
		set  bool
	}{
		{"Sandbox", o.Sandbox},
		{"MaxTurns", o.MaxTurns != 0},
		{"BudgetUSD", o.BudgetUSD != 0},
		{"AllowedTools", len(o.AllowedTools) > 0},
		{"DisallowedTools", len(o.DisallowedTools) > 0},
		{"ForkAt", o.ForkAt != ""},
	} {
		if x.set && !slices.Contains(q.LaunchTakes, x.name) {
			return cannot(fmt.Sprintf("%s over ACP takes no option %s", name, x.name))
		}
	}
	if o.Fork != "" && (q.Fork == ForkNever || q.Fork == ForkBranch) {
		return cannot(name + " cannot start from a fork of a session")
	}
	if q.NoLoad != "" && (o.Resume != "" || o.Continue || o.Fork != "") {
		return cannot(fmt.Sprintf("%s cannot go on with an earlier session: %s", name, q.NoLoad))
	}
	if mode := contract.PermissionMode(o.Mode); mode == contract.ModeBypassPermissions && !o.AllowBypass {
		return fmt.Errorf("mode %q needs the local opt-in", mode)
	}
	return nil
}

// openFailed ends the opening with the reason.
func (p *Protocol) openFailed(fault contract.Error) {
	if p.phase != opening {
		return
	}
	p.phase = failed
	p.opener.at = time.Time{}
	p.opener.replaying = false
	p.done(p.opener.id, nil, &fault)
}

// opened ends the opening well.
func (p *Protocol) opened() {
	p.phase, p.wasOpen = ready, true
	p.opener.at = time.Time{}
	p.opener.replaying = false
	p.facts().NativeSession = p.session
	p.config.facts(p.facts(), p.spec.Quirks.Modes)
	p.done(p.opener.id, encode(struct {
		Session string `json:"session"`
	}{p.session}), nil)
}
