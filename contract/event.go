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
