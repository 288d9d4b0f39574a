package peer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Serve runs the connection until it ends, and returns when everything it started
// has ended, handlers included: they must heed their ctx. It returns nil after Close
// and when the other side ended it normally; the cause of ctx when that ended it
// (the other side sees "going away"); a *CloseError; ErrDead; or what broke it. It
// is called once.
func (c *Conn) Serve(ctx context.Context, h Handler) error {
	c.mu.Lock()
	began := c.serving
	c.serving = true
	c.mu.Unlock()
	if began {
		<-c.gone
		return c.ending.err
	}
	s := &server{Conn: c, handle: h, inbox: make(chan request, 64), room: newRoom(c.opts.QueueBytes)}
	s.work, s.stopWork = context.WithCancel(ctx)
	s.io, s.stopIO = context.WithCancel(context.WithoutCancel(ctx))
	defer s.stopWork()
	defer s.stopIO()

	s.assembler.limit = c.opts.MessageBytes
	s.unfinished.Store(-1)
	s.spawn(&s.conn, s.read)
	written := make(chan struct{})
	s.spawn(&s.conn, func() { defer close(written); s.write() })
	s.spawn(&s.conn, s.ping)
	s.spawn(&s.conn, s.watch)
	s.spawn(&s.handlers, s.workOrdered)

	select {
	case <-ctx.Done():
		c.end(context.Cause(ctx), StatusGoingAway, "going away")
	case <-c.ending.start:
	}
	s.stopWork()
	s.room.close()
	s.goodbye(written)
	s.stopIO()
	c.t.kill()
	s.conn.Wait()
	c.t.free()
	close(c.gone) // before the calls learn of it, who may ask Done why
	c.settle()
	s.handlers.Wait()
	s.letGo()
	return c.ending.err
}

// server is what Serve needs beside the connection.
type server struct {
	*Conn
	handle Handler

	work     context.Context // ends when the end begins: the handlers'
	stopWork context.CancelFunc
	io       context.Context // ends when the connection does
	stopIO   context.CancelFunc

	inbox chan request // what is handled in order
	room  *room        // what the inbox holds, in bytes

	active    sync.Mutex
	running   int // unordered handlers, guarded by active
	held      int // bytes of their requests, guarded by active
	assembler assembler
	garbage   int // frames that were no message

	writingSince sync.Mutex
	began        time.Time // of the frame that is being written, guarded by writingSince

	// waited is how long we have waited for bytes in reads that have ended, and
	// unfinished what that was when the last chunk came of the message that waits longest
	// for its next; -1 for none. While we do not read, nobody can send.
	waited, unfinished atomic.Int64

	conn, handlers sync.WaitGroup
}

func (s *server) spawn(wg *sync.WaitGroup, f func()) { wg.Go(f) }

// goodbye sends what is queued and closes, or kills what is broken.
func (s *server) goodbye(written <-chan struct{}) {
	if s.ending.status == statusUnexpected {
		s.t.kill()
		return
	}
	late := time.AfterFunc(s.opts.CloseWait, s.t.kill)
	defer late.Stop()
	<-written
	s.t.close(s.ending.status, s.ending.reason)
}

// write sends frames until the queue is drained.
func (s *server) write() {
	size := min(sendFrame, s.opts.FrameBytes)
	for {
		frame, drained := s.queue.next(size)
		if drained {
			return
		}
		if frame == nil {
			select {
			case <-s.queue.wake:
			case <-s.io.Done():
				return
			}
			continue
		}
		s.setWriting(time.Now())
		err := s.t.write(s.io, frame)
		s.setWriting(time.Time{})
		if err != nil {
			s.lost(err)
			return
		}
	}
}

func (s *server) setWriting(t time.Time) {
	s.writingSince.Lock()
	defer s.writingSince.Unlock()
	s.began = t
}

func (s *server) writingFor() time.Duration {
	s.writingSince.Lock()
	defer s.writingSince.Unlock()
	if s.began.IsZero() {
		return 0
	}
	return time.Since(s.began)
}

// ping shows the other side that we live, also while we do not read.
func (s *server) ping() {
	tick := time.NewTicker(s.opts.PingEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.io.Done():
			return
		}
		// Its failure is no verdict: the line may be full. watch gives that.
		if err := s.t.ping(s.io); err != nil {
			s.opts.Log.Debug("ping did not go out", "err", err)
		}
	}
}

// watch ends a connection that is dead or takes nothing.
func (s *server) watch() {
	tick := time.NewTicker(s.opts.DeadAfter / 10)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.io.Done():
			return
		}
		silent := s.silentFor()
		switch {
		case silent >= s.opts.DeadAfter:
			s.end(fmt.Errorf("%w for %v", ErrDead, silent.Round(time.Second)), statusUnexpected, "")
		case s.stalledFor() >= s.opts.ReadStall:
			reason := fmt.Sprintf("a message did not get on for %v", s.opts.ReadStall)
			s.end(&CloseError{Status: StatusPolicy, Reason: reason}, StatusPolicy, reason)
			return
		case s.writingFor() >= s.opts.WriteStall:
			s.end(fmt.Errorf("%w: it takes no bytes for %v", ErrDead, s.opts.WriteStall), statusUnexpected, "")
		default:
			continue
		}
		s.t.kill()
		return
	}
}

// silentFor is how long we have waited for bytes in vain. While we do not read,
// because a handler is slow, silence means nothing.
func (s *server) silentFor() time.Duration {
	if !s.waiting.Load() {
		return 0
	}
	since := s.t.lastLife()
	if r := s.resumed.Load(); r != nil && r.After(since) {
		since = *r
	}
	return time.Since(since)
}

// stalledFor is how long we have waited for the end of a frame, or for the next chunk of a
// message.
func (s *server) stalledFor() time.Duration {
	var frame time.Duration
	if began := s.t.readingSince(); !began.IsZero() {
		frame = time.Since(began)
	}
	if at := time.Duration(s.unfinished.Load()); at >= 0 {
		return max(frame, s.waitedFor()-at)
	}
	return frame
}

// waitedFor is how long we have waited for bytes since the beginning.
func (s *server) waitedFor() time.Duration {
	waited := time.Duration(s.waited.Load())
	if s.waiting.Load() {
		waited += time.Since(*s.resumed.Load())
	}
	return waited
}

// noteUnfinished writes down which message waits longest for its next chunk.
func (s *server) noteUnfinished() {
	at, waits := s.assembler.oldest()
	if !waits {
		at = -1
	}
	s.unfinished.Store(int64(at))
}

// letGo lets go of what came and will not be handled any more.
func (s *server) letGo() {
	s.assembler.close()
	for {
		select {
		case r := <-s.inbox:
			r.release()
		default:
			return
		}
	}
}

// read takes frames until the connection has ended. Once the end has begun it goes on
// for the answers and the goodbye, and drops all else.
func (s *server) read() {
	for {
		now := time.Now()
		s.resumed.Store(&now)
		s.waiting.Store(true)
		frame, err := s.t.read(s.io)
		s.waiting.Store(false)
		s.waited.Add(int64(time.Since(now)))
		var bad *frameError
		switch {
		case err == nil:
			s.frame(frame)
		case errors.As(err, &bad) && !bad.fatal:
			s.bad(bad.what, parseError)
		case bad != nil:
			s.end(&CloseError{Status: bad.status, Reason: bad.what}, bad.status, bad.what)
			return
		default:
			s.ended(err)
			return
		}
	}
}

// ended is what reading ended with.
func (s *server) ended(err error) {
	var ce *CloseError
	switch {
	case !errors.As(err, &ce):
		s.lost(err)
	case ce.normal():
		s.end(nil, StatusNormal, "")
	default:
		s.end(ce, StatusNormal, "")
	}
}

func (s *server) lost(err error) {
	s.end(fmt.Errorf("connection lost: %w", err), statusUnexpected, "")
	s.t.kill()
}
