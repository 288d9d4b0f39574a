package claude

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// display is what the screen showed last: at rest, or when it was looked at.
type display struct {
	// looks counts what was seen of it, 0 for nothing yet.
	looks int
	// since is when the input line came to look so.
	since time.Time
	adapters.Screen
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
	if line := t.watch.typed(); t.watch.looks == 0 || line != displayed(s).typed() {
		t.watch.since = t.now
	}
	t.watch.looks++
	t.watch.Screen = s
	g := gateOn(s)
	if g != nil && (t.watch.gate == nil || t.watch.gate.text != g.text) {
		t.notice(contract.ServiceNotice, g.code, g.text)
	}
	t.watch.gate = g
	if g != nil {
		t.opened() // the person at the terminal has the word: that may take a while
	}
	t.takenBack()
	t.notSubmitted()
	return nil
}

func displayed(s adapters.Screen) *display { return &display{Screen: s} }

// look asks for the screen as it is now. While the CLI works it never rests.
func (t *terminal) look() {
	for _, e := range t.step.Effects {
		if _, ok := e.(adapters.Look); ok {
			return
		}
	}
	if !t.gone {
		t.step.Effects = append(t.step.Effects, adapters.Look{})
	}
}

// promptMark begins the CLI's input line.
const promptMark = "❯"

// box is the CLI's input line, between two rules: its first row and the one behind its
// last. It is false when the line is not shown or the cursor is elsewhere. A list of
// choices has its cursor at the mark.
func (d *display) box() (top, end int, ok bool) {
	top, end = d.Y, d.Y
	if d.Y < 0 || d.Y >= len(d.Lines) || ruled(d.Lines[d.Y]) || d.X < 2 {
		return 0, 0, false
	}
	for top > 0 && !ruled(d.Lines[top-1]) {
		top--
	}
	for end < len(d.Lines) && !ruled(d.Lines[end]) {
		end++
	}
	if top == 0 || end == len(d.Lines) {
		return 0, 0, false
	}
	if !strings.HasPrefix(d.Lines[top], promptMark) && !d.scrolled(top) {
		return 0, 0, false
	}
	return top, end, d.Y != top || d.X != 2 || !choice(d.Lines[top])
}

// scrolled reports whether the input line is too long for the screen: the rule above it
// says how many rows are not shown.
func (d *display) scrolled(top int) bool {
	return strings.Contains(d.Lines[top-1], "↑") && strings.Contains(d.Lines[top-1], "more")
}

// choice reports whether a row is the first of a list of choices: "❯ 1. Yes".
func choice(row string) bool {
	word, _, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(row, promptMark)), ". ")
	_, err := strconv.Atoi(word)
	return ok && err == nil
}

// free reports whether the input line is shown and empty. What the CLI proposes in grey
// stands behind the cursor.
func (d *display) free() bool {
	top, end, ok := d.box()
	return ok && d.X == 2 && end == top+1 && !d.scrolled(top)
}

// typed is what stands in the input line, empty when that is not shown.
func (d *display) typed() string {
	top, end, ok := d.box()
	if !ok || d.free() {
		return ""
	}
	return strings.TrimPrefix(strings.Join(d.Lines[top:end], "\n"), promptMark)
}

// halfLine reports whether the input line is shown with one row that was not sent, which
// can be taken away and put back.
func (d *display) halfLine() bool {
	top, end, ok := d.box()
	return ok && !d.free() && end == top+1 && pastes(d.typed()) == 0
}

// pastes counts the marks in an input line that stand for a long paste each, as
// "[Pasted text #1 +20 lines]".
func pastes(line string) int { return strings.Count(squash(line), "[Pastedtext#") }

// holding is how the input line holds a text.
type holding int

const (
	holdsNot holding = iota
	// holdsMore: it stands behind something else.
	holdsMore
	// holdsJust: nothing else stands there, as far as it is shown.
	holdsJust
)

// holds tells whether the input line is shown and holds a text at its end.
func (d *display) holds(said string) holding {
	line := d.typed()
	if line == "" {
		return holdsNot
	}
	top, _, _ := d.box()
	shown, want := legible(line), legible(said)
	switch n := pastes(line); {
	case n == 1 && squash(line) == squash(line[strings.Index(line, "["):]):
		return holdsJust
	case n > 0:
		return holdsMore
	case shown == want, d.scrolled(top) && strings.HasSuffix(want, shown):
		return holdsJust
	case strings.HasSuffix(shown, want):
		return holdsMore
	}
	return holdsNot
}

// begins tells whether the input line is shown and begins with a text.
func (d *display) begins(said string) bool {
	want := legible(said)
	return want != "" && strings.HasPrefix(legible(d.typed()), want)
}

// legible is what of a text a screen shows in any case: its letters and digits. Blanks
// move, marks and pictures are drawn in several ways.
func legible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return r
		}
		return -1
	}, s)
}

// spinner are the marks that begin the line which says what the CLI is doing.
const spinner = "·✢✳✶✻✽*"

// statusRows is how far above the input line the CLI says what it is doing.
const statusRows = 10

// busy reports whether the CLI says that it works: in its title, behind the spinner above
// its input line, or below that.
func (d *display) busy() bool {
	if r, _ := utf8.DecodeRuneInString(d.Title); strings.ContainsRune("◐◑◒◓", r) {
		return true
	}
	top, end, ok := d.box()
	if !ok {
		top, end = len(d.Lines), 0
	}
	return slices.ContainsFunc(d.Lines[max(top-statusRows, 0):top], works) ||
		slices.ContainsFunc(d.Lines[end:], func(line string) bool { return strings.Contains(line, "esc to interrupt") })
}

// works reports whether a row says what the CLI is doing: "✻ Puzzling… (12s)".
func works(row string) bool {
	mark, rest, _ := strings.Cut(row, " ")
	return utf8.RuneCountInString(mark) == 1 && strings.Contains(spinner, mark) && strings.Contains(rest, "…")
}

func ruled(line string) bool {
	return strings.HasPrefix(line, "─── ↑") || strings.HasPrefix(line, "────")
}

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
