package syncdir

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"
)

func TestSync(t *testing.T) {
	dir := t.TempDir()
	if err := Sync(dir); err != nil {
		t.Errorf("Sync = %v, want nil", err)
	}
	if err := Sync(filepath.Join(dir, "gone")); runtime.GOOS != "windows" && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Sync of a directory that is not there = %v, want that", err)
	}
}
