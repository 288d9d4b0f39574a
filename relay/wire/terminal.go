package wire

// Face is how the agent of a session shows itself.
type Face string

// The faces. A session in FaceTerminal has a screen that terminal.read gives and a
// keyboard that belongs to the holder of control.
const (
	FaceHeadless Face = "headless"
	FaceTerminal Face = "terminal"
)

// Bounds of terminal.*.
const (
	// TerminalWaitMS is the longest that terminal.read waits; a longer wish is cut.
	TerminalWaitMS = 10_000
	// TerminalReadBytes is the most that terminal.read gives at once, and what it
	// gives at most when max is 0.
	TerminalReadBytes = 256 << 10
	// TerminalInputBytes is the most that terminal.input takes at once; more is
	// CodeTooLarge.
	TerminalInputBytes = 64 << 10
	// TerminalCells is the most columns or rows; more is CodeInvalid.
	TerminalCells = 1000
)

// TerminalReadParams ask for what the screen of a session shows. The answer comes when
// there is something after After, when the state is another than State, or after
// WaitMS.
type TerminalReadParams struct {
	Session string `json:"session"`
	// Attachment is a name of the caller's for its place before the screen, of at most
	// 64 bytes: a later call under the same one ends the earlier's wait. Without one a call
	// ends no other, and Console does not count.
	Attachment string `json:"attachment,omitzero"`
	// After is At of the last answer; 0 is before all that the present agent wrote. -1,
	// and what is no longer kept, is answered with a repaint; -2 with one behind the newest
	// lines that left the screen at its top, for who begins to look.
	After int64 `json:"after"`
	// Max is the most bytes wanted; 0 is TerminalReadBytes.
	Max int `json:"max,omitzero"`
	// WaitMS is how long to wait at most, in milliseconds; 0 is not at all.
	WaitMS int `json:"waitMs,omitzero"`
	// State is that of the last answer.
	State string `json:"state,omitzero"`
	// Console says that a real terminal gets the bytes, which answers what the agent
	// asks of a terminal. Else the host answers. It counts for the holder of control.
	Console bool `json:"console,omitzero"`
}

// TerminalChunk is a part of what the screen shows, and its state.
type TerminalChunk struct {
	// At is the offset behind Data: After of the next call.
	At int64 `json:"at"`
	// Data are the bytes that the agent wrote, unchanged. With Reset they are a repaint
	// of the whole screen, for a terminal of Cols and Rows in its initial modes.
	Data  []byte `json:"data,omitempty"`
	Reset bool   `json:"reset,omitzero"`
	Cols  int    `json:"cols"`
	Rows  int    `json:"rows"`
	// Running is false while no agent is before the screen.
	Running bool `json:"running,omitzero"`
	// Held says that the caller holds control and may type, Holder who does.
	Held   bool     `json:"held,omitzero"`
	Holder *Control `json:"holder,omitempty"`
	// Epoch names the agent before the screen, for as long as the host knows what was typed
	// at it; only its equality means something. It is that of TerminalInputParams.
	Epoch string `json:"epoch,omitzero"`
	// State stands for all of the above but At, Data and Reset; only its equality
	// means something.
	State string `json:"state"`
}

// TerminalScreen is a screen as text.
type TerminalScreen struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
	// X and Y are the cursor's, from 0.
	X     int    `json:"x"`
	Y     int    `json:"y"`
	Title string `json:"title,omitzero"`
	// Alt says that the alternate screen is shown.
	Alt bool `json:"alt,omitzero"`
	// Lines are the rows, without blanks at their ends.
	Lines   []string `json:"lines"`
	Running bool     `json:"running,omitzero"`
}

// TerminalInputParams type at the keyboard of a session. The caller must hold control,
// else it is CodeControl; on another machine than the host's it needs ScopeAdmin as well,
// else it is CodeForbidden.
type TerminalInputParams struct {
	Session string `json:"session"`
	// Attachment, Offset and Epoch make it safe to repeat: Offset is how many bytes the
	// caller has typed under this attachment before Data. What was typed already is not
	// typed again. An Offset beyond what is known is CodeGap: the caller goes on under a new
	// attachment, from 0.
	Attachment string `json:"attachment"`
	Offset     int64  `json:"offset"`
	// Epoch is that of the screen that Data is meant for, of TerminalChunk or, for who reads
	// none, of the answer to a call without Data. When another agent is before the screen by
	// now, or the host was started again and does not know what was typed, it is CodeEpoch
	// with the one of now, and Data is not typed. Empty is whichever there is: such a call
	// must not be repeated.
	Epoch string `json:"epoch,omitzero"`
	// Data are the bytes as a terminal sends them.
	Data []byte `json:"data"`
}

// TerminalInputResult says how far the attachment is.
type TerminalInputResult struct {
	// Next is the offset behind what was typed.
	Next int64 `json:"next"`
	// Epoch is that of now.
	Epoch string `json:"epoch,omitzero"`
}

// TerminalResizeParams give the screen the size of the holder's terminal. The caller
// must hold control, else it is CodeControl.
type TerminalResizeParams struct {
	Session string `json:"session"`
	Cols    int    `json:"cols"`
	Rows    int    `json:"rows"`
}

// HolderInfo is the data of CodeControl: who holds control, null when nobody does.
type HolderInfo struct {
	Holder *Control `json:"holder,omitempty"`
}

// HeldBy reports whether a caller is the one who holds control.
func (c *Control) HeldBy(who Caller) bool {
	return c != nil && c.ClientType == who.ClientType && c.TokenID == who.TokenID && who.ClientType != ""
}
