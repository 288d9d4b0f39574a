package permission

import (
	"container/list"
	"context"
	"io"
)

// Change is what happened to an ask: exactly one field is set.
type Change struct {
	// Opened is an ask to be answered, or one that is shown anew with another nonce.
	Opened *Ask
	// Closed is an ask that Opened told of and that is settled.
	Closed *Closed
}

// Closed is how an ask was settled.
type Closed struct {
	ID, Session, Call string
	// Answer has no Answers: those are between the person and the agent.
	Answer Answer
}

// Feed are the asks of a session, or of all, as they come and go. Its size is
// bounded by that of the open asks: an ask that was settled before its reader
// heard of it is left out.
type Feed struct {
	m       *Mediator
	session string

	// The rest is guarded by m.mu.
	queue  *list.List               // of Change
	opened map[string]*list.Element // Opened that were not read yet
	known  map[string]bool          // asks that the reader heard of
	wake   chan struct{}            // holds one value while queue may have something
	ended  bool
}

// Subscribe begins with every open ask of the session, of all when it is empty,
// and goes on with every change. Close the Feed when done with it.
func (m *Mediator) Subscribe(session string) *Feed {
	f := &Feed{
		m: m, session: session, queue: list.New(), opened: map[string]*list.Element{}, known: map[string]bool{},
		wake: make(chan struct{}, 1),
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.pendingLocked(session) {
		f.openLocked(a)
	}
	if m.closed {
		f.endLocked()
	} else {
		m.feeds[f] = struct{}{}
	}
	return f
}

// Next blocks until there is a change, ctx is done, or the Feed or its Mediator is
// closed, which is io.EOF. It is for one reader at a time.
func (f *Feed) Next(ctx context.Context) (Change, error) {
	for {
		if c, ok, ended := f.take(); ok {
			return c, nil
		} else if ended {
			return Change{}, io.EOF
		}
		select {
		case <-ctx.Done():
			return Change{}, context.Cause(ctx)
		case <-f.wake:
		}
	}
}

func (f *Feed) take() (c Change, ok, ended bool) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	e := f.queue.Front()
	if e == nil {
		return Change{}, false, f.ended
	}
	c = f.queue.Remove(e).(Change)
	if c.Opened != nil {
		delete(f.opened, c.Opened.ID)
		f.known[c.Opened.ID] = true
	}
	return c, true, false
}

// Close ends the Feed. What was not read is gone.
func (f *Feed) Close() {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.queue.Init()
	f.endLocked()
}

func (f *Feed) endLocked() {
	delete(f.m.feeds, f)
	f.ended = true
	f.wakeLocked()
}

func (f *Feed) wakeLocked() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *Feed) openLocked(a Ask) {
	if e := f.opened[a.ID]; e != nil {
		e.Value = Change{Opened: &a}
		return
	}
	f.opened[a.ID] = f.queue.PushBack(Change{Opened: &a})
	f.wakeLocked()
}

func (f *Feed) closeLocked(c Closed) {
	if e := f.opened[c.ID]; e != nil {
		f.queue.Remove(e)
		delete(f.opened, c.ID)
	}
	if !f.known[c.ID] {
		return
	}
	delete(f.known, c.ID)
	f.queue.PushBack(Change{Closed: &c})
	f.wakeLocked()
}

func (m *Mediator) tellOpenLocked(o *open) {
	for f := range m.feeds {
		if f.session == "" || f.session == o.ask.Session {
			f.openLocked(o.ask)
		}
	}
}

func (m *Mediator) tellClosedLocked(o *open, a Answer) {
	a.Answers = nil
	for f := range m.feeds {
		if f.session == "" || f.session == o.ask.Session {
			f.closeLocked(Closed{ID: o.ask.ID, Session: o.ask.Session, Call: o.ask.Call, Answer: a})
		}
	}
}
