package policy

import (
	"bytes"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

func TestExplain(t *testing.T) {
	p, err := Compile(Config{Rules: []RuleConfig{{Deny: "bash(sh *)"}, {Ask: "bash(git push *)"}, {Allow: "bash(git status *, git diff *, ls)"}, {Allow: "write(out/**)"}}}, testEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ use, text, json string }{
		{
			"bash: git status && curl x | sh",
			`deny  by deny: bash(sh *)
  allow  git status
         by allow: bash(git status *, git diff *, ls)
         it matches git status *
  ask    curl x
         no rule allows it
  deny   sh
         by deny: bash(sh *)
`,
			`{"verdict":"deny","rule":"deny: bash(sh *)","parts":[` +
				`{"command":"git status","verdict":"allow","rule":"allow: bash(git status *, git diff *, ls)","why":"it matches git status *"},` +
				`{"command":"curl x","verdict":"ask","why":"no rule allows it"},{"command":"sh","verdict":"deny","rule":"deny: bash(sh *)"}]}` + "\n",
		},
		{
			"bash: bash -lc 'ls && X=1 ls; git diff --ext-diff; git push' > x",
			`ask  by ask: bash(git push *)
  ask    git push
         by ask: bash(git push *)
  ask    > x
         no rule allows it
`, "",
		},
		{
			"bash: bash -lc 'ls && X=1 ls; git diff --ext-diff' > out/x",
			`ask
  allow  ls
         by allow: bash(git status *, git diff *, ls)
         it matches ls
  ask    X=1 ls
         no rule allows to set X for it
  ask    git diff --ext-diff
         allow: bash(git status *, git diff *, ls) would allow it, but * does not cover --ext-diff: a rule has to spell it
  allow  > out/x
         by allow: write(out/**)
`, "",
		},
		{"bash: git status (", "ask\n  because it cannot be parsed: 1:12: a command can only contain words and redirects; encountered `(`\n", ""},
		{"bash: echo $X; ssh h", `ask
  ask    echo $X
         a variable is known only when it runs: $X
  ask    ssh h
         it runs what its arguments say, elsewhere or in another language: only a rule that spells the whole command allows it
`, ""},
		{"bash: X=1", "ask\n  ask    X=1\n         no rule allows to set X\n", ""},
		{"bash: cd /tmp && git status", `ask
  ask    cd /tmp
         no rule allows it
  ask    git status
         allow: bash(git status *, git diff *, ls) would allow it in the session's directory, but the script goes elsewhere
`, ""},
		{"read: ", "ask\n  ask    \n         the path is empty\n", ""},
		{"web-fetch: http://u@x", "ask\n  ask    http://u@x\n         the address holds a user name\n", ""},
		{"mcp: github/get_x", "ask\n  ask    github/get_x\n         no rule allows it\n", ""},
		{"todo:", "ask\n  ask    todo\n         no rule allows it\n", `{"verdict":"ask","parts":[{"command":"todo","verdict":"ask","why":"no rule allows it"}]}` + "\n"},
	} {
		tool, args, err := ParseUse(tt.use)
		if err != nil {
			t.Errorf("ParseUse(%q): %v", tt.use, err)
			continue
		}
		e := Explain(p, Request{Tool: tool, Args: args, Cwd: "/w/app"}, contract.ModeDefault)
		if got := text(e); got != tt.text {
			t.Errorf("%s:\n%s\nwant\n%s", tt.use, got, tt.text)
		}
		var b bytes.Buffer
		if err := e.WriteJSON(&b); err != nil || tt.json != "" && b.String() != tt.json {
			t.Errorf("%s: JSON %s, %v\nwant %s", tt.use, b.String(), err, tt.json)
		}
	}
	for _, bad := range []string{"", "bash", "git status && ls", ": x", "bash(ls): x"} {
		if _, _, err := ParseUse(bad); err == nil {
			t.Errorf("ParseUse(%q) = nil, want an error", bad)
		}
	}
}

// A person is shown no control characters of a command.
func TestExplainShowsOneLine(t *testing.T) {
	p := Join()
	e := Explain(p, command(t, "echo 'a\nb\t\u202e' \x1b"), contract.ModeDefault)
	e2 := Explain(p, command(t, "echo 'a\nb\tc'"), contract.ModeDefault)
	for _, part := range append(e.Parts, e2.Parts...) {
		if strings.ContainsAny(part.Command, "\n\t\x1b\u202e") {
			t.Errorf("part %q", part.Command)
		}
	}
	long := Explain(p, command(t, "echo "+strings.Repeat("a", 100_000)), contract.ModeDefault)
	if n := len(long.Parts[0].Command); n > 1100 {
		t.Errorf("a part has %d bytes", n)
	}
}

func TestPolicyTests(t *testing.T) {
	data := `
permissions:
  rules:
    - allow: bash(git status *)
    - deny: edit(**/.env*)
    - allow: mcp(github/get_*)
      agents: codex
    - allow: read(${cwd}/**)
      subagent: true
cwd: /w/app
agent: claude
tests:
  - {tool: bash, command: git status -s, want: allow, rule: git status}
  - {tool: bash, command: "git status; rm x", want: ask}
  - {tool: edit, path: .env, want: deny}
  - {tool: edit, path: a, want: ask, cwd: /elsewhere}
  - {tool: edit, path: a, want: allow, mode: acceptEdits}
  - {tool: mcp/github/get_issue, args: {id: 1}, want: ask}
  - {tool: mcp/github/get_issue, args: {id: 1}, want: allow, agent: codex}
  - {tool: read, args: {file_path: a}, want: allow, subagent: true}
  - {tool: web-fetch, url: "https://x", want: ask}
  - {tool: bash, command: ls, want: allow}
  - {tool: bash, command: git status, want: allow, rule: git diff}
`
	list, err := ParseTests([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse([]byte(data), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	failed, err := WriteResults(&b, RunTests(p, list))
	want := `tests[9]: bash: ls: want allow, got ask
  ask    ls
         no rule allows it
tests[10]: bash: git status: want allow by a rule with "git diff", got allow  by allow: bash(git status *)
  allow  git status
         by allow: bash(git status *)
9 of 11 as expected
`
	if failed != 2 || err != nil || b.String() != want {
		t.Errorf("%d failed, %v:\n%s\nwant\n%s", failed, err, b.String(), want)
	}
	for _, tt := range []struct{ yaml, want string }{
		{"", "want a table of tests"},
		{"tests: {}", "tests: want a list"},
		{"cwd: /w", "tests: want a list"},
		{"tests: [{}]", "tests[0]: want a tool"},
		{"tests: [{tool: bash, command: x}]", "tests[0]: want what is expected"},
		{"tests: [{tool: bash, want: maybe}]", "tests[0].want: want allow, ask or deny"},
		{"tests: [{tol: bash}]", `tests[0].tol: want one of`},
		{"mode: yolo\ntests: []", "mode: want mode"},
		{"tests: [", "reading YAML"},
	} {
		if _, err := ParseTests([]byte(tt.yaml)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseTests(%q) = %v, want %q in it", tt.yaml, err, tt.want)
		}
	}
}

func TestSummary(t *testing.T) {
	p, err := Parse([]byte("timeout: 0\nrules: [{allow: bash}, {deny: raed}, {ask: edit}]"), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Check(p, nil).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := "mode default, asks wait for ever; 1 deny, 1 ask and 1 allow rules\nwarning: rules[1]: deny: raed: no agent has a tool of that name here, did you mean \"read\"\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	b.Reset()
	if err := Check(p, nil).WriteJSON(&b); err != nil || !strings.HasPrefix(b.String(), `{"mode":"default","allowBypass":false,"timeout":"for ever","deny":1,"ask":1,"allow":1,"warnings":[`) {
		t.Errorf("JSON %s, %v", b.String(), err)
	}
}

// What means the same has the same key, what does not has another or none.
func TestKeys(t *testing.T) {
	key := func(q Request) string {
		k, ok := testEnv.Analyse(q).Key()
		if !ok {
			return "none"
		}
		return k
	}
	for _, tt := range []struct {
		a, b Request
		same bool
	}{
		{command(t, "ls  -l"), command(t, "ls -l"), true},
		{command(t, "ls -l"), command(t, "ls -la"), false},
		{command(t, "ls"), command(t, "cd /tmp && ls"), false},
		{pathUse(t, "read", "path", "a", "/w"), pathUse(t, "read", "file_path", "/w/a", "/x"), true},
		{pathUse(t, "read", "path", "a", "/w"), pathUse(t, "read", "path", "a", "/x"), false},
		{pathUse(t, "web-fetch", "url", "https://x.com/a", "/w"), pathUse(t, "web-fetch", "url", "https://X.com:443/a", "/w"), true},
		{pathUse(t, "web-fetch", "url", "https://x.com/a", "/w"), pathUse(t, "web-fetch", "url", "https://x.com/b", "/w"), false},
		{Request{Tool: "mcp/x/y", Args: []byte(`{"a":1,"b":2}`)}, Request{Tool: "mcp/x/y", Args: []byte(`{"b":2, "a":1}`)}, true},
		{Request{Tool: "mcp/x/y", Args: []byte(`{"a":1}`)}, Request{Tool: "mcp/x/y", Args: []byte(`{"a":2}`)}, false},
	} {
		x, y := key(tt.a), key(tt.b)
		if (x == y) != tt.same || x == "none" {
			t.Errorf("%s %s and %s %s: %q, %q, want the same %v", tt.a.Tool, tt.a.Args, tt.b.Tool, tt.b.Args, x, y, tt.same)
		}
	}
	for _, q := range []Request{
		command(t, "echo $X"), command(t, "ls ("), command(t, ""), command(t, "kill $(cat x)"), command(t, "eval x"), pathUse(t, "read", "path", "", "/w"),
		pathUse(t, "web-fetch", "url", "http://u@x", "/w"),
		{Tool: "ask-user", Question: true},
		{Tool: "mcp/x/y", Args: []byte(`{"a":1,"a":2}`)},
		{Tool: "bash", Args: []byte(`{"command":"ls","env":{"A":"b"}}`)},
	} {
		if k := key(q); k != "none" {
			t.Errorf("%s %s has the key %q, want none", q.Tool, q.Args, k)
		}
	}
}
