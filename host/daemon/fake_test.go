package daemon

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/relay/wire"
)

// fake is an agent that lives in this process. It understands prompts:
//
//	say WORDS    says them
//	ask CALL     asks whether it may run a command, and says what was decided
//	hang         goes on until it is aborted
//	die          exits
//
// Anything else it says back. It grows no native session when it is told not to.
type fake struct{}

func (fake) Name() string { return "fake" }

func (fake) Describe() adapters.Description {
	return adapters.Description{
		Title: "Fake", Command: []string{"fake"},
		Claims: []adapters.Claim{{Capability: session.CapStash, Reason: "fakes have no stash"}, {Capability: session.CapSteer, Supported: true}},
	}
}

func (fake) Launch(r adapters.LaunchRequest) (adapters.Launch, error) {
	if strings.Contains(r.Options.SystemPrompt, "do not start") {
		return adapters.Launch{}, fmt.Errorf("it does not want to")
	}
	return adapters.Launch{Argv: []string{"fake", "resume=" + r.Options.Resume, "mode=" + r.Options.Mode, "model=" + r.Options.Model}}, nil
}

func (fake) NewProtocol(i adapters.SessionInfo) adapters.Protocol {
	return &fakeProtocol{native: "native-" + i.ID, resume: i.Options.Resume, refuse: i.Options.SystemPrompt == "refuse to open"}
}

type fakeProtocol struct {
	native, resume string
	refuse         bool
	open           bool
	aborted        bool
}

func (*fakeProtocol) Capabilities() []session.Capability {
	return []session.Capability{session.CapSteer}
}

func (p *fakeProtocol) Submit(_ time.Time, c adapters.Command) (adapters.Step, error) {
	write := func(words ...string) adapters.Step {
		return adapters.Step{Write: [][]byte{[]byte(strings.Join(words, " "))}}
	}
	switch c := c.(type) {
	case adapters.Open:
		step := write("open")
		step.Facts = &adapters.Facts{NativeSession: p.native}
		if p.resume != "" {
			step.Facts.NativeSession = p.resume
		}
		step.Done = []adapters.Outcome{{ID: c.ID}}
		if p.refuse {
			step.Facts = nil
			step.Done[0].Err = &contract.Error{Code: contract.CodeAuthRequired, Message: "log in first"}
		}
		return step, nil
	case adapters.Prompt:
		p.open, p.aborted = true, false
		step := write("prompt", c.Text)
		step.Emit = []adapters.Draft{{Event: contract.TurnStart{}, Prompts: []string{c.ID}}}
		for _, f := range c.Files {
			step.Emit = append(step.Emit, adapters.Draft{Event: contract.Text{Text: fmt.Sprintf("file %s %s %d", f.Name, f.MIME, len(f.Data))}})
		}
		return step, nil
	case adapters.Steer:
		return write("steer", c.Text), nil
	case adapters.Abort:
		p.aborted = true
		return write("abort"), nil
	case adapters.Answer:
		return write("answer", string(c.Decision)), nil
	case adapters.Configure:
		if c.Model == "no-such-model" {
			return adapters.Step{}, fmt.Errorf("model: %w", adapters.ErrUnsupported)
		}
		return adapters.Step{
			Done: []adapters.Outcome{{ID: c.ID}},
			Emit: []adapters.Draft{{Event: contract.AgentConfigurationChanged{Model: c.Model, PermissionMode: c.Mode}}},
		}, nil
	case adapters.Close:
		return write("close"), nil
	}
	return adapters.Step{}, fmt.Errorf("%T: %w", c, adapters.ErrUnsupported)
}

func (p *fakeProtocol) Receive(_ time.Time, f adapters.Frame) (adapters.Step, error) {
	word, rest, _ := strings.Cut(string(f.Data), " ")
	emit := func(evs ...contract.Event) (adapters.Step, error) {
		var step adapters.Step
		for _, ev := range evs {
			step.Emit = append(step.Emit, adapters.Draft{Event: ev})
		}
		return step, nil
	}
	switch word {
	case "text":
		return emit(contract.Text{Text: rest})
	case "delta":
		return adapters.Step{Live: []adapters.Delta{{Text: rest}}}, nil
	case "ask":
		args := jsontext.Value(`{"command":"make"}`)
		step, _ := emit(contract.ToolCallStart{Call: rest, Name: "bash", Title: "Run", Description: "Run", Args: args})
		step.Emit = append(step.Emit, adapters.Draft{
			Ask: rest, Event: contract.PermissionRequest{Call: rest, ToolName: "bash", Title: "Run", Description: "Run", Args: args},
		})
		return step, nil
	case "done":
		p.open = false
		status := contract.TurnCompleted
		if p.aborted {
			status = contract.TurnCancelled
		}
		return emit(contract.TurnEnd{Status: status, Usage: &contract.Usage{InputTokens: 10, OutputTokens: 2}})
	}
	return adapters.Step{}, fmt.Errorf("unknown word %q", word)
}

func (*fakeProtocol) Tick(time.Time) adapters.Step                      { return adapters.Step{} }
func (*fakeProtocol) Exit(time.Time, adapters.ExitStatus) adapters.Step { return adapters.Step{} }

// fakeChild is the agent's process.
type fakeChild struct {
	frames chan adapters.Frame
	mu     sync.Mutex
	gone   bool // guarded by mu
	exit   adapters.ExitStatus
}

func (c *fakeChild) Frames() <-chan adapters.Frame { return c.frames }
func (c *fakeChild) Exit() adapters.ExitStatus     { return c.exit }

func (c *fakeChild) say(lines ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range lines {
		if !c.gone {
			c.frames <- adapters.Frame{Data: []byte(l)}
		}
	}
}

func (c *fakeChild) die(s adapters.ExitStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.gone, c.exit = true, s
		close(c.frames)
	}
}

func (c *fakeChild) Stop(context.Context) { c.die(adapters.ExitStatus{}) }

func (c *fakeChild) Write(p []byte) error {
	word, rest, _ := strings.Cut(string(p), " ")
	switch word {
	case "prompt":
		c.prompt(rest)
	case "abort":
		c.say("done")
	case "steer":
		c.say("text steered "+rest, "done")
	case "answer":
		c.say("text decided "+rest, "done")
	}
	return nil
}

func (c *fakeChild) prompt(text string) {
	verb, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "ask":
		c.say("ask " + rest)
	case "hang":
		c.say("text hanging")
	case "die":
		c.die(adapters.ExitStatus{Code: 3})
	default:
		c.say("delta "+text, "text "+text, "done")
	}
}

// world is a state directory with a daemon on it.
type world struct {
	*Daemon
	t     testing.TB
	state string
	// work is the directory of its sessions.
	work string
	med  *permission.Mediator
	// alter changes what is prepared, nil for nothing.
	alter func(*Prepared)

	mu       sync.Mutex
	children []*fakeChild // guarded by mu
	argv     [][]string   // guarded by mu
	requests []Request    // guarded by mu
}

func (w *world) prepare(_ context.Context, r Request) (Prepared, error) {
	if r.Spawn.Agent != "fake" {
		return Prepared{}, wire.Errorf(wire.CodeNotFound, "no agent %q", r.Spawn.Agent)
	}
	w.mu.Lock()
	w.requests = append(w.requests, r)
	w.mu.Unlock()
	p := Prepared{Host: host.Config{
		Dir: r.Spawn.Dir, Adapter: fake{},
		Options: adapters.Options{Model: r.Spawn.Model, Mode: r.Spawn.Mode, SystemPrompt: r.Spawn.SystemPrompt},
		Resolve: func(command, _ string) (string, error) { return "/bin/" + command, nil },
		Start: func(_ context.Context, spec host.StartSpec) (host.Child, error) {
			c := &fakeChild{frames: make(chan adapters.Frame, 1024)}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.children = append(w.children, c)
			w.argv = append(w.argv, spec.Argv)
			return c, nil
		},
	}, Session: permission.SessionOptions{Mode: contract.PermissionMode(r.Spawn.Mode)}}
	if r.Spawn.Face == wire.FaceTerminal {
		p.Host.Face = adapters.FaceTerminal
	}
	if w.alter != nil {
		w.alter(&p)
	}
	return p, nil
}

// open starts a daemon on w's directory.
func (w *world) open(configure func(*Config)) *Daemon {
	w.t.Helper()
	w.med = permission.New(permission.Options{})
	cfg := Config{StateDir: w.state, Mediator: w.med, Prepare: w.prepare, Machine: &Machine{ID: "m1", Name: "box"}}
	if configure != nil {
		configure(&cfg)
	}
	d, err := Open(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.Daemon = d
	return d
}

func (w *world) close() {
	w.t.Helper()
	if err := w.Close(context.Background()); err != nil {
		w.t.Error(err)
	}
	w.med.Close()
}

// newWorld is a daemon that ends with the test.
func newWorld(t testing.TB, configure func(*Config)) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, state: filepath.Join(dir, "state"), work: filepath.Join(dir, "work")}
	if err := os.Mkdir(w.work, 0o700); err != nil {
		t.Fatal(err)
	}
	w.open(configure)
	t.Cleanup(w.close)
	return w
}

// here is a program on this machine that is no client of any kind; at is a person at
// a terminal.
var (
	here = wire.Caller{Scope: wire.ScopeAdmin, Local: true, TokenID: "me"}
	at   = wire.Caller{Scope: wire.ScopeAdmin, Local: true, ClientType: contract.ClientCLI, TokenID: "me"}
)

// do runs a command and decodes its result.
func do[R any](w *world, caller wire.Caller, method string, params any) (R, error) {
	w.t.Helper()
	var res R
	raw, err := wire.Marshal(params)
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := w.Do(w.t.Context(), caller, method, raw)
	if err != nil {
		return res, err
	}
	if err := wire.UnmarshalStream(out, &res); err != nil {
		w.t.Fatalf("%s gave %s: %v", method, out, err)
	}
	return res, nil
}

func must[R any](w *world, method string, params any) R {
	w.t.Helper()
	res, err := do[R](w, here, method, params)
	if err != nil {
		w.t.Fatalf("%s = %v", method, err)
	}
	return res
}

// spawn starts a session that is ready.
func (w *world) start(prompt string) wire.Session {
	w.t.Helper()
	p := wire.SpawnParams{Agent: "fake", Dir: w.work}
	if prompt != "" {
		p.Prompt = &wire.SendParams{Text: prompt}
	}
	return must[wire.SessionResult](w, wire.SessionSpawn, p).Session
}

func (w *world) send(id, text string) wire.SentResult {
	w.t.Helper()
	return must[wire.SentResult](w, wire.SessionSend, wire.SendParams{Session: id, Text: text})
}

// until waits until a session's metadata are as ok wants them.
func (w *world) until(id string, ok func(wire.Session) bool) wire.Session {
	w.t.Helper()
	watch := w.hub.watch(id)
	defer watch.close()
	deadline := time.After(10 * time.Second)
	again := time.NewTicker(20 * time.Millisecond) // nobody is told of an End that moves
	defer again.Stop()
	for {
		s, err := w.Session(w.t.Context(), id)
		if err == nil && ok(s) {
			return s
		}
		select {
		case <-watch.wake:
			watch.take()
		case <-again.C:
		case <-deadline:
			w.t.Fatalf("the session did not get there: %+v, %v", s, err)
		}
	}
}

func idle(s wire.Session) bool { return s.Status == session.StatusIdle && s.End > 3 && s.Queued == 0 }

// words is a session's stream, an envelope a word.
func (w *world) words(id string) []string {
	w.t.Helper()
	v := contract.NewValidator(contract.ProfileExtended)
	var words []string
	n := 0
	for r, err := range w.records(id) {
		if err != nil {
			w.t.Fatal(err)
		}
		n++
		for _, f := range v.Check(n, r) {
			w.t.Errorf("invalid stream: %v", f)
		}
		words = append(words, word(r))
	}
	return words
}

func word(e contract.Envelope) string {
	switch ev := e.Event.(type) {
	case contract.Text:
		return string(e.Role) + ":" + ev.Text
	case contract.TurnEnd:
		return "turn-end:" + string(ev.Status)
	case contract.PermissionResponse:
		return "answer:" + string(ev.Decision)
	case contract.SessionControlChanged:
		return "control:" + string(ev.ClientType) + ":" + ev.TokenID
	case contract.Service:
		return "service:" + string(ev.Code)
	case contract.File:
		return "file:" + ev.Name
	}
	return string(e.Event.EventType())
}

func (w *world) records(id string) iter.Seq2[contract.Envelope, error] {
	return func(yield func(contract.Envelope, error) bool) {
		r, err := journal.OpenReader(filepath.Join(host.SessionDir(w.state, id), "journal"), nil)
		if err != nil {
			yield(contract.Envelope{}, err)
			return
		}
		for rec, err := range r.Read(0, math.MaxInt64) {
			if !yield(rec.Envelope, err) {
				return
			}
		}
	}
}

func (w *world) code(err error, want wire.Code) {
	w.t.Helper()
	if !errors.Is(err, &wire.Error{Code: want}) {
		w.t.Errorf("the error is %v, want one of code %s", err, want)
	}
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
