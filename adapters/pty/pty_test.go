package pty_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/adaptertest"
	"github.com/agenthost/agenthost/adapters/pty"
	"github.com/agenthost/agenthost/contract"
)

func suite() adaptertest.Suite {
	return adaptertest.Suite{
		Adapter: adaptertest.Terminal(named{pty.New()}),
		Dir:     filepath.Join("testdata", "terminal"), GoldenDir: filepath.Join("testdata", "golden"),
	}
}

// named is the adapter with a command, which the suite gives none.
type named struct{ pty.Adapter }

func (n named) LaunchTerminal(r adapters.TerminalRequest) (adapters.Launch, error) {
	if r.Command == nil {
		r.Command = []string{"prog"}
	}
	return n.Adapter.LaunchTerminal(r)
}

func TestGolden(t *testing.T)   { adaptertest.Golden(t, suite()) }
func TestConform(t *testing.T)  { adaptertest.Conform(t, suite()) }
func FuzzProtocol(f *testing.F) { adaptertest.Fuzz(f, suite()) }

func TestLaunch(t *testing.T) {
	a := pty.New()
	if _, err := a.Launch(adapters.LaunchRequest{Args: []string{"top"}}); !errors.Is(err, adapters.ErrUnsupported) {
		t.Errorf("Launch without a screen = %v, want ErrUnsupported", err)
	}
	launch := func(args []string, o adapters.Options) (adapters.Launch, error) {
		return a.LaunchTerminal(adapters.TerminalRequest{LaunchRequest: adapters.LaunchRequest{Args: args, Options: o}})
	}
	if _, err := launch(nil, adapters.Options{}); err == nil {
		t.Error("LaunchTerminal without a command = nil error")
	}
	l, err := launch([]string{"top", "-d", "1"}, adapters.Options{Mode: "default", Settings: map[string]string{"rest": "5s", "abort": "esc"}})
	if err != nil || !slices.Equal(l.Argv, []string{"top", "-d", "1"}) || !l.Screen {
		t.Errorf("LaunchTerminal = %+v, %v", l, err)
	}
	for name, o := range map[string]adapters.Options{
		"a model":         {Model: "m"},
		"a mode":          {Mode: "plan"},
		"a session":       {Resume: "x"},
		"a wrong rest":    {Settings: map[string]string{"rest": "soon"}},
		"no rest":         {Settings: map[string]string{"rest": "-1s"}},
		"a wrong key":     {Settings: map[string]string{"abort": "f1"}},
		"a MCP server":    {MCPServers: []adapters.MCPServer{{Name: "s"}}},
		"a system prompt": {SystemPrompt: "be kind"},
	} {
		if _, err := launch([]string{"top"}, o); err == nil {
			t.Errorf("LaunchTerminal with %s = nil error", name)
		}
	}
}

// drive is one protocol with its clock.
type drive struct {
	t    *testing.T
	p    adapters.Protocol
	now  time.Time
	step adapters.Step
}

func opened(t *testing.T, settings map[string]string, s adapters.Screen) *drive {
	d := &drive{t: t, now: time.Unix(1_796_025_600, 0)}
	d.p = pty.New().NewTerminalProtocol(adapters.TerminalInfo{SessionInfo: adapters.SessionInfo{Options: adapters.Options{Settings: settings}}})
	d.submit(adapters.Open{ID: "o"})
	d.screen(s)
	if len(d.step.Done) != 1 || d.step.Done[0].Err != nil {
		t.Fatalf("Open with a screen: %+v, want it done", d.step)
	}
	return d
}

func (d *drive) submit(c adapters.Command) {
	d.t.Helper()
	var err error
	if d.step, err = d.p.Submit(d.now, c); err != nil {
		d.t.Fatalf("Submit(%T) = %v", c, err)
	}
}

func (d *drive) screen(s adapters.Screen) {
	d.t.Helper()
	var err error
	if d.step, err = d.p.Receive(d.now, s.Frame()); err != nil {
		d.t.Fatal(err)
	}
}

// pass lets the time pass until the protocol's next tick.
func (d *drive) pass() {
	d.t.Helper()
	if d.step.WakeAt.IsZero() {
		d.t.Fatal("no tick is asked for")
	}
	d.now = d.step.WakeAt
	d.step = d.p.Tick(d.now)
}

func typed(s adapters.Step) string {
	var b strings.Builder
	for _, w := range s.Write {
		b.Write(w)
	}
	return b.String()
}

func kinds(s adapters.Step) string {
	var out []string
	for _, d := range s.Emit {
		out = append(out, string(d.Event.EventType()))
	}
	return strings.Join(out, " ")
}

// TestPaste: a text of many lines is one paste, and its Enter comes apart from it.
func TestPaste(t *testing.T) {
	d := opened(t, nil, adapters.Screen{Paste: true, Lines: []string{"> "}})
	d.submit(adapters.Prompt{ID: "u", Text: "one\r\ntwo \x1b[201~\x03three\n" + strings.Repeat("x\n", 9000)})
	got := typed(d.step)
	if !strings.HasPrefix(got, "\x1b[200~one\ntwo [201~three\nx\n") || !strings.HasSuffix(got, "x\x1b[201~") || len(d.step.Write) != 1 {
		t.Errorf("typed %.60q…, in %d writes", got, len(d.step.Write))
	}
	if strings.Count(got, "\x1b") != 2 {
		t.Error("the text holds keys")
	}
	d.pass()
	if typed(d.step) != "\r" {
		t.Errorf("behind the paste: %q, want Enter", typed(d.step))
	}
}

// TestConfirmationBehindThePaste: a question that comes up between a text and its Enter
// is not answered by the Enter. The text itself may have the words of one.
func TestConfirmationBehindThePaste(t *testing.T) {
	for _, c := range []struct {
		line string
		free bool
	}{
		{"overwrite x? (y/n) ", false},
		{"Press Enter to continue", false},
		{"> hello", true},
		{"> mend what says Press Enter", true},
	} {
		d := opened(t, nil, adapters.Screen{Paste: true, Lines: []string{"> "}})
		d.submit(adapters.Prompt{ID: "u", Text: "hello\nmend what says Press Enter"})
		d.screen(adapters.Screen{Paste: true, Lines: []string{c.line}})
		d.pass()
		want, said := "\r", ""
		if !c.free {
			want, said = "", "service turn-end"
		}
		if typed(d.step) != want || kinds(d.step) != said {
			t.Errorf("%q behind the paste: typed %q, %s", c.line, typed(d.step), kinds(d.step))
		}
		if c.free {
			continue
		}
		if end, ok := d.step.Emit[1].Event.(contract.TurnEnd); !ok || end.Status != contract.TurnFailed || !d.step.WakeAt.IsZero() {
			t.Errorf("%q behind the paste: %+v, want the turn failed and no more", c.line, d.step)
		}
	}
}

// TestLines: without bracketed paste each line has its Enter.
func TestLines(t *testing.T) {
	d := opened(t, nil, adapters.Screen{Lines: []string{"$"}})
	d.submit(adapters.Prompt{ID: "u", Text: "one\ntwo\n"})
	if got := typed(d.step); got != "one\rtwo\r" {
		t.Errorf("typed %q", got)
	}
}

// TestRest: a turn ends when the screen was at rest for the time of the setting.
func TestRest(t *testing.T) {
	d := opened(t, map[string]string{"rest": "5s", "screenText": "yes"}, adapters.Screen{Lines: []string{"$", "old"}})
	d.submit(adapters.Prompt{ID: "u", Text: "go"})
	d.now = d.now.Add(time.Second)
	d.screen(adapters.Screen{Lines: []string{"$ go", "old", "a"}})
	d.now = d.now.Add(4 * time.Second)
	d.screen(adapters.Screen{Lines: []string{"$ go", "old", "a", "b"}})
	if kinds(d.step) != "" {
		t.Fatalf("the turn ended while the screen changed: %s", kinds(d.step))
	}
	last := d.now
	d.pass()
	if kinds(d.step) != "text turn-end" || d.now.Sub(last) != 5*time.Second {
		t.Fatalf("after %v: %s", d.now.Sub(last), kinds(d.step))
	}
	if got := d.step.Emit[0].Event.(contract.Text).Text; got != "$ go\na\nb" {
		t.Errorf("text = %q", got)
	}
}

// TestConfirmation: no prompt is typed at a screen that asks for an Enter.
func TestConfirmation(t *testing.T) {
	for name, c := range map[string]struct {
		screen adapters.Screen
		free   bool
	}{
		"a trust dialog":          {adapters.Screen{Y: 3, Lines: []string{"Do you trust the files?", " 1. Yes", "Enter to confirm", ""}}, false},
		"a question at the input": {adapters.Screen{Y: 1, Lines: []string{"$ rm -i x", "remove x? (y/n) "}}, false},
		"an answered question":    {adapters.Screen{Y: 2, Lines: []string{"$ rm -i x", "remove x? (y/n) y", "$"}}, true},
		"a far text":              {adapters.Screen{Y: 14, Lines: append([]string{"Press Enter"}, slices.Repeat([]string{"."}, 14)...)}, true},
	} {
		d := opened(t, nil, c.screen)
		d.submit(adapters.Prompt{ID: "u", Text: "hello"})
		if free := len(d.step.Write) > 0; free != c.free {
			t.Errorf("%s: typed %q, %s", name, typed(d.step), kinds(d.step))
		}
		if !c.free && kinds(d.step) != "turn-start service turn-end" {
			t.Errorf("%s: %s", name, kinds(d.step))
		}
	}
}

// TestStill: a screen that shows nothing ends the turn in the end, and a program
// without a screen opens.
func TestStill(t *testing.T) {
	d := &drive{t: t, now: time.Unix(1_796_025_600, 0)}
	d.p = pty.New().NewTerminalProtocol(adapters.TerminalInfo{})
	d.submit(adapters.Open{ID: "o"})
	d.pass()
	if len(d.step.Done) != 1 {
		t.Fatalf("a program that draws nothing: %+v", d.step)
	}
	d.submit(adapters.Prompt{ID: "u", Text: "go"})
	d.pass()
	if kinds(d.step) != "turn-end" {
		t.Errorf("%s, want the turn's end", kinds(d.step))
	}
}

// TestAbort: the key of the setting is typed, and the turn is over.
func TestAbort(t *testing.T) {
	for setting, want := range map[string]string{"": "\x03", "esc": "\x1b", "none": ""} {
		d := opened(t, map[string]string{"abort": setting}, adapters.Screen{Lines: []string{"$"}})
		d.submit(adapters.Abort{})
		if len(d.step.Write) > 0 {
			t.Errorf("abort %q without a turn typed %q", setting, typed(d.step))
		}
		d.submit(adapters.Prompt{ID: "u", Text: "go"})
		d.submit(adapters.Abort{})
		if typed(d.step) != want || kinds(d.step) != "turn-end" {
			t.Errorf("abort %q typed %q, %s", setting, typed(d.step), kinds(d.step))
		}
	}
}

func TestExit(t *testing.T) {
	for _, c := range []struct {
		status adapters.ExitStatus
		want   contract.TurnStatus
	}{
		{adapters.ExitStatus{}, contract.TurnCompleted},
		{adapters.ExitStatus{Code: 3}, contract.TurnFailed},
		{adapters.ExitStatus{Code: -1, Signal: "SIGKILL"}, contract.TurnFailed},
		{adapters.ExitStatus{Code: -1, Requested: true}, contract.TurnCancelled},
	} {
		d := opened(t, nil, adapters.Screen{Lines: []string{"$"}})
		d.submit(adapters.Prompt{ID: "u", Text: "go"})
		step := d.p.Exit(d.now, c.status)
		end, ok := step.Emit[len(step.Emit)-1].Event.(contract.TurnEnd)
		if !ok || end.Status != c.want {
			t.Errorf("Exit(%+v): %+v, want %s", c.status, step.Emit, c.want)
		}
	}
}

// A program that is quick was there: nothing failed to start.
func TestExitBeforeTheScreen(t *testing.T) {
	for _, c := range []struct {
		status adapters.ExitStatus
		want   string
	}{
		{adapters.ExitStatus{}, ""},
		{adapters.ExitStatus{Code: 3}, "the program ended with status 3"},
		{adapters.ExitStatus{Code: -1, Err: "no such file"}, "no such file"},
	} {
		p := pty.New().NewTerminalProtocol(adapters.TerminalInfo{})
		if _, err := p.Submit(time.UnixMilli(0), adapters.Open{ID: "o"}); err != nil {
			t.Fatal(err)
		}
		step := p.Exit(time.UnixMilli(1), c.status)
		if len(step.Done) != 1 || step.Done[0].ID != "o" {
			t.Fatalf("Exit(%+v): outcomes %+v, want that of the opening", c.status, step.Done)
		}
		got := ""
		if err := step.Done[0].Err; err != nil {
			got = err.Message
		}
		if got != c.want {
			t.Errorf("Exit(%+v): %q, want %q", c.status, got, c.want)
		}
	}
}
