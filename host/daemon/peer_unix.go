//go:build unix

package daemon

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// privateDir makes a directory that only this user can look into.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: want a directory", dir)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s: want a directory of this user, got one of user %d", dir, st.Uid)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// refused reports whether nobody listens on a socket that is there.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
