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
		"see @/etc/hosts":         "see @/etc/hosts ", // else Enter takes the file of a list
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
	c.deaf = 1
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
}

// A call that was let go asks when the person's own hooks have ended, which may be any
// time: nothing is typed until it asked or ended, and then before the CLI goes on.
func TestTerminalCallMayAskAnyTime(t *testing.T) {
	for name, end := range map[string]func(*console) (held string){
		"it ran": func(c *console) string {
			id, _ := c.hook("PostToolUse", `"tool_name":"Bash","tool_use_id":"t1"`)
			return id
		},
		"it failed": func(c *console) string {
			id, _ := c.hook("PostToolUseFailure", `"tool_name":"Bash","tool_use_id":"t1"`)
			return id
		},
		"it was refused": func(c *console) string {
			c.line(`"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no"}]}`)
			return ""
		},
		"it asked and ran": func(c *console) string {
			id, _ := c.ask("ls")
			c.submit(adapters.Answer{Ask: id, Decision: contract.AllowOnce})
			return ""
		},
	} {
		c := started(t)
		c.prompt("local")
		c.call("t1", "ls")
		c.submit(adapters.Steer{ID: "s1", Text: "right"})
		c.wait(2 * time.Minute)
		if got := c.typed(); got != "" {
			t.Errorf("%s: typed %q while a dialog may open", name, got)
		}
		c.deaf = 1
		held := end(c)
		if got := c.typed(); got != pasted("right") {
			t.Errorf("%s: typed %q, want the steer", name, got)
		}
		if held == "" {
			continue
		}
		if _, answered := c.reply(held); answered {
			t.Errorf("%s: the CLI went on before the text was taken", name)
		}
		c.hook("UserPromptSubmit", `"prompt":"right"`)
		if _, answered := c.reply(held); !answered {
			t.Errorf("%s: the CLI did not go on when the text was taken", name)
		}
	}
}

// A call is not held for longer than its hook may take. It may ask then, so that no Enter
// is pressed before its end.
func TestTerminalHoldsCallsForAWhile(t *testing.T) {
	c := started(t)
	c.prompt("local")
	c.show(menu)
	c.shown, c.deaf = nil, 9
	c.screen("❯", 2)
	c.submit(adapters.Steer{ID: "s1", Text: "left"})
	id, _ := c.hook("PreToolUse", `"tool_name":"Bash","tool_input":{"command":"rm x"},"tool_use_id":"t1"`)
	c.show(menu)
	c.wait(21 * time.Second)
	if _, answered := c.reply(id); !answered {
		t.Error("the call is held for longer than its hook may take")
	}
	before := c.typed()
	c.screen("❯ left", 6)
	c.wait(5 * time.Second)
	if got := c.typed(); got != before {
		t.Errorf("typed %q while the dialog of the call may open", strings.TrimPrefix(got, before))
	}
	c.deaf = 0
	c.hook("PostToolUse", `"tool_name":"Bash","tool_use_id":"t1"`)
	if got := c.typed(); got != before+"\r" || !slices.Equal(c.sent, []string{"left"}) {
		t.Errorf("typed %q, sent %q, want Enter when the call has ended", got, c.sent)
	}
}

// A text that a screen without an input line has swallowed holds the calls once, not each
// of them, until the line is there again.
func TestTerminalHoldsCallsOnce(t *testing.T) {
	c := started(t)
	c.prompt("local")
	c.shown = &menu
	c.submit(adapters.Steer{ID: "s1", Text: "left"})
	pre := func(id string) string {
		hook, _ := c.hook("PreToolUse", `"tool_name":"Bash","tool_input":{"command":"rm x"},"tool_use_id":"`+id+`"`)
		return hook
	}
	held := pre("t1")
	c.wait(19 * time.Second)
	if _, answered := c.reply(held); answered {
		t.Error("the first call is not held")
	}
	c.wait(2 * time.Second)
	post, _ := c.hook("PostToolUse", `"tool_name":"Bash","tool_use_id":"t1"`)
	next := pre("t2")
	for _, id := range []string{held, post, next} {
		if _, answered := c.reply(id); !answered {
			t.Errorf("hook %s is held again while no Enter can be pressed", id)
		}
	}
	c.screen("❯ left", 6)
	c.wait(time.Minute)
	if len(c.sent) != 0 {
		t.Errorf("sent %q while the dialog of a call may open", c.sent)
	}
	c.deaf = 1
	held, _ = c.hook("PostToolUse", `"tool_name":"Bash","tool_use_id":"t2"`)
	next = pre("t3")
	for _, id := range []string{held, next} {
		if _, answered := c.reply(id); answered {
			t.Errorf("hook %s went on behind an Enter that may not have been read", id)
		}
	}
	c.wait(5 * time.Second)
	if !slices.Equal(c.sent, []string{"left"}) {
		t.Errorf("sent %q, want the steer", c.sent)
	}
}

// Between an Enter and the end of a held call is time to read the key: a CLI that is slow
// would give it to the dialog of the call.
func TestTerminalNoEnterBeforeACallGoesOn(t *testing.T) {
	for at, want := range map[time.Duration]int{15 * time.Second: 1, 17 * time.Second: 0, 19900 * time.Millisecond: 0} {
		c := started(t)
		c.prompt("local")
		c.slow, c.deaf = true, 9
		c.submit(adapters.Steer{ID: "s1", Text: "left"})
		id, _ := c.hook("PreToolUse", `"tool_name":"Bash","tool_input":{"command":"rm x"},"tool_use_id":"t1"`)
		begun := c.now
		c.wait(at)
		c.slow = false
		c.screen("❯ left", 6)
		c.wait(begun.Add(19950 * time.Millisecond).Sub(c.now))
		if _, answered := c.reply(id); answered {
			t.Errorf("shown after %v: the call went on, want it held", at)
		}
		c.wait(10 * time.Second)
		if _, answered := c.reply(id); !answered {
			t.Errorf("shown after %v: the call is held for longer than its hook may take", at)
		}
		if got := strings.Count(c.typed(), "\r"); got != want {
			t.Errorf("shown after %v: %d Enters before the call has ended, want %d", at, got, want)
		}
		c.deaf = 0
		c.hook("PostToolUse", `"tool_name":"Bash","tool_use_id":"t1"`)
		if !slices.Equal(c.sent, []string{"left"}) {
			t.Errorf("shown after %v: sent %q when the call had ended, want the steer", at, c.sent)
		}
	}
}

// A sub-agent in the background shows its dialog only when its hook was answered: its
// calls keep nobody from typing.
func TestTerminalTypesBesideSubagents(t *testing.T) {
	c, id := askedInBackground(t)
	c.submit(adapters.Answer{Ask: id, Decision: contract.AllowOnce})
	c.hook("PreToolUse", `"agent_id":"abc","tool_name":"Bash","tool_input":{"command":"sleep 600"},"tool_use_id":"t9"`)
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	if !slices.Equal(c.sent, []string{"hello"}) {
		t.Errorf("sent %q, want the prompt", c.sent)
	}
}

// An Enter that got lost is pressed again; a text that nothing takes fails, once, and is
// left nowhere.
func TestTerminalLostEnter(t *testing.T) {
	c := started(t)
	c.deaf = 1
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	c.wait(6 * time.Second)
	if got := c.typed(); got != pasted("hello")+"\r" || len(c.sent) != 1 {
		t.Errorf("typed %q, sent %q, want Enter again", got, c.sent)
	}

	c = started(t)
	c.deaf = 99
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	c.wait(time.Minute)
	ends := said[contract.TurnEnd](c)
	if len(ends) != 1 || ends[0].Status != contract.TurnFailed || c.typed() != pasted("hello")+"\r\r"+wiped || c.input != "" {
		t.Errorf("turn-ends %+v, typed %q: want one that failed, the text typed once and wiped away", ends, c.typed())
	}
}

// menu is a list of choices.
var menu = adapters.Screen{Cols: 80, Rows: 24, X: 2, Y: 2, Lines: []string{strings.Repeat("─", 80), " Switch model?", "❯ 1. hello", "  2. No", strings.Repeat("─", 80)}}

// The first Enter waits until the input line shows the text: a menu that opened meanwhile
// has swallowed it and would take the key for an answer. The text is then pasted again.
func TestTerminalEnterWaitsForTheText(t *testing.T) {
	c := started(t)
	c.shown = &menu // the screen that was told is that of before
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	c.wait(time.Minute)
	if got := c.typed(); got != strings.TrimSuffix(pasted("hello"), "\r") {
		t.Fatalf("typed %q, want the text and no Enter", got)
	}
	c.shown = nil
	c.wait(30 * time.Second)
	if !slices.Equal(c.sent, []string{"hello"}) || strings.Count(c.typed(), "\r") != 1 {
		t.Errorf("sent %q by %q, want the text once", c.sent, c.typed())
	}
}

// A paste that is shown after all stands there twice: it is wiped away, and sent once.
func TestTerminalLatePaste(t *testing.T) {
	c := started(t)
	c.slow = true
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	c.wait(11 * time.Second)
	if got := strings.Count(c.typed(), "hello"); got != 2 || c.input != "" {
		t.Fatalf("pasted %d times, want again", got)
	}
	c.slow, c.input = false, "hellohello"
	c.wait(30 * time.Second)
	if !slices.Equal(c.sent, []string{"hello"}) {
		t.Errorf("sent %q by %q, want the text once", c.sent, c.typed())
	}
}

// The screen is looked at while it moves: a turn that runs never lets it rest.
func TestTerminalLooks(t *testing.T) {
	c := started(t)
	c.prompt("local")
	c.busy = true
	c.submit(adapters.Steer{ID: "s1", Text: "left"})
	c.wait(time.Second)
	if !slices.Equal(c.sent, []string{"left"}) {
		t.Errorf("sent %q by %q, want the steer", c.sent, c.typed())
	}
}

// Enter is not pressed again where it would be an answer, or for nothing.
func TestTerminalEnterOnlyInTheLine(t *testing.T) {
	rule := strings.Repeat("─", 80)
	for name, c := range map[string]struct {
		show func(*console)
		want string
	}{
		"a menu": {func(c *console) { c.show(menu) }, ""},
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
		"more rows than are shown": {func(c *console) {
			c.show(adapters.Screen{Cols: 80, Rows: 24, X: 5, Y: 1, Lines: []string{"─── ↑ 11 more " + rule, "  llo", rule}})
		}, "\r"},
	} {
		con := started(t)
		con.deaf = 1
		begun := con.now
		con.submit(adapters.Prompt{ID: "p1", Text: "hello"})
		c.show(con)
		con.wait(begun.Add(5500 * time.Millisecond).Sub(con.now))
		if got := strings.TrimPrefix(con.typed(), pasted("hello")); got != c.want {
			t.Errorf("%s: typed %q behind the text, want %q", name, got, c.want)
		}
	}
}

// The person's own hooks may take any time before and behind a prompt: it is entered once,
// does not fail while the CLI says that it works, and begins one turn.
func TestTerminalSlowHooks(t *testing.T) {
	for name, hooks := range map[string]func(*console){
		"SessionStart":     func(c *console) { c.wait(5 * time.Minute); c.hook("UserPromptSubmit", `"prompt":"hello"`) },
		"UserPromptSubmit": func(c *console) { c.hook("UserPromptSubmit", `"prompt":"hello"`); c.wait(5 * time.Minute) },
		"both": func(c *console) {
			c.wait(5 * time.Minute)
			c.hook("UserPromptSubmit", `"prompt":"hello"`)
			c.wait(5 * time.Minute)
		},
	} {
		c := started(t)
		c.busy = true
		c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
		hooks(c)
		c.prompt("hello")
		starts := said[contract.TurnStart](c)
		if len(starts) != 1 || len(said[contract.TurnEnd](c)) != 0 || len(said[contract.Text](c)) != 0 || !slices.Equal(c.sent, []string{"hello"}) {
			t.Errorf("%s: %d turns, ends %+v, texts %+v, sent %q: want the one turn of p1", name, len(starts), said[contract.TurnEnd](c), said[contract.Text](c), c.sent)
		}
	}
}

// What the CLI has and does nothing with fails. When it comes up after all, its text is
// not told again.
func TestTerminalTextThatNothingCameOf(t *testing.T) {
	c := started(t)
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	c.hook("UserPromptSubmit", `"prompt":"hello"`)
	c.wait(2 * time.Minute)
	if ends := said[contract.TurnEnd](c); len(ends) != 1 || ends[0].Status != contract.TurnFailed {
		t.Fatalf("turn-ends %+v, want one that failed", ends)
	}
	c.prompt("hello")
	if n := len(said[contract.TurnStart](c)); n != 2 || len(said[contract.Text](c)) != 0 {
		t.Errorf("%d turns, texts %+v: want a second turn, and the text not told again", n, said[contract.Text](c))
	}
}

// A steer that waits and is taken back by the person at the terminal, to be edited, fails
// at once, and what is sent in its place is the person's.
func TestTerminalSteerTakenBack(t *testing.T) {
	c := started(t)
	c.prompt("local")
	c.busy = true
	c.submit(adapters.Steer{ID: "s1", Text: "left"})
	c.line(`"type":"queue-operation","operation":"enqueue","content":"left"`)
	if o := c.done("s1"); o != nil {
		t.Fatalf("outcome of the steer = %+v before it was taken", o)
	}
	c.line(`"type":"queue-operation","operation":"popAll","content":"left"`)
	if o := c.done("s1"); o == nil || o.Err == nil {
		t.Errorf("outcome of the steer = %+v, want that it was taken back", o)
	}
	c.line(`"type":"attachment","attachment":{"type":"queued_command","prompt":"left, and up","commandMode":"prompt","origin":{"kind":"human"}}`)
	if texts := said[contract.Text](c); len(texts) != 2 || texts[1].Text != "left, and up" || !texts[1].Steer {
		t.Errorf("texts = %+v, want the person's steer", texts)
	}
}

// A screen that is late shows the text where it was, while the CLI has it.
func TestTerminalLateScreen(t *testing.T) {
	c := started(t)
	c.deaf = 99
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	c.hook("UserPromptSubmit", `"prompt":"hello"`)
	c.wait(30 * time.Second)
	c.prompt("hello")
	c.wait(4 * time.Second)
	c.busy = true
	c.wait(30 * time.Second)
	if n := len(said[contract.TurnStart](c)); n != 1 || len(said[contract.TurnEnd](c)) != 0 || c.typed() != pasted("hello") {
		t.Errorf("%d turns, ends %+v, typed %q, want the one turn of p1", n, said[contract.TurnEnd](c), c.typed())
	}
}

// A prompt that Esc takes back while a hook of the person's runs never was one: nothing
// is sent again, and its turn is cancelled.
func TestTerminalTakenBackBeforeItsRecord(t *testing.T) {
	for _, heard := range []bool{true, false} {
		c := started(t)
		c.busy = true
		c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
		if heard {
			c.hook("UserPromptSubmit", `"prompt":"hello"`)
		}
		c.wait(3 * time.Second)
		c.busy = false
		c.screen("❯ hello", 7)
		c.wait(time.Minute)
		ends := said[contract.TurnEnd](c)
		if len(ends) != 1 || ends[0].Status != contract.TurnCancelled || len(c.sent) != 1 {
			t.Errorf("hook heard %v: turn-ends %+v, sent %q, want it cancelled and sent once", heard, ends, c.sent)
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

	// Also when nothing takes the prompt, which would be put back by that key then.
	c = started(t)
	c.deaf = 99
	c.screen("❯ half a li", 11)
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	c.wait(2 * time.Minute)
	if len(said[contract.TurnEnd](c)) != 1 || c.input != "half a li" {
		t.Errorf("turn-ends %+v, the line is %q: want the prompt failed and the half line back", said[contract.TurnEnd](c), c.input)
	}

	// A long paste cannot be put back.
	c = started(t)
	c.screen("❯ [Pasted text #1 +20 lines]", 28)
	c.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	c.wait(5 * time.Minute)
	if got := c.typed(); got != "" {
		t.Errorf("typed %q at a long paste of the person's", got)
	}
}

// What an abort takes out of the input line, or puts back into it, is not typed where it
// would be an answer: into a dialog, or before that of a call which is let go.
func TestTerminalAbortTypesNowhereElse(t *testing.T) {
	for name, c := range map[string]struct {
		comes func(*console)
		want  string
	}{
		"the line":    {func(*console) {}, wiped + "\x1b[200~1\x1b[201~"},
		"a menu":      {func(c *console) { c.show(menu) }, ""},
		"a dialog":    {func(c *console) { c.prompt("local"); c.ask("rm x") }, ""},
		"a held call": {func(c *console) { c.hook("PreToolUse", `"tool_name":"Bash","tool_use_id":"t1"`) }, wiped},
		"a call that may ask": {func(c *console) {
			c.hook("PreToolUse", `"tool_name":"Bash","tool_use_id":"t1"`)
			c.wait(21 * time.Second)
		}, wiped},
	} {
		con := started(t)
		con.screen("❯ 1", 3)
		con.slow = true
		con.submit(adapters.Prompt{ID: "p1", Text: "hello"})
		con.wait(31 * time.Second)
		c.comes(con)
		before := con.typed()
		con.submit(adapters.Abort{})
		if got := strings.TrimRight(strings.TrimPrefix(con.typed(), before), "\x1b"); before == "" || got != c.want {
			t.Errorf("%s: typed %q, then %q at the abort, want %q", name, before, got, c.want)
		}
		told := slices.ContainsFunc(said[contract.Service](con), func(s contract.Service) bool { return strings.HasSuffix(s.Text, "put back there: 1") })
		if told != (name != "the line") {
			t.Errorf("%s: told of the half line: %v", name, told)
		}
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

// What a person writes on behind a text that waits for its Enter, and sends, was that text:
// it is not typed again. One that the input line never showed was not.
func TestTerminalWrittenOn(t *testing.T) {
	for name, shows := range map[string][]string{"after it stood": {"❯ do it", "❯ do it, now"}, "at once": {"❯ do it, now"}, "never shown": {"❯"}} {
		c := started(t)
		c.slow, c.deaf = true, 9
		c.submit(adapters.Prompt{ID: "p1", Text: "do it"})
		for _, line := range shows {
			c.screen(line, max(2, len([]rune(line))))
		}
		c.hook("UserPromptSubmit", `"prompt":"do it, now"`)
		c.screen("❯", 2)
		c.prompt("do it, now")
		starts := said[contract.TurnStart](c)
		if texts := len(said[contract.Text](c)); len(starts) != 1 || (texts == 0) != (len(shows[0]) > len("❯")) {
			t.Errorf("%s: %d turns, %d texts of the person's", name, len(starts), texts)
		}
		c.line(`"type":"system","subtype":"turn_duration"`)
		c.wait(20 * time.Second)
		if again := strings.Count(c.typed(), "do it") > 1; again != (name == "never shown") {
			t.Errorf("%s: typed %q", name, c.typed())
		}
	}
}
