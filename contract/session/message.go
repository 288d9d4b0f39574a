package session

import "time"

// MessageType discriminates a Message. Agent/model switches and compaction are
// transcript entries (not side-band config) so the timeline stays coherent after
// a switch (design 0049 §4.5).
type MessageType string

// The values of MessageType.
const (
	MessageUser        MessageType = "user"
	MessageAssistant   MessageType = "assistant"
	MessageShell       MessageType = "shell"
	MessageAgentSwitch MessageType = "agent_switch"
	MessageModelSwitch MessageType = "model_switch"
	MessageCompaction  MessageType = "compaction"
	MessageSystem      MessageType = "system"
)

// Message is one entry in a session transcript. It is a flat discriminated
// struct: Type selects which payload fields are meaningful, and the rest are
// omitted from the wire form. Constructors are the documented write path so the
// Type<->field pairing is encoded in one place.
type Message struct {
	ID        string      `json:"id"`
	SessionID string      `json:"sessionId,omitempty"`
	Type      MessageType `json:"type"`
	CreatedAt *time.Time  `json:"createdAt,omitempty"`

	Parts []Part    `json:"parts,omitempty"`
	Model *ModelRef `json:"model,omitempty"`
	Cost  *Cost     `json:"cost,omitempty"`

	Text string `json:"text,omitempty"`

	Command  string `json:"command,omitempty"`
	ExitCode *int   `json:"exitCode,omitempty"`

	FromAgent string `json:"fromAgent,omitempty"`
	ToAgent   string `json:"toAgent,omitempty"`

	FromModel *ModelRef `json:"fromModel,omitempty"`
	ToModel   *ModelRef `json:"toModel,omitempty"`

	Error *Error `json:"error,omitempty"`
}

// UserMessage is what a person said.
func UserMessage(id, text string, createdAt time.Time) Message {
	return Message{ID: id, Type: MessageUser, Text: text, CreatedAt: &createdAt}
}

// AssistantMessage is what the agent said and did in one turn. It keeps parts.
func AssistantMessage(id string, parts []Part, createdAt time.Time) Message {
	return Message{ID: id, Type: MessageAssistant, Parts: parts, CreatedAt: &createdAt}
}

// ShellMessage is a command that ran for the user; exitCode is nil while it
// runs or when it is not known.
func ShellMessage(id, command string, exitCode *int, createdAt time.Time) Message {
	return Message{ID: id, Type: MessageShell, Command: command, ExitCode: exitCode, CreatedAt: &createdAt}
}

// AgentSwitchMessage says that another agent took over.
func AgentSwitchMessage(id, fromAgent, toAgent string, createdAt time.Time) Message {
	return Message{ID: id, Type: MessageAgentSwitch, FromAgent: fromAgent, ToAgent: toAgent, CreatedAt: &createdAt}
}

// ModelSwitchMessage says that the model changed; fromModel is nil when it is
// not known.
func ModelSwitchMessage(id string, fromModel, toModel *ModelRef, createdAt time.Time) Message {
	return Message{ID: id, Type: MessageModelSwitch, FromModel: fromModel, ToModel: toModel, CreatedAt: &createdAt}
}

// CompactionMessage says that the context was compacted.
func CompactionMessage(id, text string, createdAt time.Time) Message {
	return Message{ID: id, Type: MessageCompaction, Text: text, CreatedAt: &createdAt}
}

// SystemMessage is a note of the system; createdAt is nil when it is not known.
func SystemMessage(id, text string, createdAt *time.Time) Message {
	return Message{ID: id, Type: MessageSystem, Text: text, CreatedAt: createdAt}
}
