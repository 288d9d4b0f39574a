//go:build !lite

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile locks a file for this process: false when another one has it. The system
// frees the lock with the handle.
func lockFile(f *os.File) (bool, error) {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
