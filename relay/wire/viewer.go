package wire

import "encoding/json/jsontext"

// HostsResult answers hosts.list.
type HostsResult struct {
	Hosts []Host `json:"hosts"`
}

// SessionsParams narrow sessions.list and sessions.subscribe; empty members do not.
type SessionsParams struct {
	Host string `json:"host,omitzero"`
	// Dir is a working directory, exactly.
	Dir string `json:"dir,omitzero"`
}

// SessionsResult is the list, the newest first. Of sessions.subscribe it is the list
// as it was when the sessions.changed that follow begin.
type SessionsResult struct {
	Sessions []Session `json:"sessions"`
	// Subscription names the pushes; empty for sessions.list.
	Subscription string `json:"subscription,omitzero"`
}

// SessionsPush tells of one session that came, changed or went, or of a host.
type SessionsPush struct {
	Subscription string   `json:"subscription"`
	Session      *Session `json:"session,omitempty"`
	// Removed is the id of a session that is gone.
	Removed string `json:"removed,omitzero"`
	Host    *Host  `json:"host,omitempty"`
}

// SessionRef names a session: its id, a unique prefix of at least four characters, the
// agent's own id, or "last" for the one that was changed last.
type SessionRef struct {
	Session string `json:"session"`
}

// Format is what a subscription gives.
type Format string

// The formats: v2 envelopes, or events of the session contract.
const (
	FormatEnvelopes Format = "envelopes"
	FormatEvents    Format = "events"
)

// FromEnd as From means: only what comes from now on.
const FromEnd Position = -1

// SubscribeParams begin a subscription: all envelopes from a position on, then those
// to come, without a gap between the two.
type SubscribeParams struct {
	Session string `json:"session"`
	// From is the first position wanted; FromEnd for none of the old ones. With
	// FormatEvents it is that of the last snapshot or event the viewer has, or 0.
	From   Position `json:"from"`
	Format Format   `json:"format,omitzero"`
	// Profile is extended or strict; extended when empty.
	Profile string `json:"profile,omitzero"`
	// Snapshot asks, with FormatEvents, for the transcript as it is now in place of
	// the events that made it.
	Snapshot bool `json:"snapshot,omitzero"`
	// Live asks for deltas and re-offered asks.
	Live bool `json:"live,omitzero"`
}

// SubscribeResult comes before the first push.
type SubscribeResult struct {
	Subscription string  `json:"subscription"`
	Session      Session `json:"session"`
	// Next is the position of the first envelope that the pushes give, or for
	// FormatEvents of the first one whose events they give.
	Next Position `json:"next"`
	// Transcript is the snapshot, as contract/session/fold encodes it.
	Transcript jsontext.Value `json:"transcript,omitempty"`
}

// UnsubscribeParams end a subscription of this connection.
type UnsubscribeParams struct {
	Subscription string `json:"subscription"`
}

// EnvelopesPush are envelopes one after the other, byte for byte as the journal has
// them. With the strict profile what has no place in it is null.
type EnvelopesPush struct {
	Subscription string           `json:"subscription"`
	Session      string           `json:"session"`
	Position     Position         `json:"position"`
	Envelopes    []jsontext.Value `json:"envelopes"`
}

// EventsPush are the events of the envelopes from Position to before Next.
type EventsPush struct {
	Subscription string           `json:"subscription"`
	Session      string           `json:"session"`
	Position     Position         `json:"position"`
	Next         Position         `json:"next"`
	Events       []jsontext.Value `json:"events"`
}

// LivePush is what passes. With FormatEvents Events has the part.start and part.delta
// events, and Items only asks.
type LivePush struct {
	Subscription string           `json:"subscription"`
	Session      string           `json:"session"`
	Items        []Live           `json:"items,omitempty"`
	Events       []jsontext.Value `json:"events,omitempty"`
}

// ChangedPush has the new metadata of a subscribed session.
type ChangedPush struct {
	Subscription string  `json:"subscription"`
	Session      Session `json:"session"`
}

// ResetPush tells of a gap: envelopes before Oldest are no longer kept. The pushes go
// on from there.
type ResetPush struct {
	Subscription string   `json:"subscription"`
	Session      string   `json:"session"`
	Oldest       Position `json:"oldest"`
}

// EndedPush ends a subscription: the session was removed, or Error happened.
type EndedPush struct {
	Subscription string `json:"subscription"`
	Session      string `json:"session"`
	Error        *Error `json:"error,omitempty"`
}
