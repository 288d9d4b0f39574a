package host

import (
	"context"
	"errors"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/proc"
)

// run is the loop. It returns when the session is over.
func (s *Session) run(ctx context.Context) {
	defer s.finish()
	s.pump()
	s.tell()
	stop := ctx.Done()
	for s.state != over {
		timer := s.alarm.timer(now())
		select {
		case f, ok := <-s.frames:
			if ok {
				s.receive(f)
			} else {
				s.exited()
			}
		case <-s.inbox.ready:
			if f := s.inbox.next(); f != nil {
				f()
			}
		case <-timer.C:
			s.ring()
		case <-stop:
			stop = nil
			s.stop()
		}
		timer.Stop()
		s.followUps()
		s.pump()
		s.tell()
	}
}

// followUps does what was put off until the Step was applied.
func (s *Session) followUps() {
	for len(s.followUp) > 0 {
		f := s.followUp[0]
		s.followUp = s.followUp[1:]
		f()
	}
}

// finish releases what the session holds. It runs once, after the last process.
func (s *Session) finish() {
	for _, f := range s.idle {
		f()
	}
	s.effects.close()
	s.saveChanged()
	s.settleMeta()
	if err := s.release(); err != nil && s.broken == nil {
		s.broken = err
		s.log.Error("closing journal", "err", err)
	}
	s.live.close()
	// Nobody waits for ever: what was posted and not run is answered by Done.
	s.inbox.close()
	close(s.done)
}

// release gives back what a session holds from its start on.
func (s *Session) release() error {
	if s.screen != nil {
		s.screen.Close()
	}
	s.unclaim()
	return s.journal.Close()
}

// receive hands one frame to the Protocol.
func (s *Session) receive(f adapters.Frame) {
	at := now()
	s.cfg.Record.Frame(at, f)
	if a, ok := s.child.(attendant); ok && f.Reconnected {
		a.attended()
	}
	step, err := s.proto.Receive(at, f)
	if err != nil {
		s.log.Debug("frame not understood", "err", err)
		s.meta.BadFrames++
	}
	s.apply(step)
}

// submit hands one command to the Protocol and applies its Step.
func (s *Session) submit(c adapters.Command) error {
	at := now()
	s.cfg.Record.Command(at, c)
	step, err := s.proto.Submit(at, c)
	if err != nil {
		return err
	}
	s.apply(step)
	return nil
}

// apply does what a Step says, in the order of its fields.
func (s *Session) apply(step adapters.Step) {
	for _, key := range step.Withdraw {
		s.withdrawn(key)
	}
	for _, d := range step.Emit {
		s.emit(d)
	}
	s.taken(step.Emit)
	for _, d := range step.Live {
		s.live.delta(s.journal.End(), s.stamper, d)
	}
	if step.Facts != nil {
		s.learn(*step.Facts)
	}
	for _, w := range step.Write {
		s.write(w)
	}
	for _, e := range step.Effects {
		s.cfg.Record.Effect(now(), e)
		wanted := s.proto
		if s.childDoes(e) {
			continue
		}
		s.effects.do(e, func(res adapters.EffectDone) { s.effectDone(wanted, res) })
	}
	for _, o := range step.Done {
		s.outcome(o)
	}
	s.forgetSteers()
	s.alarm.set(alarmProtocol, step.WakeAt)
	if step.Stop != "" {
		s.giveUp(step.Stop)
	}
}

// write sends one message to the child. Its queue never blocks; when it is full
// the child has not read for so long that it is as good as dead.
func (s *Session) write(p []byte) {
	s.cfg.Record.Write(now(), p)
	if s.child == nil {
		return
	}
	err := s.child.Write(p)
	if err == nil || errors.Is(err, proc.ErrInputClosed) {
		// A child whose input was closed is being stopped, by us or because its
		// output ended: its exit says so.
		return
	}
	s.giveUp("it does not read its input: " + err.Error())
}

// append stores envelopes. When the disk fails nothing can be kept any more, so
// the agent must not go on either.
func (s *Session) append(envs ...contract.Envelope) {
	if len(envs) == 0 || s.broken != nil {
		return
	}
	if _, err := s.journal.Append(envs...); err != nil {
		s.broken = err
		s.log.Error("appending to the journal", "err", err)
		s.giveUp("the journal cannot be written: " + err.Error())
	}
}

// sync puts the journal on disk.
func (s *Session) sync() {
	if s.broken != nil {
		return
	}
	if err := s.journal.Sync(); err != nil {
		s.broken = err
		s.log.Error("syncing the journal", "err", err)
		s.giveUp("the journal cannot be written: " + err.Error())
	}
}

// service writes a service envelope of the host's own.
func (s *Session) service(kind contract.ServiceKind, code contract.ErrorCode, text string) {
	s.append(s.stamper.Agent(adapters.Draft{Event: contract.Service{Text: text, Kind: kind, Code: code}})...)
}

func (s *Session) outcome(o adapters.Outcome) {
	s.struck(o.ID) // a message that was typed and taken back
	if o.ID == openID && !s.opened(o) {
		return
	}
	if got := s.waiting[o.ID]; got != nil {
		delete(s.waiting, o.ID)
		got(o)
	}
}

// ring runs what is due.
func (s *Session) ring() {
	for _, name := range s.alarm.due(now()) {
		switch name {
		case alarmProtocol:
			if s.proto != nil && s.state != down {
				at := now()
				s.cfg.Record.Tick(at)
				s.apply(s.proto.Tick(at))
			}
		case alarmStart:
			s.startTookLong()
		case alarmAbort:
			s.giveUp("it did not end the aborted turn in " + s.cfg.Limits.Abort.String())
		case alarmStop:
			s.shut()
		case alarmGoodbye:
			s.part()
		case alarmQuiet:
			s.quiet()
		}
	}
}

// startTookLong gives up an agent that does not open its session. One with a screen
// may wait there for a person, who must not be cut short.
func (s *Session) startTookLong() {
	if s.meta.Face != adapters.FaceTerminal {
		s.giveUp("it did not open a session in " + s.cfg.Limits.Start.String())
		return
	}
	s.service(contract.ServiceNotice, contract.CodeTimeout, "The agent has not opened its session yet: see what its own terminal waits for.")
}

// The reasons to be woken.
const (
	alarmProtocol = iota
	alarmStart
	alarmAbort
	alarmStop
	alarmGoodbye
	alarmQuiet
	alarms
)

// alarm keeps one time for each reason to be woken.
type alarm [alarms]time.Time

func (a *alarm) set(name int, at time.Time) { a[name] = at }
func (a *alarm) clear(name int)             { a[name] = time.Time{} }

// timer fires at the earliest time set; never when none is.
func (a *alarm) timer(now time.Time) *time.Timer {
	var first time.Time
	for _, t := range a {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if first.IsZero() {
		t := time.NewTimer(time.Hour)
		t.Stop()
		return t
	}
	return time.NewTimer(max(first.Sub(now), 0))
}

// due takes the reasons whose time has come.
func (a *alarm) due(now time.Time) []int {
	var names []int
	for name, t := range a {
		if !t.IsZero() && !t.After(now) {
			a.clear(name)
			names = append(names, name)
		}
	}
	return names
}
