//go:build unix && !lite

package store

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks a file for this process: false when another one has it. The kernel
// frees the lock when the process dies, however it dies.
func lockFile(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, err
		}
	}
}
