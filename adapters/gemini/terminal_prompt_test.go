package gemini_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// bars is a row of a screen that is 40 wide.
func bars(of string) string { return strings.Repeat(of, 40) }

// typist is a session with a prompt that was typed.
func typist(t *testing.T, text string) *fakeCLI {
	c := newFakeCLI(t, 0)
	c.hook("AfterAgent", `"prompt_response":"x"`)
	c.pass(5 * time.Second)
	c.frame()
	c.submit(adapters.Prompt{ID: "u", Text: text})
	if c.line == "" {
		t.Fatalf("nothing was typed: %+v", c.step)
	}
	c.pass(100 * time.Millisecond)
	return c
}

func (c *fakeCLI) enters() (n int) {
	for _, in := range c.inbox {
		if in.call == enter {
			n++
		}
	}
	return n
}

// TestEnterNeedsTheTextOnTheScreen: without such a screen Enter could answer a dialog.
func TestEnterNeedsTheTextOnTheScreen(t *testing.T) {
	for name, show := range map[string]func(*fakeCLI){
		"no screen": func(*fakeCLI) {},
		"a dialog":  func(c *fakeCLI) { c.dialogs = []int{0}; c.frame() },
		"an empty input line": func(c *fakeCLI) {
			c.line = ""
			c.frame()
		},
		"what somebody else typed": func(c *fakeCLI) {
			c.line = "hell"
			c.frame()
		},
		"a prompt that was sent, and no input line": func(c *fakeCLI) {
			c.shown("Gemini CLI", bars("▄"), " > hello", bars("▀"), "✦ Hi.", "", " Resuming session...", "", bars("─"), " Shift+Tab to accept edits", " workspace")
		},
		"a prompt that was sent, and a command that runs": func(c *fakeCLI) {
			c.shown("Gemini CLI", bars("▄"), " > hello", bars("▀"), "", bars("─"), " Shift+Tab to accept edits", " workspace")
		},
	} {
		c := typist(t, "hello")
		show(c)
		c.pass(29 * time.Second)
		if c.enters() > 0 || c.ended != "" {
			t.Errorf("%s: %d Enters, the turn is %q", name, c.enters(), c.ended)
		}
		c.pass(25 * time.Second)
		if c.enters() > 0 || c.ended != contract.TurnFailed {
			t.Errorf("%s: %d Enters, the turn is %q, want it failed", name, c.enters(), c.ended)
		}
	}
	c := typist(t, "hello")
	c.frame()
	c.pass(time.Second)
	if c.enters() != 1 {
		t.Errorf("with the text on the screen: %d Enters, want 1", c.enters())
	}
}

// TestPromptWithFilesIsKnown: the agent completes the names of files and puts them below.
func TestPromptWithFilesIsKnown(t *testing.T) {
	for text, taken := range map[string]string{
		"look at @src, then stop": `look at @src/**, then stop`,
		"@a.go":                   `@lib/a.go`,
	} {
		c := typist(t, text)
		c.frame()
		c.pass(time.Second)
		c.hook("BeforeAgent", fmt.Sprintf(`"prompt":%q`, taken+"\n--- Content from referenced files ---\nContent from @lib/a.go:\npackage a"))
		if len(c.step.Emit) > 0 {
			t.Errorf("%q taken as %q says %+v, want nothing: it is ours", text, taken, c.step.Emit)
		}
		c.pass(time.Minute)
		if c.enters() != 1 {
			t.Errorf("%q: %d Enters, want 1", text, c.enters())
		}
	}
}

// TestLostTextIsTypedAgain: Gemini CLI drops what is typed while it has no input line.
// The text stands there once, also where it was only late.
func TestLostTextIsTypedAgain(t *testing.T) {
	const text = "first\nsecond\n\nlast"
	for name, c := range map[string]*fakeCLI{"lost": typist(t, text), "lost, and no new screen": typist(t, text), "late": typist(t, text)} {
		typed := c.line
		c.line = ""
		if name != "lost, and no new screen" {
			c.frame()
		}
		if name == "late" {
			c.line = typed
		}
		c.pass(time.Second)
		if name == "lost" && c.line != "" {
			t.Errorf("%s: typed again after a second, which may be too soon", name)
		}
		c.pass(5 * time.Second)
		if c.line != text || c.enters() > 0 {
			t.Errorf("%s: the input line has %q and %d Enters, want the text once and none", name, c.line, c.enters())
		}
		c.frame()
		c.pass(time.Second)
		if c.enters() != 1 {
			t.Errorf("%s: %d Enters, want 1 for what is seen", name, c.enters())
		}
		c.line = ""
		c.hook("BeforeAgent", fmt.Sprintf(`"prompt":%q`, text))
		c.frame()
		c.pass(time.Minute)
		if c.enters() != 1 || c.line != "" || c.ended != "" {
			t.Errorf("%s: taken, and %d Enters, %q in the input line, the turn is %q", name, c.enters(), c.line, c.ended)
		}
	}
}

// TestTakenPromptIsWaitedFor: an input line that became empty with Enter has given its
// text to the agent, however long that takes to say so. The prompt would else be told to
// have failed, and run.
func TestTakenPromptIsWaitedFor(t *testing.T) {
	for name, wait := range map[string]time.Duration{"": 100 * time.Second, "  Queued (press ↑ to edit):": 9 * time.Minute} {
		c := typist(t, "hello")
		c.frame()
		c.pass(time.Second)
		c.line, c.status = "", name
		c.frame()
		c.pass(wait)
		if c.ended != "" || c.line != "" || c.enters() != 1 {
			t.Errorf("%q: the turn is %q, %d Enters and %q typed", name, c.ended, c.enters(), c.line)
		}
		c.status = ""
		c.hook("BeforeAgent", `"prompt":"hello"`)
		c.hook("AfterAgent", `"prompt_response":"x"`)
		c.pass(time.Second)
		if c.ended != contract.TurnCompleted {
			t.Errorf("%q: taken in the end, and the turn is %q", name, c.ended)
		}
	}
	c := typist(t, "hello")
	c.frame()
	c.pass(time.Second)
	c.line = ""
	c.frame()
	c.pass(3 * time.Minute)
	if c.ended != contract.TurnFailed {
		t.Errorf("never taken, and the turn is %q", c.ended)
	}
}

// TestDroppedEnterIsFoundOut: it leaves no trace on the screen, as one that is not read
// yet does not; the former is typed again, the latter would send the text twice.
func TestDroppedEnterIsFoundOut(t *testing.T) {
	c := typist(t, "hello")
	c.frame()
	c.pass(time.Second)
	c.pass(time.Minute)
	if c.enters() != 1 || c.homes != 1 {
		t.Errorf("nothing came of it: %d Enters and %d keys to find out, want 1 and 1", c.enters(), c.homes)
	}
	c.frame() // the cursor moved
	if c.enters() != 2 {
		t.Errorf("it was dropped: %d Enters, want 2", c.enters())
	}
	c.pass(10 * time.Second)
	if c.enters() != 2 || c.homes != 2 {
		t.Errorf("nothing came of the second: %d Enters and %d keys to find out, want 2 and 2", c.enters(), c.homes)
	}
	c.line = ""
	c.frame()
	c.pass(time.Minute)
	if c.enters() != 2 || c.homes != 2 || c.ended != "" {
		t.Errorf("it is taken: %d Enters, %d keys to find out, the turn is %q", c.enters(), c.homes, c.ended)
	}
}

// TestAbortOfATypedPrompt: a key that clears the input line would end the agent in an
// empty one, typed twice.
func TestAbortOfATypedPrompt(t *testing.T) {
	for _, lost := range []bool{false, true} {
		c := typist(t, "hello")
		if !lost {
			c.frame()
		}
		c.submit(adapters.Abort{})
		if cleared := slices.ContainsFunc(c.step.Write, func(w []byte) bool { return string(w) == "\x03" }); cleared == lost || c.ended != contract.TurnCancelled {
			t.Errorf("lost %t: typed %q, the turn is %q", lost, c.step.Write, c.ended)
		}
	}
}

// TestAbortOfAPromptOnItsWay: it has left the input line, and what becomes of it is not
// known. It does not run, however late the agent takes it up.
func TestAbortOfAPromptOnItsWay(t *testing.T) {
	for _, wait := range []time.Duration{8 * time.Second, time.Minute} {
		c := typist(t, "hello")
		c.frame()
		c.pass(time.Second)
		c.line = ""
		c.frame()
		c.submit(adapters.Abort{})
		c.pass(wait)
		if c.stopped != "" || c.escs > 0 {
			t.Errorf("%v: %d times Esc, Stop = %q", wait, c.escs, c.stopped)
		}
		c.hook("BeforeAgent", `"prompt":"hello"`)
		if c.escs != 1 {
			t.Errorf("%v: %d times Esc for what was cancelled, want 1", wait, c.escs)
		}
		c.hook("BeforeAgent", `"prompt":"hello again"`)
		if c.escs != 1 {
			t.Errorf("%v: Esc for what the person typed", wait)
		}
	}
}

// TestCancelledPromptComesBeforeTheNext: the agent takes it up when the next one waits
// already, which is neither behind it nor cancelled with it.
func TestCancelledPromptComesBeforeTheNext(t *testing.T) {
	for name, typed := range map[string]bool{"the next is typed": true, "the next waits": false} {
		c := typist(t, "hello")
		c.frame()
		c.pass(time.Second)
		c.line, c.busy = "", !typed
		c.frame()
		c.submit(adapters.Abort{})
		c.pass(time.Minute)
		if c.ended != contract.TurnCancelled {
			t.Fatalf("%s: the turn is %q after its Abort", name, c.ended)
		}
		c.submit(adapters.Prompt{ID: "next", Text: "and then"})
		if (c.line != "") != typed {
			t.Fatalf("%s: %q stands in the input line", name, c.line)
		}
		c.hook("BeforeAgent", `"prompt":"hello"`)
		if c.escs != 1 {
			t.Errorf("%s: %d times Esc for what was cancelled, want 1", name, c.escs)
		}
		if slices.ContainsFunc(c.step.Emit, func(d adapters.Draft) bool { return d.Role == contract.RoleUser }) {
			t.Errorf("%s: what was cancelled is said again: %+v", name, c.step.Emit)
		}
		c.hook("AfterAgent", `"prompt_response":""`)
		for range 3 { // the text, Enter, and that it left
			c.frame()
			c.pass(time.Second)
		}
		if c.enters() != 2 {
			t.Errorf("%s: %d Enters, want 2", name, c.enters())
		}
		c.hook("BeforeAgent", `"prompt":"and then"`)
		c.hook("AfterAgent", `"prompt_response":"x"`)
		c.pass(5 * time.Second)
		if c.ended != contract.TurnCompleted || c.escs != 1 {
			t.Errorf("%s: the turn of the next is %q, with %d times Esc", name, c.ended, c.escs)
		}
	}
}

// TestPromptWithoutLetters: a screen may lack what only joins or varies its signs.
func TestPromptWithoutLetters(t *testing.T) {
	for text, line := range map[string]string{
		"\u2764\ufe0f":               "\u2764",
		"\U0001f469\u200d\U0001f4bb": "\U0001f469\U0001f4bb",
		"\U0001f44d\U0001f3fd":       "\U0001f44d",
		"\U0001f44d":                 "\U0001f44d\ufe0f",
		"?!":                         "?!",
	} {
		for shown, want := range map[string]int{line: 1, "...": 0} {
			c := typist(t, text)
			c.line = shown
			c.frame()
			c.pass(5 * time.Second)
			if c.enters() != want {
				t.Errorf("%+q, and %+q stands in the input line: %d Enters, want %d", text, shown, c.enters(), want)
			}
		}
	}
}

// TestResumedSessionIsLoadedFirst: the input line before that drops what is typed, or
// sends it without what was said before.
func TestResumedSessionIsLoadedFirst(t *testing.T) {
	open := func(c *fakeCLI) bool {
		return slices.ContainsFunc(c.step.Done, func(o adapters.Outcome) bool { return o.ID == "open" })
	}
	for name, loads := range map[string]func(*fakeCLI){
		"by its file": func(c *fakeCLI) {
			c.step, _ = c.p.Receive(c.now, adapters.Frame{Source: adapters.LogFile, ID: "chat-1", Data: []byte(`{"$set":{"sessionId":"` + earlier + `"}}`)})
		},
		"by its screen": func(c *fakeCLI) { c.shown(" Resuming session...", "", bars("─"), " Shift+Tab to accept edits") },
	} {
		c := newFakeCLI(t, 0)
		c.begin(adapters.Options{Resume: earlier})
		c.frame()
		c.pass(20 * time.Second)
		c.hook("SessionStart", `"source":"resume"`)
		c.pass(time.Second)
		loads(c)
		c.pass(time.Second)
		if open(c) {
			t.Errorf("%s: open before its input line came", name)
		}
		c.frame()
		if !open(c) {
			t.Errorf("%s: not open with its input line", name)
		}
	}
	for name, hook := range map[string]bool{"a hook and no more": true, "nothing that says so": false} {
		c := newFakeCLI(t, 0)
		c.begin(adapters.Options{Resume: earlier})
		c.frame()
		if hook {
			c.hook("SessionStart", `"source":"resume"`)
		}
		for end := c.now.Add(time.Minute); c.now.Before(end) && !open(c); {
			c.pass(time.Second)
		}
		if !open(c) {
			t.Errorf("%s: not open after a minute", name)
		}
	}
}

// TestInputLineIsFoundInEachStyle: it has bars where there are colors for them.
func TestInputLineIsFoundInEachStyle(t *testing.T) {
	const mode, footer = " Shift+Tab to accept edits", " workspace (/directory)    no sandbox"
	for name, rows := range map[string]struct{ above, below []string }{
		"bars":                   {[]string{bars("─"), mode, bars("▄")}, []string{bars("▀"), footer}},
		"no colors":              {[]string{bars("─"), mode, bars("─")}, []string{bars("─"), footer}},
		"few colors":             {[]string{bars("─"), mode, ""}, []string{"", footer}},
		"few colors and columns": {[]string{bars("─"), " Shift+Tab to", " accept edits", ""}, []string{""}},
	} {
		screen := func(line string) []string {
			return slices.Concat([]string{"✦ > said", ""}, rows.above, []string{line}, rows.below, []string{"", ""})
		}
		c := newFakeCLI(t, 0)
		c.begin(adapters.Options{})
		c.hook("SessionStart", `"source":"startup"`)
		c.shown(screen(" >   Type your message or @path/to/file")...)
		c.submit(adapters.Prompt{ID: "u", Text: "hello you"})
		if c.line != "hello you" {
			t.Errorf("%s: %q typed, want the prompt", name, c.line)
		}
		c.pass(time.Second)
		c.shown(screen(" > hello")...)
		if c.enters() > 0 {
			t.Errorf("%s: Enter for half of it", name)
		}
		c.shown(screen(" > hello you")...)
		if c.enters() != 1 {
			t.Errorf("%s: %d Enters, want 1", name, c.enters())
		}
	}
}
