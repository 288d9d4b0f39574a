package prompt

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/agenthost/agenthost/permission"
)

// queue holds the asks that are to be shown, in their order.
type queue struct {
	feed *permission.Feed

	mu   sync.Mutex
	list []*permission.Ask
	ends map[string]*end
	err  error
	// wake holds one value while there may be something new.
	wake chan struct{}
}

// end is told when an ask is settled or shown anew.
type end struct {
	done chan struct{}
	how  string
}

func newQueue(f *permission.Feed) *queue {
	return &queue{feed: f, ends: map[string]*end{}, wake: make(chan struct{}, 1)}
}

// follow reads the feed until it ends or ctx is done.
func (q *queue) follow(ctx context.Context) {
	for {
		c, err := q.feed.Next(ctx)
		q.mu.Lock()
		switch {
		case err != nil:
			q.err = err
			if ctx.Err() == nil {
				q.err = io.EOF
			}
		case c.Opened != nil:
			q.finish(c.Opened.ID, "it has changed")
			q.list = append(q.list, c.Opened)
			q.ends[c.Opened.ID] = &end{done: make(chan struct{})}
		case c.Closed != nil:
			a := c.Closed.Answer
			how := fmt.Sprintf("answered elsewhere: %s by %s", a.Decision, a.By.Resolver)
			if a.By.ClientType != "" {
				how += fmt.Sprintf(" (%s)", a.By.ClientType)
			}
			q.finish(c.Closed.ID, how)
		}
		q.mu.Unlock()
		select {
		case q.wake <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// finish takes an ask off the list. The caller holds mu.
func (q *queue) finish(id, how string) {
	for i, a := range q.list {
		if a.ID == id {
			q.list = append(q.list[:i:i], q.list[i+1:]...)
			break
		}
	}
	if e := q.ends[id]; e != nil {
		e.how = how
		close(e.done)
		delete(q.ends, id)
	}
}

// next is the ask to be shown; io.EOF when there will be none, or nobody to answer
// it because ended is closed.
func (q *queue) next(ctx context.Context, ended <-chan struct{}) (*permission.Ask, error) {
	for {
		q.mu.Lock()
		if len(q.list) > 0 {
			a := q.list[0]
			q.list = q.list[1:]
			q.mu.Unlock()
			return a, nil
		}
		err := q.err
		q.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ended:
			return nil, io.EOF
		case <-q.wake:
		}
	}
}

// gone is closed when the ask is settled or shown anew. how says how, after that.
func (q *queue) gone(id string) (<-chan struct{}, func() string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.ends[id]
	if e == nil {
		e = &end{done: make(chan struct{}), how: "answered elsewhere"}
		close(e.done)
	}
	return e.done, func() string { return e.how }
}
