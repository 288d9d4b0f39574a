package host

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// Remove removes a session with all its files. One that is not there is no error;
// journal.ErrLocked says that it runs somewhere.
func Remove(stateDir, id string) error {
	// Whatever its metadata say, it goes: far in the future everything is over.
	_, err := prune(stateDir, id, time.Now().AddDate(100, 0, 0), os.RemoveAll)
	if errors.Is(err, fs.ErrNotExist) {
		if _, stat := os.Stat(SessionDir(stateDir, id)); errors.Is(stat, fs.ErrNotExist) {
			return nil
		}
	}
	return err
}
