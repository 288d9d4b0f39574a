package agentlab

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// crash makes TestCrash do its work.
const crash = "AGENTLAB_TEST_CRASH"

// TestCrash is run by TestIsolateSweeps in a process of its own: it leaves a lab
// open with a process in it, as a test does that panics.
func TestCrash(t *testing.T) {
	if os.Getenv(crash) == "" {
		t.Skip("a part of TestIsolateSweeps")
	}
	l := openLab(t)
	cmd := exec.Command("sleep", "600")
	cmd.Env = l.Env()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("crashed %s %s\n", l.root, l.mark())
	os.Exit(3)
}

// When a test crashes, the outer run kills what it left and passes its code on.
func TestIsolateSweeps(t *testing.T) {
	if testing.Short() {
		t.Skip("Main does not isolate with -short")
	}
	if !Isolated() {
		t.Skip("the system gave us no network namespace; Main said why on stderr")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestCrash$")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, runMarker+"=") })
	cmd.Env = append(cmd.Env, crash+"=1")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Fatalf("got %v and %q, want exit code 3", err, out)
	}
	f := strings.Fields(string(out))
	if len(f) != 3 || f[0] != "crashed" {
		t.Fatalf("the crashing run said %q", out)
	}
	defer os.RemoveAll(f[1])
	if left, err := find(f[2], nil); err != nil || len(left) > 0 {
		t.Errorf("left after the crash: %v, %v", left, err)
		killMarked(f[2])
	}
}
