package acp

import (
	"fmt"
	"slices"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// askAgain switches off what the agent's own settings allow beside its mode, like
// Copilot's "allow all", unless a person opted in; then the session is open. The
// options that are off by now are those named.
func (p *Protocol) askAgain(off ...string) {
	for _, o := range p.config.options {
		id := o.Get("id").Text()
		params, on := p.allowsAll(o)
		if !on || slices.Contains(off, id) || p.info.Options.AllowBypass {
			continue
		}
		p.call("session/set_config_option", params, ConfigWait, func(r reply) {
			if p.phase != opening {
				return
			}
			if fault := p.staysOn(id, r); fault != nil {
				p.openFailed(*fault)
				return
			}
			p.askAgain(append(off, id)...)
		})
		return
	}
	p.opened()
}

// allowsAll reports whether an option lets the agent act unasked, and gives what
// switches it off.
func (p *Protocol) allowsAll(option rawjson.Value) (off any, on bool) {
	id, value := option.Get("id").Text(), option.Get("currentValue")
	switch {
	case option.Get("category").Text() != "permissions":
		return nil, false
	case value.True():
		return booleanParams{p.session, id, "boolean", false}, true
	case value.Text() == "on":
		return configParams{p.session, id, "off"}, true
	}
	return nil, false
}

// staysOn takes the answer to switching an option off: why it is still on, nil
// when it is not.
func (p *Protocol) staysOn(id string, r reply) *contract.Error {
	if !r.ok() {
		fault := p.fault(r, "session/set_config_option")
		fault.Message = fmt.Sprintf("option %q lets %s act without asking, and stays on: %s", id, p.name(), fault.Message)
		return &fault
	}
	list := r.result.Get("configOptions")
	p.config.readOptions(list)
	for o := range list.Elements() {
		if _, on := p.allowsAll(o); on && o.Get("id").Text() == id {
			return &contract.Error{
				Code: contract.CodeAgentError, Message: fmt.Sprintf("option %q lets %s act without asking, and stays on", id, p.name()),
			}
		}
	}
	return nil
}
