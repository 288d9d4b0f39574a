package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/gemini"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// Gemini CLI with its own screen: a person at it, and one elsewhere.

// geminiScreen is a session of Gemini CLI with its screen in this process.
type geminiScreen struct{ onScreen }

func geminiOnScreen(t *testing.T, lab *agentlab.Lab) geminiScreen {
	t.Helper()
	return geminiScreen{hostedOnScreen(t, lab, host.Config{Adapter: gemini.New(), Hook: []string{binary(t), "hook"}}, 100, 36)}
}

// idle waits until the input line is empty and no request runs.
func (c geminiScreen) idle() {
	c.t.Helper()
	c.until("a free input line", geminiRests)
}

// geminiRests reports whether a screen has Gemini's input line, empty, and it does nothing.
func geminiRests(screen string) bool {
	return strings.Contains(screen, "Type your message") && !geminiWorks(screen)
}

// geminiTook reports whether a screen is that of a Gemini that took what was typed.
func geminiTook(screen string) bool {
	return strings.Contains(screen, "Type your message") || geminiWorks(screen) || strings.Contains(screen, "Allow once")
}

// geminiWorks reports whether Gemini says that it works, above the last rule of the screen.
// What is left of a frame for another width stands higher.
func geminiWorks(screen string) bool {
	const rule = "\n────────"
	above := screen[:max(0, strings.LastIndex(screen, rule))]
	return strings.Contains(above[strings.LastIndex(above, "\n\n")+1:], "(esc to cancel")
}

// types pastes a line and presses Enter when it is shown.
func (c geminiScreen) types(line string) {
	c.t.Helper()
	c.idle()
	c.input("\x1b[200~" + line + "\x1b[201~")
	c.loses("Type your message")
	c.shows(lastWord(line))
	c.until("a prompt that was taken", pressedUntil(func() { c.input("\r") }, geminiTook))
}

// pressedUntil presses Enter until ok, again after some seconds only: one that comes too
// soon is a part of what was typed, and one too many would answer a dialog.
func pressedUntil(enter func(), ok func(screen string) bool) func(screen string) bool {
	const again = 3 * time.Second
	pressed := time.Time{}
	return func(screen string) bool {
		if ok(screen) {
			return true
		}
		if time.Since(pressed) > again {
			enter()
			pressed = time.Now()
		}
		return false
	}
}

// dialog waits for an ask, in the stream and on the screen.
func (c geminiScreen) dialog() contract.PermissionRequest {
	c.t.Helper()
	ask, _ := wait[contract.PermissionRequest](c.session, nil)
	c.shows("● 1. Allow once")
	return ask
}

func (c geminiScreen) cancelled(what string) {
	c.t.Helper()
	c.onScreen.cancelled(what)
	c.idle()
}

// What is typed and what is sent are turns of one stream; asks are answered on either
// side, and so is stopping.
func TestTerminalGemini(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	c := geminiOnScreen(t, lab)
	s := c.session

	c.types(line("think **Hm** I think. ++ text Said to the one at the screen."))
	s.says("Said to the one at the screen.")
	// Of many lines, and long: one paste, one turn.
	s.prompt("SCRIPT: text Said to the one elsewhere.\n\n" + strings.Repeat("Some more that is of no use.\n", 600))
	s.says("Said to the one elsewhere.")
	c.shows("✦ Said to the one elsewhere.")

	geminiScreenAsks(t, c, lab)

	c.Resize(80, 30)
	c.until("a screen of 80 columns", func(text string) bool {
		return strings.Contains("\n"+text+"\n", "\n"+strings.Repeat("▀", 80)+"\n")
	})

	// Stopped from elsewhere, and at the screen.
	s.prompt(line("text Half an answer ++ hang"))
	wait[contract.TurnStart](s, nil)
	c.shows("(esc to cancel")
	s.send(contract.Abort{})
	c.cancelled("an abort")
	c.types(line("text Half an answer again ++ hang"))
	c.shows("(esc to cancel")
	c.keys("Escape")
	wait[contract.Abort](s, nil)
	c.cancelled("Esc")

	s.prompt(line("error 400 the model is out"))
	if end := s.turnEnd(); end.Status != contract.TurnFailed || end.Error == nil || end.Error.Code != contract.CodeInvalidRequest {
		t.Errorf("a failed request ended the turn %+v %+v", end, end.Error)
	}
	c.types(line("text Said at last."))
	s.says("Said at last.")

	envs := s.stop()
	oneTurnEach(t, envs)
	noneLeft(t, lab)
}

// A request is decided from elsewhere or in the CLI's own dialog, by whoever is first.
func geminiScreenAsks(t *testing.T, c geminiScreen, lab *agentlab.Lab) {
	t.Helper()
	s := c.session
	c.types(line("shell touch one.txt", "text It ran."))
	s.decide(c.dialog().Call, contract.AllowOnce)
	s.says("It ran.")
	exists(t, lab, "one.txt")

	s.prompt(line("shell touch two.txt", "text It ran, too."))
	ask := c.dialog()
	c.keys("Enter")
	c.allowedAtScreen(ask)
	c.answeredTooLate(ask)
	s.says("It ran, too.")
	exists(t, lab, "two.txt")

	// Three at once: one dialog at a time, each with its own answer.
	s.prompt(line("shell touch a.txt ++ shell touch b.txt ++ shell touch c.txt", "text All ran."))
	for range 3 {
		ask, _ := wait[contract.PermissionRequest](s, nil)
		s.decide(ask.Call, contract.AllowOnce)
	}
	s.says("All ran.")
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		exists(t, lab, name)
	}

	// A refusal ends the turn, on both sides.
	s.prompt(line("shell touch none.txt", "text Never said."))
	s.decide(c.dialog().Call, contract.RejectOnce)
	c.cancelled("a refusal")
	c.types(line("shell touch none.txt", "text Never said, either."))
	c.dialog()
	c.keys("Escape")
	c.refusedAtScreen()
	c.idle()
	if _, err := os.Stat(filepath.Join(lab.Dir, "none.txt")); err == nil {
		t.Error("a call that was refused ran")
	}
}

// A CLI that is killed in a turn fails it; the next prompt starts it again, in another
// minute, with its conversation. So does the protocol without a screen, and nothing runs
// of what was asked for when the end came.
func TestTerminalGeminiAgain(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	c := geminiOnScreen(t, lab)
	s := c.session
	s.prompt(line("text To be remembered. ++ shell touch never.txt"))
	c.dialog()
	signalled(t, geminiProcess(t, lab), syscall.SIGKILL)
	if end := s.turnEnd(); end.Status != contract.TurnFailed {
		t.Errorf("the end of the CLI ended the turn %+v %+v", end, end.Error)
	}
	s.prompt(line("text Here again."))
	s.says("Here again.")
	knows(t, lab, map[string]bool{"To be remembered.": true})

	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	if err := s.host.SetFace(ctx, adapters.FaceHeadless, false); err != nil {
		t.Fatal(err)
	}
	s.prompt(line("text Without a screen."))
	s.says("Without a screen.")
	knows(t, lab, map[string]bool{"Here again.": true})
	if _, err := os.Stat(filepath.Join(lab.Dir, "never.txt")); err == nil {
		t.Error("a call that nobody allowed ran")
	}
	envs := s.stop()
	oneTurnEach(t, envs)
	noneLeft(t, lab)
}

// A host that is killed while a person is asked takes everything along: what was asked
// for does not run. The terminal is a real one.
func TestTerminalGeminiHostKilled(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	p := onTerminal(t, lab, 100, 36, binary(t), "run", "gemini", "--local")
	p.shows("Type your message")
	p.typed(line("shell touch never.txt", "text Never said."))
	taken := pressedUntil(func() { p.keys("Enter") }, func(screen string) bool {
		return strings.Contains(screen, "(esc to cancel") || strings.Contains(screen, "● 1. Allow once")
	})
	p.until("a prompt that was taken", taken)
	p.shows("● 1. Allow once")
	signalled(t, p.pid(), syscall.SIGKILL)
	p.exit()
	deadline(t, "the end of the CLI", func() bool {
		all, err := lab.Leftovers()
		return err == nil && !slices.ContainsFunc(all, func(p agentlab.Process) bool { return slices.Contains(p.Args, "--approval-mode") })
	})
	if _, err := os.Stat(filepath.Join(lab.Dir, "never.txt")); err == nil {
		t.Error("a call that nobody allowed ran")
	}
}

// geminiProcess is the CLI's own.
func geminiProcess(t *testing.T, lab *agentlab.Lab) int {
	t.Helper()
	return process(t, lab, "--approval-mode", func(name string) bool { return !strings.HasSuffix(name, "agenthost") })
}
