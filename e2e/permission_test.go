package e2e

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/agentlab"
	"github.com/agenthost/agenthost/permission"
)

// asker is what the tests know of how a real agent asks. A reason says why it cannot
// do what the others can; then the refusal is checked.
type asker struct {
	agent string
	flags []string
	// noMessage and noEdits: the agent takes no feedback, no edited arguments.
	noMessage, noEdits string
	// endsOnReject: the agent itself ends the turn when a tool is rejected.
	endsOnReject bool
	// pair makes the model want two things at once that are both asked about. With
	// inTurn the agent asks about them one after the other.
	pair   func(lab *agentlab.Lab) string
	inTurn string
	// heeds: told that a rule may be about something that it holds to be harmless, the
	// agent asks. inside makes the model try that in a sub-agent, where nobody can be
	// asked.
	heeds  bool
	inside string
	// question makes the model ask a person.
	question, noQuestion string
	// prepare changes the lab before the session starts.
	prepare func(t *testing.T, lab *agentlab.Lab)
	// process reports whether a process of these arguments is the agent.
	process func(args []string) bool
}

const (
	claudeQuestion = `tool AskUserQuestion {"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}`
	codexQuestion  = `tool request_user_input {"questions":[{"id":"colour","question":"Which colour?","header":"Colour","options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}`
	acpNoEdits     = "ACP's answer to an ask is one of its options"
)

func askers() []asker {
	twoCommands := func(*agentlab.Lab) string { return "shell touch one.txt ++ shell touch two.txt" }
	// Of commands that change something Claude Code runs one after the other.
	twoFiles := func(lab *agentlab.Lab) string {
		return fmt.Sprintf("read %s ++ read %s", filepath.Join(lab.Home, "one.txt"), filepath.Join(lab.Home, "two.txt"))
	}
	return []asker{
		{
			agent: "claude", pair: twoFiles, question: claudeQuestion, heeds: true,
			process: func(args []string) bool { return slices.Contains(args, "stream-json") },
		},
		{
			agent: "codex", flags: codexFlags("--model", "gpt-5.5"), pair: twoCommands, question: codexQuestion,
			noMessage: "Codex's answer to an approval has no room for one", noEdits: "Codex's answer to an approval has no room for them",
			prepare: codexMayAsk,
			process: func(args []string) bool { return slices.Contains(args, "app-server") },
		},
		{
			agent: "gemini", pair: twoCommands, noMessage: acpNoEdits, noEdits: acpNoEdits,
			noQuestion: "it has no tool for it over ACP", inTurn: "it asks about one tool after the other", heeds: true,
			inside: `tool invoke_agent {"agent_name":"codebase_investigator","prompt":"SCRIPT: ` +
				`tool read_file {\"file_path\":\"hidden.key\"} ;; tool complete_task {\"result\":\"x\"}"}`,
			process: func(args []string) bool { return slices.Contains(args, "--acp") },
		},
		{
			agent: "opencode", pair: twoCommands, noMessage: acpNoEdits, noEdits: acpNoEdits, endsOnReject: true,
			noQuestion: "it has no tool for it over ACP", inTurn: "the second ask comes when the first is answered",
			process: func(args []string) bool { return slices.Contains(args, "acp") },
		},
		{
			agent: "claude-acp", pair: twoFiles, noMessage: acpNoEdits, noEdits: acpNoEdits,
			noQuestion: "it takes the tool away",
			process: func(args []string) bool {
				return slices.ContainsFunc(args, func(s string) bool { return strings.Contains(s, "claude-agent-acp") })
			},
		},
	}
}

// codexMayAsk gives Codex its tool for questions also outside of plan mode.
func codexMayAsk(t *testing.T, lab *agentlab.Lab) {
	t.Helper()
	path := filepath.Join(lab.Home, ".codex", "config.toml")
	data, err := os.ReadFile(path)
	if err != nil || strings.Count(string(data), "[features]\n") != 1 {
		t.Fatalf("want a table of features in %s: %v", data, err)
	}
	text := strings.Replace(string(data), "[features]\n", "[features]\ndefault_mode_request_user_input = true\n", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Whatever a person may say to an ask, with every real agent: each row is one
// session, so that an agent is started twice.
func TestPermissions(t *testing.T) {
	for _, a := range askers() {
		t.Run(a.agent, func(t *testing.T) {
			t.Parallel()
			lab := agentlab.New(t)
			for _, name := range []string{"one.txt", "two.txt"} {
				if err := os.WriteFile(filepath.Join(lab.Home, name), []byte(name), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if a.prepare != nil {
				a.prepare(t, lab)
			}
			s := start(t, lab, a.agent, append(a.flags, "--on-ask", "wait", "--deny", "bash(touch forbidden*)", "--deny", "bash(ls *)", "--deny", "read(**/hidden*)")...)
			p := &asking{asker: a, session: s, t: t}
			p.allow()
			p.reject()
			p.always()
			p.edit()
			p.both()
			p.ask()
			p.denied()
			p.harmless()
			p.abort()
			s.finish(0)
			noneLeft(t, lab)

			policy := filepath.Join(lab.Home, "policy.yaml")
			if err := os.WriteFile(policy, []byte("timeout: 5s\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			p.session = start(t, lab, a.agent, append(a.flags, "--on-ask", "wait", "--policy", policy)...)
			p.deadline()
			p.death()
			p.stdin.Close()
			<-p.done
			noneLeft(t, lab)
		})
	}
}

// asking is one agent being asked for things.
type asking struct {
	asker
	*session
	t *testing.T
}

// want prompts for a command and waits for the ask about it.
func (p *asking) want(steps ...string) contract.PermissionRequest {
	p.t.Helper()
	p.prompt(script(steps...))
	return p.nextAsk()
}

// nextAsk waits for the next ask.
func (p *asking) nextAsk() contract.PermissionRequest {
	p.t.Helper()
	ask, _ := wait[contract.PermissionRequest](p.session, nil)
	return ask
}

// response waits for the answer to an ask.
func (p *asking) response(call string) contract.PermissionResponse {
	p.t.Helper()
	r, _ := wait(p.session, func(r contract.PermissionResponse) bool { return r.Call == call })
	return r
}

// goesOn waits for what the agent says next, and the end of its turn.
func (p *asking) goesOn(rejected bool, text string) {
	p.t.Helper()
	if !rejected || !p.endsOnReject {
		wait(p.session, func(ev contract.Text) bool { return strings.Contains(ev.Text, text) })
	}
	if end := p.turnEnd(); end.Status != contract.TurnCompleted {
		p.t.Errorf("the turn of %q ended %+v %+v", text, end, end.Error)
	}
}

// refused sends a decision that cannot be taken, and waits for why.
func (p *asking) refused(r contract.PermissionResponse, why error) {
	p.t.Helper()
	n := strings.Count(p.errs.String(), why.Error())
	p.send(r)
	deadline(p.t, "it is said why: "+why.Error(), func() bool { return strings.Count(p.errs.String(), why.Error()) > n })
}

func (p *asking) exists(name string, want bool) {
	p.t.Helper()
	if _, err := os.Stat(filepath.Join(p.lab.Dir, name)); (err == nil) != want {
		p.t.Errorf("%s: exists %v, want %v", name, err == nil, want)
	}
}

// allow: once, by the nonce that was shown. What is decided stays decided.
func (p *asking) allow() {
	ask := p.want("shell touch allowed.txt", "text It ran.")
	if ask.ToolName != "bash" || ask.Nonce == "" || !slices.Equal(ask.Patterns, []string{"touch allowed.txt"}) || !slices.Equal(ask.Always, ask.Patterns) {
		p.t.Errorf("ask = %+v, want what it covers, and a nonce", ask)
	}
	p.exists("allowed.txt", false)
	p.refused(contract.PermissionResponse{Call: ask.Call, Decision: contract.AllowOnce, Nonce: "an older showing"}, permission.ErrStale)
	p.refused(contract.PermissionResponse{Call: ask.Call, Decision: contract.AllowOnce, Answers: jsontext.Value(`{"x":1}`)}, permission.ErrNotTaken)
	p.exists("allowed.txt", false)
	const id = "tz4a98xxat96iws9zmbrgj3a"
	line := fmt.Sprintf(`{"role":"user","id":%q,"ev":{"t":"permission-response","call":%s,"decision":"allow-once","nonce":%q}}`+"\n", id, quoted(p.t, ask.Call), ask.Nonce)
	for range 2 { // a replayed decision is no error and counts once
		if _, err := p.stdin.WriteString(line); err != nil {
			p.t.Fatal(err)
		}
	}
	if r := p.response(ask.Call); r.Decision != contract.AllowOnce || r.By == nil || r.By.Resolver != contract.ByClient {
		p.t.Errorf("response = %+v", r)
	}
	p.goesOn(false, "It ran.")
	p.exists("allowed.txt", true)
	p.late(ask.Call)
	if strings.Contains(p.errs.String(), id) {
		p.t.Errorf("the replayed decision was refused: %s", p.errs)
	}
}

// late gives a decision about what is decided.
func (p *asking) late(call string) {
	p.t.Helper()
	n := strings.Count(p.errs.String(), "\n")
	p.decide(call, contract.AllowOnce)
	deadline(p.t, "a late decision is refused", func() bool { return strings.Count(p.errs.String(), "\n") > n })
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// reject: the agent hears why, where it can, and goes on.
func (p *asking) reject() {
	const why = "please use another name"
	ask := p.want("shell touch rejected.txt", "text I go on.")
	r := contract.PermissionResponse{Call: ask.Call, Decision: contract.RejectOnce, Message: why}
	if p.noMessage != "" {
		p.refused(r, permission.ErrNotTaken)
		r.Message = ""
	}
	p.send(r)
	p.response(ask.Call)
	p.goesOn(true, "I go on.")
	p.exists("rejected.txt", false)
	if p.noMessage == "" && !modelHeard(p.lab, why) {
		p.t.Error("the model did not hear why")
	}
}

// always: the same is not asked again, something else is.
func (p *asking) always() {
	ask := p.want("shell touch always.txt", "text One.")
	p.decide(ask.Call, contract.AllowAlways)
	p.response(ask.Call)
	p.goesOn(false, "One.")
	p.exists("always.txt", true)
	ask = p.want("shell touch always.txt", "text Two.")
	if r := p.response(ask.Call); r.Decision != contract.AllowOnce || r.By == nil || r.By.Resolver != contract.ByRemembered || ask.Nonce == "" {
		p.t.Errorf("the second time: %+v by %+v, want allow-once by what was remembered", r, r.By)
	}
	p.goesOn(false, "Two.")
	ask = p.want("shell touch always.txt always2.txt", "text Three.")
	p.exists("always2.txt", false)
	p.decide(ask.Call, contract.RejectOnce)
	if r := p.response(ask.Call); r.By == nil || r.By.Resolver != contract.ByClient {
		p.t.Errorf("something else: %+v by %+v, want a person's decision", r, r.By)
	}
	p.goesOn(true, "Three.")
	p.exists("always2.txt", false)
}

// edit: other arguments, where the agent takes them; never ones that a rule denies.
func (p *asking) edit() {
	ask := p.want("shell touch original.txt", "text Edited.")
	edited := contract.PermissionResponse{Call: ask.Call, Decision: contract.AllowOnce, Args: jsontext.Value(`{"command":"touch edited.txt","description":"x"}`)}
	if p.noEdits != "" {
		p.refused(edited, permission.ErrNotTaken)
		p.decide(ask.Call, contract.RejectOnce)
		p.response(ask.Call)
		p.goesOn(true, "Edited.")
		p.exists("original.txt", false)
		p.exists("edited.txt", false)
		return
	}
	forbidden := edited
	forbidden.Args = jsontext.Value(`{"command":"touch forbidden.txt"}`)
	p.refused(forbidden, &permission.ErrDenied{Rule: "deny: bash(touch forbidden*)"})
	p.send(edited)
	p.response(ask.Call)
	p.goesOn(false, "Edited.")
	p.exists("original.txt", false)
	p.exists("edited.txt", true)
	p.exists("forbidden.txt", false)
}

// both: two asks that are open at once, answered the other way round.
func (p *asking) both() {
	first := p.want(p.pair(p.lab), "text Both are done.")
	if p.inTurn != "" {
		p.decide(first.Call, contract.AllowOnce)
		p.response(first.Call)
		second := p.nextAsk()
		p.decide(second.Call, contract.AllowOnce)
		p.goesOn(false, "Both are done.")
		return
	}
	second := p.nextAsk()
	if first.Call == second.Call || first.Nonce == second.Nonce {
		p.t.Errorf("two asks of one call: %+v and %+v", first, second)
	}
	for _, ask := range []contract.PermissionRequest{second, first} {
		p.decide(ask.Call, contract.AllowOnce)
		p.response(ask.Call)
	}
	p.goesOn(false, "Both are done.")
}

// ask: the agent's question to a person.
func (p *asking) ask() {
	if p.noQuestion != "" {
		return // that an ask takes no answers is checked by allow
	}
	ask := p.want(p.question, "text Thank you.")
	if ask.Question == nil || len(ask.Question.Questions) != 1 || len(ask.Question.Questions[0].Options) < 2 {
		p.t.Fatalf("ask = %+v, want a question with two options", ask)
	}
	p.send(contract.PermissionResponse{
		Call: ask.Call, Decision: contract.AllowOnce, Answers: fmt.Appendf(nil, `{%q:"Blue"}`, ask.Question.Questions[0].ID),
	})
	if r := p.response(ask.Call); !strings.Contains(string(r.Answers), "Blue") {
		p.t.Errorf("response = %+v, want the answer", r)
	}
	p.goesOn(false, "Thank you.")
	if !modelHeard(p.lab, "Blue") {
		p.t.Error("the model did not hear the answer")
	}
}

// denied: a rule answers, without a person.
func (p *asking) denied() {
	ask := p.want("shell touch forbidden.txt", "text Denied.")
	if r := p.response(ask.Call); r.Decision.Allows() || r.By == nil || r.By.Resolver != contract.ByPolicy || !strings.Contains(r.By.Rule, "forbidden") {
		p.t.Errorf("response = %+v by %+v, want the rule", r, r.By)
	}
	p.goesOn(true, "Denied.")
	p.exists("forbidden.txt", false)
}

// harmless: a rule holds for what the agent would run without asking, too.
func (p *asking) harmless() {
	if !p.heeds {
		return // it is told when a rule was broken: docs/permissions.md
	}
	const secret = "kept by a rule"
	hidden := filepath.Join(p.lab.Dir, "hidden.key")
	if err := os.WriteFile(hidden, []byte(secret), 0o600); err != nil {
		p.t.Fatal(err)
	}
	for _, c := range []struct{ step, rule string }{
		{"shell ls", "bash(ls *)"}, {"read " + hidden, "read(**/hidden*)"}, {"shell cat hidden.key", "read(**/hidden*)"},
	} {
		ask := p.want(c.step, "text Not "+c.step+".")
		if r := p.response(ask.Call); r.Decision.Allows() || r.By == nil || r.By.Resolver != contract.ByPolicy || !strings.Contains(r.By.Rule, c.rule) {
			p.t.Errorf("%s: %+v by %+v, want the rule", c.step, r, r.By)
		}
		p.goesOn(true, "Not "+c.step+".")
	}
	if p.inside != "" {
		p.prompt(script(p.inside, "text Back again."))
		p.goesOn(false, "Back again.")
	}
	if modelHeard(p.lab, secret) {
		p.t.Error("the model heard what a rule keeps from it")
	}
}

// abort: the open ask is settled with the turn, and cannot be allowed any more.
func (p *asking) abort() {
	ask := p.want("shell touch aborted.txt", "text Never said.")
	p.send(contract.Abort{})
	if r := p.response(ask.Call); r.Decision != contract.RejectOnce || r.By == nil || r.By.Resolver != contract.ByTurnEnd {
		p.t.Errorf("response = %+v by %+v, want reject-once by the end of the turn", r, r.By)
	}
	if end := p.turnEnd(); end.Status != contract.TurnCancelled {
		p.t.Errorf("turn-end = %+v, want cancelled", end)
	}
	p.late(ask.Call)
	p.prompt(script("text Still here."))
	p.goesOn(false, "Still here.")
	p.exists("aborted.txt", false)
}

// deadline: nobody answers in time.
func (p *asking) deadline() {
	ask := p.want("shell touch unanswered.txt", "text Nobody came.")
	if r := p.response(ask.Call); r.Decision != contract.RejectOnce || r.By == nil || r.By.Resolver != contract.ByTimeout {
		p.t.Errorf("response = %+v by %+v, want reject-once by the deadline", r, r.By)
	}
	p.goesOn(true, "Nobody came.")
	p.exists("unanswered.txt", false)
}

// death: the agent dies while it asks.
func (p *asking) death() {
	ask := p.want("shell touch dead.txt", "text Never said.")
	all, err := p.lab.Leftovers()
	if err != nil {
		p.t.Fatal(err)
	}
	killed := 0
	for _, x := range all {
		if p.process(x.Args) && !slices.Contains(x.Args, "run") {
			killed++
			if err := syscall.Kill(x.PID, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
				p.t.Fatal(err)
			}
		}
	}
	if killed == 0 {
		p.t.Fatalf("the agent is not among %v", all)
	}
	r := p.response(ask.Call)
	if r.Decision != contract.RejectOnce || r.By == nil || r.By.Resolver != contract.ByExit {
		p.t.Errorf("response = %+v by %+v, want reject-once by the exit", r, r.By)
	}
	if end := p.turnEnd(); end.Status != contract.TurnFailed || end.Error == nil || end.Error.Code != contract.CodeAgentExited {
		p.t.Errorf("turn-end = %+v %+v, want failed by agent-exited", end, end.Error)
	}
	p.exists("dead.txt", false)
}
