package contract

import "encoding/json/jsontext"

// ToolCallStart announces a tool call.
type ToolCallStart struct {
	// Call is unique in the session.
	Call string `json:"call"`
	// Name is the canonical tool name: lower case, hyphens.
	Name string `json:"name"`
	// Title is a short summary in inline markdown, never empty.
	Title string `json:"title"`
	// Description says more, in inline markdown, never empty.
	Description string `json:"description"`
	// Args is the tool's input, always a JSON object.
	Args jsontext.Value `json:"args"`
	// Native is the agent's own name of the tool. Extended.
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
	// Call is the one of the tool-call-start.
	Call string `json:"call"`
	// Result is the outcome, nil when not known. Extended.
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
	// Status is the outcome.
	Status ToolStatus `json:"status"`
	// Output is any JSON, absent when the tool gave none.
	Output jsontext.Value `json:"output,omitzero"`
	// Error says why the call failed.
	Error string `json:"error,omitzero"`
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
	// Path is the file, after the change.
	Path string `json:"path"`
	// OldPath is where a renamed file was.
	OldPath string `json:"oldPath,omitzero"`
	// Status is the kind of change.
	Status ChangeStatus `json:"status"`
	// Patch is unified-diff text.
	Patch string `json:"patch"`
	// Additions counts added lines.
	Additions int `json:"additions,omitzero"`
	// Deletions counts removed lines.
	Deletions int            `json:"deletions,omitzero"`
	Extra     jsontext.Value `json:",embed"`
}
