package claude_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

func TestToolTitles(t *testing.T) {
	for _, c := range []struct{ native, input, name, title, description string }{
		{"Bash", `{"command":"npm test","description":"Run the tests"}`, "bash", "Run `npm test`", "Run the tests\n`npm test`"},
		{"Bash", `{"command":"sleep 9","run_in_background":true}`, "bash", "Run `sleep 9`", "`sleep 9` (in the background)"},
		{"Bash", `{"command":"echo ` + "`x`" + `"}`, "bash", "Run `` echo `x` ``", "`` echo `x` ``"},
		{"Read", `{"file_path":"/w/src/pay.ts"}`, "read", "Read **src/pay.ts**", "Read **src/pay.ts**"},
		{"Read", `{"file_path":"/w/a.go","offset":10,"limit":20}`, "read", "Read **a.go**", "Read **a.go** from line 10, 20 lines"},
		{"Read", `{"file_path":"/etc/passwd"}`, "read", "Read **/etc/passwd**", "Read **/etc/passwd**"},
		{"Write", `{"file_path":"/w/a.txt","content":"x\ny\n"}`, "write", "Write **a.txt** (2 lines)", "Write **a.txt** (2 lines)"},
		{"Edit", `{"file_path":"/w/a.txt","old_string":"a\nb","new_string":"a\nc\nd"}`, "edit", "Edit **a.txt** (+2 −1)", "Edit **a.txt** (+2 −1)"},
		{"MultiEdit", `{"file_path":"/w/a.txt","edits":[{},{}]}`, "edit", "Edit **a.txt** (2 changes)", "Edit **a.txt** (2 changes)"},
		{"NotebookEdit", `{"notebook_path":"/w/n.ipynb"}`, "notebook-edit", "Edit notebook **n.ipynb**", "Edit notebook **n.ipynb**"},
		{"Grep", `{"pattern":"TODO","path":"/w/src","glob":"*.go"}`, "grep", "Search for `TODO` in **src**", "Search for `TODO` in **src**: glob `*.go`"},
		{"Glob", `{"pattern":"**/*.go"}`, "glob", "Find files `**/*.go`", "Find files `**/*.go`"},
		{"LS", `{"path":"/w/x"}`, "list", "List **x**", "List **x**"},
		{"WebFetch", `{"url":"https://x.example/a_b","prompt":"what?"}`, "web-fetch", `Fetch **https://x.example/a\_b**`, "what?"},
		{"WebSearch", `{"query":"go 1.27"}`, "web-search", "Search the web for `go 1.27`", "Search the web for `go 1.27`"},
		{"Agent", `{"description":"Look","prompt":"Look around"}`, "task", "Sub-agent: Look", "Look around"},
		{"Task", `{"subagent_type":"Explore","prompt":"p"}`, "task", "Sub-agent: Explore", "p"},
		{"TodoWrite", `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"},{"content":"c","status":"pending"}]}`, "todo", "Update the todo list (1 of 3 done)", "✓ a\n→ b\n· c"},
		{"TaskCreate", `{"subject":"First","description":"do it"}`, "todo", "Add to the todo list: **First**", "do it"},
		{"TaskUpdate", `{"taskId":"1","status":"in_progress"}`, "todo", "Update task 1: in progress", "Update task 1: in progress"},
		{"ExitPlanMode", `{"plan":"# Plan\n- one"}`, "plan", "Plan ready for approval", "# Plan\n- one"},
		{"EnterPlanMode", `{}`, "plan", "Enter plan mode", "Enter plan mode"},
		{"AskUserQuestion", `{"questions":[{"question":"Which?","options":[{"label":"A"},{"label":"B"}]}]}`, "ask-user", "Question: Which?", "Which? A / B"},
		{"Skill", `{"skill":"dataviz"}`, "skill", "Use skill **dataviz**", "Use skill **dataviz**"},
		{"mcp__github__get_issue", `{"number":7,"repo":"a*b"}`, "mcp/github/get_issue", `github: **get\_issue**`, "number `7`, repo `a*b`"},
		{"mcp__odd", `{}`, "mcp--odd", `mcp\_\_odd`, `mcp\_\_odd`},
		{"FutureThing", `{"x":1,"deep":{"y":[2]}}`, "future-thing", "FutureThing", "x `1`, deep `{\"y\":[2]}`"},
		{"HTTPGet2", `null`, "httpget2", "HTTPGet2", "HTTPGet2"},
		{"Bash", `{}`, "bash", "Run", "Run"},
		{"Bash", `{"command":7}`, "bash", "Run", "Run"},
	} {
		s := start(t, adapters.Options{})
		s.prompt("p")
		s.hearf(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":%q,"input":%s}]}}`, c.native, c.input)
		got := only[contract.ToolCallStart](s)[0]
		if got.Name != c.name || got.Title != c.title || got.Description != c.description || got.Native != c.native {
			t.Errorf("%s %s = %q %q %q, want %q %q %q", c.native, c.input, got.Name, got.Title, got.Description, c.name, c.title, c.description)
		}
	}
}

// Whatever a tool's input is, its title and description are within the bounds.
func TestToolTitleBounds(t *testing.T) {
	long := strings.Repeat("é\u0301👨‍👩‍👧 `*_", 2000)
	for _, native := range []string{"Bash", "Read", "Edit", "Grep", "Agent", "TodoWrite", "AskUserQuestion", "mcp__a__b", "Odd", "ExitPlanMode"} {
		s := start(t, adapters.Options{})
		s.prompt("p")
		q := string(quoted(long))
		s.hearf(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":%q,"input":{"command":%s,"file_path":%s,"pattern":%s,"description":%s,"plan":%s,"questions":[{"question":%s}]}}]}}`,
			native, q, q, q, q, q, q)
		got := only[contract.ToolCallStart](s)[0]
		if n := utf8.RuneCountInString(got.Title); n == 0 || n > 120*10 || strings.Contains(got.Title, "\n") {
			t.Errorf("%s: title of %d runes", native, n)
		}
		if n := utf8.RuneCountInString(got.Description); n == 0 || n > 1000*10 {
			t.Errorf("%s: description of %d runes", native, n)
		}
	}
}
