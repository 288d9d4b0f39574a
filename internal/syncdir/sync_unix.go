//go:build unix

package syncdir

import "os"

// Sync puts a directory's entries on the disk.
func Sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
