package codex

import (
	"fmt"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// submitConfigure changes the settings of the thread. They hold from the next
// turn on; a running one keeps its own.
func (p *protocol) submitConfigure(c adapters.Configure) error {
	if err := p.ready("configuration"); err != nil {
		return err
	}
	next := p.facts
	if c.Mode != "" {
		mode, err := permissionMode(string(c.Mode), p.info.Options.AllowBypass)
		if err != nil {
			return err
		}
		next.want = mode
	}
	if c.Sandbox != nil {
		if !*c.Sandbox && !p.info.Options.AllowBypass {
			return fmt.Errorf("codex: to go without the sandbox needs the local opt-in: %w", adapters.ErrUnsupported)
		}
		next.box = *c.Sandbox
	}
	params := new(object).str("threadId", p.root.id)
	if c.Model != "" {
		next.model = c.Model
		params.str("model", c.Model)
	}
	if c.ThinkingLevel != "" {
		next.effort = c.ThinkingLevel
		params.str("effort", c.ThinkingLevel)
	}
	if c.Mode == "" && c.Sandbox == nil && c.Model == "" && c.ThinkingLevel == "" {
		p.succeed(c.ID, nil)
		return nil
	}
	if c.Mode != "" || c.Sandbox != nil {
		params.str("approvalPolicy", p.approvalPolicy(next.want)).raw("sandboxPolicy", p.sandboxPolicy(next.want, next.box))
	}
	if next.want == contract.ModePlan || p.facts.planned {
		params.raw("collaborationMode", p.collaboration(next.want, next.model, next.effort))
	}
	p.facts.configuring++
	p.request("thread/settings/update", params.value(), func(r reply) {
		p.facts.configuring--
		if r.err != nil {
			p.fail(c.ID, *r.err)
			return
		}
		p.configured(contract.RoleUser, c, next)
		p.succeed(c.ID, nil)
	})
	return nil
}

// configured notes what the server confirmed of a change.
func (p *protocol) configured(role contract.Role, c adapters.Configure, next facts) {
	if c.Sandbox != nil && next.box != p.facts.box {
		before := p.facts.box
		p.facts.box = next.box
		p.configChanged(role, contract.AgentConfigurationChanged{Sandbox: &next.box, From: &contract.ConfigurationFrom{Sandbox: &before}})
	}
	if c.Mode != "" {
		p.facts.want = next.want
		p.setMode(role, next.want)
	}
	if c.Model != "" {
		p.setModel(role, next.model)
	}
	if c.ThinkingLevel != "" {
		p.setEffort(role, next.effort)
	}
}

// settingsUpdated takes the settings of the thread, whoever changed them.
func (p *protocol) settingsUpdated(params rawjson.Value) {
	s := params.Get("threadSettings")
	if s.Kind() != rawjson.Object {
		return
	}
	role := contract.RoleAgent
	if p.facts.configuring > 0 || p.tui != nil {
		role = contract.RoleUser
	}
	p.facts.planned = p.facts.planned || s.Get("collaborationMode", "mode").Text() == collaboratePlan
	mode, by := p.modeOf(s), role
	if p.tui != nil && p.facts.configuring == 0 {
		by = p.modeThere(mode)
	}
	p.setMode(by, mode)
	if m := s.Get("model").Text(); m != "" {
		p.setModel(role, m)
	}
	if e := s.Get("effort").Text(); e != "" {
		p.setEffort(role, e)
	}
}

func (p *protocol) setMode(role contract.Role, mode contract.PermissionMode) {
	before := p.facts.mode
	if mode == before {
		return
	}
	p.facts.mode = mode
	p.facts.planned = p.facts.planned || mode == contract.ModePlan
	p.learn().Mode = string(mode)
	p.configChanged(role, contract.AgentConfigurationChanged{
		PermissionMode: mode, From: &contract.ConfigurationFrom{PermissionMode: before},
	})
}

func (p *protocol) setModel(role contract.Role, name string) {
	before := p.facts.model
	if name == before {
		return
	}
	p.facts.model = name
	f := p.learn()
	f.Model, f.Thinkings = name, p.thinkings()
	ev := contract.AgentConfigurationChanged{Model: name}
	if before != "" {
		ev.From = &contract.ConfigurationFrom{Model: before}
	}
	p.configChanged(role, ev)
}

func (p *protocol) setEffort(role contract.Role, level string) {
	before := p.facts.effort
	if level == before {
		return
	}
	p.facts.effort = level
	p.learn().Thinking = level
	ev := contract.AgentConfigurationChanged{ThinkingLevel: level}
	if before != "" {
		ev.From = &contract.ConfigurationFrom{ThinkingLevel: before}
	}
	p.configChanged(role, ev)
}

func (p *protocol) configChanged(role contract.Role, ev contract.AgentConfigurationChanged) {
	p.emit(adapters.Draft{Role: role, Event: ev})
}
