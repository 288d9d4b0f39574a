package proc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/agenthost/agenthost/internal/proc/kin"
)

// prestart starts a shim that is closed with the test, and returns its id.
func prestart(t *testing.T) (*Shim, int) {
	t.Helper()
	s := Prestart()
	if s == nil {
		t.Fatal("no shim was started")
	}
	t.Cleanup(s.Close)
	return s, s.idle.process.Pid
}

// TestPrestart: the shim serves the first start, which may as well come when it
// is not ready yet, and only that.
func TestPrestart(t *testing.T) {
	t.Parallel()
	s, shim := prestart(t)
	for i, want := range []bool{true, false} {
		c := start(t, Spec{Argv: bash(`echo $PPID; cat >&2; exit 7`), Supervise: true, Shim: s})
		if got := next(t, c) == strconv.Itoa(shim); got != want {
			t.Errorf("start %d: below the shim: %v, want %v", i+1, got, want)
		}
		_ = c.Write([]byte("said\n"))
		c.CloseInput()
		collect(t, c)
		if exit := c.Exit(); exit.Code != 7 || c.StderrTail() != "said\n" {
			t.Errorf("start %d: exit %v, stderr %q, want exit status 7 and %q", i+1, exit, c.StderrTail(), "said\n")
		}
	}
	s.Close()
}

// TestPrestartRefused: a command that can't be started takes the shim with it.
func TestPrestartRefused(t *testing.T) {
	t.Parallel()
	s, shim := prestart(t)
	if _, err := Start(t.Context(), Spec{Argv: []string{"/no/such/program"}, Supervise: true, Shim: s}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Start = %v, want fs.ErrNotExist", err)
	}
	if !gone(shim) {
		t.Error("the shim is left")
	}
}

// TestPrestartUnused: a shim that nobody used leaves with Close, at once, also
// while it is still starting.
func TestPrestartUnused(t *testing.T) {
	t.Parallel()
	s, shim := prestart(t)
	s.Close()
	s.Close()
	if !gone(shim) {
		t.Error("the shim is left")
	}
	(*Shim)(nil).Close()
	c := start(t, Spec{Argv: bash("exit 7"), Supervise: true, Shim: s})
	collect(t, c)
	if exit := c.Exit(); exit.Code != 7 {
		t.Errorf("with a closed shim: exit %v, want exit status 7", exit)
	}
}

// TestHostIsKilledAroundAPrestart: kill -9 of a host leaves neither shim nor child,
// before the shim is used and at any point of its use.
func TestHostIsKilledAroundAPrestart(t *testing.T) {
	t.Parallel()
	for round := range 10 {
		mark := newMarker()
		host := exec.Command(os.Args[0])
		host.Env = append(os.Environ(), hostEnv+"=sleep 600; true", prestartEnv+"="+mark, "GORACE=atexit_sleep_ms=0")
		in, err := host.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := host.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := host.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatalf("the host told %q: %v", line, err)
		}
		shims := kin.Descendants(host.Process.Pid)
		if len(shims) != 1 {
			t.Fatalf("%d processes are below the host, want its shim", len(shims))
		}
		if round > 0 {
			in.Close()
			// The point is any: another one each time.
			<-time.After(time.Duration(round*round) * 300 * time.Microsecond)
		}
		_ = host.Process.Signal(syscall.SIGKILL)
		_ = host.Wait()
		wait(t, "everything is gone", func() bool { return gone(shims[0].Pid) && !anyMarked(prestartEnv+"="+mark) })
		adopted(shims[0].Pid)
	}
}

// anyMarked reports whether a process has the entry in its environment.
func anyMarked(entry string) bool {
	for _, s := range kin.Processes() {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.Pid))
		if !s.Dead() && bytes.Contains(env, []byte(entry)) {
			return true
		}
	}
	return false
}
