//go:build unix

package proc

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// wake makes reads of a pipe return with an error for which wokenBy holds.
func wake(f *os.File) { _ = f.SetReadDeadline(time.Unix(1, 0)) }

func wokenBy(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// readNow reads what a pipe holds at this moment; 0 or less means nothing.
func readNow(f *os.File, p []byte) int {
	if len(p) == 0 {
		return 0
	}
	// A deadline that has passed would refuse the read though there is data.
	if err := f.SetReadDeadline(time.Time{}); err != nil {
		return 0
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	// The pipe is non-blocking (os.Pipe), so that EAGAIN is "nothing left".
	err = conn.Read(func(fd uintptr) bool {
		for {
			n, err = syscall.Read(int(fd), p)
			if !errors.Is(err, syscall.EINTR) {
				return true
			}
		}
	})
	if err != nil {
		return 0
	}
	return n
}
