package e2e

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/agentlab"
	"github.com/agenthost/agenthost/relay/wire"
)

// claudeProcess is the CLI with its screen in a lab.
func claudeProcess(t testing.TB, lab *agentlab.Lab) int {
	t.Helper()
	return process(t, lab, "--settings", func(name string) bool { return strings.Contains(name, "claude") })
}

// free waits until the CLI's input line is empty and has the cursor.
func (d *desk) free() {
	d.world.t.Helper()
	d.until("a free input line", func(screen string) bool {
		at := strings.Split(d.show("#{cursor_x} #{cursor_y}"), " ")
		return at[0] == "2" && strings.Contains(screen, "\n❯") && !strings.Contains(screen, "Do you want to proceed?")
	})
}

// types pastes a line into the CLI's input line as a terminal does, and presses Enter
// when it is there.
func (d *desk) types(text string) {
	d.world.t.Helper()
	d.free()
	d.tmux("set-buffer", "--", text)
	d.tmux("paste-buffer", "-p", "-t", "lab")
	words := strings.Fields(text)
	d.shows(words[len(words)-1])
	d.keys("Enter")
}

// Claude Code in a shell, as a person has it: `agenthost run claude` on a terminal with
// real keys, and a phone that sees and does the same.
func TestTerminalClaudeAtDesk(t *testing.T) {
	t.Parallel()
	d := atDesk(t, agentlab.New(t), "claude")
	s := d.s
	said1 := func(words string) { t.Helper(); d.types(line("text " + words)); s.says(words) }
	sent := func(words string) { t.Helper(); d.send(line("text " + words)); s.says(words) }

	said1("Typed at the desk.")
	sent("Sent from the phone.")
	d.shows("● Sent from the phone.")

	// The phone answers what was typed, the desk what was sent.
	d.types(line("shell touch one.txt", "text The phone allowed it."))
	asked, _ := wait[contract.PermissionRequest](s, nil)
	d.shows("Do you want to proceed?")
	d.decide(asked.Call, contract.AllowOnce)
	s.says("The phone allowed it.")
	d.loses("Do you want to proceed?")
	d.send(line("shell touch two.txt", "text The desk allowed it."))
	wait[contract.PermissionRequest](s, nil)
	d.shows("Do you want to proceed?")
	n := 0
	d.until("the screen without the dialog", func(screen string) bool {
		if n++; strings.Contains(screen, "Do you want to proceed?") && n%50 == 1 {
			d.keys("Enter") // one that has just opened does not hear the first
		}
		return !strings.Contains(screen, "Do you want to proceed?")
	})
	s.says("The desk allowed it.")
	exists(t, d.lab(), "one.txt")
	exists(t, d.lab(), "two.txt")

	// The phone takes the keyboard: the desk sees that, and takes it back by its key.
	d.control(wire.ControlParams{ClientType: contract.ClientPhone})
	wait[contract.SessionControlChanged](s, nil)
	d.shows("holds control")
	d.keys("n", "o")
	d.keys("C-]", "t")
	wait[contract.SessionControlChanged](s, nil)
	d.loses("holds control")
	said1("The desk has it again.")

	d.resize(70, 24)
	d.shows("\n" + strings.Repeat("─", 70) + "\n")

	// Suspended and going on.
	signalled(t, claudeProcess(t, d.lab()), syscall.SIGSTOP)
	d.send(line("text After the sleep."))
	signalled(t, claudeProcess(t, d.lab()), syscall.SIGCONT)
	s.says("After the sleep.")

	// Away from the desk and back: by the key, and because the terminal was closed.
	d.keys("C-]", "d")
	if got := d.exit(); got != 0 {
		t.Errorf("detaching: exit status %d", got)
	}
	sent("While nobody was at the desk.")
	d.attach()
	d.shows("● While nobody was at the desk.")
	said1("At the desk once more.")
	d.tmux("kill-server")
	sent("The terminal was closed.")

	// Without its screen and with it.
	d.control(wire.ControlParams{ClientType: contract.ClientPhone, Face: wire.FaceHeadless})
	sent("Without a screen.")
	d.control(wire.ControlParams{ClientType: contract.ClientPhone, Face: wire.FaceTerminal})
	d.attach()
	d.shows("● Without a screen.")
	d.keys("C-]", "t")
	d.loses("holds control")
	d.types("/exit")
	d.exit()
	deadline(t, "the end of the session", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		got, err := d.c.Session(ctx, d.id)
		return err == nil && got.State == wire.StateStopped
	})
	s.mu.Lock()
	envs := s.envs
	s.mu.Unlock()
	oneTurnEach(t, envs)
	_ = d.command("kill-server").Run()
	d.host.stop(t)
	noneLeft(t, d.lab())
}
