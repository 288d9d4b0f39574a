//go:build linux

package main

import (
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/creack/pty"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host/daemon"
	"github.com/agenthost/agenthost/relay/wire"
)

// desk is a person's account: directories of its own for a test.
type desk struct {
	t   *testing.T
	env []string
	dir string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	// A short path: sockets lie in it.
	dir, err := os.MkdirTemp("", "desk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &desk{t: t, dir: dir, env: []string{
		"HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state", "XDG_CONFIG_HOME=" + dir + "/config", "PATH=" + os.Getenv("PATH"),
		"TERM=xterm-256color", "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0",
	}}
}

// command is this program as agenthost.
func (d *desk) command(args ...string) *exec.Cmd {
	return &exec.Cmd{Path: os.Args[0], Args: append([]string{"agenthost"}, args...), Env: d.env, Dir: d.dir}
}

// run runs it without a terminal.
func (d *desk) run(args ...string) (out string, code int) {
	d.t.Helper()
	cmd := d.command(args...)
	data, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	return string(data), cmd.ProcessState.ExitCode()
}

// serve starts the daemon.
func (d *desk) serve() *exec.Cmd {
	d.t.Helper()
	cmd := d.command("serve")
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	d.until("a daemon", func() bool { _, err := daemon.Find(d.dir + "/state/agenthost"); return err == nil && d.dial() != nil })
	return cmd
}

// dial connects as a phone would; nil when it cannot.
func (d *desk) dial() *client.Client {
	in, err := daemon.Find(d.dir + "/state/agenthost")
	if err != nil || in.Socket == "" {
		return nil
	}
	c, err := client.Dial(d.t.Context(), "unix://"+in.Socket, client.Options{ClientType: contract.ClientPhone})
	if err != nil {
		return nil
	}
	d.t.Cleanup(c.Close)
	return c
}

func (d *desk) until(what string, is func() bool) {
	d.t.Helper()
	for deadline := time.Now().Add(patience); !is(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("not in %v: %s", patience, what)
		}
	}
}

// seat is a program on a terminal.
type seat struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	before syscall.Termios
	read   chan struct{} // closed when the terminal is gone

	mu      sync.Mutex
	shown   string        // guarded by mu
	at      int           // what was waited for before lies before it; guarded by mu
	changed chan struct{} // guarded by mu
}

// sit starts agenthost on a terminal.
func (d *desk) sit(cols, rows int, args ...string) *seat {
	d.t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		d.t.Fatal(err)
	}
	s := &seat{t: d.t, master: master, cmd: d.command(args...), read: make(chan struct{}), changed: make(chan struct{})}
	s.size(cols, rows)
	s.before = s.termios()
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go s.look()
	d.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		_ = slave.Close()
		_ = master.Close()
		<-s.read
	})
	return s
}

func (s *seat) look() {
	defer close(s.read)
	buf := make([]byte, 64<<10)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.shown += string(buf[:n])
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *seat) size(cols, rows int) {
	s.t.Helper()
	if err := pty.Setsize(s.master, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *seat) termios() (got syscall.Termios) {
	s.t.Helper()
	if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, s.master.Fd(), syscall.TCGETS, uintptr(unsafe.Pointer(&got))); e != 0 {
		s.t.Fatal(e)
	}
	return got
}

func (s *seat) press(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.master, keys); err != nil {
		s.t.Fatal(err)
	}
}

// sees waits until a text is written, behind what was waited for before.
func (s *seat) sees(text string) {
	s.t.Helper()
	late := time.After(patience)
	for {
		s.mu.Lock()
		i, changed, shown := strings.Index(s.shown[s.at:], text), s.changed, s.shown[s.at:]
		if i >= 0 {
			s.at += i + len(text)
		}
		s.mu.Unlock()
		if i >= 0 {
			return
		}
		select {
		case <-changed:
		case <-late:
			s.t.Fatalf("not in %v: %q, but %q", patience, text, shown)
		}
	}
}

// ends waits for the program's end, and checks that the terminal is as it was.
func (s *seat) ends(codes ...int) {
	s.t.Helper()
	over := make(chan error, 1)
	go func() { over <- s.cmd.Wait() }()
	select {
	case <-over:
	case <-time.After(patience):
		s.t.Fatalf("it does not end; it wrote %q", s.shown)
	}
	if got := s.cmd.ProcessState.ExitCode(); !slices.Contains(codes, got) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.t.Errorf("exit code %d, want %d; it wrote %q", got, codes, s.shown)
	}
	if s.termios() != s.before {
		s.t.Error("the terminal's settings are not as they were")
	}
}

// program is what stands for an agent: it says its process and the size, repeats lines
// and ends with the status it is told.
const program = `printf '\033[?2004hpid %s\n' $$; while read -r line; do case $line in size) echo "size $(stty size)";; exit*) exit ${line#exit };; *) echo "got $line";; esac; done`

func runProgram(more ...string) []string {
	return append(append([]string{"run", "pty"}, more...), "--", "sh", "-c", program)
}

// In this process: keys, size, the end of the program and its end by a signal.
func TestScreenHere(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.sit(80, 24, runProgram("--local")...)
	s.sees("pid ")
	s.press("hello\r")
	s.sees("got hello")
	s.size(100, 30)
	s.press("size\r")
	for !s.saw("size 30 100") {
		s.press("size\r") // the first may have been faster than the signal
		s.sees("size ")
	}
	s.press("\x1dd")
	s.sees("no daemon keeps this session")
	s.press("exit 0\r")
	s.ends(exitOK)
	s.sees("\x1b[?2004l")

	s = d.sit(80, 24, runProgram("--local")...)
	s.sees("pid ")
	s.press("exit 7\r")
	s.ends(exitFailed, exitStart) // it may have been too soon to say that it had started
	s.sees("agenthost: ")

	s = d.sit(80, 24, runProgram("--local")...)
	s.sees("pid ")
	s.press("\x1dq")
	s.sees("once more")
	s.press("\x1dq")
	s.ends(exitOK)
}

// saw reports whether a text was written.
func (s *seat) saw(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Contains(s.shown, text)
}

// An agent that is killed, and a terminal that is closed, leave nothing behind.
func TestScreenEnds(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	pid := func(s *seat) int {
		s.sees("pid ")
		s.sees("\n")
		s.mu.Lock()
		defer s.mu.Unlock()
		var n int
		_, text, _ := strings.Cut(s.shown, "pid ")
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	s := d.sit(80, 24, runProgram("--local")...)
	if err := syscall.Kill(pid(s), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.ends(exitFailed, exitStart)
	s.sees("\x1b[?2004l")

	s = d.sit(80, 24, runProgram("--local")...)
	child := pid(s)
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	s.ends(exitSignal + int(syscall.SIGTERM))
	d.until("the end of the program", func() bool { return syscall.Kill(child, 0) != nil })

	s = d.sit(80, 24, runProgram("--local")...)
	child = pid(s)
	_ = s.cmd.Process.Signal(syscall.SIGHUP) // as the kernel does when the terminal is closed
	s.ends(exitSignal + int(syscall.SIGHUP))
	d.until("the end of the program", func() bool { return syscall.Kill(child, 0) != nil })
}

// By a daemon: left, gone back to, shown to several, locked and taken back; every change
// of control is an envelope.
func TestScreenByDaemon(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.serve()
	phone := d.dial()
	s := d.sit(80, 24, runProgram()...)
	s.sees("pid ")
	s.press("one\r")
	s.sees("got one")
	session, err := phone.Session(t.Context(), "last")
	if err != nil || session.Face != wire.FaceTerminal || !session.Screen {
		t.Fatalf("Session = %+v, %v", session, err)
	}
	if out, code := d.run("screen", "last"); code != exitOK || !strings.Contains(out, "got one") {
		t.Errorf("screen = %d %s", code, out)
	}
	if out, code := d.run("type", "last", "two", "--enter"); code != exitOK {
		t.Errorf("type = %d %s", code, out) // the same person
	}
	s.sees("got two")

	// Somebody else takes the keyboard, types, and is watched.
	if err := phone.Terminal(session.ID).Input(t.Context(), []byte("x")); client.Code(err) != wire.CodeControl || !strings.Contains(err.Error(), "agenthost control "+session.ID+" takes it") {
		t.Errorf("typing without control = %v", err)
	}
	if _, err := phone.Control(t.Context(), wire.ControlParams{Session: session.ID}); err != nil {
		t.Fatal(err)
	}
	s.sees("a phone on the host holds control - ctrl-] t takes it")
	s.press("lost\r")
	if out, code := d.run("type", "last", "no"); code != exitFailed || !strings.Contains(out, "control is held by phone local") {
		t.Errorf("type without control = %d %s", code, out)
	}
	if err := phone.Terminal(session.ID).Input(t.Context(), []byte("three\r")); err != nil {
		t.Fatal(err)
	}
	s.sees("got three")

	// A smaller terminal sees a part of it, and changes nothing.
	small := d.sit(30, 6, "attach", "last")
	d.until("a part of the screen, and who holds control", func() bool {
		return small.saw("got three") && small.saw("a phone on the host holds")
	})
	s.press("\x1dt")
	s.sees("got three")
	s.press("size\r")
	s.sees("size 24 80")
	small.press("\x1dd")
	small.ends(exitOK)

	s.press("\x1dd")
	s.ends(exitOK)
	s.sees("agenthost attach " + session.ID)
	again := d.sit(90, 20, "attach", session.ID[:8])
	again.sees("got three")
	again.press("size\r")
	again.sees("size 20 90")
	if s.saw("lost") {
		t.Error("what was typed while another one held control was typed")
	}

	out, _ := d.run("logs", "last", "--output", "envelopes")
	var holders []string
	for line := range strings.Lines(out) {
		var e struct {
			Ev struct{ T, ClientType string }
		}
		if json.Unmarshal([]byte(line), &e, json.MatchCaseInsensitiveNames(true)) == nil && e.Ev.T == "session-control-changed" {
			holders = append(holders, e.Ev.ClientType)
		}
	}
	if got := strings.Join(holders, " "); got != "cli phone cli" {
		t.Errorf("control was held by %q", got)
	}
	// What has only a screen is not ended for a face that it has not.
	if out, code := d.run("control", "last", "--headless", "--force"); code != exitUsage || !strings.Contains(out, "has only its screen") {
		t.Errorf("control --headless = %d %s", code, out)
	}
	again.press("still there\r")
	again.sees("got still there")
	again.press("exit 0\r")
	again.ends(exitOK)
	again.sees("the session is over")
}

// A daemon that dies is told, with the terminal in order.
func TestScreenDaemonDies(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	daemon := d.serve()
	s := d.sit(80, 24, runProgram()...)
	s.sees("pid ")
	if err := daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.sees("the connection is lost")
	s.ends(exitFailed)
	s.sees("the daemon is gone")
	s.sees("agenthost serve starts it again")
}

// Without a terminal there is no screen, and it is said what to do.
func TestScreenUsage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "pty", "--", "true"}, "run it on a terminal, or with --detach"},
		{[]string{"run", "pty"}, "want a"},
		{[]string{"run", "claude", "--output", "tui"}, "want a terminal"},
		{[]string{"run", "opencode", "--output", "tui"}, "opencode has no screen of its own here"},
		{[]string{"run", "claude", "--output", "tui", "--input", "envelopes"}, "keys are the input"},
		{[]string{"control", "last", "--headless", "--terminal"}, "none of the others can be"},
	} {
		out, code := d.run(c.args...)
		if code != exitUsage || !strings.Contains(out, c.want) {
			t.Errorf("agenthost %q = %d %s, want %q", c.args, code, out, c.want)
		}
	}
	s := d.sit(80, 24, "run", "pty", "--local", "--escape", "x", "--", "true")
	s.sees("--escape: want a key like ctrl-]")
	s.ends(exitUsage)
}
