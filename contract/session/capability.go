package session

// Capability advertises an optional agent behavior. Clients render or hide
// affordances based on the set an adapter reports (design 0049 §4.2/§4.6).
// Agent-specific operations (rewind/fork/stash) are pass-through until a second
// adapter validates a typed result shape.
type Capability string

// The values of Capability.
const (
	CapSteer     Capability = "steer"
	CapQueue     Capability = "queue"
	CapRewind    Capability = "rewind"
	CapFork      Capability = "fork"
	CapStash     Capability = "stash"
	CapDiff      Capability = "diff"
	CapReasoning Capability = "reasoning"
)
