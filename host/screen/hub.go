// Package screen keeps the screen of one session's agent: what it writes, by offset,
// and how it looks.
package screen

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/agenthost/agenthost/adapters"
)

var (
	// ErrNoTerminal means that no agent with a screen is there to type at.
	ErrNoTerminal = errors.New("no agent with a screen of its own is running")
	// ErrClosed means that the Hub was closed.
	ErrClosed = errors.New("the screen is closed")
)

// Source is a terminal that an agent runs on: a proc.Terminal.
type Source interface {
	// Read blocks until there is output; every end is io.EOF.
	Read(p []byte) (int, error)
	// Write types p, whole and in order, and does not block.
	Write(p []byte) (int, error)
	// Resize is harmless when the agent is gone.
	Resize(cols, rows int) error
}

// Options are those of a Hub. Zero values mean the defaults.
type Options struct {
	// Cols and Rows are the size to begin with, 80x24.
	Cols, Rows int
	// Ring is how many bytes of the output are kept, 1 MiB.
	Ring int
	// Scrollback is how many lines that left the top of the screen are kept, 1,000.
	// Negative keeps none.
	Scrollback int
	// Rest is how long the output is quiet before Rested is called, 150 ms.
	Rest time.Duration
	// Logger gets what went wrong and was put right; nil discards it.
	Logger *slog.Logger
}

// Chunk is a piece of what a viewer is to be shown.
type Chunk struct {
	// At is where to read on: the offset behind Data. It only means something to
	// Hub.Read: it is not a count of bytes.
	At int64
	// Data is what the agent wrote, unchanged, but with Reset. It may be empty.
	Data []byte
	// Reset says that Data paints the whole screen, whatever was shown before.
	Reset bool
	// Cols and Rows are the size of the screen that Data is for, to be set before it
	// is shown. Running says that the agent is there.
	Cols, Rows int
	Running    bool
}

// Hub is the screen of a session. Its methods are safe for concurrent use.
type Hub struct {
	o Options
}

// New makes a Hub with an empty screen.
func New(o Options) *Hub { return &Hub{o: o} }

// Show takes a new agent's terminal. The returned function waits until its output was
// read to its end.
func (h *Hub) Show(t Source) (wait func()) { return func() {} }

// Blank shows a text, of a session whose agent has no screen now.
func (h *Hub) Blank(text string) {}

// Read returns what came after an offset, of at most max bytes (a Reset may be longer).
// It blocks until something did or ctx ends; the error is ErrClosed or the cause of
// ctx. A negative offset, one that is too old and one of another agent's screen give
// a Reset.
func (h *Hub) Read(ctx context.Context, after int64, max int) (Chunk, error) {
	<-ctx.Done()
	return Chunk{}, context.Cause(ctx)
}

// Hold has the agent wait for a reader.
func (h *Hub) Hold() (release func(), progress func(at int64)) { return func() {}, func(int64) {} }

// Input types p, whole and in order. The error is ErrNoTerminal, ErrClosed or the
// Source's.
func (h *Hub) Input(p []byte) error { return ErrNoTerminal }

// Resize sets the size. 0 and less is ignored.
func (h *Hub) Resize(cols, rows int) {}

// Snapshot is the screen as text.
func (h *Hub) Snapshot() adapters.Screen { return adapters.Screen{} }

// Repaint is what shows the screen on a terminal of its size.
func (h *Hub) Repaint() []byte { return nil }

// Rested has f called when the output was quiet for Options.Rest and the screen is
// another than at the last call. One call at a time.
func (h *Hub) Rested(f func(adapters.Screen)) {}

// Console says whether a person's terminal shows the output. While none does, the
// agent's questions to its terminal are answered here.
func (h *Hub) Console(attached bool) {}

// Close ends all reads.
func (h *Hub) Close() {}
