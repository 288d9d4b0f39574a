//go:build unix && !linux

package proc

import (
	"context"
	"syscall"
	"time"

	"github.com/agenthost/agenthost/internal/proc/kin"
)

func awaitZombie(int) bool { return false }

// endGroup ends the members of the group whose leader was reaped. The kernel
// gives no new process the id of a group that has members.
func endGroup(group int, hurried func() bool) {
	alive := func() bool { return syscall.Kill(-group, 0) == nil }
	if !alive() {
		return
	}
	begin := time.Now()
	if !hurried() {
		_ = syscall.Kill(-group, syscall.SIGTERM)
		for pause := kin.NewPause(); alive() && !hurried() && time.Since(begin) < leftoverGrace; {
			pause.Wait()
		}
	}
	begin = time.Now()
	for pause := kin.NewPause(); alive() && time.Since(begin) < sweepLimit; {
		_ = syscall.Kill(-group, syscall.SIGKILL)
		pause.Wait()
	}
}

// groupAttr puts a process in a session and group of its own, see the Linux one.
func groupAttr(terminal bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: terminal} // Ctty is the child's descriptor 0
}

func (p *Process) start(_ context.Context, l Launch) error { return p.startDirect(l) }
