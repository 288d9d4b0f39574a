package daemon

import (
	"time"

	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/relay/wire"
)

// The back-off of restarts. After restartTries in a row without a turn that ended
// well only the next message starts the agent: it does not get better by itself.
const (
	restartFirst = time.Second
	restartMost  = time.Minute
	restartTries = 8
)

// restartWait is how long to wait before a restart, by those before it: twice as
// long each time.
func restartWait(before int) time.Duration {
	return min(restartFirst<<min(before, 10), restartMost)
}

// died reports whether the agent of run is to be started again by itself, and takes
// note that it will be.
func (e *entry) died(run *host.Session) bool {
	if !e.d.cfg.Restart || e.d.ctx.Err() != nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.run != run || e.restarting || e.state != wire.StateRunning || e.status.Phase != host.PhaseDown || e.tries >= restartTries {
		return false
	}
	e.restarting = true
	return true
}

// restart starts an agent that died again, after a while, until it runs or it was
// tried too often.
func (e *entry) restart(run *host.Session) {
	defer func() {
		e.mu.Lock()
		e.restarting = false
		e.mu.Unlock()
		e.publish()
	}()
	ours := false
	for {
		e.mu.Lock()
		wait := restartWait(e.tries)
		over := e.tries >= restartTries
		e.tries++
		e.mu.Unlock()
		if over {
			e.d.log.Warn("an agent died too often in a row; the next message starts it", "session", e.id, "times", restartTries)
			return
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-e.gone:
			timer.Stop()
			return
		case <-e.d.ctx.Done():
			timer.Stop()
			return
		}
		err := e.startAgain(run, &ours)
		if err == nil {
			return
		}
		e.d.log.Warn("starting an agent again", "session", e.id, "err", err)
	}
}

// startAgain replaces a run whose agent died. It does nothing when somebody did, or
// stopped it, meanwhile; ours says that it was stopped here.
func (e *entry) startAgain(run *host.Session, ours *bool) error {
	ctx := e.d.ctx
	if e.lock(ctx) != nil {
		return nil // removed, or the host ends
	}
	defer e.unlock()
	switch now := e.current(); {
	case now == run:
		if st, err := run.Status(ctx); err != nil || st.Phase != host.PhaseDown {
			return nil // a message was faster
		}
		*ours = true
		if err := e.stopRun(ctx, run); err != nil {
			return err
		}
	case now != nil || !*ours:
		return nil
	}
	_, err := e.start(ctx, wire.Caller{}, want{})
	return err
}
