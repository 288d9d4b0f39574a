package journal

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/agenthost/agenthost/internal/filelock"
)

// Reader reads a journal that another process may be writing. It takes no lock
// and changes nothing. It sees whole lines only; one whose write fails midway may
// be seen and then never have been. It is safe for concurrent use.
type Reader struct {
	dir     string
	damaged func(Damage)
}

// OpenReader opens the journal in dir, which must exist. damaged is told of
// damaged places, nil for nobody.
func OpenReader(dir string, damaged func(Damage)) (*Reader, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &os.PathError{Op: "open", Path: dir, Err: errors.New("want a journal's directory, got a file")}
	}
	if damaged == nil {
		damaged = func(Damage) {}
	}
	return &Reader{dir: dir, damaged: damaged}, nil
}

// Bounds returns the oldest position and the end. It reads the last segment.
func (r *Reader) Bounds() (oldest, end Position, err error) {
	list, err := listSegments(r.dir)
	if err != nil || len(list) == 0 {
		return 0, 0, err
	}
	last := list[len(list)-1]
	c := &cursor{dir: r.dir, log: r, damaged: r.damaged, pos: last.first}
	defer c.close()
	if err := c.open(last.first, unknown); err != nil {
		return 0, 0, err
	}
	for end = last.first; ; end++ {
		switch _, err := c.line(); {
		case errors.Is(err, io.EOF):
			return list[0].first, end, nil
		case err != nil:
			return 0, 0, err
		}
	}
}

// Read gives the records from (included) to (excluded), as far as they are there
// when it gets to them. It never waits. Errors are as with Journal.Follow.
func (r *Reader) Read(from, to Position) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		r.each(context.Background(), from, to, yield, func() error { return io.EOF })
	}
}

// pollInterval is how often Follow looks for new lines: below what a person
// notices, and at 10 stats a second no load. (A file watch would need a
// dependency here and still a poll on network file systems.)
const pollInterval = 100 * time.Millisecond

// Follow gives the records from a position on, history and then what is
// appended, until ctx ends, whose cause is the last item. Errors are as with
// Journal.Follow.
func (r *Reader) Follow(ctx context.Context, from Position) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		tick := time.NewTicker(pollInterval)
		defer tick.Stop()
		r.each(ctx, from, unknown, yield, func() error {
			select {
			case <-tick.C:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}
}

// looks is after how many polls FollowWriter looks whether the journal is still written.
const looks = 10

// FollowWriter is Follow that ends, without an error, when no Journal, of this or another
// process, has the journal and all that was written is read.
func (r *Reader) FollowWriter(ctx context.Context, from Position) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		tick := time.NewTicker(pollInterval)
		defer tick.Stop()
		over := false
		polls := 0
		r.each(ctx, from, unknown, yield, func() error {
			if over {
				return io.EOF // what was written before it was over is read
			}
			if polls++; polls%looks == 1 {
				held, err := filelock.Held(filepath.Join(r.dir, lockName))
				if over = err == nil && !held; over || err != nil {
					return err
				}
			}
			select {
			case <-tick.C:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}
}

// each yields records; wait is called when there is none, and ends it with an
// error, io.EOF for none.
func (r *Reader) each(ctx context.Context, from, to Position, yield func(Record, error) bool, wait func() error) {
	oldest, end, err := r.Bounds()
	if err == nil {
		err = inRange(from, oldest, end)
	}
	if err != nil {
		yield(Record{}, err)
		return
	}
	c := &cursor{dir: r.dir, log: r, damaged: r.damaged, pos: from}
	defer c.close()
	for c.pos < to {
		if ctx.Err() != nil {
			yield(Record{}, context.Cause(ctx))
			return
		}
		rec, ok, err := c.record()
		if errors.Is(err, errNoLine) {
			c.next = c.pos // look again whether another segment began
			if err = wait(); err == nil {
				continue
			}
			if errors.Is(err, io.EOF) {
				return
			}
		}
		if err != nil {
			yield(Record{}, err)
			return
		}
		if ok && !yield(rec, nil) {
			return
		}
	}
}

// locate implements locator.
func (r *Reader) locate(p Position) (first, next Position, err error) {
	list, err := listSegments(r.dir)
	if err != nil {
		return 0, 0, err
	}
	if len(list) == 0 {
		return 0, 0, errNoLine
	}
	return locate(list, p, unknown)
}
