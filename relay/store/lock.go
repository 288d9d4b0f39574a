//go:build !lite

package store

import (
	"fmt"
	"os"
	"path/filepath"
)

// lockDir takes a directory for one server: two that write the same files would
// destroy them, and nothing below keeps them apart. Closing the file gives it back.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the store: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "relay.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the store: %w", err)
	}
	ok, err := lockFile(f)
	switch {
	case err != nil:
		err = fmt.Errorf("locking the store %s: %w", dir, err)
	case !ok:
		err = fmt.Errorf("another relay runs on the store %s", dir)
	default:
		return f, nil
	}
	_ = f.Close()
	return nil, err
}
