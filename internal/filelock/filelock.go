// Package filelock is a lock that one holder has, of all processes, and that the system
// gives back when its process dies, however it dies.
//
// Test with: go test ./internal/filelock.
package filelock

import (
	"errors"
	"fmt"
	"os"
)

// ErrHeld says that somebody else holds the lock, here or in another process.
var ErrHeld = errors.New("somebody else holds the lock")

// Lock is a lock that is held.
type Lock struct{ f *os.File }

// Try takes the lock of a file, which is made when it is not there and stays. It waits
// for nobody: the error wraps ErrHeld then. The file's content is the holder's (see
// Note) and may be read by others.
func Try(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return &Lock{f}, nil
}

// Note replaces the content of the file.
func (l *Lock) Note(text string) error {
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err := l.f.WriteAt([]byte(text), 0)
	return err
}

// Unlock gives the lock back. The file stays: removing it would let two holders lock
// two files of one name.
func (l *Lock) Unlock() { unlock(l.f) }
