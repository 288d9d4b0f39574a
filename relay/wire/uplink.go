package wire

import "encoding/json/jsontext"

// Hello begins a connection: each side lists what it speaks. It is host.hello and
// viewer.hello; a viewer may do without.
type Hello struct {
	// Protocols are the versions spoken, the best first.
	Protocols []string `json:"protocols"`
	// Features are optional parts; unknown ones are ignored.
	Features []string `json:"features,omitempty"`
	// Client names the program.
	Client Program `json:"client,omitzero"`
	// ClientType is what a viewer is: cli, mobile, browser, daemon.
	ClientType string `json:"clientType,omitzero"`
	// Host is set by a host.
	Host *Host `json:"host,omitempty"`
}

// Program is a program and its version.
type Program struct {
	Name    string `json:"name"`
	Version string `json:"version,omitzero"`
}

// Welcome answers a Hello. For a host it is the acknowledged registration: commands
// may come from now on.
type Welcome struct {
	// Protocol is the version chosen.
	Protocol string   `json:"protocol"`
	Features []string `json:"features,omitempty"`
	Server   Program  `json:"server"`
	Limits   Limits   `json:"limits"`
	Scopes   []Scope  `json:"scopes,omitempty"`
	TokenID  string   `json:"tokenId,omitzero"`
	// Time is the server's clock, Unix ms.
	Time int64 `json:"time"`
}

// Limits are what the server takes. Longer messages are sent in several frames
// (package peer).
type Limits struct {
	// FrameBytes is the longest frame, MessageBytes the longest message.
	FrameBytes   int64 `json:"frameBytes"`
	MessageBytes int64 `json:"messageBytes"`
	// Inflight is how many session.append a host may have unanswered.
	Inflight int `json:"inflight"`
}

// OpenParams tell a relay of a session; they are sent again after each connect.
type OpenParams struct {
	Session Session `json:"session"`
}

// OpenResult says where the relay stands.
type OpenResult struct {
	// Next is the position of the first envelope that the relay does not have.
	Next Position `json:"next"`
	// Version is that of the metadata which the relay has.
	Version int64 `json:"version"`
}

// AppendParams are envelopes as the journal has them, one after the other. Those
// before the relay's next position are taken as sent again. A position beyond it
// is CodeGap, whose data has the wanted one.
type AppendParams struct {
	Session   string           `json:"session"`
	Position  Position         `json:"position"`
	Envelopes []jsontext.Value `json:"envelopes"`
	// Reset is set when the host no longer has what lies between the relay's next
	// position and this one, which is then no gap. Viewers are told.
	Reset bool `json:"reset,omitzero"`
}

// AppendResult acknowledges: what lies before Next is stored, on disk.
type AppendResult struct {
	Next Position `json:"next"`
}

// MetadataParams replace a session's metadata. Expect is the version that the relay
// has; another one is CodeConflict, whose data has the current metadata.
type MetadataParams struct {
	Expect  int64   `json:"expect"`
	Session Session `json:"session"`
}

// MetadataResult is the version that is stored now.
type MetadataResult struct {
	Version int64 `json:"version"`
}

// LiveParams are what is never stored.
type LiveParams struct {
	Session string `json:"session"`
	Items   []Live `json:"items"`
}

// Live is something that passes: a piece of text as it is made, or an ask that is
// offered anew. Exactly one member is set.
type Live struct {
	Delta *Delta `json:"delta,omitempty"`
	Ask   *Ask   `json:"ask,omitempty"`
}

// Delta is a piece of a text or of a tool's output as it is made. The envelope that
// follows has the whole.
type Delta struct {
	// At is the position that the next envelope gets.
	At       Position `json:"at"`
	Time     int64    `json:"time"` // Unix ms
	Turn     string   `json:"turn,omitzero"`
	Subagent string   `json:"subagent,omitzero"`
	// Call is the tool call whose output it is, empty for the agent's text.
	Call     string `json:"call,omitzero"`
	Thinking bool   `json:"thinking,omitzero"`
	Text     string `json:"text"`
}

// CloseParams say that a session is over for this host: removed, or not to be told
// of any more. What is stored stays until retention takes it.
type CloseParams struct {
	Session string `json:"session"`
	// Removed is set when its journal is gone at the host.
	Removed bool `json:"removed,omitzero"`
}
