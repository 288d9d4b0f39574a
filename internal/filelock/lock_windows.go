package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lock takes a byte far behind the content, since locks are mandatory on Windows and the
// content is for everybody.
func lock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrHeld
	}
	return err
}

func unlock(f *os.File) { f.Close() }
