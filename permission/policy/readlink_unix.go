//go:build unix

package policy

import (
	"os"

	"golang.org/x/sys/unix"
)

// readlink gives what the symlink path leads to, "" when it is no link; gone says
// that there is nothing of that name. os.Readlink does the same with an error and
// three allocations for every path that is no link, which nearly all are.
func readlink(path string) (target string, gone bool) {
	var buf [256]byte
	n, err := unix.Readlink(path, buf[:])
	switch {
	case err != nil && err != unix.EINTR:
		return "", err == unix.ENOENT
	case err == nil && n < len(buf):
		return string(buf[:n]), false
	}
	// Long, or interrupted.
	target, err = os.Readlink(path)
	return target, os.IsNotExist(err)
}
