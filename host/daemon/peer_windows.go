package daemon

import (
	"errors"
	"os"
	"syscall"
)

// privateDir makes a directory. Below the user's profile, where state is kept,
// others have no access.
func privateDir(dir string) error { return os.MkdirAll(dir, 0o700) }

const wsaECONNREFUSED = syscall.Errno(10061)

func refused(err error) bool { return errors.Is(err, wsaECONNREFUSED) }
