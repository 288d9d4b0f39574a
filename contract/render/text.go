package render

import (
	"io"
	"strings"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session/fold"
)

// Options say how to render.
type Options struct {
	// Color uses ANSI colours in notes.
	Color bool
	// Terminal says that the text goes to a terminal, where notes show too: a
	// note starts on a line of its own, and control characters are left out of
	// the text.
	Terminal bool
	// Thinking shows the agent's reasoning as notes.
	Thinking bool
	// Prompts shows what users say as notes.
	Prompts bool
}

// Text renders one session. Its methods return the first error of a writer, and
// write nothing after it.
type Text struct {
	out   printer // what the main agent says
	notes printer
	opts  Options

	calls  map[string]started
	agents map[string]subagent
	// ahead is what deltas wrote and no envelope has confirmed.
	ahead string
	// said says that there was a text, so that the next needs a distance.
	said bool
	// fault is the last service error, which a failed turn need not repeat.
	fault string
	err   error
}

// started is an open call.
type started struct {
	title string
	time  int64
	// refused is why it may not run, empty when it may.
	refused string
}

// subagent is a running sub-agent.
type subagent struct {
	title string
	depth int
}

// NewText makes a Text that writes what the agent says to out and the rest to
// notes.
func NewText(out, notes io.Writer, opts Options) *Text {
	return &Text{
		out:    printer{w: out, lineStart: true},
		notes:  printer{w: notes, lineStart: true},
		opts:   opts,
		calls:  make(map[string]started),
		agents: make(map[string]subagent),
	}
}

// Delta writes a piece of text as it is made. Only the main agent's text is
// written; output of tools, reasoning and sub-agents wait for their envelopes.
func (t *Text) Delta(d fold.Delta) error {
	if d.Subagent != "" || d.Call != "" || d.Thinking || d.Text == "" {
		return t.err
	}
	if t.ahead == "" {
		t.distance()
	}
	t.ahead += d.Text
	t.write(&t.out, d.Text)
	return t.err
}

// Envelope writes what an envelope tells.
func (t *Text) Envelope(e contract.Envelope) error {
	depth := t.agents[e.Subagent].depth
	switch ev := e.Event.(type) {
	case contract.Text:
		t.text(e, ev, depth)
	case contract.File:
		if e.Role == contract.RoleAgent {
			t.note(depth, faint, "· ", "file "+ev.Name+" ("+size(ev.Size)+")")
		}
	case contract.TurnEnd:
		t.turnEnd(ev)
	case contract.ToolCallStart:
		t.calls[ev.Call] = started{title: Plain(ev.Title), time: e.Time}
	case contract.ToolCallEnd:
		t.callEnd(e, ev, depth)
	case contract.PermissionResponse:
		t.response(ev)
	case contract.Service:
		t.service(ev, depth)
	case contract.SubagentStart:
		title := ev.Title
		if title == "" {
			title = "sub-agent"
		}
		t.agents[ev.AgentID] = subagent{title: Plain(title), depth: depth + 1}
		t.note(depth, bold, "▸ ", Plain(title))
	case contract.SubagentStop:
		if a, ok := t.agents[ev.AgentID]; ok {
			t.note(depth, faint, "◂ ", a.title)
			delete(t.agents, ev.AgentID)
		}
	case contract.AgentConfigurationChanged:
		t.configuration(ev, depth)
	}
	return t.err
}

// Close ends the last line. It closes no writer.
func (t *Text) Close() error {
	t.endText()
	return t.err
}

func (t *Text) text(e contract.Envelope, ev contract.Text, depth int) {
	switch {
	case e.Role == contract.RoleUser:
		if t.opts.Prompts {
			t.lines(depth, bold, "> ", ev.Text)
		}
	case ev.Thinking:
		if t.opts.Thinking {
			t.lines(depth, faint, "~ ", ev.Text)
		}
	case e.Subagent != "":
		t.lines(depth, faint, "", ev.Text)
	default:
		t.say(ev.Text)
	}
}

// say writes the rest of a text of which deltas may have written the beginning.
func (t *Text) say(text string) {
	switch {
	case text == "":
		return
	case t.ahead == "":
		t.distance()
		t.write(&t.out, text)
	case strings.HasPrefix(t.ahead, text):
		// The deltas are in the next text already.
		if t.ahead = t.ahead[len(text):]; t.ahead != "" {
			return
		}
	case strings.HasPrefix(text, t.ahead):
		t.write(&t.out, text[len(t.ahead):])
	default: // deltas were lost
		t.endText()
		t.write(&t.out, text)
	}
	t.endText()
}

// distance puts an empty line before a text that is not the first.
func (t *Text) distance() {
	if t.said {
		t.write(&t.out, "\n")
	}
	t.said = true
}

// endText ends the line of the text.
func (t *Text) endText() {
	t.ahead = ""
	if !t.out.lineStart {
		t.write(&t.out, "\n")
	}
}

func (t *Text) turnEnd(ev contract.TurnEnd) {
	t.endText()
	switch ev.Status {
	case contract.TurnFailed:
		text := "failed"
		if ev.Error != nil {
			if ev.Error.Message != t.fault {
				text += ": " + ev.Error.Message
			}
			if ev.Error.Code != "" {
				text += " (" + string(ev.Error.Code) + ")"
			}
		}
		t.note(0, red, "✗ ", text)
	case contract.TurnCancelled:
		t.note(0, yellow, "■ ", "cancelled")
	}
	t.fault = ""
	if ev.Usage != nil {
		t.note(0, faint, "· ", usage(*ev.Usage))
	}
}

func (t *Text) callEnd(e contract.Envelope, ev contract.ToolCallEnd, depth int) {
	c, ok := t.calls[ev.Call]
	if !ok {
		return
	}
	delete(t.calls, ev.Call)
	took := duration(time.Duration(e.Time-c.time) * time.Millisecond)
	switch {
	case ev.Result == nil && c.refused != "":
		t.note(depth, red, "✗ ", c.title+": "+c.refused)
	case ev.Result == nil || ev.Result.Status == contract.ToolCompleted:
		t.note(depth, green, "✓ ", c.title+took)
	case ev.Result.Status == contract.ToolCancelled:
		t.note(depth, yellow, "■ ", c.title+": "+or(c.refused, or(ev.Result.Error, "cancelled")))
	default:
		t.note(depth, red, "✗ ", c.title+took+": "+or(c.refused, or(ev.Result.Error, "error")))
	}
}

// response remembers a refusal for the call's end.
func (t *Text) response(ev contract.PermissionResponse) {
	c, ok := t.calls[ev.Call]
	if !ok {
		return
	}
	c.refused = ""
	if !ev.Decision.Allows() {
		c.refused = "refused"
		if ev.By != nil {
			c.refused += " by " + string(ev.By.Resolver)
			if ev.By.Rule != "" {
				c.refused += " " + ev.By.Rule
			}
		}
		if ev.Message != "" {
			c.refused += ": " + ev.Message
		}
	}
	t.calls[ev.Call] = c
}

func (t *Text) service(ev contract.Service, depth int) {
	if ev.Kind == contract.ServiceError {
		t.fault = ev.Text
		t.lines(depth, red, "✗ ", ev.Text)
		return
	}
	t.lines(depth, faint, "· ", ev.Text)
}

func (t *Text) configuration(ev contract.AgentConfigurationChanged, depth int) {
	for _, change := range []struct{ name, value string }{
		{"agent", ev.Agent}, {"model", ev.Model}, {"mode", string(ev.PermissionMode)}, {"thinking", ev.ThinkingLevel},
	} {
		if change.value != "" {
			t.note(depth, faint, "· ", change.name+": "+change.value)
		}
	}
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
