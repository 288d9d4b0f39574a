package proc

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be a shim and a host, and checks in the end that
// neither goroutines nor processes are left.
func TestMain(m *testing.M) {
	MaybeShim()
	code := m.Run()
	if left := leftGoroutines(); left != "" && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines left behind:\n"+left)
		code = 1
	}
	if left := leftProcesses(); left != "" && code == 0 {
		fmt.Fprintln(os.Stderr, "processes left behind:\n"+left)
		code = 1
	}
	os.Exit(code)
}

// leftGoroutines returns the stacks of this package's goroutines that don't end
// within some seconds.
func leftGoroutines() string {
	var left []string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		left = nil
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for _, stack := range strings.Split(string(stacks), "\n\n") {
			if strings.Contains(stack, "internal/proc.") && !strings.Contains(stack, "TestMain") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return ""
		}
	}
	return strings.Join(left, "\n\n")
}

// leftProcesses lists living children of this process.
func leftProcesses() string {
	out, err := exec.Command("ps", "-o", "pid,stat,args", "--ppid", fmt.Sprint(os.Getpid())).Output()
	if err != nil {
		return "" // ps fails when it lists nothing
	}
	var left []string
	for _, line := range strings.Split(string(out), "\n")[1:] {
		if line != "" && !strings.Contains(line, "ps -o") {
			left = append(left, line)
		}
	}
	return strings.Join(left, "\n")
}
