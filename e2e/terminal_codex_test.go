package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// Codex with its own screen: a person at it, and one elsewhere.

// codexScreen is a session of Codex with its screen in this process.
type codexScreen struct{ onScreen }

func codexOnScreen(t *testing.T, lab *agentlab.Lab) codexScreen {
	t.Helper()
	cfg := codexConfig()
	cfg.Options.Mode = "default"
	c := codexScreen{hostedOnScreen(t, lab, cfg, 100, 40)}
	c.shows("for shortcuts")
	return c
}

// codexEmpty is what Codex shows in its input line when nothing is in it.
const codexEmpty = "Ask Codex to do anything"

// pasted reports whether a line is in Codex's input line.
func pasted(line string) func(screen string) bool {
	return func(screen string) bool {
		return !strings.Contains(screen, codexEmpty) && strings.Contains(screen, lastWord(line))
	}
}

// enter pastes a line and presses Enter when Codex has it: keys that come as fast as
// these are a paste to it as well, in which Enter is a line end.
func (c codexScreen) enter(line string) {
	c.t.Helper()
	c.shows(codexEmpty)
	c.input("\x1b[200~" + line + "\x1b[201~")
	c.until("the line "+line, pasted(line))
	c.input("\r")
}

// rests waits until Codex works on nothing.
func (c codexScreen) rests() {
	c.t.Helper()
	c.until("a screen at rest", codexRests)
}

// codexRests reports whether a screen is that of a Codex which works on nothing.
func codexRests(screen string) bool {
	return strings.Contains(screen, codexEmpty) && !strings.Contains(screen, "esc to interrupt")
}

// codexProcess is the server of Codex or its screen, by a word on its command line.
func codexProcess(t testing.TB, lab *agentlab.Lab, word string) int {
	t.Helper()
	return process(t, lab, word, func(name string) bool { return strings.HasSuffix(name, "codex") })
}

// dialog waits for an ask, in the stream and on the screen.
func (c codexScreen) dialog() contract.PermissionRequest {
	c.t.Helper()
	ask, _ := wait[contract.PermissionRequest](c.session, nil)
	c.shows("Would you like to")
	return ask
}

// What is typed and what is sent are turns of one stream, asks are answered on either
// side, and so is stopping, steering and what Codex may do.
func TestTerminalCodex(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	c := codexOnScreen(t, lab)
	s := c.session

	c.enter(line("think **Hm** I think. ++ text Said to the one at the screen."))
	s.says("Said to the one at the screen.")
	s.prompt(line("text Said to the one elsewhere."))
	s.says("Said to the one elsewhere.")
	c.shows("• Said to the one elsewhere.")

	// Typed, answered from elsewhere.
	c.enter(line("shell touch one.txt", "text It ran."))
	s.decide(c.dialog().Call, contract.AllowOnce)
	s.says("It ran.")
	c.loses("Would you like to")
	exists(t, lab, "one.txt")
	c.enter(line("shell touch none.txt", "text It did not run."))
	s.decide(c.dialog().Call, contract.RejectOnce)
	s.says("It did not run.")

	// Sent, answered at the screen.
	s.prompt(line("shell touch two.txt", "text It ran, too."))
	ask := c.dialog()
	c.keys("y")
	c.allowedAtScreen(ask)
	s.says("It ran, too.")
	exists(t, lab, "two.txt")
	c.enter(line("write three.txt three", "text Never said."))
	c.dialog()
	c.keys("Escape")
	c.refusedAtScreen()

	// Steered and stopped on both sides.
	c.enter(line("shell until [ -e go ]; do sleep 0.1; done", "text After the steers."))
	s.decide(c.dialog().Call, contract.AllowOnce)
	c.loses("Would you like to")
	s.send(contract.Text{Text: "from elsewhere", Steer: true})
	c.enter("from the screen")
	c.shows("from elsewhere")
	if err := os.WriteFile(filepath.Join(lab.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.turnEnd()
	c.enter(line("slow 200 ++ text " + strings.Repeat("on and on ", 30) + "stopped"))
	wait[contract.TurnStart](s, nil)
	c.shows("• on and on")
	s.send(contract.Abort{})
	c.cancelled("an abort")
	c.until("the stop", func(s string) bool {
		return strings.LastIndex(s, "Conversation interrupted") > strings.LastIndex(s, "on and on")
	})
	c.rests()

	// What Codex may do.
	c.keys("BTab")
	changed, _ := wait[contract.AgentConfigurationChanged](s, func(ev contract.AgentConfigurationChanged) bool { return ev.PermissionMode != "" })
	if changed.PermissionMode != contract.ModePlan {
		t.Errorf("mode at the screen: %+v", changed)
	}
	s.send(contract.AgentConfigurationChanged{PermissionMode: contract.ModeAcceptEdits})
	wait(s, func(ev contract.AgentConfigurationChanged) bool { return ev.PermissionMode == contract.ModeAcceptEdits })
	c.loses("Plan mode (")
	c.enter(line("shell touch four.txt", "text Without asking."))
	s.says("Without asking.")
	exists(t, lab, "four.txt")

	// Freer than the session may be: for what is typed, and for no prompt from elsewhere.
	c.rests()
	c.enter("/permissions")
	c.shows("Full Access")
	c.keys("3")
	c.shows("Enable full access?")
	c.keys("Enter")
	wait(s, func(ev contract.AgentConfigurationChanged) bool {
		return ev.PermissionMode == contract.ModeBypassPermissions
	})
	s.send(contract.AgentConfigurationChanged{PermissionMode: contract.ModeDefault})
	wait(s, func(ev contract.AgentConfigurationChanged) bool { return ev.PermissionMode == contract.ModeDefault })
	s.prompt(line("shell touch five.txt", "text Asked all the same."))
	s.decide(c.dialog().Call, contract.AllowOnce)
	s.says("Asked all the same.")

	c.Resize(60, 20)
	c.until("a screen of 60 columns", func(string) bool {
		sc := c.Snapshot()
		return sc.Cols == 60 && strings.Contains(strings.Join(sc.Lines, "\n"), "Asked all the same.")
	})

	envs := s.stop()
	oneTurnEach(t, envs)
	noneLeft(t, lab)
}

// The session goes where the person at the screen goes, is handed over and back in one
// stream, and outlives the end of the screen and of its server.
func TestTerminalCodexMoves(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	c := codexOnScreen(t, lab)
	s := c.session
	c.enter(line("text In the first."))
	s.says("In the first.")
	first := s.codexOpened()

	c.rests()
	c.enter("/new")
	wait(s, func(ev contract.Service) bool { return strings.Contains(ev.Text, "Another conversation") })
	second := s.codexOpened()
	if second == first {
		t.Error("the session did not go to the new conversation")
	}
	c.enter(line("text In the second."))
	s.says("In the second.")
	c.enter(line("shell touch asked.txt", "text Asked in the second."))
	s.decide(c.dialog().Call, contract.AllowOnce)
	s.says("Asked in the second.")
	s.prompt(line("text Sent to the second."))
	s.says("Sent to the second.")
	c.shows("• Sent to the second.")

	// There and back.
	c.setFace(adapters.FaceHeadless)
	s.prompt(line("text Without a screen."))
	s.says("Without a screen.")
	c.setFace(adapters.FaceTerminal)
	c.shows("• Without a screen.")
	c.enter(line("text With a screen again."))
	s.says("With a screen again.")
	if got := s.codexOpened(); got != second {
		t.Errorf("native session %q, want %q all along", got, second)
	}

	// The server dies in a turn, then the screen does.
	for _, word := range []string{"app-server", "--remote"} {
		c.enter(line("slow 200 ++ text "+word+" "+strings.Repeat("on ", 100), "text never-"+word))
		wait[contract.TurnStart](s, nil)
		c.shows("• " + word)
		signalled(t, codexProcess(t, lab, word), syscall.SIGKILL)
		if end := s.turnEnd(); end.Status != contract.TurnFailed {
			t.Errorf("%s killed: %+v", word, end)
		}
		s.prompt(line("text Alive after " + word + "."))
		s.says("Alive after " + word + ".")
		c.shows("• Alive after " + word + ".")
	}

	// Who quits the screen ends the session.
	c.rests()
	c.enter("/quit")
	select {
	case <-s.host.Done():
	case <-time.After(patience):
		t.Fatalf("the session goes on without its screen:\n%s", c.screen())
	}
	<-s.done
	oneTurnEach(t, s.envs)
	noneLeft(t, lab)
}
