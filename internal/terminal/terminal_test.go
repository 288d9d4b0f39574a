//go:build unix

package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agenthost/agenthost/internal/leaktest"
	"github.com/agenthost/agenthost/internal/proc"
)

// patience is how long a test waits for what must happen, on a busy machine.
const patience = 60 * time.Second

// TestMain lets the test binary be a shim, and checks that nothing is left.
func TestMain(m *testing.M) {
	code := m.Run()
	if left := leaktest.Left("internal/proc.", "internal/terminal."); left != "" && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines left behind:\n"+left)
		code = 1
	}
	if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) && code == 0 {
		fmt.Fprintln(os.Stderr, "processes left behind, see ps --ppid", os.Getpid())
		code = 1
	}
	os.Exit(code)
}

// eventually reports whether the condition came true within d.
func eventually(d time.Duration, condition func() bool) bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for begin := time.Now(); ; <-tick.C {
		if condition() {
			return true
		}
		if time.Since(begin) > d {
			return false
		}
	}
}

// newSet returns a set whose only directory is a new one, and that directory.
func newSet(t *testing.T) (*Set, string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{
		Env: []string{"PATH=/usr/bin:/bin", "A=set", "B=set"},
		Dir: func(path string) (string, error) {
			if path == "" {
				path = root
			}
			if rel, err := filepath.Rel(root, path); err != nil || !filepath.IsLocal(rel) {
				return "", errOutside
			}
			return path, nil
		},
		Supervise: true,
	})
	t.Cleanup(s.Close)
	return s, root
}

var errOutside = errors.New("outside")

func create(t *testing.T, s *Set, c Command) string {
	t.Helper()
	id, err := s.Create(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func bash(script string, args ...string) Command {
	return Command{Path: "bash", Args: append([]string{"-c", script}, args...)}
}

// finish waits for the end of a command and returns all there is to know.
func finish(t *testing.T, s *Set, id string) Output {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	exit, err := s.Wait(ctx, id)
	if err != nil {
		t.Fatalf("Wait(%s): %v", id, err)
	}
	out, err := s.Output(id)
	if err != nil {
		t.Fatalf("Output(%s): %v", id, err)
	}
	if out.Exit == nil || *out.Exit != exit {
		t.Errorf("Output(%s).Exit = %v after Wait = %v", id, out.Exit, exit)
	}
	return out
}

func gone(pid int) bool {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) != nil
	}
	_, rest, _ := strings.Cut(string(content), ") ")
	return strings.HasPrefix(rest, "Z")
}

func TestCommand(t *testing.T) {
	s, root := newSet(t)
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(root, "sub", "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/bash\necho tool $1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		command Command
		text    string
		exit    string
	}{
		{"output", bash(`echo out; echo err >&2; printf %s end`), "out\nerr\nend", "exit status 0"},
		{"status", bash(`exit 7`), "", "exit status 7"},
		{"signal", bash(`kill -TERM $$`), "", "signal: terminated"},
		{"no shell", Command{Path: "echo", Args: []string{"$HOME;", "a b", "|"}}, "$HOME; a b |\n", "exit status 0"},
		{"no input", Command{Path: "cat"}, "", "exit status 0"},
		{"environment", Command{Path: "bash", Args: []string{"-c", `echo $A $B $C $PWD`}, Env: []string{"B=own", "C=x=y"}}, "set own x=y " + root + "\n", "exit status 0"},
		{"default directory", Command{Path: "pwd"}, root + "\n", "exit status 0"},
		{"other directory", Command{Path: "pwd", Dir: filepath.Join(root, "sub")}, filepath.Join(root, "sub") + "\n", "exit status 0"},
		{"relative to the directory", Command{Path: "./tool", Args: []string{"1"}, Dir: filepath.Join(root, "sub")}, "tool 1\n", "exit status 0"},
		{"broken bytes", bash(`printf 'a\xffb\xe2\x82'`), "a\uFFFDb", "exit status 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := finish(t, s, create(t, s, test.command))
			if out.Text != test.text || out.Truncated || out.Exit.String() != test.exit {
				t.Errorf("got %q (truncated %v), %v; want %q, %s", out.Text, out.Truncated, out.Exit, test.text, test.exit)
			}
		})
	}
}

func TestCreateRefuses(t *testing.T) {
	s, root := newSet(t)
	plain := filepath.Join(root, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		command Command
		want    error
	}{
		{"unknown command", Command{Path: "no-such-command"}, proc.ErrNotFound},
		{"no command", Command{}, proc.ErrNotFound},
		{"not executable", Command{Path: plain}, os.ErrPermission},
		{"directory outside", Command{Path: "pwd", Dir: "/"}, errOutside},
		{"directory missing", Command{Path: "pwd", Dir: filepath.Join(root, "nope")}, os.ErrNotExist},
		{"bad variable", Command{Path: "pwd", Env: []string{"A"}}, nil},
		{"NUL", Command{Path: "echo", Args: []string{"\x00"}}, syscall.EINVAL},
	} {
		id, err := s.Create(t.Context(), test.command)
		if err == nil || id != "" || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: Create = %q, %v; want %v", test.name, id, err, test.want)
		}
	}
	if len(s.terminals) != 0 {
		t.Errorf("%d terminals are there of commands that were refused", len(s.terminals))
	}
}

// TestOutputLimit is B202: whatever limit is asked for, ours holds.
func TestOutputLimit(t *testing.T) {
	s, _ := newSet(t)
	asked := func(n int64) *int64 { return &n }
	for name, test := range map[string]struct {
		limit *int64
		want  int
	}{
		"absent":   {nil, MaxOutput},
		"1e12":     {asked(1e12), MaxOutput},
		"max":      {asked(1<<63 - 1), MaxOutput},
		"0":        {asked(0), 0},
		"-1":       {asked(-1), 0},
		"min":      {asked(-1 << 63), 0},
		"1000":     {asked(1000), 1000},
		"exactly":  {asked(MaxOutput), MaxOutput},
		"one more": {asked(MaxOutput + 1), MaxOutput},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := create(t, s, Command{Path: "bash", Args: []string{"-c", `yes | head -c 8000000; printf END`}, OutputLimit: test.limit})
			out := finish(t, s, id)
			if len(out.Text) != test.want || !out.Truncated {
				t.Errorf("got %d bytes (truncated %v), want %d and true", len(out.Text), out.Truncated, test.want)
			}
			if test.want > 0 && !strings.HasSuffix(out.Text, "y\nEND") {
				t.Errorf("the output ends with %q, want its end", out.Text[max(0, len(out.Text)-10):])
			}
		})
	}
}

// TestEndlessOutput: memory is bounded while `yes` runs, and characters are whole.
func TestEndlessOutput(t *testing.T) {
	s, _ := newSet(t)
	limit := int64(1001)
	id := create(t, s, Command{Path: "yes", Args: []string{"äöü€😀"}, OutputLimit: &limit})
	ok := eventually(patience, func() bool {
		out, err := s.Output(id)
		if err != nil || out.Exit != nil {
			t.Fatalf("Output = %+v, %v", out, err)
		}
		if !utf8.ValidString(out.Text) || strings.ContainsRune(out.Text, utf8.RuneError) || len(out.Text) > 1001 {
			t.Fatalf("output of %d bytes is cut badly: %q", len(out.Text), out.Text)
		}
		return out.Truncated
	})
	if !ok {
		t.Fatal("no output came")
	}
	if err := s.Kill(id); err != nil {
		t.Fatal(err)
	}
	out := finish(t, s, id)
	if out.Exit.Signal != syscall.SIGKILL || len(out.Text) < 1001-20 {
		t.Errorf("after the kill: %v, %d bytes", out.Exit, len(out.Text))
	}
	if err := s.Kill(id); err != nil {
		t.Errorf("a second kill: %v", err)
	}
}

// pids waits until the output holds n numbers.
func pids(t *testing.T, s *Set, id string, n int) []int {
	t.Helper()
	var got []int
	ok := eventually(patience, func() bool {
		out, err := s.Output(id)
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		for _, field := range strings.Fields(out.Text) {
			if pid, err := strconv.Atoi(field); err == nil {
				got = append(got, pid)
			}
		}
		return len(got) == n && strings.HasSuffix(out.Text, "\n")
	})
	if !ok {
		t.Fatalf("got the ids %v, want %d", got, n)
	}
	return got
}

const tree = `echo $$; sleep 600 & echo $!; setsid bash -c 'trap "" TERM; echo $$; while :; do sleep 600; done' & wait`

// TestTreeIsGone: whichever way a command ends, all of it does.
func TestTreeIsGone(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, s *Set, id string){
		"kill":    func(t *testing.T, s *Set, id string) { _ = s.Kill(id) },
		"release": func(t *testing.T, s *Set, id string) { _ = s.Release(id) },
		"close":   func(t *testing.T, s *Set, id string) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := newSet(t)
			id := create(t, s, bash(tree))
			ids := pids(t, s, id, 3)
			end(t, s, id)
			if name == "kill" {
				finish(t, s, id)
			} else {
				s.Close() // waits for those released too
			}
			for _, pid := range ids {
				if !gone(pid) {
					t.Errorf("process %d lives on", pid)
				}
			}
		})
	}
}

// TestLeftoversDontHoldTheEnd: a background process that keeps the output open.
func TestLeftoversDontHoldTheEnd(t *testing.T) {
	s, _ := newSet(t)
	id := create(t, s, bash(`sleep 600 & echo $!`))
	out := finish(t, s, id)
	if pid, err := strconv.Atoi(strings.TrimSpace(out.Text)); err != nil || !gone(pid) {
		t.Errorf("output %q: the background process lives on", out.Text)
	}
}

func TestRelease(t *testing.T) {
	s, _ := newSet(t)
	id := create(t, s, bash(`echo x`))
	finish(t, s, id)
	if err := s.Release(id); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"Output":  func() error { _, err := s.Output(id); return err }(),
		"Wait":    func() error { _, err := s.Wait(t.Context(), id); return err }(),
		"Kill":    s.Kill(id),
		"Release": s.Release(id),
		"unknown": s.Kill("nope"),
	} {
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("%s after Release: %v, want ErrUnknown", what, err)
		}
	}
	if again := create(t, s, bash(`:`)); again == id {
		t.Errorf("id %q was given twice", id)
	}
}

func TestWait(t *testing.T) {
	s, _ := newSet(t)
	id := create(t, s, bash(`echo ready; exec sleep 600`))
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	if _, err := s.Wait(ctx, id); !errors.Is(err, why) {
		t.Errorf("Wait with an ended context = %v, want its cause", err)
	}
	if out, err := s.Output(id); err != nil || out.Exit != nil {
		t.Errorf("the command ended with the wait: %+v, %v", out, err)
	}
	// The end of the command ends every wait, also when the wait comes after it.
	waited := make(chan proc.Exit)
	go func() {
		exit, err := s.Wait(t.Context(), id)
		if err != nil {
			t.Error(err)
		}
		waited <- exit
	}()
	if err := s.Kill(id); err != nil {
		t.Fatal(err)
	}
	select {
	case exit := <-waited:
		if exit.Signal != syscall.SIGKILL {
			t.Errorf("Wait = %v, want signal: killed", exit)
		}
	case <-time.After(patience):
		t.Fatal("Wait doesn't come back")
	}
}

// TestMany: as many as may be there at once, from many goroutines, and one more.
func TestMany(t *testing.T) {
	s, _ := newSet(t)
	var wg sync.WaitGroup
	ids := make([]string, MaxTerminals)
	for i := range ids {
		wg.Go(func() {
			id, err := s.Create(t.Context(), Command{Path: "echo", Args: []string{fmt.Sprint(i)}})
			if err != nil {
				t.Error(err)
			}
			ids[i] = id
		})
	}
	wg.Wait()
	if _, err := s.Create(t.Context(), Command{Path: "true"}); !errors.Is(err, ErrTooMany) {
		t.Errorf("one more: %v, want ErrTooMany", err)
	}
	for i, id := range ids {
		if out := finish(t, s, id); out.Text != fmt.Sprintln(i) {
			t.Errorf("terminal %s has %q, want %d", id, out.Text, i)
		}
		if err := s.Release(id); err != nil {
			t.Error(err)
		}
	}
	if id := create(t, s, Command{Path: "true"}); id == "" {
		t.Error("no id after all were released")
	}
}

// TestCloseWhileCreating: whatever is being started when Close comes is ended, and
// Close may be called again.
func TestCloseWhileCreating(t *testing.T) {
	s, _ := newSet(t)
	var creators sync.WaitGroup
	for range 4 {
		creators.Go(func() {
			for {
				if _, err := s.Create(t.Context(), Command{Path: "sleep", Args: []string{"600"}}); err != nil {
					if !errors.Is(err, ErrClosed) && !errors.Is(err, ErrTooMany) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	first := create(t, s, Command{Path: "sleep", Args: []string{"600"}})
	s.Close()
	creators.Wait()
	s.Close()
	if _, err := s.Output(first); !errors.Is(err, ErrUnknown) {
		t.Errorf("Output after Close: %v, want ErrUnknown", err)
	}
	if _, err := s.Create(t.Context(), Command{Path: "true"}); !errors.Is(err, ErrClosed) {
		t.Errorf("Create after Close: %v, want ErrClosed", err)
	}
}
