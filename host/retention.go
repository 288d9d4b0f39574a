package host

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/agenthost/agenthost/journal"
)

// Prune removes the sessions in stateDir that were over before the given time.
// A session that is open anywhere is left alone. It returns the ids removed.
func Prune(stateDir string, before time.Time) ([]string, error) {
	all, err := List(stateDir)
	if err != nil {
		return nil, err
	}
	var removed []string
	var faults []error
	for _, m := range all {
		if !time.UnixMilli(m.Updated).Before(before) {
			continue
		}
		switch err := prune(SessionDir(stateDir, m.ID)); {
		case errors.Is(err, journal.ErrLocked):
		case err != nil:
			faults = append(faults, err)
		default:
			removed = append(removed, m.ID)
		}
	}
	return removed, errors.Join(faults...)
}

// prune removes a session's directory while nobody else can open its journal.
func prune(dir string) error {
	j, err := journal.Open(filepath.Join(dir, "journal"), journal.Options{})
	if err != nil {
		return err
	}
	defer j.Close()
	return os.RemoveAll(dir)
}
