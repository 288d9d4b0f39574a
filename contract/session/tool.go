package session

import (
	"encoding/json"
	"time"
)

// ToolPart is the payload of a Tool part. Every tool call — bash, edit, read,
// grep, todos, plan mode, subagent spawn — is a ToolPart discriminated by Name
// (design 0049 §4.1 rule 2). Input/Output are raw JSON because tool schemas are
// open-ended; adapters and renderers decode them per Name.
type ToolPart struct {
	CallID string          `json:"callId,omitempty"`
	Name   string          `json:"name"`
	Input  json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	State  ToolState       `json:"state"`
}

// ToolState is the lifecycle state of one tool call, separate from the call's
// identity and input/output.
type ToolState struct {
	Status      ToolStatus `json:"status"`
	Error       string     `json:"error,omitempty"`
	StartedAt   *time.Time `json:"startedAt,omitempty"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`
}

// ToolStatus is the tool-call state-machine value (design 0049 §4.3): pending ->
// running -> completed | error.
type ToolStatus string

// The values of ToolStatus.
const (
	ToolStatusPending   ToolStatus = "pending"
	ToolStatusRunning   ToolStatus = "running"
	ToolStatusCompleted ToolStatus = "completed"
	ToolStatusError     ToolStatus = "error"
)

// ToolRef identifies the tool call that triggered an InputRequest, if any.
type ToolRef struct {
	MessageID string `json:"messageId,omitempty"`
	CallID    string `json:"callId,omitempty"`
}
