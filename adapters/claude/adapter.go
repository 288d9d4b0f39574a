package claude

import (
	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract/session"
)

// name is what users type.
const name = "claude"

// Adapter runs Claude Code. It holds no state.
type Adapter struct{}

// New makes the adapter.
func New() Adapter { return Adapter{} }

var _ adapters.Adapter = Adapter{}

// Name implements adapters.Adapter.
func (Adapter) Name() string { return name }

// Describe implements adapters.Adapter.
func (Adapter) Describe() adapters.Description {
	return adapters.Description{
		Title:   "Claude Code",
		Command: []string{"claude"},
		Install: "npm install -g @anthropic-ai/claude-code",
		Login:   "claude, then /login",
		Credentials: []string{
			"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
			"CLAUDE_CODE_USE_FOUNDRY", "$CLAUDE_CONFIG_DIR/.credentials.json", "~/.claude/.credentials.json",
		},
		VersionArgs: []string{"--version"},
		Tested:      []string{"2.1.332", "2.1.44"},
		Claims:      claims(),
	}
}

// claims are what the recordings prove.
func claims() []adapters.Claim {
	return []adapters.Claim{
		{Capability: session.CapSteer, Supported: true},
		{Capability: session.CapQueue, Supported: true},
		{Capability: session.CapRewind, Supported: true, Reason: "files at once, what shell commands changed excepted; the conversation by a new process"},
		{Capability: session.CapFork, Supported: true, Reason: "by a new process"},
		{Capability: session.CapStash, Reason: "Claude Code has no such operation"},
		{Capability: session.CapDiff, Supported: true, Reason: "of its edit tools; what shell commands change is not told"},
		{Capability: session.CapReasoning, Supported: true},
	}
}

// NewProtocol implements adapters.Adapter.
func (Adapter) NewProtocol(info adapters.SessionInfo) adapters.Protocol { return newProtocol(info) }
