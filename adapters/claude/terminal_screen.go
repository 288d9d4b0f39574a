package claude

import (
	"fmt"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// display is what the screen showed last when it rested.
type display struct {
	seen bool
	// since is when it came to look so.
	since time.Time
	adapters.Screen
	// asked says that a permission request was open then.
	asked bool
	// gate is the question that stands in the way of the session, nil for none.
	gate *gate
}

// screen takes a screen. It is read for what no hook and no file tells: a question
// that comes before the session, and whether the input line is free.
func (t *terminal) screen(data []byte) error {
	s, err := adapters.ParseScreen(data)
	if err != nil {
		return fmt.Errorf("screen of %d bytes: %w", len(data), err)
	}
	t.watch.seen, t.watch.since, t.watch.Screen = true, t.now, s
	t.watch.asked = t.asking()
	g := gateOn(s)
	if g != nil && (t.watch.gate == nil || t.watch.gate.text != g.text) {
		t.notice(contract.ServiceNotice, g.code, g.text)
	}
	t.watch.gate = g
	if g != nil {
		t.opened() // the person at the terminal has the word: that may take a while
	}
	return nil
}

// promptMark begins the CLI's input line.
const promptMark = "❯"

// free reports whether the input line is shown, empty and has the cursor. What the
// CLI proposes in grey stands behind the cursor.
func (d *display) free() bool { return d.input() && d.X == 2 }

// halfLine reports whether the input line is shown with one line that was not sent.
func (d *display) halfLine() bool { return d.input() && d.X > 2 }

// input reports whether the cursor is in the input line. It stands between two rules;
// that of a list of choices does not.
func (d *display) input() bool {
	return d.Y > 0 && d.Y+1 < len(d.Lines) && strings.HasPrefix(d.Lines[d.Y], promptMark) &&
		ruled(d.Lines[d.Y-1]) && ruled(d.Lines[d.Y+1])
}

// pasteMark is what the input line shows in place of a long paste.
const pasteMark = "[Pasted text #"

// holds reports whether the input line is shown, of one or more rows, and ends with a
// text. No dialog does.
func (d *display) holds(said string) bool {
	top, end := d.Y, d.Y+1
	for top > 0 && top < len(d.Lines) && !ruled(d.Lines[top-1]) {
		top--
	}
	if top <= 0 || top >= len(d.Lines) || !strings.HasPrefix(d.Lines[top], promptMark) {
		return false
	}
	for end < len(d.Lines) && !ruled(d.Lines[end]) {
		end++
	}
	if end >= len(d.Lines) {
		return false
	}
	shown := strings.Join(d.Lines[top:end], "\n")
	return strings.HasSuffix(squash(shown), squash(said)) || strings.Contains(shown, pasteMark)
}

func ruled(line string) bool { return strings.HasPrefix(line, "────") }

// gate is a question of the CLI before a session, by words of its screen.
type gate struct {
	words []string
	code  contract.ErrorCode
	text  string
}

// gates are the questions at a start. None of them is agenthost's to answer.
func gates() []gate {
	return []gate{
		{[]string{"Do you trust the files in this folder?"}, "", trustText},
		{[]string{"trust this folder"}, "", trustText},
		{
			[]string{"Detected a custom API key in your environment"},
			contract.CodeAuthRequired,
			"Claude Code asks whether to use the API key of the environment: answer that in its terminal.",
		},
		{
			[]string{"Select login method"},
			contract.CodeAuthRequired,
			"Claude Code wants a login: choose how to log in, in its terminal.",
		},
		{
			[]string{"Choose the text style that looks best"},
			contract.CodeAuthRequired,
			"Claude Code runs for the first time: answer its questions (colours, login) in its terminal.",
		},
		{
			[]string{"Bypass Permissions mode", "Yes, I accept"},
			contract.CodeAuthRequired,
			"Claude Code asks to accept the risks of its bypass mode: answer that in its terminal.",
		},
		{
			[]string{"Unable to connect to Anthropic services"},
			contract.CodeNetwork,
			"Claude Code cannot reach its service, which it wants to at its first start: check the network, start it once by hand.",
		},
	}
}

const trustText = "Claude Code asks whether this folder can be trusted: answer that in its terminal. Until then nothing runs."

// gateOn finds the question that a screen shows.
func gateOn(s adapters.Screen) *gate {
	all := strings.Join(s.Lines, "\n")
	for _, g := range gates() {
		found := true
		for _, w := range g.words {
			found = found && strings.Contains(all, w)
		}
		if found {
			return &g
		}
	}
	return nil
}
