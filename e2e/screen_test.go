package e2e

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/host/screen"
	"github.com/agenthost/agenthost/internal/agentlab"
	"github.com/agenthost/agenthost/permission"
)

// What the tests of the agents' own screens share.

// display is a screen that is looked at.
type display struct {
	t testing.TB
	// screen is what is on it now.
	screen func() string
}

// until waits until what is on the screen is ok.
func (d display) until(what string, ok func(screen string) bool) {
	d.t.Helper()
	shown := ""
	defer func() {
		if d.t.Failed() {
			d.t.Logf("the screen was\n%s", shown)
		}
	}()
	deadline(d.t, what, func() bool {
		shown = d.screen()
		return ok(shown)
	})
}

// shows waits until the screen has a text.
func (d display) shows(text string) {
	d.t.Helper()
	d.until("the screen with "+strconv.Quote(text), func(screen string) bool { return strings.Contains(screen, text) })
}

// loses waits until the screen does not have a text.
func (d display) loses(text string) {
	d.t.Helper()
	d.until("the screen without "+strconv.Quote(text), func(screen string) bool { return !strings.Contains(screen, text) })
}

// hub is the screen of a session in this process, and the keys before it.
type hub struct {
	display
	*screen.Hub
}

func hubOf(s *session) hub {
	h := s.host.Screen()
	return hub{display{s.t, func() string { return strings.Join(h.Snapshot().Lines, "\n") }}, h}
}

func (h hub) input(p string) {
	h.t.Helper()
	if err := h.Input([]byte(p)); err != nil {
		h.t.Fatal(err)
	}
}

func (h hub) enter(line string) {
	h.t.Helper()
	h.input(line)
	h.shows(lastWord(line))
	h.input("\r")
}

func lastWord(line string) string {
	words := strings.Fields(line)
	return words[len(words)-1]
}

func (h hub) keys(names ...string) {
	h.t.Helper()
	bytes := map[string]string{"Enter": "\r", "Escape": "\x1b", "BTab": "\x1b[Z", "C-c": "\x03"}
	for _, name := range names {
		p, ok := bytes[name]
		if !ok {
			p = name
		}
		h.input(p)
	}
}

// onScreen is a session of an agent with its own screen in this process.
type onScreen struct {
	*session
	hub
}

func hostedOnScreen(t *testing.T, lab *agentlab.Lab, cfg host.Config, cols, rows int) onScreen {
	t.Helper()
	cfg.Face, cfg.Cols, cfg.Rows = adapters.FaceTerminal, cols, rows
	cfg.Mediator = permission.New(permission.Options{})
	s := hosted(t, lab, cfg)
	return onScreen{s, hubOf(s)}
}

// allowedAtScreen checks that the person at the screen allowed what was asked.
func (c onScreen) allowedAtScreen(ask contract.PermissionRequest) {
	c.t.Helper()
	got, _ := wait[contract.PermissionResponse](c.session, nil)
	if got.Call != ask.Call || got.Decision != contract.AllowOnce || got.By == nil || got.By.Resolver != contract.ByClient {
		c.t.Errorf("answered at the screen: %+v by %+v", got, got.By)
	}
}

// answeredTooLate checks that an ask that has its answer takes none from elsewhere.
func (c onScreen) answeredTooLate(ask contract.PermissionRequest) {
	c.t.Helper()
	late := contract.Envelope{Role: contract.RoleUser, Event: contract.PermissionResponse{Call: ask.Call, Decision: contract.RejectOnce}}
	if err := c.host.Submit(c.t.Context(), host.Input{Envelope: late}); err == nil {
		c.t.Error("a late answer counts")
	}
}

// refusedAtScreen checks that the person at the screen refused what was asked, which
// stops the turn.
func (c onScreen) refusedAtScreen() {
	c.t.Helper()
	if got, _ := wait[contract.PermissionResponse](c.session, nil); got.Decision != contract.RejectOnce {
		c.t.Errorf("refused at the screen: %+v", got)
	}
	wait[contract.Abort](c.session, nil)
	c.cancelled("Esc in the dialog")
}

// cancelled waits for the end of a turn that was stopped.
func (c onScreen) cancelled(what string) {
	c.t.Helper()
	if end := c.turnEnd(); end.Status != contract.TurnCancelled {
		c.t.Errorf("%s ended the turn %+v %+v", what, end, end.Error)
	}
}

// setFace hands the session over.
func (c onScreen) setFace(face adapters.Face) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := c.host.SetFace(ctx, face, false); err != nil {
		c.t.Fatalf("SetFace(%q) = %v", face, err)
	}
}

// line is a script on one line, as it is typed.
func line(steps ...string) string { return "SCRIPT: " + strings.Join(steps, " ;; ") }

// process is the lab's process that has an argument and whose program is right, once it
// is there.
func process(t testing.TB, lab *agentlab.Lab, arg string, program func(name string) bool) int {
	t.Helper()
	pid := 0
	deadline(t, "a process with "+arg, func() bool {
		all, err := lab.Leftovers()
		i := slices.IndexFunc(all, func(p agentlab.Process) bool { return slices.Contains(p.Args, arg) && program(p.Args[0]) })
		if err != nil || i < 0 {
			return false
		}
		pid = all[i].PID
		return true
	})
	return pid
}

func signalled(t testing.TB, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}

// exists checks that an agent made a file.
func exists(t testing.TB, lab *agentlab.Lab, name string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(lab.Dir, name)); err != nil {
		t.Error(err)
	}
}

func missing(t testing.TB, lab *agentlab.Lab, name string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(lab.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is there, %v", name, err)
	}
}

// oneTurnEach checks that each prompt of a stream stands in it once, and that one turn
// took it up.
func oneTurnEach(t testing.TB, envs []contract.Envelope) {
	t.Helper()
	texts := map[string]int{}
	prompts, starts, ends := 0, 0, 0
	for _, e := range envs {
		switch ev := e.Event.(type) {
		case contract.Text:
			if e.Role == contract.RoleUser {
				texts[ev.Text]++
				if !ev.Steer {
					prompts++
				}
			}
		case contract.TurnStart:
			starts++
		case contract.TurnEnd:
			ends++
		}
	}
	for text, n := range texts {
		if n != 1 {
			t.Errorf("%d times in the stream: %.80s", n, text)
		}
	}
	if starts != prompts || ends != starts {
		t.Errorf("%d prompts, %d turns begun, %d ended:\n%s", prompts, starts, ends, render(envs))
	}
}
