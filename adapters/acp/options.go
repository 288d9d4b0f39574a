package acp

import (
	"slices"

	"github.com/agenthost/agenthost/contract"
)

// Kinds of permission options.
const (
	kindAllowOnce    = "allow_once"
	kindAllowAlways  = "allow_always"
	kindRejectOnce   = "reject_once"
	kindRejectAlways = "reject_always"
)

// narrow reports whether an option reaches no further than it says: "once" without
// a side effect, "always" within the session. The ids are those of all known
// agents. What is not among them may write to the project's or the user's
// settings, cover all tools of a server, or switch the mode.
func (p *Protocol) narrow(id string) bool {
	switch id {
	case "proceed_once", "once", "allow_once", "allow-once", "allow", "exit-plan-default", "exit_plan_default",
		"proceed_always", "always", "allow_always", "allow-always", "allow_for_session":
		return true
	}
	return slices.Contains(p.spec.Quirks.NarrowOptions, id)
}

// pick finds the option of a kind with the narrowest reach. Of one alone the kind
// is believed for "once"; "always" has to be known.
func (p *Protocol) pick(list []option, kind string) (option, bool) {
	var of []option
	for _, o := range list {
		if o.kind == kind && o.id != "" {
			of = append(of, o)
		}
	}
	for _, o := range of {
		if p.narrow(o.id) {
			return o, true
		}
	}
	if kind != kindAllowAlways && len(of) > 0 {
		return of[0], true
	}
	return option{}, false
}

// choose finds the option that says a decision. Without one the ask is cancelled:
// never is more allowed than was decided.
func (p *Protocol) choose(list []option, d contract.Decision) (id string, ok bool) {
	native := p.setting("remember") == "agent"
	var kinds []string
	switch d {
	case contract.AllowOnce:
		kinds = []string{kindAllowOnce}
	case contract.AllowAlways:
		// The host remembers; what an agent allows by itself leaves no trace.
		kinds = []string{kindAllowOnce, kindAllowAlways}
		if native {
			kinds = []string{kindAllowAlways, kindAllowOnce}
		}
	case contract.RejectAlways:
		kinds = []string{kindRejectOnce, kindRejectAlways}
		if native {
			kinds = []string{kindRejectAlways, kindRejectOnce}
		}
	default:
		kinds = []string{kindRejectOnce}
	}
	for _, kind := range kinds {
		if o, ok := p.pick(list, kind); ok {
			return o.id, true
		}
	}
	return "", false
}

// offered are the decisions that an ask takes, labelled as the agent labels them.
func (p *Protocol) offered(list []option) []contract.PermissionOption {
	var out []contract.PermissionOption
	native := p.setting("remember") == "agent"
	once, hasOnce := p.pick(list, kindAllowOnce)
	always, hasAlways := p.pick(list, kindAllowAlways)
	if hasOnce {
		out = append(out, contract.PermissionOption{Decision: contract.AllowOnce, Label: label(once.name, "Allow once")})
	}
	switch {
	case hasAlways && (native || !hasOnce):
		out = append(out, contract.PermissionOption{Decision: contract.AllowAlways, Label: label(always.name, "Always allow")})
	case hasOnce:
		out = append(out, contract.PermissionOption{Decision: contract.AllowAlways, Label: "Always allow"})
	}
	reject, ok := p.pick(list, kindRejectOnce)
	if !ok {
		reject.name = ""
	}
	return append(out, contract.PermissionOption{Decision: contract.RejectOnce, Label: label(reject.name, "Reject")})
}

func label(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}
