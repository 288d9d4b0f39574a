package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/relay/wire"
)

// Terminal is a place before the screen and the keyboard of one session's agent. It is
// safe for concurrent use.
type Terminal struct {
	c       *Client
	session string

	typing sync.Mutex // one Input after the other
	mu     sync.Mutex
	name   string // the attachment; guarded by mu, and changed under typing
	offset int64  // what was typed under it; guarded by typing
}

// Terminal makes a place before the screen of a session. It calls nothing.
func (c *Client) Terminal(session string) *Terminal {
	return &Terminal{c: c, session: session, name: cuid2.Generate()}
}

// TerminalRead says what to read of a screen.
type TerminalRead struct {
	// After is At of the chunk before, State its State; -1 for a repaint.
	After int64
	State string
	// Max is the most bytes wanted, 0 for what the host gives.
	Max int
	// Wait is how long to wait for news at most; the host cuts it to 10 s.
	Wait time.Duration
	// Console says that a real terminal gets the bytes and its answers come back.
	Console bool
}

// Read gives what the screen shows, when there is news, or without any after Wait. It
// is one call: when Again says so of its error, the same may be asked again. A read that
// waits ends with the next one.
func (t *Terminal) Read(ctx context.Context, r TerminalRead) (wire.TerminalChunk, error) {
	t.mu.Lock()
	name := t.name
	t.mu.Unlock()
	var chunk wire.TerminalChunk
	_, _, err := t.c.try(ctx, wire.TerminalRead, wire.TerminalReadParams{
		Session: t.session, Attachment: name, After: r.After, Max: r.Max, WaitMS: int(r.Wait.Milliseconds()), State: r.State, Console: r.Console,
	}, &chunk)
	return chunk, err
}

// Again reports whether an error of Read is none of the session: the connection was
// lost, or the other side has no room now.
func Again(err error) bool { return err != nil && !final(err) }

// ErrMaybeTyped says that the connection was lost for longer than keys keep, or that the
// host was started again, in the middle of an Input: what was typed then may have reached
// the agent before, and is not typed again, nor is what came after it.
var ErrMaybeTyped = errors.New("the connection was lost or the host was started again: whether the last keys reached the agent is not known")

// keysKeep is how long a piece is tried for. Keys are meant for what the person saw, and
// not for a dialog that is open when a connection comes back.
const keysKeep = 2 * time.Second

// inputBytes is the most that is typed with one call.
const inputBytes = wire.TerminalInputBytes / 2

// Input types p, whole, in order and once, over connections that break and come back
// within 2 s for each piece of p; after that the rest is not typed and the error is
// ErrMaybeTyped. While the host says that the agent reads nothing it tries until ctx is
// over. Code(err) is wire.CodeControl when another one holds control: what is left of p
// was not typed.
func (t *Terminal) Input(ctx context.Context, p []byte) error {
	t.typing.Lock()
	defer t.typing.Unlock()
	for len(p) > 0 {
		n := min(len(p), inputBytes)
		if err := t.input(ctx, p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// input types one piece.
func (t *Terminal) input(ctx context.Context, p []byte) error {
	maybe := false // an earlier try may have reached the host
	late := time.Now().Add(keysKeep)
	for wait := (pause{}); ; {
		var r wire.TerminalInputResult
		trying, cancel := context.WithDeadline(ctx, late)
		_, sent, err := t.c.try(trying, wire.TerminalInput, wire.TerminalInputParams{
			Session: t.session, Attachment: t.name, Offset: t.offset, Data: p,
		}, &r)
		cancel()
		switch code := Code(err); {
		case err == nil:
			t.offset += int64(len(p))
			return nil
		case code == wire.CodeGap:
			t.rename()
			if maybe {
				return ErrMaybeTyped
			}
			continue
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !Again(err):
			return err
		case code == wire.CodeBusy || code == wire.CodeRateLimited:
			late = time.Now().Add(keysKeep) // the other side is there, and has typed nothing
		case sent && code != wire.CodeHostOffline:
			maybe = true
		}
		if !time.Now().Before(late) {
			t.rename() // what is under way still is not taken for what comes next
			return ErrMaybeTyped
		}
		pausing, cancel := context.WithDeadline(ctx, late)
		err = wait.wait(pausing, t.c.life)
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, ErrClosed) {
			return err
		}
	}
}

// rename begins a new attachment.
func (t *Terminal) rename() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.name, t.offset = cuid2.Generate(), 0
}

// Resize gives the screen a size.
func (t *Terminal) Resize(ctx context.Context, cols, rows int) error {
	return t.c.call(ctx, wire.TerminalResize, wire.TerminalResizeParams{Session: t.session, Cols: cols, Rows: rows}, nil)
}

// Screen is the screen as text.
func (t *Terminal) Screen(ctx context.Context) (wire.TerminalScreen, error) {
	var s wire.TerminalScreen
	err := t.c.call(ctx, wire.TerminalSnapshot, wire.SessionRef{Session: t.session}, &s)
	return s, err
}

// Leave tells the host that nobody is at this place any more. It says nothing when that
// fails: the host finds out.
func (t *Terminal) Leave(ctx context.Context) {
	_, _ = t.Read(ctx, TerminalRead{Max: 1, State: "left"})
}
