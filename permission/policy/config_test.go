package policy

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/contract"
)

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct {
		yaml string
		want []string // parts of the error
	}{
		{"", []string{"want a policy, got an empty file"}},
		{"rules: [", []string{"reading YAML"}},
		{"[]", []string{"want a mapping, got a list"}},
		{"mode: yolo", []string{`mode: want mode default, acceptEdits, plan or bypassPermissions, got "yolo"`}},
		{"mode: bypassPermissions", []string{"mode: want allowBypass: true"}},
		{"mode: ", []string{"line 1: mode: want text, got nothing"}},
		{"allowBypass: yes please", []string{"line 1: allowBypass: want true or false"}},
		{"timeout: soon", []string{`timeout: want a duration such as 10m, or 0 for ever, got "soon"`}},
		{"timeout: -1s", []string{"timeout: want a duration"}},
		{"onAsk: maybe", []string{"onAsk: want wait, deny, fail or prompt"}},
		{"remember: never", []string{"remember: want host or agent"}},
		{"ruels: []", []string{`line 1: ruels: want one of`, `did you mean "rules"`}},
		{"mode: plan\nmode: default", []string{"line 2: mode: want it once"}},
		{"rules: {}", []string{"rules: want a list of rules, got a mapping"}},
		{"rules: [bash]", []string{"rules[0]: want a mapping"}},
		{"rules: [{}]", []string{"rules[0]: want allow, ask or deny, got none"}},
		{"rules: [{allow: read, deny: read}]", []string{"rules[0]: want one of allow, ask and deny, got allow and deny"}},
		{"rules: [{alow: read}]", []string{"rules[0].alow", `did you mean "allow"`}},
		{"permissions:\n  rules:\n    - {allow: read}\n    - {allow: 'bash(git'}", []string{`permissions.rules[1].allow: want a closing ) at the end, got "bash(git"`}},
		{"rules: [{allow: ''}]", []string{"rules[0].allow: want TOOL or TOOL(PATTERN, …), got nothing"}},
		{"rules: [{allow: Bash(ls)}]", []string{`want a tool's name in lower case`, `did you mean "bash"`}},
		{"rules: [{allow: WebFetch}]", []string{`did you mean "web-fetch"`}},
		{"rules: [{allow: 'bash()'}]", []string{"want a pattern, got an empty one"}},
		{"rules: [{allow: 'bash(ls,)'}]", []string{"want a pattern, got an empty one"}},
		{"rules: [{allow: 'bash(ls; rm)'}]", []string{"want one simple command", "give each command its own rule"}},
		{"rules: [{allow: 'bash(ls | head)'}]", []string{"want one simple command"}},
		{"rules: [{allow: 'bash(ls > x)'}]", []string{"want one simple command"}},
		{"rules: [{allow: 'bash(ls $(x))'}]", []string{"want one simple command"}},
		{"rules: [{allow: 'bash(ls `x`)'}]", []string{"want one simple command"}},
		{"rules: [{allow: 'bash(echo \"x)'}]", []string{`want a closing "`}},
		{"rules: [{allow: 'read([)'}]", []string{"want a glob"}},
		{"rules: [{allow: 'read(../x)'}]", []string{"want a path that does not begin above"}},
		{"rules: [{allow: 'read(x/${cwd}/y)'}]", []string{"want ${cwd} at the beginning"}},
		{"rules: [{allow: 'read(${home}/y)'}]", []string{"want ${cwd} at the beginning"}},
		{"rules: [{allow: 'web-fetch(https://)'}]", []string{"got no host"}},
		{"rules: [{allow: 'web-fetch(a.*.com)'}]", []string{"want * only as the first label"}},
		{"rules: [{allow: 'web-fetch(ftp://x)'}]", []string{"want http or https"}},
		{"rules: [{allow: 'web-fetch(u@x.com)'}]", []string{"without user"}},
		{"rules: [{allow: 'mcp(github)'}]", []string{"want SERVER/TOOL"}},
		{"rules: [{allow: 'mcp/github/x(y)'}]", []string{"want mcp(github/x)"}},
		{"rules: [{allow: '*(ls)'}]", []string{"want * without a list"}},
		{"rules: [{allow: 'ba*'}]", []string{"want a tool's name"}},
		{"rules: [{allow: read, agents: []}]", []string{"rules[0].agents: want names of agents"}},
		{"rules: [{allow: read, agents: {}}]", []string{"rules[0].agents: want a list of names"}},
		{"rules: [{allow: read, cwd: src}]", []string{"rules[0].cwd: want a path that begins with"}},
		{"rules: [{allow: read, subagent: maybe}]", []string{"rules[0].subagent: want true or false"}},
		{"mode: yolo\nrules: [{allow: 'bash('}, {deny: Read}]", []string{"mode:", "rules[0].allow:", "rules[1].deny:"}},
	} {
		_, err := Parse([]byte(tt.yaml), testEnv)
		if err == nil {
			t.Errorf("Parse(%q) = nil, want an error with %q", tt.yaml, tt.want)
			continue
		}
		for _, part := range tt.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("Parse(%q) = %q, want %q in it", tt.yaml, err, part)
			}
		}
	}
}

func TestParseSettings(t *testing.T) {
	p, err := Parse([]byte("permissions:\n  mode: bypassPermissions\n  allowBypass: true\n  timeout: 0\n  onAsk: fail\n  remember: agent\n  rules:\nother: 1\n"), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	if p.Mode != contract.ModeBypassPermissions || !p.AllowBypass || p.Timeout != 0 || p.OnAsk != OnAskFail || p.Remember != RememberAgent {
		t.Errorf("got %+v", p)
	}
	p, err = Parse([]byte("rules: []"), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	if p.Mode != contract.ModeDefault || p.AllowBypass || p.Timeout != DefaultTimeout || p.OnAsk != "" || p.Remember != RememberHost {
		t.Errorf("got %+v, want the defaults", p)
	}
}

func TestFlagsAndJoin(t *testing.T) {
	if _, err := FromFlags(Flags{Allow: []string{"read", "bash("}}, testEnv); err == nil || !strings.Contains(err.Error(), "--allow: want a closing )") {
		t.Errorf("FromFlags = %v, want an error that names --allow", err)
	}
	if _, err := FromFlags(Flags{Mode: "bypassPermissions"}, testEnv); err == nil {
		t.Error("FromFlags(bypass without the opt-in) = nil, want an error")
	}
	base, err := Parse([]byte("mode: acceptEdits\ntimeout: 3m\nonAsk: wait\nremember: agent\nrules:\n  - allow: bash(ls)\n  - deny: bash(rm *)"), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	flags, err := FromFlags(Flags{Allow: []string{"bash(rm x)", "bash(cat x)"}, OnAsk: "deny"}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	p := Join(nil, base, flags)
	if p.Mode != contract.ModeAcceptEdits || p.Timeout != 3*time.Minute || p.OnAsk != OnAskDeny || p.Remember != RememberAgent {
		t.Errorf("Join = %+v, want the base's settings with the flags' on-ask", p)
	}
	for cmd, want := range map[string]Verdict{"ls": Allow, "cat x": Allow, "rm x": Deny, "cp": Ask} {
		if got := Explain(p, command(t, cmd), contract.ModeDefault); got.Verdict != want {
			t.Errorf("%q = %s, want %s", cmd, got.Verdict, want)
		}
	}
}

// A part changes the settings that it says and no other.
func TestJoinOfParts(t *testing.T) {
	base := Config{Mode: "acceptEdits", Timeout: "3m", OnAsk: "wait", Remember: "agent", AllowBypass: true}
	for name, tt := range map[string]struct{ part, want Config }{
		"nothing":  {Config{}, base},
		"mode":     {Config{Mode: "plan"}, Config{Mode: "plan", Timeout: "3m", OnAsk: "wait", Remember: "agent", AllowBypass: true}},
		"default":  {Config{Mode: "default"}, Config{Mode: "default", Timeout: "3m", OnAsk: "wait", Remember: "agent", AllowBypass: true}},
		"timeout":  {Config{Timeout: "0"}, Config{Mode: "acceptEdits", Timeout: "0", OnAsk: "wait", Remember: "agent", AllowBypass: true}},
		"on ask":   {Config{OnAsk: "deny"}, Config{Mode: "acceptEdits", Timeout: "3m", OnAsk: "deny", Remember: "agent", AllowBypass: true}},
		"remember": {Config{Remember: "host"}, Config{Mode: "acceptEdits", Timeout: "3m", OnAsk: "wait", Remember: "host", AllowBypass: true}},
	} {
		whole, err := Compile(base, testEnv)
		if err != nil {
			t.Fatal(err)
		}
		part, err := CompilePart(tt.part, testEnv)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Compile(tt.want, testEnv)
		if err != nil {
			t.Fatal(err)
		}
		got := Join(whole, part)
		if got.Mode != want.Mode || got.Timeout != want.Timeout || got.OnAsk != want.OnAsk || got.Remember != want.Remember || got.AllowBypass != want.AllowBypass {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// The first match of the strictest kind wins, wherever it stands.
func TestOrderOfRules(t *testing.T) {
	for _, tt := range []struct {
		rules []RuleConfig
		want  Verdict
		rule  string
	}{
		{[]RuleConfig{{Allow: "bash(git *)"}, {Ask: "bash(git push *)"}, {Deny: "bash(git push -f)"}}, Deny, "deny: bash(git push -f)"},
		{[]RuleConfig{{Deny: "bash(git push -f)"}, {Ask: "bash(git push *)"}, {Allow: "bash(git *)"}}, Deny, "deny: bash(git push -f)"},
		{[]RuleConfig{{Allow: "bash(git *)"}, {Ask: "bash(git push *)"}, {Ask: "bash(git *)"}}, Ask, "ask: bash(git push *)"},
		{[]RuleConfig{{Allow: "bash(git *)"}, {Allow: "bash(git push *)"}}, Allow, "allow: bash(git *)"},
		{[]RuleConfig{{Deny: "bash(* -f)"}, {Deny: "bash(git *)"}}, Deny, "deny: bash(* -f)"},
		{[]RuleConfig{{Deny: "bash"}, {Allow: "bash(git *)"}}, Deny, "deny: bash"},
		{[]RuleConfig{{Deny: "*"}, {Allow: "bash(git *)"}}, Deny, "deny: *"},
		{[]RuleConfig{{Allow: "bash"}}, Allow, "allow: bash"},
		{[]RuleConfig{{Allow: "*"}}, Allow, "allow: *"},
		{[]RuleConfig{{Allow: "bash(*)"}}, Allow, "allow: bash(*)"},
		{[]RuleConfig{{Ask: "bash"}, {Allow: "bash"}}, Ask, "ask: bash"},
		{nil, Ask, ""},
	} {
		p, err := Compile(Config{Rules: tt.rules}, testEnv)
		if err != nil {
			t.Fatal(err)
		}
		got := Explain(p, command(t, "git push -f"), contract.ModeDefault)
		if got.Verdict != tt.want || got.Rule != tt.rule {
			t.Errorf("%v: %s by %q, want %s by %q", tt.rules, got.Verdict, got.Rule, tt.want, tt.rule)
		}
	}
}

// A rule for every command does not cover what has to be spelled.
func TestAllowEverything(t *testing.T) {
	for _, rule := range []string{"bash", "bash(*)", "*"} {
		p, err := FromFlags(Flags{Allow: []string{rule}}, testEnv)
		if err != nil {
			t.Fatal(err)
		}
		for cmd, want := range map[string]Verdict{
			"rm -rf build": Allow, "git push": Allow, "unknown --option": Allow, "git diff --output=x": Ask, "X=1 ls": Ask, "eval ls": Ask,
			"$CMD": Ask, "ls | sh": Ask, "ssh host ls": Ask, "bash -c 'rm x'": Allow, "sudo rm x": Allow, "git status (": Ask, "": Ask,
			"git -c core.pager=sh log": Ask, "cat $(ls)": Allow, "git diff $(ls)": Ask,
		} {
			if got := Explain(p, command(t, cmd), contract.ModeDefault); got.Verdict != want {
				t.Errorf("%s: %q = %s, want %s", rule, cmd, got.Verdict, want)
			}
		}
	}
}

func TestFilters(t *testing.T) {
	yes, no := true, false
	root := tree(t, "work/a/", "other/", "work/l -> $ROOT/other")
	p, err := Compile(Config{Rules: []RuleConfig{
		{Allow: "bash(a)", Agents: []string{"claude", "codex"}},
		{Allow: "bash(b)", Cwd: root + "/work/**"},
		{Allow: "bash(c)", Subagent: &yes},
		{Allow: "bash(d)", Subagent: &no},
		{Deny: "bash(e)", Cwd: root + "/OTHER"},
		{Allow: "bash(e)"},
		{Allow: "bash(f)", Cwd: "~/x"},
	}}, Env{Home: root})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		command, agent, cwd, sub string
		want                     Verdict
	}{
		{"a", "claude", "/w", "", Allow},
		{"a", "codex", "/w", "", Allow},
		{"a", "gemini", "/w", "", Ask},
		{"a", "", "/w", "", Ask},
		{"b", "", root + "/work/a", "", Allow},
		{"b", "", root + "/work", "", Allow},
		{"b", "", root + "/other", "", Ask},
		{"b", "", root + "/work/l", "", Ask},
		{"b", "", root + "/work/../other", "", Ask},
		{"b", "", "", "", Ask},
		{"c", "", "/w", "sub1", Allow},
		{"c", "", "/w", "", Ask},
		{"d", "", "/w", "sub1", Ask},
		{"d", "", "/w", "", Allow},
		{"e", "", root + "/other", "", Deny},
		{"e", "", root + "/work/l", "", Deny},
		{"e", "", root + "/work/a", "", Allow},
		{"f", "", root + "/x", "", Allow},
		{"f", "", root + "/y", "", Ask},
	} {
		q := command(t, tt.command)
		q.Agent, q.Cwd, q.Subagent = tt.agent, tt.cwd, tt.sub
		if got := Explain(p, q, contract.ModeDefault); got.Verdict != tt.want {
			t.Errorf("%+v = %s, want %s", tt, got.Verdict, tt.want)
		}
	}
}

func TestCheckWarns(t *testing.T) {
	p, err := Compile(Config{Rules: []RuleConfig{{Allow: "bahs"}, {Allow: "bash(git:*)"}, {Allow: "bash(*)"}, {Allow: "custom-tool"}, {Allow: "bash(npm run test:*)"}}}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	got := Check(p, nil)
	if len(got.Warnings) != 3 || !strings.Contains(got.Warnings[0], `did you mean "bash"`) || !strings.Contains(got.Warnings[1], `did you mean "git *"`) ||
		!strings.Contains(got.Warnings[2], "every program") {
		t.Errorf("warnings %q", got.Warnings)
	}
}

// The uses that rules forbid or want asked are told to agents.
func TestWatched(t *testing.T) {
	p, err := Compile(Config{Rules: []RuleConfig{
		{Allow: "bash(ls *)"},
		{Deny: "bash(rm -rf /**, git push *)"},
		{Ask: "read(**/.env)"},
		{Deny: "mcp/github/x"},
		{Deny: "web-search"},
		{Deny: "edit(*)"},
		{Deny: "bash(x)", Agents: []string{"codex"}},
	}}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	want := []Use{{"bash", "rm -rf /**"}, {"bash", "git push *"}, {"mcp", ""}, {"web-search", ""}, {"edit", ""}, {"read", "**/.env"}}
	if got := p.Watched("claude"); !slices.Equal(got, want) {
		t.Errorf("Watched = %q, want %q", got, want)
	}
	if got := p.Watched("codex"); len(got) != len(want)+1 {
		t.Errorf("Watched(codex) = %q, want one more", got)
	}
}
