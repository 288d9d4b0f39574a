package stamp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// line renders an envelope: the turn's number, the sub-agent's in brackets, and
// what it says. Numbers count turns and sub-agents in the order of their starts.
type renderer struct{ turns, agents map[string]int }

func number(m map[string]int, id string) int {
	if m[id] == 0 {
		m[id] = len(m) + 1
	}
	return m[id]
}

func (r renderer) line(e contract.Envelope) string {
	s := "-"
	if e.Turn != "" {
		s = fmt.Sprint(number(r.turns, e.Turn))
	}
	if e.Subagent != "" {
		s += fmt.Sprintf("[%d]", number(r.agents, e.Subagent))
	}
	s += " " + string(e.Event.EventType())
	switch ev := e.Event.(type) {
	case contract.Text:
		s += " " + ev.Text
	case contract.Service:
		s += " " + ev.Text
	case contract.TurnEnd:
		s += " " + string(ev.Status)
		if ev.Error != nil {
			s += " " + string(ev.Error.Code)
		}
	case contract.ToolCallStart:
		s += fmt.Sprintf(" %s %s %q", ev.Call, ev.Name, ev.Title)
	case contract.ToolCallEnd:
		s += " " + ev.Call
		if ev.Result != nil {
			s += " " + string(ev.Result.Status)
		}
	case contract.SubagentStart:
		s += fmt.Sprintf(" %d", number(r.agents, ev.AgentID))
		if ev.Call != "" {
			s += " by " + ev.Call
		}
	case contract.SubagentStop:
		s += fmt.Sprintf(" %d", number(r.agents, ev.AgentID))
	case contract.PermissionRequest:
		s += " " + ev.Call + " " + ev.ToolName
	case contract.PermissionResponse:
		s += " " + ev.Call + " " + string(ev.Decision)
		if ev.By != nil {
			s += " " + string(ev.By.Resolver)
		}
	}
	return s
}

// Drafts, short.
func prompt() adapters.Draft {
	return adapters.Draft{Event: contract.TurnStart{}, Prompts: []string{"p"}}
}
func self() adapters.Draft { return adapters.Draft{Event: contract.TurnStart{}} }
func end(s contract.TurnStatus) adapters.Draft {
	return adapters.Draft{Event: contract.TurnEnd{Status: s}}
}

func by(sub string, ev contract.Event) adapters.Draft {
	return adapters.Draft{Subagent: sub, Event: ev}
}
func text(s string) adapters.Draft { return by("", contract.Text{Text: s}) }
func call(id string) contract.ToolCallStart {
	return contract.ToolCallStart{Call: id, Name: "bash", Title: "Run " + id}
}

func done(id string) contract.ToolCallEnd {
	return contract.ToolCallEnd{Call: id, Result: &contract.ToolResult{Status: contract.ToolCompleted}}
}

func ask(id string) contract.PermissionRequest {
	return contract.PermissionRequest{Call: id, ToolName: "bash", Title: "Run " + id}
}

func background(id string) adapters.Draft {
	return adapters.Draft{Event: contract.SubagentStart{AgentID: id}, Background: true}
}

const completed, failed, cancelled = contract.TurnCompleted, contract.TurnFailed, contract.TurnCancelled

func TestStories(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []any // adapters.Draft, contract.Event of the user, func(*world)
		want string
	}{
		{
			"a turn with a tool that is asked for",
			[]any{
				contract.Text{Text: "hi"},
				prompt(), by("", call("a")), by("", ask("a")),
				contract.PermissionResponse{Call: "a", Decision: contract.AllowOnce},
				by("", done("a")), text("ok"), end(completed),
			},
			`- text hi
			1 turn-start
			1 tool-call-start a bash "Run a"
			1 permission-request a bash
			1 permission-response a allow-once
			1 tool-call-end a completed
			1 text ok
			1 turn-end completed`,
		}, {
			"B034: a turn the agent starts itself is its own",
			[]any{prompt(), end(completed), text("news"), end(completed), prompt(), end(completed)},
			`1 turn-start
			1 turn-end completed
			2 turn-start
			2 text news
			2 turn-end completed
			3 turn-start
			3 turn-end completed`,
		}, {
			"the next prompt ends what nobody ended",
			[]any{text("news"), prompt(), text("answer"), prompt(), end(completed)},
			`1 turn-start
			1 text news
			1 turn-end completed
			2 turn-start
			2 text answer
			2 turn-end failed protocol
			3 turn-start
			3 turn-end completed`,
		}, {
			"E6a: an autonomous start in a user's turn uses it",
			[]any{prompt(), self(), text("x"), end(completed), end(completed)},
			`1 turn-start
			1 text x
			1 turn-end completed`,
		}, {
			"idle ends a turn of stray activity, but no other and not while something is under way",
			[]any{
				text("a"), by("", call("c")), (*world).idle, by("", done("c")), (*world).idle, (*world).idle,
				self(), (*world).idle, end(completed), text("b"), self(), (*world).idle,
			},
			`1 turn-start
			1 text a
			1 tool-call-start c bash "Run c"
			1 tool-call-end c completed
			1 turn-end completed
			2 turn-start
			2 turn-end completed
			3 turn-start
			3 text b`,
		}, {
			"outside of turns",
			[]any{
				by("", contract.Service{Text: "s"}), by("", contract.AgentConfigurationChanged{Model: "m"}),
				by("", contract.SessionControlChanged{ClientType: contract.ClientCLI}), by("gone", contract.Service{Text: "t"}), (*world).finish,
			},
			`- service s
			- agent-configuration-changed
			- session-control-changed
			- service t`,
		}, {
			"B084: a cancelled turn ends its calls",
			[]any{prompt(), by("", call("a")), by("", call("b")), by("", done("a")), contract.Abort{}, end(cancelled)},
			`1 turn-start
			1 tool-call-start a bash "Run a"
			1 tool-call-start b bash "Run b"
			1 tool-call-end a completed
			1 abort
			1 tool-call-end b cancelled
			1 turn-end cancelled`,
		}, {
			"B056: asks are settled before their calls end",
			[]any{prompt(), by("", call("a")), by("", ask("a")), by("", call("b")), by("", ask("b")), end(cancelled)},
			`1 turn-start
			1 tool-call-start a bash "Run a"
			1 permission-request a bash
			1 tool-call-start b bash "Run b"
			1 permission-request b bash
			1 permission-response b reject-once turn-end
			1 tool-call-end b cancelled
			1 permission-response a reject-once turn-end
			1 tool-call-end a cancelled
			1 turn-end cancelled`,
		}, {
			"the agent dies",
			[]any{prompt(), by("", call("a")), by("", ask("a")), (*world).finish, (*world).finish, end(failed)},
			`1 turn-start
			1 tool-call-start a bash "Run a"
			1 permission-request a bash
			1 permission-response a reject-once exit
			1 tool-call-end a error
			1 turn-end failed agent-exited`,
		}, {
			"B041: a request for a call nobody announced",
			[]any{prompt(), by("", ask("t1")), contract.PermissionResponse{Call: "t1", Decision: contract.AllowOnce}, by("", done("t1")), by("", done("t1")), end(completed)},
			`1 turn-start
			1 tool-call-start t1 bash "Run t1"
			1 permission-request t1 bash
			1 permission-response t1 allow-once
			1 tool-call-end t1 completed
			1 turn-end completed`,
		}, {
			"B086: one start, one end",
			[]any{prompt(), by("", call("a")), by("", call("a")), by("", done("a")), by("", done("a")), end(completed), by("", done("a"))},
			`1 turn-start
			1 tool-call-start a bash "Run a"
			1 tool-call-end a completed
			1 turn-end completed`,
		}, {
			"B089: native ids that repeat are new calls",
			[]any{
				prompt(), by("", call("a")), by("", done("a")), by("", call("a")), by("", done("a")), end(completed), prompt(), by("", call("a")),
				by("", done("a")), by("", call("")), by("", call("a b")), end(completed),
			},
			`1 turn-start
			1 tool-call-start a bash "Run a"
			1 tool-call-end a completed
			1 tool-call-start a~2 bash "Run a"
			1 tool-call-end a~2 completed
			1 turn-end completed
			2 turn-start
			2 tool-call-start a~3 bash "Run a"
			2 tool-call-end a~3 completed
			2 tool-call-start call-e3b0c44298fc1c149afbf4c8 bash "Run"
			2 tool-call-start call-c8687a08aa5d6ed2044328fa bash "Run a b"
			2 tool-call-end call-c8687a08aa5d6ed2044328fa cancelled
			2 tool-call-end call-e3b0c44298fc1c149afbf4c8 cancelled
			2 turn-end completed`,
		}, {
			"an end without a start",
			[]any{prompt(), by("", done("a")), end(completed)},
			`1 turn-start
			1 tool-call-start a tool "tool"
			1 tool-call-end a completed
			1 turn-end completed`,
		}, {
			"an end that comes after its turn tells the outcome, unless it says cancelled",
			[]any{
				prompt(), by("", call("a")), by("", call("b")), end(completed), by("", done("a")),
				by("", contract.ToolCallEnd{Call: "b", Result: &contract.ToolResult{Status: contract.ToolCancelled}}), by("", done("b")), (*world).idle,
			},
			`1 turn-start
			1 tool-call-start a bash "Run a"
			1 tool-call-start b bash "Run b"
			1 tool-call-end b cancelled
			1 tool-call-end a cancelled
			1 turn-end completed
			2 turn-start
			2 tool-call-start a~2 bash "Run a"
			2 tool-call-end a~2 completed
			2 tool-call-start b~2 bash "Run b"
			2 tool-call-end b~2 completed
			2 turn-end completed`,
		}, {
			"two requests for one call at once",
			[]any{
				prompt(), by("", call("a")), by("", ask("a")), by("", ask("a")),
				contract.PermissionResponse{Call: "a~2", Decision: contract.AllowOnce},
				contract.PermissionResponse{Call: "a", Decision: contract.RejectOnce},
				by("", ask("a")), by("", done("a")), end(completed),
			},
			`1 turn-start
			1 tool-call-start a bash "Run a"
			1 permission-request a bash
			1 tool-call-start a~2 bash "Run a"
			1 permission-request a~2 bash
			1 permission-response a~2 allow-once
			1 permission-response a reject-once
			1 permission-request a bash
			1 tool-call-end a~2 completed
			1 permission-response a reject-once host
			1 tool-call-end a completed
			1 turn-end completed`,
		}, {
			"sub-agents, nested and parallel",
			[]any{
				prompt(), by("", call("t")), by("", contract.SubagentStart{AgentID: "x", Call: "t"}), by("x", contract.SubagentStart{AgentID: "y"}),
				by("", contract.SubagentStart{AgentID: "z"}), by("y", call("c")), by("z", call("c")), by("z", contract.Text{Text: "hi"}),
				by("y", done("c")), by("", contract.SubagentStop{AgentID: "x"}), by("", contract.SubagentStop{AgentID: "x"}), end(completed),
			},
			`1 turn-start
			1 tool-call-start t bash "Run t"
			1 subagent-start 1 by t
			1[1] subagent-start 2
			1 subagent-start 3
			1[2] tool-call-start c bash "Run c"
			1[3] tool-call-start c~2 bash "Run c"
			1[3] text hi
			1[2] tool-call-end c completed
			1[1] subagent-stop 2
			1 subagent-stop 1
			1[3] tool-call-end c~2 cancelled
			1 subagent-stop 3
			1 tool-call-end t cancelled
			1 turn-end completed`,
		}, {
			"B092: a sub-agent's end is not the turn's",
			[]any{prompt(), by("x", contract.Text{Text: "a"}), by("x", contract.TurnEnd{Status: completed}), by("x", contract.TurnStart{}), text("b"), (*world).finish},
			`1 turn-start
			1 subagent-start 1
			1[1] text a
			1 text b
			1 subagent-stop 1
			1 turn-end failed agent-exited`,
		}, {
			"a sub-agent in the background outlives its turn, its calls do not",
			[]any{
				prompt(), background("x"), by("x", call("c")), by("x", ask("c")), end(completed), by("x", done("c")), by("x", contract.Text{Text: "late"}),
				by("", contract.SubagentStop{AgentID: "x"}), (*world).idle,
			},
			`1 turn-start
			1 subagent-start 1
			1[1] tool-call-start c bash "Run c"
			1[1] permission-request c bash
			1 permission-response c reject-once turn-end
			1[1] tool-call-end c
			1 turn-end completed
			2 turn-start
			2[1] tool-call-start c~2 bash "Run c"
			2[1] tool-call-end c~2 completed
			2[1] text late
			2 subagent-stop 1
			2 turn-end completed`,
		}, {
			"a sub-agent in the background outlives the one that started it",
			[]any{
				prompt(), by("", contract.SubagentStart{AgentID: "p"}),
				adapters.Draft{Subagent: "p", Event: contract.SubagentStart{AgentID: "x"}, Background: true},
				by("", contract.SubagentStop{AgentID: "p"}), by("x", contract.Text{Text: "on"}), end(completed), (*world).finish,
			},
			`1 turn-start
			1 subagent-start 1
			1 subagent-start 2
			1 subagent-stop 1
			1[2] text on
			1 turn-end completed
			2 turn-start
			2 subagent-stop 2
			2 turn-end failed agent-exited`,
		}, {
			"a sub-agent that speaks after its turn gets a new start",
			[]any{prompt(), by("", contract.SubagentStart{AgentID: "x"}), end(completed), by("x", contract.Text{Text: "late"}), (*world).idle},
			`1 turn-start
			1 subagent-start 1
			1 subagent-stop 1
			1 turn-end completed
			2 turn-start
			2 subagent-start 2
			2[2] text late
			2 subagent-stop 2
			2 turn-end completed`,
		}, {
			"an adapter that forgets whose call it is",
			[]any{prompt(), by("", contract.SubagentStart{AgentID: "x"}), by("x", call("c")), by("", done("c")), end(completed)},
			`1 turn-start
			1 subagent-start 1
			1[1] tool-call-start c bash "Run c"
			1[1] tool-call-end c completed
			1 subagent-stop 1
			1 turn-end completed`,
		}, {
			"what a person does in the agent's own interface",
			[]any{
				adapters.Draft{Role: contract.RoleUser, Event: contract.Text{Text: "typed"}},
				prompt(), by("", call("a")), by("", done("a")), by("", call("a")),
				by("", ask("a")), by("", contract.PermissionResponse{Call: "a", Decision: contract.RejectOnce}),
				by("", contract.PermissionResponse{Call: "a", Decision: contract.AllowOnce}), by("", contract.Abort{}), end(cancelled),
			},
			`- text typed
			1 turn-start
			1 tool-call-start a bash "Run a"
			1 tool-call-end a completed
			1 tool-call-start a~2 bash "Run a"
			1 permission-request a~2 bash
			1 permission-response a~2 reject-once
			1 abort
			1 tool-call-end a~2 cancelled
			1 turn-end cancelled`,
		}, {
			"steer carries the turn, other texts do not",
			[]any{contract.Text{Text: "s0", Steer: true}, prompt(), contract.Text{Text: "s", Steer: true}, contract.Text{Text: "q"}, contract.AgentConfigurationChanged{}, end(completed)},
			`- text s0
			1 turn-start
			1 text s
			- text q
			- agent-configuration-changed
			1 turn-end completed`,
		}, {
			"a crash of the host in the middle",
			[]any{
				prompt(), background("x"), by("x", contract.SubagentStart{AgentID: "y"}), by("", call("a")), by("", ask("a")), by("y", call("b")),
				(*world).crash, by("", done("a")), // it has ended
				prompt(), by("", call("a")), by("x", contract.Text{Text: "on"}), end(completed),
			},
			`1 turn-start
			1 subagent-start 1
			1[1] subagent-start 2
			1 tool-call-start a bash "Run a"
			1 permission-request a bash
			1[2] tool-call-start b bash "Run b"
			1[2] tool-call-end b error
			1[1] subagent-stop 2
			1 subagent-stop 1
			1 permission-response a reject-once host
			1 tool-call-end a error
			1 turn-end failed host-stopped
			2 turn-start
			2 tool-call-start a~2 bash "Run a"
			2 subagent-start 3
			2[3] text on
			2 subagent-stop 3
			2 tool-call-end a~2 cancelled
			2 turn-end completed`,
		}, {
			"the end of a call of an earlier turn, told again, is no call",
			[]any{
				prompt(), by("x", call("a")), by("", done("a")), by("", call("b")), by("", done("b")), end(completed),
				prompt(), by("", done("b")), by("x", done("a")), by("", done("a")), end(completed), by("", done("b")),
				(*world).crash, prompt(), by("", done("b")), end(completed),
			},
			`1 turn-start
			1 subagent-start 1
			1[1] tool-call-start a bash "Run a"
			1[1] tool-call-end a completed
			1 tool-call-start b bash "Run b"
			1 tool-call-end b completed
			1 subagent-stop 1
			1 turn-end completed
			2 turn-start
			2 turn-end completed
			3 turn-start
			3 turn-end completed`,
		}, {
			"a crash while only a sub-agent in the background is open",
			[]any{
				prompt(), by("", contract.SubagentStart{AgentID: "p"}),
				adapters.Draft{Subagent: "p", Event: contract.SubagentStart{AgentID: "x"}, Background: true},
				by("", contract.SubagentStop{AgentID: "p"}), end(completed), (*world).crash,
			},
			`1 turn-start
			1 subagent-start 1
			1 subagent-start 2
			1 subagent-stop 1
			1 turn-end completed
			2 turn-start
			2 subagent-stop 2
			2 turn-end failed host-stopped`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld()
			for i, in := range c.in {
				switch in := in.(type) {
				case adapters.Draft:
					w.take(w.s.Agent(in))
				case contract.Event:
					envs, err := w.s.User(contract.Envelope{Event: in})
					if err != nil {
						t.Fatalf("input %d: %v", i, err)
					}
					w.take(envs)
				case func(*world):
					in(w)
				}
			}
			check(t, w.stream, false)
			r := renderer{map[string]int{}, map[string]int{}}
			var got []string
			for _, e := range w.stream {
				got = append(got, r.line(e))
			}
			if want := strings.ReplaceAll(c.want, "\t", ""); strings.Join(got, "\n") != want {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
			}
		})
	}
}

func (w *world) idle() { w.take(w.s.Idle()) }

func (w *world) finish() {
	w.take(w.s.Finish(failed, &contract.Error{Code: contract.CodeAgentExited, Message: "exited"}))
}

// crash goes on with a Stamper that knows only the stream.
func (w *world) crash() {
	r, err := w.restored(len(w.stream))
	if err != nil {
		panic(err)
	}
	*w = *r
	w.take(w.s.Finish(failed, &contract.Error{Code: contract.CodeHostStopped, Message: "died"}))
}
