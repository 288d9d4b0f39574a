package daemon

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/relay/wire"
)

// envelopeID is the id under which a command takes effect once.
func envelopeID(id string) (string, error) {
	switch {
	case id == "":
		return cuid2.Generate(), nil
	case !cuid2.IsCuid(id):
		return "", wire.Errorf(wire.CodeInvalid, "id: want a cuid2, got %q", id)
	}
	return id, nil
}

// byOf says who decides.
func byOf(c wire.Caller) contract.DecisionBy {
	return contract.DecisionBy{Resolver: contract.ByClient, ClientType: c.ClientType, TokenID: c.TokenID}
}

func user(id string, ev contract.Event) contract.Envelope {
	return contract.Envelope{ID: id, Role: contract.RoleUser, Event: ev}
}

// runs gives the session that ref names, with its agent started again when it is
// stopped.
func (d *Daemon) runs(ctx context.Context, caller wire.Caller, ref string, w want) (*entry, *host.Session, error) {
	e, err := d.find(ref)
	if err != nil {
		return nil, nil, err
	}
	run, err := e.ensure(ctx, caller, w)
	return e, run, err
}

// retry calls f with the session that runs, and once more when that one was just
// ending.
func (d *Daemon) retry(ctx context.Context, caller wire.Caller, ref string, f func(*entry, *host.Session) error) error {
	return d.retryAs(ctx, caller, ref, want{}, f)
}

// retryAs is retry with a session that is started as w says, when it does not run.
func (d *Daemon) retryAs(ctx context.Context, caller wire.Caller, ref string, w want, f func(*entry, *host.Session) error) error {
	for again := false; ; again = true {
		e, run, err := d.runs(ctx, caller, ref, w)
		if err != nil {
			return err
		}
		err = f(e, run)
		ending := errors.Is(err, host.ErrOver) || errors.Is(err, host.ErrStopping)
		if !ending || again || ctx.Err() != nil {
			return err
		}
		select {
		case <-run.Done(): // it is over in a moment: with ErrOver it is
		case <-ctx.Done():
			return err
		}
	}
}

// abort stops the running turn. A session without one has nothing to abort.
func (d *Daemon) abort(ctx context.Context, caller wire.Caller, p wire.AbortParams) (wire.SentResult, error) {
	id, err := envelopeID(p.ID)
	if err != nil {
		return wire.SentResult{}, err
	}
	e, err := d.find(p.Session)
	if err != nil {
		return wire.SentResult{}, err
	}
	e.use()
	run := e.alive()
	if run == nil {
		if e.isForeign() {
			return wire.SentResult{}, wire.Errorf(wire.CodeBusy, "another process runs the session: stop the turn there")
		}
		return wire.SentResult{ID: id, Session: e.id}, nil
	}
	err = run.Submit(ctx, host.Input{Envelope: user(id, contract.Abort{}), By: byOf(caller)})
	if errors.Is(err, host.ErrOver) {
		err = nil
	}
	return wire.SentResult{ID: id, Session: e.id}, err
}

func (e *entry) isForeign() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.foreign
}

// configure changes the configuration. It returns when the agent confirmed it.
func (d *Daemon) configure(ctx context.Context, caller wire.Caller, p wire.ConfigureParams) (wire.SessionResult, error) {
	id, err := envelopeID(p.ID)
	if err != nil {
		return wire.SessionResult{}, err
	}
	if p.Model == "" && p.PermissionMode == "" && p.ThinkingLevel == "" && p.Sandbox == nil {
		return wire.SessionResult{}, wire.Errorf(wire.CodeInvalid, "want one of model, permissionMode, thinkingLevel and sandbox, got none")
	}
	if err := mayBypass(caller, string(p.PermissionMode)); err != nil {
		return wire.SessionResult{}, err
	}
	e, err := d.find(p.Session)
	if err != nil {
		return wire.SessionResult{}, err
	}
	if err := e.expect(p.Expect); err != nil && !e.took(ctx, id) {
		return wire.SessionResult{}, err
	}
	ev := contract.AgentConfigurationChanged{
		Model: p.Model, PermissionMode: p.PermissionMode, ThinkingLevel: p.ThinkingLevel, Sandbox: p.Sandbox,
	}
	err = d.retry(ctx, caller, e.id, func(_ *entry, run *host.Session) error {
		if err := run.Opened(ctx); err != nil {
			return err
		}
		return run.Submit(ctx, host.Input{Envelope: user(id, ev), By: byOf(caller)})
	})
	if err != nil {
		return wire.SessionResult{}, err
	}
	return e.seen(ctx), nil
}

// took reports whether the session that runs took an envelope under this id.
func (e *entry) took(ctx context.Context, id string) bool {
	run := e.alive()
	if run == nil {
		return false
	}
	took, err := run.Took(ctx, id)
	return err == nil && took
}

// mayBypass keeps callers of other machines from what only a person at this one may
// allow. For those here the mediator has the last word.
func mayBypass(caller wire.Caller, mode string) error {
	if mode == string(contract.ModeBypassPermissions) && !caller.Local && caller.Scope != "" {
		return wire.Errorf(wire.CodeForbidden, "bypassPermissions can be switched on only on the host's own machine")
	}
	return nil
}

// expect checks that nobody changed the metadata since version was told; 0 is any.
// That version is used up: of two who name it one gets on.
func (e *entry) expect(version int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.expectLocked(version)
	if err == nil && version != 0 {
		e.bumpLocked()
	}
	return err
}

func (e *entry) expectLocked(version int64) error {
	if version == 0 || version == e.version {
		return nil
	}
	return wire.Errorf(wire.CodeConflict, "the session has version %d, not %d", e.version, version).WithData(e.describeLocked())
}

// seen is the metadata, with what the session's loop and stream have up to now.
func (e *entry) seen(ctx context.Context) wire.SessionResult {
	if run := e.current(); run != nil && e.await(ctx, run.Journal().End()) == nil {
		e.look(ctx, run)
	}
	return wire.SessionResult{Session: e.session()}
}

// control makes the caller the one who holds control. With a face it does so when the
// agent has it; else nothing changes.
func (d *Daemon) control(ctx context.Context, caller wire.Caller, p wire.ControlParams) (wire.SessionResult, error) {
	id, err := envelopeID(p.ID)
	if err != nil {
		return wire.SessionResult{}, err
	}
	ev := contract.SessionControlChanged{ClientType: caller.ClientType, TokenID: caller.TokenID}
	if p.ClientType != "" {
		ev.ClientType = p.ClientType
	}
	switch ev.ClientType {
	case contract.ClientCLI, contract.ClientPhone, contract.ClientBrowser, contract.ClientDaemon:
	default:
		return wire.SessionResult{}, wire.Errorf(wire.CodeInvalid, "clientType: want cli, phone, browser or daemon, got %q", ev.ClientType)
	}
	e, err := d.find(p.Session)
	if err != nil {
		return wire.SessionResult{}, err
	}
	face, err := faceOf(p.Face)
	if err != nil {
		return wire.SessionResult{}, err
	}
	e.use()
	if p.Face != "" {
		if err := d.handOver(ctx, caller, e, face, p.Force); err != nil {
			return wire.SessionResult{}, err
		}
	}
	c, _ := e.holder()
	if c == nil || c.ClientType != ev.ClientType || c.TokenID != ev.TokenID {
		if err := e.write(ctx, user(id, ev)); err != nil {
			return wire.SessionResult{}, err
		}
	}
	return e.seen(ctx), nil
}

// write takes down an envelope that needs no agent: through the session that runs,
// or into the stream of one that does not.
func (e *entry) write(ctx context.Context, env contract.Envelope) error {
	if run := e.alive(); run != nil {
		if err := run.Submit(ctx, host.Input{Envelope: env}); !errors.Is(err, host.ErrOver) {
			return err
		}
	}
	if err := e.lock(ctx); err != nil {
		return err
	}
	defer e.unlock()
	if run := e.alive(); run != nil {
		return run.Submit(ctx, host.Input{Envelope: env})
	}
	if err := e.awaitEnd(ctx); err != nil {
		return err
	}
	if _, err := host.Settle(host.Stored{StateDir: e.d.cfg.StateDir, ID: e.id, Journal: e.d.cfg.Journal, Logger: e.d.log}, env); err != nil {
		return startError(err)
	}
	e.mu.Lock()
	e.rec.Settled = false
	e.mu.Unlock()
	err := e.settle()
	e.publish()
	return err
}

// await waits until the summary has what lies before a position.
func (e *entry) await(ctx context.Context, end journal.Position) error {
	for {
		e.mu.Lock()
		if e.rec.Sum.At >= end || e.run == nil {
			e.mu.Unlock()
			return nil
		}
		if e.moved == nil {
			e.moved = make(chan struct{})
		}
		moved := e.moved
		e.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// op runs an operation of the agent. One that branches off begins the new session.
func (d *Daemon) op(ctx context.Context, caller wire.Caller, p wire.OpParams) (wire.OpResult, error) {
	if p.Name == "" {
		return wire.OpResult{}, wire.Errorf(wire.CodeInvalid, "name: want the name of an operation, got none")
	}
	if p.Name == adapters.OpFork {
		return d.forkOp(ctx, caller, p)
	}
	var result wire.OpResult
	err := d.retry(ctx, caller, p.Session, func(e *entry, run *host.Session) error {
		raw, err := run.Op(ctx, p.Name, p.Params)
		result.Result = raw
		return err
	})
	return result, err
}

// update changes what people own of the metadata.
func (d *Daemon) update(ctx context.Context, caller wire.Caller, p wire.UpdateParams) (wire.SessionResult, error) {
	e, err := d.find(p.Session)
	if err != nil {
		return wire.SessionResult{}, err
	}
	if p.Title != nil && len(*p.Title) > maxTitle {
		return wire.SessionResult{}, wire.Errorf(wire.CodeTooLarge, "title: want at most %d bytes, got %d", maxTitle, len(*p.Title))
	}
	e.mu.Lock()
	if p.Expect == 0 {
		e.mu.Unlock()
		return wire.SessionResult{}, wire.Errorf(wire.CodeInvalid, "expect: want the version that the change is based on, got none")
	}
	if err := e.expectLocked(p.Expect); err != nil {
		e.mu.Unlock()
		return wire.SessionResult{}, err
	}
	if p.Title != nil {
		e.rec.Title = *p.Title
	}
	if p.Archived != nil {
		e.rec.Archived = *p.Archived
	}
	e.saveLocked(true)
	changed := e.publishLocked() // under the same lock: the next one finds another version
	res := wire.SessionResult{Session: e.describeLocked()}
	e.mu.Unlock()
	if changed {
		d.hub.tell(e.id)
	}
	return res, nil
}

// maxTitle is the longest title, in bytes: a line, not a text.
const maxTitle = 1000

// resume starts a stopped session's agent.
func (d *Daemon) resume(ctx context.Context, caller wire.Caller, p wire.SessionRef) (wire.SessionResult, error) {
	e, err := d.find(p.Session)
	if err != nil {
		return wire.SessionResult{}, err
	}
	if run := e.alive(); run != nil {
		if st, err := run.Status(ctx); err == nil && st.Phase == host.PhaseDown {
			// Its agent died. The next prompt would start it; somebody wants it now.
			if err := e.stop(ctx, false, false); err != nil {
				return wire.SessionResult{}, err
			}
		}
	}
	if _, err := e.ensure(ctx, caller, want{}); err != nil {
		return wire.SessionResult{}, err
	}
	return e.seen(ctx), nil
}

// stop ends a session's agent.
func (d *Daemon) stop(ctx context.Context, _ wire.Caller, p wire.StopParams) (wire.SessionResult, error) {
	e, err := d.find(p.Session)
	if err != nil {
		return wire.SessionResult{}, err
	}
	if e.current() == nil && e.isForeign() {
		return wire.SessionResult{}, wire.Errorf(wire.CodeBusy, "another process runs the session: stop it there")
	}
	if err := e.stop(ctx, p.Force, false); err != nil {
		return wire.SessionResult{}, err
	}
	return wire.SessionResult{Session: e.session()}, nil
}

// removed answers session.remove.
type removed struct {
	Session string `json:"session"`
}

// remove ends a session and removes all it has.
func (d *Daemon) remove(ctx context.Context, _ wire.Caller, p wire.SessionRef) (removed, error) {
	e, err := d.find(p.Session)
	var w *wire.Error
	if errors.As(err, &w) && w.Code == wire.CodeNotFound && cuid2.IsCuid(p.Session) {
		return removed{p.Session}, nil // it was removed before
	}
	if err != nil {
		return removed{}, err
	}
	if err := e.stop(ctx, true, false); err != nil {
		return removed{}, err
	}
	if err := e.lock(ctx); err != nil {
		return removed{e.id}, nil // by somebody else
	}
	defer e.unlock()
	if e.current() != nil {
		return removed{}, wire.Errorf(wire.CodeBusy, "the session was started again meanwhile")
	}
	switch err := host.Remove(d.cfg.StateDir, e.id); {
	case errors.Is(err, journal.ErrLocked):
		return removed{}, wire.Errorf(wire.CodeBusy, "another process runs the session: stop it there first")
	case err != nil:
		return removed{}, fmt.Errorf("removing the session: %w", err)
	}
	e.forget()
	return removed{e.id}, nil
}

// absolute checks a path that a caller gave.
func absolute(name, path string) error {
	if !filepath.IsAbs(path) {
		return wire.Errorf(wire.CodeInvalid, "%s: want an absolute path on the host, got %q", name, path)
	}
	return nil
}
