package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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
}

// runAgent runs one session from start to end and gives the exit code as a problem.
func runAgent(ctx context.Context, st *streams, req runRequest) error {
	f := req.flags
	if err := f.check(); err != nil {
		return err
	}
	if err := chooseOutput(st, req); err != nil {
		return err
	}
	profile, err := parseProfile(f.profile)
	if err != nil {
		return err
	}
	if done, err := runByDaemon(ctx, st, req, profile); done {
		return err
	}
	if f.output == outputTUI {
		return runOnScreen(ctx, st, req)
	}
	// It takes as long to start as all that is done here until it is needed.
	shim := proc.Prestart()
	defer shim.Close()
	set, err := sessionConfig(st, req)
	defer set.close()
	if err != nil {
		return set.redact(err)
	}
	set.host.Start = host.Processes(shim)
	prompt, hasPrompt, err := firstPrompt(st, f)
	if err != nil {
		return err
	}
	ends := newEnding(ctx, f.timeout)
	defer ends.release()
	session, err := host.Start(context.WithoutCancel(ctx), set.host)
	if err != nil {
		return set.redact(startProblem(err))
	}
	r := &runner{session: session, flags: f, ends: ends, st: st, recording: set.recording}
	if m, ok := set.host.Mediator.(*permission.Mediator); ok {
		r.mediator = m
	}
	if err = r.checkFrom(); err == nil {
		r.out, err = newOutput(st, f.output, profile, session, set.secrets)
	}
	if err != nil {
		ends.finish(&problem{code: exitUsage})
		r.shut()
		return err
	}
	err = r.run(prompt, hasPrompt)
	prune(set.config, set.host.Logger)
	return set.redact(err)
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
	// recording is that of --record, nil without.
	recording *host.TranscriptRecorder
}

// checkFrom refuses a position that the stream does not have.
func (r *runner) checkFrom() error {
	from, oldest, end := journal.Position(r.flags.from), r.session.Journal().Oldest(), r.session.Journal().End()
	if r.flags.from >= 0 && (from < oldest || from > end) {
		return usage("leave --from out for what is new", "--from: want a position from %d to %d, got %d", oldest, end, from)
	}
	return nil
}

// run prints the stream, sends the input, waits for the end.
func (r *runner) run(prompt string, hasPrompt bool) error {
	from := r.session.First()
	if r.flags.from >= 0 {
		from = journal.Position(r.flags.from)
	}
	printed := make(chan error, 1)
	items := r.session.Watch(context.Background(), from) // before anything is said
	go func() {
		err := r.out.follow(from, items)
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
		// It may have ended because it never opened; who feeds it may be busy reading.
		inputErr = r.session.Opened(context.Background())
	}
	r.shut()
	outErr := r.awaitOutput(printed)
	if r.recording != nil && r.recording.Err() != nil {
		fmt.Fprintf(r.st.err, "agenthost: --record %s: the recording is not whole: %v\n", r.flags.record, r.recording.Err())
	}
	return r.result(inputErr, outErr)
}

// feed sends all input and waits until its turns are over.
func (r *runner) feed(ctx context.Context, prompt string, hasPrompt bool) error {
	// The agent is starting, which takes longer.
	proc.Trim()
	if err := r.session.Opened(ctx); err != nil {
		return err
	}
	f := &feeder{session: r.session, err: r.st.err}
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
	if err := r.session.Idle(ctx); err != nil {
		return err
	}
	return f.whole()
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

// setup is what a run is made of.
type setup struct {
	host      host.Config
	secrets   *redact.Redactor
	recording *host.TranscriptRecorder // of --record, nil without
	config    configuration
	// resumed is when the native session to resume was opened last, as the host will
	// tell the Protocol: the zero Time when that is not known.
	resumed time.Time
	closers
}

// redact keeps secrets out of what is told of err: agents put keys into their
// messages.
func (s *setup) redact(err error) error {
	return redacted(s.secrets, err)
}

// redacted is err without secrets; nil knows none.
func redacted(secrets *redact.Redactor, err error) error {
	var p *problem
	if secrets == nil || !errors.As(err, &p) {
		return err
	}
	return &problem{code: p.code, what: secrets.String(p.what), mend: p.mend}
}

// sessionConfig makes the host's configuration of the flags and the config file.
// The setup is to be closed also on an error.
func sessionConfig(st *streams, req runRequest) (*setup, error) {
	f := req.flags
	s := &setup{}
	cfg, err := loadConfigFile(req.configFile)
	if err != nil {
		return s, err
	}
	s.config = cfg
	if err := wantsCommand(req); err != nil {
		return s, err
	}
	for _, w := range warnings(cfg) {
		fmt.Fprintln(st.err, "agenthost: warning:", w)
	}
	if s.host, err = agentConfig(cfg, req); err != nil {
		return s, err
	}
	hc := &s.host
	s.secrets = newRedactor(cfg, hc.Env)
	hc.Logger = newLogger(st.err, cfg, s.secrets)
	for i, d := range hc.Options.Dirs {
		if hc.Options.Dirs[i], err = filepath.Abs(d); err != nil {
			return s, usage("name a directory", "--add-dir: %v", err)
		}
	}
	if err := s.resume(f); err != nil {
		return s, err
	}
	if hc.ID == "" {
		hc.ID = cuid2.Generate()
	}
	hc.Mediator, err = sessionMediator(st, cfg, f, hc, &s.closers)
	if err != nil {
		return s, err
	}
	if info, err := os.Stat(hc.Dir); err != nil || !info.IsDir() {
		return s, usage("name a directory with --cwd", "want a working directory, got %q", hc.Dir)
	}
	return s, s.record(cfg, f.record)
}

// agentConfig is what the flags and the config say of an agent and of its environment.
func agentConfig(cfg configuration, req runRequest) (host.Config, error) {
	f := req.flags
	adapter, command, args, err := pickAgent(cfg, req)
	if err != nil {
		return host.Config{}, err
	}
	dir, err := filepath.Abs(f.cwd)
	if err != nil {
		return host.Config{}, usage("name a directory with --cwd", "%v", err)
	}
	hc := host.Config{
		Dir: dir, StateDir: cfg.StateDir, Adapter: adapter, Command: command, Args: args, Title: f.title, Requeue: f.requeue,
		Options: adapters.Options{
			Model: f.model, Mode: f.mode, Thinking: f.thinking, Sandbox: f.sandbox, Dirs: f.dirs,
			SystemPrompt: f.systemPrompt, AllowBypass: f.allowBypass, MaxTurns: f.maxTurns, BudgetUSD: f.budget,
		},
		PassEnv: f.passEnv, Environ: environ(), Control: contract.ClientCLI,
		Client: adapters.ClientInfo{Name: "agenthost", Title: "agenthost", Version: version},
	}
	applyConfig(&hc, cfg)
	set, err := environment(f.env)
	hc.Env = append(hc.Env, set...)
	return hc, err
}

// resume resolves --resume, --continue and --fork. A session of ours goes on in its
// own journal; an id that is none of ours is the agent's.
func (s *setup) resume(f *runFlags) error {
	hc := &s.host
	ref, fork, point := f.resume, false, ""
	if f.cont {
		ref = "last"
	}
	if f.fork != "" {
		ref, fork = f.fork, true
		if id, at, ok := strings.Cut(f.fork, "@"); ok {
			ref, point = id, at
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
		branch, err := host.BranchOf(hc.StateDir, meta, point)
		if err != nil {
			return usage("name the envelope of an answer, or of the message to branch off before", "--fork: %v", err)
		}
		branch.Configure(hc)
		return nil
	}
	hc.Options.Resume = meta.Facts.NativeSession
	if meta.ID != "" {
		hc.ID = meta.ID
		if f.cwd == "" {
			hc.Dir = meta.Dir
		}
	}
	if meta.NativeOpened != 0 {
		s.resumed = time.UnixMilli(meta.NativeOpened)
	}
	return nil
}

// wantsCommand refuses a session without the command that its agent is.
func wantsCommand(req runRequest) error {
	if req.flags.command != "" || len(req.args) > 0 {
		return nil
	}
	switch req.agent {
	case anyACP:
		return usage("agenthost run acp -- my-agent --acp", "acp: want the agent's command behind --")
	case ptyAgent:
		return usage("agenthost run pty -- htop", "pty: want a command behind --")
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
	if req.agent == anyACP {
		if command == nil {
			command, args = req.args, nil
		}
		return customACP(command), nil, args, nil
	}
	if a, err = agentNamed(cfg, req.agent); err != nil {
		return nil, nil, nil, usage("agenthost agents lists them; for another ACP agent: agenthost run acp -- CMD", "%v", err)
	}
	return a, command, args, nil
}

// record adds the recorders: the session's native log, and the file of --record.
// Secrets are kept out of both.
func (s *setup) record(cfg configuration, path string) error {
	var recorders host.Recorders
	if cfg.NativeLog.Enabled {
		dir := filepath.Join(host.SessionDir(s.host.StateDir, s.host.ID), "native")
		r, err := s.recorder(nativelog.Open(dir, nativelog.Options{FileBytes: cfg.NativeLog.FileBytes, Files: cfg.NativeLog.Files}))
		if err != nil {
			return &problem{code: exitFailed, what: "native log: " + err.Error()}
		}
		recorders = append(recorders, r)
	}
	if path != "" {
		w, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
		if err != nil {
			return usage("name a file that can be written", "--record: %v", err)
		}
		if s.recording, err = s.recorder(w); err != nil {
			return usage("name a file that can be written", "--record: %v", err)
		}
		recorders = append(recorders, s.recording)
	}
	s.host.Record = recorders
	return nil
}

// recorder records the session into w, which is closed with the setup.
func (s *setup) recorder(w io.WriteCloser) (*host.TranscriptRecorder, error) {
	s.add(w)
	hc, start := &s.host, time.Now()
	head := transcript.NewHeader(hc.Adapter.Name(), adapters.SessionInfo{
		ID: hc.ID, Dir: hc.Dir, Face: hc.Face, Client: hc.Client, Options: hc.Options, NativeOpened: s.resumed,
	})
	head.Start = start.UnixMilli()
	for _, word := range hc.Command {
		head.Command = append(head.Command, s.secrets.String(word))
	}
	tw, err := transcript.NewWriter(w, head, s.secrets.Bytes)
	if err != nil {
		return nil, err
	}
	return host.NewTranscriptRecorder(tw, start), nil
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
