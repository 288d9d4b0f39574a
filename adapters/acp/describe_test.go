package acp

import (
	"encoding/json/jsontext"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// startOf feeds updates of one call and returns its start.
func startOf(t *testing.T, spec AgentSpec, o adapters.Options, updates ...string) contract.ToolCallStart {
	t.Helper()
	b := openBench(t, spec, o, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
	b.prompt()
	for _, u := range updates {
		b.update(u)
	}
	b.advance(time.Minute)
	for _, d := range b.drafts {
		if e, ok := d.Event.(contract.ToolCallStart); ok {
			return e
		}
	}
	t.Fatalf("no start: %s", b.story())
	return contract.ToolCallStart{}
}

func call1(members string) string {
	return `{"sessionUpdate":"tool_call","toolCallId":"t","status":"in_progress",` + members + `}`
}

func TestNames(t *testing.T) {
	gem := fake
	gem.Quirks.NameFromID = "__"
	own := fake
	own.Quirks.Tools = map[string]string{"frobnicate": "edit"}
	servers := func(names ...string) (o adapters.Options) {
		for _, n := range names {
			o.MCPServers = append(o.MCPServers, adapters.MCPServer{Name: n, Command: "x"})
		}
		return o
	}
	mcp := servers("git hub", "db")
	for _, c := range []struct {
		spec   AgentSpec
		o      adapters.Options
		update string
		name   string
		native string
	}{
		{fake, adapters.Options{}, call1(`"name":"Bash","title":"Terminal"`), "bash", "Bash"},
		{fake, adapters.Options{}, call1(`"name":"WebFetch"`), "web-fetch", "WebFetch"},
		{fake, adapters.Options{}, call1(`"name":"TodoWrite"`), "todo", "TodoWrite"},
		{fake, adapters.Options{}, call1(`"name":"str_replace_editor"`), "edit", "str_replace_editor"},
		{fake, adapters.Options{}, call1(`"_meta":{"toolName":"run_shell_command"}`), "bash", "run_shell_command"},
		{fake, adapters.Options{}, call1(`"_meta":{"claudeCode":{"toolName":"NotebookEdit"}}`), "notebook-edit", "NotebookEdit"},
		{fake, adapters.Options{}, call1(`"name":"mcp__git_hub__get_issue"`), "mcp/git_hub/get_issue", "mcp__git_hub__get_issue"},
		{opencode(), mcp, call1(`"name":"db_query"`), "mcp/db/query", "db_query"},
		{fake, mcp, call1(`"name":"database_query"`), "database-query", "database_query"},
		// A name that two servers could have is nobody's.
		{fake, servers("git", "git_hub"), call1(`"name":"git_hub_issues"`), "git-hub-issues", "git_hub_issues"},
		{fake, servers("git_hub", "git"), call1(`"name":"mcp_git_hub_issues"`), "mcp-git-hub-issues", "mcp_git_hub_issues"},
		{fake, servers("git", "git_hub"), call1(`"name":"git_log"`), "mcp/git/log", "git_log"},
		{fake, servers("git", "git"), call1(`"name":"git_log"`), "mcp/git/log", "git_log"},
		{fake, servers("git", "git_hub"), call1(`"name":"mcp__git__hub_issues"`), "mcp/git/hub_issues", "mcp__git__hub_issues"},
		{fake, servers("git", "git__hub"), call1(`"name":"mcp__git__hub__issues"`), "mcp-git-hub-issues", "mcp__git__hub__issues"},
		{fake, servers("git__hub"), call1(`"name":"mcp__git__hub__issues"`), "mcp/git__hub/issues", "mcp__git__hub__issues"},
		{fake, adapters.Options{}, call1(`"name":"mcp__git__hub__issues"`), "mcp-git-hub-issues", "mcp__git__hub__issues"},
		{fake, adapters.Options{}, call1(`"name":"mcp__git___x"`), "mcp-git-x", "mcp__git___x"},
		{fake, adapters.Options{}, call1(`"name":"SomeFancyTool2"`), "some-fancy-tool2", "SomeFancyTool2"},
		{fake, adapters.Options{}, call1(`"name":"Ünï cödé!"`), "ünï-cödé", "Ünï cödé!"},
		{fake, adapters.Options{}, call1(`"name":"!!!"`), "other", "!!!"},
		{own, adapters.Options{}, call1(`"name":"frobnicate"`), "edit", "frobnicate"},
		{gem, adapters.Options{}, strings.Replace(call1(`"kind":"execute","title":"ls -l"`), `"t"`, `"run_shell_command__run_shell_command_17_1"`, 1), "bash", "run_shell_command"},
		{opencode(), adapters.Options{}, `{"sessionUpdate":"tool_call","toolCallId":"t","status":"pending","title":"todowrite","kind":"other","rawInput":{"todos":[]}}`, "todo", "todowrite"},
		{fake, adapters.Options{}, call1(`"kind":"read","title":"Viewing a"`), "read", ""},
		{fake, adapters.Options{}, call1(`"kind":"search","title":"x"`), "grep", ""},
		{fake, adapters.Options{}, call1(`"kind":"switch_mode","title":"x"`), "plan", ""},
		{fake, adapters.Options{}, call1(`"kind":"other","title":"ask_user"`), "ask-user", "ask_user"},
		{fake, adapters.Options{}, call1(`"kind":"other","title":"look"`), "other", ""},
		{fake, adapters.Options{}, call1(`"kind":"other","title":"look","rawInput":{"prompt":"p","agent_type":"g"}`), "task", ""},
		{fake, adapters.Options{}, call1(`"kind":"search","title":"Web","rawInput":{"type":"webSearch","query":"q"}`), "web-search", ""},
		{fake, adapters.Options{}, call1(`"kind":"brand_new","title":"Beam me up"`), "other", ""},
	} {
		if e := startOf(t, c.spec, c.o, c.update); e.Name != c.name || e.Native != c.native {
			t.Errorf("%s: name %q, native %q, want %q, %q", c.update, e.Name, e.Native, c.name, c.native)
		}
	}
}

func TestArgs(t *testing.T) {
	title := fake
	title.Quirks.TitleIsCommand = true
	for _, c := range []struct {
		spec         AgentSpec
		update, want string
	}{
		{fake, call1(`"kind":"execute","title":"ls","rawInput":{"command":"ls -l","cwd":"/x"}`), `{"command":"ls -l","cwd":"/x"}`},
		{fake, call1(`"kind":"execute","title":"x","rawInput":{"command":["bash","-lc","echo 'a b' > c"]}`), `{"command":"bash -lc 'echo '\\''a b'\\'' > c'"}`},
		{fake, call1(`"kind":"execute","title":"x","rawInput":{"cmd":"ls"}`), `{"cmd":"ls","command":"ls"}`},
		// A title is what an agent says, not what it runs: no rule may match it.
		{fake, call1(`"kind":"execute","title":"git status"`), `{}`},
		{title, call1(`"kind":"execute","title":"git status"`), `{"command":"git status"}`},
		{fake, call1(`"kind":"edit","title":"x","locations":[{"path":"/w/a"}]`), `{"path":"/w/a"}`},
		{fake, call1(`"kind":"edit","title":"x","rawInput":{"file_path":"/w/a"},"locations":[{"path":"a"}]`), `{"file_path":"/w/a"}`},
		// All files that a call concerns are in its arguments.
		{fake, call1(`"kind":"edit","title":"x","rawInput":{"file_path":"/w/a"},"content":[{"type":"diff","path":"/etc/passwd","oldText":"","newText":"x"}]`), `{"file_path":"/w/a","paths":["/w/a","/etc/passwd"]}`},
		{fake, call1(`"kind":"move","title":"x","rawInput":{"source":"/w/a","destination":"/w/b"}`), `{"source":"/w/a","destination":"/w/b","path":"/w/a","paths":["/w/a","/w/b"]}`},
		{fake, call1(`"kind":"edit","title":"x","rawInput":{"filepath":"/w/a","from":"text","to":"other"}`), `{"filepath":"/w/a","from":"text","to":"other","path":"/w/a"}`},
		{fake, call1(`"kind":"fetch","title":"GET https://x.example/a?b=1"`), `{"url":"https://x.example/a?b=1"}`},
		// Every address is a subject of the policy; of a title that was cut not all are known.
		{fake, call1(`"kind":"fetch","title":"Compare https://a.example/x, http://b.example and https://a.example/x."`), `{"url":"https://a.example/x","urls":["https://a.example/x","http://b.example"]}`},
		{fake, call1(`"kind":"fetch","title":"Fetch \"https://a.example and https://b.exam...\""`), `{}`},
		{fake, call1(`"kind":"fetch","title":"Fetch https://a.exam…"`), `{}`},
		{fake, call1(`"kind":"fetch","title":"https://b.example","rawInput":{"url":"https://a.example"}`), `{"url":"https://a.example"}`},
		{fake, call1(`"kind":"fetch","title":"https://b.example","rawInput":{"urls":["https://a.example"]}`), `{"urls":["https://a.example"]}`},
		{fake, call1(`"kind":"other","title":"x","rawInput":"just text"`), `{"input":"just text"}`},
		{fake, call1(`"kind":"other","title":"x","rawInput":null`), `{}`},
	} {
		if e := startOf(t, c.spec, adapters.Options{}, c.update); string(e.Args) != c.want {
			t.Errorf("%s: args %s, want %s", c.update, e.Args, c.want)
		}
	}
}

func TestTitles(t *testing.T) {
	long := strings.Repeat("very ", 400)
	for _, c := range []struct{ update, title, description string }{
		{call1(`"kind":"execute","title":"x","rawInput":{"command":"npm test","description":"Run *all* tests"}`), "Run `npm test`", `Run \*all\* tests`},
		{call1(`"kind":"execute","title":"npm test","rawInput":{"command":"npm test"}`), "Run `npm test`", "Run `npm test`"},
		{call1(`"kind":"read","title":"Viewing pay.ts","rawInput":{"path":"/w/src/pay.ts"}`), "Read **src/pay.ts**", "Viewing pay.ts"},
		{call1(`"kind":"edit","title":"edit","content":[{"type":"diff","path":"/w/src/pay.ts","oldText":"a\nb\n","newText":"a\nc\nd\n"}]`), "Edit **src/pay.ts** (+2 −1)", "Edit `/w/src/pay.ts`"},
		{call1(`"name":"Grep","title":"x","rawInput":{"pattern":"TODO","path":"/w/src"}`), "Search for `TODO` in **src**", "Search for `TODO` in **src**"},
		{call1(`"name":"glob","title":"glob","rawInput":{"pattern":"**/*.go"}`), "Find `**/*.go`", "Find `**/*.go`"},
		{call1(`"name":"WebSearch","title":"x","rawInput":{"query":"go 1.27"}`), "Search the web for `go 1.27`", "Search the web for `go 1.27`"},
		{call1(`"kind":"think","title":"**bold** _claims_"`), `\*\*bold\*\* \_claims\_`, `\*\*bold\*\* \_claims\_`},
		{call1(`"kind":"other"`), "Other", "Other"},
		{call1(`"kind":"execute","title":"","rawInput":{"command":"a\nb\u001b[31mc\u202e"}`), "Run `a bc\ufffd`", "Run `a bc\ufffd`"},
	} {
		if e := startOf(t, fake, adapters.Options{}, c.update); e.Title != c.title || e.Description != c.description {
			t.Errorf("%s: title %q, description %q, want %q, %q", c.update, e.Title, e.Description, c.title, c.description)
		}
	}
	e := startOf(t, fake, adapters.Options{}, call1(`"kind":"execute","title":"x","rawInput":{"command":"`+long+`"}`))
	if n := utf8.RuneCountInString(e.Title); n > 120 || !strings.HasSuffix(e.Title, "`") {
		t.Errorf("title of %d characters: %q", n, e.Title)
	}
	if n := utf8.RuneCountInString(e.Description); n > 1000 || n < 500 {
		t.Errorf("description of %d characters", n)
	}
}

// TestHeldStarts: a start waits for its input, and not for ever.
func TestHeldStarts(t *testing.T) {
	stub := `{"sessionUpdate":"tool_call","toolCallId":"t","name":"Bash","kind":"execute","title":"Terminal","status":"pending","rawInput":{}}`
	filled := `{"sessionUpdate":"tool_call_update","toolCallId":"t","rawInput":{"command":"ls"}}`
	for name, c := range map[string]struct {
		do   func(*bench)
		want string
	}{
		"a stub waits":             {func(b *bench) { b.advance(DefaultStubWait - 1) }, `turn-start p1`},
		"a stub is started":        {func(b *bench) { b.advance(DefaultStubWait) }, `turn-start p1 | start t bash {}`},
		"input waits for more":     {func(b *bench) { b.update(filled); b.advance(SettleWait - 1) }, `turn-start p1`},
		"input that settles":       {func(b *bench) { b.update(filled); b.advance(SettleWait) }, `turn-start p1 | start t bash {"command":"ls"}`},
		"the agent goes on":        {func(b *bench) { b.update(filled); b.chunk("next") }, `turn-start p1 | start t bash {"command":"ls"}`},
		"partial input is amended": {func(b *bench) { b.update(filled); b.update(strings.Replace(filled, "ls", "ls -l", 1)); b.chunk("x") }, `turn-start p1 | start t bash {"command":"ls -l"}`},
		"the working directory is no command": {func(b *bench) {
			b.update(strings.Replace(filled, "command", "cwd", 1))
			b.advance(SettleWait)
		}, `turn-start p1`},
	} {
		b := plain(t)
		b.prompt()
		b.update(stub)
		c.do(b)
		if got := b.story(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestAskShowsWhatIsAsked: the input that comes with the question counts.
func TestAskShowsWhatIsAsked(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.update(call1(`"kind":"execute","title":"ls","rawInput":{"command":"ls"}`))
	b.request("1", "session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t","title":"rm","rawInput":{"command":"rm -rf ."},"content":[{"type":"content","content":{"type":"text","text":"It is *needed*"}}]},"options":[{"optionId":"y","kind":"allow_once","name":"Go ahead"},{"optionId":"n","kind":"reject_once","name":"Stop"}]}`)
	e := b.drafts[len(b.drafts)-1].Event.(contract.PermissionRequest)
	if string(e.Args) != `{"command":"rm -rf ."}` || e.Title != "Run `rm -rf .`" || e.Description != `It is \*needed\*` || e.ToolName != "bash" {
		t.Errorf("ask %+v", e)
	}
	want := []contract.PermissionOption{{Decision: contract.AllowOnce, Label: "Go ahead"}, {Decision: contract.AllowAlways, Label: "Always allow"}, {Decision: contract.RejectOnce, Label: "Stop"}}
	if jsonOf(e.Options) != jsonOf(want) {
		t.Errorf("options %s, want %s", jsonOf(e.Options), jsonOf(want))
	}
	if o := b.drafts[len(b.drafts)-1].AskOptions; o.EditArgs || o.Message {
		t.Errorf("ask options %+v: ACP has neither", o)
	}
	if err := b.try(adapters.Answer{Ask: b.asks[0], Decision: contract.AllowOnce, Args: jsontext.Value(`{"command":"ls"}`)}); err == nil {
		t.Error("changed arguments were taken, and would have been ignored")
	}
	b.answer(contract.AllowOnce)
}

// TestAskOfAnotherKind: rules for reading do not cover what is no reading.
func TestAskOfAnotherKind(t *testing.T) {
	for _, c := range []struct{ call, asked, want string }{
		{`"name":"Read","kind":"read"`, `"kind":"execute","rawInput":{"command":"rm -rf ."}`, "bash"},
		{`"name":"Grep","kind":"search"`, `"kind":"edit","rawInput":{"path":"/w/a"}`, "edit"},
		{`"name":"Read","kind":"read"`, `"name":"Bash","rawInput":{"command":"ls"}`, "bash"},
		{`"name":"Write","kind":"edit"`, `"rawInput":{"path":"/w/a"}`, "write"},
		{`"name":"Read","kind":"read"`, `"rawInput":{"path":"/w/a"}`, "read"},
		{`"name":"mcp__db__query","kind":"execute"`, `"rawInput":{}`, "mcp/db/query"},
	} {
		b := plain(t)
		b.prompt()
		b.update(call1(c.call + `,"title":"x","rawInput":{"path":"/w/b"}`))
		b.request("1", "session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"t",`+c.asked+`},"options":[{"optionId":"y","kind":"allow_once","name":"Yes"}]}`)
		if e := b.drafts[len(b.drafts)-1].Event.(contract.PermissionRequest); e.ToolName != c.want {
			t.Errorf("call %s, ask %s: tool %q, want %q", c.call, c.asked, e.ToolName, c.want)
		}
	}
}

// TestRefusedAndRunAllTheSame is told to people.
func TestRefusedAndRunAllTheSame(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.request("1", "session/request_permission", permission("t", "allow_once", "reject_once"))
	b.answer(contract.RejectOnce)
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`)
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`)
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want(`turn-start p1 | start t bash {"command":"ls"} | ask t | end t error | service error | turn-end completed`)
}

// TestReusedIDs: ids that begin anew in each turn are calls of their own.
func TestReusedIDs(t *testing.T) {
	b := plain(t)
	for range 2 {
		b.prompt()
		b.update(call1(`"kind":"execute","title":"ls","rawInput":{"command":"ls"}`))
		b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`)
		b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	}
	one := `start t bash {"command":"ls"} | end t completed | turn-end completed`
	b.want("turn-start p1 | " + one + " | turn-start p2 | " + one)
}

func TestToolHook(t *testing.T) {
	spec := fake
	spec.Hooks.Tool = func(x *Tool) {
		x.Name, x.Title = "read", "Peek"
		if x.Ended {
			x.Result.Output = jsontext.Value(`"hooked"`)
		}
	}
	b := openBench(t, spec, adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
	b.prompt()
	b.update(call1(`"kind":"execute","title":"ls"`))
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`)
	start, end := b.drafts[1].Event.(contract.ToolCallStart), b.drafts[2].Event.(contract.ToolCallEnd)
	if start.Name != "read" || start.Title != "Peek" || string(end.Result.Output) != `"hooked"` {
		t.Errorf("start %+v, end %+v", start, end.Result)
	}
}

func TestFacts(t *testing.T) {
	b := plain(t)
	b.update(`{"sessionUpdate":"session_info_update","title":"A title","updatedAt":"x"}`)
	b.update(`{"sessionUpdate":"plan","entries":[{"content":"one","priority":"high","status":"in_progress"},{"content":"two","status":"pending"}]}`)
	if p := b.facts.Plan; b.facts.Title != "A title" || len(p) != 2 || p[0] != (adapters.PlanEntry{Content: "one", Priority: "high", Status: "in_progress"}) {
		t.Errorf("facts %+v", b.facts)
	}
	b.update(`{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"p","entries":[{"content":"three","status":"completed"}]}}`)
	if p := b.facts.Plan; len(p) != 1 || p[0].Content != "three" {
		t.Errorf("plan %+v", p)
	}
	b.update(`{"sessionUpdate":"plan_update","plan":{"type":"markdown","planId":"p","content":"# Plan"}}`)
	if p := b.facts.Plan; len(p) != 1 || p[0].Content != "# Plan" {
		t.Errorf("plan %+v", p)
	}
	b.update(`{"sessionUpdate":"plan_removed","planId":"p"}`)
	if p := b.facts.Plan; p == nil || len(p) != 0 {
		t.Errorf("plan %+v, want it cleared", p)
	}
	b.update(`{"sessionUpdate":"notice","severity":"error","title":"Billing","description":"ends soon"}`)
	b.update(`{"sessionUpdate":"notice","severity":"info","title":""}`)
	for _, status := range []string{"in_progress", "in_progress", "completed", "asleep"} {
		b.update(`{"sessionUpdate":"compaction_update","compactionId":"c","status":"` + status + `"}`)
	}
	b.update(`{"sessionUpdate":"compaction_summary_chunk","content":{"type":"text","text":"Summary"}}`)
	b.update(`{"sessionUpdate":"compaction_update","compactionId":"d","status":"failed","error":"too long"}`)
	b.want("service error | service compaction | service compaction | service compaction")
}
