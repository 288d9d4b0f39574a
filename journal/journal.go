package journal

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/filelock"
)

// Position is the index of a line over all segments. 0 is the first and a valid
// position like any other; the zero value never means "none".
type Position int64

// SyncPolicy says when Append's work goes to the disk by itself.
type SyncPolicy int

const (
	// SyncInterval syncs at most Options.Interval after an Append. It is the default.
	SyncInterval SyncPolicy = iota
	// SyncAlways syncs before Append returns.
	SyncAlways
	// SyncOff never syncs, not even when asked to with Sync: envelopes survive the
	// host's death but not the machine's.
	SyncOff
)

// Options are the settings of a Journal. The zero value has the defaults.
type Options struct {
	Sync SyncPolicy
	// Interval is the time between an Append and the sync under SyncInterval,
	// 20 ms when 0: as long as a person does not notice, and far longer than one
	// sync takes.
	Interval time.Duration
	// SegmentBytes is the size from which on a new segment is begun, 16 MiB when
	// 0. It bounds what opening and finding a position read, and what Trim keeps
	// too much. A batch is never split over segments, so one may be larger.
	SegmentBytes int64
	// Damaged is told of every damaged place that a read meets, nil for nobody. It
	// must be safe for concurrent use and must not call the Journal.
	Damaged func(Damage)
}

const (
	defaultInterval     = 20 * time.Millisecond
	defaultSegmentBytes = 16 << 20
)

func (o Options) withDefaults() Options {
	if o.Interval <= 0 {
		o.Interval = defaultInterval
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = defaultSegmentBytes
	}
	if o.Damaged == nil {
		o.Damaged = func(Damage) {}
	}
	return o
}

// Journal is a session's journal, open for writing. Make it with Open.
type Journal struct {
	dir  string
	opts Options
	lock *filelock.Lock

	// flushing is held during a sync, so that concurrent ones share it. It is
	// taken before mu.
	flushing sync.Mutex

	mu       sync.Mutex
	segments []segment     // guarded by mu; the last one is active
	end      Position      // guarded by mu; where the next envelope goes
	synced   Position      // guarded by mu; everything before is on the disk
	active   *os.File      // guarded by mu; the last segment
	size     int64         // guarded by mu; of active, whole lines only
	unlisted bool          // guarded by mu; the name of active may not be on the disk
	wake     chan struct{} // guarded by mu; closed at the next change, nil when nobody waits
	timer    *time.Timer   // guarded by mu; the pending sync, nil when none
	failed   error         // guarded by mu; the *WriteError after which nothing works
	closed   bool          // guarded by mu
	buf      []byte        // guarded by mu; Append's
}

// ErrClosed says that the Journal was closed.
var ErrClosed = errors.New("journal closed")

// WriteError is a failure of the disk. It is final: every later Append and Sync
// returns it again.
type WriteError struct {
	// Op is "write", "sync", "create" or "close".
	Op string
	// Err is the operating system's, like syscall.ENOSPC.
	Err error
}

func (e *WriteError) Error() string { return "journal: " + e.Op + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *WriteError) Unwrap() error { return e.Err }

// Append adds envelopes and returns the position of the first. All are added or
// none. An error of encoding (contract.Faults) says that nothing was written and
// the Journal goes on; a *WriteError is final. Without envelopes it returns End.
func (j *Journal) Append(envs ...contract.Envelope) (Position, error) {
	first, err := j.append(envs)
	if err == nil && j.opts.Sync == SyncAlways {
		err = j.Sync()
	}
	return first, err
}

// keepBuffer is how much of Append's buffer is kept for the next one, so that one
// huge envelope does not hold its memory for the session's life.
const keepBuffer = 1 << 20

func (j *Journal) append(envs []contract.Envelope) (Position, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil || len(envs) == 0 {
		return j.end, err
	}
	buf := j.buf[:0]
	for i, e := range envs {
		var err error
		if buf, err = e.AppendJSON(buf); err != nil {
			return j.end, fmt.Errorf("encoding envelope %d of %d: %w", i+1, len(envs), err)
		}
		buf = append(buf, '\n')
	}
	if j.buf = buf; cap(buf) > keepBuffer {
		j.buf = nil
	}
	if j.size >= j.opts.SegmentBytes {
		if err := j.roll(); err != nil {
			return j.end, err
		}
	}
	if err := j.write(buf); err != nil {
		return j.end, err
	}
	first := j.end
	j.end += Position(len(envs))
	j.changed()
	j.schedule()
	return first, nil
}

// usable reports why nothing can be written, nil when something can. mu is held.
func (j *Journal) usable() error {
	if j.failed != nil {
		return j.failed
	}
	if j.closed {
		return ErrClosed
	}
	return nil
}

// fail makes a failure final. mu is held.
func (j *Journal) fail(op string, err error) error {
	if j.failed == nil {
		j.failed = &WriteError{Op: op, Err: err}
	}
	return j.failed
}

// write adds whole lines to the active segment. mu is held.
func (j *Journal) write(lines []byte) error {
	if _, err := j.active.WriteAt(lines, j.size); err != nil {
		// A half batch must not be read as a whole one. (WriteAt says 0 bytes even if
		// some were written before the disk was full.) When this fails too, the next
		// Open finds the half line; whole lines of it then count as stored, which an
		// unacknowledged batch may be.
		_ = j.active.Truncate(j.size)
		return j.fail("write", err)
	}
	j.size += int64(len(lines))
	return nil
}

// changed wakes whoever waits for the journal to change. mu is held.
func (j *Journal) changed() {
	if j.wake != nil {
		close(j.wake)
		j.wake = nil
	}
}

// End is the position that the next envelope gets: the number of envelopes so far.
func (j *Journal) End() Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.end
}

// Oldest is the first position that was not trimmed.
func (j *Journal) Oldest() Position {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.segments[0].first
}

// Close ends the journal: it syncs what is not yet on the disk, gives the lock
// back and lets followers end when they have read all. It returns the failure
// that ended the journal, if any. Further calls do nothing.
func (j *Journal) Close() error {
	j.flushing.Lock() // a sync under way has the file
	defer j.flushing.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return j.failed
	}
	j.closed = true
	if j.timer != nil {
		j.timer.Stop()
	}
	if j.failed == nil && j.opts.Sync != SyncOff && j.synced < j.end {
		if err := j.flush(j.active, j.unlisted); err != nil {
			_ = j.fail("sync", err)
		}
	}
	if err := j.active.Close(); err != nil {
		_ = j.fail("close", err)
	}
	j.lock.Unlock()
	j.changed()
	return j.failed
}
