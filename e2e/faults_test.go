package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// fake starts agenthost with this test binary as the agent, playing a script of
// testdata/bugs.
func fake(t *testing.T, agent, script string, flags ...string) *session {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", "bugs", script))
	if err != nil {
		t.Fatal(err)
	}
	return fakeCommand(t, agent, fmt.Sprintf("%q", os.Args[0]), append(flags, "--env", playEnv+"="+path)...)
}

// fakeCommand starts agenthost with a command line as the agent.
func fakeCommand(t *testing.T, agent, command string, flags ...string) *session {
	t.Helper()
	lab, err := agentlab.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lab.Close() })
	s := start(t, lab, agent, append(flags, "--command", command)...)
	t.Cleanup(func() { noneLeft(t, lab) })
	return s
}

// The faults of agents seen in the field, through the whole binary. The name of
// each test case is its script's.
func TestAgentFaults(t *testing.T) {
	say := func(s *session, text, want string) {
		s.t.Helper()
		s.prompt(text)
		wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, want) })
		if end := s.turnEnd(); end.Status != contract.TurnCompleted {
			s.t.Errorf("turn-end = %+v", end)
		}
	}
	for _, c := range []struct {
		script, agent string
		flags         []string
		drive         func(s *session)
	}{
		{"B005-acpnoise.txt", "acp", nil, func(s *session) {
			s.prompt("hi")
			s.turnEnd()
			if got := said(s.finish(0)); got != "Hello world\n" {
				s.t.Errorf("said %q, want the two pieces and no noise", got)
			}
		}},
		{"B007-npxbanner.txt", "acp", nil, func(s *session) { say(s, "hi", "ok"); s.finish(0) }},
		{"B041-permnotool.txt", "acp", []string{"--on-ask", "wait"}, func(s *session) {
			s.prompt("hi")
			start, _ := wait[contract.ToolCallStart](s, nil)
			ask, _ := wait[contract.PermissionRequest](s, nil)
			if start.Call != ask.Call {
				s.t.Errorf("the ask names %q, the call is %q", ask.Call, start.Call)
			}
			s.decide(ask.Call, contract.AllowOnce)
			wait(s, func(ev contract.ToolCallEnd) bool { return ev.Call == ask.Call })
			s.turnEnd()
			s.finish(0)
		}},
		{"B051-doublecancel.txt", "acp", nil, func(s *session) {
			s.prompt("hi")
			s.next("turn-start", func(e contract.Envelope) bool { _, ok := e.Event.(contract.TurnStart); return ok })
			for range 3 {
				s.send(contract.Abort{})
			}
			if end := s.turnEnd(); end.Status != contract.TurnCancelled {
				s.t.Errorf("turn-end = %+v", end)
			}
			say(s, "again", "second turn ok")
			s.finish(0)
		}},
		{"B067-samewrite.txt", "acp", nil, func(s *session) { say(s, "hi", "the only text"); s.finish(0) }},
		{"B069-justafter.txt", "acp", nil, func(s *session) { say(s, "hi", "ok"); s.finish(0) }},
		{"B072-load.txt", "acp", []string{"--resume", "sess-1"}, func(s *session) {
			say(s, "hi", "new answer")
			if got := said(s.finish(0)); got != "new answer\n" {
				s.t.Errorf("said %q: history came back as new", got)
			}
		}},
		{"B086-acptool.txt", "acp", nil, func(s *session) {
			s.prompt("hi")
			s.turnEnd()
			envs := s.finish(0)
			if n, m := len(events[contract.ToolCallStart](envs)), len(events[contract.ToolCallEnd](envs)); n != 3 || m != 3 {
				s.t.Errorf("%d starts and %d ends, want 3 and 3", n, m)
			}
		}},
		{"B109-twostops.txt", "acp", nil, func(s *session) {
			s.prompt("hi")
			s.next("turn-start", func(e contract.Envelope) bool { _, ok := e.Event.(contract.TurnStart); return ok })
			s.send(contract.Abort{})
			s.turnEnd()
			say(s, "again", "two")
			if ends := events[contract.TurnEnd](s.finish(0)); len(ends) != 2 {
				s.t.Errorf("%d ends of turns, want 2", len(ends))
			}
		}},
		{"B113-busy.txt", "acp", nil, func(s *session) {
			s.prompt("one")
			s.prompt("two")
			wait(s, func(ev contract.Text) bool { return ev.Text == "first" })
			s.turnEnd()
			wait(s, func(ev contract.Text) bool { return ev.Text == "second" })
			s.turnEnd()
			s.finish(0)
		}},
		{"B180-auth.txt", "acp", nil, func(s *session) { s.finish(3) }},
		{"B205-ids.txt", "acp", []string{"--allow", "bash(*)"}, func(s *session) { say(s, "hi", "ids ok"); s.finish(0) }},
		{"B207-strict.txt", "acp", nil, func(s *session) { say(s, "hi", "valid client"); s.finish(0) }},
		{"B183-whofirst.txt", "claude", nil, func(s *session) {
			s.prompt("hi")
			if end := s.turnEnd(); end.Status != contract.TurnCompleted {
				s.t.Errorf("turn-end = %+v", end)
			}
			s.finish(0)
		}},
		{"B056-stoppending.txt", "claude", []string{"--on-ask", "wait"}, func(s *session) {
			s.prompt("hi")
			wait[contract.PermissionRequest](s, nil)
			wait[contract.PermissionRequest](s, nil)
			s.send(contract.Abort{})
			if end := s.turnEnd(); end.Status != contract.TurnCancelled {
				s.t.Errorf("turn-end = %+v", end)
			}
			envs := s.finish(0)
			if n := len(events[contract.PermissionResponse](envs)); n != 2 {
				s.t.Errorf("%d responses, want 2", n)
			}
		}},
		{"B002-overcap.txt", "claude", nil, func(s *session) {
			say(s, "hi", "after the monster")
			say(s, "again", "second")
			services := events[contract.Service](s.finish(0))
			if len(services) == 0 {
				s.t.Error("nobody was told of the dropped line")
			}
		}},
	} {
		t.Run(strings.TrimSuffix(c.script, ".txt"), func(t *testing.T) {
			c.drive(fake(t, c.agent, c.script, c.flags...))
		})
	}
}

// B065: what is said flat out comes in its order, and nothing of it is lost or kept in
// memory: 200 pieces in one write, those of another session between them, and 100,000.
func TestFlatOut(t *testing.T) {
	s := fake(t, "acp", "B065-order200.txt")
	for _, n := range []int{200, 100_000} {
		from := s.seen
		s.prompt("go")
		s.turnEnd()
		var want strings.Builder
		for i := range n {
			fmt.Fprintf(&want, "%06d,", i)
		}
		s.mu.Lock()
		got := strings.ReplaceAll(said(s.envs[from:]), "\n", "")
		s.mu.Unlock()
		if got != want.String() {
			t.Errorf("%d pieces came as %d bytes, %.200q, want %d in their order", n, len(got), got, want.Len())
		}
	}
	// 21 MiB were measured; all the updates are 20.
	if peak := memory(s.cmd.Process.Pid, "status", "VmHWM:"); peak > 64<<10 {
		t.Errorf("agenthost and its shim had %d MiB, want no more for many updates than for few", peak>>10)
	}
	s.finish(0)
}

// An agent that does not start says why, at once.
func TestAgentDoesNotStart(t *testing.T) {
	begin := time.Now()
	s := fakeCommand(t, "acp", `/bin/sh -c 'echo "error: unexpected argument --frobnicate" >&2; exit 7'`)
	s.prompt(strings.Repeat("long prompt ", 1<<20))
	s.finish(3)
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	if !strings.Contains(s.errs.String(), "--frobnicate") {
		t.Errorf("stderr = %q, want the agent's reason", s.errs)
	}
}

func TestAgentIsNotInstalled(t *testing.T) {
	s := fakeCommand(t, "acp", "no-such-agent --acp")
	s.finish(3)
	if got := s.errs.String(); !strings.Contains(got, "no-such-agent") {
		t.Errorf("stderr = %q", got)
	}
}

// An agent that dies in the middle of a turn fails that turn with its reason.
func TestAgentDiesInTurn(t *testing.T) {
	script := filepath.Join(t.TempDir(), "dies.txt")
	body := `@acp
? method=session/prompt as P
< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"sess-1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"half a"}}}}
2 out of memory
! exit 9
`
	if err := os.WriteFile(script, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	s := fakeCommand(t, "acp", fmt.Sprintf("%q", os.Args[0]), "--env", playEnv+"="+script)
	s.prompt("hi")
	wait(s, func(ev contract.Text) bool { return ev.Text == "half a" })
	end := s.turnEnd()
	if end.Status != contract.TurnFailed || end.Error == nil || end.Error.Code != contract.CodeAgentExited || !strings.Contains(end.Error.Message, "out of memory") {
		t.Errorf("turn-end = %+v %+v", end, end.Error)
	}
	s.finish(1)
}

// `agenthost run … | head -1`: the agent is stopped before agenthost ends.
func TestOutputIsClosed(t *testing.T) {
	lab, err := agentlab.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer lab.Close()
	script, err := filepath.Abs("testdata/bugs/B067-samewrite.txt")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", fmt.Sprintf(
		`{ %q run acp --pass-env 'AGENTLAB_*' --env %s=%q --output envelopes -p hi --command %q; echo "code $?" >&2; } | head -1`,
		binary(t), playEnv, script, os.Args[0]))
	cmd.Env, cmd.Dir = environ(lab), lab.Dir
	var errs lockedBuffer
	cmd.Stderr = &errs
	if _, err := cmd.Output(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(errs.String(), "code 141") {
		t.Errorf("stderr = %q, want exit code 141", errs.String())
	}
	noneLeft(t, lab)
}

// A reader that holds the output and does not read cannot keep agenthost: stopped,
// it ends the agent and leaves. A second signal does not wait at all.
func TestOutputIsNotRead(t *testing.T) {
	script, err := filepath.Abs("testdata/bugs/B044-silent.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name, signals := range map[string][]os.Signal{
		"one signal": {syscall.SIGTERM}, "two signals": {syscall.SIGTERM, syscall.SIGHUP},
	} {
		t.Run(name, func(t *testing.T) {
			lab, err := agentlab.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer lab.Close()
			cmd := exec.Command(binary(t), "run", "acp", "--pass-env", "AGENTLAB_*", "--env", playEnv+"="+script,
				"--output", "envelopes", "--input", "envelopes", "--command", os.Args[0])
			cmd.Env, cmd.Dir = environ(lab), lab.Dir
			var errs lockedBuffer
			cmd.Stderr = &errs
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Fprintf(in, `{"ev":{"t":"text","text":%q}}`+"\n", strings.Repeat("long ", 100_000)); err != nil {
				t.Fatal(err)
			}
			// Once the prompt's envelope has begun its rest is stuck: no pipe holds it.
			r := bufio.NewReaderSize(out, 16)
			for line := 0; line < 1; {
				b, err := r.ReadByte()
				if err != nil {
					t.Fatal(err, errs.String())
				}
				if b == '\n' {
					line++
				}
			}
			if _, err := r.ReadByte(); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			for _, s := range signals {
				if err := cmd.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
			}
			state, err := cmd.Process.Wait()
			if err != nil || state.ExitCode() != 143 && state.ExitCode() != 129 {
				t.Errorf("ended with %v, %v; want code 143 or, if it was seen first, 129", state, err)
			}
			if took := time.Since(begin); took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
			if !strings.Contains(errs.String(), "nobody reads the output") {
				t.Errorf("stderr = %q, want where the rest is", errs.String())
			}
			noneLeft(t, lab)
		})
	}
}

// SIGINT and SIGTERM end the agent, and the exit code says which it was.
func TestSignals(t *testing.T) {
	for _, c := range []struct {
		signal os.Signal
		code   int
	}{{os.Interrupt, 130}, {syscall.SIGTERM, 143}} {
		t.Run(c.signal.String(), func(t *testing.T) {
			s := fake(t, "acp", "B044-silent.txt")
			s.prompt("hi")
			s.next("turn-start", func(e contract.Envelope) bool { _, ok := e.Event.(contract.TurnStart); return ok })
			if err := s.cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			if end := s.turnEnd(); end.Status != contract.TurnCancelled {
				t.Errorf("turn-end = %+v", end)
			}
			s.finish(c.code)
		})
	}
}

// A time-out ends a turn that does not end by itself.
func TestTimeout(t *testing.T) {
	s := fake(t, "acp", "B044-silent.txt", "--timeout", "3s")
	s.prompt("hi")
	if end := s.turnEnd(); end.Status != contract.TurnCancelled {
		t.Errorf("turn-end = %+v", end)
	}
	s.finish(5)
}

// What is not an envelope of the user is said with its line, the rest goes on, and the
// exit code tells it, too.
func TestBadInput(t *testing.T) {
	s := fake(t, "acp", "B067-samewrite.txt")
	s.stdin.WriteString("no json\n{\"role\":\"agent\",\"ev\":{\"t\":\"text\",\"text\":\"x\"}}\n{\"role\":\"user\",\"ev\":{\"t\":\"text\",\"text\":5}}\n\n")
	s.prompt("hi")
	s.turnEnd()
	s.finish(1)
	for _, want := range []string{"line 1:", "line 2: role", "line 3: ev.text", "3 lines of standard input were not taken"} {
		if !strings.Contains(s.errs.String(), want) {
			t.Errorf("stderr = %q, want %q", s.errs.String(), want)
		}
	}
}
