package wire

import (
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// Position is the index of an envelope in its session's journal, from 0.
type Position = int64

// Session is what is known about a session beside its stream: its metadata. The
// host is its source of truth; Version counts its changes, and a change is made
// against a version (compare and swap).
type Session struct {
	ID      string `json:"id"`
	Version int64  `json:"version"`
	// Host is the id of the host that runs it.
	Host  string `json:"host,omitzero"`
	Agent string `json:"agent"`
	// Dir is the working directory on the host.
	Dir   string `json:"dir,omitzero"`
	Title string `json:"title,omitzero"`
	// Parent is the session that this one is a fork of, ParentOrigin the native
	// message at which.
	Parent       string `json:"parent,omitzero"`
	ParentOrigin string `json:"parentOrigin,omitzero"`
	// Created and Updated are Unix ms.
	Created int64 `json:"created"`
	Updated int64 `json:"updated"`
	// State is what the host does with it.
	State State `json:"state"`
	// Status is what its stream says: idle, busy, error, compacting, archived.
	Status   session.Status `json:"status,omitzero"`
	Archived bool           `json:"archived,omitzero"`
	// Oldest and End are the positions of the first envelope kept and of the next
	// one to come.
	Oldest Position `json:"oldest"`
	End    Position `json:"end"`
	// Asks is the number of open permission requests and questions.
	Asks int `json:"asks,omitzero"`
	// Queued is the number of prompts that wait.
	Queued int `json:"queued,omitzero"`
	// Config is what holds now; the stream's agent-configuration-changed events are
	// the trail of how it came to be.
	Config Configuration `json:"config,omitzero"`
	// Control is who holds control.
	Control *Control `json:"control,omitempty"`
	// Capabilities are what the agent can do now. Missing says of each other
	// capability why not, for people.
	Capabilities []session.Capability          `json:"capabilities,omitempty"`
	Missing      map[session.Capability]string `json:"missing,omitempty"`
	// Models are what the agent offers, Commands its slash commands.
	Models   []session.ModelInfo `json:"models,omitempty"`
	Commands []SlashCommand      `json:"commands,omitempty"`
	// Face is how its agent shows itself, or will when it is started again; Screen says
	// that there is a screen for terminal.read now.
	Face   Face `json:"face,omitzero"`
	Screen bool `json:"screen,omitzero"`
	// Native is the agent's own id of the session.
	Native string `json:"native,omitzero"`
	// Usage is the sum over all turns.
	Usage *contract.Usage `json:"usage,omitempty"`
	// Error is why it failed or could not be opened.
	Error *contract.Error `json:"error,omitempty"`
}

// State is what a host does with a session.
type State string

// The states of a session. A stopped one has no process, and goes on with
// session.resume or with the next session.send.
const (
	StateStarting   State = "starting"
	StateRunning    State = "running"
	StateRestarting State = "restarting" // its agent died and is started again
	StateStopping   State = "stopping"
	StateStopped    State = "stopped"
	StateFailed     State = "failed"
)

// Configuration is a session's configuration; zero members are unknown.
type Configuration struct {
	Model          string                  `json:"model,omitzero"`
	PermissionMode contract.PermissionMode `json:"permissionMode,omitzero"`
	ThinkingLevel  string                  `json:"thinkingLevel,omitzero"`
	Sandbox        *bool                   `json:"sandbox,omitempty"`
}

// Control says who holds control of a session: exactly one does.
type Control struct {
	ClientType contract.ClientType `json:"clientType"`
	TokenID    string              `json:"tokenId"`
	Since      int64               `json:"since"` // Unix ms
}

// SlashCommand is a command that the agent takes as text.
type SlashCommand struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	// Hint says what may follow the name.
	Hint string `json:"hint,omitzero"`
}

// Host is one host and whether it is there.
type Host struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// OS and Arch are as Go writes them.
	OS      string `json:"os,omitzero"`
	Arch    string `json:"arch,omitzero"`
	Version string `json:"version,omitzero"`
	Online  bool   `json:"online"`
	// LastSeen is Unix ms by the relay's clock.
	LastSeen int64 `json:"lastSeen,omitzero"`
	// Agents are those it can run.
	Agents []AgentInfo `json:"agents,omitempty"`
}

// AgentInfo is an agent that a host can run.
type AgentInfo struct {
	Name         string                        `json:"name"`
	Title        string                        `json:"title,omitzero"`
	Installed    bool                          `json:"installed"`
	Version      string                        `json:"version,omitzero"`
	Capabilities []session.Capability          `json:"capabilities,omitempty"`
	Missing      map[session.Capability]string `json:"missing,omitempty"`
}
