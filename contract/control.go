package contract

import "encoding/json/jsontext"

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
	// ClientType is what took control.
	ClientType ClientType `json:"clientType"`
	// TokenID identifies the device or session, for push notifications.
	TokenID string         `json:"tokenId,omitzero"`
	Extra   jsontext.Value `json:",embed"`
}

// Abort says that the user pressed stop.
type Abort struct {
	Extra jsontext.Value `json:",embed"`
}
