package codex_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// kinds are the types of the drafts from an index on, with what they are about.
func (s *story) kinds(from int) []string {
	var list []string
	for _, d := range s.drafts[from:] {
		what := string(d.Event.EventType())
		switch ev := d.Event.(type) {
		case contract.ToolCallStart:
			what += " " + ev.Call
		case contract.ToolCallEnd:
			what += " " + ev.Call
		case contract.SubagentStart:
			what += " " + ev.AgentID
		case contract.SubagentStop:
			what += " " + ev.AgentID
		case contract.PermissionRequest:
			what += " " + d.Ask
		}
		list = append(list, what)
	}
	return list
}

func (s *story) child(method, body string) {
	s.hear(fmt.Sprintf(`{"method":%q,"params":{"threadId":"kid","turnId":"k1",%s}}`, method, body))
}

// spawned is a story whose sub-agent runs a command that is asked about.
func spawned(t *testing.T) *story {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	s.hear(item(false, "t1", `"type":"collabAgentToolCall","id":"sp","tool":"spawnAgent","status":"inProgress","receiverThreadIds":[],"prompt":"dig"`),
		item(true, "t1", `"type":"collabAgentToolCall","id":"sp","tool":"spawnAgent","status":"completed","receiverThreadIds":["kid"],"prompt":"dig"`))
	s.child("turn/started", `"turn":{"id":"k1","rootTurnId":"t1"}`)
	s.child("item/started", `"item":{"type":"commandExecution","id":"kc","command":"ls","status":"inProgress"}`)
	s.hear(`{"id":3,"method":"item/commandExecution/requestApproval","params":{"threadId":"kid","turnId":"k1","itemId":"kc","command":"ls"}}`)
	return s
}

// A sub-agent that outlives its turn: what it has open ends with the turn for the
// stream, and is told and asked anew.
func TestSubagentOutlivesTurn(t *testing.T) {
	s := spawned(t)
	from := len(s.drafts)
	s.completed("t1", "completed")
	want := []string{"tool-call-end kc", "turn-end", "tool-call-start kc", "permission-request 3#2"}
	if got := s.kinds(from); !slices.Equal(got, want) {
		t.Errorf("at the end of the turn: %q, want %q", got, want)
	}
	if !slices.Contains(s.took, "3") {
		t.Errorf("withdrawn %q, want the first ask", s.took)
	}
	from = len(s.drafts)
	s.turn("p2", "t2")
	want = []string{"tool-call-end kc", "turn-start", "tool-call-start kc", "permission-request 3#3"}
	if got := s.kinds(from); !slices.Equal(got, want) {
		t.Errorf("at the next turn: %q, want %q", got, want)
	}
	s.submit(adapters.Answer{Ask: "3#3", Decision: contract.AllowOnce})
	if got := s.reply("3").Get("result", "decision").Text(); got != "accept" {
		t.Errorf("decision = %q", got)
	}
	from = len(s.drafts)
	s.child("item/completed", `"item":{"type":"commandExecution","id":"kc","command":"ls","status":"completed","exitCode":0}`)
	s.child("turn/completed", `"turn":{"id":"k1","status":"completed"}`)
	if got := s.kinds(from); !slices.Equal(got, []string{"tool-call-end kc", "subagent-stop kid"}) {
		t.Errorf("at the end of the sub-agent: %q", got)
	}
}

// An abort stops the sub-agents with the turn.
func TestAbortStopsSubagents(t *testing.T) {
	s := spawned(t)
	s.submit(adapters.Abort{})
	stopped := map[string]bool{}
	for _, w := range s.wrote {
		if w.Get("method").Text() == "turn/interrupt" {
			stopped[w.Get("params", "threadId").Text()] = true
		}
	}
	if !stopped["kid"] || !stopped["thr-1"] {
		t.Errorf("interrupted %v, want both threads", stopped)
	}
	from := len(s.drafts)
	s.completed("t1", "interrupted")
	if got := s.kinds(from); !slices.Equal(got, []string{"tool-call-end kc", "subagent-stop kid", "turn-end"}) {
		t.Errorf("at the end: %q", got)
	}
}

// An abort while nothing but sub-agents runs ends what the stream has of them.
func TestAbortBetweenTurns(t *testing.T) {
	s := spawned(t)
	s.completed("t1", "completed")
	from := len(s.drafts)
	s.submit(adapters.Abort{})
	if got := s.kinds(from); !slices.Equal(got, []string{"turn-start", "tool-call-end kc", "subagent-stop kid", "turn-end"}) {
		t.Errorf("after the abort: %q", got)
	}
}

// A sub-agent is recognised by its first turn when nothing else told of it.
func TestSubagentByItsTurn(t *testing.T) {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	from := len(s.drafts)
	s.child("turn/started", `"turn":{"id":"k1","rootTurnId":"t1"}`)
	s.child("item/completed", `"item":{"type":"agentMessage","id":"m","text":"hello"}`)
	s.hear(`{"method":"turn/started","params":{"threadId":"other","turn":{"id":"o1","rootTurnId":"o1"}}}`)
	if got := s.kinds(from); !slices.Equal(got, []string{"subagent-start kid", "text"}) || s.drafts[from+1].Subagent != "kid" {
		t.Errorf("told %q", got)
	}
}

// What is asked about a running command is what the request names.
func TestAskNamesItself(t *testing.T) {
	for _, c := range []struct{ params, tool, args string }{
		{`"command":"/bin/sh -c 'rm x'","approvalId":"a"`, "bash", `{"command":"rm x"}`},
		{`"command":"yes","kind":"writeStdin"`, "write-stdin", `{"command":"yes"}`},
		{`"networkApprovalContext":{"host":"example.org","protocol":"https"}`, "network-access", `{"host":"example.org","call":{"command":"make"}}`},
	} {
		s := start(t, adapters.Options{})
		s.turn("p1", "t1")
		s.hear(item(false, "t1", `"type":"commandExecution","id":"c0","command":"make","status":"inProgress"`),
			`{"id":1,"method":"item/commandExecution/requestApproval","params":{"threadId":"thr-1","turnId":"t1","itemId":"c0",`+c.params+`}}`)
		if ev := s.ask().Event.(contract.PermissionRequest); ev.Call != "c0" || ev.ToolName != c.tool || string(ev.Args) != c.args {
			t.Errorf("%s: %s %s of call %s", c.params, ev.ToolName, ev.Args, ev.Call)
		}
	}
}
