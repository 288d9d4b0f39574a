package codex_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/adaptertest"
	"github.com/agenthost/agenthost/adapters/codex"
	"github.com/agenthost/agenthost/contract"
)

// met makes a story whose server was introduced to us, with the screen beside it.
func met(t *testing.T, o adapters.Options) *story {
	t.Helper()
	s := &story{
		t: t, now: time.UnixMilli(1796025600000), done: map[string]adapters.Outcome{}, source: adapters.Socket,
		proto: codex.New().NewTerminalProtocol(adapters.TerminalInfo{SessionInfo: adapters.SessionInfo{ID: "s1", Dir: "/w", Options: o}}),
	}
	s.submit(adapters.Open{ID: "open"})
	s.answer("initialize", `{"userAgent":"agenthost/0.171.0 (x)"}`)
	return s
}

// beside makes a story whose thread is open, with the screen beside it.
func beside(t *testing.T, o adapters.Options) *story {
	t.Helper()
	s := met(t, o)
	s.answer("thread/start", `{"thread":{"id":"thr-1","historyMode":"paginated"},"model":"gpt-5.5"}`)
	s.answer("thread/section/move", `{}`)
	s.answer("thread/settings/update", `{}`)
	if got := s.done["open"]; got.Err != nil || len(s.effects) != 1 {
		t.Fatalf("open: %+v, effects %v", got.Err, s.effects)
	}
	return s
}

// typed has a person type a prompt, to the start of its turn.
func (s *story) typed(native, text string) {
	s.hear(`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"`+native+`"}}}`,
		userItem("thr-1", native, "there-"+native, text))
}

func userItem(thread, turn, client, text string) string {
	return `{"method":"item/started","params":{"threadId":"` + thread + `","turnId":"` + turn + `","item":{"type":"userMessage","id":"u-` + client +
		`","clientId":"` + client + `","content":[{"type":"text","text":"` + text + `"}]}}}`
}

// command has the server ask about a command, as number id.
func (s *story) command(turn, call, id string) {
	s.hear(`{"method":"item/started","params":{"threadId":"thr-1","turnId":"`+turn+`","item":{"type":"commandExecution","id":"`+call+`","command":"make","status":"inProgress"}}}`,
		`{"method":"item/commandExecution/requestApproval","id":`+id+`,"params":{"threadId":"thr-1","turnId":"`+turn+`","itemId":"`+call+`","command":"make"}}`)
}

func (s *story) resolved(id string) {
	s.hear(`{"method":"serverRequest/resolved","params":{"threadId":"thr-1","requestId":` + id + `}}`)
}

// shape is what was said as words, in order.
func (s *story) shape() string {
	var words []string
	for _, d := range s.drafts {
		word := string(d.Event.EventType())
		switch ev := d.Event.(type) {
		case contract.Text:
			word = "text"
			if d.Role == contract.RoleUser {
				word = "user"
			}
			if ev.Steer {
				word = "steer"
			}
			word += ":" + ev.Text
		case contract.TurnStart:
			word = "start" + strings.Join(append([]string{""}, d.Prompts...), ",")
		case contract.TurnEnd:
			word = "end:" + string(ev.Status)
		case contract.PermissionRequest:
			word = "ask"
		case contract.PermissionResponse:
			word = "answer:" + string(ev.Decision) + string(ev.Answers)
		case contract.ToolCallStart:
			word = "call"
		case contract.ToolCallEnd:
			word = "called"
		case contract.Service:
			continue
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func (s *story) want(shape string) {
	s.t.Helper()
	if got := s.shape(); got != shape {
		s.t.Errorf("the stream is\n%s\nwant\n%s", got, shape)
	}
}

// The screen is started on a thread that is on disk and has the mode's rights.
func TestTerminalStart(t *testing.T) {
	s := beside(t, adapters.Options{Model: "gpt-6", MCPServers: []adapters.MCPServer{{Name: "m", Transport: "stdio", Command: "x"}}})
	start := s.request("thread/start").Get("params")
	if got := start.Get("sandbox").Text(); got != "read-only" {
		t.Errorf("sandbox of thread/start = %q, want read-only: Codex writes that it trusts the directory otherwise", got)
	}
	if !start.Get("config", "mcp_servers", "m").Given() {
		t.Error("the MCP server did not go over the protocol")
	}
	set := s.request("thread/settings/update").Get("params")
	if set.Get("approvalPolicy").Text() != "untrusted" || set.Get("sandboxPolicy", "type").Text() != "workspaceWrite" || set.Get("approvalsReviewer").Text() != "user" {
		t.Errorf("settings = %s", set)
	}
	e, ok := s.effects[0].(adapters.StartScreen)
	if !ok || !slices.Equal(e.Args, []string{"resume", "thr-1"}) {
		t.Errorf("effect = %+v", s.effects[0])
	}
}

// A resumed thread is on disk; a server without sections is given a name instead.
func TestTerminalStartOtherwise(t *testing.T) {
	s := met(t, adapters.Options{Resume: "thr-1"})
	s.answer("thread/resume", `{"thread":{"id":"thr-1"}}`)
	s.answer("thread/settings/update", `{}`)
	if s.request("thread/section/move") != nil || len(s.effects) != 1 || s.done["open"].Err != nil {
		t.Errorf("resumed: effects %v, open %+v", s.effects, s.done["open"])
	}

	s = met(t, adapters.Options{})
	s.answer("thread/start", `{"thread":{"id":"thr-1"}}`)
	s.refuse("thread/section/move", "Invalid request: unknown variant")
	s.answer("thread/name/set", `{}`)
	s.answer("thread/settings/update", `{}`)
	if len(s.effects) != 1 || s.done["open"].Err != nil {
		t.Errorf("without sections: effects %v, open %+v", s.effects, s.done["open"])
	}

	s = met(t, adapters.Options{})
	s.answer("thread/start", `{"thread":{"id":"thr-1"}}`)
	s.answer("thread/section/move", `{}`)
	s.refuse("thread/settings/update", "no")
	if len(s.effects) != 0 || s.done["open"].Err == nil {
		t.Errorf("a thread with rights of its own: effects %v, open %+v", s.effects, s.done["open"])
	}
}

// What is typed begins its turn, also behind a compaction; what is typed in a turn
// joins it.
func TestTypedThere(t *testing.T) {
	s := beside(t, adapters.Options{})
	s.typed("t1", "one")
	s.hear(userItem("thr-1", "t1", "there-again", "more"))
	s.completed("t1", "completed")
	s.want("user:one start,typed-1 steer:more end:completed")

	s.drafts = nil
	s.hear(`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"t2"}}}`,
		`{"method":"item/started","params":{"threadId":"thr-1","turnId":"t2","item":{"type":"contextCompaction","id":"c"}}}`)
	s.tick(5 * time.Second)
	s.hear(`{"method":"item/completed","params":{"threadId":"thr-1","turnId":"t2","item":{"type":"contextCompaction","id":"c"}}}`,
		userItem("thr-1", "t2", "x2", "two"))
	s.completed("t2", "completed")
	s.want("user:two start,typed-2 end:completed")
}

// A turn that nobody typed (a goal, a queue, a command of the person's own) begins
// with what it says first, or when nothing came for a moment.
func TestNotTypedThere(t *testing.T) {
	s := beside(t, adapters.Options{})
	s.hear(`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"t1"}}}`,
		`{"method":"item/completed","params":{"threadId":"thr-1","turnId":"t1","item":{"type":"agentMessage","id":"m","text":"on my own"}}}`)
	s.completed("t1", "completed")
	s.want("start text:on my own end:completed")

	s.drafts = nil
	s.hear(`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"t2"}}}`)
	s.want("")
	s.tick(time.Second)
	s.want("start")
	s.completed("t2", "completed")
	s.want("start end:completed")
}

// A prompt from elsewhere and one that is typed at the same time become one turn of
// the server's: each has its place, and none is told twice.
func TestTypedAndSent(t *testing.T) {
	s := beside(t, adapters.Options{})
	s.submit(adapters.Prompt{ID: "p1", Text: "sent"})
	s.hear(`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"t1"}}}`)
	s.answer("turn/start", `{"turn":{"id":"t1","status":"inProgress"}}`) // the server steered it into the typed one's
	s.hear(userItem("thr-1", "t1", "there", "typed"), userItem("thr-1", "t1", "p1", "sent"))
	s.completed("t1", "completed")
	s.want("user:typed start,typed-1,p1 end:completed")

	s = beside(t, adapters.Options{})
	s.turn("p1", "t1")
	s.hear(userItem("thr-1", "t1", "p1", "prompt p1"), userItem("thr-1", "t1", "there", "typed"))
	s.completed("t1", "completed")
	s.want("start,p1 steer:typed end:completed")

	// An abort before the server's answer holds for the joint turn.
	s = beside(t, adapters.Options{})
	s.submit(adapters.Prompt{ID: "p1", Text: "sent"})
	s.submit(adapters.Abort{})
	s.hear(`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"t1"}}}`)
	s.answer("turn/start", `{"turn":{"id":"t1","status":"inProgress"}}`)
	if s.request("turn/interrupt") == nil {
		t.Error("the joint turn was not stopped")
	}
	s.completed("t1", "interrupted")
	s.want("start,p1 end:cancelled")
}

// A remote prompt asks a person, whatever was chosen at the screen.
func TestSentAsks(t *testing.T) {
	s := beside(t, adapters.Options{})
	s.hear(`{"method":"thread/settings/updated","params":{"threadId":"thr-1","threadSettings":{"approvalPolicy":"never","approvalsReviewer":"auto_review","sandboxPolicy":{"type":"dangerFullAccess"},"model":"gpt-5.5"}}}`)
	if s.facts.Mode != "never/auto_review" {
		t.Errorf("mode = %q, want never/auto_review", s.facts.Mode)
	}
	if d := s.drafts[len(s.drafts)-1]; d.Role == contract.RoleUser {
		t.Errorf("told as the session's: %+v: the next child would be started in it", d)
	}
	s.submit(adapters.Prompt{ID: "p1", Text: "x"})
	p := s.request("turn/start").Get("params")
	if p.Get("approvalPolicy").Text() != "untrusted" || p.Get("approvalsReviewer").Text() != "user" || p.Get("sandboxPolicy", "type").Text() != "workspaceWrite" {
		t.Errorf("turn/start = %s", p)
	}
	// A mode that the session may have holds for all.
	s.completed("", "")
	s = beside(t, adapters.Options{})
	s.hear(`{"method":"thread/settings/updated","params":{"threadId":"thr-1","threadSettings":{"approvalPolicy":"on-request","approvalsReviewer":"user","sandboxPolicy":{"type":"workspaceWrite"},"model":"gpt-5.5"}}}`)
	s.submit(adapters.Prompt{ID: "p1", Text: "x"})
	if got := s.request("turn/start").Get("params", "approvalPolicy").Text(); s.facts.Mode != "acceptEdits" || got != "on-request" {
		t.Errorf("mode %q, turn/start with %q, want acceptEdits and on-request", s.facts.Mode, got)
	}
}

// The screen may name its own defaults with the first prompt of a new conversation:
// nobody chose them, and the next turn has the session's mode again. What a person may
// have chosen stays.
func TestNotChosenThere(t *testing.T) {
	const (
		freer    = `"threadSettings":{"approvalPolicy":"on-request","sandboxPolicy":{"type":"workspaceWrite"},"model":"gpt-5.5"}`
		stricter = `"threadSettings":{"approvalPolicy":"untrusted","sandboxPolicy":{"type":"workspaceWrite"},"model":"gpt-5.5"}`
		reads    = `"threadSettings":{"approvalPolicy":"never","sandboxPolicy":{"type":"readOnly"},"model":"gpt-5.5"}`
	)
	for name, c := range map[string]struct {
		mode    string
		to      string
		thread  string
		turns   int // before the change
		sent    bool
		wait    time.Duration
		imposes bool
	}{
		"its first prompt":        {to: freer, thread: "thr-2", wait: 50 * time.Millisecond, imposes: true},
		"long before the prompt":  {to: freer, thread: "thr-2", wait: 2 * time.Second},
		"its second prompt":       {to: freer, thread: "thr-2", turns: 1, wait: 50 * time.Millisecond},
		"not begun there":         {to: freer, thread: "thr-1", wait: 50 * time.Millisecond},
		"stricter":                {mode: "acceptEdits", to: stricter, thread: "thr-2", wait: 50 * time.Millisecond},
		"nothing can be changed":  {mode: "acceptEdits", to: reads, thread: "thr-2", wait: 50 * time.Millisecond},
		"behind a prompt of ours": {to: freer, thread: "thr-2", sent: true, wait: 50 * time.Millisecond},
	} {
		s := beside(t, adapters.Options{Mode: c.mode})
		if c.thread == "thr-2" {
			s.openedThere()
		}
		turn := func(id string) {
			s.hear(on(c.thread, "turn/started", `"turn":{"id":"`+id+`"}`), userItem(c.thread, id, "x"+id, "go"))
		}
		for range c.turns {
			turn("t0")
			s.hear(on(c.thread, "turn/completed", `"turn":{"id":"t0","status":"completed","items":[]}`))
		}
		if c.sent {
			s.submit(adapters.Prompt{ID: "p1", Text: "x"})
		}
		s.hear(on(c.thread, "thread/settings/updated", c.to))
		s.tick(c.wait)
		n := len(s.wrote)
		turn("t1")
		if got := len(s.wrote) > n; got != c.imposes {
			t.Errorf("%s: imposed again: %v, want %v", name, got, c.imposes)
		}
		if c.imposes {
			s.hear(on(c.thread, "turn/completed", `"turn":{"id":"t1","status":"completed","items":[]}`))
			s.submit(adapters.Prompt{ID: "p2", Text: "x"})
			if got := s.request("turn/start").Get("params", "approvalPolicy").Text(); got != "untrusted" {
				t.Errorf("%s: then turn/start with %q, want untrusted", name, got)
			}
		}
	}
}

// An ask that is answered at the screen: how shows in what becomes of the call.
func TestAnsweredThere(t *testing.T) {
	const head = "user:go start,typed-1 call ask "
	for name, c := range map[string]struct {
		then func(s *story)
		want string
	}{
		"allowed": {func(s *story) {
			s.hear(`{"method":"item/completed","params":{"threadId":"thr-1","turnId":"t1","item":{"type":"commandExecution","id":"c1","command":"make","status":"completed","exitCode":0}}}`)
			s.completed("t1", "completed")
		}, "answer:allow-once called end:completed"},
		"allowed, and runs long": {func(s *story) {
			s.tick(500 * time.Millisecond)
			s.want(head + "answer:allow-once")
			s.completed("t1", "completed")
		}, "answer:allow-once called end:completed"},
		"declined": {func(s *story) {
			s.hear(`{"method":"item/completed","params":{"threadId":"thr-1","turnId":"t1","item":{"type":"commandExecution","id":"c1","command":"make","status":"declined"}}}`)
			s.completed("t1", "completed")
		}, "answer:reject-once called end:completed"},
		"declined, as the model is told": {func(s *story) {
			s.hear(`{"method":"rawResponseItem/completed","params":{"threadId":"thr-1","turnId":"t1","item":{"type":"function_call_output","call_id":"c1","output":"exec_command failed: rejected by user"}}}`)
			s.completed("t1", "completed")
		}, "answer:reject-once called end:completed"},
		"allowed, and there is more to ask": {func(s *story) {
			s.hear(`{"method":"item/commandExecution/requestApproval","id":8,"params":{"threadId":"thr-1","turnId":"t1","itemId":"c1","command":"make more"}}`)
			s.submit(adapters.Answer{Ask: "8", Decision: contract.AllowOnce})
			s.completed("t1", "completed")
		}, "answer:allow-once ask called end:completed"},
		"stopped": {func(s *story) { s.completed("t1", "interrupted") }, "answer:reject-once abort called end:cancelled"},
		"never known": {func(s *story) {
			s.completed("t1", "completed")
			if !slices.Equal(s.took, []string{"7"}) {
				s.t.Errorf("withdrawn: %q, want the ask", s.took)
			}
		}, "called end:completed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := beside(t, adapters.Options{})
			s.typed("t1", "go")
			s.command("t1", "c1", "7")
			s.resolved("7")
			if _, err := s.proto.Submit(s.now, adapters.Answer{Ask: "7", Decision: contract.AllowOnce}); err == nil {
				t.Error("an answer after that of the screen = nil error")
			}
			c.then(s)
			s.want(head + c.want)
			if s.reply("7") != nil {
				t.Errorf("wrote %s: the screen had answered", s.reply("7"))
			}
		})
	}
}

// Questions and permissions show in what the model is told.
func TestAnsweredWithOutput(t *testing.T) {
	for _, c := range []struct{ method, output, want string }{
		{"item/tool/requestUserInput", `{\"answers\":{\"q1\":{\"answers\":[\"B\"]}}}`, `answer:allow-once{"q1":"B"}`},
		{"item/tool/requestUserInput", `{\"answers\":{\"q1\":{\"answers\":[\"A\",\"B\"]}}}`, `answer:allow-once{"q1":["A","B"]}`},
		{"item/tool/requestUserInput", `{\"answers\":{}}`, `answer:reject-once`},
		{"item/permissions/requestApproval", `{\"permissions\":{\"network\":{\"enabled\":true}},\"scope\":\"turn\"}`, `answer:allow-once`},
		{"item/permissions/requestApproval", `{\"permissions\":{},\"scope\":\"turn\"}`, `answer:reject-once`},
	} {
		s := beside(t, adapters.Options{})
		s.typed("t1", "go")
		s.hear(`{"method":"` + c.method + `","id":0,"params":{"threadId":"thr-1","turnId":"t1","itemId":"c1","permissions":{"network":{"enabled":true}},"questions":[{"id":"q1","question":"Which?"}]}}`)
		s.resolved("0")
		s.hear(`{"method":"rawResponseItem/completed","params":{"threadId":"thr-1","turnId":"t1","item":{"type":"function_call_output","call_id":"c1","output":"` + c.output + `"}}}`)
		s.completed("t1", "completed")
		s.want("user:go start,typed-1 call ask " + c.want + " called end:completed")
	}
	// Of permissions nothing else tells.
	s := beside(t, adapters.Options{})
	s.typed("t1", "go")
	s.hear(`{"method":"item/permissions/requestApproval","id":0,"params":{"threadId":"thr-1","turnId":"t1","itemId":"c1","permissions":{}}}`)
	s.resolved("0")
	s.tick(time.Second)
	if !slices.Equal(s.took, []string{"0"}) {
		t.Errorf("withdrawn: %q, want the ask", s.took)
	}
}

// What only the screen can answer is left to it: a refusal would be an answer.
func TestLeftToTheScreen(t *testing.T) {
	s := beside(t, adapters.Options{})
	s.hear(`{"method":"item/commandExecution/requestApproval","id":1,"params":{"threadId":"thr-1","turnId":"t0","itemId":"c1","command":"make"}}`)
	s.typed("t1", "go")
	s.hear(`{"method":"item/commandExecution/requestApproval","id":2,"params":{"threadId":"another","turnId":"t1","itemId":"c1","command":"make"}}`,
		`{"method":"attestation/generate","id":3,"params":{}}`,
		`{"method":"account/chatgptAuthTokens/refresh","id":4,"params":{}}`,
		`{"method":"item/tool/call","id":5,"params":{"threadId":"thr-1"}}`,
		`{"method":"mcpServer/elicitation/request","id":6,"params":{"threadId":"thr-1","turnId":"t1","mode":"new","serverName":"m"}}`,
		`{"method":"never/heard","id":7,"params":{}}`)
	s.command("t1", "c1", "8")
	s.completed("t1", "interrupted")
	for _, id := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		if got := s.reply(id); got != nil {
			t.Errorf("request %s got %s, want it left to the screen", id, got)
		}
	}
	if s.errs != 1 {
		t.Errorf("%d faults, want 1: the request that nobody knows", s.errs)
	}
}

// The person who quits the screen leaves its turn; an end with another status is a fault.
func TestQuitThere(t *testing.T) {
	for code, want := range map[int]string{0: "user:go start,typed-1 end:cancelled", 1: "user:go start,typed-1 end:failed"} {
		s := beside(t, adapters.Options{})
		s.typed("t1", "go")
		s.apply(s.proto.Exit(s.now, adapters.ExitStatus{Code: code}))
		s.want(want)
	}
}

func TestLaunchTerminal(t *testing.T) {
	env := func(name string) string { return map[string]string{"TERM": "dumb"}[name] }
	req := func(args ...string) adapters.TerminalRequest {
		return adapters.TerminalRequest{SocketDir: "/run/s", LaunchRequest: adapters.LaunchRequest{Dir: "/w", Args: args, Getenv: env}}
	}
	l, err := codex.New().LaunchTerminal(req("-c", "a=b", "--search", "--enable=x"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "codex --remote unix:///run/s/codex.sock -c features.daemon_auto_start=false -c a=b --search --enable=x"; strings.Join(l.Argv, " ") != want {
		t.Errorf("screen: %q, want %q", l.Argv, want)
	}
	server := strings.Join(l.Server.Argv, " ")
	if !strings.HasPrefix(server, "codex app-server --listen unix:///run/s/codex.sock -c features.unbounded") || !strings.HasSuffix(server, "-c a=b --enable=x") ||
		strings.Contains(server, "instant_interrupt") || !l.Server.First || l.Server.Socket != "/run/s/codex.sock" {
		t.Errorf("server: %+v", l.Server)
	}
	if !slices.Contains(l.Env, adapters.Pair{Name: "TERM", Value: "xterm-256color"}) {
		t.Errorf("env %v: want a TERM with which the screen does not ask", l.Env)
	}
	own := req()
	own.Command = []string{"box", "codex"}
	if l, err = codex.New().LaunchTerminal(own); err != nil || l.Argv[0] != "box" || l.Server.Argv[0] != "box" {
		t.Errorf("own command: %v, %v", l, err)
	}
	own.Command = []string{"codex", "app-server"}
	if _, err = codex.New().LaunchTerminal(own); err == nil {
		t.Error("a command with its protocol arguments = nil error: the screen would be a server")
	}
	for _, arg := range []string{"--remote=x", "--no-daemon", "-s", "--sandbox=danger-full-access", "-a", "--approve-for-me", "-C"} {
		if _, err := codex.New().LaunchTerminal(req(arg)); !errors.Is(err, adapters.ErrUnsupported) {
			t.Errorf("argument %s: %v, want unsupported", arg, err)
		}
	}
	bad := req()
	bad.Options.Mode = "nonsense"
	if _, err := codex.New().LaunchTerminal(bad); err == nil {
		t.Error("a mode that is none = nil error")
	}
}

func terminalSuite() adaptertest.Suite {
	return adaptertest.Suite{
		Adapter: adaptertest.Terminal(codex.New()), Wire: adaptertest.Codex(),
		Dir: "testdata/terminal", GoldenDir: "testdata/terminal-golden",
	}
}

func TestTerminalGolden(t *testing.T) { adaptertest.Golden(t, terminalSuite()) }

func TestTerminalConform(t *testing.T) { adaptertest.Conform(t, terminalSuite()) }

func FuzzTerminal(f *testing.F) { adaptertest.Fuzz(f, terminalSuite()) }

// TestTerminalCovered: the tables have what a server beside a screen says, too.
func TestTerminalCovered(t *testing.T) {
	adaptertest.Covered(t, terminalSuite(), "../../docs/protocol/codex.md")
}
