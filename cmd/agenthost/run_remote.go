package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/render"
	"github.com/agenthost/agenthost/permission/policy"
	"github.com/agenthost/agenthost/relay/wire"
)

// localOnly names what of a run a daemon cannot do for us, empty for nothing: what
// belongs to this process, or to this session alone.
func localOnly(req runRequest) string {
	f := req.flags
	for name, set := range map[string]bool{
		"--local": f.local, "--config": req.configFile != "", "the agent acp": req.agent == anyACP, "arguments for the agent": len(req.args) > 0 && req.agent != ptyAgent,
		"--command": f.command != "", "--record": f.record != "",
		"--policy": f.policy != "", "--allow": len(f.allow) > 0, "--ask": len(f.ask) > 0, "--deny": len(f.deny) > 0,
		"--allow-bypass": f.allowBypass, "--requeue": f.requeue, "--input": f.input != "text",
		"--output": f.output != "text" && f.output != "envelopes" && f.output != outputTUI,
	} {
		if set {
			return name
		}
	}
	return ""
}

// remoteRun is a run whose session the daemon keeps.
type remoteRun struct {
	*viewing
	flags *runFlags
	ends  *ending
	// onAsk is what becomes of asks that need a person.
	onAsk policy.OnAsk
	pace  *pace
}

// runByDaemon gives a run to the daemon when one is there; done says that it did.
func runByDaemon(ctx context.Context, st *streams, req runRequest, profile contract.Profile) (done bool, err error) {
	f := req.flags
	if why := localOnly(req); why != "" {
		if f.detach || f.keep {
			return true, usage("leave that out", "--detach and --keep want a daemon to run it, which %s forbids", why)
		}
		return false, nil
	}
	cfg, err := loadConfigFile("")
	if err != nil {
		return true, err
	}
	set, err := environment(f.env)
	if err != nil {
		return true, err
	}
	l, err := (&remote{}).dial(ctx, cfg)
	if errors.Is(err, errNoDaemon) {
		if f.detach || f.keep {
			return true, usage("start one with agenthost serve", "--detach and --keep want a daemon, and none runs")
		}
		return false, nil
	}
	secrets := newRedactor(cfg, set) // not before: it costs a run without a daemon its start
	defer func() { err = redacted(secrets, err) }()
	if err != nil {
		return true, err
	}
	defer l.Close()
	if f.output == outputTUI {
		done, err := screenByDaemon(ctx, st, l, cfg, req)
		return done, remoteProblem(err)
	}
	prompt, hasPrompt, err := firstPrompt(st, f)
	if err != nil {
		return true, err
	}
	s, known, err := sessionByDaemon(ctx, l, cfg, req)
	if err != nil || !known {
		return err != nil, remoteProblem(err)
	}
	r := &remoteRun{
		viewing: &viewing{st: st, link: l, session: s, from: s.End, form: f.output, profile: profile, secrets: secrets},
		flags:   f, onAsk: policy.OnAsk(f.onAsk), pace: newPace(false),
	}
	if r.onAsk == "" {
		r.onAsk = onAsk(st, f, &policy.Policy{OnAsk: policy.OnAsk(cfg.Permissions.OnAsk)})
	}
	return true, r.run(ctx, prompt, hasPrompt)
}

// sessionByDaemon starts or finds the session of a run. One that the daemon does not
// know is not for it.
func sessionByDaemon(ctx context.Context, l *link, cfg configuration, req runRequest) (s wire.Session, known bool, err error) {
	f := req.flags
	dir, err := filepath.Abs(f.cwd)
	if err != nil {
		return s, false, usage("name a directory with --cwd", "%v", err)
	}
	env, err := shellEnvironment(cfg, req)
	if err != nil {
		return s, false, err
	}
	p := wire.SpawnParams{
		Env: env, ID: cuid2.Generate(), Agent: req.agent, Dir: dir, Title: f.title, Model: f.model, Mode: f.mode, Thinking: f.thinking,
		Sandbox: f.sandbox, SystemPrompt: f.systemPrompt, MaxTurns: f.maxTurns, BudgetUSD: f.budget, Args: req.args,
	}
	if f.output == outputTUI {
		spawnScreen(&p)
	}
	for _, d := range f.dirs {
		if d, err = filepath.Abs(d); err != nil {
			return s, false, usage("name a directory", "--add-dir: %v", err)
		}
		p.Dirs = append(p.Dirs, d)
	}
	switch {
	case f.fork != "":
		p.Fork, p.ForkAt, _ = strings.Cut(f.fork, "@")
	case f.resume != "" || f.cont:
		return resumedByDaemon(ctx, l, req, dir, env)
	}
	if err := wantsCommand(req); err != nil && p.Fork == "" {
		return s, false, err
	}
	s, err = l.Spawn(ctx, p)
	if err == nil {
		s.End = 0 // all of it is new
	}
	return s, true, err
}

// resumedByDaemon finds the session that a run goes on with.
func resumedByDaemon(ctx context.Context, l *link, req runRequest, dir string, env *wire.Environment) (s wire.Session, known bool, err error) {
	f := req.flags
	list, err := l.Sessions(ctx, wire.SessionsParams{})
	if err != nil {
		return s, false, err
	}
	var found []wire.Session
	for _, s := range list {
		last := (f.cont && s.Dir == dir || f.resume == "last") && s.Native != ""
		if last || s.ID == f.resume || s.Native != "" && s.Native == f.resume {
			found = []wire.Session{s}
			break
		}
		if f.resume != "" && strings.HasPrefix(s.ID, f.resume) {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		return s, false, nil // what it is then a local run says, or knows
	}
	s = found[0]
	if s.Agent != req.agent {
		return s, false, usage("run it with that agent", "session %s is one of %s, not of %s", s.ID, s.Agent, req.agent)
	}
	// Its agent has this shell's environment when it is started anew.
	if s, err = l.Spawn(ctx, wire.SpawnParams{ID: s.ID, Agent: s.Agent, Dir: cmp.Or(s.Dir, dir), Env: env}); err != nil {
		return s, true, err
	}
	if f.output == outputTUI {
		if s, err = readyScreen(ctx, l, s); err != nil {
			return s, true, err
		}
	}
	if f.model != "" || f.mode != "" || f.thinking != "" {
		s, err = l.Configure(ctx, wire.ConfigureParams{
			Session: s.ID, Model: f.model, PermissionMode: contract.PermissionMode(f.mode), ThinkingLevel: f.thinking,
		})
	}
	return s, true, err
}

// run sends the input, prints what comes, and ends the agent.
func (r *remoteRun) run(ctx context.Context, prompt string, hasPrompt bool) error {
	f := r.flags
	if f.from >= 0 {
		r.from = f.from
	}
	first, err := r.first(ctx, prompt, hasPrompt)
	if err != nil {
		return remoteProblem(err)
	}
	if f.detach {
		fmt.Fprintln(r.st.out, r.session.ID)
		return nil
	}
	r.ends = newEnding(ctx, f.timeout)
	defer r.ends.release()
	r.asked = r.ask
	var keys *keyboard
	if in, closer := terminalInput(r.st); in != nil {
		if closer != nil {
			defer closer.Close()
		}
		keys = newKeyboard(in)
		if r.onAsk == policy.OnAskPrompt || r.onAsk == policy.OnAskWait {
			r.asks = newRemoteAsks(r.link)
			defer r.asks.close()
			go r.asks.run(r.ends.ctx, r.st, keys)
		}
	}
	watching, seen := context.WithCancel(r.ends.ctx)
	defer seen()
	if !hasPrompt && keys != nil {
		go r.typed(watching, keys, r.pace, seen)
	}
	err = r.unremoved(r.watch(watching, func(e contract.Envelope) error { return r.see(e, first) }))
	r.finish()
	return r.result(err)
}

// first sends the prompt that the run begins with; its id is empty without one.
func (r *remoteRun) first(ctx context.Context, prompt string, hasPrompt bool) (string, error) {
	if !hasPrompt {
		return "", nil
	}
	files, err := r.link.upload(ctx, slices.Concat(r.flags.images, r.flags.files))
	if err != nil {
		return "", err
	}
	id := cuid2.Generate()
	r.pace.expect(id)
	_, err = r.link.Send(ctx, wire.SendParams{Session: r.session.ID, ID: id, Text: prompt, Files: files})
	return id, err
}

// see keeps up with the stream. With a first prompt the run is over when nothing is
// under way any more.
func (r *remoteRun) see(e contract.Envelope, first string) error {
	r.pace.see(e)
	if r.asks != nil {
		r.asks.see(e)
	}
	switch ev := e.Event.(type) {
	case contract.TurnEnd:
		if first != "" && r.pace.still() {
			return errSeen
		}
	case contract.Service:
		if ev.Code == contract.CodeHostStopped && first != "" && r.pace.still() {
			return &problem{code: exitFailed, what: ev.Text}
		}
	}
	return nil
}

// ask answers an ask that nobody is here for.
func (r *remoteRun) ask(a wire.Ask) {
	if r.onAsk != policy.OnAskDeny && r.onAsk != policy.OnAskFail {
		return
	}
	go func() { // the stream goes on meanwhile
		_, err := r.link.Decide(r.ends.ctx, wire.DecideParams{Session: a.Session, Call: a.Call, Nonce: a.Nonce, Decision: contract.RejectOnce})
		if err != nil || r.onAsk != policy.OnAskFail {
			return // somebody was faster, or it is refused
		}
		title := a.Call
		if req, err := requestOf(a); err == nil {
			title = render.Plain(req.Title)
		}
		r.ends.finish(&problem{code: exitRefused, what: "nobody was there to allow it: " + title})
	}()
}

// byeTime bounds how long a run waits for the daemon to end its agent.
const byeTime = time.Minute

// finish ends the turn, if one runs, and the agent: a run leaves none behind, unless
// it is to be kept.
func (r *remoteRun) finish() {
	ctx, cancel := context.WithTimeout(context.Background(), byeTime)
	defer cancel()
	if r.flags.keep && r.ends.cause() == nil {
		return
	}
	stopped := make(chan struct{})
	defer close(stopped)
	go func() { // whoever sends a second signal does not want to wait
		select {
		case <-r.ends.again:
			cancel()
		case <-stopped:
		}
	}()
	var err error
	if r.flags.keep {
		_, err = r.link.Abort(ctx, wire.AbortParams{Session: r.session.ID})
	} else {
		_, err = r.link.Stop(ctx, wire.StopParams{Session: r.session.ID})
	}
	if err != nil && client.Code(err) != wire.CodeNotFound { // it is removed, and its agent over
		fmt.Fprintf(r.st.err, "agenthost: ending the session's agent: %v\n", err)
	}
}

// result is the exit code, nil for 0.
func (r *remoteRun) result(err error) error {
	if cause := r.ends.cause(); cause != nil {
		return cause
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return r.out.once(remoteProblem(err))
	}
	return r.out.once(r.out.last.problem(""))
}
