package claude_test

import (
	"encoding/json/v2"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/claude"
	"github.com/agenthost/agenthost/contract"
)

// console plays the CLI and its screen for a terminal Protocol.
type console struct {
	t     *testing.T
	p     adapters.Protocol
	now   time.Time
	wake  time.Time
	n     int
	steps []adapters.Step
}

const sessionPath = "/home/u/.claude/projects/-home-u-my-app/11111111-1111-4111-8111-111111111111.jsonl"

func newConsole(t *testing.T, o adapters.Options) *console {
	t.Helper()
	info := adapters.TerminalInfo{SessionInfo: adapters.SessionInfo{ID: "s1", Dir: "/home/u/w", Options: o}}
	c := &console{t: t, p: claude.New().NewTerminalProtocol(info), now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	c.submit(adapters.Open{ID: "open"})
	return c
}

// started is a console whose session runs and whose input line is free.
func started(t *testing.T) *console {
	t.Helper()
	c := newConsole(t, adapters.Options{})
	c.hook("SessionStart", `"session_id":"11111111-1111-4111-8111-111111111111","transcript_path":"`+sessionPath+`","source":"startup"`)
	c.screen("❯", 2)
	return c
}

func (c *console) took(s adapters.Step) adapters.Step {
	c.steps = append(c.steps, s)
	c.wake = s.WakeAt
	return s
}

func (c *console) submit(cmd adapters.Command) adapters.Step {
	c.t.Helper()
	s, err := c.p.Submit(c.now, cmd)
	if err != nil {
		c.t.Fatalf("Submit(%T) = error %v", cmd, err)
	}
	return c.took(s)
}

// hook sends a hook and returns its id with the step.
func (c *console) hook(name, members string) (string, adapters.Step) {
	c.t.Helper()
	c.n++
	id := "h" + string(rune('a'+c.n/26)) + string(rune('a'+c.n%26))
	if members != "" {
		members = "," + members
	}
	s, err := c.p.Receive(c.now, adapters.Frame{Source: adapters.Hook, ID: id, Data: []byte(`{"hook_event_name":"` + name + `"` + members + `}`)})
	if err != nil {
		c.t.Fatalf("hook %s: %v", name, err)
	}
	return id, c.took(s)
}

// line sends a record of the session's file, with a fresh uuid.
func (c *console) line(members string) adapters.Step {
	c.t.Helper()
	c.n++
	return c.raw("session-1", `{"uuid":"u`+string(rune('a'+c.n/26))+string(rune('a'+c.n%26))+`",`+members+`}`)
}

func (c *console) raw(follow, data string) adapters.Step {
	c.t.Helper()
	s, err := c.p.Receive(c.now, adapters.Frame{Source: adapters.LogFile, ID: follow, File: "x.jsonl", Data: []byte(data)})
	if err != nil {
		c.t.Fatalf("line %s: %v", data, err)
	}
	return c.took(s)
}

func (c *console) prompt(text string) adapters.Step {
	c.t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.line(`"type":"user","origin":{"kind":"human"},"promptSource":"typed","message":{"content":` + string(quoted) + `}`)
}

// call tells of a call of Bash, by the file and by its hook.
func (c *console) call(id, command string) {
	c.t.Helper()
	c.line(`"type":"assistant","message":{"id":"m-` + id + `","model":"claude-x","content":[{"type":"tool_use","id":"` + id + `","name":"Bash","input":{"command":"` + command + `"}}]}`)
	c.hook("PreToolUse", `"tool_name":"Bash","tool_input":{"command":"`+command+`"},"tool_use_id":"`+id+`"`)
}

func (c *console) ask(command string) (string, adapters.Step) {
	c.t.Helper()
	return c.hook("PermissionRequest", `"tool_name":"Bash","tool_input":{"command":"`+command+`"}`)
}

func (c *console) screen(line string, x int) adapters.Step {
	c.t.Helper()
	rule := strings.Repeat("─", 80)
	return c.show(adapters.Screen{Cols: 80, Rows: 24, X: x, Y: 1, Paste: true, Lines: []string{rule, line, rule}})
}

func (c *console) show(s adapters.Screen) adapters.Step {
	c.t.Helper()
	step, err := c.p.Receive(c.now, s.Frame())
	if err != nil {
		c.t.Fatal(err)
	}
	return c.took(step)
}

// wait lets time pass, with the ticks that were asked for.
func (c *console) wait(d time.Duration) {
	for end := c.now.Add(d); ; {
		if c.wake.IsZero() || c.wake.After(end) {
			c.now = end
			return
		}
		c.now = c.wake
		c.took(c.p.Tick(c.now))
	}
}

// typed is all that was typed.
func (c *console) typed() string {
	var b strings.Builder
	for _, s := range c.steps {
		for _, w := range s.Write {
			b.Write(w)
		}
	}
	return b.String()
}

// reply is the answer to a hook, and whether there was one.
func (c *console) reply(id string) (string, bool) {
	for _, s := range c.steps {
		for _, e := range s.Effects {
			if r, ok := e.(adapters.HookReply); ok && r.ID == id {
				return string(r.Output), true
			}
		}
	}
	return "", false
}

// said are the drafts of a type, all of them.
func said[E contract.Event](c *console) []E {
	var list []E
	for _, s := range c.steps {
		for _, d := range s.Emit {
			if e, ok := d.Event.(E); ok {
				list = append(list, e)
			}
		}
	}
	return list
}

func (c *console) done(id string) *adapters.Outcome {
	for _, s := range c.steps {
		for _, o := range s.Done {
			if o.ID == id {
				return &o
			}
		}
	}
	return nil
}

func pasted(text string) string { return "\x1b[200~" + text + "\x1b[201~\r" }

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

// A text goes in one paste with what would end it taken out, then Enter (B141), and
// begins one turn, told by the record of the file.
func TestTerminalTypesPrompts(t *testing.T) {
	for text, want := range map[string]string{
		"hello":                   "hello",
		"one\r\ntwo\nthree":       "one\ntwo\nthree",
		"a\x1b[201~\rrm -rf /":    "a[201~\nrm -rf /",
		"!rm -rf /":               " !rm -rf /",
		"#remember":               " #remember",
		"&later":                  " &later",
		"/etc/hosts looks broken": "/etc/hosts looks broken",
	} {
		c := started(t)
		c.submit(adapters.Prompt{ID: "p1", Text: text})
		if got := c.typed(); got != pasted(want) {
			t.Errorf("prompt %q typed %q, want %q", text, got, pasted(want))
		}
		c.prompt(want)
		starts := 0
		for _, s := range c.steps {
			for _, d := range s.Emit {
				if _, ok := d.Event.(contract.TurnStart); ok {
					starts++
					if !slices.Equal(d.Prompts, []string{"p1"}) {
						t.Errorf("prompt %q: turn of %q, want p1", text, d.Prompts)
					}
				}
			}
		}
		if starts != 1 || len(said[contract.Text](c)) != 0 {
			t.Errorf("prompt %q: %d turns and texts %v, want one turn and no text of the terminal", text, starts, said[contract.Text](c))
		}
	}
}

// Commands of the CLI open dialogs that take the next keys: they are refused.
func TestTerminalRefusesCommands(t *testing.T) {
	c := started(t)
	for _, text := range []string{"/clear", " /model opus", "/", "/mcp__a__b x"} {
		if _, err := c.p.Submit(c.now, adapters.Prompt{ID: "p", Text: text}); err == nil {
			t.Errorf("prompt %q = nil error, want a refusal", text)
		}
	}
	if got := c.typed(); got != "" {
		t.Errorf("typed %q, want nothing", got)
	}
	for _, cmd := range []adapters.Command{
		adapters.Configure{ID: "c1", Model: "opus"}, adapters.Configure{ID: "c2", Mode: contract.ModePlan}, adapters.Op{ID: "o", Name: adapters.OpRewind},
	} {
		if _, err := c.p.Submit(c.now, cmd); !errors.Is(err, adapters.ErrUnsupported) {
			t.Errorf("Submit(%+v) = %v, want ErrUnsupported", cmd, err)
		}
	}
}

// Nothing is typed while something would take the keys for its own.
func TestTerminalWaitsToType(t *testing.T) {
	for name, block := range map[string]func(*console) func(){
		"a permission dialog": func(c *console) func() {
			c.prompt("local")
			c.call("t1", "ls")
			id, _ := c.ask("ls")
			return func() {
				c.submit(adapters.Answer{Ask: id, Decision: contract.AllowOnce})
				c.line(`"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}`)
				c.line(`"type":"system","subtype":"turn_duration"`)
			}
		},
		"a turn of the person's": func(c *console) func() {
			c.prompt("local")
			return func() { c.line(`"type":"system","subtype":"turn_duration"`) }
		},
		"half a line": func(c *console) func() {
			c.screen("❯ half a li", 11)
			return func() { c.screen("❯", 2) }
		},
		"a menu": func(c *console) func() {
			c.show(adapters.Screen{Cols: 80, Rows: 24, X: 2, Y: 1, Lines: []string{" Switch model?", "❯ 1. Yes", "  2. No"}})
			return func() { c.screen("❯ Try something", 2) }
		},
		"a gate": func(c *console) func() {
			c.show(adapters.Screen{Cols: 80, Rows: 24, Lines: []string{" ❯ No, exit", "   Yes, I trust this folder"}})
			return func() { c.screen("❯", 2) }
		},
	} {
		c := started(t)
		free := block(c)
		c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
		c.wait(10 * time.Second)
		if got := c.typed(); got != "" {
			t.Errorf("%s: typed %q, want nothing yet", name, got)
		}
		told := false
		for _, s := range said[contract.Service](c) {
			told = told || strings.HasPrefix(s.Text, "The message waits: ")
		}
		if !told {
			t.Errorf("%s: nobody was told that the message waits", name)
		}
		free()
		if got := c.typed(); got != pasted("hello") {
			t.Errorf("%s is over: typed %q, want %q", name, got, pasted("hello"))
		}
	}
}

// A call that begins while a text is typed is held by its hook: the dialog would
// take the Enter for "yes".
func TestTerminalHoldsCallsWhileTyping(t *testing.T) {
	c := started(t)
	c.prompt("local")
	c.submit(adapters.Steer{ID: "s1", Text: "left"})
	if got := c.typed(); got != pasted("left") {
		t.Fatalf("typed %q, want the steer", got)
	}
	id, _ := c.hook("PreToolUse", `"tool_name":"Bash","tool_input":{"command":"rm x"},"tool_use_id":"t1"`)
	if _, answered := c.reply(id); answered {
		t.Error("the call went on before the text was taken")
	}
	c.hook("UserPromptSubmit", `"prompt":"left"`)
	if _, answered := c.reply(id); !answered {
		t.Error("the call did not go on when the text was taken")
	}
	c.line(`"type":"attachment","attachment":{"type":"queued_command","prompt":"left","commandMode":"prompt","origin":{"kind":"human"}}`)
	if o := c.done("s1"); o == nil || o.Err != nil || string(o.Result) != `{"taken":"turn"}` {
		t.Errorf("outcome of the steer = %+v, want taken by the turn", o)
	}

	// The other way round: a call that was let go may ask any moment.
	c.call("t2", "ls")
	c.submit(adapters.Steer{ID: "s2", Text: "right"})
	if strings.Contains(c.typed(), "right") {
		t.Error("typed while a dialog may open")
	}
	c.wait(2 * time.Second)
	if !strings.Contains(c.typed(), pasted("right")) {
		t.Error("not typed when the call ran without asking")
	}
}

// An Enter that got lost is pressed again; a text that nothing takes fails, once.
func TestTerminalLostEnter(t *testing.T) {
	c := started(t)
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	c.screen("❯ hello", 7)
	c.wait(6 * time.Second)
	if got := c.typed(); got != pasted("hello")+"\r" {
		t.Errorf("typed %q, want Enter again", got)
	}
	c.wait(time.Minute)
	ends := said[contract.TurnEnd](c)
	if len(ends) != 1 || ends[0].Status != contract.TurnFailed || strings.Count(c.typed(), "hello") != 1 {
		t.Errorf("turn-ends %+v, typed %q: want one that failed, and the text typed once", ends, c.typed())
	}
}

// A call that was held may ask from the moment on at which it was let go.
func TestTerminalHeldCallMayAsk(t *testing.T) {
	c := started(t)
	c.prompt("local")
	c.submit(adapters.Steer{ID: "s1", Text: "left"})
	c.hook("PreToolUse", `"tool_name":"Bash","tool_input":{"command":"rm x"},"tool_use_id":"t1"`)
	c.wait(3 * time.Second)
	c.hook("UserPromptSubmit", `"prompt":"left"`)
	c.line(`"type":"attachment","attachment":{"type":"queued_command","prompt":"left","commandMode":"prompt","origin":{"kind":"human"}}`)
	c.submit(adapters.Steer{ID: "s2", Text: "at once"})
	if strings.Contains(c.typed(), "at once") {
		t.Error("typed while the dialog of a held call may open")
	}
	c.wait(2 * time.Second)
	if !strings.Contains(c.typed(), pasted("at once")) {
		t.Error("not typed when the held call ran without asking")
	}
}

// Enter is not pressed again where it would be an answer, or for nothing.
func TestTerminalEnterOnlyInTheLine(t *testing.T) {
	rule := strings.Repeat("─", 80)
	for name, c := range map[string]struct {
		show func(*console)
		want string
	}{
		"a menu": {func(c *console) {
			c.show(adapters.Screen{Cols: 80, Rows: 24, X: 2, Y: 2, Lines: []string{rule, " Switch model?", "❯ 1. hello", "  2. No", rule}})
		}, ""},
		"a list under a rule": {func(c *console) {
			c.show(adapters.Screen{Cols: 80, Rows: 24, X: 2, Y: 1, Lines: []string{rule, "❯ 1. Yes", "  2. No", rule}})
		}, ""},
		"an empty line":  {func(c *console) { c.screen("❯", 2) }, ""},
		"other text":     {func(c *console) { c.screen("❯ half a li", 11) }, ""},
		"the text":       {func(c *console) { c.screen("❯ hello", 7) }, "\r"},
		"behind another": {func(c *console) { c.screen("❯ please hello", 14) }, "\r"},
		"more rows": {func(c *console) {
			c.show(adapters.Screen{Cols: 80, Rows: 24, X: 5, Y: 2, Lines: []string{rule, "❯ hel", "  lo", rule}})
		}, "\r"},
		"a call that may ask": {func(c *console) {
			c.screen("❯ hello", 7)
			c.wait(4500 * time.Millisecond)
			c.hook("PreToolUse", `"agent_id":"abc","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t1"`)
		}, ""},
	} {
		con := started(t)
		begun := con.now
		con.submit(adapters.Prompt{ID: "p1", Text: "hello"})
		c.show(con)
		con.wait(begun.Add(5500 * time.Millisecond).Sub(con.now))
		if got := strings.TrimPrefix(con.typed(), pasted("hello")); got != c.want {
			t.Errorf("%s: typed %q behind the text, want %q", name, got, c.want)
		}
	}
}

// A half line that nobody touches for a while is taken away for a prompt, and put
// back when that was taken.
func TestTerminalLendsTheLine(t *testing.T) {
	c := started(t)
	c.screen("❯ half a li", 11)
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	c.wait(31 * time.Second)
	if got, want := c.typed(), "\x05\x15"+pasted("hello"); got != want {
		t.Fatalf("typed %q, want %q", got, want)
	}
	c.hook("UserPromptSubmit", `"prompt":"hello"`)
	if got := c.typed(); !strings.HasSuffix(got, "\x19") {
		t.Errorf("typed %q, want the line put back", got)
	}
}

// A prompt that a hook of the user's refuses fails with the reason.
func TestTerminalBlockedPrompt(t *testing.T) {
	c := started(t)
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	c.hook("UserPromptSubmit", `"prompt":"hello"`)
	c.line(`"type":"system","subtype":"informational","level":"warning","content":"blocked by hook: no way","promptSubmitEnding":{"ending":{"kind":"blocked_by_hook"}}`)
	ends := said[contract.TurnEnd](c)
	if len(ends) != 1 || ends[0].Error == nil || ends[0].Error.Message != "blocked by hook: no way" {
		t.Errorf("turn-ends %+v, want one that failed with the hook's reason", ends)
	}
}

// A person's half line that stood before what was pasted is part of the prompt.
func TestTerminalHalfLine(t *testing.T) {
	c := started(t)
	c.submit(adapters.Prompt{ID: "p1", Text: "do it"})
	c.hook("UserPromptSubmit", `"prompt":"please do it"`)
	c.prompt("please do it")
	if n := len(said[contract.TurnStart](c)); n != 1 || len(said[contract.Text](c)) != 0 {
		t.Errorf("%d turns, texts %v: want the one turn of p1", n, said[contract.Text](c))
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

// A turn of which nothing was answered is taken back by the key: no record tells, the
// prompt stands in the input line again.
func TestTerminalAbortPutsBack(t *testing.T) {
	for _, c := range []struct {
		shown string
		ours  bool
		want  string
	}{
		{"❯ hello", true, "\x1b\x05\x15"},
		{"❯ hello", false, "\x1b"},
		{"❯ another", true, "\x1b\x1b"},
		{"❯", true, "\x1b\x1b"},
	} {
		con := started(t)
		before := ""
		if c.ours {
			con.submit(adapters.Prompt{ID: "p1", Text: "hello"})
			before = pasted("hello")
		}
		con.screen("❯ hello", 7) // before Enter worked
		con.prompt("hello")
		con.submit(adapters.Abort{})
		con.wait(time.Second)
		con.screen(c.shown, 7)
		con.wait(4 * time.Second)
		ends := said[contract.TurnEnd](con)
		back := c.want != "\x1b\x1b"
		if got := strings.TrimPrefix(con.typed(), before); got != c.want || back != (len(ends) == 1 && ends[0].Status == contract.TurnCancelled) {
			t.Errorf("%+v: typed %q, turn-ends %+v", c, got, ends)
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
	if got := c.typed(); got != pasted("hello") || len(ends) != 1 || ends[0].Status != contract.TurnCancelled {
		t.Fatalf("typed %q, turn-ends %+v: want no Enter for what was stopped, and that it was", got, ends)
	}
	c.screen("❯", 2)
	c.submit(adapters.Prompt{ID: "p2", Text: "next"})
	c.prompt("next")
	if got := c.typed(); got != pasted("hello")+pasted("next") {
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
