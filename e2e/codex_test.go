package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// codexFlags: the scripted model's provider takes its key from the environment.
func codexFlags(more ...string) []string {
	return append([]string{"--pass-env", "SCRIPTMODEL_API_KEY"}, more...)
}

// codexModels are the two tool protocols of Codex: plain function tools, and code
// mode.
func codexModels() []string { return []string{"gpt-5.5", "gpt-6.2-sol"} }

func eachCodex(t *testing.T, f func(t *testing.T, lab *agentlab.Lab, flags []string)) {
	for _, model := range codexModels() {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			f(t, agentlab.New(t), codexFlags("--model", model))
		})
	}
}

// A conversation with Codex: text and thoughts, prompts that wait in the queue,
// tools that are allowed and rejected, an edit with its diff, an edit that does not
// fit; and Codex's configuration is as it was.
func TestCodexConversation(t *testing.T) {
	eachCodex(t, func(t *testing.T, lab *agentlab.Lab, flags []string) {
		config := filepath.Join(lab.Home, ".codex", "config.toml")
		before := withoutProjects(t, config)
		if err := os.WriteFile(filepath.Join(lab.Dir, "hello.txt"), []byte("one\ntwo\nthree\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		s := start(t, lab, "codex", append(flags, "--on-ask", "wait")...)
		s.prompt(script("think **Looking** I think about it. ++ text Hello from the model."))
		s.prompt(script("text Second answer."))
		for i, want := range []string{"Hello from the model.", "Second answer."} {
			wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, want) })
			if end := s.turnEnd(); end.Status != contract.TurnCompleted || end.Usage == nil || end.Usage.InputTokens != 100 {
				t.Fatalf("turn %d: %+v, usage %+v", i, end, end.Usage)
			}
		}

		s.prompt(script("shell echo allowed-$((40+2)) > made.txt && cat made.txt", "text It ran."))
		ask, _ := wait[contract.PermissionRequest](s, nil)
		if ask.ToolName != "bash" || !strings.Contains(string(ask.Args), `"command":"echo allowed-$((40+2))`) {
			t.Errorf("ask = %+v", ask)
		}
		if _, err := os.Stat(filepath.Join(lab.Dir, "made.txt")); err == nil {
			t.Error("the tool ran before it was allowed")
		}
		s.decide(ask.Call, contract.AllowOnce)
		call, _ := wait(s, func(ev contract.ToolCallEnd) bool { return ev.Call == ask.Call })
		if call.Result == nil || call.Result.Status != contract.ToolCompleted || !strings.Contains(string(call.Result.Output), "allowed-42") {
			t.Errorf("the call ended with %+v", call.Result)
		}
		wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "It ran.") })
		s.turnEnd()

		s.prompt(script("shell touch rejected.txt", "text I go on without it."))
		ask, _ = wait[contract.PermissionRequest](s, nil)
		s.decide(ask.Call, contract.RejectOnce)
		wait(s, func(ev contract.ToolCallEnd) bool { return ev.Call == ask.Call })
		wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "I go on without it.") })
		if end := s.turnEnd(); end.Status != contract.TurnCompleted {
			t.Errorf("after a rejection: %+v", end)
		}
		if _, err := os.Stat(filepath.Join(lab.Dir, "rejected.txt")); err == nil {
			t.Error("the rejected tool ran")
		}

		s.prompt(script("edit hello.txt two TWO", "text Edited."))
		ask = s.asked("edit")
		if !strings.Contains(ask.Title, "hello.txt") || !strings.Contains(string(ask.Args), `-two\n+TWO\n`) {
			t.Errorf("ask = %+v, want the change in it", ask)
		}
		s.decide(ask.Call, contract.AllowOnce)
		edit, _ := wait(s, func(ev contract.ToolCallEnd) bool { return ev.Call == ask.Call })
		checkDiff(t, edit)
		s.turnEnd()
		if data, err := os.ReadFile(filepath.Join(lab.Dir, "hello.txt")); err != nil || string(data) != "one\nTWO\nthree\n" {
			t.Errorf("hello.txt = %q, %v", data, err)
		}

		s.prompt(script("edit hello.txt nowhere NOWHERE", "text It did not fit."))
		failed, _ := wait(s, func(ev contract.ToolCallEnd) bool { return ev.Result != nil && ev.Result.Status == contract.ToolError })
		if !strings.Contains(failed.Result.Error, "verification failed") {
			t.Errorf("the edit that does not fit: %+v", failed.Result)
		}
		s.turnEnd()

		envs := s.finish(0)
		if !slices.ContainsFunc(events[contract.Text](envs), func(ev contract.Text) bool { return ev.Thinking }) {
			t.Error("no thought came")
		}
		if n := strings.Count(said(envs), "Hello from the model."); n != 1 {
			t.Errorf("the first answer is there %d times", n)
		}
		noneLeft(t, lab)
		if after, err := os.ReadFile(config); err != nil || string(after) != before {
			t.Errorf("the user's configuration was changed: %v\n%s", err, after)
		}
	})
}

// An abort in the middle of a command ends the turn, and the command with all it
// started; the session goes on.
func TestCodexAbortInTool(t *testing.T) {
	eachCodex(t, func(t *testing.T, lab *agentlab.Lab, flags []string) {
		s := start(t, lab, "codex", append(flags, "--allow", "bash(*)")...)
		s.prompt(script("shell touch started; sleep 543 & sleep 543; touch finished", "text Never said."))
		wait[contract.ToolCallStart](s, nil)
		waitForFile(t, filepath.Join(lab.Dir, "started"))
		begin := time.Now()
		s.send(contract.Abort{})
		if end := s.turnEnd(); end.Status != contract.TurnCancelled {
			t.Errorf("turn-end = %+v, want cancelled", end)
		}
		t.Logf("the turn ended %v after the abort", time.Since(begin).Round(time.Millisecond))
		s.prompt(script("text Still here."))
		wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "Still here.") })
		s.turnEnd()
		s.gone("sleep", "543")
		s.finish(0)
		noneLeft(t, lab)
		if _, err := os.Stat(filepath.Join(lab.Dir, "finished")); err == nil {
			t.Error("the aborted tool went on")
		}
	})
}

// An abort while an ask is open settles the ask.
func TestCodexAbortWhileAsking(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	s := start(t, lab, "codex", codexFlags("--on-ask", "wait")...)
	s.prompt(script("shell touch no.txt", "text Never said."))
	ask, _ := wait[contract.PermissionRequest](s, nil)
	s.send(contract.Abort{})
	resp, _ := wait[contract.PermissionResponse](s, nil)
	if resp.Call != ask.Call || resp.Decision != contract.RejectOnce {
		t.Errorf("response = %+v", resp)
	}
	if end := s.turnEnd(); end.Status != contract.TurnCancelled {
		t.Errorf("turn-end = %+v, want cancelled", end)
	}
	s.prompt(script("text Still here."))
	wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "Still here.") })
	s.turnEnd()
	s.finish(0)
	if _, err := os.Stat(filepath.Join(lab.Dir, "no.txt")); err == nil {
		t.Error("the tool ran")
	}
}

// Errors of the model's service are failed turns with a code, and the next prompt
// works. A service that comes back in time is no error.
func TestCodexModelErrors(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	s := start(t, lab, "codex", codexFlags()...)
	s.prompt(script("error once 503 overloaded", "text It came back."))
	wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "It came back.") })
	if end := s.turnEnd(); end.Status != contract.TurnCompleted {
		t.Errorf("after one 503: %+v", end)
	}
	for _, c := range []struct {
		act  string
		code contract.ErrorCode
	}{
		{"error 400 nonsense", contract.CodeInvalidRequest},
		{"error 429 slow down", contract.CodeRateLimited},
		{"error 500 broken", contract.CodeOverloaded},
	} {
		s.prompt(script(c.act))
		s.fails(c.code)
	}
	s.prompt(script("text Fine again."))
	s.says("Fine again.")
	s.prompt(script("error 401 bad key"))
	s.fails(contract.CodeAuthRequired)
	envs := s.finish(3)
	if !slices.ContainsFunc(events[contract.Service](envs), func(ev contract.Service) bool { return ev.Kind == contract.ServiceRetry }) {
		t.Error("no retry was told")
	}
	noneLeft(t, lab)
}

// A session is gone on with in a new process: the model sees the history, the
// stream does not have it twice.
func TestCodexResume(t *testing.T) {
	eachCodex(t, func(t *testing.T, lab *agentlab.Lab, flags []string) {
		s := start(t, lab, "codex", flags...)
		s.prompt(script("text The password is swordfish."))
		s.turnEnd()
		first := s.finish(0)
		s = start(t, lab, "codex", append(flags, "--resume", "last", "--from", "0")...)
		s.prompt(script("text You said swordfish."))
		wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "You said swordfish.") })
		if end := s.turnEnd(); end.Usage == nil || end.Usage.InputTokens != 100 {
			t.Errorf("usage after a resume = %+v, want this turn's alone", end.Usage)
		}
		all := s.finish(0)
		if n := strings.Count(said(all), "The password is swordfish."); n != 1 {
			t.Errorf("the first answer is there %d times, want once:\n%s", n, render(all))
		}
		if len(all) <= len(first) {
			t.Errorf("%d envelopes after the second run, %d after the first", len(all), len(first))
		}
		seen := false
		for _, r := range lab.Model.Requests() {
			seen = seen || strings.Contains(string(r.Body), "You said swordfish") && strings.Contains(string(r.Body), "The password is swordfish.")
		}
		if !seen {
			t.Error("the model did not get the history")
		}
		noneLeft(t, lab)
	})
}

// The mode and the model can be changed while a session runs; Codex confirms it,
// and the mode decides what is asked.
func TestCodexSwitch(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	s := start(t, lab, "codex", codexFlags("--on-ask", "wait")...)
	s.prompt(script("text One."))
	s.turnEnd()
	for _, c := range []contract.AgentConfigurationChanged{
		{PermissionMode: contract.ModeAcceptEdits}, {Model: "gpt-6.2-sol"}, {ThinkingLevel: "high"},
	} {
		s.send(c)
		got, _ := wait(s, func(ev contract.AgentConfigurationChanged) bool {
			return ev.PermissionMode == c.PermissionMode && ev.Model == c.Model && ev.ThinkingLevel == c.ThinkingLevel
		})
		if got.Model != c.Model {
			t.Errorf("changed to %+v", got)
		}
	}
	s.prompt(script("shell touch inside.txt", "text In the sandbox."))
	wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "In the sandbox.") })
	if end := s.turnEnd(); end.Model != "gpt-6.2-sol" {
		t.Errorf("turn-end = %+v", end)
	}
	if body := lastHeard(lab); !strings.Contains(body, `"effort":"high"`) {
		t.Error("the model was not told to think as much")
	}
	if _, err := os.Stat(filepath.Join(lab.Dir, "inside.txt")); err != nil {
		t.Errorf("a sandboxed command did not run: %v", err)
	}
	s.send(contract.AgentConfigurationChanged{PermissionMode: contract.ModePlan})
	wait(s, func(ev contract.AgentConfigurationChanged) bool { return ev.PermissionMode == contract.ModePlan })
	s.prompt(script("shell touch planned.txt", "text Planned."))
	wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "Planned.") })
	s.turnEnd()
	if _, err := os.Stat(filepath.Join(lab.Dir, "planned.txt")); err == nil {
		t.Error("a command wrote in plan mode")
	}
	envs := s.finish(0)
	if n := len(events[contract.PermissionRequest](envs)); n != 0 {
		t.Errorf("%d asks, want none in these modes", n)
	}
	noneLeft(t, lab)
}

// What the modes and the sandbox let a command do, none of which is asked about: in
// the sandbox nothing outside of the directory and no network; without it, which needs
// the opt-in, both; and the sandbox can be put back.
func TestCodexSandbox(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	outside := filepath.Join(lab.Home, "outside.txt")
	host, port, _ := strings.Cut(strings.TrimPrefix(lab.Model.URL, "http://"), ":")
	s := start(t, lab, "codex", codexFlags("--mode", "acceptEdits", "--allow-bypass", "--on-ask", "wait")...)
	free := func(what string, want bool) {
		t.Helper()
		os.Remove(outside)
		connect := fmt.Sprintf("shell echo x > %s; exec 3<>/dev/tcp/%s/%s && echo connected", outside, host, port)
		s.prompt(script("shell touch "+strings.ReplaceAll(what, " ", "-"), connect, "text "+what+"."))
		s.says(what + ".")
		s.mu.Lock()
		list := calls(s.envs)
		s.mu.Unlock()
		_, err := os.Stat(outside)
		connected := strings.Contains(string(list[len(list)-1].end.Result.Output), "connected")
		if wrote := err == nil; wrote != want || connected != want {
			t.Errorf("%s: wrote outside %v, connected %v, want %v", what, wrote, connected, want)
		}
		if _, err := os.Stat(filepath.Join(lab.Dir, strings.ReplaceAll(what, " ", "-"))); err != nil {
			t.Errorf("%s: a command in the directory: %v", what, err)
		}
	}
	free("accepted edits", false)
	s.send(contract.AgentConfigurationChanged{PermissionMode: contract.ModeBypassPermissions})
	wait(s, func(ev contract.AgentConfigurationChanged) bool {
		return ev.PermissionMode == contract.ModeBypassPermissions
	})
	free("bypassed", true)
	on := true
	s.send(contract.AgentConfigurationChanged{Sandbox: &on})
	wait(s, func(ev contract.AgentConfigurationChanged) bool { return ev.Sandbox != nil && *ev.Sandbox })
	free("boxed again", false)
	// What Codex refuses at once it tells in no item: the stream has it all the same.
	denied := s.one(s.turn(script(`tool exec_command {"cmd":"touch denied.txt","sandbox_permissions":"require_escalated","justification":"to see"}`, "text Denied.")),
		"bash", contract.ToolError)
	if !strings.Contains(string(denied.Args), "touch denied.txt") || denied.end.Result.Error == "" {
		t.Errorf("the call that was refused is %+v %+v", denied, denied.end.Result)
	}
	if n := len(events[contract.PermissionRequest](s.finished(0))); n != 0 {
		t.Errorf("%d asks, want none", n)
	}
}

// kill -9 of the agent and of agenthost: one end for each turn, nothing left.
func TestCodexKilled(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	s := start(t, lab, "codex", codexFlags("--allow", "bash(*)")...)
	s.prompt(script("shell touch started; sleep 654", "text Never said."))
	waitForFile(t, filepath.Join(lab.Dir, "started"))
	s.kill()
	noneLeft(t, lab)
	s = start(t, lab, "codex", codexFlags("--resume", "last", "--from", "0")...)
	end := s.turnEnd()
	if end.Status != contract.TurnFailed || end.Error == nil || end.Error.Code != contract.CodeHostStopped {
		t.Errorf("turn-end = %+v, want failed by host-stopped", end)
	}
	s.prompt(script("text Back again."))
	wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "Back again.") })
	s.turnEnd()
	s.finish(0)
}
