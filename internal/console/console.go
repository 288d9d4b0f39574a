package console

import (
	"context"
	"errors"
)

// Terminal is an agent's screen and keyboard, near or far.
type Terminal interface {
	// Read waits for what the screen shows after an offset, or for another state than
	// that of the chunk that it gave last. After -1, or what is no longer kept, it
	// repaints; after -2 it does behind what left the screen at its top. io.EOF says that the session is over. It is called again while one whose
	// ctx is over still ends.
	Read(ctx context.Context, after int64, limit int) (Chunk, error)
	// Input types, whole and in order. ErrLocked says that another one holds control, a
	// *NotTypedError why else keys do not go: what waits is not typed.
	Input(ctx context.Context, p []byte) error
	// Resize gives the screen the size of the person's terminal. ErrLocked as above.
	Resize(ctx context.Context, cols, rows int) error
	// Answers says whether what Read gives reaches a terminal, which answers what the
	// agent asks of one. It does not wait. When Run returns, or panics, it was told false
	// last.
	Answers(reaches bool)
	// Take takes control.
	Take(ctx context.Context) error
}

// ErrLocked says that another one holds control.
var ErrLocked = errors.New("another one holds control")

// NotTypedError is why keys do not go though the person holds control.
type NotTypedError struct{ Why string }

// Error implements error.
func (e *NotTypedError) Error() string { return e.Why }

// Chunk is a part of what the screen shows, and its state.
type Chunk struct {
	// At is the offset behind Data.
	At int64
	// Data are the agent's bytes, with Reset a repaint for a terminal of Cols and Rows
	// in its first modes.
	Data       []byte
	Reset      bool
	Cols, Rows int
	// Running is false while there is no agent.
	Running bool
	// Held says that the person holds control; else Holder says who does, for people.
	Held   bool
	Holder string
	// Epoch names the agent before the screen, empty when that is not known. What waits to
	// be typed at one is not typed at the next.
	Epoch string
	// Lost says why the screen cannot be read for the moment, empty when it can. What is
	// typed meanwhile is dropped: it was not meant for what the screen shows then.
	Lost string
}

// Options are how a console behaves.
type Options struct {
	// Escape is the escape key, a control character; DefaultEscape when 0.
	Escape byte
	// From is the first offset: 0 shows what came from the beginning on, -1 and -2 begin
	// with a repaint, for which what is on the person's screen is moved up.
	From int64
	// Alone says that nobody keeps the session when the console leaves: it cannot be
	// left, only ended.
	Alone bool
	// Watch shows alone: nothing is typed, sized or taken.
	Watch bool
}

// End is why a console ended.
type End int

// The ends. Over: the session is. Detached: the person left it. Quit: the person wants
// it to end. HungUp: the terminal is gone.
const (
	Over End = iota + 1
	Detached
	Quit
	HungUp
)
