package proc

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"github.com/agenthost/agenthost/internal/nonblock"
)

const (
	// DefaultCols and DefaultRows are the size of a terminal of no size. A terminal
	// of 0x0 has programs draw nothing.
	DefaultCols = 80
	DefaultRows = 24
)

// TerminalSize is how many characters a terminal shows.
type TerminalSize struct{ Cols, Rows int }

// checked is the size with the defaults for what is 0.
func (s TerminalSize) checked() (TerminalSize, error) {
	if s.Cols == 0 {
		s.Cols = DefaultCols
	}
	if s.Rows == 0 {
		s.Rows = DefaultRows
	}
	if s.Cols < 0 || s.Cols > math.MaxUint16 || s.Rows < 0 || s.Rows > math.MaxUint16 {
		return s, fmt.Errorf("size of a terminal: want 1 to %d, got %dx%d", math.MaxUint16, s.Cols, s.Rows)
	}
	return s, nil
}

// Terminal is our side of the pseudo-terminal (PTY) that a child runs on. Its methods
// are safe for concurrent use, but for Read, which has one caller at a time.
//
// It is to be read to its end, like Child.Lines: a child whose output nobody takes
// stops at its next write.
type Terminal struct {
	file   *os.File // the master
	stream *stream
	input  *input
	// line is the child's side, kept open until the end. So long, the child (or
	// what it started) may close it and open /dev/tty again, and what it wrote is
	// there: without, the first close of all would look like the end.
	line *os.File

	ended     chan struct{} // closed by the end of reading, or Close
	endOnce   sync.Once
	closeOnce sync.Once
}

// newTerminal takes both sides of a PTY over.
func newTerminal(master, line *os.File, queued int64) *Terminal {
	t := &Terminal{
		file: master, line: line,
		stream: newStream(master, nil), input: newInput(queued), ended: make(chan struct{}),
	}
	t.stream.read = nonblock.Read
	return t
}

// Read reads what the child writes; it blocks until there is something. The only
// error is io.EOF: when the child is gone and what it left was read, when the terminal
// was hung up, or closed. A process that escaped and still holds the terminal does not
// keep the end away.
func (t *Terminal) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := t.stream.Read(p)
	if err != nil {
		t.end()
		t.close()
	}
	return n, err
}

// Write queues a copy of p, to be typed whole and in order, and returns at once. The
// error is ErrInputFull or ErrInputClosed, and nothing of p is typed then. Typing
// at a child that is gone is no error.
func (t *Terminal) Write(p []byte) (int, error) {
	if err := t.input.write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Resize tells the terminal its size, and the child's foreground group SIGWINCH if it
// is another than before. When the child is gone or the terminal closed nothing
// happens. The error is that of a size below 1 or above 65,535.
func (t *Terminal) Resize(cols, rows int) error {
	if cols < 1 || rows < 1 {
		return fmt.Errorf("size of a terminal: want 1 or more, got %dx%d", cols, rows)
	}
	size, err := TerminalSize{cols, rows}.checked()
	if err != nil {
		return err
	}
	// The file refuses when it is closed, so that no other file that got its
	// descriptor is meant (B145).
	if err := setSize(t.file, size); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("setting the size of a terminal: %w", err)
	}
	return nil
}

// Close hangs the terminal up: the child gets SIGHUP, and Read returns. A child that
// lives on for Spec.SilenceGrace is stopped. It may be called again.
func (t *Terminal) Close() {
	t.end()
	t.input.close()
	t.close()
}

func (t *Terminal) end() { t.endOnce.Do(func() { close(t.ended) }) }

func (t *Terminal) close() {
	t.closeOnce.Do(func() {
		t.input.abandon()
		t.file.Close()
		t.line.Close()
	})
}

// exited tells the terminal that the child is gone.
func (t *Terminal) exited() {
	t.input.abandon()
	_ = t.file.SetWriteDeadline(time.Unix(1, 0)) // ends a write that nobody reads
	t.stream.drain()
}

// typist is where the queue of a terminal goes. The end of the queue does not end the
// terminal.
type typist struct{ *os.File }

func (typist) Close() error { return nil }
