package contract

import "encoding/json/jsontext"

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
	// Text is for people.
	Text string `json:"text"`
	// Kind classifies the message. Extended.
	Kind ServiceKind `json:"kind,omitzero"`
	// Code names a failure. Extended.
	Code  ErrorCode      `json:"code,omitzero"`
	Extra jsontext.Value `json:",embed"`
}
