package e2e

import (
	"encoding/json/jsontext"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/agentlab"
	"github.com/agenthost/agenthost/internal/scriptmodel"
)

// Claude Code over its own protocol: what the tests for all agents leave out.

// claudeCode starts a session of the real CLI.
func claudeCode(t *testing.T, flags ...string) (*session, *agentlab.Lab) {
	t.Helper()
	lab := agentlab.New(t)
	return start(t, lab, "claude", append([]string{"--on-ask", "wait"}, flags...)...), lab
}

// says waits for a text of the agent and the end of its turn.
func (s *session) says(want string) contract.TurnEnd {
	s.t.Helper()
	wait(s, func(ev contract.Text) bool { return strings.Contains(ev.Text, want) && !ev.Thinking })
	end := s.turnEnd()
	if end.Status != contract.TurnCompleted {
		s.t.Errorf("the turn that said %q ended %+v %+v", want, end, end.Error)
	}
	return end
}

// fails waits for the end of a turn that failed with a code.
func (s *session) fails(want contract.ErrorCode) {
	s.t.Helper()
	end := s.turnEnd()
	if end.Status != contract.TurnFailed || end.Error == nil || end.Error.Code != want || end.Error.Message == "" {
		s.t.Errorf("turn-end = %+v %+v, want failed with %s", end, end.Error, want)
	}
}

// finished ends the session and checks that nothing of it is left.
func (s *session) finished(code int) []contract.Envelope {
	s.t.Helper()
	envs := s.finish(code)
	noneLeft(s.t, s.lab)
	return envs
}

// Parallel tools, each asked for by itself: one runs with other arguments, one is
// rejected with a reason that the model hears, one is read-only and never asks.
func TestClaudeTools(t *testing.T) {
	s, lab := claudeCode(t)
	s.prompt(script(
		"think I think first. ++ text Three at once. ++ shell touch one.txt ++ shell touch two.txt ++ shell pwd",
		"text All done."))
	ask, _ := wait[contract.PermissionRequest](s, nil)
	s.send(contract.PermissionResponse{
		Call: ask.Call, Decision: contract.AllowOnce, Args: jsontext.Value(`{"command":"touch other.txt","description":"other"}`),
	})
	ask, _ = wait[contract.PermissionRequest](s, nil)
	s.send(contract.PermissionResponse{Call: ask.Call, Decision: contract.RejectOnce, Message: "use the other file"})
	s.says("All done.")
	envs := s.finished(0)
	if thought := events[contract.Text](envs)[1]; !thought.Thinking || thought.Text != "I think first." {
		t.Errorf("the first word of the agent is %+v, want its thought", thought)
	}
	for name, want := range map[string]bool{"one.txt": false, "other.txt": true, "two.txt": false} {
		if _, err := os.Stat(filepath.Join(lab.Dir, name)); (err == nil) != want {
			t.Errorf("%s: exists %v, want %v", name, err == nil, want)
		}
	}
	var statuses []contract.ToolStatus
	for _, end := range events[contract.ToolCallEnd](envs) {
		statuses = append(statuses, end.Result.Status)
	}
	slices.Sort(statuses)
	if want := []contract.ToolStatus{"completed", "completed", "error"}; !slices.Equal(statuses, want) {
		t.Errorf("calls ended %q, want %q", statuses, want)
	}
	if !modelHeard(lab, "use the other file") {
		t.Error("the model did not hear why")
	}
}

// modelHeard reports whether a request of the agent holds a text.
func modelHeard(lab *agentlab.Lab, text string) bool {
	return slices.ContainsFunc(lab.Model.Played(), func(r scriptmodel.Request) bool { return strings.Contains(string(r.Body), text) })
}

// Plan mode: nothing is changed before the plan is approved, a rejection keeps
// planning, and leaving the mode is told.
func TestClaudePlan(t *testing.T) {
	s, lab := claudeCode(t, "--mode", "plan")
	const plan = `tool ExitPlanMode {"plan":"# The plan\n1. look\n2. leap"}`
	s.prompt(script(plan, plan, "text Off we go."))
	ask, _ := wait[contract.PermissionRequest](s, nil)
	if ask.ToolName != "plan" || !strings.Contains(ask.Description, "1. look") || !strings.Contains(string(ask.Args), "The plan") {
		t.Errorf("ask = %+v, want the plan in it", ask)
	}
	s.send(contract.PermissionResponse{Call: ask.Call, Decision: contract.RejectOnce, Message: "look twice"})
	ask, _ = wait[contract.PermissionRequest](s, nil)
	s.decide(ask.Call, contract.AllowOnce)
	change, env := wait[contract.AgentConfigurationChanged](s, nil)
	if change.PermissionMode != contract.ModeDefault || env.Role != contract.RoleUser {
		t.Errorf("changed %+v by %s, want default by the user who approved", change, env.Role)
	}
	s.says("Off we go.")
	s.finished(0)
	if !modelHeard(lab, "look twice") {
		t.Error("the model did not hear why the plan was rejected")
	}
}

// A question of the model is answered.
func TestClaudeQuestion(t *testing.T) {
	s, lab := claudeCode(t)
	s.prompt(script(
		`tool AskUserQuestion {"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}`,
		"text Thank you."))
	ask, _ := wait[contract.PermissionRequest](s, nil)
	if ask.ToolName != "ask-user" || ask.Question == nil || len(ask.Question.Questions) != 1 || len(ask.Question.Questions[0].Options) != 2 {
		t.Fatalf("ask = %+v, want a question with two options", ask)
	}
	s.send(contract.PermissionResponse{
		Call: ask.Call, Decision: contract.AllowOnce, Answers: fmt.Appendf(nil, `{%q:"Blue"}`, ask.Question.Questions[0].ID),
	})
	s.says("Thank you.")
	s.finished(0)
	if !modelHeard(lab, `Which colour?\"=\"Blue`) {
		t.Error("the model did not hear the answer")
	}
}

// A question of an MCP server comes through, and its answers get their types.
func TestClaudeElicitation(t *testing.T) {
	lab := agentlab.New(t)
	play := filepath.Join(lab.Home, "server.txt")
	server := `? method=initialize as I
< {"jsonrpc":"2.0","id":${I.id},"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"lab","version":"1"}}}
? method=tools/list as L
< {"jsonrpc":"2.0","id":${L.id},"result":{"tools":[{"name":"order","inputSchema":{"type":"object"}}]}}
? method=tools/call as C within 60000
< {"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"How many?","requestedSchema":{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}}}
? id=77 result.action="accept" result.content.count=3 as E within 60000
< {"jsonrpc":"2.0","id":${C.id},"result":{"content":[{"type":"text","text":"three it is"}]}}
! hold
`
	config := fmt.Sprintf(`{"mcpServers":{"lab":{"type":"stdio","command":%q,"args":[],"env":{%q:%q}}}}`, os.Args[0], playEnv, play)
	for path, data := range map[string]string{play: server, filepath.Join(lab.Home, "mcp.json"): config} {
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, lab, "claude", "--on-ask", "wait", "--allow", "mcp(lab/*)", "--", "--mcp-config", filepath.Join(lab.Home, "mcp.json"))
	s.prompt(script(`mcp lab order {"what":"tea"}`, "text Ordered."))
	ask, _ := wait(s, func(ev contract.PermissionRequest) bool { return ev.Question != nil })
	s.send(contract.PermissionResponse{Call: ask.Call, Decision: contract.AllowOnce, Answers: jsontext.Value(`{"count":"3"}`)})
	s.says("Ordered.")
	s.finished(0)
	if !modelHeard(lab, "three it is") {
		t.Error("the server did not get the answer")
	}
}

// agentScript is a call of the sub-agent tool whose prompt is a script.
func agentScript(name string, background bool, steps ...string) string {
	prompt := string(appendQuoted(nil, "SCRIPT: "+strings.Join(steps, " ;; ")))
	return fmt.Sprintf(`tool Agent {"description":%q,"subagent_type":"general-purpose","run_in_background":%v,"prompt":%s}`, name, background, prompt)
}

func appendQuoted(b []byte, s string) []byte {
	b, err := jsontext.AppendQuote(b, s)
	if err != nil {
		panic(err) // scripts are UTF-8
	}
	return b
}

// Sub-agents, one inside the other and two at once: what each says and asks is
// theirs, and each stops.
func TestClaudeSubagents(t *testing.T) {
	s, _ := claudeCode(t)
	inner := agentScript("inner", false, "shell touch inner.txt", "text inner says")
	s.prompt("SCRIPT: " + agentScript("outer", false, inner, "text outer says") + " ++ " + agentScript("other", false, "text other says") + " ;; text main says")
	ask, env := wait[contract.PermissionRequest](s, nil)
	s.decide(ask.Call, contract.AllowOnce)
	s.says("main says")
	envs := s.finished(0)

	names := map[string]string{}
	parents := map[string]string{}
	spawned := map[string]string{}
	for _, e := range envs {
		switch ev := e.Event.(type) {
		case contract.ToolCallStart:
			if ev.Name == "task" {
				spawned[ev.Call] = ev.Title
			}
		case contract.SubagentStart:
			names[ev.AgentID] = ev.Title
			parents[ev.Title] = e.Subagent
			if spawned[ev.Call] != "Sub-agent: "+ev.Title {
				t.Errorf("sub-agent %q is of the call %q", ev.Title, spawned[ev.Call])
			}
		case contract.SubagentStop:
			if names[ev.AgentID] == "" {
				t.Errorf("%q stops and never began", ev.AgentID)
			}
		}
	}
	if names[env.Subagent] != "inner" || names[parents["inner"]] != "outer" || parents["outer"] != "" || parents["other"] != "" {
		t.Errorf("the ask is %q's; parents: %q", names[env.Subagent], parents)
	}
	for _, e := range envs {
		ev, ok := e.Event.(contract.Text)
		if who, isIt := strings.CutSuffix(ev.Text, " says"); ok && isIt && e.Role == contract.RoleAgent && who != "main" && names[e.Subagent] != who {
			t.Errorf("%q was said by %q", ev.Text, names[e.Subagent])
		}
	}
	if starts, stops := len(names), len(events[contract.SubagentStop](envs)); starts != 3 || stops != 3 {
		t.Errorf("%d starts and %d stops, want 3 of each", starts, stops)
	}
}

// A sub-agent in the background outlives its turn: a prompt goes on beside it, its
// ask is asked again after that turn, and its report is a turn of its own.
func TestClaudeBackground(t *testing.T) {
	s, lab := claudeCode(t)
	s.prompt("SCRIPT: " + agentScript("bg", true, "hold work ++ shell touch bg.txt", "text bg says") + " ;; text main says")
	s.says("main says")
	s.prompt(script("hold turn ++ text beside it"))
	wait[contract.TurnStart](s, nil)
	lab.Model.Release("work")
	ask, env := wait[contract.PermissionRequest](s, nil)
	if env.Subagent == "" {
		t.Error("the ask is not the sub-agent's")
	}
	lab.Model.Release("turn")
	s.says("beside it")
	again, _ := wait[contract.PermissionRequest](s, nil)
	if again.Call == ask.Call {
		t.Errorf("the second ask has the first one's call %q", ask.Call)
	}
	s.decide(again.Call, contract.AllowOnce)
	wait[contract.SubagentStop](s, nil)
	s.turnEnd()
	envs := s.finished(0)
	if _, err := os.Stat(filepath.Join(lab.Dir, "bg.txt")); err != nil {
		t.Error("the allowed tool did not run")
	}
	if n := strings.Count(said(envs), "bg says"); n != 1 {
		t.Errorf("the sub-agent's answer is there %d times", n)
	}
}

// A message to the running turn is taken up between two tool rounds.
func TestClaudeSteer(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record.jsonl")
	s, lab := claudeCode(t, "--allow", "bash(*)", "--record", record)
	s.prompt(script("shell touch started; while [ ! -e go ]; do sleep 0.1; done", "text It is over."))
	waitForFile(t, filepath.Join(lab.Dir, "started"))
	s.send(contract.Text{Text: "mind the steer", Steer: true})
	s.next("steer", func(e contract.Envelope) bool { ev, ok := e.Event.(contract.Text); return ok && ev.Steer })
	if err := os.WriteFile(filepath.Join(lab.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.says("It is over.")
	envs := s.finished(0)
	if n := len(events[contract.TurnStart](envs)); n != 1 {
		t.Errorf("%d turns, want 1", n)
	}
	if !modelHeard(lab, "mind the steer") {
		t.Error("the model did not hear the steer")
	}
	// The proof that it was picked up in that turn is the CLI's own word.
	if got := heard(t, record, `"state":"started"`, `"type":"result"`); got != "started started result" {
		t.Errorf("the CLI said %q, want that it took both messages up before the result", got)
	}
}

// An abort keeps the text that was said, kills background work, and the next
// prompt works.
func TestClaudeAbort(t *testing.T) {
	s, lab := claudeCode(t, "--allow", "bash(*)")
	s.prompt(script("text Half of an ans ++ hang"))
	deadline(t, "the model says something", func() bool { return len(lab.Model.Played()) > 0 })
	s.send(contract.Abort{})
	if end := s.turnEnd(); end.Status != contract.TurnCancelled || end.Error != nil {
		t.Errorf("turn-end = %+v %v, want cancelled without an error", end, end.Error)
	}
	s.prompt("SCRIPT: " + agentScript("bg", true, "shell touch bg-started; sleep 567") + " ;; hang ++ text never")
	deadline(t, "the background work runs", func() bool { return s.runs("sleep", "567") })
	s.send(contract.Abort{})
	if end := s.turnEnd(); end.Status != contract.TurnCancelled {
		t.Errorf("turn-end = %+v, want cancelled", end)
	}
	s.gone("sleep", "567")
	s.prompt(script("text Still here."))
	s.says("Still here.")
	// One that nobody aborts does not keep the session from its end.
	s.prompt(script(`tool Bash {"command":"touch shell-started; sleep 568","run_in_background":true}`, "text It runs on."))
	s.says("It runs on.")
	deadline(t, "the shell runs", func() bool { return s.runs("sleep", "568") })
	s.finished(0)
}

// gone waits until a process of the lab is gone, while the session lives.
func (s *session) gone(argv ...string) {
	s.t.Helper()
	deadline(s.t, strings.Join(argv, " ")+" is gone", func() bool { return !s.runs(argv...) })
}

// runs reports whether a process of the lab runs.
func (s *session) runs(argv ...string) bool {
	s.t.Helper()
	all, err := s.lab.Leftovers()
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.ContainsFunc(all, func(p agentlab.Process) bool { return slices.Equal(p.Args, argv) })
}

// deadline waits until a condition holds.
func deadline(t testing.TB, what string, ok func() bool) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

// Model, mode and thinking are switched while the session runs; each is told
// when the CLI has confirmed it, and what it refuses is not.
func TestClaudeSwitch(t *testing.T) {
	s, _ := claudeCode(t)
	s.prompt(script("text One."))
	s.says("One.")
	for _, c := range []struct {
		ask, want contract.AgentConfigurationChanged
	}{
		{contract.AgentConfigurationChanged{Model: "sonnet"}, contract.AgentConfigurationChanged{Model: "claude-sonnet-5-5"}},
		{contract.AgentConfigurationChanged{ThinkingLevel: "high"}, contract.AgentConfigurationChanged{ThinkingLevel: "high"}},
		{contract.AgentConfigurationChanged{PermissionMode: "bypassPermissions"}, contract.AgentConfigurationChanged{}},
		{contract.AgentConfigurationChanged{PermissionMode: "acceptEdits"}, contract.AgentConfigurationChanged{PermissionMode: "acceptEdits"}},
	} {
		s.send(c.ask)
		if c.want.Model+c.want.ThinkingLevel+string(c.want.PermissionMode) == "" {
			continue
		}
		got, env := wait[contract.AgentConfigurationChanged](s, nil)
		if got.Model != c.want.Model || got.ThinkingLevel != c.want.ThinkingLevel || got.PermissionMode != c.want.PermissionMode || env.Role != contract.RoleUser {
			t.Errorf("changed %+v by %s, want %+v by the user", got, env.Role, c.want)
		}
	}
	// In this mode an edit is not asked for.
	s.prompt(script("write made.txt hello", "text Two."))
	if end := s.says("Two."); end.Model != "claude-sonnet-5-5" {
		t.Errorf("the turn ran on %q", end.Model)
	}
	envs := s.finished(1) // bypassPermissions was refused
	if n := len(events[contract.PermissionRequest](envs)); n != 0 {
		t.Errorf("%d asks, want none", n)
	}
}

// A session is branched off at an answer: the new one has the history up to there
// and names its parent, the old one has not what is said in the new one. Without a
// name the newest session of the directory goes on.
func TestClaudeFork(t *testing.T) {
	s, lab := claudeCode(t)
	s.prompt(script("text The password is swordfish."))
	s.says("swordfish")
	s.prompt(script("text The answer is 42."))
	s.says("42")
	s.finished(0)
	answer := s.envelope(contract.RoleAgent, "swordfish")
	branch := start(t, lab, "claude", "--fork", "last@"+answer)
	branch.prompt(script("text In the branch."))
	branch.says("In the branch.")
	branch.finished(0)
	knows(t, lab, map[string]bool{"The password is swordfish.": true, "The answer is 42.": false})

	all, err := host.List(filepath.Join(lab.Home, ".state", "agenthost"))
	if err != nil || len(all) != 2 || all[0].Parent != all[1].ID || all[0].Origin == "" || all[0].ID == all[1].ID {
		t.Errorf("sessions = %+v, %v; want a branch and its parent", all, err)
	}
	s = start(t, lab, "claude", "--resume", all[len(all)-1].ID)
	s.prompt(script("text Back in the parent."))
	s.says("Back in the parent.")
	s.finished(0)
	knows(t, lab, map[string]bool{"The answer is 42.": true, "In the branch.": false})
	s = start(t, lab, "claude", "--continue")
	s.prompt(script("text Going on."))
	s.says("Going on.")
	s.finished(0)
	knows(t, lab, map[string]bool{"Back in the parent.": true})
}

// What people decide: once, for good, and not at all. A file outside of the
// directory is named, the agent may go into plan mode by itself, prompts wait in a
// queue, and an abort takes the open ask back.
func TestClaudePermission(t *testing.T) {
	s, lab := claudeCode(t)
	outside := filepath.Join(lab.Home, "outside.txt")
	s.prompt(script("write "+outside+" x", "text Not outside."))
	ask, _ := wait[contract.PermissionRequest](s, nil)
	if !strings.Contains(ask.Title+ask.Description, outside) {
		t.Errorf("the ask names no path: %q %q", ask.Title, ask.Description)
	}
	s.decide(ask.Call, contract.RejectOnce)
	s.says("Not outside.")

	s.prompt(script("shell touch again.txt", "text Always."))
	ask, _ = wait[contract.PermissionRequest](s, nil)
	if !slices.ContainsFunc(ask.Options, func(o contract.PermissionOption) bool { return o.Decision == contract.AllowAlways }) {
		t.Errorf("options = %+v, want allow-always among them", ask.Options)
	}
	s.decide(ask.Call, contract.AllowAlways)
	s.says("Always.")
	s.prompt(script("shell touch again.txt", "text Remembered."))
	s.prompt(script("text In the queue."))
	answer, _ := wait[contract.PermissionResponse](s, nil)
	if answer.Decision != contract.AllowOnce && answer.Decision != contract.AllowAlways || answer.By == nil || answer.By.Resolver != contract.ByRemembered {
		t.Errorf("answered %+v by %+v, want allowed by what is remembered", answer, answer.By)
	}
	s.says("Remembered.")
	s.says("In the queue.")

	s.prompt(script("shell touch never.txt", "text Never said."))
	ask, _ = wait[contract.PermissionRequest](s, nil)
	s.send(contract.Abort{})
	answer, _ = wait[contract.PermissionResponse](s, nil)
	if answer.Call != ask.Call || answer.Decision != contract.RejectOnce || answer.By.Resolver != contract.ByTurnEnd {
		t.Errorf("answered %+v by %+v, want no because the turn ended", answer, answer.By)
	}
	if end := s.turnEnd(); end.Status != contract.TurnCancelled {
		t.Errorf("turn-end = %+v, want cancelled", end)
	}

	s.prompt(script("tool EnterPlanMode {}", "text Planning."))
	s.next("plan mode", func(e contract.Envelope) bool {
		if ev, ok := e.Event.(contract.PermissionRequest); ok {
			s.decide(ev.Call, contract.AllowOnce)
		}
		ev, ok := e.Event.(contract.AgentConfigurationChanged)
		if ok && (ev.PermissionMode != contract.ModePlan || e.Role != contract.RoleAgent) {
			t.Errorf("changed %+v by %s, want plan by the agent", ev, e.Role)
		}
		return ok
	})
	s.says("Planning.")
	s.finished(0)
	for _, name := range []string{outside, filepath.Join(lab.Dir, "never.txt"), filepath.Join(lab.Dir, ".claude", "settings.local.json")} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was made", filepath.Base(name))
		}
	}
}

// The CLI's own memory, when the user chose it: it gets the rules that it suggested,
// and asks no more.
func TestClaudeRemembers(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	config := filepath.Join(lab.Home, "agenthost.yaml")
	if err := os.WriteFile(config, []byte("permissions: {remember: agent}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, lab, "claude", "--config", config, "--on-ask", "wait")
	s.prompt(script("shell touch again.txt", "shell touch again.txt", "text Both."))
	ask, _ := wait[contract.PermissionRequest](s, nil)
	if len(ask.Always) == 0 || !strings.HasPrefix(ask.Always[0], "bash(touch") {
		t.Errorf("always = %q, want what the CLI suggests", ask.Always)
	}
	s.decide(ask.Call, contract.AllowAlways)
	s.says("Both.")
	if n := len(events[contract.PermissionRequest](s.finished(0))); n != 1 {
		t.Errorf("%d asks, want 1", n)
	}
	rules, err := os.ReadFile(filepath.Join(lab.Dir, ".claude", "settings.local.json"))
	if err != nil || !strings.Contains(string(rules), "Bash(touch") {
		t.Errorf("the CLI's rules = %s, %v", rules, err)
	}
}

// What the model's service refuses is a failed turn with a code, and the session
// goes on; what it mends itself is a notice.
func TestClaudeErrors(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		s, _ := claudeCode(t, "--env", "CLAUDE_CODE_MAX_RETRIES=1")
		for _, c := range []struct {
			act  string
			code contract.ErrorCode
		}{
			{"error 429 slow down", contract.CodeRateLimited},
			{"error 529 overloaded", contract.CodeOverloaded},
			{"error 400 nonsense", contract.CodeInvalidRequest},
			{`error 400 "prompt is too long: 300000 tokens > 200000 maximum"`, contract.CodeContextFull},
			{"drop", contract.CodeNetwork},
			{"error 401 bad key", contract.CodeAuthRequired},
		} {
			s.prompt(script(c.act))
			s.fails(c.code)
		}
		if text := said(s.finished(3)); text != "" {
			t.Errorf("the errors were also said: %q", text)
		}
	})
	for name, c := range map[string]struct {
		env  string
		code contract.ErrorCode
		exit int
	}{
		"not logged in": {"ANTHROPIC_API_KEY=", contract.CodeAuthRequired, 3},
		"network down":  {"ANTHROPIC_BASE_URL=http://127.0.0.1:9", contract.CodeNetwork, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := claudeCode(t, "--env", "CLAUDE_CODE_MAX_RETRIES=1", "--env", c.env)
			s.prompt("hello")
			s.fails(c.code)
			s.finished(c.exit)
		})
	}
	t.Run("mended", func(t *testing.T) {
		s, _ := claudeCode(t)
		s.prompt(script("error once 529 overloaded", "text It came back."))
		s.says("It came back.")
		s.prompt(script("text Half an answer ++ drop once ++ text The whole answer."))
		s.says("The whole answer.")
		envs := s.finished(0)
		retries := 0
		for _, ev := range events[contract.Service](envs) {
			if ev.Kind == contract.ServiceRetry {
				retries++
			}
		}
		if retries == 0 {
			t.Error("no retry was told")
		}
		if n := strings.Count(said(envs), "Half an answer"); n != 1 {
			t.Errorf("the answer that was cut and repeated is there %d times", n)
		}
	})
}

// The CLI's own limits end a turn.
func TestClaudeLimits(t *testing.T) {
	s, _ := claudeCode(t, "--allow", "bash(*)", "--max-turns", "2")
	s.prompt(script("shell echo 1", "shell echo 2", "shell echo 3", "text Never said."))
	if end := s.turnEnd(); end.Error == nil || end.Error.Code != contract.CodeMaxTurns {
		t.Errorf("turn-end = %+v %+v, want max-turns", end, end.Error)
	}
	s.finished(1)
	s, _ = claudeCode(t, "--allow", "bash(*)", "--max-budget", "0.0001")
	s.prompt(script("shell echo 1", "shell echo 2", "text Never said."))
	if end := s.turnEnd(); end.Error == nil || end.Error.Code != contract.CodeQuotaExceeded {
		t.Errorf("turn-end = %+v %+v, want quota-exceeded", end, end.Error)
	}
	s.finished(1)
}

// A compaction is told once, and its texts are nobody's.
func TestClaudeCompaction(t *testing.T) {
	s, _ := claudeCode(t)
	s.prompt(script("text Something to forget."))
	s.says("Something to forget.")
	s.prompt("/compact keep the important")
	wait(s, func(ev contract.Service) bool { return ev.Kind == contract.ServiceCompaction })
	s.turnEnd()
	s.prompt(script("text After it."))
	s.says("After it.")
	envs := s.finished(0)
	compactions, prompts := 0, 0
	for _, e := range envs {
		switch ev := e.Event.(type) {
		case contract.Service:
			if ev.Kind == contract.ServiceCompaction {
				compactions++
			}
		case contract.Text:
			if e.Role == contract.RoleUser {
				prompts++
			}
		}
	}
	if compactions != 1 || prompts != 3 {
		t.Errorf("%d compactions and %d texts of the user, want 1 and 3", compactions, prompts)
	}
}

// A picture and a file go with a prompt.
func TestClaudeFiles(t *testing.T) {
	lab := agentlab.New(t)
	// The smallest PNG: one pixel.
	const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xcfP\x0f\x00\x03\x86\x01\x80Z4}k\x00\x00\x00\x00IEND\xaeB`\x82"
	for name, data := range map[string]string{"dot.png": png, "notes.txt": "remember the milk\n"} {
		if err := os.WriteFile(filepath.Join(lab.Dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, lab, "claude", "-p", script("text I see."), "--image", filepath.Join(lab.Dir, "dot.png"), "--file", filepath.Join(lab.Dir, "notes.txt"))
	s.says("I see.")
	s.finished(0)
	if !modelHeard(lab, "iVBORw0KGgo") {
		t.Error("the model did not get the picture")
	}
	if !modelHeard(lab, "remember the milk") {
		t.Error("the model did not get the file")
	}
}

// 200 turns with a new process in the middle: nothing is lost, nothing is there
// twice.
func TestClaudeLongSession(t *testing.T) {
	if testing.Short() {
		t.Skip("200 turns take a minute")
	}
	s, lab := claudeCode(t)
	const half = 100
	turn := func(i int) {
		s.prompt(script(fmt.Sprintf("text answer number %d.", i)))
		end := s.says(fmt.Sprintf("answer number %d.", i))
		// Each turn is one request of 100 tokens in and 10 out, whatever was before.
		if u := end.Usage; u == nil || u.InputTokens != 100 || u.OutputTokens != 10 || u.Cost == nil || *u.Cost <= 0 || *u.Cost > 0.01 {
			t.Errorf("turn %d used %+v", i, u)
		}
	}
	for i := range half {
		turn(i)
	}
	s.finished(0)
	s = start(t, lab, "claude", "--on-ask", "wait", "--resume", "last", "--from", "0")
	for i := range half {
		turn(half + i)
	}
	envs := s.finished(0)
	eachOnce(t, envs, 2*half)
}

// eachOnce wants a stream of turns, each with one prompt and the answer that has its number,
// and nothing twice.
func eachOnce(t *testing.T, envs []contract.Envelope, turns int) {
	t.Helper()
	answers := said(envs)
	for i := range turns {
		if n := strings.Count(answers, fmt.Sprintf("answer number %d.", i)); n != 1 {
			t.Errorf("answer %d is there %d times", i, n)
		}
	}
	prompts, ids := 0, map[string]bool{}
	for _, e := range envs {
		ids[e.ID] = true
		if _, ok := e.Event.(contract.Text); ok && e.Role == contract.RoleUser {
			prompts++
		}
	}
	if starts, ends := len(events[contract.TurnStart](envs)), len(events[contract.TurnEnd](envs)); starts != turns || ends != turns || prompts != turns {
		t.Errorf("%d prompts, %d turn-starts and %d turn-ends, want %d of each", prompts, starts, ends, turns)
	}
	if len(ids) != len(envs) {
		t.Errorf("%d envelopes have %d ids", len(envs), len(ids))
	}
}

// killCLI ends the CLI's own process, and nothing else, with SIGKILL.
func killCLI(t *testing.T, lab *agentlab.Lab) {
	t.Helper()
	all, err := lab.Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range all {
		if len(p.Args) > 1 && strings.HasPrefix(filepath.Base(p.Args[0]), "claude") && slices.Contains(p.Args, "stream-json") {
			n++
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n == 0 {
		t.Fatalf("the CLI is not among %v", all)
	}
}

// The CLI is killed at ten points of a turn, and at three that are in none: each turn
// that began has one end, nothing of the session is left, and the next prompt goes on.
func TestClaudeKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("ten starts of the CLI")
	}
	asked := func(s *session) { wait[contract.PermissionRequest](s, nil) }
	for _, c := range []struct {
		name, script string
		until        func(*session)
		// over says that the turn has ended before the kill.
		over bool
	}{
		{"before the first prompt", "", nil, true},
		{"the model is silent", "hang", modelAsked(1), false},
		{"in a thought", "think Half a thou ++ hang", modelAsked(1), false},
		{"in a text", "text Half an ans ++ hang", modelAsked(1), false},
		{"in a tool", "shell touch started; sleep 765", toolStarts, false},
		{"in one of two tools", "shell touch one ++ shell touch started; sleep 765", toolStarts, false},
		{"with a message for the turn", "shell touch started; sleep 765", steerTaken, false},
		{"in an ask", "write asked.txt x", asked, false},
		{"in a retry", "error 529 overloaded", retryTold, false},
		{"after a tool", "shell touch started ;; hang", modelAsked(2), false},
		{"in a sub-agent", agentScript("sub", false, "shell touch started; sleep 765"), toolStarts, false},
		{"in background work", agentScript("bg", true, "shell touch started; sleep 765") + " ;; text over", func(s *session) { s.says("over"); toolStarts(s) }, true},
		{"after a turn", "text over", func(s *session) { s.says("over") }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, lab := claudeCode(t, "--allow", "bash(*)")
			want := 1
			if c.script == "" {
				deadline(t, "the CLI runs", func() bool { return s.running() })
				want = 0
			} else {
				s.prompt("SCRIPT: " + c.script)
				c.until(s)
				// The CLI saves a session some 100 ms after its first turn began; one that
				// is killed before that cannot be gone on with.
				saved := filepath.Join(lab.Home, ".claude", "projects", "*", "*.jsonl")
				deadline(t, "the session is saved", func() bool {
					files, err := filepath.Glob(saved)
					return err == nil && len(files) > 0
				})
			}
			killCLI(t, lab)
			if !c.over {
				if end := s.turnEnd(); end.Status != contract.TurnFailed || end.Error == nil || end.Error.Code != contract.CodeAgentExited {
					t.Errorf("turn-end = %+v %+v, want failed by agent-exited", end, end.Error)
				}
			}
			// The CLI's tools are in sessions of their own, which its death leaves alone.
			s.gone("sleep", "765")
			if c.script != "" {
				s.goesOn()
				want++
				s.stdin.Close()
			}
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

// steers counts the messages for a running turn.
func (s *session) steers() int {
	n := 0
	for _, ev := range events[contract.Text](s.envs) {
		if ev.Steer {
			n++
		}
	}
	return n
}

// unreached counts what was told of messages that no turn took up.
func (s *session) unreached() int {
	n := 0
	for _, ev := range events[contract.Service](s.envs) {
		if strings.Contains(ev.Text, "did not reach the agent") {
			n++
		}
	}
	return n
}

// goesOn prompts until a turn completes. A prompt that was on its way to the dead
// process is a failed turn; no more than one can be.
func (s *session) goesOn() {
	s.t.Helper()
	for range 2 {
		s.prompt(script("text Back again."))
		end := s.turnEnd()
		if end.Status == contract.TurnCompleted {
			return
		}
		if end.Error == nil || end.Error.Code != contract.CodeAgentExited {
			s.t.Errorf("turn-end = %+v %+v, want completed, or once agent-exited", end, end.Error)
		}
	}
	s.t.Error("the session does not go on")
}

// running reports whether the CLI runs.
func (s *session) running() bool {
	all, err := s.lab.Leftovers()
	return err == nil && slices.ContainsFunc(all, func(p agentlab.Process) bool { return slices.Contains(p.Args, "stream-json") })
}
