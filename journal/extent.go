package journal

import "os"

// Extent is how far a journal goes, as its files tell without being read: one that has
// the extent that it had has the envelopes that it had, if it was closed without an error
// and Options.Sync is not SyncOff.
type Extent struct {
	// Oldest and Last are the positions at which its first and its last segment begin,
	// Bytes is the size of the latter.
	Oldest Position `json:"oldest,omitzero"`
	Last   Position `json:"last,omitzero"`
	Bytes  int64    `json:"bytes"`
}

// Extent is the extent of what was appended.
func (j *Journal) Extent() Extent {
	j.mu.Lock()
	defer j.mu.Unlock()
	return Extent{Oldest: j.segments[0].first, Last: j.segments[len(j.segments)-1].first, Bytes: j.size}
}

// Extent is the extent of what is there now, half lines included. It is zero for a
// journal without segments.
func (r *Reader) Extent() (Extent, error) {
	list, err := listSegments(r.dir)
	if err != nil || len(list) == 0 {
		return Extent{}, err
	}
	last := list[len(list)-1]
	info, err := os.Stat(last.path(r.dir))
	if err != nil {
		return Extent{}, err
	}
	return Extent{Oldest: list[0].first, Last: last.first, Bytes: info.Size()}, nil
}
