package proc

import (
	"os"
	"strconv"
	"syscall"

	"github.com/agenthost/agenthost/internal/proc/kin"
	"github.com/agenthost/agenthost/internal/proc/shim"
)

// sweep ends the tree of a shim that was killed, and the shim. The child itself went
// with it (PR_SET_PDEATHSIG). What was below it is found by its marker and group, and
// because it is our child now, who are the next subreaper.
func (s *supervised) sweep(pid int, marker string) {
	var seen kin.Family
	known := func() kin.Family {
		found := kin.Survivors(pid, MarkerName, marker, seen)
		seen = append(seen, found...)
		return found
	}
	hurried := func() bool { return true }
	kin.EndAll(known, hurried, 0, sweepLimit)
	// The socket ends before the shim's children are ours.
	_ = s.process.Kill()
	_, _ = s.process.Wait()
	kin.EndAll(func() kin.Family {
		found := strays(marker)
		var roots []int
		for _, stray := range found {
			roots = append(roots, stray.Pid)
		}
		found = append(found, kin.Descendants(roots...)...)
		seen = append(seen, found...)
		return append(found, known()...)
	}, hurried, 0, sweepLimit)
	if child, ok := kin.ReadStat(pid); ok {
		seen = append(seen, child.Process)
	}
	seen.Reap()
}

// strays lists the living children of this process that it did not start and that
// belong to no other child: what a shim left and its marker does not tell.
func strays(marker string) kin.Family {
	self, ok := kin.ReadStat(os.Getpid())
	if !ok {
		return nil
	}
	// One of our own between fork and exec would look like one.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var found kin.Family
	for _, s := range kin.Processes() {
		// Everything below a shim has another session than we have. A child of ours
		// that is no shim's may have one of its own too, but then it has a marker.
		if s.Parent != self.Pid || s.Session == self.Session || s.Dead() || isShim(s.Pid) {
			continue
		}
		if other, set := kin.Variable(s.Pid, MarkerName); !set || other == marker {
			found = append(found, s.Process)
		}
	}
	return found
}

// isShim reports whether a process is a shim. It ends by itself when nobody has the
// other end of its socket, so that nothing can hide as one.
func isShim(pid int) bool {
	if _, set := kin.Variable(pid, shim.Variable); !set {
		return false
	}
	link := func(process string) string {
		name, _ := os.Readlink("/proc/" + process + "/exe")
		return name
	}
	exe := link("self")
	return exe != "" && exe == link(strconv.Itoa(pid))
}
