package claude

import (
	"fmt"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// Receive implements adapters.Protocol.
func (t *terminal) Receive(now time.Time, f adapters.Frame) (adapters.Step, error) {
	t.begin(now)
	var err error
	switch {
	case f.Dropped > 0:
		err = fmt.Errorf("%d bytes: over the limit", f.Dropped)
		t.notice(contract.ServiceError, contract.CodeProtocol,
			fmt.Sprintf("%d bytes of what the agent told were over the limit and were dropped.", f.Dropped))
		t.letGo(f.ID)
	case f.Source == adapters.Hook:
		err = t.hook(f.ID, f.Data)
	case f.Source == adapters.LogFile:
		err = t.line(f)
	case f.Source == adapters.Terminal:
		err = t.screen(f.Data)
	case f.Source == adapters.Stdout, f.Source == adapters.Stderr:
		// A wrapper's noise; nothing there is protocol.
		err = stray(f.Data)
	default:
		err = fmt.Errorf("frame of source %d: want a hook, a file's line or the screen", f.Source)
	}
	return t.finish(), err
}

// stray is the error for what came where nothing is expected, nil for text.
func stray(data []byte) error {
	if v, err := rawjson.Parse(data); err == nil && v.Kind() == rawjson.Object || blank(data) {
		return nil
	}
	return fmt.Errorf("line of %d bytes: want nothing on a pipe", len(data))
}

// Submit implements adapters.Protocol.
func (t *terminal) Submit(now time.Time, c adapters.Command) (adapters.Step, error) {
	t.begin(now)
	var err error
	switch c := c.(type) {
	case adapters.Open:
		err = t.open(c)
	case adapters.Prompt:
		err = t.prompt(c.ID, c.Text, c.Files, false)
	case adapters.Steer:
		err = t.prompt(c.ID, c.Text, c.Files, true)
	case adapters.Abort:
		t.abort()
	case adapters.Answer:
		err = t.decide(c)
	case adapters.Configure:
		err = t.configure(c)
	case adapters.Op:
		err = t.op(c)
	case adapters.Close:
		// There is no goodbye to type that a half-written line would not spoil; on the
		// signal that follows the CLI saves and says SessionEnd.
		if c.ID != "" {
			t.done(adapters.Outcome{ID: c.ID})
		}
	default:
		err = fmt.Errorf("claude: command %T: %w", c, adapters.ErrUnsupported)
	}
	if err != nil {
		t.step = adapters.Step{}
		return adapters.Step{}, err
	}
	return t.finish(), nil
}

// Tick implements adapters.Protocol.
func (t *terminal) Tick(now time.Time) adapters.Step {
	t.begin(now)
	t.expire()
	return t.finish()
}

// finish does what became possible and closes the step.
func (t *terminal) finish() adapters.Step {
	t.putAsks()
	t.settleHooks()
	t.pump()
	return t.end()
}

// open begins the session: it is open when its first hook says so.
func (t *terminal) open(c adapters.Open) error {
	if t.protocol.open.sent {
		return fmt.Errorf("claude: a second Open: want one")
	}
	t.protocol.open = opening{id: c.ID, sent: true}
	t.born = t.now
	return nil
}

// elsewhere is why a setting is refused: none can be typed without opening a dialog
// that takes the next keys for its own, and the mode goes round by a key.
const elsewhere = "in its own terminal mode, model and effort are changed there (shift+tab, /model, /effort), or without its screen"

// configure refuses, but a mode that the CLI is in or about to enter: the approval of
// a plan changes it.
func (t *terminal) configure(c adapters.Configure) error {
	if c.Model != "" || c.ThinkingLevel != "" || c.Sandbox != nil {
		return fmt.Errorf("claude: %s: %w", elsewhere, adapters.ErrUnsupported)
	}
	if c.Mode == "" {
		t.succeed(c.ID, nil)
		return nil
	}
	mode, err := permissionMode(string(c.Mode), t.info.Options.AllowBypass)
	if err != nil {
		return err
	}
	if mode == t.facts.mode {
		t.succeed(c.ID, nil)
		return nil
	}
	if !t.turn.open || !t.ends.planned {
		return fmt.Errorf("claude: %s: %w", elsewhere, adapters.ErrUnsupported)
	}
	t.waitFor(c.ID, waitMode+mode, modePatience, func(reply) {
		t.fail(c.ID, wireError{contract.CodeUnsupported, elsewhere})
	})
	return nil
}

// waitMode begins the kind of the wait for a mode.
const waitMode = "mode "

// modePatience is how long the CLI may take to change the mode when a plan was
// approved: it tells with the next hook or record, which hooks of the user's hold up.
const modePatience = hookTimeout * time.Second

// op starts an operation: those that need no word of the CLI.
func (t *terminal) op(c adapters.Op) error {
	if c.Name != adapters.OpFork {
		return fmt.Errorf("claude: operation %q in its own terminal: %w", c.Name, adapters.ErrUnsupported)
	}
	return t.submitOp(c)
}

// Exit implements adapters.Protocol.
func (t *terminal) Exit(now time.Time, s adapters.ExitStatus) adapters.Step {
	t.begin(now)
	t.gone = true
	cause := exitError(s)
	if t.protocol.open.pending() {
		t.openFailed(t.startError(s, cause))
	}
	for _, a := range t.asks {
		t.withdraw(a.key)
		t.endOwn(a)
	}
	t.asks, t.hooks.waiting = nil, nil
	for _, id := range t.crew.ids {
		t.linkAnyhow(t.crew.known(id))
	}
	t.releaseMain()
	if t.turn.open {
		t.closeTurn(t.exitTurn(s, cause))
	}
	t.agents.stopAll(t.protocol)
	t.endLooseCalls()
	for _, k := range t.typed.queue {
		t.lost(k.input(), s, cause)
	}
	t.typed.queue = nil
	t.flushLate()
	for _, q := range t.requests.list {
		if q.owner != "" {
			q.got(reply{now: now, err: &cause})
		}
	}
	t.requests.list = nil
	return t.end()
}

// exitTurn is how a turn ends that the process did not live to end. Whoever quits
// the CLI in the middle of one has stopped it.
func (t *terminal) exitTurn(s adapters.ExitStatus, cause wireError) contract.TurnEnd {
	if !s.Requested && s.Code == 0 && s.Err == "" {
		end := contract.TurnEnd{Status: contract.TurnCancelled}
		end.Usage = t.usage()
		return end
	}
	end := t.protocol.exitTurn(s, cause)
	end.Usage = t.usage()
	return end
}

// startError is why no session was opened, with what stood in the way.
func (t *terminal) startError(s adapters.ExitStatus, cause wireError) wireError {
	e := startFailure(exitText(s))
	if cause.code == contract.CodeNotInstalled {
		e.code = cause.code
	}
	if g := t.watch.gate; g != nil {
		e.message += ". " + g.text
		if g.code != "" {
			e.code = g.code
		}
	}
	return e
}
