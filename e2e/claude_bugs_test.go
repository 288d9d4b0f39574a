package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/claude"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// planStep is a line of the long plan of B037, as it is written in JSON.
const planStep = `- step with \"quotes\", unicode é 中 and <tags>\n`

// What Claude Code was seen to do in the field, through the whole binary; the
// adapter's own tests have the same cases without one. The name of each test case
// is its script's.
func TestClaudeFaults(t *testing.T) {
	completed := func(s *session) {
		s.t.Helper()
		if end := s.turnEnd(); end.Status != contract.TurnCompleted {
			s.t.Errorf("turn-end = %+v %+v, want completed", end, end.Error)
		}
	}
	// allowed has the only ask allowed, by each of n tries at once.
	allowed := func(s *session, n int) {
		s.prompt("hi")
		ask, _ := wait[contract.PermissionRequest](s, nil)
		s.decide("toolu_nobody", contract.AllowOnce)
		for i := range n {
			s.decide(ask.Call, []contract.Decision{contract.AllowOnce, contract.RejectOnce}[i%2])
		}
		completed(s)
		if n := len(events[contract.PermissionResponse](s.finished(0))); n != 1 {
			s.t.Errorf("%d responses, want 1", n)
		}
	}
	for _, c := range []struct {
		script string
		flags  []string
		// wrote is what the agent must have been told, and how often.
		wrote map[string]int
		drive func(s *session)
	}{
		{"B001-bigline", nil, nil, func(s *session) {
			s.prompt("hi")
			completed(s)
			envs := s.finished(0)
			for _, end := range events[contract.ToolCallEnd](envs) {
				if end.Result.Status != contract.ToolCompleted || len(end.Result.Output) > 1000 {
					s.t.Errorf("a picture ended as %s with %d bytes", end.Result.Status, len(end.Result.Output))
				}
			}
		}},
		{"B028-noresult", nil, nil, func(s *session) {
			s.prompt("hi")
			s.fails(contract.CodeAuthRequired)
			s.finished(3)
		}},
		{"B029-emptyresult", nil, nil, func(s *session) {
			s.prompt("hi")
			s.fails(contract.CodeAgentExited)
			if got := said(s.finished(1)); got != "The real answer.\n" {
				s.t.Errorf("said %q", got)
			}
		}},
		{"B031-noexit", nil, nil, func(s *session) {
			s.prompt("hi")
			completed(s)
			s.finished(0)
		}},
		{"B034-selfturn", nil, nil, func(s *session) {
			s.prompt("one")
			wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "in the background") })
			completed(s)
			wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "task finished") })
			completed(s)
			s.prompt("two")
			wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "second prompt answered") })
			completed(s)
			if n := len(events[contract.TurnStart](s.finished(0))); n != 3 {
				s.t.Errorf("%d turns, want 3", n)
			}
		}},
		{"B035-allow", []string{"--on-ask", "wait"}, map[string]int{`"updatedInput":{"command":"touch /tmp/x","description":"make a file"}`: 1}, func(s *session) { allowed(s, 1) }},
		{"B037-plan", []string{"--on-ask", "wait", "--mode", "plan"}, map[string]int{strings.Repeat(planStep, 1300): 1}, func(s *session) {
			s.prompt("hi")
			ask, _ := wait[contract.PermissionRequest](s, nil)
			s.decide(ask.Call, contract.AllowOnce)
			completed(s)
			s.finished(0)
		}},
		{"B039-cancelreq", []string{"--on-ask", "wait"}, map[string]int{`"request_id":"rq-1"`: 0}, func(s *session) {
			s.prompt("hi")
			ask, _ := wait[contract.PermissionRequest](s, nil)
			answer, _ := wait[contract.PermissionResponse](s, nil)
			if answer.Decision != contract.RejectOnce || answer.By.Resolver != contract.ByHost {
				s.t.Errorf("answered %+v by %+v", answer, answer.By)
			}
			s.decide(ask.Call, contract.AllowOnce) // late
			s.turnEnd()
			s.finished(1)
		}},
		{"B046-noanswer", []string{"--on-ask", "wait"}, map[string]int{`"behavior":"allow"`: 0}, func(s *session) {
			s.prompt("hi")
			wait[contract.PermissionRequest](s, nil)
			// All clients are gone, and then the host.
			if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				s.t.Fatal(err)
			}
			answer, _ := wait[contract.PermissionResponse](s, nil)
			if answer.Decision != contract.RejectOnce {
				s.t.Errorf("answered %+v", answer)
			}
			s.finished(143)
		}},
		{"B047-denyone", []string{"--on-ask", "wait"}, map[string]int{`"interrupt":true`: 0}, func(s *session) {
			s.prompt("hi")
			ask, _ := wait[contract.PermissionRequest](s, nil)
			s.decide(ask.Call, contract.RejectOnce)
			ask, _ = wait[contract.PermissionRequest](s, nil)
			s.decide(ask.Call, contract.AllowOnce)
			completed(s)
			s.finished(0)
		}},
		{"B049-unknownid", []string{"--on-ask", "wait"}, map[string]int{`"request_id":"rq-1"`: 1}, func(s *session) { allowed(s, 3) }},
		{"B053-twoanswers", []string{"--on-ask", "wait"}, map[string]int{`"request_id":"rq-1"`: 1}, func(s *session) { allowed(s, 100) }},
		{"B092-subend", nil, nil, func(s *session) {
			s.prompt("hi")
			s.fails(contract.CodeAgentExited)
			envs := s.finished(1)
			if starts, stops := len(events[contract.SubagentStart](envs)), len(events[contract.SubagentStop](envs)); starts != 1 || stops != 1 {
				s.t.Errorf("%d starts and %d stops of sub-agents, want 1 of each", starts, stops)
			}
		}},
		{"B107-ede", nil, nil, func(s *session) {
			s.prompt("hi")
			s.next("turn-start", func(e contract.Envelope) bool { _, ok := e.Event.(contract.TurnStart); return ok })
			s.send(contract.Abort{})
			if end := s.turnEnd(); end.Status != contract.TurnCancelled || end.Error != nil {
				s.t.Errorf("turn-end = %+v %+v, want cancelled without a word", end, end.Error)
			}
			s.finished(0)
		}},
		{"B112-idleint", nil, nil, func(s *session) {
			s.prompt("one")
			completed(s)
			s.send(contract.Abort{})
			s.prompt("two")
			completed(s)
			s.finished(0)
		}},
		{"B115-merge", nil, nil, func(s *session) {
			s.prompt("one")
			wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "working on 1") })
			s.send(contract.Text{Text: "two", Steer: true})
			s.send(contract.Text{Text: "three", Steer: true})
			completed(s)
			wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "answer to both") })
			completed(s)
			if n := len(events[contract.TurnStart](s.finished(0))); n != 2 {
				s.t.Errorf("%d turns, want 2", n)
			}
		}},
	} {
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			record := filepath.Join(t.TempDir(), "record.jsonl")
			c.drive(fake(t, "claude", c.script+".txt", append(c.flags, "--record", record)...))
			for text, want := range c.wrote {
				if got := told(t, record, text); got != want {
					t.Errorf("the agent was told %q %d times, want %d", text, got, want)
				}
			}
		})
	}
}

// told counts the messages to the agent that hold a text.
func told(t *testing.T, record, text string) int {
	t.Helper()
	data, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(data) {
		if bytes.Contains(line, []byte(`"d":"in"`)) && bytes.Contains(line, []byte(text)) {
			n++
		}
	}
	return n
}

// B172: a host that runs inside of Claude Code starts it all the same.
func TestClaudeNested(t *testing.T) {
	lab, err := agentlab.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer lab.Close()
	script, err := filepath.Abs("testdata/bugs/B183-whofirst.txt")
	if err != nil {
		t.Fatal(err)
	}
	guard := `[ -z "$CLAUDECODE$CLAUDE_CODE_ENTRYPOINT" ] || { echo "cannot be launched inside another session" >&2; exit 1; }; exec ` + os.Args[0]
	s := hosted(t, lab, host.Config{
		Adapter: claude.New(), Command: []string{"/bin/sh", "-c", guard}, Environ: []string{"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli"},
		Env: []adapters.Pair{{Name: playEnv, Value: script}},
	})
	s.prompt("hi")
	if end := s.turnEnd(); end.Status != contract.TurnCompleted {
		t.Errorf("turn-end = %+v %+v", end, end.Error)
	}
	s.stop()
	noneLeft(t, lab)
}

// heard is which of some words the agent's messages hold, in their order: the last
// word of each in quotes.
func heard(t *testing.T, record string, words ...string) string {
	t.Helper()
	data, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range bytes.Lines(data) {
		for _, w := range words {
			if bytes.Contains(line, []byte(`"d":"out"`)) && bytes.Contains(line, []byte(w)) {
				parts := strings.Split(w, `"`)
				list = append(list, parts[len(parts)-2])
			}
		}
	}
	return strings.Join(list, " ")
}
