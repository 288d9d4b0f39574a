package codex

import (
	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract/session"
)

// name is what users type.
const name = "codex"

// Adapter runs Codex. It holds no state.
type Adapter struct{}

// New makes the adapter.
func New() Adapter { return Adapter{} }

var _ adapters.Adapter = Adapter{}

// Name implements adapters.Adapter.
func (Adapter) Name() string { return name }

// Describe implements adapters.Adapter.
func (Adapter) Describe() adapters.Description {
	return adapters.Description{
		Title:       "Codex",
		Command:     []string{"codex"},
		Install:     "npm install -g @openai/codex",
		Login:       "codex login",
		Credentials: []string{"CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "$CODEX_HOME/auth.json", "~/.codex/auth.json"},
		VersionArgs: []string{"--version"},
		Tested:      []string{"0.171.0"},
		Claims:      claims(),
	}
}

// claims are what the recordings prove.
func claims() []adapters.Claim {
	return []adapters.Claim{
		{Capability: session.CapSteer, Supported: true, Reason: "not in a review and not while the conversation is compacted"},
		{Capability: session.CapQueue, Supported: true},
		{Capability: session.CapRewind, Supported: true, Reason: "the conversation alone, files stay; of threads with a paginated history"},
		{Capability: session.CapFork, Supported: true, Reason: "by a new process"},
		{Capability: session.CapStash, Reason: "Codex has no such operation"},
		{Capability: session.CapDiff, Supported: true, Reason: "of its edit tool; what shell commands change is not told"},
		{Capability: session.CapReasoning, Supported: true},
	}
}

// NewProtocol implements adapters.Adapter.
func (Adapter) NewProtocol(info adapters.SessionInfo) adapters.Protocol { return newProtocol(info) }
