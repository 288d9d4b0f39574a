//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// lock: flock belongs to the open file, so that it conflicts within a process too.
func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrHeld
		default:
			return err
		}
	}
}

// unlock: closing alone would leave it locked while a child that is being forked still
// has the descriptor.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	f.Close()
}
