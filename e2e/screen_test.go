package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host/screen"
	"github.com/agenthost/agenthost/internal/agentlab"
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

// line is a script on one line, as it is typed.
func line(steps ...string) string { return "SCRIPT: " + strings.Join(steps, " ;; ") }

// process is the lab's process whose arguments hold word.
func process(t testing.TB, lab *agentlab.Lab, word string) int {
	t.Helper()
	pid := 0
	deadline(t, "a process with "+word, func() bool {
		all, err := lab.Leftovers()
		i := slices.IndexFunc(all, func(p agentlab.Process) bool {
			return slices.Contains(p.Args, word) && strings.HasSuffix(p.Args[0], "codex")
		})
		if err != nil || i < 0 {
			return false
		}
		pid = all[i].PID
		return true
	})
	return pid
}

// exists checks that an agent made a file.
func exists(t testing.TB, lab *agentlab.Lab, name string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(lab.Dir, name)); err != nil {
		t.Error(err)
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
