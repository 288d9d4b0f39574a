// Package leaktest fails a package's tests when they leave goroutines behind.
//
//	func TestMain(m *testing.M) { leaktest.Main(m, "relay/peer.", "coder/websocket") }
//
// Files does the same for files in the directory for temporary ones.
//
// Names narrow it down where libraries keep goroutines of their own: only those whose
// stack mentions one of them count. Without names every goroutine does.
package leaktest

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience is how long goroutines may take to end behind the last test.
const patience = 10 * time.Second

// Main runs the tests and exits: with 1 when they passed and goroutines are left. The
// fuzzing engine leaves its own behind, which count where no names are given: such a
// run is not checked.
func Main(m *testing.M, of ...string) { os.Exit(Run(m, of...)) }

// Run is Main that gives the code to exit with.
func Run(m *testing.M, of ...string) int {
	before := runtime.NumGoroutine()
	code := m.Run()
	fuzzing := flag.Lookup("test.fuzz").Value.String() != ""
	if code == 0 && (len(of) > 0 || !fuzzing) {
		if left := left(before, of); left != "" {
			fmt.Fprintln(os.Stderr, "goroutines left behind:\n"+left)
			code = 1
		}
	}
	return code
}

// Files gives tests a directory of their own for temporary files, and returns the code
// of run, or 1 when they passed and something is left there. A fuzzing run, whose
// processes are killed, is not checked.
func Files(run func() int) int {
	if flag.Parse(); flag.Lookup("test.fuzz").Value.String() != "" {
		return run()
	}
	before := os.Getenv("TMPDIR")
	defer os.Setenv("TMPDIR", before)
	dir, err := os.MkdirTemp("", "t") // a short name: that of a socket is bounded
	if err == nil {
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	code := run()
	entries, err := os.ReadDir(dir)
	if code == 0 && (err != nil || len(entries) > 0) {
		fmt.Fprintf(os.Stderr, "%d files are left in the directory for temporary ones, like %v (%v)\n", len(entries), entries[:min(len(entries), 3)], err)
		code = 1
	}
	return code
}

// Left returns the stacks of the goroutines that mention one of the names and do not
// end, empty when all do: for a TestMain that checks more.
func Left(of ...string) string { return left(0, of) }

func left(before int, of []string) string {
	for deadline := time.Now().Add(patience); ; runtime.Gosched() {
		var stacks []string
		if len(of) > 0 || runtime.NumGoroutine() > before {
			stacks = mentioning(of)
		}
		if len(stacks) == 0 || time.Now().After(deadline) {
			return strings.Join(stacks, "\n\n")
		}
	}
}

// mentioning are the stacks that mention one of the names, all without names.
func mentioning(of []string) []string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var found []string
	for stack := range strings.SplitSeq(string(buf), "\n\n") {
		if len(of) == 0 {
			found = append(found, stack)
			continue
		}
		for _, name := range of {
			if strings.Contains(stack, name) && !strings.Contains(stack, "TestMain") {
				found = append(found, stack)
				break
			}
		}
	}
	return found
}
