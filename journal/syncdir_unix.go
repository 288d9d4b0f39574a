//go:build unix

package journal

import "os"

// syncDir puts a directory's entries on the disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
