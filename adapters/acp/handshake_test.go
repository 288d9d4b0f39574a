package acp

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

const everything = `{"protocolVersion":1,"agentInfo":{"name":"fake-agent","title":"Fake Agent","version":"1.2"},"authMethods":[{"id":"key","name":"Key","description":"d"}],` +
	`"agentCapabilities":{"loadSession":true,"mcpCapabilities":{"http":true},"promptCapabilities":{"image":true,"audio":true,"embeddedContext":true},` +
	`"sessionCapabilities":{"list":{},"resume":{},"fork":{},"close":{},"delete":{},"additionalDirectories":{},"systemPrompt":{}}}}`

func TestInitialize(t *testing.T) {
	b := newBench(t, AgentSpec{Name: "x", Quirks: Quirks{Client: ClientFeatures{ReadFile: true, Terminal: true, Subagents: true}}}, adapters.Options{})
	b.submit(adapters.Open{ID: "open"})
	m := b.last("initialize")
	for path, want := range map[string]string{
		"protocolVersion": `1`, "clientInfo": `{"name":"agenthost","version":"0.0.1"}`,
		"clientCapabilities": `{"fs":{"readTextFile":true,"writeTextFile":false},"terminal":true,"elicitation":{"form":{},"url":{}},"session":{"compaction":{},"configOptions":{"boolean":{}},"notices":{}},"subagents":{}}`,
	} {
		if got := string(m.Params.Get(path)); got != want {
			t.Errorf("%s = %s, want %s", path, got, want)
		}
	}
	b.result(m, everything)
	if f := b.facts; f.AgentName != "fake-agent" || f.AgentVersion != "1.2" || len(f.AuthMethods) != 1 || f.AuthMethods[0].ID != "key" {
		t.Errorf("facts %+v", f)
	}
}

func TestProtocolVersion(t *testing.T) {
	for version, ok := range map[string]bool{`1`: true, `"1"`: true, `null`: true, `2`: false, `"2025-06-18"`: false} {
		b := newBench(t, fake, adapters.Options{})
		b.submit(adapters.Open{ID: "open"})
		b.result(b.last("initialize"), `{"protocolVersion":`+version+`}`)
		if refused := len(b.done) == 1 && b.done[0].Err != nil && b.done[0].Err.Code == contract.CodeProtocol; refused == ok {
			t.Errorf("version %s: %+v, want taken %v", version, b.done, ok)
		}
	}
}

func TestSessionParams(t *testing.T) {
	o := adapters.Options{
		Dirs: []string{"/d"}, SystemPrompt: "be brief",
		MCPServers: []adapters.MCPServer{
			{Name: "a", Command: "/bin/a", Env: []adapters.Pair{{Name: "K", Value: "v"}}},
			{Name: "b", Transport: "http", URL: "http://x", Headers: []adapters.Pair{{Name: "H", Value: "w"}}},
		},
	}
	b := newBench(t, fake, o)
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), everything)
	want := `{"cwd":"/w","mcpServers":[{"name":"a","command":"/bin/a","args":[],"env":[{"name":"K","value":"v"}]},{"type":"http","name":"b","url":"http://x","headers":[{"name":"H","value":"w"}]}],` +
		`"additionalDirectories":["/d"],"systemPrompt":{"mode":"append","content":[{"type":"text","text":"be brief"}]}}`
	if got := string(b.last("session/new").Params); got != want {
		t.Errorf("session/new %s\nwant %s", got, want)
	}
	// What the agent cannot do is refused, not left out in silence.
	for name, o := range map[string]adapters.Options{
		"dirs": {Dirs: []string{"/d"}}, "system prompt": {SystemPrompt: "x"}, "sse": {MCPServers: []adapters.MCPServer{{Name: "a", Transport: "sse", URL: "u"}}},
	} {
		b := newBench(t, fake, o)
		b.submit(adapters.Open{ID: "open"})
		b.result(b.last("initialize"), `{"protocolVersion":1}`)
		if len(b.done) != 1 || b.done[0].Err == nil || b.done[0].Err.Code != contract.CodeUnsupported {
			t.Errorf("%s: %+v, want unsupported", name, b.done)
		}
	}
	for name, o := range map[string]adapters.Options{
		"sandbox": {Sandbox: true}, "turns": {MaxTurns: 3}, "budget": {BudgetUSD: 1}, "tools": {AllowedTools: []string{"x"}},
		"no tools": {DisallowedTools: []string{"x"}}, "fork at": {ForkAt: "m"},
	} {
		b := newBench(t, fake, o)
		if err := b.try(adapters.Open{ID: "open"}); !errors.Is(err, adapters.ErrUnsupported) {
			t.Errorf("%s: Open = %v, want ErrUnsupported", name, err)
		}
	}
}

func TestContinueTakesTheNewest(t *testing.T) {
	b := newBench(t, fake, adapters.Options{Continue: true})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), everything)
	b.result(b.last("session/list"), `{"sessions":[{"sessionId":"old","cwd":"/w","updatedAt":"2026-11-30T09:00:00Z"},`+
		`{"sessionId":"elsewhere","cwd":"/x","updatedAt":"2027-01-01T00:00:00Z"},{"cwd":"/w"}],"nextCursor":"2"}`)
	if c := b.last("session/list").Params.Get("cursor").Text(); c != "2" {
		t.Fatalf("cursor %q, want the next page", c)
	}
	b.result(b.last("session/list"), `{"sessions":[{"sessionId":"new","cwd":"/w","updatedAt":"2026-11-30T10:00:00.5+00:00"},{"sessionId":"undated","cwd":"/w"}]}`)
	if id := b.last("session/resume").Params.Get("sessionId").Text(); id != "new" {
		t.Errorf("resumes %q, want new", id)
	}
	b.result(b.last("session/resume"), `{}`)
	if b.facts.NativeSession != "new" {
		t.Errorf("session %q", b.facts.NativeSession)
	}

	b = newBench(t, fake, adapters.Options{Continue: true})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), everything)
	b.result(b.last("session/list"), `{"sessions":[]}`)
	if len(b.done) != 1 || b.done[0].Err == nil || b.done[0].Err.Code != contract.CodeSessionNotFound {
		t.Errorf("nothing to continue: %+v, want session-not-found", b.done)
	}
}

func TestForkOpens(t *testing.T) {
	b := newBench(t, fake, adapters.Options{Fork: "old"})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), everything)
	b.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"branch","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"old words"}}}}`)
	b.result(b.last("session/fork"), `{"sessionId":"branch"}`)
	if b.facts.NativeSession != "branch" || !b.opened() {
		t.Fatalf("session %q, outcomes %+v", b.facts.NativeSession, b.done)
	}
	if got := string(b.last("session/fork").Params); !strings.Contains(got, `"sessionId":"old","cwd":"/w","mcpServers":[]`) {
		t.Errorf("session/fork %s", got)
	}
	b.want("") // the replay is history
}

// TestLoad: case B072 of the bug log.
func TestLoad(t *testing.T) {
	p := play(t, "B072-load.txt", fake, adapters.Options{Resume: "sess-1"}, nil)
	p.want("turn-start p1 | text new answer | turn-end completed")
}

func TestLoadFails(t *testing.T) {
	for answer, want := range map[string]contract.ErrorCode{
		`{"code":-32002,"message":"Resource not found"}`:                                                               contract.CodeSessionNotFound,
		`{"code":-32603,"message":"OpenCode service failure"}`:                                                         contract.CodeSessionNotFound,
		`{"code":-32603,"message":"Internal error","data":{"details":"No previous sessions found for this project."}}`: contract.CodeSessionNotFound,
		`{"code":-32000,"message":"log in"}`:                                                                           contract.CodeAuthRequired,
	} {
		b := newBench(t, fake, adapters.Options{Resume: "s"})
		b.submit(adapters.Open{ID: "open"})
		b.result(b.last("initialize"), `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)
		b.fail(b.last("session/load"), answer)
		if len(b.done) != 1 || b.done[0].Err == nil || b.done[0].Err.Code != want {
			t.Errorf("load answers %s: %+v, want %s", answer, b.done, want)
		}
	}
}

// TestOtherID: case B158 of the bug log, over ACP.
func TestOtherID(t *testing.T) {
	b := openBench(t, fake, adapters.Options{Resume: "a"}, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`, `{"sessionId":"b"}`)
	if b.facts.NativeSession != "b" {
		t.Errorf("session %q, want b", b.facts.NativeSession)
	}
	b.want("service notice")
}

func TestLoadAtHook(t *testing.T) {
	spec := fake
	spec.Hooks.LoadAt = func(now time.Time, _ adapters.SessionInfo) time.Time {
		return now.Truncate(time.Minute).Add(time.Minute)
	}
	b := newBench(t, spec, adapters.Options{Resume: "s"})
	b.now = b.now.Add(10 * time.Second)
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), everything)
	b.advance(49 * time.Second)
	if n := b.count("session/resume"); n != 0 {
		t.Fatal("loaded too early")
	}
	b.advance(time.Second)
	if n := b.count("session/resume"); n != 1 {
		t.Fatal("not loaded when it was time")
	}
}

func TestAuthenticateAndGoOn(t *testing.T) {
	b := newBench(t, fake, adapters.Options{Settings: map[string]string{"auth": "key"}})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), everything)
	b.fail(b.last("session/new"), `{"code":-32000,"message":"Authentication required"}`)
	b.result(b.last("authenticate"), `{}`)
	b.result(b.last("session/new"), `{"sessionId":"s"}`)
	if !b.opened() || b.done[0].Err != nil {
		t.Fatalf("outcomes %+v", b.done)
	}
	if n := b.count("session/new"); n != 2 {
		t.Errorf("%d session/new, want 2", n)
	}
	// Once only: an agent that still wants a login is not asked again.
	b = newBench(t, fake, adapters.Options{Settings: map[string]string{"auth": "key"}})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), everything)
	b.fail(b.last("session/new"), `{"code":-32000,"message":"Authentication required"}`)
	b.result(b.last("authenticate"), `{}`)
	b.fail(b.last("session/new"), `{"code":-32000,"message":"Authentication required"}`)
	if len(b.done) != 1 || b.done[0].Err == nil || b.done[0].Err.Code != contract.CodeAuthRequired || b.count("authenticate") != 1 {
		t.Errorf("outcomes %+v after %d logins", b.done, b.count("authenticate"))
	}
}

func TestCommandsBeforeOpen(t *testing.T) {
	b := newBench(t, fake, adapters.Options{})
	for _, c := range []adapters.Command{adapters.Prompt{Text: "x"}, adapters.Configure{Mode: "plan"}, adapters.Answer{Ask: "a"}} {
		if err := b.try(c); err == nil {
			t.Errorf("%T before Open was taken", c)
		}
	}
	b.submit(adapters.Abort{})
	b.submit(adapters.Close{})
	b.submit(adapters.Open{ID: "open"})
	if err := b.try(adapters.Open{ID: "again"}); err == nil {
		t.Error("a second Open was taken")
	}
}

// What refuses the first requests as unknown is no agent: cat, which echoes our
// own refusal of the initialize that it echoed, among them.
func TestNoAgent(t *testing.T) {
	const refusal = `{"code":-32601,"message":"Method not found: initialize"}`
	b := newBench(t, fake, adapters.Options{})
	b.submit(adapters.Open{ID: "open"})
	b.fail(b.last("initialize"), refusal)
	if o := b.done; len(o) != 1 || o[0].Err == nil || o[0].Err.Code != contract.CodeStartFailed || !strings.Contains(o[0].Err.Message, "does not speak") {
		t.Errorf("Open = %+v, want start-failed", o)
	}
	b = newBench(t, fake, adapters.Options{})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), `{"protocolVersion":1}`)
	b.fail(b.last("session/new"), refusal)
	if o := b.done; len(o) != 1 || o[0].Err == nil || o[0].Err.Code != contract.CodeStartFailed {
		t.Errorf("Open = %+v, want start-failed", o)
	}
	b = newBench(t, fake, adapters.Options{})
	b.submit(adapters.Open{ID: "open"})
	b.fail(b.last("initialize"), `{"code":-32602,"message":"Invalid params"}`)
	if o := b.done; len(o) != 1 || o[0].Err == nil || o[0].Err.Code != contract.CodeStartFailed {
		t.Errorf("Open = %+v, want start-failed", o)
	}
}

// TestRefusedAtOnce: what an agent cannot do is said before it is started, where
// that is known, and else before a wait.
func TestRefusedAtOnce(t *testing.T) {
	never := fake
	never.Quirks.Fork = ForkNever
	never.Command = []string{"fake"}
	for _, o := range []adapters.Options{{Fork: "x"}, {MaxTurns: 3}, {BudgetUSD: 1}, {Sandbox: true}} {
		if _, err := New(never).Launch(adapters.LaunchRequest{Dir: "/w", Options: o}); !errors.Is(err, adapters.ErrUnsupported) {
			t.Errorf("Launch with %+v = %v, want ErrUnsupported", o, err)
		}
		if err := newBench(t, never, o).try(adapters.Open{ID: "open"}); !errors.Is(err, adapters.ErrUnsupported) {
			t.Errorf("Open with %+v = %v, want ErrUnsupported", o, err)
		}
	}
	late := fake
	late.Hooks.LoadAt = func(now time.Time, _ adapters.SessionInfo) time.Time { return now.Add(time.Minute) }
	for _, o := range []adapters.Options{{Fork: "x"}, {Resume: "x"}, {Continue: true}} {
		b := newBench(t, late, o)
		b.submit(adapters.Open{ID: "open"})
		b.result(b.last("initialize"), `{"protocolVersion":1}`)
		if len(b.done) != 1 || b.done[0].Err == nil || b.done[0].Err.Code != contract.CodeUnsupported {
			t.Errorf("%+v of an agent that has nothing: %+v, want unsupported at once", o, b.done)
		}
	}
	no := fake
	no.Hooks.Refuse = func(adapters.SessionInfo) *contract.Error { return &contract.Error{Code: contract.CodeSessionNotFound} }
	b := newBench(t, no, adapters.Options{Resume: "x"})
	b.submit(adapters.Open{ID: "open"})
	if len(b.written) > 0 || len(b.done) != 1 || b.done[0].Err == nil {
		t.Errorf("refused by the hook: wrote %d messages, outcome %+v", len(b.written), b.done)
	}
}
