package screen

import "slices"

// minRing is what a ring begins with, in bytes: most screens never need more.
const minRing = 16 << 10

// ring keeps the newest bytes of a stream by offset.
type ring struct {
	buf        []byte // the byte at an offset lies at the offset modulo len(buf)
	max        int    // len(buf) grows up to it
	tail, head int64  // what is kept is [tail, head)
}

func newRing(maximum int, start int64) ring {
	return ring{buf: make([]byte, min(maximum, minRing)), max: maximum, tail: start, head: start}
}

// append adds bytes, at most max, and drops the oldest for it.
func (r *ring) append(p []byte) {
	r.grow(int(r.head-r.tail) + len(p))
	for len(p) > 0 {
		n := copy(r.buf[r.head%int64(len(r.buf)):], p)
		r.head += int64(n)
		p = p[n:]
	}
	r.tail = max(r.tail, r.head-int64(len(r.buf)))
}

// grow makes room for n bytes, up to max.
func (r *ring) grow(n int) {
	if n <= len(r.buf) || len(r.buf) == r.max {
		return
	}
	kept := r.copy(nil, r.tail, r.head)
	r.buf = make([]byte, min(max(n, 2*len(r.buf)), r.max))
	for i, at := 0, r.tail; i < len(kept); {
		n := copy(r.buf[at%int64(len(r.buf)):], kept[i:])
		i, at = i+n, at+int64(n)
	}
}

// copy appends what lies from one offset to another, both in [tail, head].
func (r *ring) copy(p []byte, from, to int64) []byte {
	if int(to-from) > cap(p)-len(p) && from%int64(len(r.buf)) > (to-1)%int64(len(r.buf)) {
		p = slices.Grow(p, int(to-from)) // it is in two pieces
	}
	for from < to {
		i := from % int64(len(r.buf))
		n := min(int64(len(r.buf))-i, to-from)
		p = append(p, r.buf[i:i+n]...)
		from += n
	}
	return p
}

// clear drops all.
func (r *ring) clear() { r.tail = r.head }
