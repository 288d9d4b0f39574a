//go:build unix

package proc

import (
	"bufio"
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// onTerminal starts a child on a terminal that ends with the test at the latest.
func onTerminal(t *testing.T, spec Spec) *Child {
	t.Helper()
	if spec.Terminal == nil {
		spec.Terminal = &TerminalSize{}
	}
	return start(t, spec)
}

// until reads a terminal until its output has a text in it, and returns all of it.
func until(t *testing.T, c *Child, text string) string {
	t.Helper()
	var out strings.Builder
	timeout := time.AfterFunc(patience, c.Close)
	defer timeout.Stop()
	buf := make([]byte, 4096)
	for !strings.Contains(out.String(), text) {
		n, err := c.Terminal().Read(buf)
		out.Write(buf[:n])
		if err != nil {
			t.Fatalf("the terminal ended after %q, want %q", out.String(), text)
		}
	}
	return out.String()
}

// rest reads a terminal to its end.
func rest(t *testing.T, c *Child) string {
	t.Helper()
	timeout := time.AfterFunc(patience, c.Close)
	defer timeout.Stop()
	out, err := io.ReadAll(c.Terminal())
	if err != nil {
		t.Errorf("reading a terminal to its end: %v", err)
	}
	return string(out)
}

// TestB135EndOfTerminal: what the child wrote last is read, its end is io.EOF, and the
// status is its own.
func TestB135EndOfTerminal(t *testing.T) {
	both(t, func(t *testing.T, supervise bool) {
		for range 20 {
			c := onTerminal(t, Spec{Argv: fault(t, "B135-eio.sh"), Supervise: supervise})
			if out := rest(t, c); out != "hello" {
				t.Errorf("read %q, want hello", out)
			}
			if exit := c.Exit(); exit.Code != 3 {
				t.Errorf("exit = %v, want exit status 3", exit)
			}
			if n, err := c.Terminal().Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("Read behind the end = %d, %v, want io.EOF", n, err)
			}
			if _, ok := <-c.Lines(); ok {
				t.Error("a child on a terminal has lines")
			}
			c.Close()
		}
	})
}

// TestB135EndOfFlood: much output, of which the end is still in the terminal when the
// child is gone.
func TestB135EndOfFlood(t *testing.T) {
	both(t, func(t *testing.T, supervise bool) {
		c := onTerminal(t, Spec{Argv: bash(`stty -opost; seq 200000; printf end`), Supervise: supervise})
		out := rest(t, c)
		if len(out) != 1288895+len("end") || !strings.HasSuffix(out, "200000\nend") {
			t.Errorf("%d bytes that end in %q", len(out), out[max(len(out)-20, 0):])
		}
	})
}

// TestB137CloseEndsRead: a child that says nothing is hung up by Close, and the Read
// that waits for it returns.
func TestB137CloseEndsRead(t *testing.T) {
	both(t, func(t *testing.T, supervise bool) {
		c := onTerminal(t, Spec{Argv: fault(t, "B137-ptyclose.sh"), Supervise: supervise})
		read := make(chan struct{})
		go func() {
			defer close(read)
			if n, err := c.Terminal().Read(make([]byte, 10)); n != 0 || err != io.EOF {
				t.Errorf("Read = %d, %v, want io.EOF", n, err)
			}
		}()
		c.Terminal().Close()
		c.Terminal().Close()
		within(t, "the end of Read", read)
		within(t, "the end of the child", c.Done())
		if exit := c.Exit(); exit.Signal != syscall.SIGHUP {
			t.Errorf("exit = %v, want signal: hangup", exit)
		}
		if _, err := c.Terminal().Write([]byte("x")); err != nil && !errors.Is(err, ErrInputClosed) {
			t.Errorf("Write after Close = %v", err)
		}
	})
}

// TestStopOnTerminal: a child is hung up, in time killed, and one that is stopped too.
func TestStopOnTerminal(t *testing.T) {
	const quick = 300 * time.Millisecond
	for _, c := range []struct {
		name, script string
		grace        time.Duration
		want         string // how it ends, empty for anything but by SIGKILL
	}{
		{"polite", `trap 'echo bye; exit 4' HUP TERM; echo ready; while :; do sleep 0.01; done`, patience, "exit status 4"},
		{"without a handler", `echo ready; sleep 600; true`, patience, "signal: hangup"},
		{"deaf", `trap '' HUP TERM; echo ready; while :; do sleep 0.01; done`, quick, "signal: killed"},
		{"an interactive shell", `exec bash --norc -i`, 2 * time.Second, ""},
		{"stopped", `echo ready; kill -STOP $$; sleep 600`, patience, "signal: hangup"},
	} {
		t.Run(c.name, func(t *testing.T) {
			both(t, func(t *testing.T, supervise bool) {
				child := onTerminal(t, Spec{Argv: bash(c.script), Supervise: supervise, TermGrace: c.grace, Env: []string{"PATH=/usr/bin:/bin", "PS1=ready> "}})
				until(t, child, map[bool]string{false: "ready", true: "bash-"}[c.want == ""])
				out := make(chan string, 1)
				go func() { out <- rest(t, child) }()
				if err := child.Stop(t.Context()); err != nil {
					t.Error(err)
				}
				exit := child.Exit()
				if c.want != "" && exit.String() != c.want || c.want == "" && exit.Signal == syscall.SIGKILL {
					t.Errorf("exit = %v, want %s", exit, c.want)
				}
				if got := <-out; c.name == "polite" && !strings.Contains(got, "bye") {
					t.Errorf("its last words are %q, want bye", got)
				}
			})
		})
	}
}

// TestStopCancelled: a context that has ended kills at once.
func TestStopCancelled(t *testing.T) {
	c := onTerminal(t, Spec{Argv: bash(`trap '' HUP TERM; echo ready; while :; do sleep 0.01; done`), TermGrace: patience})
	until(t, c, "ready")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Stop(ctx); err != nil {
		t.Error(err)
	}
	if exit := c.Exit(); exit.Signal != syscall.SIGKILL {
		t.Errorf("exit = %v, want signal: killed", exit)
	}
}

// TestB143SizeOfTerminal: none is 80x24; another one is told to the child, and none at
// all is refused.
func TestB143SizeOfTerminal(t *testing.T) {
	both(t, func(t *testing.T, supervise bool) {
		script := `trap 'echo winch' WINCH; while :; do stty size; sleep 0.01; done`
		c := onTerminal(t, Spec{Argv: bash(script), Supervise: supervise})
		until(t, c, "24 80\r\n")
		for _, bad := range [][2]int{{0, 0}, {0, 24}, {80, 0}, {-1, 24}, {80, 70000}} {
			if err := c.Terminal().Resize(bad[0], bad[1]); err == nil {
				t.Errorf("Resize(%d, %d) was taken", bad[0], bad[1])
			}
		}
		if err := c.Terminal().Resize(90, 20); err != nil {
			t.Error(err)
		}
		until(t, c, "winch")
		for _, size := range []TerminalSize{{100, 30}, {1, 1}, {1000, 500}} {
			if err := c.Terminal().Resize(size.Cols, size.Rows); err != nil {
				t.Error(err)
			}
			until(t, c, fmt.Sprintf("%d %d\r\n", size.Rows, size.Cols))
		}
	})
	c := onTerminal(t, Spec{Argv: bash(`stty size`), Terminal: &TerminalSize{Cols: 132}})
	if out := rest(t, c); out != "24 132\r\n" {
		t.Errorf("a size without rows is %q, want 24 132", out)
	}
	for _, bad := range []TerminalSize{{-1, 5}, {5, 1 << 20}} {
		if _, err := Start(t.Context(), Spec{Argv: bash(`:`), Terminal: &bad}); err == nil {
			t.Errorf("a terminal of %v was opened", bad)
		}
	}
}

// TestB145ResizeAtTheEnd: sizes that come while the child exits and the terminal is
// closed do nothing, also not to a file that got the terminal's descriptor.
func TestB145ResizeAtTheEnd(t *testing.T) {
	for range 10 {
		c := onTerminal(t, Spec{Argv: fault(t, "B145-resizeexit.sh")})
		var work sync.WaitGroup
		for range 4 {
			work.Go(func() {
				for i := range 250 {
					if err := c.Terminal().Resize(80+i%2, 24); err != nil {
						t.Errorf("Resize = %v", err)
					}
				}
			})
		}
		work.Go(func() { rest(t, c) })
		<-c.Done()
		c.Close()
		for range 250 {
			if err := c.Terminal().Resize(80, 24); err != nil {
				t.Errorf("Resize after Close = %v", err)
			}
		}
		work.Wait()
	}
}

// TestControllingTerminal: the child's terminal is one to it: /dev/tty is it, keys are
// signals, and it has all three streams.
func TestControllingTerminal(t *testing.T) {
	both(t, func(t *testing.T, supervise bool) {
		c := onTerminal(t, Spec{Argv: bash(`test -t 0 && test -t 1 && test -t 2 && echo by tty >/dev/tty; sleep 600; true`), Supervise: supervise})
		until(t, c, "by tty")
		if _, err := c.Terminal().Write([]byte("\x03")); err != nil {
			t.Fatal(err)
		}
		within(t, "the end by ^C", c.Done())
		if exit := c.Exit(); exit.Signal != syscall.SIGINT {
			t.Errorf("exit = %v, want signal: interrupt", exit)
		}
	})
}

// TestStreamsBlock: programs don't expect a standard input that doesn't block.
func TestStreamsBlock(t *testing.T) {
	both(t, func(t *testing.T, supervise bool) {
		c := onTerminal(t, Spec{Argv: bash(`stty -echo; echo ready; cat`), Supervise: supervise})
		until(t, c, "ready")
		_, _ = c.Terminal().Write([]byte("é and more\n"))
		until(t, c, "é and more\r\n")
		_, _ = c.Terminal().Write([]byte("x\x7f\x04")) // erases, then ends the input
		rest(t, c)
		if exit := c.Exit(); !exit.Success() {
			t.Errorf("exit = %v", exit)
		}
	})
}

// TestChildClosesItsTerminal: it may, and open it again: that is not its end.
func TestChildClosesItsTerminal(t *testing.T) {
	both(t, func(t *testing.T, supervise bool) {
		c := onTerminal(t, Spec{
			Argv: bash(`echo closing; exec <&- >&- 2>&-; sleep 0.1; echo back >/dev/tty; exit 5`), Supervise: supervise,
			SilenceGrace: time.Nanosecond,
		})
		until(t, c, "closing")
		if out := rest(t, c); !strings.Contains(out, "back\r\n") {
			t.Errorf("read %q, want what it wrote after it opened its terminal again", out)
		}
		if exit := c.Exit(); exit.Code != 5 {
			t.Errorf("exit = %v, want exit status 5", exit)
		}
	})
}

// TestHeldTerminal: someone else has the child's terminal open, and writes: the end
// comes all the same, when what the child wrote is read.
func TestHeldTerminal(t *testing.T) {
	both(t, func(t *testing.T, supervise bool) {
		c := onTerminal(t, Spec{Argv: bash(`tty; stty -echo; read line; echo the end`), Supervise: supervise})
		name, _, _ := strings.Cut(until(t, c, "\n"), "\r")
		held, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close()
		_, _ = c.Terminal().Write([]byte("\n"))
		within(t, "the end of the child", c.Done())
		if out := rest(t, c); !strings.HasSuffix(out, "the end\r\n") {
			t.Errorf("read %q, want the child's last words at its end", out)
		}
		if _, err := held.WriteString("x"); err == nil {
			t.Error("a terminal that came to its end takes more")
		}
	})
}

// TestKilledOnTerminal: kill -9 from outside.
func TestKilledOnTerminal(t *testing.T) {
	both(t, func(t *testing.T, supervise bool) {
		c := onTerminal(t, Spec{Argv: bash(`echo ready; sleep 600 & sleep 600`), Supervise: supervise})
		until(t, c, "ready")
		_ = syscall.Kill(c.Pid(), syscall.SIGKILL)
		rest(t, c)
		if exit := c.Exit(); exit.Signal != syscall.SIGKILL {
			t.Errorf("exit = %v, want signal: killed", exit)
		}
	})
}

// TestStalledReader: a child whose output nobody reads stops, and nothing is lost.
func TestStalledReader(t *testing.T) {
	c := onTerminal(t, Spec{Argv: bash(`stty -opost; seq 300000`)})
	first := until(t, c, "\n")
	select {
	case <-c.Done():
		t.Fatal("2 MB went into a terminal that nobody reads")
	case <-time.After(100 * time.Millisecond):
	}
	lines := bufio.NewScanner(strings.NewReader(first + rest(t, c)))
	n := 0
	for lines.Scan() {
		if n++; lines.Text() != fmt.Sprint(n) {
			t.Fatalf("line %d is %q", n, lines.Text())
		}
	}
	if n != 300000 {
		t.Errorf("%d lines, want 300000", n)
	}
}

// TestTypeAhead: what a child doesn't read yet waits, and arrives whole and in order.
func TestTypeAhead(t *testing.T) {
	c := onTerminal(t, Spec{Argv: bash(`stty raw -echo; echo ready; sleep 0.1; head -c 90000 | md5sum`)})
	until(t, c, "ready")
	text := bytes.Repeat([]byte("0123456789"), 9000)
	for part := range 90 {
		if n, err := c.Terminal().Write(text[part*1000:][:1000]); n != 1000 || err != nil {
			t.Fatal(n, err)
		}
	}
	if out, want := rest(t, c), fmt.Sprintf("%x", md5.Sum(text)); !strings.Contains(out, want) {
		t.Errorf("its sum is %q, want %s", out, want)
	}
}

// TestTypedTooMuch: one who never reads.
func TestTypedTooMuch(t *testing.T) {
	const most = 100 << 10
	c := onTerminal(t, Spec{Argv: bash(`stty raw -echo; echo ready; sleep 600`), MaxQueued: most})
	until(t, c, "ready")
	if _, err := c.Terminal().Write(make([]byte, most)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Terminal().Write([]byte("x")); n != 0 || !errors.Is(err, ErrInputFull) {
		t.Errorf("Write = %d, %v, want ErrInputFull", n, err)
	}
	c.CloseInput()
	if _, err := c.Terminal().Write([]byte("x")); !errors.Is(err, ErrInputClosed) {
		t.Errorf("Write = %v, want ErrInputClosed", err)
	}
	c.Close()
	if n, err := c.Terminal().Write([]byte("x")); n != 1 || err != nil {
		t.Errorf("Write at one that is gone = %d, %v, want 1", n, err)
	}
}

// TestTerminalRefused: a command that can't be started leaves no terminal behind.
func TestTerminalRefused(t *testing.T) {
	both(t, func(t *testing.T, supervise bool) {
		_, err := Start(t.Context(), Spec{Argv: []string{"/no/such/program"}, Terminal: &TerminalSize{}, Supervise: supervise})
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Start = %v, want fs.ErrNotExist", err)
		}
	})
}
