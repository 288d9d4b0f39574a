package contract

import "encoding/json/jsontext"

// SubagentStart says that a sub-agent began.
type SubagentStart struct {
	// AgentID is the host's cuid2 of the sub-agent.
	AgentID string `json:"agentId"`
	// Title is for people.
	Title string `json:"title,omitzero"`
	// Call is the tool call that spawned it. Extended.
	Call  string         `json:"call,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// SubagentStop says that a sub-agent is done.
type SubagentStop struct {
	// AgentID is the one of the subagent-start.
	AgentID string         `json:"agentId"`
	Extra   jsontext.Value `json:",embed"`
}
