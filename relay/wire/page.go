package wire

import "encoding/json/jsontext"

// EnvelopesPage is a part of a stream over HTTP. Null is an envelope that is damaged,
// or has no place in the profile.
type EnvelopesPage struct {
	// Position is that of the first envelope here; higher than asked for when older
	// ones are no longer kept.
	Position Position `json:"position"`
	// Next is where to go on from.
	Next Position `json:"next"`
	// Oldest and End are the positions of the first envelope kept and of the next
	// one to come.
	Oldest    Position         `json:"oldest"`
	End       Position         `json:"end"`
	Envelopes []jsontext.Value `json:"envelopes"`
}

// EventsPage is a part of a stream over HTTP, as events of the session contract: those
// of the envelopes from Position to before Next.
type EventsPage struct {
	Position Position         `json:"position"`
	Next     Position         `json:"next"`
	Oldest   Position         `json:"oldest"`
	End      Position         `json:"end"`
	Events   []jsontext.Value `json:"events"`
}

// TranscriptResult is a transcript over HTTP. Next is the position of the first
// envelope that is not in it: to follow from there, ask for events from Next on.
type TranscriptResult struct {
	Session    Session        `json:"session"`
	Next       Position       `json:"next"`
	Transcript jsontext.Value `json:"transcript"`
}
