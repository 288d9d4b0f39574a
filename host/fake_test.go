package host

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// fakeAdapter speaks a language of words, so that a test can play the agent:
//
//	host -> agent: open, ask-first TOOLS, prompt TEXT, steer TEXT, abort, answer KEY DECISION, configure MODEL-OR-MODE, op ID NAME PARAMS, close
//	agent -> host: opened NATIVE, refused MESSAGE, text T, says ORIGIN T, start CALL, end CALL, ask CALL KEY, withdraw KEY,
//	               done STATUS, late (a steer), late done (in the Step of the turn's end), delta T, configured ID, closed, result ID JSON, sub ID, stop WHY, turn (one of its own)
type fakeAdapter struct {
	steer    bool
	lazyTurn bool // the turn starts with the agent's "turn", not with the prompt
	moves    bool // it can rewind and fork
	parts    bool // it answers the goodbye, with "closed"
	deaf     bool // it cannot be told while it runs what to ask for
}

func (fakeAdapter) Name() string { return "fake" }
func (fakeAdapter) Describe() adapters.Description {
	return adapters.Description{Title: "Fake", Command: []string{"fake"}, Install: "make fake"}
}

func (fakeAdapter) Launch(r adapters.LaunchRequest) (adapters.Launch, error) {
	resume := "--resume=" + r.Options.Resume
	if r.Options.ForkAt != "" {
		resume += "@" + r.Options.ForkAt
	}
	return adapters.Launch{Argv: []string{"fake", resume}}, nil
}

func (f fakeAdapter) NewProtocol(adapters.SessionInfo) adapters.Protocol {
	return &fakeProtocol{adapter: f}
}

type fakeProtocol struct {
	adapter fakeAdapter
	open    bool // a turn
	aborted bool
	pending []string // prompts that no turn has taken up
	steers  []string // ids, in order
}

func (p *fakeProtocol) Capabilities() []session.Capability {
	var caps []session.Capability
	if p.adapter.steer {
		caps = append(caps, session.CapSteer)
	}
	if p.adapter.moves {
		caps = append(caps, session.CapRewind, session.CapFork)
	}
	return caps
}

func writeWords(words ...string) [][]byte { return [][]byte{[]byte(strings.Join(words, " ") + "\n")} }

func (p *fakeProtocol) Submit(_ time.Time, c adapters.Command) (adapters.Step, error) {
	switch c := c.(type) {
	case adapters.Open:
		return adapters.Step{Write: writeWords("open")}, nil
	case adapters.Prompt:
		if c.Text == "refuse me" {
			return adapters.Step{}, errors.New("refused")
		}
		step := adapters.Step{Write: writeWords("prompt", c.Text)}
		if p.adapter.lazyTurn {
			p.pending = append(p.pending, c.ID)
			return step, nil
		}
		p.open, p.aborted = true, false
		step.Emit = []adapters.Draft{{Event: contract.TurnStart{}, Prompts: []string{c.ID}}}
		return step, nil
	case adapters.Steer:
		p.steers = append(p.steers, c.ID)
		return adapters.Step{Write: writeWords("steer", c.Text)}, nil
	case adapters.Abort:
		p.aborted = true
		return adapters.Step{Write: writeWords("abort")}, nil
	case adapters.Answer:
		return adapters.Step{Write: writeWords("answer", c.Ask, string(c.Decision))}, nil
	case adapters.Configure:
		return adapters.Step{Write: writeWords("configure", c.ID, cmp.Or(c.Model, string(c.Mode)))}, nil
	case adapters.AskFirst:
		if p.adapter.deaf {
			break
		}
		words := []string{"ask-first", c.ID}
		for _, u := range c.Uses {
			words = append(words, u.Tool)
		}
		return adapters.Step{Write: writeWords(words...)}, nil
	case adapters.Op:
		if c.Name == "stash" || c.Name == "nothing" {
			break
		}
		return adapters.Step{Write: writeWords("op", c.ID, c.Name, string(c.Params))}, nil
	case adapters.Close:
		step := adapters.Step{Write: writeWords("close")}
		if !p.adapter.parts {
			step.Done = []adapters.Outcome{{ID: c.ID}}
		}
		return step, nil
	}
	return adapters.Step{}, fmt.Errorf("%T: %w", c, adapters.ErrUnsupported)
}

func (p *fakeProtocol) Receive(_ time.Time, f adapters.Frame) (adapters.Step, error) {
	word, rest, _ := strings.Cut(string(f.Data), " ")
	arg, more, _ := strings.Cut(rest, " ")
	emit := func(ev contract.Event) (adapters.Step, error) {
		return adapters.Step{Emit: []adapters.Draft{{Event: ev}}}, nil
	}
	switch word {
	case "opened":
		return adapters.Step{Facts: &adapters.Facts{NativeSession: arg}, Done: []adapters.Outcome{{ID: openID}}}, nil
	case "refused":
		return adapters.Step{Done: []adapters.Outcome{{ID: openID, Err: &contract.Error{Code: contract.CodeAuthRequired, Message: rest}}}}, nil
	case "late":
		id := p.steers[0]
		p.steers = p.steers[1:]
		step := adapters.Step{Done: []adapters.Outcome{{ID: id, Err: &contract.Error{Code: contract.CodeTimeout, Message: "too late"}}}}
		if arg == "done" { // as when the agent dies
			p.open = false
			step.Emit = []adapters.Draft{{Event: contract.TurnEnd{Status: contract.TurnFailed}}}
		}
		return step, nil
	case "mode":
		return emit(contract.AgentConfigurationChanged{PermissionMode: contract.PermissionMode(arg)})
	case "give-up":
		p.open = false
		return adapters.Step{Stop: "it does not answer", Emit: []adapters.Draft{{Event: contract.TurnEnd{Status: contract.TurnStatus(arg)}}}}, nil
	case "unknown-session":
		return adapters.Step{Done: []adapters.Outcome{{ID: openID, Err: &contract.Error{Code: contract.CodeSessionNotFound, Message: "no such session"}}}}, nil
	case "text":
		return emit(contract.Text{Text: rest})
	case "says":
		return adapters.Step{Emit: []adapters.Draft{{Origin: arg, Event: contract.Text{Text: more}}}}, nil
	case "result":
		return adapters.Step{Done: []adapters.Outcome{{ID: arg, Result: jsontext.Value(more)}}}, nil
	case "failed":
		return adapters.Step{Done: []adapters.Outcome{{ID: arg, Err: &contract.Error{Code: contract.CodeAgentError, Message: more}}}}, nil
	case "delta":
		return adapters.Step{Live: []adapters.Delta{{Text: rest}}}, nil
	case "start":
		return emit(contract.ToolCallStart{Call: arg, Name: "bash", Title: "run `x`", Description: "run", Args: jsontext.Value(`{"command":"x"}`)})
	case "end":
		return emit(contract.ToolCallEnd{Call: arg, Result: &contract.ToolResult{Status: contract.ToolCompleted, Output: jsontext.Value(`"` + more + `"`)}})
	case "ask":
		return adapters.Step{Emit: []adapters.Draft{{
			Ask: more, Event: contract.PermissionRequest{Call: arg, ToolName: "bash", Title: "run", Description: "run", Args: jsontext.Value(`{"command":"x"}`)},
		}}}, nil
	case "withdraw":
		return adapters.Step{Withdraw: []string{arg}}, nil
	case "turn":
		prompts := p.pending
		p.pending, p.open, p.aborted = nil, true, false
		return adapters.Step{Emit: []adapters.Draft{{Event: contract.TurnStart{}, Prompts: prompts}}}, nil
	case "done":
		p.open = false
		status := contract.TurnStatus(arg)
		if p.aborted {
			status = contract.TurnCancelled
		}
		return emit(contract.TurnEnd{Status: status, Usage: &contract.Usage{InputTokens: 10, OutputTokens: 2}, Model: "m"})
	case "closed":
		return adapters.Step{Done: []adapters.Outcome{{ID: closeID}}}, nil
	case "configured":
		return adapters.Step{Done: []adapters.Outcome{{ID: arg}}}, nil
	case "stop":
		return adapters.Step{Stop: rest}, nil
	}
	return adapters.Step{}, fmt.Errorf("unknown word %q", word)
}

func (p *fakeProtocol) Tick(time.Time) adapters.Step { return adapters.Step{} }

// Exit leaves the turn open: the host's safety net must end it. It recognises an
// agent that wants a login.
func (p *fakeProtocol) Exit(_ time.Time, s adapters.ExitStatus) adapters.Step {
	if strings.Contains(s.Stderr, "log in") {
		return adapters.Step{Done: []adapters.Outcome{{ID: openID, Err: &contract.Error{Code: contract.CodeAuthRequired, Message: s.Stderr}}}}
	}
	return adapters.Step{}
}

// fakeChild is a process that the test plays.
type fakeChild struct {
	t      *testing.T
	frames chan adapters.Frame
	wrote  chan string
	// deaf makes Stop wait until the test lets the child exit.
	deaf bool
	// stubborn makes Stop take until its context ends, as a child that has to be
	// killed does.
	stubborn bool
	// onStop is called when the child is told to stop, nil for nothing.
	onStop func()
	// full is what Write returns when it is set: nothing is read.
	full error
	once sync.Once
	exit adapters.ExitStatus
	gone chan struct{} // closed by die
}

func (c *fakeChild) Frames() <-chan adapters.Frame { return c.frames }

func (c *fakeChild) Write(p []byte) error {
	if c.full != nil {
		return c.full
	}
	c.wrote <- strings.TrimSuffix(string(p), "\n")
	return nil
}

func (c *fakeChild) Stop(ctx context.Context) {
	if c.onStop != nil {
		c.onStop()
	}
	if c.stubborn {
		<-ctx.Done()
	}
	if !c.deaf {
		c.die(adapters.ExitStatus{})
	}
}

func (c *fakeChild) Exit() adapters.ExitStatus { return c.exit }

// die ends the process.
func (c *fakeChild) die(s adapters.ExitStatus) {
	c.once.Do(func() {
		c.exit = s
		close(c.gone)
		close(c.frames)
	})
}

// say writes lines on the child's stdout.
func (c *fakeChild) say(lines ...string) {
	for _, l := range lines {
		c.frames <- adapters.Frame{Source: adapters.Stdout, Data: []byte(l)}
	}
}

// want reads what the host wrote next.
func (c *fakeChild) want(prefix string) string {
	c.t.Helper()
	got := <-c.wrote
	if !strings.HasPrefix(got, prefix) {
		c.t.Fatalf("the host wrote %q, want %q…", got, prefix)
	}
	return got
}

// silent reports that the host wrote nothing.
func (c *fakeChild) silent() {
	c.t.Helper()
	select {
	case got := <-c.wrote:
		c.t.Fatalf("the host wrote %q, want nothing", got)
	default:
	}
}

// stage is a session whose agent the test plays.
type stage struct {
	*Session
	t        *testing.T
	children chan *fakeChild
	argv     [][]string
}

// newStage starts a session. configure may change its Config.
func newStage(t *testing.T, a adapters.Adapter, configure func(*Config)) (*stage, *fakeChild) {
	t.Helper()
	st := &stage{t: t, children: make(chan *fakeChild, 8)}
	cfg := Config{
		Dir: t.TempDir(), StateDir: t.TempDir(), Adapter: a,
		Resolve: func(command, _ string) (string, error) { return "/bin/" + command, nil },
		Start: func(_ context.Context, spec StartSpec) (Child, error) {
			c := &fakeChild{t: t, frames: make(chan adapters.Frame), wrote: make(chan string, 64), gone: make(chan struct{})}
			st.argv = append(st.argv, spec.Argv)
			st.children <- c
			return c, nil
		},
	}
	if configure != nil {
		configure(&cfg)
	}
	s, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	st.Session = s
	c := <-st.children
	c.want("open")
	return st, c
}

// opened starts a session whose handshake is over.
func opened(t *testing.T, a adapters.Adapter, configure func(*Config)) (*stage, *fakeChild) {
	t.Helper()
	st, c := newStage(t, a, configure)
	c.say("opened native-1")
	if err := st.Opened(t.Context()); err != nil {
		t.Fatal(err)
	}
	return st, c
}

func (st *stage) send(ev contract.Event) error {
	return st.Submit(st.t.Context(), Input{Envelope: contract.Envelope{Role: contract.RoleUser, Event: ev}})
}

func (st *stage) mustSend(ev contract.Event) {
	st.t.Helper()
	if err := st.send(ev); err != nil {
		st.t.Fatalf("Submit(%T) = %v", ev, err)
	}
}

// end stops the session and returns its stream in words, after checking that it
// is valid.
func (st *stage) end() []string {
	st.t.Helper()
	if err := st.Stop(context.WithoutCancel(st.t.Context())); err != nil {
		st.t.Fatal(err)
	}
	return st.stream()
}

func (st *stage) stream() []string {
	st.t.Helper()
	v := contract.NewValidator(contract.ProfileExtended)
	var words []string
	n := 0
	for e, err := range st.Journal().Envelopes() {
		if err != nil {
			st.t.Fatal(err)
		}
		n++
		for _, f := range v.Check(n, e) {
			st.t.Errorf("invalid stream: %v", f)
		}
		words = append(words, word(e))
	}
	return words
}

// word is an envelope in short.
func word(e contract.Envelope) string {
	switch ev := e.Event.(type) {
	case contract.Text:
		s := string(e.Role) + ":" + ev.Text
		if ev.Steer {
			s += "!"
		}
		return s
	case contract.TurnEnd:
		s := "turn-end:" + string(ev.Status)
		if ev.Error != nil {
			s += ":" + string(ev.Error.Code)
		}
		return s
	case contract.ToolCallEnd:
		if ev.Result != nil {
			return "end:" + ev.Call + ":" + string(ev.Result.Status)
		}
		return "end:" + ev.Call
	case contract.ToolCallStart:
		return "start:" + ev.Call
	case contract.PermissionRequest:
		return "ask:" + ev.Call
	case contract.PermissionResponse:
		return fmt.Sprintf("answer:%s:%s:%s", ev.Call, ev.Decision, ev.By.Resolver)
	case contract.Service:
		return "service:" + string(ev.Kind) + ":" + string(ev.Code)
	}
	return string(e.Event.EventType())
}
