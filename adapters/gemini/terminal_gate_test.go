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

	line        string              // what stands in the input line
	status      string              // what stands above it
	ended       contract.TurnStatus // of the last turn, empty while one runs
	busy        bool
	said        []string // notices
	escs, homes int
	stopped     string              // why the Protocol gave up
	decided     []contract.Decision // at the terminal
	met, late   int
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
	c.begin(adapters.Options{})
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

// begin starts the CLI.
func (c *fakeCLI) begin(o adapters.Options) {
	info := adapters.SessionInfo{ID: "s", Dir: "/w", Options: o}
	c.p = gemini.NewOn(bare).NewTerminalProtocol(adapters.TerminalInfo{SessionInfo: info, Getenv: func(string) string { return "" }})
	c.submit(adapters.Open{ID: "open"})
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
		rows := strings.Split(cmp.Or(c.line, "Type your message"), "\n")
		lines = append(lines, c.status, strings.Repeat("▄", 40), " >   "+rows[0])
		for _, row := range rows[1:] {
			lines = append(lines, "   "+row)
		}
		lines = append(lines, strings.Repeat("▀", 40))
	}
	c.shown(lines...)
}

// shown tells a screen.
func (c *fakeCLI) shown(lines ...string) {
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
	c.stopped = cmp.Or(c.stopped, c.step.Stop)
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
			c.decided = append(c.decided, ev.Decision)
			for key, call := range c.asks {
				if strings.HasSuffix(ev.Call, fmt.Sprintf("__%d", call+1)) {
					delete(c.asks, key)
				}
			}
		}
	}
	// Answers to hooks are done after what is written, as the host does.
	for _, w := range c.step.Write {
		switch keys := string(w); keys {
		case "\r":
			c.inbox = append(c.inbox, input{key: keys, call: enter})
		case "1":
			c.inbox = append(c.inbox, input{key: keys, call: c.intended()})
		case "\x1b":
			c.escs++
		case "\x01":
			c.homes++
		default:
			c.edit(keys)
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

// edit types in the input line.
func (c *fakeCLI) edit(keys string) {
	for keys != "" {
		switch text, pasted := strings.CutPrefix(keys, "\x1b[200~"); {
		case pasted:
			text, keys, _ = strings.Cut(text, "\x1b[201~")
			c.line += text
			continue
		case keys[0] == '\x15': // to the start of the row
			c.line = c.line[:strings.LastIndex(c.line, "\n")+1]
		case keys[0] == '\x7f' && c.line != "":
			c.line = c.line[:len(c.line)-1]
		}
		keys = keys[1:]
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

// TestALateKeyIsTakenBack: a key that allows and comes too late stands in the input line,
// where no prompt from elsewhere could be typed any more.
func TestALateKeyIsTakenBack(t *testing.T) {
	c := unsure(t, `"notification_type":"ToolPermission","details":{"type":"exec","command":"unheard of"}`)
	c.frame()
	if keys := c.answered(); keys != 1 {
		t.Fatalf("%d keys, want 1", keys)
	}
	c.dialogs, c.line = nil, "1" // the person was first
	c.hook("AfterAgent", `"prompt_response":"x"`)
	c.pass(time.Second)
	c.frame()
	if c.line != "" {
		t.Errorf("the input line has %q, want the key gone", c.line)
	}
	c.line = "1" // the person's own
	c.frame()
	c.pass(time.Minute)
	if c.line != "1" {
		t.Errorf("the input line has %q, want what the person typed", c.line)
	}
}

// dialogSeen is a CLI whose screen has shown the dialog of call 0 for a second.
func dialogSeen(t *testing.T) *fakeCLI {
	t.Helper()
	c := newFakeCLI(t, 0)
	c.hook("Notification", `"notification_type":"ToolPermission","details":{"type":"exec","command":"cmd 0"}`)
	c.dialogs = []int{0}
	c.pass(100 * time.Millisecond)
	c.frame()
	c.pass(time.Second)
	return c
}

// TestAnAnswerAtTheTerminalIsNotGuessed: a refusal may be long in coming to the file, and
// a turn that goes on was none.
func TestAnAnswerAtTheTerminalIsNotGuessed(t *testing.T) {
	for _, goesOn := range []bool{false, true} {
		c := dialogSeen(t)
		c.dialogs, c.busy = nil, goesOn
		c.frame()
		for range 10 {
			c.pass(time.Second)
			c.frame()
		}
		if allowed := slices.Equal(c.decided, []contract.Decision{contract.AllowOnce}); allowed != goesOn || !goesOn && len(c.decided) > 0 {
			t.Errorf("the agent goes on: %t, decided %q", goesOn, c.decided)
		}
	}
}

// TestAnAnswerAtTheTerminalIsLookedFor: the screen of a tool that prints all the time does
// not come to rest, and until the answer is known people elsewhere may give another one.
func TestAnAnswerAtTheTerminalIsLookedFor(t *testing.T) {
	for name, elsewhere := range map[string]contract.Decision{"nobody": "", "refused": contract.RejectOnce, "allowed": contract.AllowOnce} {
		c := dialogSeen(t)
		c.dialogs = nil
		c.frame()
		for key := range c.asks {
			if elsewhere != "" {
				c.submit(adapters.Answer{Ask: key, Decision: elsewhere})
			}
		}
		c.said = nil
		c.pass(time.Second)
		if !slices.Contains(c.step.Effects, adapters.Effect(adapters.Look{})) {
			t.Errorf("%s: no look at the screen after a second", name)
		}
		c.frame()
		told := strings.Count(strings.Join(c.said, ""), "runs all the same")
		if allowed := slices.Equal(c.decided, []contract.Decision{contract.AllowOnce}); allowed != (elsewhere == "") || (told == 1) != (elsewhere == contract.RejectOnce) {
			t.Errorf("%s elsewhere: decided %q at the terminal, told %q", name, c.decided, c.said)
		}
		for range 40 {
			c.pass(time.Second)
			if slices.Contains(c.step.Effects, adapters.Effect(adapters.Look{})) {
				t.Fatalf("%s: a look at what is known", name)
			}
		}
	}
}

// TestEscIsForARequestThatIsSeen: in an idle input line two of them are a command.
func TestEscIsForARequestThatIsSeen(t *testing.T) {
	c := newFakeCLI(t, 0)
	c.frame()
	c.submit(adapters.Abort{})
	c.pass(7 * time.Second)
	if c.escs != 1 {
		t.Errorf("%d times Esc, and no newer screen: want 1", c.escs)
	}
	c.frame()
	c.pass(3 * time.Second)
	if c.escs != 2 {
		t.Errorf("%d times Esc, and the request runs on: want 2", c.escs)
	}
}
