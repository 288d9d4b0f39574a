package tail

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
)

const (
	// lastSize is how many of the bytes that were read last are kept, to know a file
	// again that has grown from one that was written anew.
	lastSize = 64
	// chunk is how much is read at once.
	chunk = 64 << 10
)

// file is one file of a follow, and how far it was read.
type file struct {
	path string
	info os.FileInfo // of what was read last, nil when nothing was
	// there is the file that was there at first, whose reading begins at begin.
	there os.FileInfo
	begin int64
	// lineStart says that begin may lie within a line, which is then read whole.
	lineStart bool

	off     int64
	last    []byte // the bytes before off, at most lastSize
	pending []byte // a line without an end
	dropped int64  // length so far of a line over the limit, 0 when it is none
}

// read delivers the lines that were added. It reads no further than the file's present
// end, so that a writer that never rests does not hold it for ever.
func (f *file) read(limit int, emit func(data []byte, dropped int64)) {
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.forget()
	}
	if err != nil {
		return
	}
	if !info.Mode().IsRegular() || f.unchanged(info) {
		return
	}
	h, err := os.Open(f.path)
	if err != nil {
		return // it may be readable later; what was read stays read
	}
	defer h.Close()
	if info, err = h.Stat(); err != nil || !info.Mode().IsRegular() {
		return
	}
	if !f.grown(h, info) {
		f.restart(h, info)
	}
	f.info = info
	f.lines(io.NewSectionReader(h, f.off, info.Size()-f.off), limit, emit)
}

// forget makes the next file of this name a new one.
func (f *file) forget() { *f = file{path: f.path} }

// restart begins with a file that was not read before.
func (f *file) restart(h io.ReaderAt, info os.FileInfo) {
	there, begin, lineStart := f.there, f.begin, f.lineStart
	f.forget()
	if there == nil || !os.SameFile(there, info) || begin > info.Size() {
		return
	}
	f.off = begin
	if lineStart {
		f.off = startOfLine(h, begin)
	}
}

func (f *file) unchanged(info os.FileInfo) bool {
	return f.info != nil && os.SameFile(f.info, info) && info.Size() == f.off && info.ModTime().Equal(f.info.ModTime())
}

// grown reports whether h is the file that was read, with nothing changed before off.
func (f *file) grown(h io.ReaderAt, info os.FileInfo) bool {
	if f.info == nil || !os.SameFile(f.info, info) || info.Size() < f.off {
		return false
	}
	last := make([]byte, len(f.last))
	if _, err := h.ReadAt(last, f.off-int64(len(last))); err != nil && err != io.EOF {
		return false
	}
	return bytes.Equal(last, f.last)
}

// startOfLine is where the line begins that the byte at end belongs to.
func startOfLine(h io.ReaderAt, end int64) int64 {
	buf := make([]byte, chunk)
	for end > 0 {
		n := min(int64(len(buf)), end)
		if _, err := h.ReadAt(buf[:n], end-n); err != nil && err != io.EOF {
			return end
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return end - n + int64(i) + 1
		}
		end -= n
	}
	return 0
}

// lines reads r to its end.
func (f *file) lines(r io.Reader, limit int, emit func(data []byte, dropped int64)) {
	buf := make([]byte, chunk)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			f.off += int64(n)
			f.remember(buf[:n])
			f.take(buf[:n], limit, emit)
		}
		if err != nil {
			return // the end, or a disk that fails: the next look tries again
		}
	}
}

func (f *file) remember(p []byte) {
	if len(p) >= lastSize {
		f.last = append(f.last[:0], p[len(p)-lastSize:]...)
		return
	}
	f.last = append(f.last, p...)
	if over := len(f.last) - lastSize; over > 0 {
		f.last = f.last[:copy(f.last, f.last[over:])]
	}
}

// take cuts what was read into lines.
func (f *file) take(p []byte, limit int, emit func(data []byte, dropped int64)) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			f.add(p, limit)
			return
		}
		f.add(p[:i], limit)
		p = p[i+1:]
		line, dropped := f.pending, f.dropped
		f.pending, f.dropped = nil, 0
		if dropped > 0 {
			emit(nil, dropped)
		} else {
			emit(bytes.TrimSuffix(line, []byte("\r")), 0)
		}
	}
}

// add adds to the line at hand, or counts when it is over the limit.
func (f *file) add(p []byte, limit int) {
	switch n := len(f.pending) + len(p); {
	case f.dropped > 0:
		f.dropped += int64(len(p))
	case n > limit:
		f.pending, f.dropped = nil, int64(n)
	default:
		f.pending = append(f.pending, p...)
	}
}
