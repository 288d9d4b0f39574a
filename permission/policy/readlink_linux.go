package policy

import (
	"strings"

	"golang.org/x/sys/unix"
)

// straight reports whether no part of the absolute, clean path that exists is a
// symlink; the rest may be missing. False says nothing. The kernel says it in one go,
// refusing in any case: nothing that is no directory is a directory, a directory is
// never open for writing, and which of the two it minds tells that it got there.
func straight(path string) bool {
	// What /proc and /dev hold depends on who looks.
	if strings.HasPrefix(path, "/proc") || strings.HasPrefix(path, "/dev") {
		return false
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_WRONLY | unix.O_DIRECTORY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	switch err {
	case unix.EISDIR, unix.ENOTDIR, unix.ENOENT:
		return true
	case nil: // a file system of its own ways
		_ = unix.Close(fd)
	}
	return false // a link, one that may not be looked into, or a kernel without the call
}
