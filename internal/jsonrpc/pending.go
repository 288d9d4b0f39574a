package jsonrpc

import (
	"slices"
	"time"

	"github.com/agenthost/agenthost/internal/rawjson"
)

// Pending is the table of our requests that wait for an answer, each with what
// the owner wants to remember of it. Ids are integers from 1, never reused. The
// zero Pending is ready. It is not safe for concurrent use.
type Pending[T any] struct {
	last    int64
	waiting []Waiting[T] // by id; few at a time
}

// Waiting is one request in the table.
type Waiting[T any] struct {
	ID     int64
	Method string
	// Deadline is when to give up, zero for never.
	Deadline time.Time
	Value    T
}

// Add makes the next id and enters a request. A zero deadline means that the
// request may wait for ever.
func (p *Pending[T]) Add(method string, deadline time.Time, value T) int64 {
	p.last++
	p.waiting = append(p.waiting, Waiting[T]{ID: p.last, Method: method, Deadline: deadline, Value: value})
	return p.last
}

// Take removes and returns the request that an answer's id names: our integer,
// or the same as a string. ok is false for an id that is unknown, answered or
// given up, which is no fault of ours: agents answer twice.
func (p *Pending[T]) Take(id rawjson.Value) (w Waiting[T], ok bool) {
	n, isInt := id.Int()
	if !isInt {
		return Waiting[T]{}, false
	}
	i := slices.IndexFunc(p.waiting, func(w Waiting[T]) bool { return w.ID == n })
	if i < 0 {
		return Waiting[T]{}, false
	}
	w = p.waiting[i]
	p.waiting = slices.Delete(p.waiting, i, i+1)
	return w, true
}

// Expired removes and returns the requests whose deadline is not after now, in
// the order in which they were sent.
func (p *Pending[T]) Expired(now time.Time) []Waiting[T] {
	var out []Waiting[T]
	p.waiting = slices.DeleteFunc(p.waiting, func(w Waiting[T]) bool {
		late := !w.Deadline.IsZero() && !w.Deadline.After(now)
		if late {
			out = append(out, w)
		}
		return late
	})
	return out
}

// Drain removes and returns all requests, in the order in which they were sent.
func (p *Pending[T]) Drain() []Waiting[T] {
	out := p.waiting
	p.waiting = nil
	return out
}

// Next returns the earliest deadline, zero when there is none.
func (p *Pending[T]) Next() time.Time {
	var next time.Time
	for _, w := range p.waiting {
		if !w.Deadline.IsZero() && (next.IsZero() || w.Deadline.Before(next)) {
			next = w.Deadline
		}
	}
	return next
}

// Len returns the number of requests that wait.
func (p *Pending[T]) Len() int { return len(p.waiting) }

// SetDeadline changes the deadline of a waiting request; zero is never. It does
// nothing for an id that does not wait.
func (p *Pending[T]) SetDeadline(id int64, deadline time.Time) {
	for i := range p.waiting {
		if p.waiting[i].ID == id {
			p.waiting[i].Deadline = deadline
		}
	}
}
