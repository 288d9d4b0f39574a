package policy

import (
	"strings"

	"golang.org/x/sys/unix"
)

// straight reports whether no part of the absolute, clean path that exists is a
// symlink; the rest may be missing. False says nothing. The kernel says it in one go: a
// directory is found, nothing else is one, and which of the two it minds tells that it
// got there. O_PATH only looks: an open for reading or writing is put to the file system
// itself, and NFS of some kernels (5.17, and older ones it was taken into) minded that a
// symlink at the end was no directory before its path was followed.
func straight(path string) bool {
	// What /proc and /dev hold depends on who looks.
	if strings.HasPrefix(path, "/proc") || strings.HasPrefix(path, "/dev") {
		return false
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	switch err {
	case nil:
		_ = unix.Close(fd)
		return true
	case unix.ENOTDIR, unix.ENOENT:
		return true
	}
	return false // a link, one that may not be looked into, or a kernel without the call
}
