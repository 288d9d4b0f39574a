package peer

import (
	"context"
	"fmt"

	"github.com/agenthost/agenthost/internal/jsonrpc"
)

// Start is Call in two: it returns when the call is in the queue, so that one
// goroutine makes several in an order, and wait gives the answer. Wait is called once;
// ctx of both is as for Call.
func (c *Conn) Start(ctx context.Context, method string, params any) (wait func(ctx context.Context, result any) error, err error) {
	raw, err := marshal(params)
	if err != nil {
		return nil, fmt.Errorf("params of %s: %w", method, err)
	}
	w := &call{answer: make(chan answer, 1)}
	c.mu.Lock()
	if c.pending == nil {
		c.mu.Unlock()
		return nil, ErrNotSent
	}
	c.lastID++
	id := c.lastID
	w.out = &outgoing{data: trim(jsonrpc.AppendRequest(nil, id, method, raw)), lane: c.laneOf(method)}
	c.pending[id] = w
	c.mu.Unlock()
	if err := c.push(ctx, w.out); err != nil {
		c.forget(id)
		return nil, err
	}
	return func(ctx context.Context, result any) error {
		defer c.forget(id)
		select {
		case a := <-w.answer:
			return a.into(method, result)
		case <-ctx.Done():
		}
		return c.gaveUp(ctx, method, w, result)
	}, nil
}
