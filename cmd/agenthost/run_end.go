package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/proc"
	"github.com/agenthost/agenthost/journal"
)

// stopTime bounds how long ending a session may take; its agent is killed then.
const stopTime = time.Minute

// shut ends the session. Whoever sends a second signal does not want to wait for
// an agent that takes its time.
func (r *runner) shut() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	stopped := make(chan struct{})
	defer close(stopped)
	go func() {
		select {
		case <-r.ends.again:
			r.session.Kill()
		case <-stopped:
		}
	}()
	if err := r.session.Stop(ctx); err != nil {
		fmt.Fprintf(r.st.err, "agenthost: stopping the session: %v\n", err)
	}
}

// printTime bounds how long a run that was stopped waits for whoever reads its
// output: they may never read on, and the journal has the rest. hurriedTime is
// that after a second signal.
const (
	printTime   = 5 * time.Second
	hurriedTime = 300 * time.Millisecond
)

// awaitOutput waits until all is printed; a run that was stopped leaves without.
func (r *runner) awaitOutput(printed <-chan error) error {
	select {
	case err := <-printed:
		return err
	case <-r.ends.ctx.Done():
	}
	for again, left := r.ends.again, printTime; left > 0; {
		timer := time.NewTimer(left)
		select {
		case err := <-printed:
			timer.Stop()
			return err
		case <-again:
			again, left = nil, hurriedTime
		case <-timer.C:
			left = 0
		}
		timer.Stop()
	}
	fmt.Fprintf(r.st.err, "agenthost: nobody reads the output: what was not printed is in the journal\n"+
		"  --resume %s --from %d prints it\n", r.session.ID(), r.out.next.Load())
	return nil
}

// result is the exit code of a run, nil for 0.
func (r *runner) result(inputErr, outErr error) error {
	if cause := r.ends.cause(); cause != nil {
		return cause
	}
	if err := r.session.Err(); err != nil {
		return journalProblem(err)
	}
	if outErr != nil {
		return &problem{code: exitFailed, what: outErr.Error()}
	}
	var open *host.OpenError
	if errors.As(inputErr, &open) {
		return r.out.once(openProblem(open, r.session))
	}
	var p *problem
	if errors.As(inputErr, &p) {
		return p
	}
	var refused *refusedInput
	if inputErr != nil && !errors.As(inputErr, &refused) && !errors.Is(inputErr, host.ErrOver) {
		return inputProblem(inputErr)
	}
	if err := r.out.once(r.out.last.problem(loginHint(r.session.Adapter()))); err != nil || refused == nil {
		return err
	}
	return failure(refused)
}

// journalProblem explains a disk that failed.
func journalProblem(err error) error {
	return &problem{
		code: exitFailed, what: "the session could not be kept, so it was stopped: " + err.Error(),
		mend: "make room on the disk of the state directory, then go on with --resume",
	}
}

// startProblem explains why a session did not start.
func startProblem(err error) error {
	var not *host.NotStartedError
	switch {
	case errors.As(err, &not):
		return &problem{code: exitStart, what: fmt.Sprintf("starting %s: %v", not.Agent.Name(), not.Err), mend: installHint(not)}
	case errors.Is(err, journal.ErrLocked):
		return usage("stop the other one first, or start a session of your own", "%v", err)
	}
	var disk *journal.WriteError
	if errors.As(err, &disk) {
		return journalProblem(err)
	}
	if ofTheDisk(err) {
		return failure(err)
	}
	return &problem{code: exitUsage, what: err.Error()}
}

func installHint(not *host.NotStartedError) string {
	if !errors.Is(not.Err, proc.ErrNotFound) || not.Agent.Describe().Install == "" {
		return ""
	}
	return "to install it: " + not.Agent.Describe().Install
}

// openProblem explains why an agent's session did not open.
func openProblem(err *host.OpenError, s *host.Session) error {
	p := &problem{code: exitStart, what: err.Error()}
	if err.Cause.Code == contract.CodeAuthRequired {
		p.mend = loginHint(s.Adapter())
	}
	if err.Cause.Code == contract.CodeUnsupported || err.Cause.Code == contract.CodeSessionNotFound {
		p.code = exitUsage
	}
	return p
}

// loginHint says how to log in to an agent.
func loginHint(a adapters.Adapter) string {
	if hint := a.Describe().Login; hint != "" {
		return "to log in: " + hint
	}
	return "log in to the agent, or give it the variable with its API key: --pass-env 'NAME_*'"
}

// ending is why a run ends before its input does.
type ending struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	stop   []func()
	// again is closed by a signal that comes when the run is being ended already.
	again chan struct{}
}

func causeOutput(err error) *problem {
	if errors.Is(err, syscall.EPIPE) {
		return &problem{code: exitSIGPIPE}
	}
	return &problem{code: exitFailed, what: "writing the output: " + err.Error()}
}

// newEnding watches signals and the time. SIGPIPE is watched too: its default
// would end this process at a write to a closed standard output, before the
// agent is stopped.
func newEnding(parent context.Context, timeout time.Duration) *ending {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	e := &ending{ctx: ctx, cancel: cancel, again: make(chan struct{})}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	e.stop = append(e.stop, func() { signal.Stop(signals); close(signals) })
	go e.watch(signals)
	if timeout > 0 {
		timer := time.AfterFunc(timeout, func() {
			e.finish(&problem{code: exitTimeout, what: fmt.Sprintf("not done after %v", timeout), mend: "allow more with --timeout"})
		})
		e.stop = append(e.stop, func() { timer.Stop() })
	}
	return e
}

// watch ends the run at the first signal and hurries its end at the second.
func (e *ending) watch(signals <-chan os.Signal) {
	hurried := false
	for s := range signals {
		n, ok := s.(syscall.Signal)
		switch {
		case !ok || n == syscall.SIGPIPE:
		case e.ctx.Err() == nil:
			e.finish(&problem{code: exitSignal + int(n)})
		case !hurried:
			hurried = true
			close(e.again)
		}
	}
}

// finish ends the run; the first cause counts.
func (e *ending) finish(p *problem) { e.cancel(p) }

// cause is why the run ended early, nil when it did not.
func (e *ending) cause() error {
	if e.ctx.Err() == nil {
		return nil
	}
	return context.Cause(e.ctx)
}

func (e *ending) release() {
	for _, f := range e.stop {
		f()
	}
	e.cancel(nil)
}
