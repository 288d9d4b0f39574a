package peer

import (
	"bytes"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/agenthost/agenthost/internal/rawjson"
)

const (
	chunkPrefix = `{"chunk":`
	// chunkOverhead is more than what a chunk has around its data.
	chunkOverhead = 96
	// maxPartial is how many unfinished messages a connection may have: our own
	// sender has two.
	maxPartial = 8
)

// isChunk reports whether a frame is a piece of a message.
func isChunk(frame []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(frame, " \t\r\n"), []byte(chunkPrefix))
}

// appendChunk appends the frame with as much of text as fits into size bytes, and
// returns how much of text that was. Text must be valid UTF-8.
func appendChunk(dst []byte, id int64, seq int, text []byte, size int) (frame []byte, n int) {
	n = fits(text, size-chunkOverhead)
	dst = append(dst, chunkPrefix+`{"id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendInt(dst, int64(seq), 10)
	dst = append(dst, `,"last":`...)
	dst = strconv.AppendBool(dst, n == len(text))
	dst = append(dst, `,"data":`...)
	dst = rawjson.AppendString(dst, string(text[:n]))
	return append(dst, "}}"...), n
}

// fits is how many bytes of text, whole characters and at least one, become at most
// size bytes within a JSON string.
func fits(text []byte, size int) int {
	used, i := 0, 0
	for i < len(text) {
		width, cost := 1, 1
		switch c := text[i]; {
		case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
			cost = 2
		case c < ' ' || c == 0x7f:
			cost = 6
		case c >= utf8.RuneSelf:
			_, width = utf8.DecodeRune(text[i:])
			cost = 6 // U+2028 may be escaped
		}
		if used+cost > size && i > 0 {
			break
		}
		used += cost
		i += width
	}
	return i
}

// chunk is a piece of a message.
type chunk struct {
	id   int64
	seq  int64
	last bool
	data string // wobbly: a character may be cut
}

// parseChunk reads a frame for which isChunk holds.
func parseChunk(frame []byte) (chunk, error) {
	v, err := rawjson.Parse(frame)
	if err != nil {
		return chunk{}, fmt.Errorf("chunk is not JSON")
	}
	var c chunk
	var id, seq, data bool
	for name, value := range v.Get("chunk").Members() {
		switch name {
		case "id":
			c.id, id = value.Int()
		case "seq":
			c.seq, seq = value.Int()
		case "last":
			c.last = value.True()
		case "data":
			data = value.Kind() == rawjson.String
			c.data = value.Wobbly()
		}
	}
	if !id || !seq || !data {
		return chunk{}, fmt.Errorf("chunk: want id and seq integers and data a string")
	}
	return c, nil
}

// assembler puts messages together from their chunks.
type assembler struct {
	limit   int // bytes of all unfinished messages
	held    int
	partial map[int64]*partial
}

type partial struct {
	next   int64
	text   []byte
	joiner rawjson.Joiner
	at     time.Duration // its last chunk came, by the clock of who has the assembler
	holds  []func()      // releases what is counted for it
}

// tooLarge says that a limit was hit; the connection cannot go on.
type tooLargeError struct{ what string }

func (e *tooLargeError) Error() string { return e.what }

// add takes the next chunk, which came at now and is counted by hold, which may be nil. It
// returns the message when it is whole, else nil, and release, to be called once that was
// handled. Any error is final: the rest of a message would be garbage.
func (a *assembler) add(c chunk, now time.Duration, hold func(int) (func(), error)) (whole []byte, release func(), err error) {
	p := a.partial[c.id]
	switch {
	case p == nil && c.seq != 0:
		return nil, nil, fmt.Errorf("chunk %d: want seq 0, got %d", c.id, c.seq)
	case p != nil && c.seq != p.next:
		return nil, nil, fmt.Errorf("chunk %d: want seq %d, got %d", c.id, p.next, c.seq)
	case p == nil && len(a.partial) >= maxPartial:
		return nil, nil, &tooLargeError{fmt.Sprintf("more than %d messages in chunks at once", maxPartial)}
	case c.data == "" && !c.last:
		return nil, nil, fmt.Errorf("chunk %d: empty", c.id) // or a message would never end
	case a.held+len(c.data) > a.limit:
		return nil, nil, &tooLargeError{fmt.Sprintf("message over %d bytes", a.limit)}
	}
	var held func()
	if hold != nil {
		if held, err = hold(len(c.data)); err != nil {
			return nil, nil, err
		}
	}
	if p == nil {
		if a.partial == nil {
			a.partial = map[int64]*partial{}
		}
		p = &partial{}
		a.partial[c.id] = p
	}
	if held != nil {
		p.holds = append(p.holds, held)
	}
	p.next++
	p.at = now
	a.held -= len(p.text)
	p.text = append(p.text, p.joiner.Add(c.data)...)
	if !c.last {
		a.held += len(p.text)
		return nil, nil, nil
	}
	delete(a.partial, c.id)
	return append(p.text, p.joiner.Flush()...), p.release, nil
}

func (p *partial) release() {
	for _, f := range p.holds {
		f()
	}
}

// close lets go of what is not whole.
func (a *assembler) close() {
	for _, p := range a.partial {
		p.release()
	}
	clear(a.partial)
}

// oldest is when the last chunk came of the message that waits longest for its next;
// false when none waits.
func (a *assembler) oldest() (at time.Duration, waits bool) {
	for _, p := range a.partial {
		if !waits || p.at < at {
			at, waits = p.at, true
		}
	}
	return at, waits
}
