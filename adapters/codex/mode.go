package codex

import (
	"fmt"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// Codex's approval policies.
const (
	policyUntrusted = "untrusted"
	policyOnRequest = "on-request"
	policyNever     = "never"
)

// Codex's kinds of sandbox, as thread/start names them and as SandboxPolicy does.
const (
	startReadOnly   = "read-only"
	boxReadOnly     = "readOnly"
	boxWorkspace    = "workspaceWrite"
	boxFullAccess   = "dangerFullAccess"
	collaboratePlan = "plan"
)

// modes are the permission modes that a session can be switched to.
func modes(bypass bool) []adapters.Choice {
	list := []adapters.Choice{
		{ID: "default", Name: "Default", Description: "Ask before edits and before commands that are not known to be harmless"},
		{ID: "acceptEdits", Name: "Accept edits", Description: "Edit and run inside the sandbox without asking; ask for anything beyond it"},
		{ID: "plan", Name: "Plan", Description: "Look and plan, change nothing"},
	}
	if bypass {
		list = append(list, adapters.Choice{ID: "bypassPermissions", Name: "Bypass", Description: "Never ask, no sandbox"})
	}
	return list
}

// permissionMode checks a mode; the empty one is the default.
func permissionMode(mode string, bypass bool) (contract.PermissionMode, error) {
	switch m := contract.PermissionMode(mode); m {
	case "":
		return contract.ModeDefault, nil
	case contract.ModeDefault, contract.ModeAcceptEdits, contract.ModePlan:
		return m, nil
	case contract.ModeBypassPermissions:
		if bypass {
			return m, nil
		}
		return "", fmt.Errorf("codex: mode %q needs the local opt-in: %w", mode, adapters.ErrUnsupported)
	}
	return "", fmt.Errorf("codex: mode: want default, acceptEdits, plan or bypassPermissions, got %q", mode)
}

// approvalPolicy is when Codex asks in a mode.
func (p *protocol) approvalPolicy(mode contract.PermissionMode) string {
	switch mode {
	case contract.ModeBypassPermissions:
		return policyNever
	case contract.ModeDefault:
		return p.cfg.approval
	}
	return policyOnRequest
}

// sandboxPolicy is what commands may do in a mode without being asked about.
func (p *protocol) sandboxPolicy(mode contract.PermissionMode, box bool) []byte {
	o := new(object)
	switch {
	case mode == contract.ModePlan:
		return o.str("type", boxReadOnly).flag("networkAccess", p.cfg.network).value()
	case mode == contract.ModeBypassPermissions && !box:
		return o.str("type", boxFullAccess).value()
	}
	return o.str("type", boxWorkspace).raw("writableRoots", quoted(p.info.Options.Dirs)).flag("networkAccess", p.cfg.network).
		flag("excludeTmpdirEnvVar", false).flag("excludeSlashTmp", false).value()
}

// boxOf is the kind of sandbox of a mode.
func (p *protocol) boxOf(mode contract.PermissionMode) string {
	switch {
	case mode == contract.ModePlan:
		return boxReadOnly
	case mode == contract.ModeBypassPermissions && !p.facts.box:
		return boxFullAccess
	}
	return boxWorkspace
}

// modeOf says which mode the settings of a thread amount to. A mixture that is
// none of ours is named by its policy and sandbox.
func (p *protocol) modeOf(s rawjson.Value) contract.PermissionMode {
	policy, box := s.Get("approvalPolicy").Text(), s.Get("sandboxPolicy", "type").Text()
	plans := s.Get("collaborationMode", "mode").Text() == collaboratePlan
	if by := s.Get("approvalsReviewer").Text(); p.tui != nil && by != "" && by != "user" {
		return contract.PermissionMode(orElse(policy, "granular") + "/" + by)
	}
	if mode := p.facts.mode; plans == (mode == contract.ModePlan) && policy == p.approvalPolicy(mode) && (box == boxReadOnly || box == p.boxOf(mode)) {
		// A thread starts read-only, and two modes may be the same to Codex.
		return mode
	}
	switch {
	case plans:
		return contract.ModePlan
	case policy == policyNever && (box == boxFullAccess || p.facts.box && box == boxWorkspace):
		return contract.ModeBypassPermissions
	case policy == p.approvalPolicy(contract.ModeDefault) && box != boxFullAccess:
		return contract.ModeDefault
	case policy == policyOnRequest && box == boxWorkspace:
		return contract.ModeAcceptEdits
	case policy == policyUntrusted && box != boxFullAccess, policy == policyOnRequest && box == boxReadOnly:
		return contract.ModeDefault
	}
	if policy == "" {
		policy = "granular"
	}
	return contract.PermissionMode(policy + "/" + box)
}

// collaboration is the collaboration mode that goes with a permission mode, nil
// when the thread is in the plain one and stays there.
func (p *protocol) collaboration(mode contract.PermissionMode, model, effort string) []byte {
	kind := "default"
	if mode == contract.ModePlan {
		kind = collaboratePlan
	} else if !p.facts.planned {
		return nil
	}
	s := new(object).str("model", model)
	if effort == "" {
		s.raw("reasoning_effort", []byte("null"))
	} else {
		s.str("reasoning_effort", effort)
	}
	s.raw("developer_instructions", []byte("null"))
	return new(object).str("mode", kind).raw("settings", s.value()).value()
}
