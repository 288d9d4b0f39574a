package proc

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/agenthost/agenthost/internal/proc/kin"
)

// TestTerminalDescriptors: neither children on terminals nor failed starts leave any,
// also when nobody read.
func TestTerminalDescriptors(t *testing.T) {
	leaksNoDescriptors(t, func() {
		for _, argv := range [][]string{{"/bin/true"}, {"/bin/sleep", "600"}, {"/no/such/program"}} {
			for _, supervise := range []bool{false, true} {
				c, err := Start(t.Context(), Spec{Argv: argv, Supervise: supervise, Terminal: &TerminalSize{}})
				if err == nil {
					c.Close()
				}
			}
		}
	})
}

// TestHostOnTerminalIsKilled: kill -9 of a host leaves nothing of a child on a terminal.
func TestHostOnTerminalIsKilled(t *testing.T) {
	t.Parallel()
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), hostEnv+"=trap '' HUP; setsid sleep 600 & echo $!; sleep 600", terminalEnv+"=1", "GORACE=atexit_sleep_ms=0")
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for in := bufio.NewScanner(out); len(pids) < 2 && in.Scan(); {
		if pid, err := strconv.Atoi(in.Text()); err == nil {
			pids = append(pids, pid)
		}
	}
	if len(pids) != 2 {
		t.Fatalf("the host told %v, want 2 ids", pids)
	}
	shim, ok := kin.ReadStat(pids[0])
	if !ok {
		t.Fatal("the child is gone")
	}
	_ = host.Process.Kill()
	_ = host.Wait()
	for _, pid := range append(pids, shim.Parent) {
		wait(t, "everything is gone", func() bool { return gone(pid) })
	}
	adopted(shim.Parent)
}
