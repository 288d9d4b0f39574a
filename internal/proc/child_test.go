//go:build unix

package proc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestChildEcho(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{Argv: []string{"/bin/cat"}, Supervise: supervise})
		if err := c.Write([]byte("one\ntwo\r\n\nend")); err != nil {
			t.Fatal(err)
		}
		c.CloseInput()
		out := collect(t, c)
		if want := []string{"one", "two", "", "end"}; !slices.Equal(out.stdout, want) || !out.partial {
			t.Errorf("stdout = %q (partial %v), want %q, the last one partial", out.stdout, out.partial, want)
		}
		if exit := c.Exit(); !exit.Success() {
			t.Errorf("exit = %v, want success", exit)
		}
	})
}

func TestChildExit(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		for _, test := range []struct {
			script string
			want   Exit
			words  string
		}{
			{"exit 0", Exit{}, "exit status 0"},
			{"exit 7", Exit{Code: 7}, "exit status 7"},
			{"exit 255", Exit{Code: 255}, "exit status 255"},
			{"kill -KILL $$", Exit{Code: -1, Signal: syscall.SIGKILL}, "signal: killed"},
			{"kill -TERM $$", Exit{Code: -1, Signal: syscall.SIGTERM}, "signal: terminated"},
		} {
			c := start(t, Spec{Argv: bash(test.script), Supervise: supervise})
			collect(t, c)
			if got := c.Exit(); got != test.want || got.String() != test.words {
				t.Errorf("%s: exit = %+v (%v), want %+v (%s)", test.script, got, got, test.want, test.words)
			}
		}
	})
}

func TestChildEnvironment(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		dir := t.TempDir()
		c := start(t, Spec{
			Argv: []string{"/usr/bin/env"}, Dir: dir, Supervise: supervise,
			Env: []string{"A=1", "EMPTY=", MarkerName + "=outer", "LINES=a\nb"},
		})
		want := []string{"A=1", "EMPTY=", "LINES=a", "b", MarkerName + "=" + c.Marker()}
		if out := collect(t, c); !slices.Equal(out.stdout, want) {
			t.Errorf("environment = %q, want %q", out.stdout, want)
		}
		c = start(t, Spec{Argv: []string{"/bin/pwd"}, Dir: dir, Supervise: supervise})
		if out := collect(t, c); !slices.Equal(out.stdout, []string{dir}) {
			t.Errorf("directory = %q, want %q", out.stdout, dir)
		}
	})
}

// TestNoInput is B128: one-shot commands read stdin to its end before they answer.
func TestNoInput(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{Argv: fault(t, "B128-stdineof.sh"), NoInput: true, Supervise: supervise})
		if err := c.Write([]byte("x")); err != nil && !errors.Is(err, ErrInputClosed) {
			t.Errorf("Write without input = %v, want ErrInputClosed", err)
		}
		out := collect(t, c)
		if len(out.stdout) != 4 || !c.Exit().Success() {
			t.Errorf("stdout = %q, exit %v; want 4 lines and success", out.stdout, c.Exit())
		}
	})
}

// TestBigLines is B001: one line of 1.5 MiB and one of 8 MiB come whole.
func TestBigLines(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{Argv: fault(t, "B001-bigline.sh"), Supervise: supervise})
		out := collect(t, c)
		if len(out.stdout) != 6 || len(out.dropped) != 0 {
			t.Fatalf("got %d lines, %d dropped, want 6 and 0; stderr %q", len(out.stdout), len(out.dropped), out.stderr)
		}
		for i, data := range map[int]int{2: 1572864, 4: 8388608} {
			if got := strings.Count(out.stdout[i], "A"); got < data {
				t.Errorf("line %d holds %d bytes of data, want %d", i, got, data)
			}
			if !strings.HasSuffix(out.stdout[i], `"}`) {
				t.Errorf("line %d isn't whole", i)
			}
		}
	})
}

// TestOverCap is B002: a line above the cap is dropped with one notice, and life
// goes on with the next line.
func TestOverCap(t *testing.T) {
	t.Parallel()
	c := start(t, Spec{Argv: bash(`
		printf 'before\n'; head -c 3000000 /dev/zero | tr '\0' x; printf '\nafter\n'
		read -r line; printf 'got %s\n' "$line"`), MaxLine: 1 << 20})
	var out output
	for len(out.stdout) < 2 {
		select {
		case line := <-c.Lines():
			out.add(line)
		case <-time.After(patience):
			t.Fatalf("no line; so far %q", out.stdout)
		}
	}
	_ = c.Write([]byte("second prompt\n"))
	rest := collect(t, c)
	got := append(out.stdout, rest.stdout...)
	if want := []string{"before", "after", "got second prompt"}; !slices.Equal(got, want) {
		t.Errorf("stdout = %q, want %q", got, want)
	}
	if want := []int64{3000000}; !slices.Equal(out.dropped, want) {
		t.Errorf("dropped = %v, want %v", out.dropped, want)
	}
}

// TestLineWithoutEnd is B212: bytes without a line end are bounded by the cap.
func TestLineWithoutEnd(t *testing.T) {
	t.Parallel()
	c := start(t, Spec{Argv: fault(t, "B212-noLF.sh", "20000000"), MaxLine: 1 << 20})
	out := collect(t, c)
	if len(out.stdout) != 1 || !slices.Equal(out.dropped, []int64{20000000}) {
		t.Errorf("got %d lines, dropped %v; want 1 and 20000000", len(out.stdout), out.dropped)
	}
}

// TestStderrApart is B012: stderr lines between and inside of stdout lines.
func TestStderrApart(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{Argv: fault(t, "B012-stderrmix.sh"), Supervise: supervise})
		out := collect(t, c)
		want := []string{
			`{"type":"thread.started","thread_id":"00000000-0000-7000-8000-000000000001"}`,
			`{"type":"turn.started"}`,
			`{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Hello."}}`,
			`{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":20,"output_tokens":10}}`,
		}
		if !slices.Equal(out.stdout, want) {
			t.Errorf("stdout = %q, want %q", out.stdout, want)
		}
		if len(out.stderr) != 4 || out.stderr[2] != "WARN in the middle" {
			t.Errorf("stderr = %q, want 4 lines", out.stderr)
		}
		if tail := c.StderrTail(); tail != strings.Join(out.stderr, "\n")+"\n" {
			t.Errorf("StderrTail = %q", tail)
		}
	})
}

// TestSplitCharacter is B013: a line is its bytes, wherever the reads were cut.
func TestSplitCharacter(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/B013-utf8split.bin")
	if err != nil {
		t.Fatal(err)
	}
	c := start(t, Spec{Argv: fault(t, "B013-utf8split.sh")})
	out := collect(t, c)
	got := []byte(strings.Join(out.stdout, "\n") + "\n")
	if sha256.Sum256(got) != sha256.Sum256(want) {
		t.Errorf("got %d bytes, want %d, the same", len(got), len(want))
	}
}

// TestStartFailure is B132: the reason is there as soon as the exit is.
func TestStartFailure(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{Argv: fault(t, "B132-startfail.sh"), Supervise: supervise})
		out := collect(t, c)
		if got := c.Exit(); got.Code != 1 || len(out.stdout) != 0 {
			t.Errorf("exit = %v, stdout %q; want exit status 1 and nothing", got, out.stdout)
		}
		if tail := c.StderrTail(); !strings.Contains(tail, "TypeError: Cannot read properties") {
			t.Errorf("StderrTail = %q, want the reason", tail)
		}
	})
}

// TestWriteToTheDead is B130: the child is gone before it has read its prompt.
func TestWriteToTheDead(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{Argv: fault(t, "B130-epipe.sh"), Supervise: supervise})
		if err := c.Write(bytes.Repeat([]byte("x"), 64<<20)); err != nil {
			t.Errorf("Write = %v, want nil", err)
		}
		out := collect(t, c)
		if got := c.Exit(); got.String() != "exit status 7" {
			t.Errorf("exit = %v, want exit status 7", got)
		}
		if len(out.stderr) != 1 || out.stderr[0] != "error: unexpected argument --frobnicate" {
			t.Errorf("stderr = %q", out.stderr)
		}
		if err := c.Write([]byte("more")); err != nil {
			t.Errorf("Write after the exit = %v, want nil", err)
		}
	})
}

// TestNoDeadlock: the child fills its stdout before it reads what we write.
func TestNoDeadlock(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{Argv: bash(`seq 1 200000; exec wc -c`), Supervise: supervise})
		if err := c.Write(bytes.Repeat([]byte("x"), 4<<20)); err != nil {
			t.Fatal(err)
		}
		c.CloseInput()
		out := collect(t, c)
		if len(out.stdout) != 200001 || strings.TrimSpace(out.stdout[200000]) != fmt.Sprint(4<<20) {
			t.Errorf("got %d lines, want 200001 and the count at the end", len(out.stdout))
		}
	})
}

// TestInputOfADeafChild: a child that doesn't read costs at most MaxQueued.
func TestInputOfADeafChild(t *testing.T) {
	t.Parallel()
	c := start(t, Spec{Argv: []string{"/bin/sleep", "600"}, MaxQueued: 1 << 20})
	discard(c)
	chunk := make([]byte, 64<<10)
	var err error
	for range 1000 {
		if err = c.Write(chunk); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrInputFull) {
		t.Errorf("Write to a deaf child = %v, want ErrInputFull in the end", err)
	}
}

// TestStopByInput is B122: an agent that ends at the end of its input is left to
// do so.
func TestStopByInput(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		mark := filepath.Join(t.TempDir(), "mark")
		c := start(t, Spec{
			Argv: fault(t, "B122-graceful.sh"), Env: []string{"PATH=/usr/bin:/bin", "MARK=" + mark}, Supervise: supervise,
			InputGrace: patience, TermGrace: patience,
		})
		next(t, c)
		_ = c.Write([]byte("prompt\n"))
		discard(c)
		if err := c.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(mark); string(got) != "eof\n" {
			t.Errorf("mark = %q, want eof: the agent wasn't let end by itself", got)
		}
		if exit := c.Exit(); !exit.Success() {
			t.Errorf("exit = %v, want success", exit)
		}
	})
}

// TestStopByTerm is B122's other half: an agent that cleans up at SIGTERM.
func TestStopByTerm(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		mark := filepath.Join(t.TempDir(), "mark")
		c := start(t, Spec{
			Argv:      append(bash(`trap 'sleep 0.2; echo term > "$0"; exit 3' TERM; echo ready; while :; do sleep 0.05; done`), mark),
			Supervise: supervise, InputGrace: time.Millisecond, TermGrace: patience,
		})
		next(t, c)
		discard(c)
		if err := c.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(mark); string(got) != "term\n" {
			t.Errorf("mark = %q, want term", got)
		}
		if exit := c.Exit(); exit.Code != 3 {
			t.Errorf("exit = %v, want exit status 3", exit)
		}
	})
}

// TestStopByKill: an agent that ignores everything is killed, and many may ask.
func TestStopByKill(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{
			Argv:       bash(`trap '' TERM INT HUP; echo ready; while :; do sleep 0.05; done`),
			InputGrace: time.Millisecond, TermGrace: time.Millisecond, Supervise: supervise,
		})
		next(t, c)
		discard(c)
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := c.Stop(t.Context()); err != nil {
					t.Errorf("Stop: %v", err)
				}
			})
		}
		wg.Wait()
		if exit := c.Exit(); exit.Signal != syscall.SIGKILL || exit.Success() {
			t.Errorf("exit = %v, want signal: killed", exit)
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Errorf("Stop after the end: %v", err)
		}
		c.Kill()
		c.Close()
		c.Close()
	})
}

// TestStopInAHurry: the end of the context ends the graces.
func TestStopInAHurry(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{
			Argv:       bash(`trap '' TERM; echo ready; while :; do sleep 0.05; done`),
			InputGrace: time.Hour, TermGrace: time.Hour, Supervise: supervise,
		})
		next(t, c)
		discard(c)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			_ = c.Stop(ctx)
		}()
		within(t, "Stop with an ended context", stopped)
		if exit := c.Exit(); exit.Signal != syscall.SIGKILL {
			t.Errorf("exit = %v, want signal: killed", exit)
		}
	})
}

// TestStopUnread: nobody receives the lines, and Stop comes back nevertheless.
func TestStopUnread(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{Argv: []string{"/usr/bin/yes"}, InputGrace: time.Millisecond, TermGrace: patience, Supervise: supervise})
		next(t, c)
		if err := c.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if exit := c.Exit(); exit.Signal != syscall.SIGTERM {
			t.Errorf("exit = %v, want signal: terminated", exit)
		}
	})
}

// TestSilence is B210: a child that closed its stdout can't answer any more.
func TestSilence(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{
			Argv:         fault(t, "B210-eofspin.sh"),
			SilenceGrace: 10 * time.Millisecond, InputGrace: 10 * time.Millisecond, TermGrace: patience, Supervise: supervise,
		})
		if out := collect(t, c); len(out.stdout) != 1 {
			t.Errorf("stdout = %q, want one line", out.stdout)
		}
		if exit := c.Exit(); exit.Signal != syscall.SIGTERM {
			t.Errorf("exit = %v, want signal: terminated", exit)
		}
	})
}

// TestSilenceIsForgiven: closing stdout shortly before the exit is no fault.
func TestSilenceIsForgiven(t *testing.T) {
	t.Parallel()
	c := start(t, Spec{Argv: bash(`echo line; exec >&-; sleep 0.1; exit 4`), SilenceGrace: patience})
	collect(t, c)
	if exit := c.Exit(); exit.Code != 4 {
		t.Errorf("exit = %v, want exit status 4", exit)
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", "#!/bin/bash\n", 0o755)
	both(t, func(t *testing.T, supervise bool) {
		for _, test := range []struct {
			name string
			spec Spec
			is   error
			want string
		}{
			{"nothing", Spec{}, nil, "want a command"},
			{"relative", Spec{Argv: []string{"bash"}}, os.ErrInvalid, "not an absolute path"},
			{"missing", Spec{Argv: []string{filepath.Join(dir, "missing")}}, os.ErrNotExist, "no such file"},
			{"directory", Spec{Argv: []string{dir}}, os.ErrPermission, "it is a directory"},
			{"not executable", Spec{Argv: []string{file("plain", "x", 0o644)}}, os.ErrPermission, "it is not executable"},
			{"no program", Spec{Argv: []string{file("noprogram", "\x00\x01\x02", 0o755)}}, syscall.ENOEXEC, "neither a program"},
			{"interpreter", Spec{Argv: []string{file("script", "#!/no/such/node\n", 0o755)}}, os.ErrNotExist, `interpreter "/no/such/node" is missing`},
			{"working directory", Spec{Argv: []string{good}, Dir: filepath.Join(dir, "no")}, os.ErrNotExist, "working directory"},
			{"file as working directory", Spec{Argv: []string{good}, Dir: good}, syscall.ENOTDIR, "working directory"},
			{"NUL", Spec{Argv: []string{good, "a\x00b"}}, syscall.EINVAL, "NUL"},
			{"too long", Spec{Argv: []string{good, strings.Repeat("x", 3<<20)}}, syscall.E2BIG, "too long"},
			{"far too long", Spec{Argv: []string{good, strings.Repeat("x", 20<<20)}}, syscall.E2BIG, "too long"},
		} {
			test.spec.Supervise = supervise
			c, err := Start(t.Context(), test.spec)
			if err == nil {
				c.Close()
				t.Errorf("%s: it started", test.name)
				continue
			}
			var fault *StartError
			if test.is != nil && (!errors.Is(err, test.is) || !errors.As(err, &fault)) {
				t.Errorf("%s: error %v, want a StartError for %v", test.name, err, test.is)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: error %q, want %q in it", test.name, err, test.want)
			}
		}
	})
}

func TestStartWithEndedContext(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("why")
		cancel(why)
		if _, err := Start(ctx, Spec{Argv: bash("exit"), Supervise: supervise}); !errors.Is(err, why) {
			t.Errorf("Start = %v, want the cause of the context", err)
		}
	})
}

// TestFreshStart is B124: after a kill the next child is a new one.
func TestFreshStart(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, supervise bool) {
		for range 3 {
			c := start(t, Spec{Argv: []string{"/bin/cat"}, Supervise: supervise})
			_ = c.Write([]byte("hello\n"))
			if got := next(t, c); got != "hello" {
				t.Errorf("got %q, want hello", got)
			}
			c.Kill()
			within(t, "the end of a killed child", c.Done())
		}
	})
}
