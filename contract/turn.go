package contract

import "encoding/json/jsontext"

// TurnStart opens a turn and says that the agent picked the message up.
type TurnStart struct {
	// Prompts are the user texts that the turn takes up, by the ids of their
	// envelopes; none for a turn that nobody prompted. Extended.
	Prompts []string       `json:"prompts,omitempty"`
	Extra   jsontext.Value `json:",embed"`
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
	// Status is the outcome.
	Status TurnStatus `json:"status"`
	// Usage is what this turn alone consumed, nil when not known.
	Usage *Usage `json:"usage,omitzero"`
	// Error says why a turn failed. Extended.
	Error *Error `json:"error,omitzero"`
	// Model is the model that answered. Extended.
	Model string         `json:"model,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// Usage is what one turn consumed, never a running total. Counts are tokens.
type Usage struct {
	// InputTokens includes tokens read from and written to a cache.
	InputTokens int64 `json:"inputTokens"`
	// OutputTokens includes reasoning.
	OutputTokens int64 `json:"outputTokens"`
	// Cost is in USD, nil when not known. The strict profile writes 0 then.
	Cost *float64 `json:"cost,omitzero"`
	// ReasoningTokens is the part of OutputTokens that was reasoning. Extended.
	ReasoningTokens int64 `json:"reasoningTokens,omitzero"`
	// CacheReadTokens is the part of InputTokens that came from a cache. Extended.
	CacheReadTokens int64 `json:"cacheReadTokens,omitzero"`
	// CacheWriteTokens is the part of InputTokens that went to a cache. Extended.
	CacheWriteTokens int64          `json:"cacheWriteTokens,omitzero"`
	Extra            jsontext.Value `json:",embed"`
}

// Error is a failure with a code from the documented list in codes.go.
type Error struct {
	// Code is one of the codes that agenthost knows, or an unknown one.
	Code ErrorCode `json:"code,omitzero"`
	// Message is for people.
	Message string         `json:"message"`
	Extra   jsontext.Value `json:",embed"`
}
