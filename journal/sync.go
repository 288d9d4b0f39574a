package journal

import (
	"os"
	"time"

	"github.com/agenthost/agenthost/internal/syncdir"
)

// Sync puts on the disk what was appended before the call. Concurrent calls
// share the work. The host calls it before it passes a permission on and at the
// end of a turn. Under SyncOff it does nothing.
func (j *Journal) Sync() error {
	if j.opts.Sync == SyncOff {
		return j.err()
	}
	j.flushing.Lock()
	defer j.flushing.Unlock()
	j.mu.Lock()
	if j.failed != nil || j.closed || j.synced == j.end {
		err := j.failed
		j.mu.Unlock()
		return err
	}
	f, end, unlisted := j.active, j.end, j.unlisted
	if j.timer != nil {
		j.timer.Stop()
		j.timer = nil
	}
	j.mu.Unlock()

	err := j.flush(f, unlisted)

	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil && j.synced >= end {
		// Meanwhile a new segment was begun: that synced this one and closed it.
		err = nil
	}
	if err != nil {
		// The kernel may have dropped the dirty pages: a second attempt would
		// succeed without having written them.
		return j.fail("sync", err)
	}
	if j.synced = max(j.synced, end); j.active == f {
		j.unlisted = false
	}
	if j.synced < j.end {
		j.schedule()
	}
	return j.failed
}

// flush puts a segment on the disk, and its name if that may not be there yet: a new
// journal's name is not waited for before there is something to keep.
func (j *Journal) flush(f *os.File, unlisted bool) error {
	if err := datasync(f); err != nil || !unlisted {
		return err
	}
	return syncdir.Sync(j.dir)
}

func (j *Journal) err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// schedule makes sure that a sync comes under SyncInterval. mu is held.
func (j *Journal) schedule() {
	if j.opts.Sync != SyncInterval || j.timer != nil || j.closed {
		return
	}
	j.timer = time.AfterFunc(j.opts.Interval, func() {
		j.mu.Lock()
		j.timer = nil
		j.mu.Unlock()
		_ = j.Sync() // final failures are kept for the next caller
	})
}
