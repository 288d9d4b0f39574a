package proc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agenthost/agenthost/internal/proc/kin"
)

// wait fails the test if the condition doesn't come true.
func wait(t *testing.T, what string, condition func() bool) {
	t.Helper()
	if !eventually(patience, condition) {
		t.Fatalf("waited %v in vain: %s", patience, what)
	}
}

// gone reports whether no living process has the id.
func gone(pid int) bool {
	s, ok := kin.ReadStat(pid)
	return !ok || s.Dead()
}

// waiting reports whether a process sleeps.
func waiting(pid int) (bool, bool) {
	s, ok := kin.ReadStat(pid)
	return s.State == 'S', ok
}

// pidsOf reads process ids from the lines of a child, as many as wanted.
func pidsOf(t *testing.T, c *Child, n int) []int {
	t.Helper()
	pids := []int{c.Pid()}
	for len(pids) < n+1 {
		pid, err := strconv.Atoi(next(t, c))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	for _, pid := range pids {
		if gone(pid) {
			t.Fatalf("process %d of %v is gone before anything was done", pid, pids)
		}
	}
	return pids
}

// adopted waits for processes that ended and that nobody else waits for: a program
// that supervises is a subreaper, and gets the orphans of what it starts by other means.
func adopted(pids ...int) {
	for _, pid := range pids {
		_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	}
}

func checkGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if !gone(pid) {
			content, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
			t.Errorf("process %d lives on: %q", pid, bytes.ReplaceAll(content, []byte{0}, []byte{' '}))
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// tree is a child with everything below it that can be hard to find: a child of
// the same group, one of another session, one that lost its parent, one that
// ignores SIGTERM, and one that lost its parent, its session and its environment.
// All hold the child's streams. It prints the five ids.
const tree5 = `
	sleep 600 & echo $!
	setsid bash -c 'echo $$; exec sleep 600' &
	(setsid bash -c 'echo $$; exec sleep 600' &)
	setsid bash -c 'trap "" TERM HUP INT; echo $$; while :; do sleep 600; done' &
	sleep 0.05
`

// treeOrphan needs a subreaper to be found: nothing ties it to the child.
const treeOrphan = `(exec env -i setsid /bin/bash -c 'echo $$; exec sleep 600' &)
`

// TestTreeIsGone: however a child ends, nothing it started is left. B118, B120.
func TestTreeIsGone(t *testing.T) {
	t.Parallel()
	ends := map[string]struct {
		last string
		end  func(t *testing.T, c *Child)
	}{
		"by itself":     {`read -r line; exit 0`, func(t *testing.T, c *Child) { _ = c.Write([]byte("go\n")) }},
		"by a crash":    {`read -r line; kill -KILL $$`, func(t *testing.T, c *Child) { _ = c.Write([]byte("go\n")) }},
		"by its input":  {`cat > /dev/null`, func(t *testing.T, c *Child) { c.CloseInput() }},
		"by Stop":       {`sleep 600; true`, func(t *testing.T, c *Child) { _ = c.Stop(t.Context()) }},
		"by Kill":       {`sleep 600; true`, func(t *testing.T, c *Child) { c.Kill() }},
		"by a stranger": {`sleep 600; true`, func(t *testing.T, c *Child) { _ = syscall.Kill(c.Pid(), syscall.SIGKILL) }},
	}
	both(t, func(t *testing.T, supervise bool) {
		for name, end := range ends {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				script, n := tree5, 4
				if supervise {
					script, n = script+treeOrphan, n+1
				}
				c := start(t, Spec{
					Argv: bash(script + end.last), Supervise: supervise,
					InputGrace: 50 * time.Millisecond, TermGrace: 50 * time.Millisecond,
				})
				pids := pidsOf(t, c, n)
				discard(c)
				end.end(t, c)
				within(t, "the end", c.Done())
				checkGone(t, pids)
			})
		}
	})
}

// TestKillWithoutEnvironment: without a subreaper, Kill finds by parentage what
// dropped the marker.
func TestKillWithoutEnvironment(t *testing.T) {
	t.Parallel()
	c := start(t, Spec{Argv: bash(`env -i setsid /bin/bash -c 'echo $$; sleep 600; true' & wait`)})
	pids := pidsOf(t, c, 1)
	c.Kill()
	within(t, "the end", c.Done())
	checkGone(t, pids)
}

// TestRelaunch is B118 as reported: the launcher dies of SIGTERM, its real child
// isn't signalled by it.
func TestRelaunch(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		pidFile := filepath.Join(t.TempDir(), "pid")
		c := start(t, Spec{
			Argv: fault(t, "B118-relaunch.sh"), Env: []string{"PATH=/usr/bin:/bin", "PIDFILE=" + pidFile},
			InputGrace: time.Millisecond, Supervise: supervise,
		})
		next(t, c)
		pid := 0
		wait(t, "the relaunched child is there", func() bool {
			content, _ := os.ReadFile(pidFile)
			pid, _ = strconv.Atoi(strings.TrimSpace(string(content)))
			return pid > 0 && !gone(pid)
		})
		discard(c)
		if err := c.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkGone(t, []int{pid, c.Pid()})
	})
}

// TestGrandchildHoldsStdout is B120: the wait is for the process, not the pipe.
func TestGrandchildHoldsStdout(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{Argv: fault(t, "B120-grandchild.sh"), InputGrace: time.Millisecond, TermGrace: patience, Supervise: supervise})
		next(t, c)
		go func() { _ = c.Stop(t.Context()) }()
		collect(t, c) // ends only when Lines is closed
		if exit := c.Exit(); exit.Signal != syscall.SIGTERM {
			t.Errorf("exit = %v, want signal: terminated", exit)
		}
	})
}

// TestStrayHoldsStdout: a process that we can't know of holds the pipe. What the
// child wrote comes whole, and Lines is closed.
func TestStrayHoldsStdout(t *testing.T) {
	t.Parallel()
	c := start(t, Spec{Argv: bash(treeOrphan + `read -r line; printf 'last %s\nwords' "$line"`)})
	stray := pidsOf(t, c, 1)[1]
	defer func() {
		_ = syscall.Kill(stray, syscall.SIGKILL)
		_, _ = syscall.Wait4(stray, nil, 0, nil) // see adopted
	}()
	_ = c.Write([]byte("x\n"))
	out := collect(t, c)
	if len(out.stdout) != 2 || out.stdout[0] != "last x" || out.stdout[1] != "words" || !out.partial {
		t.Errorf("stdout = %q, want the last words", out.stdout)
	}
	if gone(stray) {
		t.Error("the stray is gone: this test tests nothing")
	}
}

// TestStrayFloodsStdout: a stray that writes for ever doesn't keep Lines open.
func TestStrayFloodsStdout(t *testing.T) {
	t.Parallel()
	c := start(t, Spec{Argv: bash(`(exec env -i setsid /bin/bash -c 'echo $$; exec yes' &)
		read -r line`)})
	stray := pidsOf(t, c, 1)[1]
	defer func() {
		_ = syscall.Kill(stray, syscall.SIGKILL)
		_, _ = syscall.Wait4(stray, nil, 0, nil) // see adopted
	}()
	discard(c)
	_ = c.Write([]byte("x\n"))
	within(t, "the exit", c.Done())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		c.work.Wait()
	}()
	within(t, "the end of the streams", finished)
}

// TestZombiesAreReaped: what a child double-forks becomes the shim's to reap.
func TestZombiesAreReaped(t *testing.T) {
	t.Parallel()
	c := start(t, Spec{Argv: bash(`for i in {1..30}; do (true &); done; (setsid bash -c 'exit 0' &); echo done; cat`), Supervise: true})
	next(t, c)
	s, ok := kin.ReadStat(c.Pid())
	if !ok {
		t.Fatal("the child is gone")
	}
	shim := s.Parent
	wait(t, "the shim reaps", func() bool {
		for _, s := range kin.Processes() {
			if s.Parent == shim && s.Dead() {
				return false
			}
		}
		return true
	})
	if gone(c.Pid()) {
		t.Error("the child ended with its grandchildren")
	}
}

// TestSignalsOfTheChild: a child behind a shim starts with the same signals as
// without: nothing blocked, and nothing ignored but what we were started with
// (make starts its commands with signal 32 ignored).
func TestSignalsOfTheChild(t *testing.T) {
	t.Parallel()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{Argv: []string{"/bin/grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status"}, Supervise: supervise})
		for _, line := range collect(t, c).stdout {
			inherited := strings.HasPrefix(line, "SigIgn:") && strings.Contains(string(status), line)
			if !inherited && !strings.HasSuffix(line, "\t0000000000000000") {
				t.Errorf("%s, want none", line)
			}
		}
	})
}

// TestShimIsKilled: the shim is a process like others and can be killed. What is below
// another shim, or below a child without one, is left alone. Not parallel: what other
// tests start with os/exec would look like what the shim left.
func TestShimIsKilled(t *testing.T) {
	var others [][]int
	for _, supervise := range []bool{false, true} {
		other := start(t, Spec{Argv: bash(tree5 + `cat; true`), Supervise: supervise})
		others = append(others, pidsOf(t, other, 4))
		discard(other)
	}
	c := start(t, Spec{Argv: bash(tree5 + treeOrphan + `sleep 600; true`), Supervise: true})
	pids := pidsOf(t, c, 5)
	s, ok := kin.ReadStat(c.Pid())
	if !ok {
		t.Fatal("the child is gone")
	}
	discard(c)
	_ = syscall.Kill(s.Parent, syscall.SIGKILL)
	within(t, "the end", c.Done())
	if exit := c.Exit(); !errors.Is(exit.Err, ErrLost) || exit.Success() {
		t.Errorf("exit = %v, want ErrLost", exit)
	}
	checkGone(t, pids)
	for _, pid := range slices.Concat(others...) {
		if gone(pid) {
			t.Errorf("process %d of another child was ended too", pid)
		}
	}
}

// TestShimIsStopped: a shim that doesn't answer is given up, and its tree ends.
func TestShimIsStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for killLimit")
	}
	c := start(t, Spec{Argv: bash(tree5 + treeOrphan + `sleep 600; true`), Supervise: true})
	pids := pidsOf(t, c, 5)
	s, ok := kin.ReadStat(c.Pid())
	if !ok {
		t.Fatal("the child is gone")
	}
	discard(c)
	_ = syscall.Kill(s.Parent, syscall.SIGSTOP)
	c.Kill()
	within(t, "the end", c.Done())
	checkGone(t, pids)
}

// TestShimIgnoresSignals: a service manager that signals every process leaves it
// to the host what happens.
func TestShimIgnoresSignals(t *testing.T) {
	t.Parallel()
	c := start(t, Spec{Argv: []string{"/bin/cat"}, Supervise: true})
	_ = c.Write([]byte("one\n"))
	next(t, c)
	s, _ := kin.ReadStat(c.Pid())
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE} {
		_ = syscall.Kill(s.Parent, sig)
	}
	_ = c.Write([]byte("two\n"))
	if got := next(t, c); got != "two" {
		t.Errorf("got %q, want two", got)
	}
}

// TestHostIsKilled: kill -9 of the host leaves nothing, and neither does SIGPIPE
// (B126).
func TestHostIsKilled(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(host *exec.Cmd, out io.Closer){
		"SIGKILL":       func(host *exec.Cmd, _ io.Closer) { _ = host.Process.Kill() },
		"closed stdout": func(_ *exec.Cmd, out io.Closer) { _ = out.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := exec.Command(os.Args[0])
			script := tree5 + treeOrphan + `while :; do sleep 0.05; echo 0; done`
			host.Env = append(os.Environ(), hostEnv+"="+script, "GORACE=atexit_sleep_ms=0")
			out, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			host.Stderr = os.Stderr
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = host.Process.Kill()
				_ = host.Wait()
			}()
			var pids []int
			for in := bufio.NewScanner(out); len(pids) < 6 && in.Scan(); {
				if pid, err := strconv.Atoi(in.Text()); err == nil && pid > 0 {
					pids = append(pids, pid)
				}
			}
			if len(pids) != 6 {
				t.Fatalf("the host told %v, want 6 ids", pids)
			}
			shim, ok := kin.ReadStat(pids[0])
			if !ok {
				t.Fatal("the child is gone")
			}
			pids = append(pids, shim.Parent)
			end(host, out)
			wait(t, "everything is gone", func() bool {
				return !slices.ContainsFunc(pids, func(pid int) bool { return !gone(pid) })
			})
			adopted(pids...)
		})
	}
}

// TestDescriptors: Go's own ends of pipes don't block; a child that got such an
// end would see EAGAIN where it expects to wait. And it gets nothing of ours
// beside its streams; behind a shim not even what we once inherited ourselves.
func TestDescriptors(t *testing.T) {
	inherited, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{"0": true, "1": true, "2": true}
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{
			Argv:      bash(`for fd in 0 1 2; do grep flags /proc/self/fdinfo/$fd; done; cd /proc/$$/fd; echo *`),
			Supervise: supervise,
		})
		out := collect(t, c)
		if len(out.stdout) != 4 {
			t.Fatalf("stdout = %q, want 4 lines", out.stdout)
		}
		for fd, line := range out.stdout[:3] {
			var flags int
			if _, err := fmt.Sscanf(line, "flags:\t%o", &flags); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			if flags&syscall.O_NONBLOCK != 0 {
				t.Errorf("descriptor %d doesn't block", fd)
			}
		}
		for _, fd := range strings.Fields(out.stdout[3]) {
			// bash reads the directory with 3, and keeps 255 for itself.
			if allowed[fd] || fd == "3" || fd == "255" || !supervise && slices.Contains(inherited, "/proc/self/fd/"+fd) {
				continue
			}
			t.Errorf("the child has descriptor %s", fd)
		}
	})
}

// TestBackPressure: a slow consumer stops the child and loses nothing.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		progress := filepath.Join(t.TempDir(), "progress")
		argv := bash(`for i in {1..40}; do printf '%s\n' {1..5000}; echo $i > "$0"; done`)
		c := start(t, Spec{Argv: append(argv, progress), Supervise: supervise})
		next(t, c)
		// The child is stopped once the pipe is full: about 64 KiB of 24 KB rounds,
		// and as much in our reader.
		wait(t, "the child waits for us", func() bool {
			state, ok := waiting(c.Pid())
			return ok && state
		})
		content, _ := os.ReadFile(progress)
		var rounds int
		_, _ = fmt.Sscan(string(content), &rounds)
		if rounds > 12 {
			t.Errorf("the child made %d of 40 rounds though nobody read", rounds)
		}
		out := collect(t, c)
		if got := len(out.stdout); got != 40*5000-1 {
			t.Errorf("got %d lines, want %d", got, 40*5000-1)
		}
		for i, line := range out.stdout {
			if want := fmt.Sprint((i+1)%5000 + 1); line != want {
				t.Fatalf("line %d = %q, want %q", i, line, want)
			}
		}
	})
}
