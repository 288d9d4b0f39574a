package proc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Source tells which stream a line came from.
type Source int

const (
	Stdout Source = iota + 1
	Stderr
)

func (s Source) String() string {
	switch s {
	case Stdout:
		return "stdout"
	case Stderr:
		return "stderr"
	}
	return "unknown"
}

// Line is one line a child wrote.
type Line struct {
	Source Source
	// Data is the line without its line end (LF or CR LF). It is bytes and not
	// text: nothing says that a child writes valid UTF-8. The receiver owns it.
	Data []byte
	// Partial is set when the stream ended before a line end came.
	Partial bool
	// Dropped, if not 0, is the length in bytes (without LF) of a line that was
	// longer than Spec.MaxLine and isn't delivered; Data is nil then. The next
	// Line is the one after it.
	Dropped int64
}

// Oversize reports whether this is the notice of a line that was dropped.
func (l Line) Oversize() bool { return l.Dropped > 0 }

// readSize is the buffer of a line reader, the default capacity of a Linux pipe.
const readSize = 64 << 10

// lineReader cuts a stream into lines of at most max bytes. Its memory is bounded
// by max, not by what the stream holds.
type lineReader struct {
	in     *bufio.Reader
	source Source
	max    int
}

func newLineReader(r io.Reader, source Source, max int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, readSize), source: source, max: max}
}

// next returns the next line. The error is that of the stream and comes only when
// nothing is left: a last line without line end comes first, with Partial set.
func (r *lineReader) next() (Line, error) {
	var data pieces
	for {
		part, err := r.in.ReadSlice('\n')
		ended := err == nil
		if ended {
			part = part[:len(part)-1]
		}
		// One byte more than max may be a CR.
		if data.size+len(part) > r.max+1 {
			return r.drop(int64(data.size+len(part)), ended)
		}
		switch {
		case ended:
			return r.line(data.join(part), false), nil
		case errors.Is(err, bufio.ErrBufferFull):
			data.add(part)
		case data.size+len(part) > 0:
			return r.line(data.join(part), true), nil
		default:
			return Line{}, err
		}
	}
}

// pieces is a long line while it is read. One slice that grows would be copied and
// cleared again and again, and hold up to three times what it has.
type pieces struct {
	list [][]byte
	size int
}

// maxPiece bounds a piece, in bytes: the memory that a line may take beyond its own.
const maxPiece = 4 << 20

func (p *pieces) add(part []byte) {
	p.size += len(part)
	last := len(p.list) - 1
	if last >= 0 {
		room := cap(p.list[last]) - len(p.list[last])
		n := min(room, len(part))
		p.list[last], part = append(p.list[last], part[:n]...), part[n:]
	}
	if len(part) > 0 {
		// As much again as there is.
		p.list = append(p.list, append(make([]byte, 0, max(len(part), min(p.size, maxPiece))), part...))
	}
}

// join is everything and what comes last, in a slice of its own. It lets go of the
// pieces.
func (p *pieces) join(last []byte) []byte {
	data := make([]byte, 0, p.size+len(last))
	for i, piece := range p.list {
		data = append(data, piece...)
		p.list[i] = nil
	}
	return append(data, last...)
}

func (r *lineReader) line(data []byte, partial bool) Line {
	data = bytes.TrimSuffix(data, []byte{'\r'})
	if len(data) > r.max {
		return Line{Source: r.source, Dropped: int64(len(data)), Partial: partial}
	}
	return Line{Source: r.source, Data: data, Partial: partial}
}

// drop skips to the next line end; n bytes of the line are gone already.
func (r *lineReader) drop(n int64, ended bool) (Line, error) {
	for !ended {
		part, err := r.in.ReadSlice('\n')
		n += int64(len(part))
		switch {
		case err == nil:
			ended = true
			n--
		case !errors.Is(err, bufio.ErrBufferFull):
			return Line{Source: r.source, Dropped: n, Partial: true}, nil
		}
	}
	return Line{Source: r.source, Dropped: n}, nil
}
