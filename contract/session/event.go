package session

import "time"

// EventType discriminates a streaming Event. The values are pinned in
// event_test.go's TestEventTypeCountMatchesExplicitList.
type EventType string

// The values of EventType.
const (
	EventSessionStatus  EventType = "session.status"
	EventSessionUpdated EventType = "session.updated"
	EventMessageStart   EventType = "message.start"
	EventMessageEnd     EventType = "message.end"
	EventPartStart      EventType = "part.start"
	EventPartDelta      EventType = "part.delta"
	EventPartEnd        EventType = "part.end"
	EventInputRequest   EventType = "input.request"
	EventInputResolved  EventType = "input.resolved"
	EventError          EventType = "error"
)

// Event is one item on a session's streaming event stream. Type selects which
// payload fields are meaningful; the rest are omitted.
type Event struct {
	Type      EventType     `json:"type"`
	Timestamp time.Time     `json:"timestamp"`
	SessionID string        `json:"sessionId,omitempty"`
	MessageID string        `json:"messageId,omitempty"`
	PartID    string        `json:"partId,omitempty"`
	Status    Status        `json:"status,omitempty"`
	Session   *Session      `json:"session,omitempty"`
	Message   *Message      `json:"message,omitempty"`
	Part      *Part         `json:"part,omitempty"`
	Delta     string        `json:"delta,omitempty"`
	Input     *InputRequest `json:"input,omitempty"`
	Error     *Error        `json:"error,omitempty"`
}

// Error is the payload of an error Event (and an assistant Message's Error
// field). It is deliberately NOT a PartType: the part union is capped at 5
// forever (design 0049 §4.1 rule 1); errors flow through the error Event.
type Error struct {
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
}
