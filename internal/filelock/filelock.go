// Package filelock is a lock that one holder has, of all processes, and that the system
// gives back when its process dies, however it dies.
//
// Test with: go test ./internal/filelock.
package filelock

import (
	"errors"
	"fmt"
	"io/fs"
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

// Held reports whether somebody holds the lock of a file, here or in another process;
// nobody does when there is no file. It changes nothing, but a Try in the moment that it
// looks may be told that the lock is held.
func Held(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	switch err := share(f); {
	case errors.Is(err, ErrHeld):
		f.Close()
		return true, nil
	case err != nil:
		f.Close()
		return false, fmt.Errorf("looking at the lock of %s: %w", path, err)
	}
	unlock(f)
	return false, nil
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
