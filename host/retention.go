package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/agenthost/agenthost/journal"
)

// Prune removes the sessions in stateDir that were over before the given time.
// A session that is open anywhere, or was gone on with meanwhile, is left alone.
// It returns the ids removed.
func Prune(stateDir string, before time.Time) ([]string, error) {
	all, err := List(stateDir)
	if err != nil {
		return nil, err
	}
	var removed []string
	faults := []error{sweep(stateDir)}
	for _, m := range all {
		if !time.UnixMilli(m.Updated).Before(before) {
			continue
		}
		switch gone, err := prune(stateDir, m.ID, before, os.RemoveAll); {
		case errors.Is(err, journal.ErrLocked), errors.Is(err, fs.ErrNotExist):
			// It is being used, or another Prune was faster.
		case err != nil:
			faults = append(faults, err)
		case gone:
			removed = append(removed, m.ID)
		}
	}
	return removed, errors.Join(faults...)
}

// removedPrefix begins the names of sessions' directories that are being removed.
// No id begins like this.
const removedPrefix = ".removed-"

// prune removes a session that was over before the given time and reports whether
// it did. The directory gets another name while nobody else can open its journal,
// and is removed under that: whoever starts a session of the same id meanwhile
// gets a directory of its own, which nobody takes away.
func prune(stateDir, id string, before time.Time, remove func(string) error) (bool, error) {
	dir := SessionDir(stateDir, id)
	if _, err := os.Stat(dir); err != nil {
		return false, err // opening the journal would make it
	}
	j, err := journal.Open(filepath.Join(dir, "journal"), journal.Options{})
	if err != nil {
		return false, err
	}
	defer j.Close()
	// Somebody may have gone on with it since it was listed.
	if m, err := readMeta(stateDir, id); err != nil || !time.UnixMilli(m.Updated).Before(before) {
		return false, err
	}
	if err := removeSocketDir(dir); err != nil { // of a host that was killed
		return false, err
	}
	if runtime.GOOS == "windows" {
		// There a directory with open files cannot be renamed: neither can one that
		// somebody opens now.
		_ = j.Close()
	}
	aside := filepath.Join(filepath.Dir(dir), removedPrefix+id)
	if err := os.Rename(dir, aside); err != nil {
		return false, err
	}
	return true, remove(aside)
}

// sweep removes what an earlier Prune could not remove whole.
func sweep(stateDir string) error {
	dir := filepath.Join(stateDir, "sessions")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // List told of it
	}
	var faults []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), removedPrefix) {
			faults = append(faults, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(faults...)
}
