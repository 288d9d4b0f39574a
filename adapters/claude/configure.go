package claude

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// thinkingOff switches thinking off where the model allows that.
const thinkingOff = "off"

// change is one Configure under way: its parts are confirmed one by one.
type change struct {
	id    string
	parts int
	err   *wireError
}

// submitConfigure sends each part of a change. Each is told when the CLI has
// confirmed it; the command ends with the last.
func (p *protocol) submitConfigure(c adapters.Configure) error {
	if c.Sandbox != nil {
		return fmt.Errorf("claude: the sandbox is chosen at the start of a session: %w", adapters.ErrUnsupported)
	}
	mode, err := permissionMode(string(c.Mode), p.info.Options.AllowBypass)
	if err != nil {
		return err
	}
	thinking, err := thinkingRequest(c.ThinkingLevel)
	if err != nil {
		return err
	}
	ch := &change{id: c.ID}
	if c.Mode != "" {
		p.setPart(ch, "set_permission_mode", new(object).str("subtype", "set_permission_mode").str("mode", mode).value(), func(r reply) {
			if got := r.response.Get("mode").Text(); got != "" {
				mode = got
			}
			p.setMode(contract.RoleUser, mode)
		})
	}
	if c.Model != "" {
		p.setPart(ch, "set_model", new(object).str("subtype", "set_model").str("model", c.Model).value(), func(r reply) {
			p.setModel(orElse(r.response.Get("model").Text(), c.Model))
		})
	}
	if thinking != nil {
		p.setPart(ch, thinking.kind, thinking.body, func(reply) { p.setThinking(c.ThinkingLevel) })
	}
	if ch.parts == 0 {
		p.succeed(c.ID, nil)
	}
	return nil
}

func (p *protocol) setPart(ch *change, kind string, body []byte, confirmed func(reply)) {
	ch.parts++
	p.request(kind, body, func(r reply) {
		if r.err != nil {
			ch.err = r.err
		} else {
			confirmed(r)
		}
		if ch.parts--; ch.parts > 0 {
			return
		}
		if ch.err != nil {
			p.fail(ch.id, *ch.err)
			return
		}
		p.succeed(ch.id, nil)
	})
}

// setModel notes a confirmed model. The CLI resolves names like "sonnet"; what
// they stand for is in its answer, in its list, or in the next init.
func (p *protocol) setModel(name string) {
	before := p.facts.model
	m, known := p.modelNamed(name)
	p.facts.alias = true
	if known && m.resolved != "" {
		name = m.resolved
	}
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
	p.configChanged(contract.RoleUser, ev)
}

func (p *protocol) setThinking(level string) {
	before := p.facts.thinking
	if level == before {
		return
	}
	p.facts.thinking = level
	p.learn().Thinking = level
	ev := contract.AgentConfigurationChanged{ThinkingLevel: level}
	if before != "" {
		ev.From = &contract.ConfigurationFrom{ThinkingLevel: before}
	}
	p.configChanged(contract.RoleUser, ev)
}

// thinkingControl is the control request that sets a thinking level.
type thinkingControl struct {
	kind string
	body []byte
}

// efforts are the levels that the CLI knows; which of them a model has is in its
// list.
func efforts() []string { return []string{"low", "medium", "high", "xhigh", "max"} }

// thinkingRequest maps a level: an effort, "off", "default", or a number of
// tokens for models that still have a budget.
func thinkingRequest(level string) (*thinkingControl, error) {
	budget := func(tokens []byte) *thinkingControl {
		return &thinkingControl{
			"set_max_thinking_tokens",
			new(object).str("subtype", "set_max_thinking_tokens").raw("max_thinking_tokens", tokens).value(),
		}
	}
	switch {
	case level == "":
		return nil, nil
	case slices.Contains(efforts(), level):
		settings := new(object).str("effortLevel", level).value()
		return &thinkingControl{
			"apply_flag_settings",
			new(object).str("subtype", "apply_flag_settings").raw("settings", settings).value(),
		}, nil
	case level == thinkingOff:
		return budget([]byte("0")), nil
	case level == "default":
		return budget([]byte("null")), nil
	}
	if n, err := strconv.Atoi(level); err == nil && n >= 0 {
		return budget(decimal(n)), nil
	}
	return nil, fmt.Errorf("claude: thinking level: want one of %q, %q, \"default\" or a number of tokens, got %q", efforts(), thinkingOff, level)
}

// permissionMode checks a mode. The CLI calls its default "manual" in places;
// on the wire it is always "default".
func permissionMode(mode string, bypass bool) (string, error) {
	switch mode {
	case "", "manual":
		return string(contract.ModeDefault), nil
	case "default", "acceptEdits", "plan", "dontAsk":
		return mode, nil
	case "bypassPermissions", "auto":
		// In both the CLI lets tools run that no person and no policy allowed: in
		// "auto" a classifier decides.
		if bypass {
			return mode, nil
		}
		return "", fmt.Errorf("claude: mode %q needs the local opt-in: %w", mode, adapters.ErrUnsupported)
	}
	return "", fmt.Errorf("claude: mode: want default, acceptEdits, plan, dontAsk, auto or bypassPermissions, got %q", mode)
}
