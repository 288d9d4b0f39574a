package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agenthost/agenthost/internal/filelock"
)

// segment is one file of a journal.
type segment struct{ first Position }

const (
	extension = ".ndjson"
	digits    = 20
	lockName  = "lock"
)

// lookTime is far longer than it takes to look whether a lock is held, and below what a
// person notices.
const lookTime = 20 * time.Millisecond

func (s segment) path(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("%0*d%s", digits, s.first, extension))
}

// listSegments lists the segments of dir in order.
func listSegments(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []segment
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), extension)
		if !ok || len(name) != digits {
			continue
		}
		first, err := strconv.ParseInt(name, 10, 64)
		if err != nil || first < 0 {
			continue
		}
		list = append(list, segment{Position(first)})
	}
	slices.SortFunc(list, func(a, b segment) int { return int(min(max(a.first-b.first, -1), 1)) })
	return list, nil
}

// find returns the index of the segment that has position p, -1 when p lies
// before the first.
func find(list []segment, p Position) int {
	i, ok := slices.BinarySearchFunc(list, p, func(s segment, p Position) int {
		return int(min(max(s.first-p, -1), 1))
	})
	if ok {
		return i
	}
	return i - 1
}

// Open opens the journal in dir for writing and makes it when there is none (dir
// included, 0700). It refuses with ErrLocked while another Journal, of this or
// another process, has it. A half line at the end, left by a crash, is moved to a
// file of its own.
func Open(dir string, opts Options) (_ *Journal, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := filelock.Try(filepath.Join(dir, lockName))
	if errors.Is(err, filelock.ErrHeld) {
		// Who only looks whether it is held (Reader.FollowWriter) has it for an instant.
		time.Sleep(lookTime)
		lock, err = filelock.Try(filepath.Join(dir, lockName))
	}
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, lockName), ErrLocked)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Unlock()
		}
	}()
	j := &Journal{dir: dir, opts: opts.withDefaults(), lock: lock}
	if j.segments, err = listSegments(dir); err != nil {
		return nil, err
	}
	if len(j.segments) == 0 {
		if err := j.create(0); err != nil {
			return nil, err
		}
		return j, nil
	}
	last := j.segments[len(j.segments)-1]
	f, err := os.OpenFile(last.path(dir), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	lines, size, err := recoverTail(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("recovering %s: %w", f.Name(), err)
	}
	j.active, j.size = f, size
	j.end = last.first + lines
	// What was there may not be on the disk: synced stays 0.
	j.unlisted = true
	return j, nil
}

// recoverTail counts the whole lines of a segment, and moves what stands behind
// the last one into a file of its own.
func recoverTail(f *os.File) (lines Position, size int64, err error) {
	buf := make([]byte, 256<<10)
	var total int64
	for {
		n, err := f.ReadAt(buf, total)
		chunk := buf[:n]
		if i := bytes.LastIndexByte(chunk, '\n'); i >= 0 {
			lines += Position(bytes.Count(chunk, []byte{'\n'}))
			size = total + int64(i) + 1
		}
		total += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, 0, err
		}
	}
	if size < total {
		if err := saveTorn(f, size, total); err != nil {
			return 0, 0, err
		}
		if err := f.Truncate(size); err != nil {
			return 0, 0, err
		}
	}
	return lines, size, nil
}

// saveTorn copies the bytes from..to of a segment beside it. The name tells the
// segment and the offset, so that a crash during the recovery, which then comes
// again, does no harm.
func saveTorn(f *os.File, from, to int64) error {
	base := strings.TrimSuffix(f.Name(), extension)
	side, err := os.OpenFile(fmt.Sprintf("%s-%d-%s.torn", base, from, time.Now().UTC().Format("20060102T150405.000000000Z")),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(side, io.NewSectionReader(f, from, to-from))
	return errors.Join(err, side.Sync(), side.Close())
}

// create begins a segment and makes it the active one. mu is held or the Journal
// not yet shared.
func (j *Journal) create(first Position) error {
	s := segment{first}
	f, err := os.OpenFile(s.path(j.dir), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	j.active, j.size, j.unlisted = f, 0, true
	j.segments = append(j.segments, s)
	return nil
}

// roll ends the active segment and begins the next one. mu is held; the old one
// is synced first, so that a later segment never outlives an earlier one's lines.
func (j *Journal) roll() error {
	if j.opts.Sync != SyncOff && j.synced < j.end {
		if err := j.flush(j.active, j.unlisted); err != nil {
			return j.fail("sync", err)
		}
		j.synced = j.end
	}
	old := j.active
	if err := j.create(j.end); err != nil {
		return j.fail("create", err)
	}
	_ = old.Close() // it is on the disk or need not be
	return nil
}

// Trim removes the segments that only have positions before p, never the active
// one, and returns the oldest position that is left.
func (j *Journal) Trim(p Position) (Position, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return j.segments[0].first, ErrClosed
	}
	for len(j.segments) > 1 && j.segments[1].first <= p {
		if err := os.Remove(j.segments[0].path(j.dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return j.segments[0].first, err
		}
		j.segments = slices.Delete(j.segments, 0, 1)
	}
	return j.segments[0].first, nil
}
