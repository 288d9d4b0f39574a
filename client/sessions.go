package client

import (
	"context"
	"encoding/json/jsontext"
	"iter"

	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/wire"
)

// SessionsItem is the whole list, or one change of it.
type SessionsItem struct {
	// List is the list, on the first item and after a lost connection.
	List []wire.Session
	// IsList tells an empty list from a change.
	IsList bool
	Change wire.SessionsPush
}

// WatchSessions gives the list of sessions and then what changes in it, until ctx is
// over, whose cause is the last error, or trying again is of no use.
func (c *Client) WatchSessions(ctx context.Context, p wire.SessionsParams) iter.Seq2[SessionsItem, error] {
	return func(yield func(SessionsItem, error) bool) {
		again := pause{}
		for {
			going, listed, err := c.watchOnce(ctx, p, yield)
			switch {
			case !going:
				return
			case ctx.Err() != nil:
				yield(SessionsItem{}, context.Cause(ctx))
				return
			case final(err):
				yield(SessionsItem{}, err)
				return
			}
			if listed {
				again.reset()
			}
			if err := again.wait(ctx, c.life); err != nil {
				yield(SessionsItem{}, err)
				return
			}
		}
	}
}

// watchOnce is one connection. Going is false when the loop was broken off.
func (c *Client) watchOnce(ctx context.Context, p wire.SessionsParams, yield func(SessionsItem, error) bool) (going, listed bool, err error) {
	pushes := make(chan push)
	conn, _, err := c.connect(ctx, func(ctx context.Context, method string, params jsontext.Value) (any, error) {
		select {
		case pushes <- push{method, params}:
		case <-ctx.Done():
		}
		return nil, nil
	})
	if err != nil {
		return true, false, err
	}
	defer conn.Close(peer.StatusNormal, "")
	var r wire.SessionsResult
	if err := conn.Call(ctx, wire.SessionsSubscribe, p, &r); err != nil {
		return true, false, err
	}
	if !yield(SessionsItem{List: r.Sessions, IsList: true}, nil) {
		return false, true, nil
	}
	for {
		select {
		case got := <-pushes:
			switch got.method {
			case wire.PushSessions, wire.PushHosts:
				err = read(got, func(change wire.SessionsPush) error {
					going = yield(SessionsItem{Change: change}, nil)
					return nil
				})
				if err != nil || !going {
					return err != nil, true, err
				}
			case wire.PushEnded:
				err = read(got, func(e wire.EndedPush) error {
					if e.Error != nil {
						return e.Error
					}
					return errLost
				})
				return true, true, err
			}
		case <-conn.Done():
			return true, true, errLost
		case <-ctx.Done():
			return true, true, context.Cause(ctx)
		}
	}
}
