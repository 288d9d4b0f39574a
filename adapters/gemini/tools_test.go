package gemini_test

import (
	"fmt"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// TestTools: names, titles and input of every shape of call.
func TestTools(t *testing.T) {
	counted := func(name string) string { return name + "__" + name + "_1796028688077_0" }
	explain := func(text string) string {
		return fmt.Sprintf(`[{"type":"content","content":{"type":"text","text":%q}}]`, text)
	}
	tests := []struct {
		id, kind, title, content, paths string
		name, native, args, want        string
	}{
		{
			id: counted("run_shell_command"), kind: "execute", title: "ls\n-la", content: explain("[current working directory /w]"),
			name: "bash", native: "run_shell_command", args: `{"command":"ls\n-la"}`, want: "Run `ls -la`",
		},
		{
			id: "run_shell_command__call_8f2a", kind: "execute", title: "ls",
			name: "bash", native: "run_shell_command", args: `{"command":"ls"}`, want: "Run `ls`",
		},
		{
			id: counted("read_file"), kind: "read", title: "a.go", paths: `[{"path":"/w/a.go"}]`,
			name: "read", native: "read_file", args: `{"path":"/w/a.go"}`, want: "Read **a.go**",
		},
		{
			id: counted("list_directory"), kind: "search", title: "src",
			name: "list", native: "list_directory", args: `{"path":"src"}`, want: "List **src**",
		},
		{
			id: counted("list_directory"), kind: "search", title: "a/.../very/long",
			name: "list", native: "list_directory", args: `{}`, want: "a/.../very/long",
		},
		{
			id: counted("grep_search"), kind: "search", title: "'it's' in *.go within ./",
			name: "grep", native: "grep_search", args: `{"pattern":"it's"}`, want: "Search for `it's`",
		},
		{
			id: counted("glob"), kind: "search", title: "'**/*.go'",
			name: "glob", native: "glob", args: `{"pattern":"**/*.go"}`, want: "Find `**/*.go`",
		},
		{
			id: counted("google_web_search"), kind: "search", title: `Searching the web for: "go 1.27"`,
			name: "web-search", native: "google_web_search", args: `{"query":"go 1.27"}`, want: "Search the web for `go 1.27`",
		},
		{
			id: counted("web_fetch"), kind: "fetch", title: "Fetching content from: https://go.dev/x",
			name: "web-fetch", native: "web_fetch", args: `{"url":"https://go.dev/x"}`, want: "Fetch `https://go.dev/x`",
		},
		{ // two URLs: no rule about one of them may allow it
			id: counted("web_fetch"), kind: "fetch", title: `Processing URLs and instructions from prompt: "compare https://good.example and https://evil.example"`,
			name: "web-fetch", native: "web_fetch",
			args: `{"prompt":"compare https://good.example and https://evil.example"}`, want: "Fetch what a prompt names",
		},
		{
			id: counted("invoke_agent"), kind: "think", title: "Delegating to agent 'codebase_investigator'",
			name: "task", native: "invoke_agent", args: `{"agent_name":"codebase_investigator"}`, want: `Task: codebase\_investigator`,
		},
		{
			id: counted("exit_plan_mode"), kind: "other", title: "Requesting plan approval for: /p/plan.md",
			name: "plan", native: "exit_plan_mode", args: `{}`, want: "Requesting plan approval for: /p/plan.md",
		},
		{
			id: counted("mcp_srv_ping"), kind: "other", title: "ping (srv MCP Server)", content: explain(`{"a":"1"}`),
			name: "mcp/srv/ping", native: "mcp_srv_ping", args: `{"a":"1"}`, want: "ping (srv MCP Server)",
		},
		{ // an id of the model's service
			id: "mcp_srv_ping__call_8f2a", kind: "other", title: "ping (srv MCP Server)", content: explain(`{"a":"1"}`),
			name: "mcp/srv/ping", native: "mcp_srv_ping", args: `{"a":"1"}`, want: "ping (srv MCP Server)",
		},
		{ // a name with the mark in it
			id: counted("mcp_srv_do__it"), kind: "other", title: "do__it (srv MCP Server)", content: explain(`{}`),
			name: "mcp/srv/do__it", native: "mcp_srv_do__it", args: `{}`, want: `do\_\_it (srv MCP Server)`,
		},
		{ // the title of a tool with a command is the command, which may name any server
			id: counted("mcp_evil_get"), kind: "other", title: "get (github MCP Server)", content: explain(`{"command":"get (github MCP Server)"}`),
			name: "mcp-evil-get", native: "mcp_evil_get", args: `{"command":"get (github MCP Server)"}`, want: "get (github MCP Server)",
		},
		{ // and a title that the tool's own name does not bear out counts nothing
			id: counted("mcp_evil_get"), kind: "other", title: "get (github MCP Server)", content: explain(`{}`),
			name: "mcp-evil-get", native: "mcp_evil_get", args: `{}`, want: "get (github MCP Server)",
		},
		{ // input that was too long to be told
			id: counted("mcp_srv_ping"), kind: "other", title: "ping (srv MCP Server)", content: explain("[Payload omitted due to length with parameters: a]"),
			name: "mcp-srv-ping", native: "mcp_srv_ping", args: `{}`, want: "ping (srv MCP Server)",
		},
		{
			id: "resolve-prompt-/etc/hosts-1b2c", kind: "read", title: "Allow access to absolute path: /etc/hosts",
			name: "read", native: "", args: `{"path":"/etc/hosts"}`, want: "Read **/etc/hosts**, an attachment outside of the workspace",
		},
		{
			id: counted("brand_new_tool"), kind: "other", title: "Doing something",
			name: "brand-new-tool", native: "brand_new_tool", args: `{}`, want: "Doing something",
		},
	}
	for _, tt := range tests {
		d := prompted(t, adapters.Options{})
		if tt.content == "" {
			tt.content = "[]"
		}
		if tt.paths == "" {
			tt.paths = "[]"
		}
		d.ask(fmt.Sprintf(`{"toolCallId":%q,"status":"pending","title":%q,"content":%s,"locations":%s,"kind":%q}`,
			tt.id, tt.title, tt.content, tt.paths, tt.kind))
		start, ask := find[contract.ToolCallStart](d), find[contract.PermissionRequest](d)
		if start.Name != tt.name || start.Native != tt.native || string(start.Args) != tt.args || start.Title != tt.want {
			t.Errorf("call %s %q = %s (%s) %s %q,\nwant %s (%s) %s %q",
				tt.id, tt.title, start.Name, start.Native, start.Args, start.Title, tt.name, tt.native, tt.args, tt.want)
		}
		if ask.ToolName != tt.name || string(ask.Args) != tt.args || ask.Title != tt.want {
			t.Errorf("ask of %s = %s %s %q, want what the call has", tt.id, ask.ToolName, ask.Args, ask.Title)
		}
	}
}
