//go:build unix

package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// explain turns the system's answer to an exec into words about the command. The
// system says "no such file" for a missing directory and a missing interpreter
// too.
func explain(err error, l Launch) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	path := l.Argv[0]
	fault := &StartError{Path: path, Err: errno}
	if l.Dir != "" {
		if info, err := os.Stat(l.Dir); err != nil || !info.IsDir() {
			fault.Reason = fmt.Sprintf("working directory %q is not a directory that can be entered", l.Dir)
			return fault
		}
	}
	info, statErr := os.Stat(path)
	switch {
	case errors.Is(statErr, fs.ErrNotExist):
		fault.Reason = "no such file"
	case statErr == nil && info.IsDir():
		fault.Reason = "it is a directory"
	case errno == syscall.ENOENT:
		fault.Reason = "the program that runs it is missing"
		if interpreter, _ := shebang(path); interpreter != "" {
			fault.Reason = fmt.Sprintf("its interpreter %q is missing", interpreter)
		}
	case errno == syscall.EACCES && statErr == nil && info.Mode()&0o111 == 0:
		fault.Reason = "it is not executable"
	case errno == syscall.ENOEXEC:
		fault.Reason = "it is neither a program of this system nor a script with a #! line"
	case errno == syscall.E2BIG:
		fault.Reason = "arguments and environment are too long"
	}
	return fault
}
