//go:build unix

package daemon

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// errLocked says that another process has the lock.
var errLocked = errors.New("locked")

// openLock locks a file. The kernel frees the lock when the process dies, however
// it dies, and no other process can inherit its number.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return f, nil
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// closeLock gives the lock back. Closing alone would leave it with a child that is
// being forked and has the descriptor still.
func closeLock(f *os.File) {
	_ = flock(f, syscall.LOCK_UN)
	f.Close()
}
