package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nrednav/cuid2"
	"mvdan.cc/sh/v3/shell"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/proc"
	"github.com/agenthost/agenthost/internal/redact"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/journal/nativelog"
	"github.com/agenthost/agenthost/permission"
)

// runRequest is one `agenthost run`.
type runRequest struct {
	agent      string
	args       []string
	configFile string
	flags      *runFlags
	changed    func(flag string) bool
}

// runAgent runs one session from start to end and gives the exit code as a problem.
func runAgent(ctx context.Context, st *streams, req runRequest) error {
	f := req.flags
	if err := f.check(); err != nil {
		return err
	}
	profile, err := parseProfile(f.profile)
	if err != nil {
		return err
	}
	hc, closers, err := sessionConfig(st, req)
	defer closers.close()
	if err != nil {
		return err
	}
	prompt, hasPrompt, err := firstPrompt(st, f)
	if err != nil {
		return err
	}
	ends := newEnding(ctx, f.timeout)
	defer ends.release()
	session, err := host.Start(context.WithoutCancel(ctx), hc)
	if err != nil {
		return startProblem(err)
	}
	r := &runner{session: session, flags: f, ends: ends, st: st}
	if m, ok := hc.Mediator.(*permission.Mediator); ok {
		r.mediator = m
	}
	r.out, err = newOutput(st, f.output, profile, session)
	if err != nil {
		ends.finish(causeUsage)
		r.shut()
		return err
	}
	return r.run(prompt, hasPrompt)
}

// runner drives one session.
type runner struct {
	session *host.Session
	flags   *runFlags
	ends    *ending
	st      *streams
	out     *output
	// mediator and keys are for a person at the terminal; keys is nil without one.
	mediator *permission.Mediator
	keys     *keyboard
}

// run prints the stream, sends the input, waits for the end.
func (r *runner) run(prompt string, hasPrompt bool) error {
	from := r.session.First()
	if r.flags.from >= 0 {
		from = journal.Position(r.flags.from)
	}
	printed := make(chan error, 1)
	go func() {
		err := r.out.follow(context.Background(), from)
		if err != nil {
			r.ends.finish(causeOutput(err))
		}
		printed <- err
	}()
	if in, closer := terminalInput(r.st); in != nil && r.flags.input == "text" {
		if closer != nil {
			defer closer.Close()
		}
		r.keys = newKeyboard(in)
		asking, done := context.WithCancel(context.Background())
		defer done()
		go askAtTerminal(asking, r.st, r.keys, r.mediator, r.session.ID())
	}
	fed := make(chan error, 1)
	go func() { fed <- r.feed(r.ends.ctx, prompt, hasPrompt) }()
	var inputErr error
	select {
	case inputErr = <-fed:
	case <-r.ends.ctx.Done():
	case <-r.session.Done():
	}
	r.shut()
	outErr := <-printed
	return r.result(inputErr, outErr)
}

// feed sends all input and waits until its turns are over.
func (r *runner) feed(ctx context.Context, prompt string, hasPrompt bool) error {
	if err := r.session.Opened(ctx); err != nil {
		return err
	}
	f := &feeder{session: r.session, err: r.st.err, queue: true}
	if hasPrompt {
		if err := f.prompt(ctx, prompt, append(r.flags.images, r.flags.files...)); err != nil {
			return err
		}
	}
	switch {
	case r.flags.input == "envelopes":
		if err := f.envelopes(ctx, r.st.in); err != nil {
			return err
		}
	case !hasPrompt:
		in := r.st.in
		if r.keys != nil {
			in = r.keys.prompts
		}
		return f.lines(ctx, in, func() {
			if r.keys != nil {
				r.keys.awaited.Store(true)
			}
			r.out.ready()
		})
	}
	return r.session.Idle(ctx)
}

// stopTime bounds how long ending a session may take; its agent is killed then.
const stopTime = time.Minute

func (r *runner) shut() {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	if err := r.session.Stop(ctx); err != nil {
		fmt.Fprintf(r.st.err, "agenthost: stopping the session: %v\n", err)
	}
}

// result is the exit code of a run, nil for 0.
func (r *runner) result(inputErr, outErr error) error {
	if cause := r.ends.cause(); cause != nil {
		return cause
	}
	if outErr != nil {
		return &problem{code: exitFailed, what: outErr.Error()}
	}
	var open *host.OpenError
	if errors.As(inputErr, &open) {
		return openProblem(open, r.session)
	}
	var p *problem
	if errors.As(inputErr, &p) {
		return p
	}
	if inputErr != nil && !errors.Is(inputErr, host.ErrOver) {
		return &problem{code: exitUsage, what: inputErr.Error()}
	}
	return r.out.last.problem()
}

// firstPrompt is the prompt of -p, or all of standard input when that is no
// terminal and nothing else wants it.
func firstPrompt(st *streams, f *runFlags) (text string, has bool, err error) {
	switch {
	case f.prompt == "-":
		text, err = readPrompt(st.in)
		return text, true, err
	case f.prompt != "":
		return f.prompt, true, nil
	case f.input == "text" && !isTerminal(st.in):
		text, err = readPrompt(st.in)
		if err == nil && strings.TrimSpace(text) == "" {
			err = usage("give one with -p, or on standard input", "no prompt")
		}
		return text, true, err
	}
	return "", false, nil
}

// sessionConfig makes the host's configuration of the flags and the config file.
// The closers are to be closed also on an error.
func sessionConfig(st *streams, req runRequest) (host.Config, closers, error) {
	f := req.flags
	var cl closers
	cfg, err := loadConfigFile(req.configFile)
	if err != nil {
		return host.Config{}, cl, err
	}
	adapter, command, args, err := pickAgent(cfg, req)
	if err != nil {
		return host.Config{}, cl, err
	}
	dir, err := filepath.Abs(f.cwd)
	if err != nil {
		return host.Config{}, cl, usage("name a directory with --cwd", "%v", err)
	}
	hc := host.Config{
		Dir: dir, StateDir: cfg.StateDir, Adapter: adapter, Command: command, Args: args, Title: f.title,
		Options: adapters.Options{
			Model: f.model, Mode: f.mode, Thinking: f.thinking, Sandbox: f.sandbox, Dirs: f.dirs,
			SystemPrompt: f.systemPrompt, AllowBypass: f.allowBypass, MaxTurns: f.maxTurns, BudgetUSD: f.budget,
		},
		PassEnv: f.passEnv, Environ: environ(), Control: contract.ClientCLI,
		Client: adapters.ClientInfo{Name: "agenthost", Title: "agenthost", Version: version},
		Logger: newLogger(st.err, cfg),
	}
	applyConfig(&hc, cfg)
	for _, kv := range f.env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			return hc, cl, usage("write it as --env NAME=value", "--env: want NAME=value, got %q", kv)
		}
		hc.Env = append(hc.Env, adapters.Pair{Name: name, Value: value})
	}
	for i, d := range hc.Options.Dirs {
		if hc.Options.Dirs[i], err = filepath.Abs(d); err != nil {
			return hc, cl, usage("name a directory", "--add-dir: %v", err)
		}
	}
	if err := resumeSession(&hc, f); err != nil {
		return hc, cl, err
	}
	if hc.ID == "" {
		hc.ID = cuid2.Generate()
	}
	m, err := sessionMediator(st, cfg, f, hc.ID, &cl)
	if err != nil {
		return hc, cl, err
	}
	hc.Mediator = m
	return hc, cl, record(&hc, cfg, f.record, &cl)
}

// resumeSession resolves --resume, --continue and --fork. A session of ours goes
// on in its own journal; an id that is none of ours is the agent's.
func resumeSession(hc *host.Config, f *runFlags) error {
	ref, fork := f.resume, false
	if f.cont {
		ref = "last"
	}
	if f.fork != "" {
		ref, fork = f.fork, true
		if id, at, ok := strings.Cut(f.fork, "@"); ok {
			ref, hc.Options.ForkAt = id, at
		}
	}
	if ref == "" {
		return nil
	}
	dir := ""
	if f.cont {
		dir = hc.Dir
	}
	meta, err := host.Find(hc.StateDir, ref, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.cont:
		// None of ours: the agent may know one.
		hc.Options.Continue = true
		return nil
	case errors.Is(err, fs.ErrNotExist) && ref != "last":
		meta.Facts.NativeSession = ref
	case err != nil:
		return usage("agenthost ls lists the sessions", "%v", err)
	case meta.Agent != hc.Adapter.Name():
		return usage("run it with that agent", "session %s is one of %s, not of %s", meta.ID, meta.Agent, hc.Adapter.Name())
	}
	if meta.Facts.NativeSession == "" {
		return usage("start a new one", "session %s cannot be gone on with: its agent never opened it", meta.ID)
	}
	if fork {
		hc.Options.Fork = meta.Facts.NativeSession
		return nil
	}
	hc.Options.Resume = meta.Facts.NativeSession
	if meta.ID != "" {
		hc.ID = meta.ID
		if f.cwd == "" {
			hc.Dir = meta.Dir
		}
	}
	return nil
}

// pickAgent finds the adapter, and the command that replaces its own.
func pickAgent(cfg configuration, req runRequest) (a adapters.Adapter, command, args []string, err error) {
	args = req.args
	if req.flags.command != "" {
		command, err = shell.Fields(req.flags.command, func(string) string { return "" })
		if err != nil || len(command) == 0 {
			return nil, nil, nil, usage("quote it as a shell would", "--command: want a command line, got %q", req.flags.command)
		}
	}
	if req.agent == "acp" {
		if command == nil {
			command, args = req.args, nil
		}
		if len(command) == 0 {
			return nil, nil, nil, usage("agenthost run acp -- my-agent --acp", "acp: want the agent's command behind --")
		}
		return customACP(command), nil, args, nil
	}
	a, err = agentSet(cfg).Get(req.agent)
	if err != nil {
		return nil, nil, nil, usage("agenthost agents lists them; for another ACP agent: agenthost run acp -- CMD", "%v", err)
	}
	return a, command, args, nil
}

// record adds the recorders: the session's native log, and the file of --record.
// Secrets are kept out of both.
func record(hc *host.Config, cfg configuration, path string, cl *closers) error {
	var recorders host.Recorders
	redactor := redact.New(append(cfg.Secrets(), secretsOf(hc.Environ)...)...)
	add := func(w io.WriteCloser) error {
		cl.add(w)
		start := time.Now()
		head := transcript.NewHeader(hc.Adapter.Name(), adapters.SessionInfo{ID: hc.ID, Dir: hc.Dir, Client: hc.Client, Options: hc.Options})
		head.Start, head.Command = start.UnixMilli(), hc.Command
		tw, err := transcript.NewWriter(w, head, redactor.Bytes)
		if err != nil {
			return &problem{code: exitFailed, what: err.Error()}
		}
		recorders = append(recorders, host.NewTranscriptRecorder(tw, start))
		return nil
	}
	if cfg.NativeLog.Enabled {
		dir := filepath.Join(host.SessionDir(hc.StateDir, hc.ID), "native")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return usage("make it writable, or set stateDir", "native log: %v", err)
		}
		log, err := nativelog.Open(dir, nativelog.Options{FileBytes: cfg.NativeLog.FileBytes, Files: cfg.NativeLog.Files})
		if err != nil {
			return usage("make it writable, or switch nativeLog off", "native log: %v", err)
		}
		if err := add(log); err != nil {
			return err
		}
	}
	if path != "" {
		w, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return usage("name a file that can be written", "--record: %v", err)
		}
		if err := add(w); err != nil {
			return err
		}
	}
	hc.Record = recorders
	return nil
}

// secretsOf are the values of an environment whose names say that they are secret.
func secretsOf(environ []string) []string {
	var secrets []string
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && redact.SecretName(name) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// closers are what a run opened.
type closers []io.Closer

func (c *closers) add(x io.Closer) { *c = append(*c, x) }

func (c closers) close() {
	for _, x := range c {
		_ = x.Close()
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
		p.mend = "log in to the agent, or set its API key"
		if hint := s.Adapter().Describe().Login; hint != "" {
			p.mend = "to log in: " + hint
		}
	}
	if err.Cause.Code == contract.CodeUnsupported || err.Cause.Code == contract.CodeSessionNotFound {
		p.code = exitUsage
	}
	return p
}

// ending is why a run ends before its input does.
type ending struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	stop   []func()
}

// The causes of an early end.
var (
	causeUsage = &problem{code: exitUsage}
)

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
	e := &ending{ctx: ctx, cancel: cancel}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	e.stop = append(e.stop, func() { signal.Stop(signals); close(signals) })
	go func() {
		for s := range signals {
			switch s {
			case syscall.SIGINT:
				e.finish(&problem{code: exitSIGINT})
			case syscall.SIGTERM:
				e.finish(&problem{code: exitSIGTERM})
			case syscall.SIGHUP:
				e.finish(&problem{code: 128 + int(syscall.SIGHUP)})
			}
		}
	}()
	if timeout > 0 {
		timer := time.AfterFunc(timeout, func() {
			e.finish(&problem{code: exitTimeout, what: fmt.Sprintf("not done after %v", timeout), mend: "allow more with --timeout"})
		})
		e.stop = append(e.stop, func() { timer.Stop() })
	}
	return e
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
