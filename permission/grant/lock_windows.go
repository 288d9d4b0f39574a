package grant

import (
	"os"

	"golang.org/x/sys/windows"
)

// checksMode: Windows has no permission bits, the directory's list counts.
const checksMode = false

// lock takes the file for this process and blocks until it has it. A holder keeps
// it for one write.
func lock(f *os.File) (unlock func(), err error) {
	// The byte locked lies beyond any content: locks are mandatory on Windows.
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	h := windows.Handle(f.Fd())
	if err := windows.LockFileEx(h, windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, at); err != nil {
		return nil, err
	}
	return func() { _ = windows.UnlockFileEx(h, 0, 1, 0, at) }, nil
}
