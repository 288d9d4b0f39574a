package session

import "encoding/json"

// PartType discriminates the closed part union. The union is capped at 5 forever
// (design 0049 §4.1 rule 1); adding a type is a contract change.
type PartType string

// The values of PartType.
const (
	PartText       PartType = "text"
	PartReasoning  PartType = "reasoning"
	PartTool       PartType = "tool"
	PartFileChange PartType = "file_change"
	PartCustom     PartType = "custom"
)

// Part is one typed piece of an assistant message. Exactly one payload field is
// set, matching Type; the rest are omitted from the wire form.
type Part struct {
	Type       PartType    `json:"type"`
	ID         string      `json:"id,omitempty"`
	Text       string      `json:"text,omitempty"`
	Reasoning  string      `json:"reasoning,omitempty"`
	Tool       *ToolPart   `json:"tool,omitempty"`
	FileChange *FileDiff   `json:"fileChange,omitempty"`
	Custom     *CustomPart `json:"custom,omitempty"`
}

// CustomPart is the pressure-relief valve for extension-defined semantics
// (design 0049 §4.3). Kind is a required discriminator so extensions do not
// force new PartType constants; Data carries the extension-specific payload.
type CustomPart struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data,omitempty"`
}
