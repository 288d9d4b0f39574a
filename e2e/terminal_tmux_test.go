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
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	if err := call(ctx); err != nil {
		d.t.Fatalf("%s: %v", what, err)
	}
}

func (d *desk) send(text string) {
	d.t.Helper()
	d.ask("send", func(ctx context.Context) error {
		_, err := d.c.Send(ctx, wire.SendParams{Session: d.id, Text: text})
		return err
	})
}

func (d *desk) decide(call string, decision contract.Decision) {
	d.t.Helper()
	d.ask("decide", func(ctx context.Context) error {
		_, err := d.c.Decide(ctx, wire.DecideParams{Session: d.id, Call: call, Decision: decision})
		return err
	})
}

func (d *desk) control(p wire.ControlParams) {
	d.t.Helper()
	p.Session = d.id
	d.ask("control", func(ctx context.Context) error {
		_, err := d.c.Control(ctx, p)
		return err
	})
}

// attach shows the session on a terminal again, of another size.
func (d *desk) attach() {
	d.t.Helper()
	_ = d.command("kill-server").Run() // it may be closed already
	d.pane = onTerminal(d.t, d.lab(), 110, 30, binary(d.t), "attach", d.id)
}

func (d *desk) lab() *agentlab.Lab { return d.world.lab }

// keyboard is how the person at the desk works with an agent, where agents differ.
type keyboard struct {
	// bullet begins what the agent says, dialog is in its own dialog about a tool.
	bullet, dialog string
	// types types a line and its Enter, allow allows in the dialog, quit quits.
	types       func(line string)
	allow, quit func()
	// fits waits until the agent's screen has this many columns and rows.
	fits func(cols, rows int)
	// processes are the agent's.
	processes func() []int
}

// day is all that a person does at the desk and on the phone with one session, to its
// end; it returns the stream.
func (d *desk) day(k keyboard) []contract.Envelope {
	t, s := d.t, d.s
	t.Helper()
	typed := func(words string) { t.Helper(); k.types(line("text " + words)); s.says(words) }
	sent := func(words string) { t.Helper(); d.send(line("text " + words)); s.says(words) }

	typed("Typed at the desk.")
	sent("Sent from the phone.")
	d.shows(k.bullet + "Sent from the phone.")

	// The phone answers what was typed, the desk what was sent.
	k.types(line("shell touch one.txt", "text The phone allowed it."))
	asked, _ := wait[contract.PermissionRequest](s, nil)
	d.shows(k.dialog)
	d.decide(asked.Call, contract.AllowOnce)
	s.says("The phone allowed it.")
	d.loses(k.dialog)
	d.send(line("shell touch two.txt", "text The desk allowed it."))
	wait[contract.PermissionRequest](s, nil)
	d.shows(k.dialog)
	k.allow()
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
	typed("The desk has it again.")

	d.resize(70, 24)
	k.fits(70, 24)

	// Suspended and going on.
	pids := k.processes()
	for _, pid := range pids {
		signalled(t, pid, syscall.SIGSTOP)
	}
	d.send(line("text After the sleep."))
	for _, pid := range pids {
		signalled(t, pid, syscall.SIGCONT)
	}
	s.says("After the sleep.")

	// Away from the desk and back: by the key, and because the terminal was closed.
	d.keys("C-]", "d")
	if got := d.exit(); got != 0 {
		t.Errorf("detaching: exit status %d", got)
	}
	sent("While nobody was at the desk.")
	d.attach()
	d.shows(k.bullet + "While nobody was at the desk.")
	typed("At the desk once more.")
	d.tmux("kill-server")
	sent("The terminal was closed.")

	// Without its screen and with it.
	d.control(wire.ControlParams{ClientType: contract.ClientPhone, Face: wire.FaceHeadless})
	sent("Without a screen.")
	d.control(wire.ControlParams{ClientType: contract.ClientPhone, Face: wire.FaceTerminal})
	d.attach()
	d.shows(k.bullet + "Without a screen.")
	d.keys("C-]", "t")
	d.loses("holds control")
	k.quit()
	return d.evening()
}

// evening waits for the end of a session that was quit, and checks its stream and that
// nothing is left of it.
func (d *desk) evening() []contract.Envelope {
	t := d.t
	t.Helper()
	d.exit()
	deadline(t, "the end of the session", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		got, err := d.c.Session(ctx, d.id)
		return err == nil && got.State == wire.StateStopped
	})
	d.s.mu.Lock()
	envs := d.s.envs
	d.s.mu.Unlock()
	oneTurnEach(t, envs)
	_ = d.command("kill-server").Run()
	d.host.stop(t)
	noneLeft(t, d.lab())
	return envs
}

// paste pastes a line as a terminal does, and presses Enter when Codex has it.
func (d *desk) paste(line string) {
	d.t.Helper()
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
	d.shows("for shortcuts")
	envs := d.day(keyboard{
		bullet: "• ", dialog: "Would you like to",
		types: d.paste,
		allow: func() { d.keys("y") },
		fits: func(cols, rows int) {
			d.until("a screen of the new size", func(string) bool {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				sc, err := d.c.Terminal(d.id).Screen(ctx)
				return err == nil && sc.Cols == cols && sc.Rows == rows
			})
		},
		processes: func() []int {
			return []int{codexProcess(t, d.lab(), "app-server"), codexProcess(t, d.lab(), "--remote")}
		},
		quit: func() {
			d.until("a screen at rest", codexRests)
			d.paste("/quit")
		},
	})
	if n := strings.Count(said(envs), "\n"); n != 10 {
		t.Errorf("%d texts of the agent, want 10:\n%s", n, said(envs))
	}
}
