package transcript

import (
	"bufio"
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"iter"
)

// MaxLine is the longest line a Reader takes, in bytes. Agents print single
// lines of several MB; a longer one than this is reported and skipped, so that
// a broken file cannot fill the memory.
const MaxLine = 256 << 20

// LineError says which line of a transcript cannot be read, and why. The next
// call of Next goes on behind it.
type LineError struct {
	// Line is counted from 1, the header.
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("transcript line %d: %v", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Reader reads a transcript line by line. It is not safe for concurrent use.
type Reader struct {
	in     *bufio.Reader
	line   int
	limit  int
	header Header
}

// NewReader reads the header from r. It reads no further than it must, so r may
// still grow.
func NewReader(r io.Reader) (*Reader, error) {
	rd := &Reader{in: bufio.NewReaderSize(r, 64<<10), limit: MaxLine}
	line, err := rd.next()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("transcript is empty: want a header line")
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(line, &rd.header, lenient()); err != nil {
		return nil, &LineError{rd.line, fmt.Errorf("decoding header: %w", err)}
	}
	if rd.header.Version != Version {
		return nil, &LineError{rd.line, fmt.Errorf(`want a header with "transcript":%d, got %d`, Version, rd.header.Version)}
	}
	return rd, nil
}

// Header returns the header.
func (r *Reader) Header() Header { return r.header }

// Line is the number of the line that Next read last, the header being 1.
func (r *Reader) Line() int { return r.line }

// Next returns the next record. At the end it returns io.EOF. After a *LineError
// it can be called again; after any other error the transcript cannot be read on.
// Records of directions this version does not know are returned like others.
func (r *Reader) Next() (Record, error) {
	line, err := r.next()
	if err != nil {
		return Record{}, err
	}
	rec, err := parseRecord(line)
	if err != nil {
		return Record{}, &LineError{r.line, err}
	}
	return rec, nil
}

// All yields the records up to the end. A line that cannot be read is yielded
// as an error, and the reading goes on; any other error is the last pair.
func (r *Reader) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			rec, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			var bad *LineError
			if !yield(rec, err) || err != nil && !errors.As(err, &bad) {
				return
			}
		}
	}
}

// next returns the next line that is not blank, without its end.
func (r *Reader) next() ([]byte, error) {
	for {
		line, err := r.readLine()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// readLine reads one line of any length up to MaxLine. The end of the file ends
// the last line.
func (r *Reader) readLine() ([]byte, error) {
	r.line++
	var line []byte
	dropped := false
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line)+len(part) > r.limit {
			dropped, line = true, nil
		}
		if !dropped {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("reading transcript: %w", err)
		case dropped:
			return nil, &LineError{r.line, fmt.Errorf("want at most %d bytes, got more", r.limit)}
		case err != nil && len(line) == 0:
			return nil, io.EOF
		}
		return line, nil
	}
}

// File is a whole transcript in memory.
type File struct {
	Header  Header
	Records []Record
	// Bad are the lines that could not be read and are left out.
	Bad []*LineError
}

// Read reads a whole transcript. It fails only when there is no header or the
// reading itself fails; bad lines are in File.Bad.
func Read(in io.Reader) (File, error) {
	r, err := NewReader(in)
	if err != nil {
		return File{}, err
	}
	f := File{Header: r.Header()}
	for rec, err := range r.All() {
		var bad *LineError
		switch {
		case errors.As(err, &bad):
			f.Bad = append(f.Bad, bad)
		case err != nil:
			return f, err
		default:
			f.Records = append(f.Records, rec)
		}
	}
	return f, nil
}
