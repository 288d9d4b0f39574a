//go:build linux

package console

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

func (p *person) termios() syscall.Termios {
	p.t.Helper()
	var got syscall.Termios
	err := fd(p.master, func(n int) {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(n), syscall.TCGETS, uintptr(unsafe.Pointer(&got))); e != 0 {
			p.t.Fatal(e)
		}
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return got
}

// child is this program as another process on a terminal of its own.
func child(play string) int {
	if play == "shell" {
		return shell()
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	tty, err := Open(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer tty.Close()
	cols, rows := tty.Size()
	a := newAgent(cols, rows)
	a.show("\x1b[?2004h\x1b[>1uthe agent")
	go func() { // it says what is typed
		for n := 0; ; {
			a.mu.Lock()
			typed, changed := string(a.typed), a.changed
			a.mu.Unlock()
			if len(typed) > n {
				n = len(typed)
				a.show("[" + typed + "]")
			}
			if strings.HasSuffix(typed, "!") && play == "panic" {
				a.do(func() { a.panics = true })
				return
			}
			<-changed
		}
	}()
	end, err := Run(ctx, a, tty, Options{})
	left := 0
	for _, answers := range a.told {
		if !answers {
			left++
		}
	}
	fmt.Printf("ended %d %v, left %d\n", end, err, left)
	return 0
}

// shell runs the console as its job, as a shell with job control does: it takes the
// terminal back when the job stops, and gives it again for each line on descriptor 3.
func shell() int {
	signal.Ignore(syscall.SIGTTOU, syscall.SIGTTIN)
	orders := bufio.NewReader(os.NewFile(3, "orders"))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AGENTHOST_CONSOLE_CHILD=console")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	front := func(pgid int) {
		n := int32(pgid)
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TIOCSPGRP, uintptr(unsafe.Pointer(&n)))
	}
	for {
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(cmd.Process.Pid, &ws, syscall.WUNTRACED, nil); err != nil {
			return 1
		}
		front(os.Getpid())
		if !ws.Stopped() {
			fmt.Println("exited")
			return ws.ExitStatus()
		}
		fmt.Println("stopped")
		if _, err := orders.ReadString('\n'); err != nil {
			return 0
		}
		front(cmd.Process.Pid)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT)
	}
}

// process starts this program on the person's terminal.
func (p *person) process(play string) (cmd *exec.Cmd, orders io.Writer) {
	p.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	slave, err := os.OpenFile(p.tty.Name(), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AGENTHOST_CONSOLE_CHILD="+play)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = slave, slave, slave, []*os.File{r}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	_, _ = r.Close(), slave.Close()
	p.t.Cleanup(func() {
		_ = w.Close()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return cmd, w
}

// Stopped, the terminal is the shell's as it was; going on, all is drawn anew.
func TestStopAndGoOn(t *testing.T) {
	p := newPerson(t, 60, 8)
	_, orders := p.process("shell")
	p.seesText("the agent")
	for range 3 {
		before := p.termios()
		if before == p.before {
			t.Fatal("the terminal is not raw")
		}
		p.press("\x1dz")
		p.sees("the shell", func(s string) bool { return strings.HasSuffix(s, "stopped") })
		p.inOrder()
		if _, err := io.WriteString(orders, "go\n"); err != nil {
			t.Fatal(err)
		}
		p.sees("the screen anew", func(s string) bool { return strings.HasPrefix(s, "the agent") && !strings.Contains(s, "stopped") })
		p.press("k")
		p.sees("the key", func(s string) bool { return strings.HasSuffix(s, "k]") })
		p.sees("raw again", func(string) bool { return p.termios() == before })
	}
	p.press("\x1dd")
	p.seesText("ended 2 <nil>, left 4") // stopped three times, and at the end
	p.seesText("exited")
	p.inOrder()
}

// A panic, and a signal, leave the terminal in order.
func TestProcessEnds(t *testing.T) {
	t.Run("panic", func(t *testing.T) {
		p := newPerson(t, 100, 30)
		p.process("panic")
		p.seesText("the agent")
		p.press("!")
		p.got("the agent's side fell over")
		p.inOrder()
	})
	t.Run("SIGTERM", func(t *testing.T) {
		p := newPerson(t, 100, 30)
		cmd, _ := p.process("console")
		p.seesText("the agent")
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.seesText("ended 0")
		p.inOrder()
	})
	t.Run("SIGSTOP and SIGCONT", func(t *testing.T) {
		p := newPerson(t, 60, 8)
		cmd, _ := p.process("console")
		p.seesText("the agent")
		_ = cmd.Process.Signal(syscall.SIGSTOP)
		p.mu.Lock()
		_, _ = io.WriteString(p.em, "\x1b[2Jlid closed")
		p.mu.Unlock()
		_ = cmd.Process.Signal(syscall.SIGCONT)
		p.sees("the screen anew", func(s string) bool { return s == "the agent" })
		p.press("\x1dd")
		p.seesText("ended 2")
		p.inOrder()
	})
}
