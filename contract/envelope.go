package contract

import "encoding/json/jsontext"

// Role says who produced an event.
type Role string

// The two roles of the draft.
const (
	RoleUser  Role = "user"
	RoleAgent Role = "agent"
)

// Envelope is one item of a session's stream. It is a value: copying it is
// cheap, and nobody changes one after it was stamped.
type Envelope struct {
	// ID is a cuid2, globally unique and never reused.
	ID string
	// Time is Unix time in milliseconds, never decreasing within a session.
	Time int64
	// Role is the producer.
	Role Role
	// Turn is the id set up by turn-start: a cuid2, empty outside turns.
	Turn string
	// Subagent is the agentId of the subagent-start this envelope belongs to,
	// empty for the main agent.
	Subagent string
	// Origin is the native message or item id (extended profile): the point
	// that rewind and fork name. Empty when the agent has none.
	Origin string
	// Event is the body. It is never nil in a decoded envelope; a type this
	// version does not know is an Unknown.
	Event Event
	// Extra holds the members this version does not know as one JSON object,
	// nil when there are none.
	Extra jsontext.Value
}
