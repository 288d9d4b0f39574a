package adapters

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"
	"unicode"
)

// Face is how one child of an agent shows itself.
type Face string

// The faces.
const (
	// FaceHeadless is the agent's protocol over pipes.
	FaceHeadless Face = ""
	// FaceTerminal is the agent's own screen on a PTY.
	FaceTerminal Face = "terminal"
)

// TerminalAdapter is an Adapter whose agent also runs with its own screen.
//
// What is said is never read off the screen: a terminal Protocol gets LogFile, Hook
// and Socket frames, and Terminal frames (see Screen) where Launch.Screen asks for
// them. Its Step.Write goes to Launch.Server's socket if there is one, else it is
// typed at the PTY, each element at once and whole.
type TerminalAdapter interface {
	Adapter
	// DescribeTerminal has the claims of this face; the rest is that of Describe.
	DescribeTerminal() Description
	// LaunchTerminal says how to start the agent with its screen; it starts nothing.
	LaunchTerminal(TerminalRequest) (Launch, error)
	// NewTerminalProtocol makes the translator for one such child.
	NewTerminalProtocol(TerminalInfo) Protocol
}

// DescribeFace is what an adapter says of an agent with a face, where the face has its own
// claims.
func DescribeFace(a Adapter, face Face) Description {
	if t, ok := a.(TerminalAdapter); ok && face == FaceTerminal {
		return t.DescribeTerminal()
	}
	return a.Describe()
}

// TerminalRequest asks how to start an agent with its screen.
type TerminalRequest struct {
	LaunchRequest
	// Hook is a command line for sh that a hook of the agent runs: it hands its
	// standard input to the Protocol as a Hook frame, and prints what HookReply
	// says. When the host is gone it prints nothing and exits with 0. HookClosed
	// is the same, but exits with 2 and a reason on stderr then: for agents that
	// go on without asking when a hook says nothing.
	Hook, HookClosed string
	// SocketDir is a directory of this child alone, 0700, with a path short enough
	// for unix sockets in it.
	SocketDir string
}

// TerminalInfo is what a terminal Protocol is told about its session.
type TerminalInfo struct {
	SessionInfo
	// Launch is what LaunchTerminal said.
	Launch Launch
	// Getenv reads the child's environment.
	Getenv func(string) string
}

// Server is a program beside the screen that the host talks to.
type Server struct {
	// Argv is the command; Argv[0] is resolved like Launch.Argv's. It gets the
	// child's environment and directory, and is started first.
	Argv []string
	// Socket is the unix socket it serves WebSocket on, absolute. The screen is
	// started when it answers. Text messages are Socket frames; each element of
	// Step.Write is one. A connection that breaks while the server lives is made
	// again: a Socket frame with Reconnected says so.
	Socket string
	// First says that the Protocol has something to do on the socket before there
	// is a screen: it is started by StartScreen alone.
	First bool
}

// Screen is what a Terminal frame holds, as JSON: the screen when it has come to
// rest and looks otherwise than in the frame before.
type Screen struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
	// X and Y are the cursor's, from 0.
	X int `json:"x"`
	Y int `json:"y"`
	// Alt says that the alternate screen is shown, Paste that bracketed paste is on.
	Alt   bool   `json:"alt,omitzero"`
	Paste bool   `json:"paste,omitzero"`
	Title string `json:"title,omitzero"`
	// Lines are the rows as text, without blanks at their ends.
	Lines []string `json:"lines"`
}

// Frame is s as the Data of a Terminal frame.
func (s Screen) Frame() Frame {
	data, err := json.Marshal(s)
	if err != nil {
		data = nil // strings and numbers: only invalid UTF-8 fails, which the screen has none of
	}
	return Frame{Source: Terminal, Data: data}
}

// ParseScreen reads the Data of a Terminal frame.
func ParseScreen(data []byte) (Screen, error) {
	var s Screen
	err := json.Unmarshal(data, &s, jsontext.AllowInvalidUTF8(true))
	return s, err
}

// Typeable is a text without what a terminal would take for keys: of the control
// characters only tabs and line ends stay, all of them "\n".
func Typeable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return '\n'
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			return -1
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// Pasted is a Typeable text as a terminal sends a paste, where Screen.Paste is on.
func Pasted(text string) string { return "\x1b[200~" + text + "\x1b[201~" }

// Follow delivers each whole line of a file as a LogFile frame with ID, from the
// byte From on (-1: from its present end), and what is added, until the child is gone
// and the file was read to its end. A file that is not there yet is waited for. The
// last element of Path may have a "*": each file that matches is followed, now and
// later. A file that is replaced or cut short is read anew from its start. It
// has no EffectDone, unless it cannot be done.
type Follow struct {
	ID, Path string
	From     int64
}

// Look asks for a Terminal frame of the screen as it is now, at rest or not, and also
// when it looks as in the frame before: for a Protocol that waits for what it typed to
// show, at a screen that moves all the time. It has no EffectDone. A child without a
// screen, or with one that was not asked for (Launch.Screen), shows nothing.
type Look struct{ ID string }

// StartScreen starts the screen of a Launch whose Server comes First: Launch.Argv
// with Args behind it. There is one for each child. It has no EffectDone: a screen
// that cannot be started ends the child.
type StartScreen struct {
	ID   string
	Args []string
}

// Unfollow ends a Follow after the lines that are there.
type Unfollow struct{ ID string }

// HookReply answers a Hook frame, by its ID. Every Hook frame is to be answered,
// and soon: the agent waits. It has no EffectDone.
type HookReply struct {
	ID string
	// Output is what the hook prints, Code its exit status.
	Output []byte
	Code   int
}

// EffectID implements Effect.
func (e Follow) EffectID() string      { return e.ID }
func (e StartScreen) EffectID() string { return e.ID }
func (e Unfollow) EffectID() string    { return e.ID }
func (e Look) EffectID() string        { return e.ID }
func (e HookReply) EffectID() string   { return e.ID }
