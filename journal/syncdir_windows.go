package journal

// syncDir does nothing: NTFS journals directory entries, and a directory handle
// cannot be flushed.
func syncDir(string) error { return nil }
