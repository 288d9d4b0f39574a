package peer

import (
	"encoding/binary"
	"errors"
	"io"
)

// headers reads a WebSocket's bytes and follows the headers of its frames in them (RFC
// 6455, section 5.2). The library shows of a frame's length only as many bytes as came, so
// one that claims to be over the limit could take its time up to there. It is for one reader.
type headers struct {
	from  io.Reader
	limit uint64 // of a message: its frames together

	rest []byte   // was read and is yet to be looked at
	head [14]byte // the header that has begun, of which we have so much
	have int
	left uint64 // what is to come of a frame's payload
	skip bool   // that payload is dropped
	sum  uint64 // the message's payload in the frames whose header was seen
}

// errOver says that a header makes its message longer than the limit.
var errOver = errors.New("frame over the limit")

// Read implements io.Reader. It fails with errOver in place of a frame that is over the
// limit. What follows the payload of that frame can be read afterwards, so that the other
// side may send all of it and then say goodbye.
func (h *headers) Read(p []byte) (int, error) {
	for {
		n, err := h.more(p)
		if n == 0 {
			return 0, err
		}
		if h.skip {
			drop := min(h.left, uint64(n))
			h.left -= drop
			h.skip = h.left > 0
			h.back(p[drop:n])
			continue
		}
		fine, seen, ok := h.follow(p[:n])
		if ok {
			return n, err
		}
		h.skip = true
		h.back(p[seen:n])
		return fine, errOver
	}
}

// more has what was put back, or else reads.
func (h *headers) more(p []byte) (int, error) {
	if len(h.rest) == 0 {
		return h.from.Read(p)
	}
	n := copy(p, h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

// back puts back what is to be looked at later.
func (h *headers) back(p []byte) {
	if len(p) > 0 {
		h.rest = append(append([]byte(nil), p...), h.rest...)
	}
}

// follow goes through bytes. At a header that is over the limit it stops with not ok, how
// much there is before that header and how much with it.
func (h *headers) follow(p []byte) (fine, seen int, ok bool) {
	for at := 0; at < len(p); {
		if h.left > 0 {
			n := min(h.left, uint64(len(p)-at))
			h.left -= n
			at += int(n)
			continue
		}
		if h.have == 0 {
			fine = at
		}
		h.head[h.have] = p[at]
		h.have++
		at++
		if h.have < h.size() {
			continue
		}
		h.have = 0
		if !h.begin() {
			return fine, at, false
		}
	}
	return len(p), len(p), true
}

// size is how long the header is, as far as is known.
func (h *headers) size() int {
	if h.have < 2 {
		return 2
	}
	size := 2
	switch h.head[1] & 0x7f {
	case 126:
		size += 2
	case 127:
		size += 8
	}
	if h.head[1]&0x80 != 0 {
		size += 4 // the mask
	}
	return size
}

// begin begins the frame of a header. It is false when that is over the limit.
func (h *headers) begin() bool {
	h.left = uint64(h.head[1] & 0x7f)
	switch h.left {
	case 126:
		h.left = uint64(binary.BigEndian.Uint16(h.head[2:]))
	case 127:
		h.left = binary.BigEndian.Uint64(h.head[2:])
	}
	switch opcode := h.head[0] & 0x0f; {
	case opcode >= 8: // a control frame, whose length the library bounds
		return true
	case opcode > 0: // the first of a message
		h.sum = 0
	}
	if h.left > h.limit || h.sum > h.limit-h.left {
		h.sum = h.limit + 1 // and so is what goes on with it
		return false
	}
	h.sum += h.left
	return true
}
