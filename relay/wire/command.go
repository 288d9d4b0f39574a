package wire

import (
	"encoding/json/jsontext"

	"github.com/agenthost/agenthost/contract"
)

// Caller is who makes a call, as the side that authenticated it knows. A relay adds
// it to what it passes on to a host; from viewers it is not taken.
type Caller struct {
	TokenID    string              `json:"tokenId"`
	ClientType contract.ClientType `json:"clientType"`
	Scope      Scope               `json:"scope"`
	// Name is the token's name, for people.
	Name string `json:"name,omitzero"`
	// Local is set on the machine of the host itself. No relay sets it.
	Local bool `json:"-"`
}

// Command is what a relay passes on to a host: the method's params and who calls.
// It is the params of the method with a member "caller" beside them.
type Command struct {
	Caller Caller `json:"caller"`
	// Params are the method's own params.
	Params jsontext.Value `json:"params"`
}

// SpawnParams start a session. ID makes it idempotent: a session of that id which
// exists already is the answer.
type SpawnParams struct {
	// Host may be empty when there is only one.
	Host string `json:"host,omitzero"`
	// ID is a fresh cuid2; one is made when it is empty.
	ID    string `json:"id,omitzero"`
	Agent string `json:"agent"`
	// Dir is absolute, on the host.
	Dir      string   `json:"dir"`
	Dirs     []string `json:"dirs,omitempty"`
	Title    string   `json:"title,omitzero"`
	Model    string   `json:"model,omitzero"`
	Mode     string   `json:"mode,omitzero"`
	Thinking string   `json:"thinking,omitzero"`
	Sandbox  bool     `json:"sandbox,omitzero"`
	// SystemPrompt is added to the agent's own.
	SystemPrompt string  `json:"systemPrompt,omitzero"`
	MaxTurns     int     `json:"maxTurns,omitzero"`
	BudgetUSD    float64 `json:"budgetUsd,omitzero"`
	// Resume is a native session of the agent to go on with, Fork a session of ours
	// or a native one to fork, ForkAt the native message at which.
	Resume string `json:"resume,omitzero"`
	Fork   string `json:"fork,omitzero"`
	ForkAt string `json:"forkAt,omitzero"`
	// Prompt begins the first turn.
	Prompt *SendParams `json:"prompt,omitempty"`
	// Args are arguments for the agent; of pty they are its command. They are taken on
	// the host's own machine only.
	Args []string `json:"args,omitempty"`
	// Face is how the agent is started, headless when empty; Cols and Rows the size of
	// its screen in FaceTerminal, 80 and 24 when 0.
	Face Face `json:"face,omitzero"`
	Cols int  `json:"cols,omitzero"`
	Rows int  `json:"rows,omitzero"`
	// Term and ColorTerm are TERM and COLORTERM of the terminal that shows the screen
	// from the start.
	Term      string `json:"term,omitzero"`
	ColorTerm string `json:"colorTerm,omitzero"`
	// Env is the environment that the agent is started from, until the daemon ends. It is
	// taken over the daemon's own socket only (CodeForbidden else). With the ID of a
	// session that exists it holds from the next start on.
	Env *Environment `json:"env,omitempty"`
}

// SessionResult answers what makes or changes a session.
type SessionResult struct {
	Session Session `json:"session"`
}

// Admission says what becomes of a message while a turn runs.
type Admission string

// The admissions. Steer goes to the running turn, and is CodeUnsupported where the
// agent cannot take it, unless Fallback is AdmitQueue.
const (
	AdmitQueue Admission = "queue"
	AdmitSteer Admission = "steer"
)

// SendParams are a message. ID makes it idempotent.
type SendParams struct {
	Session string `json:"session,omitzero"`
	// ID is the envelope's id, a fresh cuid2; one is made when it is empty.
	ID        string    `json:"id,omitzero"`
	Text      string    `json:"text"`
	Files     []FileRef `json:"files,omitempty"`
	Admission Admission `json:"admission,omitzero"`
	Fallback  Admission `json:"fallback,omitzero"`
	// Queue lets a relay keep the message while the host is away.
	Queue bool `json:"queue,omitzero"`
}

// FileRef names an uploaded file.
type FileRef struct {
	Ref      string `json:"ref"`
	Name     string `json:"name,omitzero"`
	MimeType string `json:"mimeType,omitzero"`
}

// SentResult answers what writes a user envelope.
type SentResult struct {
	// ID is the envelope's id.
	ID string `json:"id"`
	// Session is the full id of the session that took it.
	Session string `json:"session"`
	// Kept is set when the host is away and the relay keeps the message for it.
	Kept bool `json:"kept,omitzero"`
}

// AbortParams end the running turn.
type AbortParams struct {
	Session string `json:"session"`
	ID      string `json:"id,omitzero"`
}

// DecideParams answer a permission request or a question.
type DecideParams struct {
	Session string `json:"session"`
	ID      string `json:"id,omitzero"`
	Call    string `json:"call"`
	// Nonce is that of the ask which the person saw. Another one is CodeStale, and
	// the ask is offered anew. Empty takes the ask of that call.
	Nonce    string            `json:"nonce,omitzero"`
	Decision contract.Decision `json:"decision"`
	Message  string            `json:"message,omitzero"`
	Args     jsontext.Value    `json:"args,omitempty"`
	Answers  jsontext.Value    `json:"answers,omitempty"`
	// Scope is what allow-always is remembered for: session, project, user; TTLMS
	// for how long in milliseconds, 0 for ever.
	Scope string `json:"scope,omitzero"`
	TTLMS int64  `json:"ttlMs,omitzero"`
}

// Ask is an open permission request or question.
type Ask struct {
	Session string `json:"session"`
	Call    string `json:"call"`
	Nonce   string `json:"nonce"`
	// Opened and Deadline are Unix ms; Deadline is 0 for none.
	Opened   int64 `json:"opened"`
	Deadline int64 `json:"deadline,omitzero"`
	// Request is the event as it stands in the stream.
	Request jsontext.Value `json:"request"`
	// Why says which rule or mode left it to people.
	Why string `json:"why,omitzero"`
}

// AsksResult are the open asks, the oldest first.
type AsksResult struct {
	Asks []Ask `json:"asks"`
}

// ConfigureParams change what they name; the answer comes when the agent confirmed
// it. Expect, when not 0, is the version of the metadata it is based on.
type ConfigureParams struct {
	Session        string                  `json:"session"`
	ID             string                  `json:"id,omitzero"`
	Expect         int64                   `json:"expect,omitzero"`
	Model          string                  `json:"model,omitzero"`
	PermissionMode contract.PermissionMode `json:"permissionMode,omitzero"`
	ThinkingLevel  string                  `json:"thinkingLevel,omitzero"`
	Sandbox        *bool                   `json:"sandbox,omitempty"`
}

// ControlParams take control of a session for the caller, and may hand the session
// over to the agent's other face.
type ControlParams struct {
	Session string `json:"session"`
	ID      string `json:"id,omitzero"`
	// ClientType is what the caller takes control as; its own when empty.
	ClientType contract.ClientType `json:"clientType,omitzero"`
	// Face is the face that the agent is to have, empty for the one it has. It is
	// started anew with its own session; while a turn runs, an ask is open or something
	// works in the background that is CodeBusy, unless Force, which aborts first.
	Face  Face `json:"face,omitzero"`
	Force bool `json:"force,omitzero"`
}

// OpParams run an operation of the agent: rewind, fork, stash, …
type OpParams struct {
	Session string         `json:"session"`
	Name    string         `json:"name"`
	Params  jsontext.Value `json:"params,omitempty"`
}

// OpResult has the agent's raw result. Session is set when the operation made a new
// session.
type OpResult struct {
	Result  jsontext.Value `json:"result,omitempty"`
	Session *Session       `json:"session,omitempty"`
}

// UpdateParams change metadata that people own, by compare and swap: Expect is the
// version they saw, another one is CodeConflict with the current metadata.
type UpdateParams struct {
	Session  string  `json:"session"`
	Expect   int64   `json:"expect"`
	Title    *string `json:"title,omitempty"`
	Archived *bool   `json:"archived,omitempty"`
}

// StopParams end a session's agent; the session can be gone on with.
type StopParams struct {
	Session string `json:"session"`
	// Force kills at once.
	Force bool `json:"force,omitzero"`
}
