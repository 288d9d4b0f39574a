package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agenthost/agenthost/host/screen"
	"github.com/agenthost/agenthost/relay/wire"
)

// hubScreen is what viewers use of a session's screen. *screen.Hub is it.
type hubScreen interface {
	Read(ctx context.Context, after int64, max int) (screen.Chunk, error)
	Input(p []byte) error
	Console(attached bool)
}

var _ hubScreen = (*screen.Hub)(nil)

const (
	// maxAttachments is how many places before the screen of one session are remembered;
	// the one that was used least lately is forgotten for another one. Who typed there
	// begins under a new name.
	maxAttachments = 256
	// maxAttachmentName is the longest name of one, in bytes.
	maxAttachmentName = 64
	// awayTime is how long a console that reads no more still counts as there.
	awayTime = 15 * time.Second
)

// attachments are the places of viewers before the screen of one session. They outlive
// its agents, and end with the daemon.
type attachments struct {
	mu    sync.Mutex
	all   map[string]*attachment // guarded by mu
	hub   hubScreen              // that was told of consoles last; guarded by mu
	there bool                   // what it was told; guarded by mu
	away  *time.Timer            // looks whether consoles are still there; guarded by mu
}

// attachment is one place.
type attachment struct {
	// typing is held by who types.
	typing sync.Mutex
	next   int64 // bytes that were typed; guarded by typing

	// The rest is guarded by attachments.mu.

	used    time.Time
	reading int // calls that wait
	wake    context.CancelFunc
	console bool // the bytes go to a terminal that answers, and its person holds control
}

// of is the attachment of a caller's name. Names of one caller are not another's.
func (a *attachments) of(caller wire.Caller, name string) (*attachment, error) {
	if len(name) > maxAttachmentName {
		return nil, wire.Errorf(wire.CodeInvalid, "attachment: want at most %d bytes, got %d", maxAttachmentName, len(name))
	}
	key := strings.Join([]string{string(caller.ClientType), caller.TokenID, name}, "\x00")
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[string]*attachment{}
	}
	t := a.all[key]
	if t == nil {
		if len(a.all) >= maxAttachments {
			a.forgetLocked()
		}
		t = &attachment{}
		a.all[key] = t
	}
	t.used = time.Now()
	return t, nil
}

func (a *attachments) forgetLocked() {
	oldest := ""
	for key, t := range a.all {
		if t.reading == 0 && (oldest == "" || t.used.Before(a.all[oldest].used)) {
			oldest = key
		}
	}
	delete(a.all, oldest)
}

// begin notes that a call waits at t, in place of an earlier one. The context ends when
// the next one comes.
func (a *attachments) begin(ctx context.Context, t *attachment, hub hubScreen, console bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.wake != nil {
		t.wake()
	}
	t.wake, t.console = cancel, console
	t.reading++
	a.tellLocked(hub)
	return ctx, func() {
		cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		t.reading--
		t.used = time.Now()
		a.tellLocked(hub)
	}
}

// tellLocked tells the screen whether a console shows it that may answer.
func (a *attachments) tellLocked(hub hubScreen) {
	there, soon := false, false
	for _, t := range a.all {
		if t.console && (t.reading > 0 || time.Since(t.used) < awayTime) {
			there, soon = true, soon || t.reading == 0
		}
	}
	if a.hub != hub || a.there != there {
		a.hub, a.there = hub, there
		hub.Console(there)
	}
	if a.away != nil {
		a.away.Stop()
		a.away = nil
	}
	if soon {
		a.away = time.AfterFunc(awayTime, func() {
			a.mu.Lock()
			defer a.mu.Unlock()
			if a.hub == hub {
				a.tellLocked(hub)
			}
		})
	}
}

// close ends what waits for time to pass.
func (a *attachments) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away != nil {
		a.away.Stop()
		a.away = nil
	}
}

// input types what of data was not typed yet.
func (t *attachment) input(hub hubScreen, offset int64, data []byte) (wire.TerminalInputResult, error) {
	t.typing.Lock() // who sends it again meanwhile waits, and sees that it was typed
	defer t.typing.Unlock()
	if offset < 0 || offset > t.next {
		return wire.TerminalInputResult{}, wire.Errorf(wire.CodeGap, "offset: want at most %d, which is what was typed under this attachment here, got %d", t.next, offset).
			WithData(wire.TerminalInputResult{Next: t.next})
	}
	if done := t.next - offset; done < int64(len(data)) {
		if err := hub.Input(data[done:]); err != nil {
			return wire.TerminalInputResult{}, inputError(err)
		}
		t.next = offset + int64(len(data))
	}
	return wire.TerminalInputResult{Next: t.next}, nil
}

// inputError is why nothing was typed.
func inputError(err error) error {
	switch {
	case errors.Is(err, screen.ErrClosed):
		return wire.Errorf(wire.CodeOver, "the session has ended")
	case errors.Is(err, screen.ErrNoTerminal):
		// Not busy: who waited would type at the next agent what was meant for this one.
		return wire.Errorf(wire.CodeOver, "%v", err)
	}
	return wire.Errorf(wire.CodeBusy, "the agent takes no keys now: %v", err)
}

// stateOf is the state of a chunk as wire.TerminalChunk.State: what the next call gives
// back, so that nothing needs to be remembered of who reads.
func stateOf(c wire.TerminalChunk) string {
	who := ""
	if c.Holder != nil {
		who = fmt.Sprintf("%s %d %s", c.Holder.ClientType, c.Holder.Since, c.Holder.TokenID)
	}
	return fmt.Sprintf("%d %d %t %t %s", c.Cols, c.Rows, c.Running, c.Held, who)
}

// seenState is a chunk without news, of the state that the caller has; false for a caller
// that has none.
func seenState(p wire.TerminalReadParams) (c wire.TerminalChunk, known bool) {
	c.At = p.After
	var held bool
	n, err := fmt.Sscanf(p.State, "%d %d %t %t", &c.Cols, &c.Rows, &c.Running, &held)
	return c, err == nil && n == 4
}
