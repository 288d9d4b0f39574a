package console

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/agenthost/agenthost/internal/nonblock"
)

// TTY is the terminal of a person.
type TTY struct {
	in, out *os.File
	own     bool // Close closes it; it does not block
	saved   *term.State
}

// Open opens the terminal of this process anew, so that reading it can be ended and
// writing to it be bounded, and nothing is changed for others that have it open. Where
// that cannot be it takes in and out, which are not closed then.
func Open(in, out *os.File) (*TTY, error) {
	for _, f := range []*os.File{in, out} {
		if is := false; fd(f, func(n int) { is = term.IsTerminal(n) }) != nil || !is {
			return nil, errors.New("want a terminal as standard input and output")
		}
	}
	if f := reopen(); f != nil {
		return &TTY{in: f, out: f, own: true}, nil
	}
	return &TTY{in: in, out: out}, nil
}

// fd calls f with the descriptor of a file, which stays as it is: File.Fd would take its
// deadlines away.
func fd(file *os.File, f func(int)) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(n uintptr) { f(int(n)) })
}

// Use is a TTY of a file that is a terminal, which Close does not close.
func Use(f *os.File) *TTY { return &TTY{in: f, out: f} }

// Close gives the terminal back.
func (t *TTY) Close() error {
	if !t.own {
		return nil
	}
	return t.in.Close()
}

// raw switches the terminal to raw mode. Again it does so anew, since others may have
// changed it meanwhile, and keeps what was there at first.
func (t *TTY) raw() error {
	var state *term.State
	var err error
	if cerr := fd(t.in, func(n int) { state, err = term.MakeRaw(n) }); cerr != nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("switching the terminal to raw mode: %w", err)
	}
	if t.saved == nil {
		t.saved = state
	}
	return nil
}

// cooked gives it back the settings it had.
func (t *TTY) cooked() {
	if t.saved != nil {
		_ = fd(t.in, func(n int) { _ = term.Restore(n, t.saved) }) // else the terminal is gone
	}
}

// The size that a terminal has which tells none.
const (
	someCols = 80
	someRows = 24
)

// Size is the size of the terminal, never 0.
func (t *TTY) Size() (cols, rows int) {
	_ = fd(t.out, func(n int) { cols, rows, _ = term.GetSize(n) }) // 0 then
	if cols <= 0 || rows <= 0 {
		return someCols, someRows
	}
	return cols, rows
}

// patience is how long one try to write to the terminal takes at most; then it is
// looked whether the person has left.
const patience = 100 * time.Millisecond

// write writes p, until over says that it is not worth it any more. A terminal without
// deadlines blocks.
func (t *TTY) write(p []byte, over func() bool) error {
	put := (*os.File).Write
	if t.own {
		put = nonblock.Write
	}
	for len(p) > 0 {
		bounded := t.out.SetWriteDeadline(time.Now().Add(patience)) == nil
		n, err := put(t.out, p)
		p = p[n:]
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && bounded:
			if over() {
				return err
			}
		case err != nil:
			return err
		}
	}
	return nil
}

// interrupt ends a read of the keyboard that is under way; false when that cannot be.
func (t *TTY) interrupt() bool { return t.in.SetReadDeadline(time.Now()) == nil }

// resume lets it be read again.
func (t *TTY) resume() { _ = t.in.SetReadDeadline(time.Time{}) }
