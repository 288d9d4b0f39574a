package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/host/screen"
	"github.com/agenthost/agenthost/internal/console"
	"github.com/agenthost/agenthost/relay/wire"
)

// The forms of output of run that the terminal decides about: auto is tui where that can
// be, else text.
const (
	outputAuto = ""
	outputTUI  = "tui"
	outputText = "text"
)

// chooseOutput says what --output auto is, and refuses a tui that cannot be. Most runs
// are told without the configuration, which costs a start something to read.
func chooseOutput(st *streams, req runRequest) error {
	f := req.flags
	switch {
	case f.output == outputTUI:
		return checkTUI(st, req)
	case f.output != outputAuto:
		return nil
	case req.agent == ptyAgent:
		f.output = outputTUI // it has nothing else
		if !onTerminal(st) && !f.detach {
			return usage("run it on a terminal, or with --detach", "pty: want a terminal as standard input and output")
		}
		return nil
	}
	f.output = outputText
	if !onTerminal(st) || f.prompt != "" || f.input != "text" || len(f.images)+len(f.files) > 0 || f.detach {
		return nil
	}
	has, err := hasScreen(req)
	if has {
		f.output = outputTUI
	}
	return err
}

// checkTUI refuses --output tui where it cannot be.
func checkTUI(st *streams, req runRequest) error {
	has, err := hasScreen(req)
	switch {
	case err != nil:
		return err
	case !has:
		return usage("leave --output out, or name claude, codex, gemini or pty", "--output tui: %s has no screen of its own here", req.agent)
	case req.flags.input != "text":
		return usage("leave --input out", "--output tui: keys are the input then")
	case !onTerminal(st) && !req.flags.detach:
		return usage("run it on a terminal, or with --detach", "--output tui: want a terminal as standard input and output")
	}
	return nil
}

// hasScreen reports whether the agent of a run has a screen of its own.
func hasScreen(req runRequest) (bool, error) {
	cfg, err := loadConfigFile(req.configFile)
	if err != nil {
		return false, err
	}
	a, err := agentNamed(cfg, req.agent)
	if err != nil {
		return false, nil // whoever runs it says so
	}
	_, has := a.(adapters.TerminalAdapter)
	return has, nil
}

// wantScreen makes a session's configuration one of an agent on its own screen.
func wantScreen(hc *host.Config, tty *console.TTY) {
	hc.Face = adapters.FaceTerminal
	hc.Cols, hc.Rows = tty.Size()
	hc.Term, hc.ColorTerm = os.Getenv("TERM"), os.Getenv("COLORTERM")
}

// errDown ends a console whose agent died.
var errDown = errors.New("the agent ended")

// runOnScreen runs a session of this process with the agent's own screen.
func runOnScreen(ctx context.Context, st *streams, req runRequest) error {
	f := req.flags
	escape, err := parseEscape(f.escape)
	if err != nil {
		return err
	}
	tty, err := personTTY(st)
	if err != nil {
		return usage("run it on a terminal", "%v", err)
	}
	defer tty.Close()
	held := &heldWriter{w: st.err}
	defer held.release()
	set, err := sessionConfig(&streams{in: st.in, out: st.out, err: held}, req)
	defer set.close()
	if err != nil {
		return set.redact(err)
	}
	wantScreen(&set.host, tty)
	changed := make(chan struct{}, 1)
	set.host.Changed = func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	ends := newEnding(ctx, f.timeout)
	defer ends.release()
	session, err := host.Start(context.WithoutCancel(ctx), set.host)
	if err != nil {
		return set.redact(startProblem(err))
	}
	r := &runner{session: session, flags: f, ends: ends, st: &streams{in: st.in, out: st.out, err: held}, recording: set.recording, out: &output{sink: silent{}}}
	err = r.onScreen(tty, held, changed, console.Options{Escape: escape, Alone: true})
	prune(set.config, set.host.Logger)
	return set.redact(err)
}

// onScreen shows the agent until it is gone.
func (r *runner) onScreen(tty *console.TTY, held *heldWriter, changed <-chan struct{}, o console.Options) error {
	followed := make(chan error, 1)
	items := r.session.Watch(context.Background(), r.session.First())
	go func() { followed <- r.out.follow(r.session.First(), items) }()
	ctx, cancel := context.WithCancelCause(r.ends.ctx)
	go r.awaitDown(ctx, changed, cancel)
	if r.flags.prompt != "" {
		go r.firstOnScreen(ctx)
	}
	near := newNearScreen(r.session.Screen())
	held.hold()
	end, err := console.Run(ctx, near, tty, o)
	near.close()
	held.release()
	down := errors.Is(context.Cause(ctx), errDown)
	cancel(nil)
	if end == console.HungUp {
		r.ends.finish(&problem{code: exitSignal + int(syscall.SIGHUP)})
	}
	r.shut()
	<-followed
	var opened error
	if end == console.Over || down {
		opened = r.opened()
	}
	var open *host.OpenError
	switch {
	case r.ends.cause() != nil:
		return r.ends.cause()
	case r.session.Err() != nil:
		return journalProblem(r.session.Err())
	case errors.As(opened, &open):
		return openProblem(open, r.session)
	case down:
		return &problem{code: exitFailed, what: r.out.last.fault("the agent ended unexpectedly"), mend: r.resumeHint()}
	case err != nil:
		return &problem{code: exitFailed, what: err.Error(), mend: r.resumeHint()}
	}
	if hint := r.resumeHint(); hint != "" {
		fmt.Fprintln(r.st.err, "agenthost: "+hint)
	}
	return nil
}

// resumeHint says how the session is gone on with, if it can be.
func (r *runner) resumeHint() string {
	if r.session.Adapter().Name() == ptyAgent {
		return ""
	}
	return fmt.Sprintf("agenthost run %s --resume %s goes on with the session", r.session.Adapter().Name(), r.session.ID())
}

// opened is why the session, which is over, did not open.
func (r *runner) opened() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return r.session.Opened(ctx)
}

// awaitDown ends the console when the agent died: nothing here would start it again.
func (r *runner) awaitDown(ctx context.Context, changed <-chan struct{}, end context.CancelCauseFunc) {
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		if s, err := r.session.Status(ctx); err == nil && s.Phase == host.PhaseDown {
			end(errDown)
			return
		}
	}
}

// firstOnScreen gives the agent the prompt of -p.
func (r *runner) firstOnScreen(ctx context.Context) {
	if r.session.Opened(ctx) != nil {
		return // the screen says so
	}
	text, has, err := firstPrompt(r.st, r.flags)
	if err == nil && has {
		err = (&feeder{session: r.session, err: r.st.err}).prompt(ctx, text, append(r.flags.images, r.flags.files...))
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(r.st.err, "agenthost: the prompt was not given: %v\n", err)
	}
}

// fault is the newest thing that went wrong, or what else to say.
func (l *lastTurn) fault(otherwise string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.faults) == 0 {
		return otherwise
	}
	return l.faults[len(l.faults)-1]
}

// silent prints nothing.
type silent struct{}

func (silent) envelope(host.Item) error { return nil }
func (silent) delta(host.Delta) error   { return nil }
func (silent) prompt() error            { return nil }
func (silent) close() error             { return nil }

var _ sink = silent{}

// screenByDaemon runs a session of the daemon with the agent's own screen; known is
// false for one that the daemon does not know.
func screenByDaemon(ctx context.Context, st *streams, l *link, cfg configuration, req runRequest) (known bool, err error) {
	f := req.flags
	escape, err := parseEscape(f.escape)
	if err != nil {
		return true, err
	}
	s, known, err := sessionByDaemon(ctx, l, cfg, req)
	if err != nil || !known {
		return err != nil, err
	}
	if f.prompt != "" {
		text, _, err := firstPrompt(st, f)
		if err != nil {
			return true, err
		}
		refs, err := l.upload(ctx, append(f.images, f.files...))
		if err == nil {
			_, err = l.Send(ctx, wire.SendParams{Session: s.ID, ID: cuid2.Generate(), Text: text, Files: refs})
		}
		if err != nil {
			return true, err
		}
	}
	if f.detach {
		fmt.Fprintln(st.out, s.ID)
		return true, nil
	}
	from := int64(0) // a session that begins
	if f.resume != "" || f.cont {
		from = screen.Whole
	}
	tty, err := personTTY(st)
	if err != nil {
		return true, usage("run it on a terminal, or with --detach", "%v", err)
	}
	defer tty.Close()
	return true, screenUntil(ctx, st, l, s.ID, tty, console.Options{Escape: escape, From: from}, newEnding(ctx, f.timeout))
}

// screenUntil shows a session of a daemon or relay, and says how it ended.
func screenUntil(ctx context.Context, st *streams, l *link, session string, tty *console.TTY, o console.Options, ends *ending) error {
	defer ends.release()
	end, err := showFar(ends.ctx, st, l, session, tty, o)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), byeTime)
	defer cancel()
	var timeout *problem
	switch {
	case errors.As(ends.cause(), &timeout) && timeout.code == exitTimeout, end == console.Quit:
		if _, serr := l.Stop(ctx, wire.StopParams{Session: session}); serr != nil {
			return serr
		}
		return ends.cause()
	case ends.cause() != nil:
		return ends.cause()
	case err != nil || end != console.Over:
		return err
	}
	s, err := l.Session(ctx, session)
	switch {
	case err != nil:
		return nil // it was removed: there is nothing to say of it
	case s.State == wire.StateFailed && s.Error != nil:
		return failedSession(s)
	}
	fmt.Fprintf(st.err, "agenthost: the session is over; agenthost attach %s starts it again\n", session)
	return nil
}

// readyScreen brings a session to show its agent's screen: one that is stopped is
// started, one with another face handed over.
func readyScreen(ctx context.Context, l *link, s wire.Session) (wire.Session, error) {
	if s.Face != wire.FaceTerminal {
		return l.Control(ctx, wire.ControlParams{Session: s.ID, ClientType: contract.ClientCLI, Face: wire.FaceTerminal})
	}
	if s.State == wire.StateStopped || s.State == wire.StateFailed {
		return l.Resume(ctx, s.ID)
	}
	return s, nil
}

// spawnScreen makes a session that begins one of an agent on its own screen, which has
// the size of the person's terminal, if there is one.
func spawnScreen(p *wire.SpawnParams) {
	p.Face = wire.FaceTerminal
	tty, err := console.Open(os.Stdin, os.Stdout)
	if err != nil {
		return // --detach
	}
	defer tty.Close()
	p.Cols, p.Rows = tty.Size()
	p.Term, p.ColorTerm = os.Getenv("TERM"), os.Getenv("COLORTERM")
}
