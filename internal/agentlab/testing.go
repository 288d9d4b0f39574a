//go:build unix

package agentlab

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// Main is a TestMain: it installs the agents if need be, goes into a network
// namespace, runs the tests there and exits. With -short it only runs the tests.
// What cannot be had (npm, a namespace) is said on stderr; tests that need the
// agents fail in New then, all others run.
func Main(m *testing.M) {
	flag.Parse()
	if !testing.Short() {
		Prepare()
	}
	os.Exit(m.Run())
}

// installTime bounds an installation: it took 40 to 100 s on two cores.
const installTime = 15 * time.Minute

// Prepare is what Main does before it runs the tests, for packages that have a
// TestMain of their own. Only the inner run of Isolate returns from it.
func Prepare() {
	ctx, cancel := context.WithTimeout(context.Background(), installTime)
	defer cancel()
	if err := Install(ctx, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "agentlab:", err)
	}
	if err := Isolate(); err != nil {
		fmt.Fprintf(os.Stderr, "agentlab: %v; the agents run with the network of this machine\n", err)
	}
}

// graceTime is how long processes may take to end after the test is over: the CLI
// below claude-agent-acp took 3 to 6 s.
const graceTime = 15 * time.Second

// New makes a lab for one test. The test is skipped with -short, and where there
// is no npm and nothing is installed; it fails when a process of the lab outlives
// it by more than graceTime.
func New(t testing.TB) *Lab {
	t.Helper()
	if testing.Short() {
		t.Skip("real agents are not run with -short")
	}
	requireAgents(t)
	l, err := Open()
	if err != nil {
		t.Fatalf("opening a lab: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), graceTime)
		defer cancel()
		left, err := l.AwaitNone(ctx)
		if err != nil {
			t.Errorf("looking for processes: %v", err)
		}
		for _, p := range left {
			t.Errorf("left behind after %v: %v", graceTime, p)
		}
		if err := l.Close(); err != nil {
			t.Errorf("closing the lab: %v", err)
		}
	})
	return l
}

// requireAgents skips or fails a test when the agents are not installed. It does
// not install them: the test may stand in a namespace without network.
func requireAgents(t testing.TB) {
	t.Helper()
	err := Installed()
	if err == nil {
		return
	}
	if _, missing := exec.LookPath("npm"); missing != nil {
		t.Skipf("the agents are not installed (%v) and npm is not on the PATH", err)
	}
	t.Fatalf("the agents are not installed (%v); does TestMain call agentlab.Main, and what did it say?", err)
}
