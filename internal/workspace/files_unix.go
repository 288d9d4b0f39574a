//go:build unix

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblock keeps the opening of a FIFO from waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// hasOtherLinks reports whether the file has other names. An unknown number counts
// as one more.
func hasOtherLinks(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || stat.Nlink > 1
}

// keepOwner gives a file the owner of the one it replaces, if we may; only root
// may, and only for root it matters.
func keepOwner(file *os.File, old fs.FileInfo) {
	if stat, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(int(stat.Uid), int(stat.Gid))
	}
}
