//go:build unix

package policy

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is what this process has used: on a busy machine the wall clock says
// little.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
