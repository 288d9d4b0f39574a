//go:build unix && !linux

package proc

import (
	"context"
	"syscall"
	"time"
)

// family is empty here: there is no portable list of processes. What left the
// process group stays.
type family []struct{}

func (family) signal(syscall.Signal) {}

func (f family) living() family { return f }

func (f family) with(family) family { return f }

func descendants(int) family { return nil }

func survivors(int, string, family) family { return nil }

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
		for pause := newPause(); alive() && !hurried() && time.Since(begin) < leftoverGrace; {
			pause.wait()
		}
	}
	begin = time.Now()
	for pause := newPause(); alive() && time.Since(begin) < sweepLimit; {
		_ = syscall.Kill(-group, syscall.SIGKILL)
		pause.wait()
	}
}

// groupAttr puts a process in a session and group of its own, see the Linux one.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// MaybeShim does nothing: only Linux has the shim.
func MaybeShim() {}

func (p *Process) start(_ context.Context, l Launch) error { return p.startDirect(l) }
