//go:build !lite

package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agenthost/agenthost/internal/filelock"
)

// lockDir takes a directory for one server: two that write the same files would
// destroy them, and nothing below keeps them apart.
func lockDir(dir string) (*filelock.Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the store: %w", err)
	}
	lock, err := filelock.Try(filepath.Join(dir, "relay.lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("another relay runs on the store %s", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("the store: %w", err)
	}
	return lock, nil
}
