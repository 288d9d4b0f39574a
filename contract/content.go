package contract

import "encoding/json/jsontext"

// Text is a message of the user or the agent, in markdown.
type Text struct {
	// Text is markdown.
	Text string `json:"text"`
	// Thinking marks internal reasoning. Agent only.
	Thinking bool `json:"thinking,omitzero"`
	// Steer marks a message meant for the running turn. User only.
	Steer bool `json:"steer,omitzero"`
	// Fallback is what becomes of a steer that the agent cannot take: it is refused
	// when this is empty, and with "queue" it waits as the next prompt. Extended.
	Fallback Fallback `json:"fallback,omitzero"`
	// Refs are files attached to the message. Extended.
	Refs  []FileRef      `json:"refs,omitempty"`
	Extra jsontext.Value `json:",embed"`
}

// Fallback is what becomes of a steer that the agent cannot take. Newer peers may
// know others; they count as none.
type Fallback string

// FallbackQueue lets a steer wait as the next prompt.
const FallbackQueue Fallback = "queue"

// FileRef names an attached file.
type FileRef struct {
	// Ref is the server's upload id.
	Ref string `json:"ref"`
	// Name is for display.
	Name string `json:"name,omitzero"`
	// Size is in bytes.
	Size int64 `json:"size,omitzero"`
	// MIME is the media type, empty when not known.
	MIME  string         `json:"mime,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// File is a file that the user or the agent put into the conversation.
type File struct {
	// Ref is the server's upload id.
	Ref string `json:"ref"`
	// Name is for display.
	Name string `json:"name"`
	// Size is in bytes.
	Size int64 `json:"size"`
	// Image is set for pictures.
	Image *Image         `json:"image,omitzero"`
	Extra jsontext.Value `json:",embed"`
}

// Image describes a file that is a picture. Sides are in pixels.
type Image struct {
	// Width is in pixels.
	Width int `json:"width"`
	// Height is in pixels.
	Height int `json:"height"`
	// Thumbhash is the base64 ThumbHash placeholder.
	Thumbhash string         `json:"thumbhash"`
	Extra     jsontext.Value `json:",embed"`
}
