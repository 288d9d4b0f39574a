package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"

	"github.com/agenthost/agenthost/contract"
)

// locator finds the segment of a position.
type locator interface {
	// locate returns the first position of the segment that has p, and that of the
	// segment behind it (for the last one, a position behind all of its lines).
	locate(p Position) (first, next Position, err error)
}

// unknown is the end of a segment that may grow while only its reader looks.
const unknown Position = math.MaxInt64

// errNoLine says that there is no whole line at an unknown end yet.
var errNoLine = errors.New("no line yet")

// cursor reads lines one after the other.
type cursor struct {
	dir     string
	log     locator
	damaged func(Damage)

	pos   Position // of the next line
	f     *os.File // nil when no segment is open
	first Position // of f
	next  Position // where f ends, as far as is known
	off   int64    // in f, of the next line
	buf   []byte   // read ahead; buf[r:w] stands at off
	r, w  int
}

// run yields the records before end, or the cause of ctx's end. It reports
// whether the loop may go on.
func (c *cursor) run(ctx context.Context, end Position, yield func(Record, error) bool) bool {
	for c.pos < end {
		if ctx.Err() != nil {
			yield(Record{}, context.Cause(ctx))
			return false
		}
		r, ok, err := c.record()
		if err != nil {
			yield(Record{}, err)
			return false
		}
		if ok && !yield(r, nil) {
			return false
		}
	}
	return true
}

// record reads the next line. It is false for a damaged place, which is reported
// and left behind, and errNoLine when a line is not known to be there and is not.
func (c *cursor) record() (Record, bool, error) {
	if err := c.seek(); err != nil {
		return Record{}, false, err
	}
	line, err := c.line()
	if errors.Is(err, io.EOF) && c.next == unknown {
		return Record{}, false, errNoLine
	}
	if errors.Is(err, io.EOF) {
		// The segment is shorter than its successor's name says.
		missing := c.next - c.pos
		c.damaged(Damage{
			Position: c.pos, Lines: int64(missing), Err: fmt.Errorf("%d lines are missing at the end of %s", missing, c.f.Name()),
		})
		c.pos = c.next
		return Record{}, false, nil
	}
	if err != nil {
		return Record{}, false, err
	}
	r, ok := c.decode(line)
	return r, ok, nil
}

// decode makes a record of the line at pos and moves on.
func (c *cursor) decode(line []byte) (Record, bool) {
	r := Record{Position: c.pos, Line: slices.Clone(line)}
	c.pos++
	var err error
	if r.Envelope, err = contract.Decode(r.Line); err != nil {
		c.damaged(Damage{Position: r.Position, Lines: 1, Line: r.Line, Err: err})
		return Record{}, false
	}
	return r, true
}

// seek opens the segment that has pos, at pos, unless it is open.
func (c *cursor) seek() error {
	if c.f != nil && c.pos < c.next {
		return nil
	}
	first, next, err := c.log.locate(c.pos)
	if err != nil {
		return err
	}
	if c.f != nil && first == c.first {
		c.next = next // it has grown
		return nil
	}
	return c.open(first, next)
}

// open opens a segment and goes to pos in it.
func (c *cursor) open(first, next Position) error {
	f, err := os.Open(segment{first}.path(c.dir))
	if errors.Is(err, fs.ErrNotExist) {
		// Trim took it between locate and here.
		if _, _, err := c.log.locate(c.pos); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	c.close()
	c.f, c.first, c.next, c.off, c.r, c.w = f, first, next, 0, 0, 0
	for p := first; p < c.pos; p++ {
		switch _, err := c.line(); {
		case errors.Is(err, io.EOF):
			return nil // shorter than it should be; record says so
		case err != nil:
			return err
		}
	}
	return nil
}

// readAhead is how much is read at once: large against a line, small against a
// thousand followers.
const readAhead = 64 << 10

// line returns the next whole line without its end, valid until the next call.
// io.EOF says that there is none (yet): a half line is left where it is and read
// again, since a writer that failed may take it back.
func (c *cursor) line() ([]byte, error) {
	scanned := 0
	for {
		if i := bytes.IndexByte(c.buf[c.r+scanned:c.w], '\n'); i >= 0 {
			line := c.buf[c.r : c.r+scanned+i]
			c.r += len(line) + 1
			c.off += int64(len(line)) + 1
			return line, nil
		}
		scanned = c.w - c.r
		c.makeRoom()
		n, err := c.f.ReadAt(c.buf[c.w:], c.off+int64(scanned))
		c.w += n
		if n > 0 {
			continue
		}
		c.r, c.w = 0, 0
		if err == nil {
			err = io.ErrNoProgress
		}
		return nil, err
	}
}

// makeRoom moves what is read ahead to the front and doubles a full buffer. One
// that a long line made large is given back when it is empty.
func (c *cursor) makeRoom() {
	if c.r == c.w && len(c.buf) > readAhead {
		c.buf = nil
	}
	if len(c.buf) == 0 {
		c.buf = make([]byte, readAhead)
		c.r, c.w = 0, 0
		return
	}
	from := c.buf[c.r:c.w]
	if len(from) == len(c.buf) {
		c.buf = make([]byte, 2*len(c.buf))
	}
	c.w, c.r = copy(c.buf, from), 0
}

func (c *cursor) close() {
	if c.f != nil {
		c.f.Close()
		c.f = nil
	}
}
