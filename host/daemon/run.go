package daemon

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/proc"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/relay/wire"
)

// want is how a session is to be started, beside what is known of it.
type want struct {
	// branch is what it is branched off, nil for nothing; at its first start only.
	branch *host.Branch
	// face is the one that it is to have, empty for that it has. When its agent does not
	// open in it the session stays as it was.
	face wire.Face
}

// before is what a session was, for when a start in another face comes to nothing.
type before struct {
	state  wire.State
	failed *contract.Error
}

// ensure gives the session that runs, and starts its agent again when none does.
func (e *entry) ensure(ctx context.Context, caller wire.Caller, w want) (*host.Session, error) {
	e.use()
	if run := e.alive(); run != nil {
		return run, nil
	}
	if err := e.lock(ctx); err != nil {
		return nil, err
	}
	defer e.unlock()
	if run := e.alive(); run != nil {
		return run, nil
	}
	return e.start(ctx, caller, w)
}

// alive is the session that runs and was not stopped, nil when there is none.
func (e *entry) alive() *host.Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.run == nil || e.state == wire.StateStopping {
		return nil
	}
	select {
	case <-e.run.Done():
		return nil
	default:
		return e.run
	}
}

// start starts the agent. Whoever calls it holds life.
func (e *entry) start(ctx context.Context, caller wire.Caller, w want) (*host.Session, error) {
	if err := e.awaitEnd(ctx); err != nil {
		return nil, err
	}
	if err := e.d.admit(); err != nil {
		return nil, err
	}
	req := e.request(caller, w)
	run, done, err := e.launch(ctx, req)
	if err != nil {
		<-e.d.slots
		e.failed(err, w.face != "")
		return nil, startError(err)
	}
	e.mu.Lock()
	if w.face != "" {
		e.before = &before{e.state, e.rec.Failed}
	}
	e.run, e.state, e.foreign = run, wire.StateRunning, false
	e.rec.Failed, e.rec.Settled, e.rec.Extent, e.rec.Ran = nil, false, nil, true
	e.reserveLocked()
	if req.Env == nil && e.env == nil {
		e.rec.Env = nil // its stream says that it is lost
	}
	e.active = time.Now()
	e.saveLocked(true)
	e.mu.Unlock()
	e.d.tellRules(run)
	e.look(ctx, run)
	e.d.wg.Go(func() {
		e.observe(run)
		// Before the next run may begin: the mediator knows the session by its id.
		done()
		<-e.d.slots
		e.over(run)
	})
	return run, nil
}

// awaitEnd waits until a run that is over was seen to its end.
func (e *entry) awaitEnd(ctx context.Context) error {
	w := e.d.hub.watch(e.id)
	defer w.close()
	for e.current() != nil {
		select {
		case <-w.wake:
			w.take()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// admit takes a slot for an agent.
func (d *Daemon) admit() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closing {
		return wire.Errorf(wire.CodeHostOffline, "the host is being stopped")
	}
	select {
	case d.slots <- struct{}{}:
		return nil
	default:
		return wire.Errorf(wire.CodeBusy, "%d agents run already, which is the limit: stop one first", cap(d.slots))
	}
}

// request is what the session is started with: as it was at first, with what was
// changed since.
func (e *entry) request(caller wire.Caller, w want) Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	req := Request{ID: e.id, Caller: caller, Branch: w.branch, Native: e.meta.Facts.NativeSession, Again: e.meta.ID != "", Env: e.env}
	if e.env == nil {
		req.Lost = e.rec.Env
	}
	if e.rec.Spawn != nil {
		req.Spawn = *e.rec.Spawn
	} else {
		req.Spawn = wire.SpawnParams{ID: e.id, Agent: e.meta.Agent, Dir: e.meta.Dir, Title: e.meta.Title}
	}
	if !req.Again {
		return req
	}
	req.Spawn.Face = cmp.Or(w.face, wireFace(e.meta.Face))
	c := e.rec.Sum.Config
	if c.Model != "" {
		req.Spawn.Model = c.Model
	}
	if c.PermissionMode != "" {
		req.Spawn.Mode = string(c.PermissionMode)
	}
	if c.ThinkingLevel != "" {
		req.Spawn.Thinking = c.ThinkingLevel
	}
	if c.Sandbox != nil {
		req.Spawn.Sandbox = *c.Sandbox
	}
	return req
}

// launch prepares and starts the session. done releases what that opened.
func (e *entry) launch(ctx context.Context, req Request) (run *host.Session, done func(), err error) {
	p, err := e.d.cfg.Prepare(ctx, req)
	done = sync.OnceFunc(func() {
		e.d.cfg.Mediator.EndSession(e.id, contract.ByHost)
		if p.Close != nil {
			p.Close()
		}
	})
	if err != nil {
		done()
		return nil, nil, err
	}
	hc := p.Host
	hc.ID, hc.StateDir, hc.Mediator, hc.Changed = e.id, e.d.cfg.StateDir, e.d.cfg.Mediator, func() { e.d.poke(e) }
	hc.Title = req.Spawn.Title
	e.mu.Lock()
	hc.Requeue, e.requeue = e.requeue, false
	e.mu.Unlock()
	if hc.Logger == nil {
		hc.Logger = e.d.log
	}
	if req.Branch != nil {
		req.Branch.Configure(&hc)
	} else if req.Native != "" {
		hc.Options.Resume, hc.Options.Continue = req.Native, false
	}
	if err := e.d.cfg.Mediator.StartSession(e.id, p.Session); err != nil {
		done()
		return nil, nil, err
	}
	// The session's life is its own: who wanted it may hang up.
	run, err = host.Start(context.WithoutCancel(ctx), hc)
	if err != nil {
		done()
		return nil, nil, err
	}
	return run, done, nil
}

// failed notes that a start came to nothing. asBefore says that only its caller is told,
// and the session is what it was.
func (e *entry) failed(err error, asBefore bool) {
	var p *wire.Error
	switch {
	case errors.Is(err, journal.ErrLocked):
		e.mu.Lock()
		e.foreign = true
		e.mu.Unlock()
		e.publish()
		return
	case errors.As(err, &p) && p.Code != wire.CodeAgent:
		return // it was not tried
	}
	cause := causeOf(err)
	e.mu.Lock()
	if m, merr := host.Find(e.d.cfg.StateDir, e.id, ""); merr == nil {
		e.meta = m
	}
	if !asBefore {
		e.state, e.rec.Failed = wire.StateFailed, &cause
	}
	e.saveLocked(false)
	e.mu.Unlock()
	if err := e.settle(); err != nil {
		e.d.log.Warn("reading a session that did not start", "session", e.id, "err", err)
	}
	e.publish()
}

// poke makes the session's observer look at it. It never blocks: the loop calls it.
func (d *Daemon) poke(e *entry) {
	select {
	case e.poked <- struct{}{}:
	default:
	}
}

// observe follows a session that runs until it is over, and keeps the metadata.
func (e *entry) observe(run *host.Session) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		e.follow(run)
	}()
	for over := false; !over; {
		select {
		case <-e.poked:
			e.look(ctx, run)
			if e.died(run) {
				e.publish()
				e.d.wg.Go(func() { e.restart(run) })
			}
		case <-followed:
			over = true
		}
	}
	<-run.Done()
}

// follow folds the stream into the summary.
func (e *entry) follow(run *host.Session) {
	e.mu.Lock()
	from := max(e.rec.Sum.At, run.Journal().Oldest())
	e.mu.Unlock()
	for r, err := range run.Journal().Follow(context.Background(), from) {
		if err != nil {
			e.d.log.Error("following a session", "session", e.id, "err", err)
			return
		}
		e.mu.Lock()
		e.rec.Sum.At = r.Position
		changed := e.rec.Sum.apply(r.Envelope)
		e.moveLocked()
		if end, ended := r.Envelope.Event.(contract.TurnEnd); ended {
			e.active = time.Now()
			if end.Status == contract.TurnCompleted {
				e.tries = 0
			}
			e.saveLocked(false)
		}
		e.mu.Unlock()
		if changed {
			e.d.poke(e)
		}
	}
}

// look reads the session's status and publishes what changed.
func (e *entry) look(ctx context.Context, run *host.Session) {
	st, err := run.Status(ctx)
	if err == nil {
		e.mu.Lock()
		e.status, e.meta = st, st.Meta
		if st.Phase == host.PhaseReady {
			e.before = nil
		}
		e.mu.Unlock()
	}
	e.publish()
}

// over notes that a run has ended.
func (e *entry) over(run *host.Session) {
	var open *host.OpenError
	err := run.Opened(context.Background())
	e.mu.Lock()
	if m, merr := host.Find(e.d.cfg.StateDir, e.id, ""); merr == nil {
		e.meta = m
	}
	e.state, e.rec.Failed = wire.StateStopped, nil
	switch {
	case run.Err() != nil:
		e.state = wire.StateFailed
		e.rec.Failed = &contract.Error{Code: contract.CodeHostStopped, Message: "the session could not be kept, so it was stopped: " + run.Err().Error()}
	case errors.As(err, &open) && e.before != nil:
		e.state, e.rec.Failed = e.before.state, e.before.failed
	case errors.As(err, &open):
		e.state, e.rec.Failed = wire.StateFailed, &open.Cause
	}
	e.run, e.before, e.status = nil, nil, host.Status{}
	e.places.close()
	e.moveLocked()
	e.rec.Settled = run.Err() == nil
	if e.rec.Extent = nil; e.rec.Sum.At == run.Journal().End() {
		e.keepExtent(run.Journal().Extent())
	}
	if !e.d.Closing() {
		e.rec.Ran = false // it was stopped, or cannot go on
	}
	if !e.publishLocked() {
		e.saveLocked(true)
	}
	e.mu.Unlock()
	e.d.hub.tell(e.id) // those who wait for the end, also when nothing else changed
}

// stop ends the agent; the session stays. idle stops it only if nobody needs it.
func (e *entry) stop(ctx context.Context, force, idle bool) error {
	if force {
		// At once, whoever holds life: a start or a stop that hangs is what a
		// person who forces wants to end.
		if run := e.current(); run != nil {
			run.Kill()
		}
	}
	if err := e.lock(ctx); err != nil {
		return err
	}
	defer e.unlock()
	run := e.current()
	if run == nil || idle && e.idleFor() < e.d.cfg.Limits.Idle {
		return nil
	}
	e.mu.Lock()
	e.state = wire.StateStopping
	e.mu.Unlock()
	e.publish()
	if force {
		run.Kill()
	}
	if err := e.stopRun(ctx, run); err != nil {
		return err
	}
	return e.awaitEnd(ctx)
}

// stopRun stops a run politely, and kills it when that takes too long. It returns
// early, with the stop going on, when ctx ends.
func (e *entry) stopRun(ctx context.Context, run *host.Session) error {
	polite, cancel := context.WithTimeout(ctx, e.d.cfg.Limits.Stop)
	defer cancel()
	if err := run.Stop(polite); err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	run.Kill()
	select {
	case <-run.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// finish ends the run for good, killing it when ctx ends.
func (e *entry) finish(ctx context.Context) {
	// A start that is under way comes to its end first: admit refuses new ones.
	if err := e.lock(context.WithoutCancel(ctx)); err != nil {
		return
	}
	defer e.unlock()
	run := e.current()
	if run == nil {
		return
	}
	if e.stopRun(ctx, run) != nil {
		run.Kill()
	}
	<-run.Done()
}

// idleFor is how long nobody has needed the agent, 0 when somebody does or none
// runs.
func (e *entry) idleFor() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	st := e.status
	if e.run == nil || e.viewers > 0 || st.Phase != host.PhaseReady || st.Turn != "" || st.Queued > 0 || st.Asks > 0 {
		return 0
	}
	return time.Since(e.active)
}

// has reports whether m is what is known already of a session that does not run.
func (e *entry) has(m host.Meta) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.run == nil && !e.foreign && e.meta.Updated == m.Updated
}

// refresh looks at a session that does not run here. It is false when that has to wait
// until the session was started or stopped.
func (e *entry) refresh() bool {
	select {
	case <-e.life:
	default:
		return false
	}
	defer e.unlock()
	select {
	case <-e.gone:
		return true
	default:
	}
	if e.current() == nil {
		e.reread()
	}
	return true
}

// reread takes over what another process did to a session. The caller holds its life.
func (e *entry) reread() {
	m, err := host.Find(e.d.cfg.StateDir, e.id, "")
	if errors.Is(err, os.ErrNotExist) {
		e.mu.Lock()
		never := e.meta.ID == ""
		e.mu.Unlock()
		if !never {
			e.forget() // another process removed it
		}
		return
	}
	if err != nil {
		e.d.log.Warn("looking at a session", "session", e.id, "err", err)
		return
	}
	e.mu.Lock()
	same := !e.foreign && e.meta.Updated == m.Updated
	e.meta = m
	if !same {
		e.rec.Settled = false
		e.foreign = false
	}
	e.mu.Unlock()
	if same {
		return
	}
	if err := e.settle(); err != nil {
		e.d.log.Warn("looking at a session", "session", e.id, "err", err)
	}
	e.publish()
}

// forget takes the session out of the list.
func (e *entry) forget() {
	e.d.mu.Lock()
	delete(e.d.sessions, e.id)
	e.d.mu.Unlock()
	close(e.gone)
	e.d.hub.tell(e.id)
}

// causeOf is why a start failed, for people.
func causeOf(err error) contract.Error {
	c := contract.Error{Code: contract.CodeStartFailed, Message: err.Error()}
	var not *host.NotStartedError
	if errors.As(err, &not) && errors.Is(not.Err, proc.ErrNotFound) {
		c.Code = contract.CodeNotInstalled
	}
	if errors.Is(err, adapters.ErrUnsupported) {
		c.Code = contract.CodeUnsupported
	}
	return c
}
