package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/agenthost/agenthost/contract"
)

// Record is one line of a journal.
type Record struct {
	Position Position
	// Line is the line as it is stored, without its end. It is the receiver's.
	Line []byte
	// Envelope is the decoded line.
	Envelope contract.Envelope
}

// Damage is a place of a journal that cannot be read.
type Damage struct {
	// Position is the line's; Lines is how many lines are missing, 1 for a line
	// that is there but is no envelope.
	Position Position
	Lines    int64
	// Line is the damaged line, nil when lines are missing.
	Line []byte
	// Err says what is wrong.
	Err error
}

// Errors of reading and opening.
var (
	// ErrLocked says that another Journal, here or in another process, writes it.
	ErrLocked = errors.New("journal is in use by another host")
	// ErrTrimmed says that a position is older than what is kept; see TrimmedError.
	ErrTrimmed = errors.New("position was trimmed")
	// ErrBeyond says that a position lies behind the end: it belongs to another
	// journal, or to one that lost its end.
	ErrBeyond = errors.New("position is beyond the end")
)

// TrimmedError tells the oldest position that is kept. It matches ErrTrimmed.
type TrimmedError struct{ Wanted, Oldest Position }

func (e *TrimmedError) Error() string {
	return fmt.Sprintf("position %d was trimmed: the oldest is %d", e.Wanted, e.Oldest)
}

// Is makes errors.Is(e, ErrTrimmed) true.
func (e *TrimmedError) Is(target error) bool { return target == ErrTrimmed }

// Follow gives the records from a position on: history, then what is appended,
// until the Journal is closed and all is read, which ends the sequence without
// an error. When ctx ends the sequence ends with its cause. From may be End. A
// position before Oldest gives a *TrimmedError, also when Trim overtakes a slow
// follower. An error is the last item.
func (j *Journal) Follow(ctx context.Context, from Position) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		c := &cursor{dir: j.dir, pos: from, damaged: j.opts.Damaged, log: j}
		defer c.close()
		if err := j.inRange(from); err != nil {
			yield(Record{}, err)
			return
		}
		for {
			end, err := j.wait(ctx, c.pos)
			if err != nil {
				if err != io.EOF {
					yield(Record{}, err)
				}
				return
			}
			if !c.run(ctx, end, yield) {
				return
			}
		}
	}
}

// Read gives the records from (included) to (excluded), as far as they are there
// now. It never waits. Errors are as with Follow.
func (j *Journal) Read(from, to Position) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := j.inRange(from); err != nil {
			yield(Record{}, err)
			return
		}
		c := &cursor{dir: j.dir, pos: from, damaged: j.opts.Damaged, log: j}
		defer c.close()
		c.run(context.Background(), min(to, j.End()), yield)
	}
}

// Envelopes gives all envelopes there are now, the oldest first.
func (j *Journal) Envelopes() iter.Seq2[contract.Envelope, error] {
	return func(yield func(contract.Envelope, error) bool) {
		for r, err := range j.Read(j.Oldest(), j.End()) {
			if !yield(r.Envelope, err) {
				return
			}
		}
	}
}

// inRange checks where a read begins.
func (j *Journal) inRange(from Position) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return inRange(from, j.segments[0].first, j.end)
}

func inRange(from, oldest, end Position) error {
	switch {
	case from < 0:
		return fmt.Errorf("position: want 0 or more, got %d", from)
	case from < oldest:
		return &TrimmedError{Wanted: from, Oldest: oldest}
	case from > end:
		return fmt.Errorf("position %d: %w, which is %d", from, ErrBeyond, end)
	}
	return nil
}

// wait returns the end when it lies behind p, and waits until it does. io.EOF
// says that the Journal is closed.
func (j *Journal) wait(ctx context.Context, p Position) (Position, error) {
	for {
		j.mu.Lock()
		end, closed := j.end, j.closed
		if end > p || closed {
			j.mu.Unlock()
			if end > p {
				return end, nil
			}
			return end, io.EOF
		}
		if j.wake == nil {
			j.wake = make(chan struct{})
		}
		wake := j.wake
		j.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// locate implements locator.
func (j *Journal) locate(p Position) (first, next Position, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return locate(j.segments, p, j.end)
}

// locate finds the segment that has p: its first position and the next one's, or
// end for the last.
func locate(list []segment, p, end Position) (first, next Position, err error) {
	i := find(list, p)
	if i < 0 {
		return 0, 0, &TrimmedError{Wanted: p, Oldest: list[0].first}
	}
	if i+1 < len(list) {
		end = list[i+1].first
	}
	return list[i].first, end, nil
}
