//go:build unix

package agentlab

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// openLab makes a lab without agents.
func openLab(t *testing.T) *Lab {
	t.Helper()
	l, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestIsolate(t *testing.T) {
	if testing.Short() {
		t.Skip("Main does not isolate with -short")
	}
	if !Isolated() {
		t.Skip("the system gave us no network namespace; Main said why on stderr")
	}
	l := openLab(t)
	defer l.Close()
	resp, err := http.Get(l.Model.URL + "/v1/models")
	if err != nil {
		t.Fatalf("loopback does not work: %v", err)
	}
	resp.Body.Close()
	// 192.0.2.0/24 is for documentation: nobody is there, but with a network
	// the packet would go out and time out.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := (&net.Dialer{}).DialContext(ctx, "tcp", "192.0.2.1:80"); err == nil || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("dialing the world: got %v, want network is unreachable", err)
	}
}

// startSleep starts a process that lives until it is killed.
func startSleep(t *testing.T, env []string, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.Env, cmd.Dir = env, dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() // it may be dead
		cmd.Wait()
	})
	return cmd
}

func TestLeftovers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found by /proc, which only Linux has")
	}
	l, other := openLab(t), openLab(t)
	defer other.Close()
	marked := startSleep(t, l.Env(), "/")
	inside := startSleep(t, nil, l.Dir) // nil: our own environment, no mark
	startSleep(t, other.Env(), "/")
	left, err := l.Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]bool{}
	for _, p := range left {
		got[p.PID] = p.Marked
		if want := []string{"sleep", "600"}; !slices.Equal(p.Args, want) {
			t.Errorf("process %d has arguments %q, want %q", p.PID, p.Args, want)
		}
	}
	if len(got) != 2 || !got[marked.Process.Pid] || got[inside.Process.Pid] {
		t.Errorf("got %v, want %d marked and %d not", left, marked.Process.Pid, inside.Process.Pid)
	}
	// A process that is over, but not waited for, is no leftover.
	inside.Process.Kill()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := marked.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("Close left the marked process: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if left, err := l.AwaitNone(ctx); len(left) > 0 || err != nil {
		t.Errorf("after Close: %v, %v", left, err)
	}
	if left, err := other.Leftovers(); len(left) != 1 || err != nil {
		t.Errorf("the other lab has %v, %v, want one process", left, err)
	}
}

func TestAwaitNoneGivesUp(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found by /proc, which only Linux has")
	}
	l := openLab(t)
	defer l.Close()
	cmd := startSleep(t, l.Env(), "/")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	left, err := l.AwaitNone(ctx)
	if err != nil || len(left) != 1 || left[0].PID != cmd.Process.Pid {
		t.Errorf("got %v, %v, want process %d", left, err, cmd.Process.Pid)
	}
}

func TestEnv(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "real")
	t.Setenv("HTTPS_PROXY", "http://proxy")
	l := openLab(t)
	defer l.Close()
	all, one := l.Env(), l.Env("gemini")
	for _, e := range all {
		if strings.HasSuffix(e, "=real") || strings.Contains(e, "proxy") {
			t.Errorf("the caller's %s is in the environment", e)
		}
	}
	has := func(env []string, name string) bool {
		return slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	}
	for _, name := range []string{"HOME", "PATH", "TMPDIR", "GEMINI_API_KEY"} {
		if !has(all, name) || !has(one, name) {
			t.Errorf("%s is missing", name)
		}
	}
	if !has(all, "ANTHROPIC_BASE_URL") || has(one, "ANTHROPIC_BASE_URL") {
		t.Error("ANTHROPIC_BASE_URL should be in the environment of all and not in gemini's")
	}
}

// Agents must take the working directory for the repository, not ours around it.
func TestWorkDirIsARepository(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not on the PATH")
	}
	l := openLab(t)
	defer l.Close()
	cmd := exec.Command(git, "rev-parse", "--show-toplevel")
	cmd.Dir, cmd.Env = l.Dir, l.Env()
	out, err := cmd.Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != l.Dir {
		t.Errorf("got %q, %v, want %q", got, err, l.Dir)
	}
}

func TestPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o770); err != nil {
		t.Fatal(err)
	}
	if private(dir) {
		t.Errorf("%s is private below a directory that the group can write", dir)
	}
	if !private("/") {
		t.Skip("the root directory can be written by others here")
	}
	if private(filepath.Join(dir, "missing")) {
		t.Error("a missing directory is private")
	}
}

func TestCloseRemoves(t *testing.T) {
	l := openLab(t)
	if st, err := os.Stat(l.root); err != nil || st.Mode().Perm() != 0o700 {
		t.Fatalf("the lab's directory: %v, %v, want mode 0700", st, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(l.root); !os.IsNotExist(err) {
		t.Errorf("the lab's directory after Close: %v", err)
	}
}
