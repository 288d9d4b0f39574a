package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/host/screen"
	"github.com/agenthost/agenthost/relay/wire"
)

// remoteWaits is how many calls of other machines may wait for a screen at once. They
// take turns on the connection to a relay with all other commands; one more is answered
// at once, and comes again.
const remoteWaits = 24

// atOnce is how long a call waits that does not want to.
const atOnce = time.Millisecond

// screenOf is the session that ref names, which runs and has a screen.
func (d *Daemon) screenOf(ref string) (*entry, *host.Session, error) {
	e, err := d.find(ref)
	if err != nil {
		return nil, nil, err
	}
	e.use()
	run := e.alive()
	switch {
	case run == nil && e.isForeign():
		return nil, nil, wire.Errorf(wire.CodeUnsupported, "another process runs the session: its screen is there")
	case run == nil:
		return nil, nil, wire.Errorf(wire.CodeOver, "the session is stopped: agenthost attach %s starts it again", e.id)
	case run.Screen() == nil:
		return nil, nil, wire.Errorf(wire.CodeUnsupported, "%s has no screen of its own; agenthost attach %s --text shows the stream", run.Adapter().Name(), e.id)
	}
	return e, run, nil
}

// terminalRead gives what the screen shows.
func (d *Daemon) terminalRead(ctx context.Context, caller wire.Caller, p wire.TerminalReadParams) (wire.TerminalChunk, error) {
	if p.Max < 0 || p.WaitMS < 0 {
		return wire.TerminalChunk{}, wire.Errorf(wire.CodeInvalid, "max and waitMs: want numbers from 0 on")
	}
	e, run, err := d.screenOf(p.Session)
	if err != nil {
		return wire.TerminalChunk{}, err
	}
	hub := run.Screen()
	at, err := e.places.of(caller, p.Attachment)
	if err != nil {
		return wire.TerminalChunk{}, err
	}
	wait := max(atOnce, time.Duration(min(p.WaitMS, wire.TerminalWaitMS))*time.Millisecond)
	if !caller.Local {
		select {
		case d.waits <- struct{}{}:
			defer func() { <-d.waits }()
		default:
			wait = atOnce
		}
	}
	if p.Max == 0 || p.Max > wire.TerminalReadBytes {
		p.Max = wire.TerminalReadBytes
	}
	holder, _ := e.holder()
	console := answers(caller, holder, p)
	ctx, done := e.places.begin(ctx, at, hub, console, caller.Local)
	defer done()
	if console {
		p.After = hub.OnConsole(p.After)
	}
	c, err := e.readScreen(ctx, hub, caller, p, wait)
	if console && c.Reset {
		hub.Missed(c.At)
	}
	return c, err
}

// answers reports whether a read is a console's, whose terminal answers what the agent
// asks of one: it stays, and may type.
func answers(caller wire.Caller, holder *wire.Control, p wire.TerminalReadParams) bool {
	return p.Console && p.WaitMS > 0 && holder.HeldBy(caller) && mayType(caller) == nil
}

// readScreen waits for the screen, or for another holder of control.
func (e *entry) readScreen(ctx context.Context, hub hubScreen, caller wire.Caller, p wire.TerminalReadParams, wait time.Duration) (wire.TerminalChunk, error) {
	of := func(c wire.TerminalChunk, holder *wire.Control) wire.TerminalChunk {
		c.Holder, c.Held = holder, holder.HeldBy(caller)
		c.State = stateOf(c)
		return c
	}
	seen, known := seenState(p)
	late := time.Now().Add(wait)
	for {
		holder, moved := e.holder()
		if !known || of(seen, holder).State != p.State {
			late = time.Now().Add(atOnce) // the state is news enough
		}
		waiting, cancel := context.WithDeadline(ctx, late)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			select {
			case <-moved:
				cancel()
			case <-waiting.Done():
			}
		}()
		c, err := hub.Read(waiting, p.After, p.Max)
		ended := waiting.Err() != nil
		cancel()
		<-watched
		switch {
		case err == nil:
			return of(wire.TerminalChunk{At: c.At, Data: c.Data, Reset: c.Reset, Cols: c.Cols, Rows: c.Rows, Running: c.Running, Epoch: e.places.epoch(c.Epoch)}, holder), nil
		case errors.Is(err, screen.ErrClosed):
			return wire.TerminalChunk{}, wire.Errorf(wire.CodeOver, "the session has ended")
		case !ended:
			return wire.TerminalChunk{}, err
		case ctx.Err() != nil || !time.Now().Before(late):
			// Nothing is new, or the caller asks anew already.
			now, _ := e.holder()
			seen.Epoch = e.places.renewed(seen.Epoch)
			return of(seen, now), nil
		}
	}
}

// holder is who holds control, and a channel that is closed when that may change.
func (e *entry) holder() (*wire.Control, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.moved == nil {
		e.moved = make(chan struct{})
	}
	return e.rec.Sum.Control, e.moved
}

// terminalScreen gives the screen as text.
func (d *Daemon) terminalScreen(_ context.Context, _ wire.Caller, p wire.SessionRef) (wire.TerminalScreen, error) {
	e, run, err := d.screenOf(p.Session)
	if err != nil {
		return wire.TerminalScreen{}, err
	}
	running := e.shows()
	s := run.Screen().Snapshot()
	if s.Lines == nil {
		s.Lines = []string{}
	}
	return wire.TerminalScreen{Cols: s.Cols, Rows: s.Rows, X: s.X, Y: s.Y, Title: s.Title, Alt: s.Alt, Lines: s.Lines, Running: running}, nil
}

// mustHold refuses callers that do not hold control.
func (e *entry) mustHold(caller wire.Caller) error {
	holder, _ := e.holder()
	if holder.HeldBy(caller) {
		return nil
	}
	who := "nobody holds control"
	if holder != nil {
		who = "control is held by " + string(holder.ClientType) + " " + holder.TokenID
	}
	return wire.Errorf(wire.CodeControl, "%s; agenthost control %s takes it", who, e.id).WithData(wire.HolderInfo{Holder: holder})
}

// mayType keeps callers of other machines from the keyboard, but for those who may do
// everything: what the agent's screen offers, a shell too, is beyond rules and asks.
func mayType(caller wire.Caller) error {
	if caller.Local || caller.Scope.Includes(wire.ScopeAdmin) {
		return nil
	}
	return wire.Errorf(wire.CodeForbidden, "typing at the agent's own screen from another machine wants a token of the scope %s, this one has %s: the screen can do what no rule sees, like run a shell; prompts and decisions can be sent without it", wire.ScopeAdmin, caller.Scope)
}

// terminalInput types at the keyboard.
func (d *Daemon) terminalInput(_ context.Context, caller wire.Caller, p wire.TerminalInputParams) (wire.TerminalInputResult, error) {
	if len(p.Data) > wire.TerminalInputBytes {
		return wire.TerminalInputResult{}, wire.Errorf(wire.CodeTooLarge, "data: want at most %d bytes at once, got %d", wire.TerminalInputBytes, len(p.Data))
	}
	if p.Attachment == "" {
		return wire.TerminalInputResult{}, wire.Errorf(wire.CodeInvalid, "attachment: want a name, got none")
	}
	if err := mayType(caller); err != nil {
		return wire.TerminalInputResult{}, err
	}
	e, run, err := d.screenOf(p.Session)
	if err != nil {
		return wire.TerminalInputResult{}, err
	}
	if err := e.mustHold(caller); err != nil {
		return wire.TerminalInputResult{}, err
	}
	if err := e.mustShow(); err != nil {
		return wire.TerminalInputResult{}, err
	}
	if len(p.Data) > 0 {
		run.Typing(byOf(caller), caller.Local)
	}
	return e.places.input(caller, run.Screen(), p)
}

// shows reports whether the agent has its own screen.
func (e *entry) shows() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.meta.Face == adapters.FaceTerminal
}

// mustShow refuses while the agent runs without its screen.
func (e *entry) mustShow() error {
	if e.shows() {
		return nil
	}
	return wire.Errorf(wire.CodeUnsupported, "the agent runs without its screen; agenthost control %s --terminal shows it", e.id)
}

// terminalResize gives the screen a size.
func (d *Daemon) terminalResize(_ context.Context, caller wire.Caller, p wire.TerminalResizeParams) (any, error) {
	if p.Cols < 1 || p.Rows < 1 || p.Cols > wire.TerminalCells || p.Rows > wire.TerminalCells {
		return nil, wire.Errorf(wire.CodeInvalid, "cols and rows: want 1 to %d, got %d and %d", wire.TerminalCells, p.Cols, p.Rows)
	}
	e, run, err := d.screenOf(p.Session)
	if err != nil {
		return nil, err
	}
	if err := e.mustHold(caller); err != nil {
		return nil, err
	}
	run.Screen().Resize(p.Cols, p.Rows)
	return nil, nil
}

// faceOf is a face of the wire as the host's.
func faceOf(f wire.Face) (adapters.Face, error) {
	switch f {
	case wire.FaceHeadless, "":
		return adapters.FaceHeadless, nil
	case wire.FaceTerminal:
		return adapters.FaceTerminal, nil
	}
	return "", wire.Errorf(wire.CodeInvalid, "face: want %s or %s, got %q", wire.FaceHeadless, wire.FaceTerminal, f)
}

func wireFace(f adapters.Face) wire.Face {
	if f == adapters.FaceTerminal {
		return wire.FaceTerminal
	}
	return wire.FaceHeadless
}

// handOver gives the session's agent another face; one that is stopped is started with
// it. When that comes to nothing the session is as it was before handOver returns.
func (d *Daemon) handOver(ctx context.Context, caller wire.Caller, e *entry, face adapters.Face, force bool) error {
	return d.retryAs(ctx, caller, e.id, want{face: wireFace(face)}, func(e *entry, run *host.Session) error {
		if err := run.Opened(ctx); err != nil {
			if e.opens(run) {
				_ = e.awaitEnd(ctx) // who did not open in another face ends
			}
			return err
		}
		now, err := run.Face(ctx)
		if err != nil || now == face {
			return err
		}
		return run.SetFace(ctx, face, force)
	})
}

// opens reports whether run was started in another face and has not opened yet.
func (e *entry) opens(run *host.Session) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.run == run && e.before != nil
}
