package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

// control takes control for the phone. Handing Gemini over waits for another minute.
func (d *desk) control(p wire.ControlParams) {
	d.t.Helper()
	p.Session = d.id
	ctx, cancel := context.WithTimeout(d.t.Context(), 2*patience)
	defer cancel()
	if _, err := d.c.Control(ctx, p); err != nil {
		d.t.Fatalf("control: %v", err)
	}
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
	// works and rests wait until the screen is that of an agent that does so.
	works, rests func()
	// fits waits until the agent's screen has this many columns and rows.
	fits func(cols, rows int)
	// processes are the agent's.
	processes func() []int
	// steered waits until a steer is on the screen; nil where one is refused.
	steered func(text string)
}

// day is all that a person does at the desk and on the phone with one session, to its
// end; it returns the stream.
func (d *desk) day(k keyboard) []contract.Envelope {
	d.t.Helper()
	d.typed(k, "Typed at the desk.")
	d.sent("Sent from the phone.")
	d.shows(k.bullet + "Sent from the phone.")
	d.asks(k)
	d.keyboardMoves(k)
	d.resize(70, 24)
	k.fits(70, 24)
	d.steersAndStops(k)
	d.sleeps(k)
	d.leaves(k)
	d.crashes(k)
	d.facesChange(k)
	k.quit()
	return d.evening()
}

// typed has a turn of what is typed at the desk, and sent one of what the phone sends.
func (d *desk) typed(k keyboard, words string) {
	d.t.Helper()
	k.types(line("text " + words))
	d.s.says(words)
}

func (d *desk) sent(words string) {
	d.t.Helper()
	d.send(line("text " + words))
	d.s.says(words)
}

// asks has the phone answer what was typed, and the desk what was sent.
func (d *desk) asks(k keyboard) {
	t, s := d.t, d.s
	t.Helper()
	k.types(line("shell touch one.txt", "text The phone allowed it."))
	asked, _ := wait[contract.PermissionRequest](s, nil)
	d.shows(k.dialog)
	d.decide(asked.Call, contract.AllowOnce)
	s.says("The phone allowed it.")
	d.loses(k.dialog)
	d.send(line("shell touch two.txt", "text The desk allowed it."))
	asked, _ = wait[contract.PermissionRequest](s, nil)
	d.shows(k.dialog)
	if open := d.open(); len(open) != 1 || open[0].Call != asked.Call {
		t.Errorf("the phone is asked %+v, want %s", open, asked.Call)
	}
	k.allow()
	got, _ := wait[contract.PermissionResponse](s, nil)
	if got.Call != asked.Call || got.Decision != contract.AllowOnce || got.By == nil || got.By.Resolver != contract.ByClient {
		t.Errorf("answered at the desk: %+v by %+v", got, got.By)
	}
	if open := d.open(); len(open) != 0 {
		t.Errorf("the phone is still asked: %+v", open)
	}
	if _, err := d.c.Decide(t.Context(), wire.DecideParams{Session: d.id, Call: asked.Call, Decision: contract.RejectOnce}); client.Code(err) != wire.CodeResolved {
		t.Errorf("an answer that came too late: %v", err)
	}
	s.says("The desk allowed it.")
	exists(t, d.lab(), "one.txt")
	exists(t, d.lab(), "two.txt")
}

// open are the asks that the phone has.
func (d *desk) open() (list []wire.Ask) {
	d.t.Helper()
	d.ask("asks", func(ctx context.Context) (err error) {
		list, err = d.c.Asks(ctx, d.id)
		return err
	})
	return list
}

// keyboardMoves has the phone take the keyboard: the desk sees that, and takes it back by
// its key.
func (d *desk) keyboardMoves(k keyboard) {
	d.t.Helper()
	d.keyboardMovesTo(contract.ClientPhone)
	d.keys("n", "o")
	d.keys("C-]", "t")
	d.holds(contract.ClientCLI)
	d.loses("holds control")
	d.typed(k, "The desk has it again.")
}

// keyboardMovesTo has another one take the keyboard, which the desk sees.
func (d *desk) keyboardMovesTo(who contract.ClientType) {
	d.t.Helper()
	d.control(wire.ControlParams{ClientType: who})
	d.holds(who)
	d.shows("holds control")
}

// holds waits for the envelope of a change of control.
func (d *desk) holds(want contract.ClientType) {
	d.t.Helper()
	if got, _ := wait[contract.SessionControlChanged](d.s, nil); got.ClientType != want {
		d.t.Errorf("control went to %q, want %q", got.ClientType, want)
	}
}

// steersAndStops steers a turn from the phone, and stops one on either side.
func (d *desk) steersAndStops(k keyboard) {
	t, s := d.t, d.s
	t.Helper()
	k.types(line("hold steer ++ shell touch three.txt", "text Behind the steer."))
	wait[contract.TurnStart](s, nil)
	steer := func(ctx context.Context) error {
		_, err := d.c.Send(ctx, wire.SendParams{Session: d.id, Text: "And the docs", Admission: wire.AdmitSteer})
		return err
	}
	if k.steered != nil {
		d.ask("steer", steer)
		k.steered("And the docs")
	} else if err := steer(t.Context()); client.Code(err) != wire.CodeUnsupported {
		t.Errorf("a steer: %v, want it refused as %s", err, wire.CodeUnsupported)
	}
	d.lab().Model.Release("steer")
	asked, _ := wait[contract.PermissionRequest](s, nil)
	d.decide(asked.Call, contract.AllowOnce)
	s.says("Behind the steer.")

	stopped := func(what string) {
		t.Helper()
		if end := s.turnEnd(); end.Status != contract.TurnCancelled {
			t.Errorf("%s ended the turn %+v %+v", what, end, end.Error)
		}
		k.rests()
	}
	d.send(line("text The phone will stop it ++ hang"))
	wait[contract.TurnStart](s, nil)
	k.works()
	d.ask("abort", func(ctx context.Context) error {
		_, err := d.c.Abort(ctx, wire.AbortParams{Session: d.id})
		return err
	})
	stopped("the phone")
	k.types(line("text The desk will stop it ++ hang"))
	wait[contract.TurnStart](s, nil)
	k.works()
	d.keys("Escape")
	stopped("Esc")
}

// sleeps closes the laptop's lid in a turn, which suspends everything, and stops the
// agent alone while a prompt is sent.
func (d *desk) sleeps(k keyboard) {
	d.t.Helper()
	k.types(line("hold lid ++ text Said as the lid opened."))
	wait[contract.TurnStart](d.s, nil)
	wake := suspended(d.t, d.everything())
	d.lab().Model.Release("lid")
	wake()
	d.s.says("Said as the lid opened.")

	wake = suspended(d.t, k.processes())
	d.send(line("text After the sleep."))
	wake()
	d.s.says("After the sleep.")
	d.shows(k.bullet + "After the sleep.")
}

// sized waits until the session's screen has a size.
func (d *desk) sized(cols, rows int) {
	d.t.Helper()
	d.until("a screen of the new size", func(string) bool {
		ctx, cancel := context.WithTimeout(d.t.Context(), patience)
		defer cancel()
		sc, err := d.c.Terminal(d.id).Screen(ctx)
		return err == nil && sc.Cols == cols && sc.Rows == rows
	})
}

// everything is each process of the lab, the terminal's before what runs on it: it
// wakes what stops.
func (d *desk) everything() (pids []int) {
	d.t.Helper()
	all, err := d.lab().Leftovers()
	if err != nil {
		d.t.Fatal(err)
	}
	for _, p := range all {
		if strings.HasPrefix(filepath.Base(p.Args[0]), "tmux") {
			pids = slices.Insert(pids, 0, p.PID)
		} else {
			pids = append(pids, p.PID)
		}
	}
	if len(pids) < 4 { // the terminal, the daemon, what shows the screen, the agent
		d.t.Errorf("of the lab there is only %v", all)
	}
	return pids
}

// suspended stops processes until each has stopped; wake has them go on, the last first.
func suspended(t testing.TB, pids []int) (wake func()) {
	t.Helper()
	wake = func() {
		for _, pid := range slices.Backward(pids) {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
	t.Cleanup(wake) // else nothing could end them
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil && !errors.Is(err, syscall.ESRCH) { // a hook may have ended
			t.Fatal(err)
		}
		deadline(t, "a stopped process", func() bool {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil {
				return true // it ended
			}
			rest := string(stat[bytes.LastIndexByte(stat, ')')+1:])
			return strings.HasPrefix(rest, " T") || strings.HasPrefix(rest, " Z")
		})
	}
	return wake
}

// leaves leaves the desk and comes back: by the key, and because the terminal was closed
// in a turn.
func (d *desk) leaves(k keyboard) {
	d.t.Helper()
	d.keys("C-]", "d")
	if got := d.exit(); got != 0 {
		d.t.Errorf("detaching: exit status %d", got)
	}
	d.sent("While nobody was at the desk.")
	d.attach()
	d.shows(k.bullet + "While nobody was at the desk.")
	d.typed(k, "At the desk once more.")
	k.types(line("hold closed ++ text The terminal was closed."))
	wait[contract.TurnStart](d.s, nil)
	d.tmux("kill-server")
	d.lab().Model.Release("closed")
	d.s.says("The terminal was closed.")
	d.attach()
	d.shows(k.bullet + "The terminal was closed.")
}

// crashes kills the agent in a turn: that fails, and the next prompt starts it again.
func (d *desk) crashes(k keyboard) {
	d.t.Helper()
	k.types(line("text It will crash ++ hang"))
	wait[contract.TurnStart](d.s, nil)
	k.works()
	for _, pid := range k.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL) // the end of one may be that of the other
	}
	d.s.fails(contract.CodeAgentExited)
	d.sent("Alive after that.")
	d.shows(k.bullet + "Alive after that.")
	d.typed(k, "Typed after that.")
}

// facesChange has the phone take the screen away, and bring it back.
func (d *desk) facesChange(k keyboard) {
	d.t.Helper()
	d.control(wire.ControlParams{ClientType: contract.ClientPhone, Face: wire.FaceHeadless})
	d.sent("Without a screen.")
	d.control(wire.ControlParams{ClientType: contract.ClientPhone, Face: wire.FaceTerminal})
	d.shows(k.bullet + "Without a screen.")
	d.keys("C-]", "t")
	d.loses("holds control")
	d.typed(k, "With a screen again.")
	knows(d.t, d.lab(), map[string]bool{
		"Typed at the desk.": true, "The desk allowed it.": true, "Said as the lid opened.": true, "Alive after that.": true, "Without a screen.": true,
	})
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
	texts := map[string]int{}
	for _, e := range envs {
		if ev, ok := e.Event.(contract.Text); ok && e.Role == contract.RoleAgent {
			if texts[ev.Text]++; texts[ev.Text] > 1 {
				t.Errorf("the agent said it again: %q", ev.Text)
			}
		}
	}
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
	d.day(keyboard{
		bullet: "• ", dialog: "Would you like to",
		types:   d.paste,
		allow:   func() { d.keys("y") },
		works:   func() { d.shows("esc to interrupt") },
		rests:   func() { d.until("a screen at rest", codexRests) },
		steered: func(text string) { d.shows(text) },
		fits:    d.sized,
		processes: func() []int {
			return []int{codexProcess(t, d.lab(), "app-server"), codexProcess(t, d.lab(), "--remote")}
		},
		quit: func() {
			d.until("a screen at rest", codexRests)
			d.paste("/quit")
		},
	})
}
