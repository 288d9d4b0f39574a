package permission

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

func next(t testing.TB, f *Feed) Change {
	t.Helper()
	c, err := f.Next(t.Context())
	if err != nil {
		t.Fatalf("Next: %v", err)
	}
	return c
}

func TestFeed(t *testing.T) {
	m := New(Options{})
	mustOpen(t, m, bash("a", "ls"))
	other := bash("x", "ls")
	other.Session = "s2"
	mustOpen(t, m, other)
	f := m.Subscribe("s1")
	mustOpen(t, m, bash("b", "pwd"))
	mustOpen(t, m, bash("gone", "pwd"))
	m.Withdraw("gone", contract.ByHost) // before anybody read of it: left out
	if c := next(t, f); c.Opened == nil || c.Opened.ID != "a" {
		t.Errorf("first: %+v, want the ask that was open", c)
	}
	if c := next(t, f); c.Opened == nil || c.Opened.ID != "b" {
		t.Errorf("second: %+v", c)
	}
	if err := m.Resolve(t.Context(), "a", allow()); err != nil {
		t.Fatal(err)
	}
	if c := next(t, f); c.Closed == nil || c.Closed.ID != "a" || c.Closed.Answer.Decision != contract.AllowOnce || c.Closed.Call != "call-a" {
		t.Errorf("third: %+v", c)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Next with a cancelled context: %v", err)
	}
	f.Close()
	f.Close()
	if _, err := f.Next(t.Context()); err != io.EOF {
		t.Errorf("Next after Close: %v, want io.EOF", err)
	}
	if len(m.feeds) != 0 {
		t.Errorf("%d feeds are left", len(m.feeds))
	}
	all := m.Subscribe("")
	if c := next(t, all); c.Opened.ID != "x" {
		t.Errorf("feed of all: %+v", c)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for {
		c, err := all.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil || c.Opened == nil && c.Closed == nil {
			t.Fatalf("after Close of the mediator: %+v, %v", c, err)
		}
	}
	if _, err := m.Subscribe("").Next(t.Context()); err != io.EOF {
		t.Errorf("feed of a closed mediator: %v, want io.EOF", err)
	}
}

// Whoever subscribes at any time hears of each ask that is open then or later
// exactly once, and of its end after that.
func TestFeedsMissNothing(t *testing.T) {
	m := New(Options{})
	const asks, readers = 300, 4
	var wg sync.WaitGroup
	for r := range readers {
		wg.Go(func() {
			f := m.Subscribe("")
			defer f.Close()
			state := map[string]int{} // 1 open, 2 closed
			for {
				c, err := f.Next(context.Background())
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Errorf("reader %d: %v", r, err)
					return
				}
				switch {
				case c.Opened != nil && state[c.Opened.ID] == 0:
					state[c.Opened.ID] = 1
				case c.Closed != nil && state[c.Closed.ID] == 1:
					state[c.Closed.ID] = 2
				default:
					t.Errorf("reader %d: %+v comes twice or too early", r, c)
				}
			}
			for id, s := range state {
				if s != 2 {
					t.Errorf("reader %d: ask %s was never closed", r, id)
				}
			}
		})
	}
	var open sync.WaitGroup
	for k := range 4 {
		open.Go(func() {
			for i := range asks {
				id := fmt.Sprintf("%d-%d", k, i)
				if err := m.Open(bash(id, "ls"), func(Answer) {}); err != nil {
					t.Error(err)
				}
				if i%3 == 0 {
					m.Withdraw(id, contract.ByHost)
				} else if err := m.Resolve(context.Background(), id, allow()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	open.Wait()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
}

// A feed that nobody reads holds no more than the open asks and the ends of those
// that were read.
func TestFeedIsBounded(t *testing.T) {
	m := New(Options{})
	f := m.Subscribe("")
	defer f.Close()
	for i := range 1000 {
		id := fmt.Sprint(i)
		mustOpen(t, m, bash(id, "ls"))
		m.Withdraw(id, contract.ByHost)
	}
	if n := f.queue.Len(); n != 0 {
		t.Errorf("%d changes are queued, want none", n)
	}
}
