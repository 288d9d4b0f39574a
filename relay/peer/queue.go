package peer

import (
	"context"
	"errors"
	"sync"
)

// ErrNotSent says that the other side has seen nothing of a call or notification:
// the connection ended, or ctx did, before its turn came. Making it again is safe.
var ErrNotSent = errors.New("not sent: the connection is closed")

// The lanes of the queue.
const (
	ordered = iota // what must arrive in the order in which it was sent
	free           // what may overtake
	lanes
)

// outgoing is a message on its way out. Its mutable fields are guarded by queue.mu.
type outgoing struct {
	data []byte
	lane int

	begun bool // a frame of it may have gone out
	id    int64
	seq   int
	off   int
}

// queue is what waits to be sent: two lanes, which take turns frame by frame.
type queue struct {
	room [lanes]*room
	wake chan struct{} // has room for one

	mu     sync.Mutex
	lane   [lanes][]*outgoing
	turn   int // the lane to look at first
	shut   bool
	chunks int64
	buf    []byte // the writer's, for chunks
}

func newQueue(bytes int) *queue {
	q := &queue{wake: make(chan struct{}, 1)}
	for i := range q.room {
		q.room[i] = newRoom(bytes)
	}
	return q
}

// push waits for room and enters a message.
func (q *queue) push(ctx context.Context, m *outgoing) error {
	if err := q.room[m.lane].take(ctx, len(m.data)); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shut {
		q.room[m.lane].put(len(m.data))
		return ErrNotSent
	}
	q.lane[m.lane] = append(q.lane[m.lane], m)
	q.signal()
	return nil
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next returns the next frame, which is valid until the following call, or nil when
// there is none now. drained says that there will be none ever.
func (q *queue) next(size int) (frame []byte, drained bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range lanes {
		lane := q.turn
		q.turn = (q.turn + 1) % lanes
		if len(q.lane[lane]) == 0 {
			continue
		}
		m := q.lane[lane][0]
		whole := len(m.data) <= size
		if whole {
			frame = m.data
		} else {
			frame = q.piece(m, size)
		}
		m.begun = true
		if whole || m.off == len(m.data) {
			q.lane[lane][0] = nil
			q.lane[lane] = q.lane[lane][1:]
			q.room[lane].put(len(m.data))
		}
		return frame, false
	}
	return nil, q.shut
}

// piece is the next chunk of m.
func (q *queue) piece(m *outgoing, size int) []byte {
	if !m.begun {
		q.chunks++
		m.id = q.chunks
	}
	var n int
	q.buf, n = appendChunk(q.buf[:0], m.id, m.seq, m.data[m.off:], size)
	m.seq++
	m.off += n
	return q.buf
}

// take back removes m unless it has begun, and reports whether it did.
func (q *queue) takeBack(m *outgoing) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m.begun {
		return false
	}
	for i, other := range q.lane[m.lane] {
		if other == m {
			q.lane[m.lane] = append(q.lane[m.lane][:i:i], q.lane[m.lane][i+1:]...)
			q.room[m.lane].put(len(m.data))
			break
		}
	}
	return true
}

func (q *queue) begun(m *outgoing) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return m.begun
}

// close takes no more messages; those that are in it stay.
func (q *queue) close() {
	for _, r := range q.room {
		r.close()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.shut = true
	q.signal()
}
