package peer

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Pipe is a connection in memory, for tests and for one process that plays both
// sides. It holds no frames: a write waits for the read.
func Pipe(a, b Options) (*Conn, *Conn) {
	left, right := newPipe(), newPipe()
	left.other, right.other = right, left
	a, b = a.withDefaults(), b.withDefaults()
	left.limit, right.limit = a.FrameBytes, b.FrameBytes
	return newConn(left, a), newConn(right, b)
}

// pipeEnd is one side. It sends into the other's frames.
type pipeEnd struct {
	other  *pipeEnd
	limit  int
	frames chan []byte
	life   lifeSign

	once   sync.Once
	closed chan struct{} // closed when this side is
	why    atomic.Pointer[CloseError]
}

func newPipe() *pipeEnd {
	return &pipeEnd{frames: make(chan []byte), closed: make(chan struct{}), life: newLifeSign()}
}

func (p *pipeEnd) read(ctx context.Context) ([]byte, error) {
	select {
	case f := <-p.frames:
		p.life.touch()
		if len(f) > p.limit {
			return nil, overFrame(p.limit)
		}
		return f, nil
	case <-p.other.closed:
		if why := p.other.why.Load(); why != nil {
			return nil, &CloseError{Status: why.Status, Reason: why.Reason, Remote: true}
		}
		return nil, io.ErrUnexpectedEOF
	case <-p.closed:
		return nil, io.ErrClosedPipe
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipeEnd) write(ctx context.Context, frame []byte) error {
	select {
	case p.other.frames <- append([]byte(nil), frame...):
		return nil
	case <-p.other.closed:
		return io.ErrClosedPipe
	case <-p.closed:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pipeEnd) ping(context.Context) error {
	p.other.life.touch()
	return nil
}

func (p *pipeEnd) lastLife() time.Time { return p.life.last() }

func (p *pipeEnd) readingSince() time.Time { return time.Time{} } // frames come whole

func (p *pipeEnd) close(code Status, reason string) {
	p.why.CompareAndSwap(nil, &CloseError{Status: code, Reason: reason})
	p.kill()
}

func (p *pipeEnd) free() {}

func (p *pipeEnd) kill() { p.once.Do(func() { close(p.closed) }) }

// lifeSign is the time of the last byte, by the monotonic clock.
type lifeSign struct {
	start time.Time
	at    *atomic.Int64
}

func newLifeSign() lifeSign { return lifeSign{time.Now(), new(atomic.Int64)} }

func (l lifeSign) touch()          { l.at.Store(int64(time.Since(l.start))) }
func (l lifeSign) last() time.Time { return l.start.Add(time.Duration(l.at.Load())) }
