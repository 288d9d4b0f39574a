//go:build linux || darwin || freebsd

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// room is what is left for us on the disk of dir, in bytes; false when not known.
func room(dir string) (int64, bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

// readable reports whether others than the owner can read a directory.
func readable(mode fs.FileMode) bool { return mode.Perm()&0o055 != 0 }

// checkTerminal opens a pseudo-terminal, which the agents' own interfaces need.
func checkTerminal() finding {
	f := finding{Check: "terminal", Status: healthy, Detail: "pseudo-terminals can be made"}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		f.Status, f.Detail, f.Mend = doubtful, err.Error(), "mount devpts (a container needs /dev/pts), for agents' own interfaces"
		return f
	}
	_ = master.Close()
	return f
}
