//go:build unix

package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agenthost/agenthost/internal/leaktest"
)

// patience is how long a test waits for what must happen, on a machine that is
// busy with other things. Nothing waits for as long when all is well.
const patience = 60 * time.Second

// TestMain lets the test binary be a shim and a host, and checks in the end that
// neither goroutines nor processes are left.
func TestMain(m *testing.M) {
	if script := os.Getenv(hostEnv); script != "" {
		os.Exit(beHost(script))
	}
	code := m.Run()
	if left := leaktest.Left("internal/proc."); left != "" && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines left behind:\n"+left)
		code = 1
	}
	// Every child is ours until it is reaped, so that this sees zombies too.
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

// within fails the test if the channel isn't closed.
func within(t *testing.T, what string, closed <-chan struct{}) {
	t.Helper()
	select {
	case <-closed:
	case <-time.After(patience):
		t.Fatalf("waited %v in vain: %s", patience, what)
	}
}

// both runs a test without and with a shim.
func both(t *testing.T, test func(t *testing.T, supervise bool)) {
	t.Run("direct", func(t *testing.T) { test(t, false) })
	if runtime.GOOS == "linux" {
		t.Run("supervised", func(t *testing.T) { test(t, true) })
	}
}

// start starts a child that ends with the test at the latest.
func start(t *testing.T, spec Spec) *Child {
	t.Helper()
	if spec.Env == nil {
		spec.Env = []string{"PATH=/usr/bin:/bin"}
	}
	c, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatalf("Start(%q): %v", spec.Argv, err)
	}
	t.Cleanup(c.Close)
	return c
}

func bash(script string) []string { return []string{"/bin/bash", "-c", script} }

// fault returns the command that runs a file of testdata.
func fault(t *testing.T, name string, args ...string) []string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{path}, args...)
}

// output is what a child has written in all.
type output struct {
	stdout, stderr []string
	dropped        []int64
	partial        bool // of the last line of stdout
}

// collect receives until Lines is closed.
func collect(t *testing.T, c *Child) output {
	t.Helper()
	var out output
	deadline := time.After(patience)
	for {
		select {
		case line, ok := <-c.Lines():
			if !ok {
				return out
			}
			out.add(line)
		case <-deadline:
			t.Fatalf("Lines wasn't closed after %v; so far: %.2000q", patience, out.stdout)
		}
	}
}

func (o *output) add(line Line) {
	switch {
	case line.Oversize():
		o.dropped = append(o.dropped, line.Dropped)
	case line.Source == Stdout:
		o.stdout = append(o.stdout, string(line.Data))
		o.partial = line.Partial
	default:
		o.stderr = append(o.stderr, string(line.Data))
	}
}

// next receives one line of stdout.
func next(t *testing.T, c *Child) string {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case line, ok := <-c.Lines():
			if !ok {
				t.Fatalf("want a line, but the child is gone: %v; stderr: %s", c.Exit(), c.StderrTail())
			}
			if line.Source == Stdout {
				return string(line.Data)
			}
		case <-deadline:
			t.Fatalf("no line after %v", patience)
		}
	}
}

// discard receives in the background until Lines is closed.
func discard(c *Child) {
	go func() {
		for range c.Lines() {
		}
	}()
}

// hostEnv makes the test binary a host that is to be killed: the value says how
// it starts its child.
const hostEnv = "PROC_TEST_HOST"

// prestartEnv makes such a host start its shim ahead, say so, and wait for the end
// of its input until it starts its child, which has the value in its environment.
const prestartEnv = "PROC_TEST_PRESTART"

// terminalEnv gives the child of such a host a terminal.
const terminalEnv = "PROC_TEST_TERMINAL"

// beHost starts a child and passes its lines on until it is killed.
func beHost(script string) int {
	spec := Spec{Argv: bash(script), Env: []string{"PATH=/usr/bin:/bin"}, Supervise: true}
	if os.Getenv(terminalEnv) != "" {
		spec.Terminal = &TerminalSize{}
	}
	if mark := os.Getenv(prestartEnv); mark != "" {
		spec.Shim = Prestart()
		spec.Env = append(spec.Env, prestartEnv+"="+mark)
		fmt.Println("prestarted")
		_, _ = os.Stdin.Read(make([]byte, 1))
	}
	c, err := Start(context.Background(), spec)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(c.Pid())
	if t := c.Terminal(); t != nil {
		for lines := bufio.NewScanner(t); lines.Scan(); {
			fmt.Println(strings.TrimSuffix(lines.Text(), "\r"))
		}
	}
	for line := range c.Lines() {
		fmt.Println(string(line.Data))
	}
	return 0
}
