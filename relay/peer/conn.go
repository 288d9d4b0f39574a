package peer

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/relay/wire"
)

// Handler does what the other side asks for. A *wire.Error is answered as it is, any
// other error as wire.CodeInternal and logged. What a notification returns is
// ignored, but logged when it is an error. ctx ends with the connection.
type Handler func(ctx context.Context, method string, params jsontext.Value) (result any, err error)

// Conn is a connection. It does nothing until Serve runs. It is safe for concurrent
// use.
type Conn struct {
	opts  Options
	t     transport
	queue *queue
	gone  chan struct{} // closed when Serve has ended

	waiting atomic.Bool // the reader waits for bytes, so that silence means something
	resumed atomic.Pointer[time.Time]

	mu      sync.Mutex
	lastID  int64
	pending map[int64]*call // nil when no more calls are taken
	serving bool
	ending  *ending
}

// ending is how a connection ends: the first reason counts.
type ending struct {
	err    error // nil for a normal end of our own
	status Status
	reason string
	start  chan struct{} // closed when it began
}

// call is a call that waits for its answer.
type call struct {
	out    *outgoing
	answer chan answer // has room for one
}

type answer struct {
	result []byte
	err    error
}

func newConn(t transport, opts Options) *Conn {
	return &Conn{
		opts: opts, t: t, queue: newQueue(opts.QueueBytes), gone: make(chan struct{}),
		pending: map[int64]*call{}, ending: &ending{start: make(chan struct{})},
	}
}

// Call makes a call and waits for the answer, which it reads into result unless that
// is nil. Params and result are any value of package wire, or a jsontext.Value. See
// the package comment for its errors. A call that ctx ends after it went out is not
// undone.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	wait, err := c.Start(ctx, method, params)
	if err != nil {
		return err
	}
	return wait(ctx, result)
}

// gaveUp is what becomes of a call that ctx ended.
func (c *Conn) gaveUp(ctx context.Context, method string, w *call, result any) error {
	if c.queue.takeBack(w.out) {
		return fmt.Errorf("%w: %w", ErrNotSent, context.Cause(ctx))
	}
	select {
	case a := <-w.answer: // both at once
		return a.into(method, result)
	default:
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return wire.Errorf(wire.CodeTimeout, "%s: no answer in time; whether it was done is not known", method)
	}
	return fmt.Errorf("%w: %w", wire.Errorf(wire.CodeUnknown, "%s: given up before the answer came", method), context.Cause(ctx))
}

func (c *Conn) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// into reads the result of an answer.
func (a answer) into(method string, result any) error {
	if a.err != nil || result == nil {
		return a.err
	}
	if raw, ok := result.(*jsontext.Value); ok {
		*raw = a.result
		return nil
	}
	if err := wire.UnmarshalStream(a.result, result); err != nil {
		return fmt.Errorf("result of %s: %v", method, err)
	}
	return nil
}

// Notify sends a notification, and returns when it is in the queue. Its error is
// ErrNotSent, or wraps the cause of ctx.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	raw, err := marshal(params)
	if err != nil {
		return fmt.Errorf("params of %s: %w", method, err)
	}
	return c.push(ctx, &outgoing{data: trim(jsonrpc.AppendNotification(nil, method, raw)), lane: ordered})
}

func (c *Conn) push(ctx context.Context, m *outgoing) error {
	if len(m.data) > c.opts.SendBytes {
		return wire.Errorf(wire.CodeTooLarge, "message of %d bytes: want at most %d", len(m.data), c.opts.SendBytes)
	}
	err := c.queue.push(ctx, m)
	if err != nil && !errors.Is(err, ErrNotSent) {
		return fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	return err
}

func (c *Conn) laneOf(method string) int {
	if c.opts.Ordered(method) {
		return ordered
	}
	return free
}

// Close ends the connection with a status and a reason for people: what is queued is
// sent, then goodbyes are said, all within Options.CloseWait. It returns when Serve
// no longer uses the connection; handlers may still be running. It may be called
// again, and by a handler. Before Serve it closes at once.
func (c *Conn) Close(status Status, reason string) {
	c.end(nil, status, reason)
	c.mu.Lock()
	serving := c.serving
	c.serving = true // or Serve would begin now
	c.mu.Unlock()
	if !serving {
		c.t.kill()
		c.t.free()
		c.settle()
		close(c.gone)
		return
	}
	<-c.gone
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.gone }

// end begins the end; the first reason counts.
func (c *Conn) end(err error, status Status, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.ending.start:
		return
	default:
	}
	c.ending.err, c.ending.status, c.ending.reason = err, status, clipReason(reason)
	close(c.ending.start)
	c.queue.close()
}

// settle answers the calls that will get no answer any more.
func (c *Conn) settle() {
	c.mu.Lock()
	left := c.pending
	c.pending = nil
	c.mu.Unlock()
	for _, w := range left {
		err := error(ErrNotSent)
		if w.out != nil && c.queue.begun(w.out) {
			err = wire.Errorf(wire.CodeUnknown, "the connection was lost before the answer came; whether it was done is not known")
		}
		select {
		case w.answer <- answer{err: err}:
		default: // answered already
		}
	}
}

func marshal(params any) ([]byte, error) {
	if params == nil {
		return nil, nil
	}
	return wire.Marshal(params)
}

// trim takes the line end off that the codec writes.
func trim(line []byte) []byte { return line[:len(line)-1] }
