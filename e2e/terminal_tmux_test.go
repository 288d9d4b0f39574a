package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/agentlab"
	"github.com/agenthost/agenthost/relay/wire"
)

// desk is a person at a real terminal, a daemon, and the same person's phone.
type desk struct {
	*world
	*pane
	s  *session
	id string
}

// atDesk starts a daemon and `agenthost run AGENT` on a terminal.
func atDesk(t *testing.T, lab *agentlab.Lab, agent string, flags ...string) *desk {
	t.Helper()
	w := &world{t: t, lab: lab}
	config := filepath.Join(lab.Home, ".config", "agenthost", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, "agents:\n  %s:\n    passEnv: ['AGENTLAB_*', 'SCRIPTMODEL_*']\n", agent), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var address string
	var err error
	w.host, address = background(t, lab, "agenthost", "serve")
	if w.c, err = client.Dial(ctx, address, client.Options{ClientType: contract.ClientPhone}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.c.Close)
	d := &desk{world: w, pane: onTerminal(t, lab, 100, 40, append([]string{binary(t), "run", agent}, flags...)...)}
	deadline(t, "the session at the daemon", func() bool {
		list, err := w.c.Sessions(ctx, wire.SessionsParams{})
		if err != nil || len(list) != 1 {
			return false
		}
		d.id = list[0].ID
		return true
	})
	d.s = w.watch(d.id)
	return d
}

// ask calls the daemon for the phone.
func (d *desk) ask(what string, call func(ctx context.Context) error) {
	d.world.t.Helper()
	ctx, cancel := context.WithTimeout(d.world.t.Context(), patience)
	defer cancel()
	if err := call(ctx); err != nil {
		d.world.t.Fatalf("%s: %v", what, err)
	}
}

func (d *desk) send(text string) {
	d.world.t.Helper()
	d.ask("send", func(ctx context.Context) error {
		_, err := d.c.Send(ctx, wire.SendParams{Session: d.id, Text: text})
		return err
	})
}

func (d *desk) decide(call string, decision contract.Decision) {
	d.world.t.Helper()
	d.ask("decide", func(ctx context.Context) error {
		_, err := d.c.Decide(ctx, wire.DecideParams{Session: d.id, Call: call, Decision: decision})
		return err
	})
}

func (d *desk) control(p wire.ControlParams) {
	d.world.t.Helper()
	p.Session = d.id
	d.ask("control", func(ctx context.Context) error {
		_, err := d.c.Control(ctx, p)
		return err
	})
}

// attach shows the session on a terminal again, of another size.
func (d *desk) attach() {
	d.world.t.Helper()
	_ = d.command("kill-server").Run() // it may be closed already
	d.pane = onTerminal(d.world.t, d.lab(), 110, 30, binary(d.world.t), "attach", d.id)
}

func (d *desk) lab() *agentlab.Lab { return d.world.lab }

// paste pastes a line as a terminal does, and presses Enter when Codex has it.
func (d *desk) paste(line string) {
	d.world.t.Helper()
	d.shows(codexEmpty)
	d.tmux("set-buffer", "--", line)
	d.tmux("paste-buffer", "-p", "-t", "lab")
	d.until("the line "+line, pasted(line))
	d.keys("Enter")
}

// Codex in a shell, as a person has it: `agenthost run codex` on a terminal with real
// keys, and a phone that sees and does the same.
func TestTerminalCodexAtDesk(t *testing.T) {
	t.Parallel()
	d := atDesk(t, agentlab.New(t), "codex")
	s := d.s
	d.shows("for shortcuts")

	d.paste(line("text Typed at the desk."))
	s.says("Typed at the desk.")
	d.send(line("text Sent from the phone."))
	s.says("Sent from the phone.")
	d.shows("• Sent from the phone.")

	// The phone answers what was typed, the desk what was sent.
	d.paste(line("shell touch one.txt", "text The phone allowed it."))
	asked, _ := wait[contract.PermissionRequest](s, nil)
	d.shows("Would you like to")
	d.decide(asked.Call, contract.AllowOnce)
	s.says("The phone allowed it.")
	d.loses("Would you like to")
	d.send(line("shell touch two.txt", "text The desk allowed it."))
	wait[contract.PermissionRequest](s, nil)
	d.shows("Would you like to")
	d.keys("y")
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
	d.paste(line("text The desk has it again."))
	s.says("The desk has it again.")

	d.resize(70, 24)
	d.until("a screen of 70 columns", func(string) bool {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		sc, err := d.c.Terminal(d.id).Screen(ctx)
		return err == nil && sc.Cols == 70 && sc.Rows == 24
	})

	// Suspended and going on.
	for _, word := range []string{"app-server", "--remote"} {
		signalled(t, codexProcess(t, d.lab(), word), syscall.SIGSTOP)
	}
	d.send(line("text After the sleep."))
	for _, word := range []string{"app-server", "--remote"} {
		signalled(t, codexProcess(t, d.lab(), word), syscall.SIGCONT)
	}
	s.says("After the sleep.")

	// Away from the desk and back: by the key, and because the terminal was closed.
	d.keys("C-]", "d")
	if got := d.exit(); got != 0 {
		t.Errorf("detaching: exit status %d", got)
	}
	d.send(line("text While nobody was at the desk."))
	s.says("While nobody was at the desk.")
	d.attach()
	d.shows("• While nobody was at the desk.")
	d.paste(line("text At the desk once more."))
	s.says("At the desk once more.")
	d.tmux("kill-server")
	d.send(line("text The terminal was closed."))
	s.says("The terminal was closed.")

	// Without its screen and with it.
	d.control(wire.ControlParams{ClientType: contract.ClientPhone, Face: wire.FaceHeadless})
	d.send(line("text Without a screen."))
	s.says("Without a screen.")
	d.control(wire.ControlParams{ClientType: contract.ClientPhone, Face: wire.FaceTerminal})
	d.attach()
	d.shows("• Without a screen.")
	d.keys("C-]", "t")
	d.loses("holds control")
	d.until("a screen at rest", func(s string) bool {
		return strings.Contains(s, codexEmpty) && !strings.Contains(s, "esc to interrupt")
	})
	d.paste("/quit")
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
	if n := strings.Count(said(envs), "\n"); n != 10 {
		t.Errorf("%d texts of the agent, want 10:\n%s", n, said(envs))
	}
	_ = d.command("kill-server").Run()
	d.host.stop(t)
	noneLeft(t, d.lab())
}
