package host

import (
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// fakeTerminal is the fake with a screen. In that face its agent knows more words, of
// what a person does there:
//
//	typed KEY T (a message), takes KEY (a turn with it), steered T, removed KEY,
//	answered CALL DECISION, escape, chose MODE MODEL, helper ID, follow ID PATH, reply ID T, unfollow ID
type fakeTerminal struct{ fakeAdapter }

var _ adapters.TerminalAdapter = fakeTerminal{}

func (f fakeTerminal) DescribeTerminal() adapters.Description { return f.Describe() }

func (f fakeTerminal) Launch(r adapters.LaunchRequest) (adapters.Launch, error) {
	l, err := f.fakeAdapter.Launch(r)
	l.Argv = append(l.Argv, "--mode="+r.Options.Mode, "--model="+r.Options.Model)
	if r.Options.Fork != "" {
		l.Argv = append(l.Argv, "--fork="+r.Options.Fork)
	}
	return l, err
}

func (f fakeTerminal) LaunchTerminal(r adapters.TerminalRequest) (adapters.Launch, error) {
	l, err := f.Launch(r.LaunchRequest)
	l.Argv = append(l.Argv, "--tui")
	l.Env = []adapters.Pair{{Name: "HOOK", Value: r.Hook}, {Name: "HOOK_CLOSED", Value: r.HookClosed}, {Name: "SOCKETS", Value: r.SocketDir}}
	l.Screen = true
	return l, err
}

func (f fakeTerminal) NewTerminalProtocol(adapters.TerminalInfo) adapters.Protocol {
	return &fakeScreen{fakeProtocol{adapter: f.fakeAdapter}}
}

type fakeScreen struct{ fakeProtocol }

func (p *fakeScreen) Receive(at time.Time, f adapters.Frame) (adapters.Step, error) {
	word, rest, _ := strings.Cut(string(f.Data), " ")
	arg, more, _ := strings.Cut(rest, " ")
	theirs := func(key string, ev contract.Event) (adapters.Step, error) {
		return adapters.Step{Emit: []adapters.Draft{{Role: contract.RoleUser, Key: key, Event: ev}}}, nil
	}
	switch word {
	case "typed":
		return theirs(arg, contract.Text{Text: more})
	case "takes":
		p.open, p.aborted = true, false
		return adapters.Step{Emit: []adapters.Draft{{Event: contract.TurnStart{}, Prompts: strings.Fields(rest)}}}, nil
	case "steered":
		return theirs("", contract.Text{Text: rest, Steer: true})
	case "removed":
		return adapters.Step{Done: []adapters.Outcome{{ID: arg}}}, nil
	case "answered":
		return theirs("", contract.PermissionResponse{Call: arg, Decision: contract.Decision(more)})
	case "escape":
		p.aborted = true
		return theirs("", contract.Abort{})
	case "chose":
		return theirs("", contract.AgentConfigurationChanged{PermissionMode: contract.PermissionMode(arg), Model: more})
	case "helper":
		return adapters.Step{Emit: []adapters.Draft{{Event: contract.SubagentStart{AgentID: arg, Title: "t"}, Background: true}}}, nil
	case "follow":
		return adapters.Step{Effects: []adapters.Effect{adapters.Follow{ID: arg, Path: more}}}, nil
	case "unfollow":
		return adapters.Step{Effects: []adapters.Effect{adapters.Unfollow{ID: arg}}}, nil
	case "reply":
		return adapters.Step{Effects: []adapters.Effect{adapters.HookReply{ID: arg, Output: []byte(more)}}}, nil
	}
	return p.fakeProtocol.Receive(at, f)
}

func (p *fakeScreen) Submit(at time.Time, c adapters.Command) (adapters.Step, error) {
	if e, ok := c.(adapters.EffectDone); ok {
		return adapters.Step{Write: writeWords("effect", e.ID, e.Err.Message)}, nil
	}
	return p.fakeProtocol.Submit(at, c)
}

// Do implements doer.
func (c *fakeChild) Do(e adapters.Effect) error {
	switch e := e.(type) {
	case adapters.Follow:
		if e.Path == "bad" {
			return errTaken
		}
		c.wrote <- "follow " + e.ID + " " + e.Path
	case adapters.Unfollow:
		c.wrote <- "unfollow " + e.ID
	case adapters.HookReply:
		c.wrote <- "reply " + e.ID + " " + string(e.Output)
	}
	return nil
}

// onScreen starts a session in the terminal face whose handshake is over.
func onScreen(t *testing.T, configure func(*Config)) (*stage, *fakeChild) {
	t.Helper()
	return opened(t, fakeTerminal{}, func(c *Config) {
		c.Face = adapters.FaceTerminal
		if configure != nil {
			configure(c)
		}
	})
}

// next is the child that is started next, told to open its session. It has to be the
// only one that runs.
func (st *stage) next(former *fakeChild, native string) *fakeChild {
	st.t.Helper()
	c := <-st.children
	select {
	case <-former.gone:
	default:
		st.t.Error("the next child was started before the former was gone")
	}
	c.want("open")
	if native != "" {
		c.say("opened " + native)
	}
	return c
}

// last is the newest child's command line.
func (st *stage) last() string { return strings.Join(st.argv[len(st.argv)-1], " ") }
