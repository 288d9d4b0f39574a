package contract

import "encoding/json/jsontext"

// PermissionRequest asks a person to let a tool call run, or, with Question
// set, to answer a question of the agent.
type PermissionRequest struct {
	// Call is the open tool call that asks.
	Call string `json:"call"`
	// ToolName is the canonical tool name.
	ToolName string `json:"toolName"`
	// Title is a short summary in inline markdown, never empty.
	Title string `json:"title"`
	// Description says more, in inline markdown, never empty.
	Description string `json:"description"`
	// Args is the tool's input, always a JSON object.
	Args jsontext.Value `json:"args"`
	// Options are the decisions this ask takes, none for all four. Extended.
	Options []PermissionOption `json:"options,omitempty"`
	// Patterns are what this ask covers. Extended.
	Patterns []string `json:"patterns,omitempty"`
	// Always is what allow-always would cover. Extended.
	Always []string `json:"always,omitempty"`
	// Question is set when the agent asks a question. Extended.
	Question *Question `json:"question,omitzero"`
	// Nonce is of this showing of the request: a response that names another one is
	// about something else. Extended.
	Nonce string         `json:"nonce,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// PermissionOption is one possible answer.
type PermissionOption struct {
	// Decision is what this option stands for.
	Decision Decision `json:"decision"`
	// Label is for people.
	Label string         `json:"label"`
	Extra jsontext.Value `json:",embed"`
}

// Question is what an agent asks a person, as one form.
type Question struct {
	// Message introduces the form, may be empty.
	Message string `json:"message,omitzero"`
	// Questions are the fields of the form, at least one.
	Questions []QuestionField `json:"questions"`
	Extra     jsontext.Value  `json:",embed"`
}

// QuestionField is one question of a form.
type QuestionField struct {
	// ID is the key of the answer in PermissionResponse.Answers.
	ID string `json:"id"`
	// Header is a short label.
	Header string `json:"header,omitzero"`
	// Question is the text.
	Question string `json:"question"`
	// Options are the choices, none for a free text.
	Options []QuestionOption `json:"options,omitempty"`
	// Multiple allows several options.
	Multiple bool `json:"multiple,omitzero"`
	// Custom allows a free text beside the options.
	Custom bool `json:"custom,omitzero"`
	// Secret says that the answer is never journaled.
	Secret bool `json:"secret,omitzero"`
	// Required says that the field must be answered.
	Required bool `json:"required,omitzero"`
	// Schema is the JSON Schema of the answer when the agent gave one.
	Schema jsontext.Value `json:"schema,omitzero"`
	Extra  jsontext.Value `json:",embed"`
}

// QuestionOption is one choice; Value is the answer it stands for, Label when empty.
type QuestionOption struct {
	// Label is for people.
	Label string `json:"label"`
	// Description says more.
	Description string `json:"description,omitzero"`
	// Value is the answer this choice stands for, the label when empty.
	Value string         `json:"value,omitzero"`
	Extra jsontext.Value `json:",embed"`
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
	// Resolver is the kind of party.
	Resolver Resolver `json:"resolver"`
	// Rule is the policy rule or grant, in its own syntax.
	Rule string `json:"rule,omitzero"`
	// ClientType is the kind of client that decided.
	ClientType ClientType `json:"clientType,omitzero"`
	// TokenID identifies the client's device or session.
	TokenID string         `json:"tokenId,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// PermissionResponse is the decision for the request of the same call.
type PermissionResponse struct {
	// Call is the one of the request.
	Call string `json:"call"`
	// Decision is the answer.
	Decision Decision `json:"decision"`
	// By says who decided. Extended.
	By *DecisionBy `json:"by,omitzero"`
	// Message is feedback to the agent. Extended.
	Message string `json:"message,omitzero"`
	// Answers is an object from QuestionField.ID to the answer. Extended.
	Answers jsontext.Value `json:"answers,omitzero"`
	// Args replace the tool's input. Extended.
	Args jsontext.Value `json:"args,omitzero"`
	// Nonce is that of the request as it was shown, empty for the one that is open.
	// Extended.
	Nonce string         `json:"nonce,omitzero"`
	Extra jsontext.Value `json:",embed"`
}
