package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/childenv"
	"github.com/agenthost/agenthost/internal/proc"
)

const (
	// openID and closeID are the IDs of the commands Open and Close.
	openID  = "open"
	closeID = "close"
	// goodbyeWait is how long an agent may take to answer a goodbye; then its input
	// is closed all the same.
	goodbyeWait = time.Second
)

// launch starts the agent's process, in the session's face, and submits Open.
func (s *Session) launch(ctx context.Context) error {
	if err := s.claimNative(s.cfg.Options.Resume); err != nil {
		return err
	}
	if s.meta.Face == adapters.FaceTerminal {
		return s.launchTerminal(ctx)
	}
	l, err := s.launched(s.cfg.Adapter.Launch)
	if err != nil {
		return err
	}
	if s.screen != nil {
		s.screen.Blank("This session runs without the agent's own screen.\r\n")
	}
	return s.startChild(ctx, l, nil, func(info adapters.SessionInfo, _ []string) adapters.Protocol {
		return s.cfg.Adapter.NewProtocol(info)
	})
}

func (s *Session) launchRequest() adapters.LaunchRequest {
	return adapters.LaunchRequest{
		Command: s.cfg.Command, Args: s.cfg.Args, Dir: s.cfg.Dir, StateDir: filepath.Join(s.dir, "agent"),
		SessionID: s.cfg.ID, Getenv: s.getenv, Options: s.cfg.Options,
	}
}

// startChild starts the child of a launch and its Protocol. screen is nil for pipes.
func (s *Session) startChild(ctx context.Context, l adapters.Launch, screen *TerminalSpec, protocol func(info adapters.SessionInfo, env []string) adapters.Protocol) error {
	if err := writeFiles(filepath.Join(s.dir, "agent"), l.Files); err != nil {
		return err
	}
	argv, env, err := s.commandLine(l)
	if err != nil {
		return &NotStartedError{Agent: s.cfg.Adapter, Err: err}
	}
	if screen != nil {
		if err := s.furnish(screen, l, env); err != nil {
			return &NotStartedError{Agent: s.cfg.Adapter, Err: err}
		}
	}
	s.effects.use(env)
	child, err := s.cfg.Start(context.WithoutCancel(ctx), StartSpec{
		Argv: argv, Env: env, Dir: cmp.Or(l.Dir, s.cfg.Dir), MaxLine: s.cfg.Limits.LineBytes,
		StderrTail: s.cfg.Limits.StderrBytes, Terminal: screen, StopGrace: s.cfg.Limits.Stop,
	})
	if err != nil {
		return &NotStartedError{Agent: s.cfg.Adapter, Err: err}
	}
	s.child, s.frames, s.askFirst = child, child.Frames(), s.cfg.Options.AskFirst
	info := adapters.SessionInfo{
		ID: s.cfg.ID, Dir: s.cfg.Dir, Face: s.meta.Face, Client: s.cfg.Client, Options: s.cfg.Options, NativeOpened: s.nativeOpened(),
	}
	s.cfg.Record.Run(now(), info)
	s.proto = protocol(info, env)
	for _, n := range l.Notices {
		s.service(contract.ServiceNotice, "", n)
	}
	s.state, s.shutting, s.gaveUp = opening, false, false
	s.alarm.set(alarmStart, now().Add(s.cfg.Limits.Start))
	s.log.Info("agent started", "session", s.cfg.ID, "agent", s.cfg.Adapter.Name(), "face", string(s.meta.Face))
	if err := s.submit(adapters.Open{ID: openID}); err != nil {
		s.opened(adapters.Outcome{ID: openID, Err: &contract.Error{Code: contract.CodeStartFailed, Message: err.Error()}})
	}
	return nil
}

// nativeOpened is when the native session to resume was opened last, the zero
// Time when that is not known.
func (s *Session) nativeOpened() time.Time {
	if s.meta.NativeOpened == 0 || s.cfg.Options.Resume != s.meta.Facts.NativeSession {
		return time.Time{}
	}
	return time.UnixMilli(s.meta.NativeOpened)
}

// commandLine resolves the command and builds the child's environment.
func (s *Session) commandLine(l adapters.Launch) (argv, env []string, err error) {
	if env, err = s.childEnv(l.Pass, l.Env); err != nil {
		return nil, nil, err
	}
	argv, exe, err := s.resolve(l.Argv, env)
	if err != nil {
		return nil, nil, err
	}
	path, _ := childenv.Get(env, "PATH")
	return argv, childenv.With(env, "PATH", proc.PathWith(exe, path)), nil
}

// resolve finds the program of a command on the PATH of env; exe is what was found.
func (s *Session) resolve(command, env []string) (argv []string, exe string, err error) {
	if len(command) == 0 {
		return nil, "", errors.New("no command: want one, as in --command or behind --")
	}
	path, _ := childenv.Get(env, "PATH")
	if exe, err = s.cfg.Resolve(command[0], path); err != nil {
		return nil, "", err
	}
	return append([]string{s.program(exe)}, command[1:]...), exe, nil
}

// NotStartedError says that an agent's command could not be started.
type NotStartedError struct {
	Agent adapters.Adapter
	Err   error
}

func (e *NotStartedError) Error() string {
	msg := fmt.Sprintf("starting %s: %v", e.Agent.Name(), e.Err)
	if hint := e.Agent.Describe().Install; hint != "" {
		msg += "; to install it: " + hint
	}
	return msg
}

func (e *NotStartedError) Unwrap() error { return e.Err }

func pairs(list []adapters.Pair) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.Name+"="+p.Value)
	}
	return out
}

// writeFiles writes what a launch needs, only below dir.
func writeFiles(dir string, files []adapters.LaunchFile) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, f := range files {
		rel, err := filepath.Rel(dir, f.Path)
		if err != nil || !filepath.IsLocal(rel) {
			return fmt.Errorf("launch file %q: want a path below %q", f.Path, dir)
		}
		if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(f.Path, f.Data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// opened takes the outcome of the handshake. It reports whether that is the last
// word: an agent that is started at once in another way has another handshake.
func (s *Session) opened(o adapters.Outcome) bool {
	if s.state != opening {
		return true
	}
	s.alarm.clear(alarmStart)
	if o.Err == nil {
		s.state = open
		s.meta.OpenError, s.former = nil, nil
		s.meta.NativeOpened = now().UnixMilli()
		s.saveMeta()
		s.log.Info("session open", "session", s.cfg.ID, "native", s.meta.Facts.NativeSession)
		s.followUp = append(s.followUp, s.moved, s.handedOver, s.retell)
		return true
	}
	switch other, atOnce := s.otherWay(o.Err); {
	case atOnce:
		s.replaceChild()
		return false
	case other:
		s.stopChild() // and exited starts a new one
		return true
	}
	s.meta.OpenError = o.Err
	s.service(contract.ServiceError, o.Err.Code, "The agent's session could not be opened: "+o.Err.Message)
	if s.hand != nil {
		s.handedOver()
		s.anew = true // a hand-over ends no session: the next prompt tries again
		s.stopChild()
		return true
	}
	s.failQueue()
	s.stop()
	return true
}

// otherWay reports whether an agent that did not open its session is to be started in
// another way, and whether that is at once: as it was before a rewind, in the former face,
// or with a new session of its own. The next start is prepared for it.
func (s *Session) otherWay(cause *contract.Error) (is, atOnce bool) {
	unsaid := s.unknown(cause)
	switch {
	case s.takeBack(cause) || !unsaid && s.faceFailed(cause):
		return true, true
	case s.forgotten(cause, unsaid):
		atOnce = unsaid || s.hand != nil
		s.anew = !atOnce
		return true, atOnce
	}
	return false, false
}

// unknown reports whether an agent does not know a session of its own that nothing
// was said in, or nothing to its end: it has not saved it.
func (s *Session) unknown(cause *contract.Error) bool {
	return cause.Code == contract.CodeSessionNotFound && s.cfg.Options.Resume != "" && (s.unsaved || s.said != s.cfg.Options.Resume)
}

// forgotten reports whether an agent that was started again does not know its
// own session, because it died before it had saved it. The next start is a new
// one: a prompt that waits is worth more than a memory that is gone.
func (s *Session) forgotten(cause *contract.Error, unsaid bool) bool {
	if s.restart == 0 && s.hand == nil && !unsaid || s.cfg.Options.Resume == "" || cause.Code != contract.CodeSessionNotFound {
		return false
	}
	silent := s.said != s.cfg.Options.Resume
	s.cfg.Options.Resume, s.cfg.Options.ForkAt, s.meta.Facts.NativeSession = "", "", ""
	s.meta.Rewinds, s.unsaved = nil, false
	if unsaid { // a branch is made once more
		s.cfg.Options.Fork, s.cfg.Options.ForkAt = s.branch.fork, s.branch.at
		if silent { // nothing was said that it could have forgotten
			return true
		}
	}
	s.service(contract.ServiceNotice, cause.Code, "The agent had not saved its session when it ended; it starts anew and does not know what was said before.")
	return true
}

// exited ends what the child left open and decides how it goes on.
func (s *Session) exited() {
	status := s.child.Exit()
	status.Requested = s.state == closing || s.state == replacing
	s.frames, s.child = nil, nil
	s.socketsGone()
	was := s.state
	if s.quit(status) {
		was = closing // as if it had been stopped
	}
	s.state = down
	s.alarm = alarm{}
	s.cfg.Record.Exit(now(), status)
	s.log.Info("agent exited", "session", s.cfg.ID, "code", status.Code, "signal", status.Signal)
	s.effects.childGone()
	s.closeAsks(contract.ByExit)
	step := s.proto.Exit(now(), status)
	s.apply(step)
	s.settleTurn(status, was)
	s.typedLeft(was == closing || s.broken != nil)
	again := was == replacing || s.goesOver()
	if was == opening && !s.anew && !again {
		again = s.failOpen(step, status)
	}
	cause := exitError(status)
	for id, got := range s.waiting {
		if again && id == openID {
			continue // for the next one
		}
		delete(s.waiting, id)
		got(adapters.Outcome{ID: id, Err: cause})
	}
	// A Step of Exit may have asked for a time to be woken; nobody is there.
	s.alarm = alarm{}
	switch {
	case was == closing || s.broken != nil:
		s.end()
	case again:
		s.relaunch()
	case was == opening && !s.anew && s.hand != nil:
		s.handedOver() // a hand-over ends no session: the next prompt tries again
	case was == opening && !s.anew:
		s.failQueue()
		s.end()
	}
	s.anew = false
}

// quit reports whether a person ended the agent in its own terminal.
func (s *Session) quit(status adapters.ExitStatus) bool {
	return s.meta.Face == adapters.FaceTerminal && (s.state == open || s.state == opening) && s.hand == nil &&
		!s.gaveUp && !s.anew && status.Code == 0 && status.Signal == "" && status.Err == ""
}

// goesOver reports whether the child ended that a hand-over was waiting for.
func (s *Session) goesOver() bool {
	if s.hand == nil || s.hand.begun {
		return false
	}
	s.hand.begun = true
	return true
}

// settleTurn is the safety net under the Protocol: whatever it did on Exit,
// every prompt that was sent has its turn, and no turn stays open.
func (s *Session) settleTurn(status adapters.ExitStatus, was state) {
	end, cause := contract.TurnFailed, exitError(status)
	if s.turn.aborting || was == closing || was == replacing {
		end, cause = contract.TurnCancelled, nil
	}
	if s.stamper.Turn() != "" {
		s.emit(adapters.Draft{Event: contract.TurnEnd{Status: end, Error: cause}})
	}
	sent := s.turn.sent
	s.turn.sent = nil
	if len(sent) > 0 {
		s.emit(adapters.Draft{Event: contract.TurnStart{}, Prompts: sent})
		s.emit(adapters.Draft{Event: contract.TurnEnd{Status: end, Error: cause}})
	}
	s.turn.aborting = false
	if s.stamper.Subagents() > 0 { // none outlives the process
		s.append(s.stamper.Finish(end, cause)...)
	}
}

func exitError(status adapters.ExitStatus) *contract.Error {
	how := fmt.Sprintf("exit status %d", status.Code)
	if status.Signal != "" {
		how = status.Signal
	} else if status.Err != "" {
		how = status.Err
	}
	msg := "the agent's process ended: " + how
	if tail := strings.TrimSpace(status.Stderr); tail != "" {
		msg += "\n" + tail
	}
	return &contract.Error{Code: contract.CodeAgentExited, Message: msg}
}

// failOpen tells why the agent ended before its session was open: what the
// Protocol makes of it, else how the process ended. It reports whether the agent
// is to be started again at once.
func (s *Session) failOpen(step adapters.Step, status adapters.ExitStatus) (again bool) {
	if s.meta.OpenError != nil {
		return false
	}
	s.meta.OpenError = exitError(status)
	s.meta.OpenError.Code = contract.CodeStartFailed
	for _, o := range step.Done {
		if o.ID == openID && o.Err != nil {
			s.meta.OpenError = o.Err
		}
	}
	if other, atOnce := s.otherWay(s.meta.OpenError); other {
		s.meta.OpenError = nil
		return atOnce
	}
	s.service(contract.ServiceError, s.meta.OpenError.Code, "The agent could not be started: "+s.meta.OpenError.Message)
	return false
}

// revive starts an agent that died again, with its own session when it has one.
// It reports whether a child is on its way.
func (s *Session) revive() bool {
	if s.restart >= s.cfg.Limits.Restarts || s.broken != nil {
		return false
	}
	s.restart++
	s.goOn()
	if err := s.launch(context.Background()); err != nil {
		s.service(contract.ServiceError, contract.CodeStartFailed, "The agent could not be started again: "+err.Error())
		return false
	}
	s.service(contract.ServiceReconnect, "", "The agent was started again after its process had ended.")
	return true
}

// goOn makes the next start one of the agent's own session, when it has one.
func (s *Session) goOn() {
	if native := s.meta.Facts.NativeSession; native != "" {
		o := &s.cfg.Options
		if o.Fork != "" {
			s.branch.fork, s.branch.at = o.Fork, o.ForkAt
		}
		o.Resume, o.ForkAt, o.Fork, o.Continue = native, s.meta.cutAt(), "", false
	}
}

// stop begins the end of the session. Further calls hurry nothing.
func (s *Session) stop() {
	switch s.state {
	case closing, over:
		return
	case down:
		s.end()
		return
	}
	before := s.state
	s.state = closing
	s.dropQueue()
	if before == open && s.busy() {
		s.alarm.set(alarmStop, now().Add(s.cfg.Limits.Stop))
		if err := s.abort(); err == nil {
			return // turnEnded goes on, or the alarm
		}
	}
	s.shut()
}

// shut says goodbye and, when that is answered, ends the child's processes. exited
// follows.
func (s *Session) shut() {
	s.alarm.clear(alarmStop)
	if s.child == nil || s.shutting {
		return
	}
	s.shutting = true
	s.alarm.set(alarmGoodbye, now().Add(goodbyeWait))
	s.waitOutcome(closeID, func(adapters.Outcome) { s.part() })
	err := s.submit(adapters.Close{ID: closeID})
	if err != nil {
		s.log.Debug("saying goodbye", "err", err)
	}
	if err != nil || s.gaveUp { // its input is closed already
		s.part()
	}
}

// part ends the child's processes after the goodbye: its answer came, or took too
// long, or is not waited for.
func (s *Session) part() {
	s.alarm.clear(alarmGoodbye)
	delete(s.waiting, closeID)
	if s.child != nil {
		s.stopChild()
	}
}

// kill ends the session at once.
func (s *Session) kill() {
	s.stop()
	s.shut()
	if !s.alarm[alarmGoodbye].IsZero() {
		s.part()
	}
	if s.hurry != nil {
		s.hurry()
	}
}

// stopChild ends the child in the background; its frames are still read.
func (s *Session) stopChild() {
	child := s.child
	// The ladder takes at most the grace of each of its steps.
	ctx, cancel := context.WithTimeout(context.Background(), 10*s.cfg.Limits.Stop)
	s.hurry = cancel
	go func() {
		defer cancel()
		child.Stop(ctx)
	}()
}

// giveUp stops a child that cannot be worked with. The session lives on: its
// next prompt starts a new one.
func (s *Session) giveUp(why string) {
	if s.child == nil || s.gaveUp {
		return
	}
	s.gaveUp = true
	s.log.Warn("stopping the agent", "session", s.cfg.ID, "why", why)
	s.service(contract.ServiceError, contract.CodeTimeout, "The agent is being stopped: "+why+".")
	s.stopChild()
}

// end is the last thing that happens to a session.
func (s *Session) end() {
	s.dropQueue()
	s.append(s.stamper.Finish(contract.TurnCancelled, &contract.Error{Code: contract.CodeHostStopped, Message: "the session was stopped"})...)
	s.sync()
	s.state = over
}
