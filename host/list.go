package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Lister lists the sessions of a state directory again and again, and reads only what
// may have changed: thousands of sessions that rest cost a look at each directory, of
// whatever file system, without a watch on each. It is not safe for concurrent use.
type Lister struct {
	StateDir string

	seen map[string]sighting
}

// sighting is when a session's directory had changed last, and when that was seen.
type sighting struct{ changed, at time.Time }

// certain is after how long a change that was seen is the last one: the times of files
// have steps, and what is written twice within one looks like written once.
const certain = 2 * time.Second

// Listed is what became of the sessions since the call before.
type Listed struct {
	// Changed are the metadata of those that came or may have changed, the newest
	// first. Unread are ids of those whose metadata cannot be read.
	Changed []Meta
	Unread  []string
	// Gone are the ids of those that were there.
	Gone []string
}

// List looks at all sessions. The first time all that can be read have changed.
func (l *Lister) List() (Listed, error) {
	entries, err := os.ReadDir(filepath.Join(l.StateDir, "sessions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Listed{}, err
	}
	var changed []string
	now := make(map[string]sighting, len(entries))
	for _, e := range entries {
		id := e.Name()
		info, err := os.Stat(SessionDir(l.StateDir, id))
		if err != nil {
			continue // it has just been removed
		}
		s := sighting{info.ModTime(), time.Now()}
		if before, ok := l.seen[id]; ok && before.changed.Equal(s.changed) && before.at.Sub(before.changed) > certain {
			now[id] = before
			continue
		}
		now[id] = s
		changed = append(changed, id)
	}
	out := l.read(changed)
	for id := range l.seen {
		if _, ok := now[id]; !ok {
			out.Gone = append(out.Gone, id)
		}
	}
	l.seen = now
	slices.SortStableFunc(out.Changed, func(a, b Meta) int { return int(b.Updated - a.Updated) })
	return out, nil
}

// readAtOnce is how many metadata are read at once.
const readAtOnce = 4

// read reads the metadata of sessions.
func (l *Lister) read(ids []string) (out Listed) {
	metas, faults := make([]Meta, len(ids)), make([]error, len(ids))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(readAtOnce, len(ids)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(ids)); i = next.Add(1) - 1 {
				metas[i], faults[i] = readMeta(l.StateDir, ids[i])
			}
		})
	}
	wg.Wait()
	for i, id := range ids {
		if faults[i] == nil {
			out.Changed = append(out.Changed, metas[i])
		} else {
			out.Unread = append(out.Unread, id)
		}
	}
	return out
}
