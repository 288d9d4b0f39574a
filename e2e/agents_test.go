package e2e

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// real is what the tests know of a real agent.
type real struct {
	name string
	// flags start it in the lab.
	flags []string
	// endsOnReject: the agent itself ends the turn when a tool is rejected.
	endsOnReject bool
	// mode is what it is switched to while it runs.
	mode contract.PermissionMode
}

func reals() []real {
	return []real{
		{name: "gemini", mode: contract.ModeAcceptEdits},
		{name: "opencode", endsOnReject: true, mode: contract.ModePlan},
		// Its CLI tries ten times before it believes a 401.
		{name: "claude-acp", flags: []string{"--env", "CLAUDE_CODE_MAX_RETRIES=2"}, mode: contract.ModeAcceptEdits},
	}
}

// each runs f for every real agent that speaks ACP.
func each(t *testing.T, f func(t *testing.T, a real, lab *agentlab.Lab)) {
	for _, a := range reals() {
		t.Run(a.name, func(t *testing.T) { f(t, a, agentlab.New(t)) })
	}
}

func script(steps ...string) string { return "SCRIPT:\n" + strings.Join(steps, "\n") }

// A conversation: text and thoughts, two prompts that wait in the queue, tools
// that are allowed and rejected, an edit with its diff.
func TestConversation(t *testing.T) {
	each(t, func(t *testing.T, a real, lab *agentlab.Lab) {
		if err := os.WriteFile(filepath.Join(lab.Dir, "hello.txt"), []byte("one\ntwo\nthree\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		s := start(t, lab, a.name, append(a.flags, "--on-ask", "wait")...)
		s.prompt(script("think **Looking** I think about it. ++ text Hello from the model."))
		s.prompt(script("text Second answer."))
		s.prompt(script("text Third answer."))
		for i, want := range []string{"Hello from the model.", "Second answer.", "Third answer."} {
			wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, want) })
			if end := s.turnEnd(); end.Status != contract.TurnCompleted {
				t.Fatalf("turn %d: %+v", i, end)
			}
		}

		s.prompt(script("shell printf allowed-42 > made.txt && cat made.txt", "text It ran."))
		ask, _ := wait[contract.PermissionRequest](s, nil)
		if ask.ToolName != "bash" || !strings.Contains(string(ask.Args), "made.txt") {
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
		if !a.endsOnReject {
			wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "I go on without it.") })
		}
		if end := s.turnEnd(); end.Status != contract.TurnCompleted {
			t.Errorf("after a rejection: %+v", end)
		}
		if _, err := os.Stat(filepath.Join(lab.Dir, "rejected.txt")); err == nil {
			t.Error("the rejected tool ran")
		}

		s.prompt(script("read hello.txt", "edit hello.txt two TWO", "text Edited."))
		edit := s.allowUntil("edit")
		wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "Edited.") })
		if end := s.turnEnd(); end.Usage == nil || end.Usage.InputTokens == 0 {
			t.Errorf("usage = %+v", end.Usage)
		}
		checkDiff(t, edit)
		if data, err := os.ReadFile(filepath.Join(lab.Dir, "hello.txt")); err != nil || string(data) != "one\nTWO\nthree\n" {
			t.Errorf("hello.txt = %q, %v", data, err)
		}

		envs := s.finish(0)
		thoughts := slices.IndexFunc(events[contract.Text](envs), func(ev contract.Text) bool { return ev.Thinking })
		if thoughts < 0 {
			t.Error("no thought came")
		}
		if n := strings.Count(said(envs), "Hello from the model."); n != 1 {
			t.Errorf("the first answer is there %d times", n)
		}
		noneLeft(t, lab)
	})
}

// allowUntil allows what is asked until a call of the named tool has ended.
func (s *session) allowUntil(tool string) contract.ToolCallEnd {
	s.t.Helper()
	names := map[string]string{}
	var end contract.ToolCallEnd
	s.next("end of "+tool, func(e contract.Envelope) bool {
		switch ev := e.Event.(type) {
		case contract.ToolCallStart:
			names[ev.Call] = ev.Name
		case contract.PermissionRequest:
			s.decide(ev.Call, contract.AllowOnce)
		case contract.ToolCallEnd:
			end = ev
			return names[ev.Call] == tool
		}
		return false
	})
	return end
}

func checkDiff(t *testing.T, end contract.ToolCallEnd) {
	t.Helper()
	if end.Result == nil || len(end.Result.Files) != 1 {
		t.Fatalf("the edit ended with %+v, want one file", end.Result)
	}
	f := end.Result.Files[0]
	if filepath.Base(f.Path) != "hello.txt" || f.Status != contract.ChangeModified ||
		!strings.Contains(f.Patch, "\n-two\n") || !strings.Contains(f.Patch, "\n+TWO\n") || f.Additions != 1 || f.Deletions != 1 {
		t.Errorf("diff = %+v", f)
	}
}

// An abort in the middle of a tool ends the turn, and the tool with all it
// started; the session goes on.
func TestAbortInTool(t *testing.T) {
	each(t, func(t *testing.T, a real, lab *agentlab.Lab) {
		s := start(t, lab, a.name, append(a.flags, "--allow", "bash(*)", "--profile", "strict")...)
		s.prompt(script("shell touch started; sleep 543 & sleep 543; touch finished", "text Never said."))
		wait[contract.ToolCallStart](s, nil)
		waitForFile(t, filepath.Join(lab.Dir, "started"))
		begin := time.Now()
		s.send(contract.Abort{})
		if end := s.turnEnd(); end.Status != contract.TurnCancelled {
			t.Errorf("turn-end = %+v, want cancelled", end)
		}
		t.Logf("the turn ended %v after the abort", time.Since(begin).Round(time.Millisecond))
		deadline(t, "what the tool started is gone", func() bool { return !runs(t, lab, "543") })
		s.prompt(script("text Still here."))
		wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "Still here.") })
		s.turnEnd()
		envs := s.finish(0)
		if n := len(events[contract.Abort](envs)); n != 1 {
			t.Errorf("%d aborts in the stream, want 1", n)
		}
		noneLeft(t, lab)
		if _, err := os.Stat(filepath.Join(lab.Dir, "finished")); err == nil {
			t.Error("the aborted tool went on")
		}
	})
}

// runs reports whether a process of the lab has an argument.
func runs(t *testing.T, lab *agentlab.Lab, arg string) bool {
	t.Helper()
	all, err := lab.Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(p agentlab.Process) bool { return slices.Contains(p.Args, arg) })
}

// An abort while an ask is open settles the ask.
func TestAbortWhileAsking(t *testing.T) {
	each(t, func(t *testing.T, a real, lab *agentlab.Lab) {
		s := start(t, lab, a.name, append(a.flags, "--on-ask", "wait")...)
		s.prompt(script("shell touch no.txt", "text Never said."))
		ask, _ := wait[contract.PermissionRequest](s, nil)
		s.send(contract.Abort{})
		resp, _ := wait[contract.PermissionResponse](s, nil)
		if resp.Call != ask.Call || resp.Decision != contract.RejectOnce || resp.By.Resolver != contract.ByTurnEnd {
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
	})
}

// Errors of the model's service are failed turns with a code, and the next
// prompt works. A service that comes back in time is no error.
func TestModelErrors(t *testing.T) {
	t.Parallel() // it mostly waits
	each(t, func(t *testing.T, a real, lab *agentlab.Lab) {
		s := start(t, lab, a.name, a.flags...)
		s.prompt(script("error once 503 overloaded", "text It came back."))
		wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "It came back.") })
		if end := s.turnEnd(); end.Status != contract.TurnCompleted {
			t.Errorf("after one 503: %+v", end)
		}
		s.prompt(script("error once 429 slow down", "text Not limited any more."))
		wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "Not limited any more.") })
		s.turnEnd()
		s.prompt(script("error 400 nonsense"))
		// Agents that retry a 400 for minutes are aborted: the person sees no answer.
		if !s.failsSoon(t) {
			s.send(contract.Abort{})
			if end := s.turnEnd(); end.Status != contract.TurnCancelled {
				t.Errorf("aborted retry: %+v", end)
			}
		}
		s.prompt(script("text Fine again."))
		wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "Fine again.") })
		s.turnEnd()
		s.finish(0)
		noneLeft(t, lab)
	})
}

// failsSoon reports whether the turn fails within some seconds; it must then
// say why.
func (s *session) failsSoon(t *testing.T) bool {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(10 * time.Second)
	for {
		if end, ok := s.peekEnd(); ok {
			if end.Status != contract.TurnFailed || end.Error == nil || end.Error.Code == "" || end.Error.Message == "" {
				t.Errorf("after a 400: %+v", end)
			}
			return true
		}
		select {
		case <-tick.C:
		case <-limit:
			return false
		}
	}
}

// peekEnd takes the next end of a turn if it is there.
func (s *session) peekEnd() (contract.TurnEnd, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.seen < len(s.envs) {
		end, ok := s.envs[s.seen].Event.(contract.TurnEnd)
		s.seen++
		if ok {
			return end, true
		}
	}
	return contract.TurnEnd{}, false
}

// A wrong key is said to be one, with its own exit code. opencode is the agent that
// retries without a word what may pass, like a 429: the silence is told, and a
// person can stop it.
func TestNotLoggedIn(t *testing.T) {
	each(t, func(t *testing.T, a real, lab *agentlab.Lab) {
		flags := a.flags
		if a.name == "opencode" {
			file := filepath.Join(lab.Home, "silence.yaml")
			if err := os.WriteFile(file, []byte("limits: {stall: 2s}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			flags = append(flags, "--config", file)
		}
		s := start(t, lab, a.name, flags...)
		if a.name == "opencode" {
			s.prompt(script("error 429 slow down"))
			note, _ := wait(s, func(ev contract.Service) bool { return strings.Contains(ev.Text, "No word from opencode") })
			if note.Kind != contract.ServiceNotice {
				t.Errorf("the silence is told as %+v, want a notice", note)
			}
			s.send(contract.Abort{})
			if end := s.turnEnd(); end.Status != contract.TurnCancelled {
				t.Errorf("turn-end = %+v, want cancelled", end)
			}
		}
		s.prompt(script("error 401 Incorrect API key provided"))
		end := s.turnEnd()
		if end.Status != contract.TurnFailed || end.Error == nil || end.Error.Code != contract.CodeAuthRequired {
			t.Errorf("turn-end = %+v %+v, want auth-required", end, end.Error)
		}
		s.finish(3)
	})
}

// A picture and a file go with a prompt: the model gets both, or the stream says
// which one it did not get.
func TestAttachments(t *testing.T) {
	// The smallest PNG there is.
	pixel, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, a real, lab *agentlab.Lab) {
		image, note := filepath.Join(lab.Dir, "pixel.png"), filepath.Join(lab.Dir, "note.txt")
		if err := errors.Join(os.WriteFile(image, pixel, 0o600), os.WriteFile(note, []byte("note of the day"), 0o600)); err != nil {
			t.Fatal(err)
		}
		flags := append(a.flags, "-p", script("text I see a pixel."), "--image", image)
		if a.name != "gemini" { // it loses a picture that another file goes with
			flags = append(flags, "--file", note)
		}
		s := start(t, lab, a.name, flags...)
		s.next("answer", func(e contract.Envelope) bool {
			ev, ok := e.Event.(contract.Text)
			return ok && e.Role == contract.RoleAgent && strings.Contains(ev.Text, "I see a pixel.")
		})
		s.turnEnd()
		files := events[contract.File](s.finish(0))
		if len(files) == 0 || files[0].Name != "pixel.png" || files[0].Size != int64(len(pixel)) {
			t.Errorf("files = %+v", files)
		}
		seen := false
		for _, r := range lab.Model.Requests() {
			seen = seen || strings.Contains(string(r.Body), "image/png") || strings.Contains(string(r.Body), "iVBORw0KGgo")
		}
		if !seen && a.name != "opencode" { // it takes none for a model that is not said to see
			t.Error("the picture did not reach the model")
		}
	})
}

// The configuration can be changed while a session runs; the agent confirms it, and
// acts like that.
func TestSwitchMode(t *testing.T) {
	each(t, func(t *testing.T, a real, lab *agentlab.Lab) {
		s := start(t, lab, a.name, a.flags...)
		s.prompt(script("text One."))
		s.turnEnd()
		s.send(contract.AgentConfigurationChanged{PermissionMode: a.mode})
		change, _ := wait(s, func(ev contract.AgentConfigurationChanged) bool { return ev.PermissionMode == a.mode })
		if change.PermissionMode != a.mode {
			t.Errorf("changed to %+v", change)
		}
		s.prompt(script("write made.txt hello", "text Two."))
		if !a.endsOnReject {
			wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "Two.") })
		}
		if end := s.turnEnd(); end.Status != contract.TurnCompleted {
			t.Errorf("turn-end = %+v", end)
		}
		edits := a.mode == contract.ModeAcceptEdits
		if _, err := os.Stat(filepath.Join(lab.Dir, "made.txt")); (err == nil) != edits {
			t.Errorf("in mode %s a file was made: %v, want %v", a.mode, err == nil, edits)
		}
		if n := len(events[contract.PermissionRequest](s.finish(0))); edits && n > 0 {
			t.Errorf("%d asks in mode %s, want none: the agent was to change, too", n, a.mode)
		}
	})
}

// A session is gone on with in a new process: the model sees the history, the
// stream does not have it twice.
func TestResume(t *testing.T) {
	t.Parallel() // it mostly waits
	each(t, func(t *testing.T, a real, lab *agentlab.Lab) {
		s := start(t, lab, a.name, append(a.flags, "--title", "first run")...)
		s.prompt(script("text The password is swordfish."))
		s.turnEnd()
		first := s.finish(0)
		noneLeft(t, lab)
		if a.name == "gemini" {
			// Gemini loses a session that is loaded in the minute of its creation;
			// agenthost waits for the next one instead.
			t.Log("gemini: the load waits for the next minute")
		}
		s = start(t, lab, a.name, append(a.flags, "--resume", "last", "--from", "0")...)
		s.prompt(script("text You said swordfish."))
		wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "You said swordfish.") })
		s.turnEnd()
		all := s.finish(0)
		if n := strings.Count(said(all), "The password is swordfish."); n != 1 {
			t.Errorf("the first answer is there %d times, want once:\n%s", n, render(all))
		}
		if len(all) <= len(first) {
			t.Errorf("%d envelopes after the second run, %d after the first", len(all), len(first))
		}
		for i := range first {
			if first[i].ID != all[i].ID {
				t.Fatalf("envelope %d changed", i)
			}
		}
		seen := false
		for _, r := range lab.Model.Requests() {
			body := string(r.Body)
			seen = seen || strings.Contains(body, "You said swordfish") && strings.Contains(body, "The password is swordfish.")
		}
		if !seen {
			t.Error("the model did not get the history")
		}
	})
}

// kill -9 of the agent and of agenthost: one end for each turn, nothing left.
func TestKilled(t *testing.T) {
	t.Parallel() // it mostly waits
	each(t, func(t *testing.T, a real, lab *agentlab.Lab) {
		s := start(t, lab, a.name, append(a.flags, "--allow", "bash(*)")...)
		s.prompt(script("shell touch started; sleep 654", "text Never said."))
		wait[contract.ToolCallStart](s, nil)
		waitForFile(t, filepath.Join(lab.Dir, "started"))
		s.kill()
		noneLeft(t, lab)
		// The next run ends the turn that the crash left open.
		s = start(t, lab, a.name, append(a.flags, "--resume", "last", "--from", "0")...)
		end := s.turnEnd()
		if end.Status != contract.TurnFailed || end.Error == nil || end.Error.Code != contract.CodeHostStopped {
			t.Errorf("turn-end = %+v, want failed by host-stopped", end)
		}
		s.prompt(script("text Back again."))
		wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, "Back again.") })
		s.turnEnd()
		s.finish(0)
	})
}

// waitForFile waits until a file exists.
func waitForFile(t testing.TB, path string) {
	t.Helper()
	limit := time.Now().Add(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if _, err := os.Stat(path); err == nil {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%s does not appear", path)
		}
	}
}
