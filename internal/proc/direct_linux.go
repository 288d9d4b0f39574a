package proc

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agenthost/agenthost/internal/proc/shim"
)

// awaitZombie blocks until the process has ended, and leaves it to be reaped. It
// reports whether the system can do that.
func awaitZombie(pid int) bool {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

// endGroup has nothing left to do here: endAll went over the group.
func endGroup(int, func() bool) {}

// groupAttr puts a process in a session and group of its own, and ends it with the
// thread that starts it. With terminal its standard input becomes its controlling
// terminal.
func groupAttr(terminal bool) *syscall.SysProcAttr { return shim.Attr(terminal) }
