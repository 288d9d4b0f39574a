package policy

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel says whether a link is on the way, and nothing is opened for it: not a
// pipe, whose other end would notice, nor what may not be written.
func TestStraight(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Access("/proc/self/fd", unix.X_OK); err != nil {
		t.Skip("the test counts open files in /proc, which is not there: ", err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(root+"/dir/.git", 0o700))
	must(os.Mkdir(root+"/readonly", 0o500))
	must(os.WriteFile(root+"/dir/file", []byte("x"), 0o400))
	must(unix.Mkfifo(root+"/dir/pipe", 0o600))
	must(os.Symlink("dir", root+"/link"))
	must(os.Symlink("file", root+"/dir/last"))
	must(os.Symlink("nowhere", root+"/dir/dangling"))
	if _, err := unix.Openat2(unix.AT_FDCWD, root, &unix.OpenHow{Flags: unix.O_PATH}); errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		t.Skip("this kernel has no openat2 for us: ", err)
	}
	pipe, err := unix.Open(root+"/dir/pipe", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	must(err)
	defer unix.Close(pipe)
	before := openFiles(t)
	for path, want := range map[string]bool{
		"": true, "/dir": true, "/dir/.git": true, "/dir/file": true, "/dir/pipe": true, "/readonly": true,
		"/dir/gone": true, "/gone/gone": true, "/dir/file/below": true, "/readonly/gone": true,
		"/link": false, "/link/file": false, "/link/gone": false, "/dir/last": false, "/dir/dangling": false, "/dir/dangling/x": false,
	} {
		if got := straight(root + path); got != want {
			t.Errorf("straight(%q) = %v, want %v", path, got, want)
		}
	}
	for _, path := range []string{"/proc/self", "/dev/stdin", "/dev/fd/0"} {
		if straight(path) {
			t.Errorf("%s is told to be without links", path)
		}
	}
	if now := openFiles(t); now != before {
		t.Errorf("%d files are open, there were %d", now, before)
	}
	// A writer that opened the pipe and left would be seen by poll as a hang-up.
	fds := []unix.PollFd{{Fd: int32(pipe), Events: unix.POLLIN}}
	if _, err := unix.Poll(fds, 0); err != nil || fds[0].Revents != 0 {
		t.Errorf("the pipe was opened for writing: %v, %#x", err, fds[0].Revents)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
