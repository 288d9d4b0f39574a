package contract

import "encoding/json/jsontext"

// PermissionMode is how freely an agent may act.
type PermissionMode string

// The four modes of the draft. Agents may report others; they pass through.
const (
	ModeDefault           PermissionMode = "default"
	ModeAcceptEdits       PermissionMode = "acceptEdits"
	ModeBypassPermissions PermissionMode = "bypassPermissions"
	ModePlan              PermissionMode = "plan"
)

// AgentConfigurationChanged records a change of configuration; only what
// changed is set.
type AgentConfigurationChanged struct {
	// PermissionMode is how freely the agent may act.
	PermissionMode PermissionMode `json:"permissionMode,omitzero"`
	// Model is the model identifier.
	Model string `json:"model,omitzero"`
	// ThinkingLevel is the thinking budget.
	ThinkingLevel string `json:"thinkingLevel,omitzero"`
	// Sandbox says whether the sandbox is on.
	Sandbox *bool `json:"sandbox,omitzero"`
	// Agent is the agent that took over. Extended.
	Agent string `json:"agent,omitzero"`
	// From is what was before. Extended.
	From  *ConfigurationFrom `json:"from,omitzero"`
	Extra jsontext.Value     `json:",embed"`
}

// ConfigurationFrom is the configuration before a change.
type ConfigurationFrom struct {
	// PermissionMode was how freely the agent might act.
	PermissionMode PermissionMode `json:"permissionMode,omitzero"`
	// Model was the model identifier.
	Model string `json:"model,omitzero"`
	// ThinkingLevel was the thinking budget.
	ThinkingLevel string `json:"thinkingLevel,omitzero"`
	// Sandbox says whether the sandbox was on.
	Sandbox *bool `json:"sandbox,omitzero"`
	// Agent was the agent.
	Agent string         `json:"agent,omitzero"`
	Extra jsontext.Value `json:",embed"`
}
