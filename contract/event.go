package contract

import "encoding/json/jsontext"

// EventType discriminates an event: the member "t".
type EventType string

// The 14 event types of session protocol v2, in the order of the draft's summary.
const (
	TypeText                      EventType = "text"
	TypeFile                      EventType = "file"
	TypeTurnStart                 EventType = "turn-start"
	TypeTurnEnd                   EventType = "turn-end"
	TypeToolCallStart             EventType = "tool-call-start"
	TypeToolCallEnd               EventType = "tool-call-end"
	TypeService                   EventType = "service"
	TypeSubagentStart             EventType = "subagent-start"
	TypeSubagentStop              EventType = "subagent-stop"
	TypeSessionControlChanged     EventType = "session-control-changed"
	TypePermissionRequest         EventType = "permission-request"
	TypePermissionResponse        EventType = "permission-response"
	TypeAbort                     EventType = "abort"
	TypeAgentConfigurationChanged EventType = "agent-configuration-changed"
)

// EventTypes lists the 14 types in the order of the draft.
func EventTypes() []EventType {
	return []EventType{
		TypeText, TypeFile, TypeTurnStart, TypeTurnEnd, TypeToolCallStart, TypeToolCallEnd, TypeService,
		TypeSubagentStart, TypeSubagentStop, TypeSessionControlChanged, TypePermissionRequest,
		TypePermissionResponse, TypeAbort, TypeAgentConfigurationChanged,
	}
}

// Event is the body of an envelope: one of the 14 structs of this package or an
// Unknown, always as a value, never as a pointer.
type Event interface {
	// EventType is the member "t".
	EventType() EventType
}

// Text is a message of the user or the agent, in markdown.
type Text struct {
	Text string `json:"text"`
	// Thinking marks internal reasoning. Agent only.
	Thinking bool `json:"thinking,omitzero"`
	// Steer marks a message meant for the running turn. User only.
	Steer bool `json:"steer,omitzero"`
	// Refs are files attached to the message (extended).
	Refs  []FileRef      `json:"refs,omitempty"`
	Extra jsontext.Value `json:",embed"`
}

// FileRef names an attached file.
type FileRef struct {
	Ref  string `json:"ref"`
	Name string `json:"name,omitzero"`
	// Size is in bytes.
	Size int64 `json:"size,omitzero"`
	// MIME is the media type, empty when not known.
	MIME  string         `json:"mime,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// File is a file that the user or the agent put into the conversation.
type File struct {
	// Ref is the server's upload id.
	Ref string `json:"ref"`
	// Name is for display.
	Name string `json:"name"`
	// Size is in bytes.
	Size  int64          `json:"size"`
	Image *Image         `json:"image,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// Image describes a file that is a picture. Sides are in pixels.
type Image struct {
	Width  int `json:"width"`
	Height int `json:"height"`
	// Thumbhash is the base64 ThumbHash placeholder.
	Thumbhash string         `json:"thumbhash"`
	Extra     jsontext.Value `json:",embed"`
}

// TurnStart opens a turn and says that the agent picked the message up.
type TurnStart struct {
	Extra jsontext.Value `json:",embed"`
}

// TurnStatus is the outcome of a turn.
type TurnStatus string

// The three outcomes.
const (
	TurnCompleted TurnStatus = "completed"
	TurnFailed    TurnStatus = "failed"
	TurnCancelled TurnStatus = "cancelled"
)

// TurnEnd closes a turn. It is the ready signal.
type TurnEnd struct {
	Status TurnStatus `json:"status"`
	Usage  *Usage     `json:"usage,omitzero"`
	// Error says why a turn failed (extended).
	Error *Error `json:"error,omitzero"`
	// Model is the model that answered (extended).
	Model string         `json:"model,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// Usage is what one turn consumed, never a running total. Counts are tokens.
type Usage struct {
	// InputTokens includes tokens read from and written to a cache.
	InputTokens  int64 `json:"inputTokens"`
	OutputTokens int64 `json:"outputTokens"`
	// Cost is in USD, nil when not known (strict writes 0 then).
	Cost *float64 `json:"cost,omitzero"`
	// The rest is extended.
	ReasoningTokens  int64          `json:"reasoningTokens,omitzero"`
	CacheReadTokens  int64          `json:"cacheReadTokens,omitzero"`
	CacheWriteTokens int64          `json:"cacheWriteTokens,omitzero"`
	Extra            jsontext.Value `json:",embed"`
}

// Error is a failure with a code from the documented list in codes.go.
type Error struct {
	Code    ErrorCode      `json:"code,omitzero"`
	Message string         `json:"message"`
	Extra   jsontext.Value `json:",embed"`
}

// ToolCallStart announces a tool call.
type ToolCallStart struct {
	// Call is unique in the session.
	Call string `json:"call"`
	// Name is the canonical tool name: lower case, hyphens.
	Name string `json:"name"`
	// Title is a short summary, Description says more; inline markdown, never empty.
	Title       string `json:"title"`
	Description string `json:"description"`
	// Args is the tool's input, always a JSON object.
	Args jsontext.Value `json:"args"`
	// Native is the agent's own name of the tool (extended).
	Native string         `json:"native,omitzero"`
	Extra  jsontext.Value `json:",embed"`
}

// NativeUserShell is the Native of a call that is no tool call of the agent but
// a command that the host ran for the user (`!cmd`). Its Args are {"command"},
// its Result.Output is {"exitCode", "output"}; the session contract shows it as
// a shell message.
const NativeUserShell = "!"

// ToolCallEnd closes a tool call.
type ToolCallEnd struct {
	Call string `json:"call"`
	// Result is the outcome (extended), nil when not known.
	Result *ToolResult    `json:"result,omitzero"`
	Extra  jsontext.Value `json:",embed"`
}

// ToolStatus is the outcome of a tool call.
type ToolStatus string

// The three outcomes of a tool call.
const (
	ToolCompleted ToolStatus = "completed"
	ToolError     ToolStatus = "error"
	ToolCancelled ToolStatus = "cancelled"
)

// ToolResult is what a tool call gave.
type ToolResult struct {
	Status ToolStatus `json:"status"`
	// Output is any JSON, nil when the tool gave none.
	Output jsontext.Value `json:"output,omitzero"`
	Error  string         `json:"error,omitzero"`
	// Files are the changes the call made, one unified diff per file.
	Files []FileDiff `json:"files,omitempty"`
	// Truncated says that Output was cut; the native log has it whole.
	Truncated bool           `json:"truncated,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}

// ChangeStatus classifies a file's change.
type ChangeStatus string

// The four kinds of change.
const (
	ChangeAdded    ChangeStatus = "added"
	ChangeModified ChangeStatus = "modified"
	ChangeDeleted  ChangeStatus = "deleted"
	ChangeRenamed  ChangeStatus = "renamed"
)

// FileDiff is one file's change as unified-diff text; the same shape as
// session.FileDiff.
type FileDiff struct {
	Path      string         `json:"path"`
	OldPath   string         `json:"oldPath,omitzero"`
	Status    ChangeStatus   `json:"status"`
	Patch     string         `json:"patch"`
	Additions int            `json:"additions,omitzero"`
	Deletions int            `json:"deletions,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}

// ServiceKind classifies a service message.
type ServiceKind string

// The five kinds.
const (
	ServiceNotice     ServiceKind = "notice"
	ServiceError      ServiceKind = "error"
	ServiceRetry      ServiceKind = "retry"
	ServiceReconnect  ServiceKind = "reconnect"
	ServiceCompaction ServiceKind = "compaction"
)

// Service is a message of the system, not of the model.
type Service struct {
	Text string `json:"text"`
	// Kind and Code are extended.
	Kind  ServiceKind    `json:"kind,omitzero"`
	Code  ErrorCode      `json:"code,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// SubagentStart says that a sub-agent began.
type SubagentStart struct {
	// AgentID is the host's cuid2 of the sub-agent.
	AgentID string `json:"agentId"`
	Title   string `json:"title,omitzero"`
	// Call is the tool call that spawned it (extended).
	Call  string         `json:"call,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// SubagentStop says that a sub-agent is done.
type SubagentStop struct {
	AgentID string         `json:"agentId"`
	Extra   jsontext.Value `json:",embed"`
}

// ClientType is what holds control of a session.
type ClientType string

// The four client types.
const (
	ClientCLI     ClientType = "cli"
	ClientPhone   ClientType = "phone"
	ClientBrowser ClientType = "browser"
	ClientDaemon  ClientType = "daemon"
)

// SessionControlChanged says who took control.
type SessionControlChanged struct {
	ClientType ClientType     `json:"clientType"`
	TokenID    string         `json:"tokenId,omitzero"`
	Extra      jsontext.Value `json:",embed"`
}

// PermissionRequest asks a person to let a tool call run, or, with Question
// set, to answer a question of the agent.
type PermissionRequest struct {
	Call        string         `json:"call"`
	ToolName    string         `json:"toolName"`
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Args        jsontext.Value `json:"args"`
	// The rest is extended. Options are the decisions this ask takes.
	Options []PermissionOption `json:"options,omitempty"`
	// Patterns are what this ask covers, Always what allow-always would cover.
	Patterns []string       `json:"patterns,omitempty"`
	Always   []string       `json:"always,omitempty"`
	Question *Question      `json:"question,omitzero"`
	Extra    jsontext.Value `json:",embed"`
}

// PermissionOption is one possible answer.
type PermissionOption struct {
	Decision Decision       `json:"decision"`
	Label    string         `json:"label"`
	Extra    jsontext.Value `json:",embed"`
}

// Question is what an agent asks a person, as one form.
type Question struct {
	// Message introduces the form, may be empty.
	Message   string          `json:"message,omitzero"`
	Questions []QuestionField `json:"questions"`
	Extra     jsontext.Value  `json:",embed"`
}

// QuestionField is one question of a form.
type QuestionField struct {
	// ID is the key of the answer in PermissionResponse.Answers.
	ID       string           `json:"id"`
	Header   string           `json:"header,omitzero"`
	Question string           `json:"question"`
	Options  []QuestionOption `json:"options,omitempty"`
	// Multiple allows several options, Custom a free text.
	Multiple bool `json:"multiple,omitzero"`
	Custom   bool `json:"custom,omitzero"`
	// Secret answers are never journaled.
	Secret bool `json:"secret,omitzero"`
	// Required fields must be answered.
	Required bool `json:"required,omitzero"`
	// Schema is the JSON Schema of the answer when the agent gave one.
	Schema jsontext.Value `json:"schema,omitzero"`
	Extra  jsontext.Value `json:",embed"`
}

// QuestionOption is one choice; Value is the answer it stands for, Label when empty.
type QuestionOption struct {
	Label       string         `json:"label"`
	Description string         `json:"description,omitzero"`
	Value       string         `json:"value,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// Decision is the answer to a permission request.
type Decision string

// The four decisions.
const (
	AllowOnce    Decision = "allow-once"
	AllowAlways  Decision = "allow-always"
	RejectOnce   Decision = "reject-once"
	RejectAlways Decision = "reject-always"
)

// Allows reports whether the tool may run.
func (d Decision) Allows() bool { return d == AllowOnce || d == AllowAlways }

// Resolver says what kind of party decided.
type Resolver string

// The resolvers.
const (
	ByPolicy     Resolver = "policy"
	ByRemembered Resolver = "remembered"
	ByClient     Resolver = "client"
	ByTimeout    Resolver = "timeout"
	ByTurnEnd    Resolver = "turn-end"
	ByExit       Resolver = "exit"
	ByHost       Resolver = "host"
)

// DecisionBy says who decided.
type DecisionBy struct {
	Resolver Resolver `json:"resolver"`
	// Rule is the policy rule or grant, in its own syntax.
	Rule       string         `json:"rule,omitzero"`
	ClientType ClientType     `json:"clientType,omitzero"`
	TokenID    string         `json:"tokenId,omitzero"`
	Extra      jsontext.Value `json:",embed"`
}

// PermissionResponse is the decision for the request of the same call.
type PermissionResponse struct {
	Call     string   `json:"call"`
	Decision Decision `json:"decision"`
	// The rest is extended.
	By *DecisionBy `json:"by,omitzero"`
	// Message is feedback to the agent.
	Message string `json:"message,omitzero"`
	// Answers is an object from QuestionField.ID to the answer.
	Answers jsontext.Value `json:"answers,omitzero"`
	// Args replace the tool's input.
	Args  jsontext.Value `json:"args,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// Abort says that the user pressed stop.
type Abort struct {
	Extra jsontext.Value `json:",embed"`
}

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
	PermissionMode PermissionMode `json:"permissionMode,omitzero"`
	Model          string         `json:"model,omitzero"`
	ThinkingLevel  string         `json:"thinkingLevel,omitzero"`
	Sandbox        *bool          `json:"sandbox,omitzero"`
	// Agent and From are extended: the new agent, and what was before.
	Agent string             `json:"agent,omitzero"`
	From  *ConfigurationFrom `json:"from,omitzero"`
	Extra jsontext.Value     `json:",embed"`
}

// ConfigurationFrom is the configuration before a change.
type ConfigurationFrom struct {
	PermissionMode PermissionMode `json:"permissionMode,omitzero"`
	Model          string         `json:"model,omitzero"`
	ThinkingLevel  string         `json:"thinkingLevel,omitzero"`
	Sandbox        *bool          `json:"sandbox,omitzero"`
	Agent          string         `json:"agent,omitzero"`
	Extra          jsontext.Value `json:",embed"`
}

// Unknown is an event whose type this version does not know. Body is the whole
// "ev" object, kept byte for byte.
type Unknown struct {
	T    EventType
	Body jsontext.Value
}

// EventType implements Event.
func (Text) EventType() EventType                      { return TypeText }
func (File) EventType() EventType                      { return TypeFile }
func (TurnStart) EventType() EventType                 { return TypeTurnStart }
func (TurnEnd) EventType() EventType                   { return TypeTurnEnd }
func (ToolCallStart) EventType() EventType             { return TypeToolCallStart }
func (ToolCallEnd) EventType() EventType               { return TypeToolCallEnd }
func (Service) EventType() EventType                   { return TypeService }
func (SubagentStart) EventType() EventType             { return TypeSubagentStart }
func (SubagentStop) EventType() EventType              { return TypeSubagentStop }
func (SessionControlChanged) EventType() EventType     { return TypeSessionControlChanged }
func (PermissionRequest) EventType() EventType         { return TypePermissionRequest }
func (PermissionResponse) EventType() EventType        { return TypePermissionResponse }
func (Abort) EventType() EventType                     { return TypeAbort }
func (AgentConfigurationChanged) EventType() EventType { return TypeAgentConfigurationChanged }
func (u Unknown) EventType() EventType                 { return u.T }
