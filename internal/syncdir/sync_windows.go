package syncdir

// Sync does nothing: NTFS journals directory entries, and a directory handle cannot be
// flushed.
func Sync(string) error { return nil }
