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

// console plays the CLI and its screen for a terminal Protocol. It shows what is typed in
// its input line, and again when it is looked at.
type console struct {
	t     *testing.T
	p     adapters.Protocol
	now   time.Time
	wake  time.Time
	n     int
	steps []adapters.Step

	// shown is what the screen shows whatever is typed, nil for the input line alone.
	shown *adapters.Screen
	// input is what stands in that, sent what was sent from there.
	input string
	sent  []string
	// deaf is how many Enters get lost, slow that pastes are not shown yet, busy that
	// the CLI says that it works.
	deaf       int
	slow, busy bool
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
	c.t.Helper()
	c.steps = append(c.steps, s)
	c.wake = s.WakeAt
	for _, w := range s.Write {
		c.key(string(w))
	}
	looked := slices.ContainsFunc(s.Effects, func(e adapters.Effect) bool { _, ok := e.(adapters.Look); return ok })
	if looked || len(s.Write) > 0 && c.shown == nil {
		c.redraw()
	}
	return s
}

// key types something at the input line, if it is shown.
func (c *console) key(keys string) {
	if c.shown != nil {
		return // a dialog takes no text
	}
	text, pasted := strings.CutPrefix(strings.TrimSuffix(keys, "\x1b[201~"), "\x1b[200~")
	switch {
	case pasted && c.slow:
	case pasted:
		c.input += text
	case keys == "\r" && c.deaf > 0:
		c.deaf--
	case keys == "\r" && c.input != "":
		c.sent, c.input = append(c.sent, c.input), ""
	case strings.HasPrefix(keys, "\x05\x15"):
		c.input = ""
	}
}

// redraw tells what the screen shows.
func (c *console) redraw() adapters.Step {
	c.t.Helper()
	if c.shown != nil {
		return c.look(*c.shown)
	}
	rule := strings.Repeat("─", 80)
	rows := strings.Split("❯ "+c.input, "\n")
	rows[0] = strings.TrimRight(rows[0], " ")
	lines := append(append([]string{"", rule}, rows...), rule)
	if c.busy {
		lines[0] = "✻ Puzzling… (running UserPromptSubmit hooks… 1/2 · 14s)"
	}
	last := rows[len(rows)-1]
	return c.look(adapters.Screen{Cols: 80, Rows: 24, X: max(2, len([]rune(last))), Y: len(rows) + 1, Paste: true, Lines: lines})
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

// screen shows the input line with what stands in it; at 2 the cursor is before what the
// CLI proposes.
func (c *console) screen(line string, x int) adapters.Step {
	c.t.Helper()
	c.shown, c.input = nil, ""
	if x > 2 {
		c.input = strings.TrimPrefix(line, "❯ ")
	}
	return c.redraw()
}

// show shows a screen that takes no text.
func (c *console) show(s adapters.Screen) adapters.Step {
	c.t.Helper()
	c.shown = &s
	return c.look(s)
}

func (c *console) look(s adapters.Screen) adapters.Step {
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

// pasted is a text as it is typed, with its Enter.
func pasted(text string) string { return "\x1b[200~" + text + "\x1b[201~\r" }

// wiped takes a short text out of the input line.
const wiped = "\x05\x15\x15\x15\x15"
