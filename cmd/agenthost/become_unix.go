//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// become replaces this process by another program, so that signals, exit code and
// process id are the program's.
func become(path string, args []string, _ *streams) error {
	err := syscall.Exec(path, append([]string{filepath.Base(path)}, args...), os.Environ())
	return fmt.Errorf("starting %s: %w", path, err)
}
