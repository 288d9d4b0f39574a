package transcript

import (
	"encoding/json/v2"
	"fmt"
	"io"
)

// Writer writes a transcript. It is not safe for concurrent use: order is what a
// transcript is about, and only the caller knows it.
type Writer struct {
	w      io.Writer
	redact func([]byte) []byte
	last   int64
	buf    []byte
}

// NewWriter writes the header to w. redact, when not nil, is given the data of
// every record and returns what to write instead; it may return its argument
// but must not change it.
func NewWriter(w io.Writer, h Header, redact func([]byte) []byte) (*Writer, error) {
	h.Version = Version
	line, err := json.Marshal(h, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encoding transcript header: %w", err)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("writing transcript header: %w", err)
	}
	return &Writer{w: w, redact: redact}, nil
}

// Write appends one record with one call of the underlying Write. A T before
// that of the last record is raised to it, since clocks step back. The Writer
// keeps nothing of r.
func (w *Writer) Write(r Record) error {
	r.T = max(r.T, w.last)
	w.last = r.T
	if w.redact != nil && len(r.Data) > 0 {
		r.Data = w.redact(r.Data)
	}
	w.buf = append(appendRecord(w.buf[:0], r), '\n')
	_, err := w.w.Write(w.buf)
	if cap(w.buf) > keepBuffer {
		w.buf = nil
	}
	if err != nil {
		return fmt.Errorf("writing transcript: %w", err)
	}
	return nil
}

// keepBuffer is how many bytes of buffer a Writer keeps between records, so
// that one line of many MB does not hold its memory for the session's life.
const keepBuffer = 1 << 20

// Write writes a whole transcript.
func Write(w io.Writer, f File) error {
	out, err := NewWriter(w, f.Header, nil)
	if err != nil {
		return err
	}
	for _, r := range f.Records {
		if err := out.Write(r); err != nil {
			return err
		}
	}
	return nil
}
