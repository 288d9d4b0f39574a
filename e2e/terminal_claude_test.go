package e2e

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/claude"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// Claude Code with its own screen: a person at it, and one elsewhere.

// claudeDialog is in each of the CLI's dialogs about a tool.
const claudeDialog = "Do you want to proceed?"

// claudeScreen is a session of Claude Code with its screen in this process.
type claudeScreen struct{ onScreen }

func claudeOnScreen(t *testing.T, lab *agentlab.Lab) claudeScreen {
	t.Helper()
	c := claudeScreen{hostedOnScreen(t, lab, host.Config{Adapter: claude.New(), Hook: []string{binary(t), "hook"}}, 100, 30)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the screen was\n%s", c.screen())
		}
	})
	return c
}

// free waits until the CLI's input line is empty and has the cursor.
func (c claudeScreen) free() {
	c.t.Helper()
	c.until("a free input line", func(string) bool {
		s := c.Snapshot()
		return s.Y > 0 && s.Y < len(s.Lines) && strings.HasPrefix(s.Lines[s.Y], "❯") && s.X == 2 && strings.HasPrefix(s.Lines[s.Y-1], "───")
	})
}

// types types a line when the input line is free, and waits for its turn.
func (c claudeScreen) types(said string) {
	c.t.Helper()
	c.free()
	c.enter(said)
	text := c.next("text of the one at the screen", func(e contract.Envelope) bool {
		ev, ok := e.Event.(contract.Text)
		return ok && e.Role == contract.RoleUser && ev.Text == said
	})
	start, _ := wait[contract.TurnStart](c.session, nil)
	if len(start.Prompts) != 1 || start.Prompts[0] != text.ID {
		c.t.Errorf("the turn of %s takes up %q", text.ID, start.Prompts)
	}
}

// dialog waits for an ask, in the stream and on the screen.
func (c claudeScreen) dialog() contract.PermissionRequest {
	c.t.Helper()
	ask := c.asked("bash")
	c.shows(claudeDialog)
	return ask
}

// press presses a key in the dialog until it is gone: one that has just opened does not
// hear the first.
func (c claudeScreen) press(key string) {
	c.t.Helper()
	const again = 100 // looks, some seconds
	n := 0
	c.until("the screen without the dialog", func(text string) bool {
		if !strings.Contains(text, claudeDialog) {
			return true
		}
		if n%again == 0 {
			c.keys(key)
		}
		n++
		return false
	})
}

// What is typed and what is sent are turns of one stream; asks are answered on either
// side, and so is stopping and steering. The session is handed over and back, and
// outlives the end of the CLI.
func TestTerminalClaude(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	c := claudeOnScreen(t, lab)
	s := c.session

	c.types(line("text Said to the one at the screen."))
	s.says("Said to the one at the screen.")
	s.prompt(line("text Said to the one elsewhere.") + "\n\n!no shell command")
	s.says("Said to the one elsewhere.")
	c.shows("● Said to the one elsewhere.")

	claudeScreenAsks(t, c, lab)
	claudeScreenStops(t, c, lab)

	c.Resize(80, 24)
	c.until("a screen of 80 columns", func(text string) bool { return strings.Contains("\n"+text+"\n", "\n"+strings.Repeat("─", 80)+"\n") })

	// There and back.
	c.setFace(adapters.FaceHeadless)
	s.prompt(line("text Without a screen."))
	s.says("Without a screen.")
	c.setFace(adapters.FaceTerminal)
	c.shows("● Without a screen.")
	c.types(line("text With a screen again."))
	s.says("With a screen again.")
	knows(t, lab, map[string]bool{"Said to the one at the screen.": true, "Without a screen.": true})

	claudeScreenDies(t, c, lab)

	envs := s.stop()
	oneTurnEach(t, envs)
	noneLeft(t, lab)
}

// A request is decided from elsewhere or in the CLI's own dialog, by whoever is first.
func claudeScreenAsks(t *testing.T, c claudeScreen, lab *agentlab.Lab) {
	t.Helper()
	s := c.session
	c.types(line("shell touch one.txt", "text It ran."))
	s.decide(c.dialog().Call, contract.AllowOnce)
	s.says("It ran.")
	c.loses(claudeDialog)
	exists(t, lab, "one.txt")
	s.prompt(line("shell touch none.txt", "text It did not run."))
	s.send(contract.PermissionResponse{Call: s.asked("bash").Call, Decision: contract.RejectOnce, Message: "rather not"})
	s.says("It did not run.")

	// What comes meanwhile is not typed into the dialog, nor as a command of the shell.
	s.prompt(line("shell touch two.txt", "hold raw ++ read two.txt", "text It ran, too."))
	ask := c.dialog()
	s.send(contract.Text{Text: "!touch raw.txt", Steer: true})
	wait(s, func(ev contract.Service) bool {
		return strings.Contains(ev.Text, "waits: a permission request is open")
	})
	c.shows(claudeDialog)
	missing(t, lab, "two.txt")
	c.press("Enter")
	c.allowedAtScreen(ask)
	c.answeredTooLate(ask)
	c.shows("❯ !touch raw.txt")
	lab.Model.Release("raw")
	s.says("It ran, too.")
	exists(t, lab, "two.txt")
	missing(t, lab, "raw.txt")
	knows(t, lab, map[string]bool{"!touch raw.txt": true})

	c.types(line("shell touch never.txt", "text Never said."))
	c.dialog()
	c.press("Escape")
	c.refusedAtScreen()
}

// A turn is steered and stopped on both sides.
func claudeScreenStops(t *testing.T, c claudeScreen, lab *agentlab.Lab) {
	t.Helper()
	s := c.session
	c.types(line("hold go ++ read one.txt", "text After the steers."))
	s.send(contract.Text{Text: "from elsewhere", Steer: true})
	c.shows("❯ from elsewhere")
	lab.Model.Release("go")
	s.says("After the steers.")

	s.prompt(line("text Half an answer ++ hang"))
	wait[contract.TurnStart](s, nil)
	c.shows("esc to interrupt")
	s.send(contract.Abort{})
	c.cancelled("an abort")
	c.types(line("text Half an answer again ++ hang"))
	c.shows("esc to interrupt")
	c.keys("Escape")
	wait[contract.Abort](s, nil)
	c.cancelled("Esc")

	// Before any answer there is no record of it: the prompt is in the input line again.
	c.types(line("hold back ++ text Never said."))
	c.shows("esc to interrupt")
	c.keys("Escape")
	wait[contract.Abort](s, nil)
	c.cancelled("Esc before any answer")
	c.input("\x05\x15")

	s.prompt(line("shell touch never.txt", "text Never said, either."))
	c.dialog()
	s.send(contract.Abort{})
	c.cancelled("an abort with an open dialog")
}

// A CLI that is killed in a turn fails it; the next prompt starts it again.
func claudeScreenDies(t *testing.T, c claudeScreen, lab *agentlab.Lab) {
	t.Helper()
	s := c.session
	s.prompt(line("text Half an answer, then none ++ hang"))
	wait[contract.TurnStart](s, nil)
	c.shows("esc to interrupt")
	all, err := lab.Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if slices.Contains(p.Args, "--settings") && strings.HasPrefix(filepath.Base(p.Args[0]), "claude") {
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Fatal(err)
			}
		}
	}
	s.fails(contract.CodeAgentExited)
	s.prompt(line("text Alive after that."))
	s.says("Alive after that.")
	c.shows("● Alive after that.")
}

// Questions, plans and sub-agents ask through the screen's session as they do without
// one; the session goes where the person at the screen goes; who quits ends it.
func TestTerminalClaudeTools(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	c := claudeOnScreen(t, lab)
	s := c.session
	c.types(line(`tool AskUserQuestion {"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}`, "text Blue it is."))
	ask := s.asked("ask-user")
	s.send(contract.PermissionResponse{Call: ask.Call, Decision: contract.AllowOnce, Answers: []byte(`{"q1":"Blue"}`)})
	end, _ := wait[contract.ToolCallEnd](s, nil)
	if end.Result == nil || !strings.Contains(string(end.Result.Output), "Blue") {
		t.Errorf("the question ended with %+v", end.Result)
	}
	s.says("Blue it is.")

	c.types(line(`tool EnterPlanMode {}`, `tool ExitPlanMode {"plan":"# One thing"}`, "text Planned."))
	for approved := false; !approved; {
		ask := s.asked("plan") // to begin planning, then about the plan
		s.decide(ask.Call, contract.AllowOnce)
		approved = strings.Contains(string(ask.Args), "One thing")
	}
	s.says("Planned.")

	s.prompt(line(`task "SCRIPT: shell touch sub.txt ;; text Said by the sub-agent."`, "text Sent it off."))
	s.decide(s.asked("bash").Call, contract.AllowOnce)
	wait(s, func(ev contract.Text) bool { return ev.Text == "Said by the sub-agent." })
	wait[contract.SubagentStop](s, nil)
	exists(t, lab, "sub.txt")

	first, err := s.host.Meta(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.free()
	c.enter("/clear")
	wait(s, func(ev contract.Service) bool { return strings.Contains(ev.Text, "was cleared") })
	c.types(line("text After that."))
	s.says("After that.")
	second, err := s.host.Meta(t.Context())
	if err != nil || second.Facts.NativeSession == first.Facts.NativeSession {
		t.Errorf("native session %q after %q, %v", second.Facts.NativeSession, first.Facts.NativeSession, err)
	}

	c.free()
	c.enter("/exit")
	deadline(t, "the end of the session", func() bool {
		select {
		case <-s.host.Done():
			return true
		default:
			return false
		}
	})
	<-s.done
	noneLeft(t, lab)
}
