package policy

import (
	"encoding/json/jsontext"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

func TestModes(t *testing.T) {
	root := tree(t, "app/src/a.go", "app/.git/config", "etc/x", "app/out -> $ROOT/etc")
	p, err := Parse([]byte(`
rules:
  - deny: bash(rm -rf /**)
  - deny: edit(**/.env*)
  - deny: web-fetch(evil.com)
  - ask: edit(migrations/**)
  - allow: bash(ls *)
  - allow: plan
  - allow: exit-plan-mode
  - allow: ask-user
`), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	const (
		def    = contract.ModeDefault
		edits  = contract.ModeAcceptEdits
		plan   = contract.ModePlan
		bypass = contract.ModeBypassPermissions
	)
	for _, tt := range []struct {
		mode       contract.PermissionMode
		tool, args string
		want       Verdict
	}{
		// acceptEdits: edits in the session's directory, but for what runs something.
		{def, "edit", `{"path":"src/a.go"}`, Ask},
		{edits, "edit", `{"path":"src/a.go"}`, Allow},
		{edits, "write", `{"path":"new"}`, Allow},
		{edits, "notebook-edit", `{"notebook_path":"n.ipynb"}`, Allow},
		{edits, "edit", `{"path":"migrations/1"}`, Allow},
		{edits, "edit", `{"path":"../x"}`, Ask},
		{edits, "edit", `{"path":"/etc/x"}`, Ask},
		{edits, "edit", `{"path":"out/x"}`, Ask},
		{edits, "edit", `{"path":".git/hooks/pre-commit"}`, Ask},
		{edits, "edit", `{"path":".GIT/config"}`, Ask},
		{edits, "edit", `{"path":".claude/settings.json"}`, Ask},
		{edits, "edit", `{"path":".vscode/tasks.json"}`, Ask},
		{edits, "edit", `{"path":".envrc"}`, Deny},
		{edits, "edit", `{"path":"sub/.husky/x"}`, Ask},
		{edits, "edit", `{"path":".cargo/config.toml"}`, Ask},
		{edits, "edit", `{"path":"sub/.config/fish/config.fish"}`, Ask},
		{edits, "edit", `{"path":".exrc"}`, Ask},
		{edits, "edit", `{"path":".env"}`, Deny},
		{edits, "edit", `{}`, Ask},
		{edits, "edit", `{"path":""}`, Ask},
		{edits, "edit", `{"path":"a","filePath":"/etc/x"}`, Ask},
		{edits, "delete", `{"path":"a"}`, Ask},
		{edits, "move", `{"source":"a","destination":"b"}`, Ask},
		{edits, "bash", `{"command":"rm x"}`, Ask},
		{edits, "bash", `{"command":"ls"}`, Allow},
		{edits, "read", `{"path":"a"}`, Ask},
		{edits, "edit", `{"patch":"*** Update File: a\n*** Update File: ../b\n"}`, Ask},
		// plan: reading only.
		{plan, "read", `{"path":"src/a.go"}`, Allow},
		{plan, "grep", `{"pattern":"x"}`, Allow},
		{plan, "glob", `{"pattern":"**"}`, Allow},
		{plan, "read", `{"path":"/etc/passwd"}`, Ask},
		{plan, "read", `{"path":"out/x"}`, Ask},
		{plan, "read", `{}`, Ask},
		{plan, "todo", `{}`, Allow},
		{plan, "bash", `{"command":"ls"}`, Deny},
		{plan, "edit", `{"path":"src/a.go"}`, Deny},
		{plan, "write", `{"path":"x"}`, Deny},
		{plan, "mcp/x/y", `{}`, Deny},
		{plan, "anything", `{}`, Deny},
		{plan, "web-fetch", `{"url":"https://example.com"}`, Ask},
		{plan, "web-fetch", `{"url":"https://evil.com"}`, Deny},
		{plan, "task", `{}`, Ask},
		{plan, "ask-user", `{}`, Allow},
		// Leaving plan mode is a person's decision, whatever rules say.
		{plan, "plan", `{}`, Ask},
		{plan, "exit-plan-mode", `{}`, Ask},
		{def, "plan", `{}`, Allow},
		// bypassPermissions: everything but deny rules, and what may fall under one.
		{bypass, "bash", `{"command":"rm -rf build"}`, Allow},
		{bypass, "bash", `{"command":"curl x | sh"}`, Ask},
		{bypass, "bash", `{"command":"echo $HOME"}`, Allow},
		{bypass, "bash", `{"command":"rm -rf $X"}`, Ask},
		{bypass, "bash", `{"command":"rm -r $X"}`, Ask},
		{bypass, "bash", `{"command":"rm $X"}`, Ask},
		{bypass, "bash", `{"command":"ls $X"}`, Allow},
		{bypass, "bash", `{"command":"$CMD"}`, Ask},
		{bypass, "bash", `{"command":"eval x"}`, Ask},
		{bypass, "bash", `{"command":"rm -rf /etc"}`, Deny},
		{bypass, "bash", `{"command":"git status ("}`, Ask},
		{bypass, "bash", `{"command":"ls > $X"}`, Ask},
		{bypass, "bash", `{"command":"cd $X && rm -rf etc"}`, Ask},
		{bypass, "bash", `{"command":"FOO=1 make"}`, Allow},
		{bypass, "edit", `{"path":"/etc/x"}`, Allow},
		{bypass, "edit", `{"path":".env"}`, Deny},
		{bypass, "edit", `{}`, Ask},
		{bypass, "read", `{}`, Ask},
		{bypass, "read", `{"path":" "}`, Ask},
		{bypass, "web-fetch", `{"url":""}`, Ask},
		{bypass, "bash", `{"command":""}`, Ask},
		{bypass, "web-fetch", `{"url":"http://2130706433"}`, Ask},
		{bypass, "mcp/x/y", `{}`, Allow},
		{bypass, "plan", `{}`, Allow},
		{bypass, "anything", `{}`, Allow},
		{bypass, "bash", `{"command":"ls | xargs rm -rf"}`, Ask},
	} {
		q := Request{Tool: tt.tool, Args: jsontext.Value(tt.args), Cwd: root + "/app"}
		if got := Explain(p, q, tt.mode); got.Verdict != tt.want {
			t.Errorf("%s: %s %s = %s, want %s\n%s", tt.mode, tt.tool, tt.args, got.Verdict, tt.want, text(got))
		}
	}
}

// Without deny rules there is nothing that bypassPermissions could hurt.
func TestBypassWithoutDenyRules(t *testing.T) {
	p := Join()
	for _, cmd := range []string{"curl x | sh", "$CMD", "eval x", "git status ("} {
		if got := Explain(p, command(t, cmd), contract.ModeBypassPermissions); got.Verdict != Allow {
			t.Errorf("%q = %s, want allow\n%s", cmd, got.Verdict, text(got))
		}
	}
}

// A question is for a person: no rule and no mode answers, but a deny rule.
func TestQuestions(t *testing.T) {
	for _, mode := range []contract.PermissionMode{contract.ModeDefault, contract.ModeAcceptEdits, contract.ModePlan, contract.ModeBypassPermissions} {
		for _, rule := range []RuleConfig{{Allow: "*"}, {Allow: "ask-user"}, {Allow: "mcp(x/*)"}} {
			p, err := Compile(Config{Rules: []RuleConfig{rule}}, testEnv)
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range []string{"ask-user", "mcp/x/y", "edit"} {
				got := Explain(p, Request{Tool: tool, Args: jsontext.Value(`{"path":"a"}`), Cwd: "/w", Question: true}, mode)
				if got.Verdict != Ask {
					t.Errorf("%s, %v: question of %s = %s, want ask", mode, rule, tool, got.Verdict)
				}
			}
		}
		p, err := FromFlags(Flags{Deny: []string{"ask-user"}}, testEnv)
		if err != nil {
			t.Fatal(err)
		}
		if got := Explain(p, Request{Tool: "ask-user", Cwd: "/w", Question: true}, mode); got.Verdict != Deny {
			t.Errorf("%s: question that a rule denies = %s, want deny", mode, got.Verdict)
		}
	}
}

func TestParseMode(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want contract.PermissionMode
		ok   bool
	}{
		{"", contract.ModeDefault, true},
		{"default", contract.ModeDefault, true},
		{"acceptEdits", contract.ModeAcceptEdits, true},
		{"plan", contract.ModePlan, true},
		{"bypassPermissions", contract.ModeBypassPermissions, true},
		{"yolo", "", false},
		{"Default", "", false},
		{"bypass", "", false},
		{"null", "", false},
		{"auto", "", false},
	} {
		got, err := ParseMode(tt.in)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("ParseMode(%q) = %q, %v, want %q, ok %v", tt.in, got, err, tt.want, tt.ok)
		}
	}
}
