//go:build !linux

package journal

import "os"

// datasync puts a file on the disk.
func datasync(f *os.File) error { return f.Sync() }
