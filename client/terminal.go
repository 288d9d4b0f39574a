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
	epoch  string // of the screen that was seen last, empty for none; guarded by mu
	offset int64  // what was typed under the name; guarded by typing
}

// Terminal makes a place before the screen of a session. It calls nothing.
func (c *Client) Terminal(session string) *Terminal {
	return &Terminal{c: c, session: session, name: cuid2.Generate()}
}

// TerminalRead says what to read of a screen.
type TerminalRead struct {
	// After is At of the chunk before, State its State; -1 for a repaint, -2 for one
	// behind what left the screen at its top.
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
	if err == nil && chunk.Epoch != "" {
		t.see(chunk.Epoch)
	}
	return chunk, err
}

// see notes the epoch of the screen that is seen.
func (t *Terminal) see(epoch string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.epoch = epoch
}

// Again reports whether an error of Read is none of the session: the connection was
// lost, or the other side has no room now.
func Again(err error) bool { return err != nil && !final(err) }

// ErrMaybeTyped says that the connection was lost for longer than keys keep, or that the
// host was started again, in the middle of an Input: what was typed then may have reached
// the agent before, and is not typed again, nor is what came after it.
var ErrMaybeTyped = errors.New("the connection was lost or the host was started again: whether the last keys reached the agent is not known")

// ErrNotTyped says that the agent or its host was started again: what was typed for the
// screen that was seen before is not typed at the one that is there now.
var ErrNotTyped = errors.New("the agent or its host was started again: the last keys were meant for the screen before, and are not typed")

// keysKeep is how long a piece is tried for. Keys are meant for what the person saw, and
// not for a dialog that is open when a connection comes back.
const keysKeep = 2 * time.Second

// inputBytes is the most that is typed with one call.
const inputBytes = wire.TerminalInputBytes / 2

// Input types p, whole, in order and once, over connections that break and come back
// within 2 s for each piece of p; after that the rest is not typed and the error is
// ErrMaybeTyped. While the host says that the agent reads nothing it tries until ctx is
// over. What is typed is meant for the agent whose screen Read gave last, or, for who reads
// none, for the one that is there: when another one is by now the rest is not typed, and the
// error is ErrNotTyped, or ErrMaybeTyped if that is not known. The next Input is for the new
// one. Code(err) is wire.CodeControl when another one holds control: what is left of p was
// not typed.
func (t *Terminal) Input(ctx context.Context, p []byte) error {
	t.typing.Lock()
	defer t.typing.Unlock()
	t.mu.Lock()
	epoch := t.epoch
	t.mu.Unlock()
	if epoch == "" {
		r, err := t.input(ctx, "", nil)
		if err != nil {
			return err
		}
		epoch = r.Epoch
	}
	for len(p) > 0 {
		n := min(len(p), inputBytes)
		if _, err := t.input(ctx, epoch, p[:n]); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// input types one piece; without one it asks for the epoch.
func (t *Terminal) input(ctx context.Context, epoch string, p []byte) (wire.TerminalInputResult, error) {
	maybe := false // an earlier try may have reached the host
	late := time.Now().Add(keysKeep)
	for wait := (pause{}); ; {
		var r wire.TerminalInputResult
		trying, cancel := context.WithDeadline(ctx, late)
		_, sent, err := t.c.try(trying, wire.TerminalInput, wire.TerminalInputParams{
			Session: t.session, Attachment: t.name, Offset: t.offset, Epoch: epoch, Data: p,
		}, &r)
		cancel()
		switch code := Code(err); {
		case err == nil:
			t.offset += int64(len(p))
			return r, nil
		case code == wire.CodeGap:
			t.rename()
			if maybe {
				return r, ErrMaybeTyped
			}
			continue
		case code == wire.CodeEpoch:
			t.rename()
			t.see(epochIn(err))
			if maybe {
				return r, ErrMaybeTyped
			}
			return r, ErrNotTyped
		case ctx.Err() != nil:
			return r, context.Cause(ctx)
		case !Again(err):
			return r, err
		case code == wire.CodeBusy || code == wire.CodeRateLimited:
			late = time.Now().Add(keysKeep) // the other side is there, and has typed nothing
		case sent && code != wire.CodeHostOffline:
			maybe = true
		}
		if !time.Now().Before(late) {
			t.rename() // what is under way still is not taken for what comes next
			return r, ErrMaybeTyped
		}
		pausing, cancel := context.WithDeadline(ctx, late)
		err = wait.wait(pausing, t.c.life)
		cancel()
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if errors.Is(err, ErrClosed) {
			return r, err
		}
	}
}

// epochIn is the epoch of now of a wire.CodeEpoch, empty when it has none: then the next
// Input asks for it.
func epochIn(err error) string {
	var e *wire.Error
	var r wire.TerminalInputResult
	if errors.As(err, &e) && wire.Unmarshal(e.Data, &r) == nil {
		return r.Epoch
	}
	return ""
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
