package journal

import "os"

// Synced is the position before which everything is on the disk.
func (j *Journal) Synced() Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.synced
}

// Active replaces the file that is written, for faults.
func (j *Journal) Active(f *os.File) (old *os.File) {
	j.mu.Lock()
	defer j.mu.Unlock()
	old, j.active = j.active, f
	return old
}
