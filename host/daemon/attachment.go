package daemon

import (
	"context"
	"crypto/rand"
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
	Epoch() int64
	InputAt(epoch int64, p []byte) error
	Console(attached bool)
	OnConsole(after int64) (from int64)
	Missed(at int64)
}

var _ hubScreen = (*screen.Hub)(nil)

const (
	// maxAttachments is how many places before the screen of one session are remembered;
	// the one that was used least lately is forgotten for another one, those where nobody
	// typed first. Who typed there begins under a new name.
	maxAttachments = 256
	// typedTime is how long it is known what was typed at a place. When one has to be
	// forgotten sooner the epoch is another, so that nobody types it again.
	typedTime = time.Minute
	// maxAttachmentName is the longest name of one, in bytes.
	maxAttachmentName = 64
	// awayTime is how long a console that reads no more still counts as there.
	awayTime = 15 * time.Second
)

// attachments are the places of viewers before the screen of one session. They outlive
// its agents, and end with the daemon.
type attachments struct {
	mu   sync.Mutex
	all  map[string]*attachment // guarded by mu
	id   string                 // names what is remembered, empty for not yet; guarded by mu
	hub  hubScreen              // that was told of a console, nil for none; guarded by mu
	away *time.Timer            // looks whether consoles are still there; guarded by mu
}

// attachment is one place.
type attachment struct {
	// typing is held by who types.
	typing sync.Mutex
	next   int64 // bytes that were typed; guarded by typing

	// The rest is guarded by attachments.mu.

	used    time.Time
	typist  bool // somebody types or typed here
	reading int  // calls that wait
	wake    context.CancelFunc
	console bool // the bytes go to a terminal that answers, and its person may type
}

// of is the attachment of a caller's name. Names of one caller are not another's. Calls
// without a name share nothing, so each has a place of its own that is not remembered.
func (a *attachments) of(caller wire.Caller, name string) (*attachment, error) {
	if name == "" {
		return &attachment{}, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ofLocked(caller, name)
}

func (a *attachments) ofLocked(caller wire.Caller, name string) (*attachment, error) {
	if len(name) > maxAttachmentName {
		return nil, wire.Errorf(wire.CodeInvalid, "attachment: want at most %d bytes, got %d", maxAttachmentName, len(name))
	}
	key := strings.Join([]string{string(caller.ClientType), caller.TokenID, name}, "\x00")
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
	oldest, known := "", false
	for key, t := range a.all {
		typed := t.typist && time.Since(t.used) < typedTime
		if t.reading == 0 && (oldest == "" || known && !typed || known == typed && t.used.Before(a.all[oldest].used)) {
			oldest, known = key, typed
		}
	}
	if known {
		a.id = rand.Text()
	}
	delete(a.all, oldest)
}

// begin notes that a call waits at t, in place of an earlier one. The context ends when
// the next one comes. A console near by whose own connection ends is gone, and not on a
// bad line: nothing else breaks one of this machine.
func (a *attachments) begin(call context.Context, t *attachment, hub hubScreen, console, near bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(call)
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
		if near && call.Err() != nil && t.reading == 0 {
			t.console = false
		}
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
	switch {
	case there && a.hub != hub:
		a.hub = hub
		hub.Console(true)
	case !there && a.hub == hub:
		a.hub = nil
		hub.Console(false)
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
	a.hub = nil // a session at rest keeps no screen
}

// stateOf is the state of a chunk as wire.TerminalChunk.State: what the next call gives
// back, so that nothing needs to be remembered of who reads.
func stateOf(c wire.TerminalChunk) string {
	who := c.Epoch
	if c.Holder != nil {
		who += fmt.Sprintf(" %s %d %s", c.Holder.ClientType, c.Holder.Since, c.Holder.TokenID)
	}
	return fmt.Sprintf("%d %d %t %t %s", c.Cols, c.Rows, c.Running, c.Held, who)
}

// seenState is a chunk without news, of the state that the caller has; false for a caller
// that has none.
func seenState(p wire.TerminalReadParams) (c wire.TerminalChunk, known bool) {
	c.At = p.After
	var held bool
	n, err := fmt.Sscanf(p.State, "%d %d %t %t %s", &c.Cols, &c.Rows, &c.Running, &held, &c.Epoch)
	return c, err == nil && n == 5
}
