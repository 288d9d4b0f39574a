package claude_test

import (
	"encoding/json/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/claude"
	"github.com/agenthost/agenthost/contract"
)

// The path of the file is the hook's, whatever the directory is called (B150), and
// the file is followed before the CLI goes on.
func TestTerminalFollowsWhatTheHookNames(t *testing.T) {
	c := newConsole(t, adapters.Options{})
	id, s := c.hook("SessionStart", `"session_id":"11111111-1111-4111-8111-111111111111","transcript_path":"`+sessionPath+`","source":"startup"`)
	want := []adapters.Effect{
		adapters.Follow{ID: "session-1", Path: sessionPath},
		adapters.Follow{ID: "agents-1", Path: strings.TrimSuffix(sessionPath, ".jsonl") + "/subagents/agent-*.jsonl"},
		adapters.HookReply{ID: id},
	}
	if !slices.EqualFunc(s.Effects, want, sameEffect) {
		t.Errorf("effects = %+v, want %+v", s.Effects, want)
	}
	if s.Facts == nil || s.Facts.NativeSession != "11111111-1111-4111-8111-111111111111" {
		t.Errorf("facts = %+v, want the session's id", s.Facts)
	}
	if o := c.done("open"); o == nil || o.Err != nil {
		t.Errorf("outcome of Open = %+v, want a session", o)
	}
}

func sameEffect(a, b adapters.Effect) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// Of a session that goes on only what is added is ours, and /clear is another file.
func TestTerminalOtherSessions(t *testing.T) {
	c := newConsole(t, adapters.Options{Resume: "11111111-1111-4111-8111-111111111111"})
	_, s := c.hook("SessionStart", `"session_id":"11111111-1111-4111-8111-111111111111","transcript_path":"`+sessionPath+`","source":"resume"`)
	if f := s.Effects[0].(adapters.Follow); f.From != -1 {
		t.Errorf("follow of a resumed session from %d, want from its end", f.From)
	}
	c.raw("session-1", `{"type":"user","uuid":"old","timestamp":"2026-11-30T11:59:59.000Z","origin":{"kind":"human"},"message":{"content":"of before"}}`)
	c.hook("SessionEnd", `"reason":"clear"`)
	_, s = c.hook("SessionStart", `"session_id":"22222222-2222-4222-8222-222222222222","transcript_path":"/p/2.jsonl","source":"clear"`)
	if len(s.Effects) != 5 || s.Facts.NativeSession != "22222222-2222-4222-8222-222222222222" {
		t.Errorf("step of /clear = %+v, want the old files left, the new ones followed and the new id", s)
	}
	c.raw("session-1", `{"type":"user","uuid":"late","origin":{"kind":"human"},"message":{"content":"of a file that was left"}}`)
	c.raw("session-2", `{"type":"user","uuid":"new","origin":{"kind":"human"},"message":{"content":"hello"}}`)
	c.raw("session-2", `{"type":"user","uuid":"new","origin":{"kind":"human"},"message":{"content":"hello"}}`)
	if texts := said[contract.Text](c); len(texts) != 1 || texts[0].Text != "hello" {
		t.Errorf("texts = %+v, want hello once", texts)
	}
}

// A line that a dying process tore, and the record that another put behind it, cost
// that line only (B154).
func TestTerminalTornLine(t *testing.T) {
	c := started(t)
	for _, bad := range []string{`{"type":"user","uuid":"a","parentUu{"type":"user"}`, `{"type":"us`, `nonsense`} {
		if _, err := c.p.Receive(c.now, adapters.Frame{Source: adapters.LogFile, ID: "session-1", Data: []byte(bad)}); err == nil {
			t.Errorf("line %q = nil error, want one", bad)
		}
	}
	c.prompt("still there")
	if texts := said[contract.Text](c); len(texts) != 1 || texts[0].Text != "still there" {
		t.Errorf("texts = %+v, want the one of the whole line", texts)
	}
}

// Who answers first is right: elsewhere by the hook, here by what the file tells.
func TestTerminalAsks(t *testing.T) {
	c := started(t)
	c.prompt("go")
	c.call("t1", "ls")
	id, _ := c.ask("ls")
	if _, answered := c.reply(id); answered {
		t.Fatal("the request's hook was answered before anybody decided")
	}
	c.submit(adapters.Answer{Ask: id, Decision: contract.RejectOnce, Message: "not now"})
	want := `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"not now"}}}`
	if got, _ := c.reply(id); got != want {
		t.Errorf("answer = %s, want %s", got, want)
	}
	c.line(`"type":"user","permissionDecision":{"decision":"reject","source":"hook"},"message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"not now"}]}`)

	c.call("t2", "pwd")
	here, _ := c.ask("pwd")
	c.hook("PostToolUse", `"tool_name":"Bash","tool_use_id":"t2"`)
	if got, answered := c.reply(here); !answered || got != "" {
		t.Errorf("answer to a request that was answered here = %q, %v, want nothing", got, answered)
	}
	r := said[contract.PermissionResponse](c)
	if len(r) != 1 || r[0].Call != "t2" || r[0].Decision != contract.AllowOnce {
		t.Errorf("responses = %+v, want t2 allowed once", r)
	}
	if _, err := c.p.Submit(c.now, adapters.Answer{Ask: here, Decision: contract.RejectOnce}); err == nil {
		t.Error("a late answer = nil error, want one")
	}
}

// A rejection that came too late is told: the call ran.
func TestTerminalLateRejection(t *testing.T) {
	c := started(t)
	c.prompt("go")
	c.call("t1", "ls")
	id, _ := c.ask("ls")
	c.submit(adapters.Answer{Ask: id, Decision: contract.RejectOnce})
	c.hook("PostToolUse", `"tool_name":"Bash","tool_use_id":"t1"`)
	if list := said[contract.Service](c); len(list) != 1 || list[0].Kind != contract.ServiceError {
		t.Errorf("services = %+v, want that the call ran all the same", list)
	}
}

// A plan is approved with its input, which the CLI wants back.
func TestTerminalPlan(t *testing.T) {
	c := started(t)
	c.prompt("plan")
	c.line(`"type":"assistant","message":{"id":"m1","model":"claude-x","content":[{"type":"tool_use","id":"t1","name":"ExitPlanMode","input":{"plan":"# P"}}]}`)
	c.hook("PreToolUse", `"tool_name":"ExitPlanMode","tool_input":{"plan":"# P"},"tool_use_id":"t1"`)
	id, _ := c.hook("PermissionRequest", `"tool_name":"ExitPlanMode","tool_input":{"plan":"# P"}`)
	c.submit(adapters.Answer{Ask: id, Decision: contract.AllowOnce})
	if got, _ := c.reply(id); !strings.Contains(got, `"behavior":"allow","updatedInput":{"plan":"# P"}`) {
		t.Errorf("answer = %s, want the plan's input back", got)
	}
}

// askedInBackground is a console with a sub-agent abc in the background that asks about the
// call t1 of Bash, and the id of its hook.
func askedInBackground(t *testing.T) (*console, string) {
	t.Helper()
	c := started(t)
	c.prompt("go")
	c.line(`"type":"assistant","message":{"id":"m1","model":"claude-x","content":[{"type":"tool_use","id":"a1","name":"Agent","input":{"prompt":"dig","description":"dig"}}]}`)
	c.line(`"type":"user","toolUseResult":{"isAsync":true,"agentId":"abc"},"message":{"content":[{"type":"tool_result","tool_use_id":"a1","content":"started"}]}`)
	c.raw("agents-1", `{"type":"assistant","uuid":"s1","agentId":"abc","isSidechain":true,"message":{"id":"m2","model":"claude-x","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}}`)
	c.line(`"type":"system","subtype":"turn_duration"`)
	c.hook("PreToolUse", `"agent_id":"abc","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t1"`)
	id, _ := c.hook("PermissionRequest", `"agent_id":"abc","tool_name":"Bash","tool_input":{"command":"ls"}`)
	return c, id
}

// A sub-agent in the background shows its dialog only when its hook says nothing. From
// then on nobody elsewhere is asked: what they say would have no effect.
func TestTerminalBackgroundAsk(t *testing.T) {
	c, id := askedInBackground(t)
	c.wait(10 * time.Second)
	if _, answered := c.reply(id); answered {
		t.Fatal("the request was given back too soon")
	}
	c.wait(15 * time.Second)
	if got, answered := c.reply(id); !answered || got != "" {
		t.Errorf("answer after 25 s = %q, %v, want nothing, for the dialog", got, answered)
	}
	var withdrawn []string
	for _, s := range c.steps {
		withdrawn = append(withdrawn, s.Withdraw...)
	}
	if !slices.Equal(withdrawn, []string{id}) {
		t.Errorf("withdrawn = %q, want %q", withdrawn, id)
	}
	if _, err := c.p.Submit(c.now, adapters.Answer{Ask: id, Decision: contract.RejectOnce}); err == nil {
		t.Error("an answer that the CLI does not hear = nil error, want one")
	}
	c.hook("PostToolUse", `"agent_id":"abc","tool_name":"Bash","tool_use_id":"t1"`)
	if r := said[contract.PermissionResponse](c); len(r) != 0 {
		t.Errorf("responses = %+v, want none to an ask that was withdrawn", r)
	}
}

// A text that was pasted waits for the request to be over, and the request does not wait
// for the text: it is left to the dialog when no key is on its way.
func TestTerminalBackgroundAskWhileTyping(t *testing.T) {
	c, id := askedInBackground(t)
	c.submit(adapters.Answer{Ask: id, Decision: contract.AllowOnce})
	c.shown = &menu // the text is not seen to have come
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	c.hook("PreToolUse", `"agent_id":"abc","tool_name":"Bash","tool_input":{"command":"pwd"},"tool_use_id":"t2"`)
	id, _ = c.hook("PermissionRequest", `"agent_id":"abc","tool_name":"Bash","tool_input":{"command":"pwd"}`)
	c.shown = nil
	c.wait(40 * time.Second)
	if got, answered := c.reply(id); !answered || got != "" {
		t.Errorf("answer after 40 s = %q, %v, want nothing, for the dialog", got, answered)
	}
	if strings.Contains(c.typed(), "\r") {
		t.Errorf("typed %q, want no Enter while the dialog may stand", c.typed())
	}
	c.hook("PostToolUse", `"agent_id":"abc","tool_name":"Bash","tool_use_id":"t2"`)
	c.wait(time.Minute)
	if !slices.Equal(c.sent, []string{"hello"}) {
		t.Errorf("sent %q when the dialog was over, want the prompt", c.sent)
	}
}

// The dialog of a sub-agent keeps others from typing until it is known to be closed,
// which an abort does not do.
func TestTerminalBackgroundDialog(t *testing.T) {
	for name, end := range map[string]func(*console){
		"the call ran": func(c *console) { c.hook("PostToolUse", `"agent_id":"abc","tool_name":"Bash","tool_use_id":"t1"`) },
		"its result": func(c *console) {
			c.raw("agents-1", `{"type":"user","uuid":"s2","agentId":"abc","isSidechain":true,"message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no"}]}}`)
		},
		"the sub-agent stopped": func(c *console) { c.hook("SubagentStop", `"agent_id":"abc"`) },
	} {
		c, _ := askedInBackground(t)
		c.wait(25 * time.Second)
		c.submit(adapters.Abort{})
		c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
		c.wait(time.Minute)
		if got := c.typed(); got != "" {
			t.Errorf("%s: typed %q into the dialog before", name, got)
		}
		end(c)
		if got := c.typed(); got != pasted("hello") {
			t.Errorf("%s: typed %q, want the prompt", name, got)
		}
	}
}

// The key that stops a turn is pressed only while one runs: twice in an idle
// terminal it opens a menu.
func TestTerminalAbort(t *testing.T) {
	c := started(t)
	c.submit(adapters.Abort{})
	if got := c.typed(); got != "" {
		t.Errorf("idle: typed %q, want nothing", got)
	}
	c.prompt("go")
	c.submit(adapters.Abort{})
	if got := c.typed(); got != "\x1b" {
		t.Errorf("typed %q, want Esc", got)
	}
	c.line(`"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}`)
	ends := said[contract.TurnEnd](c)
	if len(ends) != 1 || ends[0].Status != contract.TurnCancelled || len(said[contract.Abort](c)) != 0 {
		t.Errorf("turn-ends %+v, aborts %d: want it cancelled, by whom the host knows", ends, len(said[contract.Abort](c)))
	}

	c.prompt("again")
	c.call("t1", "ls")
	id, _ := c.ask("ls")
	c.submit(adapters.Abort{})
	if got, _ := c.reply(id); !strings.Contains(got, `"behavior":"deny"`) || !strings.Contains(got, `"interrupt":true`) || c.typed() != "\x1b" {
		t.Errorf("abort with an open dialog: answer %s, typed %q: want the request refused with the turn, and no key", got, c.typed())
	}
	c.line(`"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user for tool use]"}]}`)

	c.prompt("by hand")
	c.line(`"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}`)
	if n := len(said[contract.Abort](c)); n != 1 {
		t.Errorf("%d aborts, want the person's", n)
	}
}

// A turn of which nothing was answered is taken back by Esc: no record tells, the prompt
// stands in the input line again. It ends as soon as that is seen.
func TestTerminalAbortPutsBack(t *testing.T) {
	for _, c := range []struct {
		shown      string
		ours, busy bool
		want       string
	}{
		{"❯ hello", true, false, "\x1b" + wiped},
		{"❯ hello", false, false, "\x1b"},
		{"❯ another", true, false, "\x1b"}, // it does nothing: the key would open a menu
		{"❯", true, false, "\x1b"},
		{"❯", true, true, "\x1b\x1b"},
	} {
		con := started(t)
		before := ""
		if c.ours {
			con.submit(adapters.Prompt{ID: "p1", Text: "hello"})
			before = pasted("hello")
		}
		con.prompt("hello")
		con.submit(adapters.Abort{})
		con.busy = c.busy
		con.wait(time.Second)
		con.screen(c.shown, len([]rune(c.shown)))
		con.wait(5 * time.Second)
		ends := said[contract.TurnEnd](con)
		if got := strings.TrimPrefix(con.typed(), before); got != c.want || c.busy != (len(ends) == 0) || !c.busy && ends[0].Status != contract.TurnCancelled {
			t.Errorf("%+v: typed %q, turn-ends %+v", c, got, ends)
		}
	}
}

// The person's own Esc ends the turn likewise, once, and leaves the line alone.
func TestTerminalEscTakesBack(t *testing.T) {
	for name, c := range map[string]struct {
		esc  func(*console)
		want int
	}{
		"shown":                        {func(c *console) { c.screen("❯ hello", 7); c.wait(2 * time.Second) }, 1},
		"looked at while it was drawn": {func(c *console) { c.screen("❯ hello", 7); c.screen("❯", 2); c.wait(time.Minute) }, 0},
		"late": {func(c *console) { // it shows the prompt before Enter
			c.wait(4 * time.Second)
			c.busy = true
			c.wait(time.Minute)
		}, 0},
		"before a look": {func(c *console) { c.wait(10 * time.Second) }, 1},
		"from the history while the turn runs": {func(c *console) {
			c.busy = true
			c.screen("❯ hello", 7)
			c.wait(time.Minute)
		}, 0},
		"typed again behind an answer": {func(c *console) {
			c.line(`"type":"assistant","message":{"id":"m1","model":"claude-x","content":[{"type":"text","text":"done"}]}`)
			c.screen("❯ hello", 7)
			c.wait(time.Minute)
		}, 0},
		"another text": {func(c *console) { c.screen("❯ hello there", 13); c.wait(time.Minute) }, 0},
		"sent again before it was seen": {func(c *console) {
			c.line(`"type":"user","parentUuid":"before","origin":{"kind":"human"},"promptSource":"typed","message":{"content":"hello there"}`)
		}, 1},
		"sent behind a turn that was not told to end": {func(c *console) {
			c.line(`"type":"user","parentUuid":"after","origin":{"kind":"human"},"promptSource":"typed","message":{"content":"hello there"}`)
		}, 0},
	} {
		con := started(t)
		con.line(`"type":"user","parentUuid":"before","origin":{"kind":"human"},"promptSource":"typed","message":{"content":"hello"}`)
		if name == "late" || name == "before a look" {
			con.screen("❯ hello", 7)
		}
		con.wait(time.Second)
		c.esc(con)
		n := 0
		for _, end := range said[contract.TurnEnd](con) {
			if end.Status == contract.TurnCancelled {
				n++
			}
		}
		if n != c.want || len(said[contract.Abort](con)) != c.want || con.typed() != "" {
			t.Errorf("%s: %d turns cancelled, %d aborts, typed %q, want %d and nothing typed", name, n, len(said[contract.Abort](con)), con.typed(), c.want)
		}
	}
}

// An abort holds for the text that was typed when it came, and for no other.
func TestTerminalAbortsWhatWasTyped(t *testing.T) {
	c := started(t)
	c.prompt("local")
	c.submit(adapters.Steer{ID: "s1", Text: "and that"})
	c.submit(adapters.Abort{})
	c.line(`"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}`)
	c.prompt("and that")
	if got := strings.Count(c.typed(), "\x1b") - strings.Count(c.typed(), "\x1b[20"); got != 2 {
		t.Errorf("Esc pressed %d times, want once for the turn and once for the text behind it", got)
	}

	c = started(t)
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	c.submit(adapters.Abort{})
	c.screen("❯ hello", 7)
	c.wait(time.Minute)
	ends := said[contract.TurnEnd](c)
	if got := c.typed(); got != pasted("hello")+wiped || len(ends) != 1 || ends[0].Status != contract.TurnCancelled {
		t.Fatalf("typed %q, turn-ends %+v: want no Enter for what was stopped, and that it was", got, ends)
	}
	c.submit(adapters.Prompt{ID: "p2", Text: "next"})
	c.prompt("next")
	if got := c.typed(); got != pasted("hello")+wiped+pasted("next") {
		t.Errorf("typed %q, want that the next prompt goes on", got)
	}

	// What was sent behind the abort is no part of it.
	c = started(t)
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	c.submit(adapters.Abort{})
	c.submit(adapters.Prompt{ID: "p2", Text: "next"})
	c.prompt("hello")
	c.line(`"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}`)
	if got := c.typed(); got != pasted("hello")+"\x1b"+pasted("next") {
		t.Errorf("typed %q, want the first stopped and the second typed", got)
	}
}

// The last answer comes behind the hook of the turn's end, and the end behind that.
func TestTerminalTurnEnd(t *testing.T) {
	c := started(t)
	c.prompt("go")
	c.hook("Stop", `"last_assistant_message":"done"`)
	c.wait(time.Second)
	c.line(`"type":"assistant","message":{"id":"m1","model":"claude-x","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":7,"output_tokens":3}}`)
	c.line(`"type":"assistant","message":{"id":"m1","model":"claude-x","content":[{"type":"text","text":"done, really"}],"usage":{"input_tokens":7,"output_tokens":3}}`)
	if n := len(said[contract.TurnEnd](c)); n != 0 {
		t.Fatalf("%d turn-ends before the record, want none", n)
	}
	c.line(`"type":"system","subtype":"turn_duration"`)
	ends := said[contract.TurnEnd](c)
	if len(ends) != 1 || ends[0].Usage == nil || ends[0].Usage.InputTokens != 7 {
		t.Errorf("turn-ends %+v, want one with the usage of the one message", ends)
	}

	// A version that writes no such record.
	c.prompt("go")
	c.hook("Stop", "")
	c.wait(10 * time.Second)
	if n := len(said[contract.TurnEnd](c)); n != 2 {
		t.Errorf("%d turn-ends, want the second after a while", n)
	}

	// A hook of the person's takes its time before the record, and the file its.
	c.prompt("go")
	c.busy = true
	c.hook("Stop", `"last_assistant_message":"and done"`)
	c.wait(5 * time.Minute)
	c.busy = false
	if n := len(said[contract.TurnEnd](c)); n != 2 {
		t.Fatalf("%d turn-ends while the CLI says that it works, want no third", n)
	}
	c.line(`"type":"system","subtype":"turn_duration"`)
	c.prompt("go")
	c.hook("Stop", `"last_assistant_message":"late"`)
	c.wait(30 * time.Second)
	c.line(`"type":"assistant","message":{"id":"m2","model":"claude-x","content":[{"type":"text","text":"late"}]}`)
	c.wait(10 * time.Second)
	if starts, ends := len(said[contract.TurnStart](c)), len(said[contract.TurnEnd](c)); starts != 4 || ends != 4 {
		t.Errorf("%d turns begun, %d ended, want the four of the prompts", starts, ends)
	}
}

func TestLaunchTerminal(t *testing.T) {
	request := func(o adapters.Options, args ...string) adapters.TerminalRequest {
		return adapters.TerminalRequest{Hook: "agenthost hook x", LaunchRequest: adapters.LaunchRequest{
			Dir: "/w", SessionID: "s1", StateDir: "/state", Getenv: func(string) string { return "" }, Options: o, Args: args,
		}}
	}
	l, err := claude.New().LaunchTerminal(request(adapters.Options{Model: "opus", Settings: map[string]string{
		"settings": `{"model":"x","hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}],"WorktreeCreate":[{"hooks":[]}]}}`,
	}}))
	if err != nil {
		t.Fatal(err)
	}
	if !l.Screen || !slices.Contains(l.Argv, "--model") || slices.Contains(l.Argv, "-p") || !slices.Contains(l.Argv, claude.SessionUUID("s1")) {
		t.Errorf("launch = %+v, want the CLI with its screen in the session's id", l)
	}
	i := slices.Index(l.Argv, "--permission-mode")
	if i < 0 || l.Argv[i+1] != "default" {
		t.Errorf("argv = %q, want the mode named: the CLI's own default asks nobody", l.Argv)
	}
	var settings struct {
		Model string
		Hooks map[string][]struct {
			Matcher string
			Hooks   []struct {
				Command string
				Timeout int
			}
		}
	}
	if err := json.Unmarshal([]byte(l.Argv[slices.Index(l.Argv, "--settings")+1]), &settings, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	stop, ask := settings.Hooks["Stop"], settings.Hooks["PermissionRequest"]
	switch {
	case settings.Model != "x" || len(settings.Hooks["WorktreeCreate"]) != 1:
		t.Errorf("settings = %+v, want what was given kept", settings)
	case len(stop) != 2 || stop[0].Hooks[0].Command != "mine" || stop[1].Hooks[0].Command != "agenthost hook x":
		t.Errorf("Stop hooks = %+v, want the given one, then ours", stop)
	case len(ask) != 1 || ask[0].Matcher != "*" || ask[0].Hooks[0].Timeout < 3600:
		t.Errorf("PermissionRequest hooks = %+v, want one for every tool that may wait for people", ask)
	}
	for name, r := range map[string]adapters.TerminalRequest{
		"limits":            request(adapters.Options{MaxTurns: 3}),
		"a cut":             request(adapters.Options{Resume: "x", ForkAt: "y"}),
		"bypass":            request(adapters.Options{Mode: "bypassPermissions"}),
		"auto":              request(adapters.Options{Mode: "auto"}),
		"settings in files": request(adapters.Options{Settings: map[string]string{"settings": "/x.json"}}),
		"no hooks":          request(adapters.Options{Settings: map[string]string{"settings": `{"disableAllHooks":true}`}}),
		"print":             request(adapters.Options{}, "-p"),
		"other settings":    request(adapters.Options{}, "--settings=/x.json"),
	} {
		if _, err := claude.New().LaunchTerminal(r); err == nil {
			t.Errorf("launch with %s = nil error, want a refusal", name)
		}
	}
}
