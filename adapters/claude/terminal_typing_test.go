package claude_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

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
