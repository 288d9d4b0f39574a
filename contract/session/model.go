package session

// ModelInfo describes a model the client may select, including the context and
// output limits needed for "context: 45% used" display.
type ModelInfo struct {
	ID            string `json:"id"`
	Provider      string `json:"provider,omitempty"`
	DisplayName   string `json:"displayName,omitempty"`
	ContextWindow int64  `json:"contextWindow,omitempty"`
	MaxOutput     int64  `json:"maxOutput,omitempty"`
}

// ModelRef identifies a model an adapter selected for a session or message.
type ModelRef struct {
	ID       string `json:"id"`
	Provider string `json:"provider,omitempty"`
}
