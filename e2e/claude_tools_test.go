package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/claude"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// mcpServer is a tiny MCP server over stdio with one tool: this test binary.
func mcpServer(t *testing.T, lab *agentlab.Lab) adapters.MCPServer {
	t.Helper()
	play := filepath.Join(lab.Home, "server.txt")
	script := `? method=initialize as I
< {"jsonrpc":"2.0","id":${I.id},"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"lab","version":"1"}}}
? method=tools/list as L
< {"jsonrpc":"2.0","id":${L.id},"result":{"tools":[{"name":"order","description":"Order something","inputSchema":{"type":"object","properties":{"what":{"type":"string"}}}}]}}
? method=tools/call params.arguments.what="tea" as C within 60000
< {"jsonrpc":"2.0","id":${C.id},"result":{"content":[{"type":"text","text":"one tea"}]}}
! hold
`
	if err := os.WriteFile(play, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return adapters.MCPServer{Name: "lab", Transport: "stdio", Command: os.Args[0], Env: []adapters.Pair{{Name: playEnv, Value: play}}}
}

// The tools, all at once: titles and descriptions that people understand, outputs,
// errors and diffs, a live text, usage and cost of each turn by itself. The options
// of the session come through.
func TestClaudeTable(t *testing.T) {
	lab := agentlab.New(t)
	extra := filepath.Join(lab.Home, "extra")
	if err := os.MkdirAll(extra, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		filepath.Join(lab.Dir, "hello.txt"): "one\ntwo\nthree\n", filepath.Join(extra, "far.txt"): "far away\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := hosted(t, lab, host.Config{
		Adapter: claude.New(),
		Env:     []adapters.Pair{{Name: "CLAUDE_CODE_ENABLE_TASKS", Value: "0"}},
		Options: adapters.Options{
			Mode: "acceptEdits", Dirs: []string{extra}, SystemPrompt: "Mind the gap, always.", MCPServers: []adapters.MCPServer{mcpServer(t, lab)},
			AllowedTools: []string{"Bash(echo *)", "mcp__lab__order"}, DisallowedTools: []string{"NotebookEdit"}, Model: "claude-sonnet-4-6",
		},
	})
	far, made := filepath.Join(extra, "far.txt"), filepath.Join(extra, "new.txt")
	s.prompt(script(
		"usage 1200 34 1000 5 ++ think A thought. ++ text Looking around. ++ read hello.txt",
		"++ read "+far,
		`++ tool Grep {"pattern":"two","path":"."}`,
		`++ tool Glob {"pattern":"*.txt"}`,
		"++ shell echo hi",
		`++ tool Bash {"command":"exit 3","description":"Fail on purpose"}`,
		`++ tool TodoWrite {"todos":[{"content":"look","status":"completed","activeForm":"looking"},{"content":"leap","status":"pending","activeForm":"leaping"}]}`,
		`++ tool WebFetch {"url":"https://example.invalid/x","prompt":"what is there?"}`,
		`++ mcp lab order {"what":"tea"}`,
		`++ tool FutureThing {"x":1}`,
		"usage 1300 20 1100 ++ edit hello.txt two TWO",
		"++ write "+made+" new",
		`++ tool NotebookEdit {"notebook_path":"n.ipynb","new_source":"x"}`,
		"usage 1400 10 1200 ++ text All seen."))
	first := s.says("All seen.")
	s.prompt(script("usage 100 10 0 ++ text Once more."))
	second := s.says("Once more.")
	meta, err := s.host.Meta(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	envs := s.stop()

	// Of each tool its name, title and description, and how it ended.
	type shown struct{ name, title, description, status, output string }
	got := map[string]shown{}
	for _, e := range envs {
		switch ev := e.Event.(type) {
		case contract.ToolCallStart:
			got[ev.Call] = shown{name: ev.Name, title: ev.Title, description: ev.Description}
		case contract.ToolCallEnd:
			c := got[ev.Call]
			c.status, c.output = string(ev.Result.Status), string(ev.Result.Output)+ev.Result.Error
			got[ev.Call] = c
		}
	}
	calls := slices.Collect(maps.Values(got))
	for _, want := range []shown{
		{"read", "Read **hello.txt**", "Read **hello.txt**", "completed", "two"},
		{"read", "Read **" + far + "**", "Read **" + far + "**", "completed", "far away"},
		{"grep", "Search for `two` in **.**", "Search for `two` in **.**", "", ""}, // has no such tool in every version
		{"glob", "Find files `*.txt`", "Find files `*.txt`", "", ""},
		{"bash", "Run `echo hi`", "Run echo hi\n`echo hi`", "completed", "hi"},
		{"bash", "Run `exit 3`", "Fail on purpose\n`exit 3`", "error", "nobody can be asked"},
		{"todo", "Update the todo list (1 of 2 done)", "✓ look\n· leap", "completed", ""},
		{"web-fetch", "Fetch **https://example.invalid/x**", "what is there?", "error", "nobody can be asked"},
		{"mcp/lab/order", "lab: **order**", "what `tea`", "completed", "one tea"},
		{"future-thing", "FutureThing", "x `1`", "error", "FutureThing"},
		{"edit", "Edit **hello.txt** (+1 −1)", "Edit **hello.txt** (+1 −1)", "completed", ""},
		{"write", "Write **" + made + "** (1 line)", "Write **" + made + "** (1 line)", "completed", ""},
		{"notebook-edit", "Edit notebook **n.ipynb**", "Edit notebook **n.ipynb**", "error", "No such tool"},
	} {
		if !slices.ContainsFunc(calls, func(c shown) bool {
			return c.name == want.name && c.title == want.title && c.description == want.description &&
				(want.status == "" && c.status != "" || c.status == want.status) && strings.Contains(c.output, want.output)
		}) {
			t.Errorf("no call %+v in %+v", want, calls)
		}
	}
	if len(calls) != 13 {
		t.Errorf("%d calls, want 13", len(calls))
	}

	// Edits and writes have their diffs, also of a further directory.
	patches := map[string]string{}
	for _, end := range events[contract.ToolCallEnd](envs) {
		for _, f := range end.Result.Files {
			patches[filepath.Base(f.Path)] = string(f.Status) + f.Patch
		}
	}
	if p := patches["hello.txt"]; !strings.HasPrefix(p, "modified") || !strings.Contains(p, "\n-two\n+TWO\n") {
		t.Errorf("the edit's diff = %q", p)
	}
	if p := patches["new.txt"]; !strings.HasPrefix(p, "added") || !strings.Contains(p, "\n+new") {
		t.Errorf("the write's diff = %q", p)
	}

	// Each turn has its own usage and cost, on its model; the input counts what the cache gave.
	if u := first.Usage; u == nil || u.InputTokens != 3900 || u.CacheReadTokens != 3300 || u.OutputTokens != 64 || u.ReasoningTokens != 5 {
		t.Errorf("the first turn used %+v", u)
	}
	if u := second.Usage; u == nil || u.InputTokens != 100 || u.OutputTokens != 10 || u.Cost == nil || *u.Cost <= 0 || *u.Cost >= *first.Usage.Cost {
		t.Errorf("the second turn used %+v", u)
	}
	if first.Model != "claude-sonnet-4-6" {
		t.Errorf("the turn ran on %q", first.Model)
	}

	if !modelHeard(lab, "Mind the gap, always.") {
		t.Error("the model did not get the addition to the system prompt")
	}
	for _, want := range []string{"compact", "context"} {
		if !slices.ContainsFunc(meta.Facts.Commands, func(c adapters.SlashCommand) bool { return c.Name == want && c.Description != "" }) {
			t.Errorf("the slash command %q is not among %d", want, len(meta.Facts.Commands))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, want := range []string{"A thought.", "Looking around.", "All seen."} {
		if !strings.Contains(s.live.String(), want) {
			t.Errorf("%q did not come live: %q", want, s.live.String())
		}
	}
}
