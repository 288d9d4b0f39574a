package e2e

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/internal/agentlab"
)

// pane is a program on a real terminal, with real keys: one in a tmux of the lab's own.
type pane struct {
	display
	lab    *agentlab.Lab
	socket string
}

// onTerminal starts a program on a terminal of the given size.
func onTerminal(t testing.TB, lab *agentlab.Lab, cols, rows int, argv ...string) *pane {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed: there is no terminal to put the agent on")
	}
	// A tmux that ends keeps its socket for a moment: each has its own.
	p := &pane{lab: lab, socket: filepath.Join(filepath.Dir(lab.Home), "tmux-"+rand.Text()[:6])}
	p.display = display{t, func() string {
		t.Helper()
		return p.tmux("capture-pane", "-p", "-t", "lab")
	}}
	t.Cleanup(func() { _ = p.command("kill-server").Run() })
	p.tmux(append([]string{
		"start-server", ";", "set", "-g", "remain-on-exit", "on", ";", "set", "-g", "default-terminal", "xterm-256color", ";",
		"set", "-g", "history-limit", "5000", ";", "set", "-s", "escape-time", "0", ";",
		"new-session", "-d", "-s", "lab", "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows), "-c", lab.Dir, "--",
	}, argv...)...)
	return p
}

func (p *pane) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", p.socket, "-f", os.DevNull, "-u"}, args...)...)
	cmd.Env = environ(p.lab)
	return cmd
}

// tmux runs a command of tmux that must succeed, and returns what it prints.
func (p *pane) tmux(args ...string) string {
	p.t.Helper()
	out, err := p.command(args...).CombinedOutput()
	if err != nil {
		p.t.Fatalf("tmux %.200q: %v\n%s", args, err, out)
	}
	return string(out)
}

// keys presses keys, by tmux's names: Enter, Escape, BTab, C-c.
func (p *pane) keys(names ...string) {
	p.t.Helper()
	p.tmux(append([]string{"send-keys", "-t", "lab"}, names...)...)
}

// typed types a text, and waits until its end is on the screen.
func (p *pane) typed(text string) {
	p.t.Helper()
	p.tmux("send-keys", "-t", "lab", "-l", "--", text)
	p.shows(lastWord(text))
}

// enter types a line and its Enter.
func (p *pane) enter(text string) {
	p.t.Helper()
	p.typed(text)
	p.keys("Enter")
}

func (p *pane) resize(cols, rows int) {
	p.t.Helper()
	p.tmux("resize-window", "-t", "lab", "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows))
}

// show is a format of tmux's.
func (p *pane) show(format string) string {
	p.t.Helper()
	return strings.TrimSpace(p.tmux("display-message", "-p", "-t", "lab", format))
}

// pid is the program's.
func (p *pane) pid() int {
	p.t.Helper()
	n, err := strconv.Atoi(p.show("#{pane_pid}"))
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// exit waits for the program's end and returns its status, -1 when a signal ended it.
// tmux now and then misses that a program ended whose terminal it saw closed, and leaves
// it a zombie: then the kernel is asked.
func (p *pane) exit() int {
	p.t.Helper()
	pid, status := p.pid(), ""
	p.until("the program's end", func(string) bool {
		if p.show("#{pane_dead_status}#{pane_dead_signal}") != "" {
			status = p.show("#{pane_dead_status}")
			return true
		}
		var ended bool
		status, ended = zombie(pid)
		return ended
	})
	n, err := strconv.Atoi(status)
	if err != nil {
		return -1
	}
	return n
}

// zombie is the exit status of a process that ended and that nobody waited for, empty
// when a signal ended it; ended is false for one that is not that.
func zombie(pid int) (status string, ended bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) == 0 || fields[0] != "Z" {
		return "", false
	}
	n, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil || n&0x7f != 0 {
		return "", true
	}
	return strconv.Itoa(n >> 8), true
}

// The terminal of these tests is one: keys arrive, the size is told, the end is seen.
func TestPane(t *testing.T) {
	p := onTerminal(t, agentlab.New(t), 60, 10, "sh", "-c", `stty size; read x; echo "got $x"; stty size; read y; clear; read z; exit 3`)
	p.shows("10 60")
	if p.pid() <= 0 {
		t.Error("no process")
	}
	p.resize(70, 12)
	p.enter("one two")
	p.shows("got one two")
	p.shows("12 70")
	p.keys("Enter")
	p.loses("got one two")
	p.keys("Enter")
	if got := p.exit(); got != 3 {
		t.Errorf("exit = %d, want 3", got)
	}
}
