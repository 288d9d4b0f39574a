// Package nativelog keeps the raw frames between host and agents on disk: one
// transcript (adapters/transcript) per run of the host, cut into files of bounded
// size and number.
//
// A Log is the io.Writer below a transcript.Writer, which gives it one line per
// Write, the header first, redacted. The log is for finding out what went wrong:
// nothing else depends on it, it is never synced, and its failures end no session.
//
// # Format
//
// A directory of files RUN-NUMBER.ndjson, like 0003-000012.ndjson. Each begins
// with its run's header, so each can be read by itself. When there are too many
// files the oldest go first, except for the first file of the current run: a
// replay needs the handshake. Export joins a run's files to one transcript.
//
// # Concurrency
//
// A Log is safe for concurrent use. One process at a time writes to a directory;
// the session's journal, which lies beside it, has the lock. A Log touches nothing
// before its first record, so that it may be opened before the lock is taken.
//
// # Testing
//
// go test ./journal/nativelog
package nativelog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Options bound the log.
type Options struct {
	// FileBytes is the size from which on a new file is begun, 16 MiB when 0.
	FileBytes int64
	// Files is how many files are kept, 8 when 0, never fewer than 2.
	Files int
}

// Log writes one run.
type Log struct {
	dir  string
	opts Options

	mu     sync.Mutex
	run    int      // guarded by mu; 0 before the first record
	file   *os.File // guarded by mu; nil before the first line and after a failure
	size   int64    // guarded by mu; of file
	number int      // guarded by mu; of file
	header []byte   // guarded by mu; the first line
	closed bool     // guarded by mu
}

// Open prepares a run in dir. Nothing is read, made or removed before the first
// record, the line behind the header: a run that loses the session to another
// host leaves that one's files alone.
func Open(dir string, o Options) *Log {
	if o.FileBytes <= 0 {
		o.FileBytes = 16 << 20
	}
	if o.Files <= 0 {
		o.Files = 8
	}
	o.Files = max(o.Files, 2)
	return &Log{dir: dir, opts: o}
}

// Run is the number of the run, from 1; 0 before its first record.
func (l *Log) Run() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.run
}

// Write adds one whole line with its end. The first is the header, which is kept
// until a record follows. A record that cannot be written whole is not written at
// all; the next one is tried again.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, fs.ErrClosed
	}
	if l.header == nil {
		l.header = append([]byte{}, line...)
		return len(line), nil
	}
	if l.run == 0 {
		if err := l.begin(); err != nil {
			return 0, err
		}
	}
	if l.file == nil || l.size >= l.opts.FileBytes {
		if err := l.next(); err != nil {
			return 0, err
		}
	}
	if err := l.add(line); err != nil {
		return 0, err
	}
	return len(line), nil
}

// begin makes the directory, when there is none (0700), and finds the number of
// the run. mu is held.
func (l *Log) begin() error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	files, err := list(l.dir)
	if err != nil {
		return err
	}
	l.run = 1
	if len(files) > 0 {
		l.run = files[len(files)-1].run + 1
	}
	return nil
}

// add writes a line to the file. mu is held.
func (l *Log) add(line []byte) error {
	if _, err := l.file.WriteAt(line, l.size); err != nil {
		_ = l.file.Truncate(l.size)
		return err
	}
	l.size += int64(len(line))
	return nil
}

// next begins a file with the header. mu is held.
func (l *Log) next() error {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
	if err := l.makeRoom(); err != nil {
		return err
	}
	name := filepath.Join(l.dir, fmt.Sprintf("%04d-%06d%s", l.run, l.number+1, extension))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	l.file, l.size = f, 0
	l.number++
	if err := l.add(l.header); err != nil {
		_ = f.Close()
		l.file = nil
		return err
	}
	return nil
}

// makeRoom removes the oldest files so that one more may be made. mu is held.
func (l *Log) makeRoom() error {
	files, err := list(l.dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if len(files) < l.opts.Files {
			return nil
		}
		if f.run == l.run && f.number == 1 {
			continue
		}
		if err := os.Remove(filepath.Join(l.dir, f.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		files = files[1:]
	}
	return nil
}

// Close ends the run. Further calls do nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
