package session

import "encoding/json"

// InputKind unifies questions and permissions: both are "the agent needs a
// human" (design 0049 §4.5).
type InputKind string

// The values of InputKind.
const (
	InputQuestion   InputKind = "question"
	InputPermission InputKind = "permission"
)

// InputRequest is the unified pending-input shape. Question-specific fields
// apply when Kind == InputQuestion; permission-specific fields when Kind ==
// InputPermission. Metadata values are raw JSON because permission metadata is
// open-ended extension data, not a known shape.
type InputRequest struct {
	ID            string                     `json:"id"`
	SessionID     string                     `json:"sessionId,omitempty"`
	RootSessionID string                     `json:"rootSessionId,omitempty"`
	Kind          InputKind                  `json:"kind"`
	Question      string                     `json:"question,omitempty"`
	Header        string                     `json:"header,omitempty"`
	Options       []InputOption              `json:"options,omitempty"`
	Multiple      bool                       `json:"multiple,omitempty"`
	Custom        bool                       `json:"custom,omitempty"`
	Permission    string                     `json:"permission,omitempty"`
	Patterns      []string                   `json:"patterns,omitempty"`
	Always        []string                   `json:"always,omitempty"`
	Metadata      map[string]json.RawMessage `json:"metadata,omitempty"`
	Tool          *ToolRef                   `json:"tool,omitempty"`
}

// InputOption is one selectable choice within a question InputRequest.
type InputOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}
