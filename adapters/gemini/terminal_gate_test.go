package gemini_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/gemini"
	"github.com/agenthost/agenthost/contract"
)

// TestKeysMeetTheirDialog plays Gemini CLI, a person at its terminal and people
// elsewhere, in random order: a key that allows a call never answers the dialog of
// another one, whoever is first and however late the screen is seen.
func TestKeysMeetTheirDialog(t *testing.T) {
	met, late := 0, 0
	for seed := range uint64(400) {
		c := newFakeCLI(t, seed)
		c.run()
		met += c.met
		late += c.late
	}
	if met < 100 || late < 5 {
		t.Errorf("%d keys met their dialog and %d came too late: the play has lost its point", met, late)
	}
}

// fakeCLI is what of Gemini CLI concerns its dialogs. What is typed and what hooks
// are answered comes to it in the order in which it was written.
type fakeCLI struct {
	t    *testing.T
	seed uint64
	r    *rand.Rand
	p    adapters.Protocol
	now  time.Time
	step adapters.Step

	hooks   int
	held    map[string]int // the Notification hooks that wait, to their call
	inbox   []input
	dialogs []int // the calls that are asked for, the shown one first
	asks    map[string]int
	allowed map[int]bool // calls that people elsewhere allowed
	last    int          // the call whose hook was answered last
	ran     []int        // calls to tell the end of

	line      string              // what stands in the input line
	ended     contract.TurnStatus // of the last turn, empty while one runs
	busy      bool
	said      []string // notices
	met, late int
}

// input is a key, of ours for a call or of the person's (-1), or a hook's answer.
type input struct {
	key   string
	call  int
	reply bool
}

// enter is the call of a key that is for the input line.
const enter = -2

const fakeCalls = 4

func newFakeCLI(t *testing.T, seed uint64) *fakeCLI {
	c := &fakeCLI{
		t: t, seed: seed, r: rand.New(rand.NewPCG(seed, 7)), now: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC),
		last: -1, held: map[string]int{}, asks: map[string]int{}, allowed: map[int]bool{},
	}
	info := adapters.SessionInfo{ID: "s", Dir: "/w"}
	c.p = gemini.NewOn(bare).NewTerminalProtocol(adapters.TerminalInfo{SessionInfo: info, Getenv: func(string) string { return "" }})
	c.submit(adapters.Open{ID: "open"})
	c.hook("SessionStart", `"source":"startup"`)
	c.frame()
	if seed%2 == 1 { // a prompt is typed when the person there sends one
		c.submit(adapters.Prompt{ID: "u", Text: "look at @a.go"})
		for range c.r.IntN(3) {
			c.pass(time.Duration(c.r.IntN(600)) * time.Millisecond)
			c.frame()
		}
	}
	c.hook("BeforeAgent", `"prompt":"go"`)
	for i := range fakeCalls {
		c.hook("BeforeTool", fmt.Sprintf(`"tool_name":"run_shell_command","tool_input":{"command":"cmd %d"}`, i))
	}
	return c
}

func (c *fakeCLI) run() {
	asked := 0
	for range 120 {
		switch n := c.r.IntN(10); {
		case n == 0 && asked < fakeCalls:
			c.hook("Notification", fmt.Sprintf(`"notification_type":"ToolPermission","details":{"type":"exec","command":"cmd %d"}`, asked))
			asked++
		case n <= 2:
			c.read()
		case n <= 4:
			c.frame()
		case n == 5 && len(c.dialogs) > 0 && c.r.IntN(2) == 0:
			c.inbox = append(c.inbox, input{key: "1", call: -1})
		case n == 6:
			c.remote()
		case n == 7 && len(c.ran) > 0 && len(c.dialogs) == 0 && c.r.IntN(3) == 0:
			call := c.ran[0]
			c.ran = c.ran[1:]
			c.hook("AfterTool", fmt.Sprintf(`"tool_name":"run_shell_command","tool_input":{"command":"cmd %d"},"tool_response":{"returnDisplay":"x"}`, call))
		case n == 8 && c.r.IntN(4) == 0: // of a call that nobody heard of
			c.hook("AfterTool", `"tool_name":"run_shell_command","tool_input":{"command":"else"},"tool_response":{"returnDisplay":"x"}`)
		default:
			c.pass(time.Duration(c.r.IntN(1500)) * time.Millisecond)
		}
	}
}

// read takes the next input.
func (c *fakeCLI) read() {
	if len(c.inbox) == 0 {
		return
	}
	in := c.inbox[0]
	c.inbox = c.inbox[1:]
	if in.reply {
		c.dialogs = append(c.dialogs, in.call)
		return
	}
	if len(c.dialogs) == 0 {
		if in.call >= 0 {
			c.late++
		}
		return
	}
	shown := c.dialogs[0]
	if in.call == enter {
		c.t.Fatalf("seed %d: the Enter of a prompt answered the dialog of call %d", c.seed, shown)
	}
	if in.call >= 0 {
		if in.call != shown {
			c.t.Fatalf("seed %d: the key that allows call %d answered the dialog of call %d", c.seed, in.call, shown)
		}
		c.met++
	}
	c.dialogs = c.dialogs[1:]
	c.ran = append(c.ran, shown)
}

// remote allows a call that is asked for.
func (c *fakeCLI) remote() {
	for _, key := range slices.Sorted(maps.Keys(c.asks)) {
		call := c.asks[key]
		if len(c.asks) > 1 && c.r.IntN(2) == 0 {
			continue
		}
		delete(c.asks, key)
		c.allowed[call] = true
		c.submit(adapters.Answer{Ask: key, Decision: contract.AllowOnce})
		return
	}
}

func (c *fakeCLI) frame() {
	lines := []string{"", "something"}
	if len(c.dialogs) > 0 {
		lines = append(lines, "╭────╮", fmt.Sprintf("│ ? Shell cmd %d │", c.dialogs[0]), "│ ● 1. Allow once │", "│   2. No, suggest changes (esc) │", "╰────╯")
	} else {
		if c.busy {
			lines = append(lines, " Thinking... (esc to cancel, 1s)")
		}
		lines = append(lines, strings.Repeat("▄", 40), " >   "+cmp.Or(c.line, "Type your message"), strings.Repeat("▀", 40))
	}
	c.step, _ = c.p.Receive(c.now, adapters.Screen{Cols: 40, Rows: 10, Paste: true, Lines: lines}.Frame())
	c.take()
}

func (c *fakeCLI) hook(event, members string) {
	c.hooks++
	c.busy = event != "AfterAgent" && (c.busy || event == "BeforeAgent")
	id := fmt.Sprintf("h%d", c.hooks)
	var call int
	if _, text, ok := strings.Cut(members, `"command":"cmd `); ok && event == "Notification" {
		fmt.Sscan(text[:1], &call)
		c.held[id] = call
	}
	data := fmt.Sprintf(`{"session_id":"1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed","hook_event_name":%q,"timestamp":%q,%s}`,
		event, c.now.Format(time.RFC3339Nano), members)
	var err error
	c.step, err = c.p.Receive(c.now, adapters.Frame{Source: adapters.Hook, ID: id, Data: []byte(data)})
	if err != nil {
		c.t.Fatalf("seed %d: %s: %v", c.seed, event, err)
	}
	c.take()
}

func (c *fakeCLI) submit(cmd adapters.Command) {
	s, err := c.p.Submit(c.now, cmd)
	if err == nil {
		c.step = s
		c.take()
	}
}

func (c *fakeCLI) pass(d time.Duration) {
	end := c.now.Add(d)
	for range 50 {
		wake := c.step.WakeAt
		if wake.IsZero() || wake.After(end) {
			break
		}
		c.now = wake
		c.step = c.p.Tick(c.now)
		c.take()
	}
	c.now = end
}

// take does what a Step says.
func (c *fakeCLI) take() {
	for _, key := range c.step.Withdraw {
		delete(c.asks, key)
	}
	for _, d := range c.step.Emit {
		switch ev := d.Event.(type) {
		case contract.Service:
			c.said = append(c.said, ev.Text)
		case contract.TurnEnd:
			c.ended = ev.Status
		case contract.TurnStart:
			c.ended = ""
		case contract.PermissionRequest:
			var call int
			fmt.Sscanf(ev.Title, "Run `cmd %d`", &call)
			c.asks[d.Ask] = call
		case contract.PermissionResponse: // by the person at the terminal
			for key, call := range c.asks {
				if strings.HasSuffix(ev.Call, fmt.Sprintf("__%d", call+1)) {
					delete(c.asks, key)
				}
			}
		}
	}
	// Answers to hooks are done after what is written, as the host does.
	for _, w := range c.step.Write {
		switch text, pasted := strings.CutPrefix(string(w), "\x1b[200~"); {
		case pasted:
			c.line = strings.TrimSuffix(text, "\x1b[201~")
		case string(w) == "\r":
			c.inbox = append(c.inbox, input{key: "\r", call: enter})
		case string(w) == "1":
			c.inbox = append(c.inbox, input{key: "1", call: c.intended()})
		}
	}
	for _, e := range c.step.Effects {
		if reply, ok := e.(adapters.HookReply); ok {
			if call, held := c.held[reply.ID]; held {
				delete(c.held, reply.ID)
				c.inbox = append(c.inbox, input{reply: true, call: call})
				c.last = call
			}
		}
	}
}

// intended is the call that a key is for: the one whose dialog may be shown. It is one
// that was allowed elsewhere.
func (c *fakeCLI) intended() int {
	if c.last < 0 || !c.allowed[c.last] {
		c.t.Fatalf("seed %d: a key was typed for call %d, which nobody allowed", c.seed, c.last)
	}
	return c.last
}

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
	} {
		c := typist(t, "hello")
		show(c)
		c.pass(29 * time.Second)
		if c.enters() > 0 || c.ended != "" {
			t.Errorf("%s: %d Enters, the turn is %q", name, c.enters(), c.ended)
		}
		c.pass(2 * time.Second)
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

// unsure is a session in which a dialog was let come up that was not seen to.
func unsure(t *testing.T, hook string) *fakeCLI {
	c := newFakeCLI(t, 0)
	c.hook("Notification", hook)
	c.dialogs = nil
	c.pass(11 * time.Second)
	c.hook("Notification", `"notification_type":"ToolPermission","details":{"type":"exec","command":"cmd 1"}`)
	return c
}

// answered shows the dialog of call 1, which is allowed elsewhere, and counts the keys.
func (c *fakeCLI) answered() (keys int) {
	c.pass(100 * time.Millisecond)
	c.inbox, c.dialogs = nil, []int{1}
	c.frame()
	for key, call := range c.asks {
		if call == 1 {
			c.allowed[1], c.last = true, 1
			c.submit(adapters.Answer{Ask: key, Decision: contract.AllowOnce})
		}
	}
	for _, in := range c.inbox {
		if in.key == "1" {
			keys++
		}
	}
	return keys
}

// TestAnUnseenDialogIsNotForEver: an answer that may not be typed is told of, and what
// nobody is asked about is over when a screen shows no dialog.
func TestAnUnseenDialogIsNotForEver(t *testing.T) {
	c := unsure(t, `"notification_type":"ToolPermission","details":{"type":"exec","command":"cmd 0"}`)
	if keys := c.answered(); keys > 0 {
		t.Fatalf("%d keys were typed while another dialog may be there", keys)
	}
	told := ""
	for range 4 {
		c.said = nil
		c.pass(5 * time.Second)
		told += strings.Join(c.said, "")
	}
	if strings.Count(told, "could not be given") != 1 {
		t.Errorf("told %q, want once that the permission could not be given", told)
	}

	c = unsure(t, `"notification_type":"ToolPermission","details":{"type":"exec","command":"unheard of"}`)
	c.dialogs = nil
	c.frame()
	if keys := c.answered(); keys != 1 {
		t.Errorf("%d keys, want 1: the screen showed that nothing else is asked", keys)
	}
}
