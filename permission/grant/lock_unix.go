//go:build unix

package grant

import (
	"os"

	"golang.org/x/sys/unix"
)

// checksMode: files have permission bits.
const checksMode = true

// lock takes the file for this process and blocks until it has it. A holder keeps
// it for one write.
func lock(f *os.File) (unlock func(), err error) {
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }, nil
}
