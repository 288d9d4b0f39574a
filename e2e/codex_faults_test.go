package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// What goes wrong with Codex, its service or its process.

// The service refuses for good, or fails in the middle of an answer: each has its
// code, an answer that is repeated is there once, and the session goes on.
func TestCodexFailures(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	s := start(t, lab, "codex", codexFlags("--model", "gpt-6.2-sol")...)
	for _, c := range []struct {
		act  string
		code contract.ErrorCode
	}{
		{`fail insufficient_quota "You exceeded your current quota"`, contract.CodeQuotaExceeded},
		{`fail context_length_exceeded "Your input exceeds the context window of this model."`, contract.CodeContextFull},
	} {
		s.prompt(script(c.act))
		end := s.turnEnd()
		if end.Status != contract.TurnFailed || end.Error == nil || end.Error.Code != c.code || end.Error.Message == "" {
			t.Errorf("%s: %+v %+v, want %s", c.act, end, end.Error, c.code)
		}
	}
	s.prompt(script("text Half an answer ++ drop once ++ text The whole answer."))
	s.says("The whole answer.")
	envs := s.finished(0)
	if n := strings.Count(said(envs), "Half an answer"); n != 1 {
		t.Errorf("the answer that was cut and repeated is there %d times", n)
	}
	if !slices.ContainsFunc(events[contract.Service](envs), func(ev contract.Service) bool { return ev.Kind == contract.ServiceRetry }) {
		t.Error("no retry was told")
	}
}

// A service that cannot be reached: a bounded number of tries, each of which is
// told, and an end.
func TestCodexNoNetwork(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	s := start(t, lab, "codex", codexFlags("--", "-c", `model_providers.scripted.base_url="http://127.0.0.1:1/v1"`,
		"-c", "model_providers.scripted.stream_max_retries=1", "-c", "model_providers.scripted.request_max_retries=1")...)
	s.prompt(script("text Never said."))
	end := s.turnEnd()
	if end.Status != contract.TurnFailed || end.Error == nil || end.Error.Code != contract.CodeNetwork {
		t.Errorf("turn-end = %+v %+v, want failed for want of a network", end, end.Error)
	}
	retries := 0
	for _, ev := range events[contract.Service](s.finished(1)) {
		if ev.Kind == contract.ServiceRetry && ev.Code == contract.CodeNetwork {
			retries++
		}
	}
	if retries != 1 {
		t.Errorf("%d tries were told, want 1", retries)
	}
}

// A configuration that Codex cannot read is said at the start.
func TestCodexBadConfig(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	config := filepath.Join(lab.Home, ".codex", "config.toml")
	if err := os.WriteFile(config, []byte("model = [nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, lab, "codex", codexFlags()...)
	s.prompt("hello")
	s.finished(3)
	if text := s.errs.String(); !strings.Contains(text, "config.toml") {
		t.Errorf("stderr = %q, want what is wrong with config.toml", text)
	}
}

// What runs is Codex itself, where it can be found, and what npm made of it where it
// cannot.
func TestCodexProgram(t *testing.T) {
	for name, hide := range map[string]bool{"itself": false, "npm": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := agentlab.New(t)
			flags := codexFlags("--allow", "bash(*)")
			if hide {
				flags = append(flags, "--env", "PATH="+scriptOnly(t, lab)+":/usr/bin:/bin")
			}
			s := start(t, lab, "codex", flags...)
			s.prompt(script("shell touch started; sleep 765", "text Never said."))
			waitForFile(t, filepath.Join(lab.Dir, "started"))
			native, viaNode := 0, 0
			all, err := lab.Leftovers()
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range all {
				switch {
				case strings.Contains(p.Args[0], "/vendor/") && slices.Contains(p.Args, "app-server"):
					native++
				case slices.ContainsFunc(p.Args, func(a string) bool { return strings.HasSuffix(a, "codex") && slices.Contains(p.Args, "app-server") }):
					viaNode++
				}
			}
			if native != 1 || !hide && viaNode != 0 {
				t.Errorf("%d processes of Codex itself, %d of the script: %v", native, viaNode, all)
			}
			s.send(contract.Abort{})
			s.turnEnd()
			s.finished(0)
		})
	}
}

// scriptOnly makes a directory for PATH whose codex is a script like npm's that the
// host does not know, beside the node that it needs.
func scriptOnly(t *testing.T, lab *agentlab.Lab) string {
	t.Helper()
	bin := filepath.Join(lab.Home, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	real := lab.Command("codex")[0]
	if err := os.WriteFile(filepath.Join(bin, "codex"), fmt.Appendf(nil, "#!/bin/sh\nexec %q \"$@\"\n", real), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(filepath.Dir(real), "node"), filepath.Join(bin, "node")); err != nil {
		t.Fatal(err)
	}
	return bin
}

// 200 turns with a new process in the middle: nothing is lost, nothing is there
// twice, and nothing of it is in the user's configuration.
func TestCodexLongSession(t *testing.T) {
	if testing.Short() {
		t.Skip("200 turns take a minute")
	}
	t.Parallel()
	lab := agentlab.New(t)
	config := filepath.Join(lab.Home, ".codex", "config.toml")
	before := withoutProjects(t, config)
	const half = 100
	turns := func(s *session, from int) {
		for i := range half {
			s.prompt(script(fmt.Sprintf("text answer number %d.", from+i)))
			if u := s.says(fmt.Sprintf("answer number %d.", from+i)).Usage; u == nil || u.InputTokens != 100 || u.OutputTokens != 10 {
				t.Errorf("turn %d used %+v, want its one request alone", from+i, u)
			}
		}
	}
	s := start(t, lab, "codex", codexFlags("--mode", "acceptEdits")...)
	turns(s, 0)
	s.finished(0)
	s = start(t, lab, "codex", codexFlags("--mode", "acceptEdits", "--resume", "last", "--from", "0")...)
	turns(s, half)
	envs := s.finished(0)
	eachOnce(t, envs, 2*half)
	if after, err := os.ReadFile(config); err != nil || string(after) != before {
		t.Errorf("the user's configuration was changed: %v\n%s", err, after)
	}
}

// withoutProjects takes what Codex knows of directories out of its configuration, as
// on a machine where nobody was asked about them, and returns the rest.
func withoutProjects(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?s)\[projects\.[^\]]*\]\n[^\[]*`).ReplaceAllString(string(data), "")
	if strings.Contains(text, "trust_level") {
		t.Fatalf("the configuration still knows of directories:\n%s", text)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return text
}

// killCodex ends Codex's own process, and nothing else, with SIGKILL.
func killCodex(t *testing.T, lab *agentlab.Lab) {
	t.Helper()
	all, err := lab.Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range all {
		if strings.Contains(p.Args[0], "/vendor/") && slices.Contains(p.Args, "app-server") {
			n++
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n == 0 {
		t.Fatalf("Codex is not among %v", all)
	}
}

// Codex is killed at ten points of a turn, and at two that are in none: each turn that
// began has one end, nothing of the session is left, and the next prompt goes on.
func TestCodexKilledAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("ten starts of the CLI")
	}
	const sleeper = "shell touch started; sleep 765"
	for _, c := range []struct {
		name, model, script string
		until               func(*session)
		// over says that the turn has ended before the kill.
		over bool
	}{
		{"before the first prompt", "gpt-5.5", "", nil, true},
		{"the model is silent", "gpt-5.5", "hang", modelAsked(1), false},
		{"in a thought", "gpt-5.5", "think Half a thou ++ hang", modelAsked(1), false},
		{"in a text", "gpt-6.2-sol", "text Half an ans ++ hang", modelAsked(1), false},
		{"in a tool", "gpt-5.5", sleeper, toolStarts, false},
		{"in code mode", "gpt-6.2-sol", sleeper, toolStarts, false},
		{"with a message for the turn", "gpt-5.5", sleeper, steerTaken, false},
		{"in a retry", "gpt-5.5", "drop ++ hang", retryTold, false},
		{"in an ask", "gpt-5.5", "write asked.txt x", func(s *session) { wait[contract.PermissionRequest](s, nil) }, false},
		{"after a tool", "gpt-5.5", "shell touch started ;; hang", modelAsked(2), false},
		{
			"in a sub-agent", "gpt-6.2-sol",
			`tool spawn_agent {"task_name":"helper","fork_turns":"none","message":"SCRIPT: ` + sleeper + `"} ;; tool wait_agent {"timeout_ms":60000}`, toolStarts, false,
		},
		{"after a turn", "gpt-5.5", "text over", func(s *session) { s.says("over") }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			lab := agentlab.New(t)
			s := start(t, lab, "codex", codexFlags("--model", c.model, "--on-ask", "wait", "--allow", "bash(*)")...)
			want := 1
			if c.script == "" {
				deadline(t, "Codex runs", func() bool {
					all, err := lab.Leftovers()
					return err == nil && slices.ContainsFunc(all, func(p agentlab.Process) bool { return slices.Contains(p.Args, "app-server") })
				})
				want = 0
			} else {
				s.prompt("SCRIPT: " + c.script)
				c.until(s)
			}
			killCodex(t, lab)
			if !c.over {
				if end := s.turnEnd(); end.Status != contract.TurnFailed || end.Error == nil || end.Error.Code != contract.CodeAgentExited {
					t.Errorf("turn-end = %+v %+v, want failed by agent-exited", end, end.Error)
				}
			}
			s.gone("sleep", "765")
			if c.script != "" {
				s.goesOn()
				want++
			}
			s.stdin.Close()
			<-s.done
			noneLeft(t, lab)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.validate("extended", s.lines)
			starts, ends := len(events[contract.TurnStart](s.envs)), len(events[contract.TurnEnd](s.envs))
			if starts != ends || starts < want {
				t.Errorf("%d turn-starts and %d turn-ends, want at least %d of each:\n%s", starts, ends, want, render(s.envs))
			}
			if steers, told := s.steers(), s.unreached(); steers != told {
				t.Errorf("%d messages for the turn that died, and told of %d:\n%s", steers, told, render(s.envs))
			}
		})
	}
}
