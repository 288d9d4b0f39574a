package grant

import (
	"bufio"
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/agenthost/agenthost/internal/syncdir"
)

const (
	// maxRecord is the longest line that is written or read: a key is a script of up
	// to 2 MiB.
	maxRecord = 8 << 20
	// compactAfter is how many out-of-date records make the file worth rewriting.
	compactAfter = 4096
	// replaceTries bounds how often a file is opened again because it was replaced.
	replaceTries = 10
)

// write appends records under the lock of all processes and takes them into account.
func (s *Store) write(durable bool, records ...record) error {
	if s.closed {
		return ErrClosed
	}
	if s.path == "" {
		s.applyAll(records)
		return nil
	}
	var lines []byte
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("writing a grant: %w", err)
		}
		if len(line) >= maxRecord {
			return fmt.Errorf("writing a grant: want at most %d bytes, got %d", maxRecord, len(line))
		}
		lines = append(append(lines, line...), '\n')
	}
	size, unlock, err := s.lockCurrent()
	if err != nil {
		return err
	}
	defer unlock()
	if size > s.read {
		if err := s.readOn(); err != nil {
			return err
		}
	}
	if err := s.append(lines, size, durable); err != nil {
		return err
	}
	s.applyAll(records)
	if s.stale > compactAfter && s.stale > 4*len(s.grants) {
		if err := s.compact(); err != nil {
			// What was to be written is written; a long file is no fault of it.
			// Tried again after as many records.
			s.stale = 0
		}
	}
	return nil
}

// lockCurrent opens the file that the path names now, takes its lock and says how
// long it is.
func (s *Store) lockCurrent() (size int64, unlock func(), err error) {
	for range replaceTries {
		if err := s.open(true); err != nil {
			return 0, nil, err
		}
		unlock, err := lock(s.file)
		if err != nil {
			return 0, nil, fmt.Errorf("locking %s: %w", s.path, err)
		}
		if info, err := os.Stat(s.path); err == nil && s.current(info) {
			return info.Size(), unlock, nil
		}
		// It was replaced while we waited: its lock protects nothing.
		unlock()
		if err := s.drop(); err != nil {
			return 0, nil, err
		}
	}
	return 0, nil, s.errReplaced()
}

// current reports whether info is of the file that is open, and not cut short.
func (s *Store) current(info fs.FileInfo) bool {
	return os.SameFile(info, s.info) && info.Size() >= s.read
}

func (s *Store) errReplaced() error {
	return fmt.Errorf("reading the grants: %s is replaced again and again", s.path)
}

// append writes lines at the end of a file of size bytes. The caller holds the lock
// and has read all whole lines.
func (s *Store) append(lines []byte, size int64, durable bool) error {
	if size > s.read {
		// A torn line of a process that died: it must not swallow ours.
		lines = append([]byte{'\n'}, lines...)
	}
	if _, err := s.file.Write(lines); err != nil {
		return fmt.Errorf("writing %s: %w", s.path, err)
	}
	s.read = size + int64(len(lines))
	if !durable {
		return nil
	}
	if err := s.file.Sync(); err != nil {
		return fmt.Errorf("writing %s: %w", s.path, err)
	}
	return nil
}

// refresh reads what other processes wrote, from the beginning when the file was
// replaced. A file that is gone grants nothing.
func (s *Store) refresh() error {
	if s.closed {
		return ErrClosed
	}
	if s.path == "" {
		return nil
	}
	for range replaceTries {
		if err := s.open(false); err != nil {
			return err
		}
		if s.file == nil {
			s.clear()
			return nil
		}
		info, err := os.Stat(s.path)
		if err == nil && s.current(info) {
			if info.Size() == s.read {
				return nil
			}
			return s.readOn()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("reading the grants: %w", err)
		}
		if err := s.drop(); err != nil {
			return err
		}
	}
	return s.errReplaced()
}

// open opens the file unless it is open, and makes it when create is set. What was
// read of another file is forgotten.
func (s *Store) open(create bool) error {
	if s.file != nil {
		return nil
	}
	flags := os.O_RDWR | os.O_APPEND
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(s.path, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) && !create {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening the grants: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		err = private(f, info)
	}
	if err != nil {
		_ = f.Close()
		return err
	}
	s.clear()
	s.file, s.info = f, info
	return nil
}

// private refuses a file that others may have written to, and closes one that
// others may read.
func private(f *os.File, info fs.FileInfo) error {
	mode := info.Mode()
	if !mode.IsRegular() {
		return fmt.Errorf("%s: want a file, got %s", f.Name(), mode.Type())
	}
	if !checksMode || mode.Perm()&0o077 == 0 {
		return nil
	}
	if mode.Perm()&0o022 != 0 {
		return fmt.Errorf("%s: want mode 0600, got %04o: others may have written grants into it", f.Name(), mode.Perm())
	}
	return f.Chmod(0o600)
}

// readOn takes whole lines from s.read on into account.
func (s *Store) readOn() error {
	r := bufio.NewReaderSize(io.NewSectionReader(s.file, s.read, 1<<62), 16<<10)
	for {
		line, err := readLine(r)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", s.path, err)
		}
		s.read += int64(len(line))
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var rec record
		if err := json.Unmarshal(line, &rec); err != nil {
			s.stale++ // torn by a crash
			continue
		}
		s.apply(rec)
	}
}

// readLine reads a whole line; a last one without an end is not there yet.
func readLine(r *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := r.ReadSlice('\n')
		out = append(out, part...)
		switch {
		case err == nil:
			return out, nil
		case err != bufio.ErrBufferFull:
			return nil, err
		case len(out) > maxRecord:
			return nil, fmt.Errorf("want lines of at most %d bytes", maxRecord)
		}
	}
}

// compact rewrites the file: a new one replaces it. The caller holds the lock of
// the old one; who waits for that notices in lockCurrent.
func (s *Store) compact() error {
	tmp, err := os.CreateTemp(filepath.Dir(s.path), ".grants-*")
	if err != nil {
		return fmt.Errorf("rewriting the grants: %w", err)
	}
	defer os.Remove(tmp.Name())
	err = errors.Join(s.dump(tmp), tmp.Chmod(0o600), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), s.path)
	}
	if err == nil {
		err = syncdir.Sync(filepath.Dir(s.path))
	}
	if err != nil {
		return fmt.Errorf("rewriting the grants: %w", err)
	}
	return nil
}

// dump writes every grant in force with its uses.
func (s *Store) dump(to io.Writer) error {
	now := s.now()
	list := make([]Grant, 0, len(s.grants))
	for _, g := range s.grants {
		if !g.expired(now) {
			list = append(list, *g)
		}
	}
	slices.SortFunc(list, older)
	w := bufio.NewWriter(to)
	for i := range list {
		line, err := json.Marshal(record{Op: "add", Grant: &list[i]})
		if err != nil {
			return err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return w.Flush()
}
