package policy

import (
	"fmt"
	"strings"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission/shell"
)

// ParseMode reads a permission mode; "" is default. Anything else is an error:
// a mode is never guessed.
func ParseMode(s string) (contract.PermissionMode, error) {
	switch m := contract.PermissionMode(s); m {
	case "":
		return contract.ModeDefault, nil
	case contract.ModeDefault, contract.ModeAcceptEdits, contract.ModePlan, contract.ModeBypassPermissions:
		return m, nil
	}
	return "", fmt.Errorf("want mode default, acceptEdits, plan or bypassPermissions, got %q", s)
}

// PlanRefusal is what an agent is told that wants to act in plan mode.
const PlanRefusal = "Plan mode: only reading is possible now. Present the plan first and leave plan mode."

// byMode lets the mode decide, and reports whether it did. risky says that a deny
// rule may be about a and that it cannot be told.
func byMode(e *Explanation, a *Analysis, mode contract.PermissionMode, risky bool) bool {
	if a.req.Question {
		return false
	}
	set := func(v Verdict) bool {
		e.Verdict, e.Rule, e.Stage = v, "mode: "+string(mode), ByMode
		return true
	}
	switch mode {
	case contract.ModeBypassPermissions:
		if LeavesPlan(a.req.Tool) || risky || a.empty() {
			return false
		}
		return set(Allow)
	case contract.ModeAcceptEdits:
		if a.editsBelow() {
			return set(Allow)
		}
	case contract.ModePlan:
		if LeavesPlan(a.req.Tool) {
			return false // a person's decision, whatever rules say
		}
		switch a.req.Tool {
		case "read", "list", "glob", "grep", "view-image":
			if a.allBelow() {
				return set(Allow)
			}
			return false
		case "todo", "think", "sleep":
			return set(Allow)
		case "ask-user", "task", "skill", "web-fetch", "web-search":
			return false
		}
		e.Why = PlanRefusal
		return set(Deny)
	}
	return false
}

// empty reports whether a is about nothing, or about a thing without a name.
func (a *Analysis) empty() bool {
	for i := range a.items {
		if it := &a.items[i]; it.place != nil && strings.TrimSpace(it.place.raw) == "" || it.address != nil && strings.TrimSpace(it.address.raw) == "" {
			return true
		}
	}
	return a.missing && (a.script == nil || a.script.Opaque == "" || a.script.Opaque == shell.Empty)
}

// LeavesPlan reports whether a use of tool is the request to leave plan mode.
func LeavesPlan(tool string) bool { return tool == "plan" || tool == "exit-plan-mode" }

// allBelow reports whether every file that a is about lies in the session's
// directory.
func (a *Analysis) allBelow() bool {
	if a.unclear != "" || !a.dirOK || len(a.items) == 0 {
		return false
	}
	for i := range a.items {
		it := &a.items[i]
		if it.place == nil || it.why != "" || len(it.place.real) == 0 {
			return false
		}
		for _, real := range it.place.real {
			if _, in := below(real, a.realCwd); !in {
				return false
			}
		}
	}
	return true
}

// editsBelow reports whether a changes files in the session's directory, and none
// that runs or governs something: hooks, editor tasks, agents' own settings.
func (a *Analysis) editsBelow() bool {
	switch a.req.Tool {
	case "edit", "write", "notebook-edit":
	default:
		return false
	}
	if !a.allBelow() {
		return false
	}
	for i := range a.items {
		if len(a.governors(a.items[i].place)) > 0 {
			return false
		}
	}
	return true
}
