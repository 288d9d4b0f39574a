package daemon

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"math"
	"os"
	"sync"
	"time"

	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

type unattended struct{}

// Unattended marks a context whose streams are read by a program that is always
// there, as an uplink: they do not keep an idle agent running.
func Unattended(ctx context.Context) context.Context {
	return context.WithValue(ctx, unattended{}, true)
}

// Stream implements gateway.Backend. What comes of a session's changes of metadata
// and of its asks stands between the envelopes: an ask behind its request, and an
// open one when the stream has what was stored.
func (d *Daemon) Stream(ctx context.Context, id string, from wire.Position) (iter.Seq2[gateway.Item, error], error) {
	e := d.entry(id)
	if e == nil {
		return nil, wire.Errorf(wire.CodeNotFound, "no session %q", id)
	}
	end, err := e.end()
	if err != nil {
		return nil, err
	}
	switch {
	case from == wire.FromEnd:
		from = end
	case from < 0:
		return nil, wire.Errorf(wire.CodeInvalid, "from: want a position or %d, got %d", wire.FromEnd, from)
	case from > end:
		return nil, wire.Errorf(wire.CodeInvalid, "from: want a position up to %d, the end of the session, got %d", end, from)
	}
	return func(yield func(gateway.Item, error) bool) {
		s := &stream{d: d, e: e, pos: journal.Position(from), yield: yield}
		if ctx.Value(unattended{}) == nil {
			e.watched(1)
			defer e.watched(-1)
		}
		s.run(ctx)
	}, nil
}

func (e *entry) watched(n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.viewers += n
	e.active = time.Now()
}

// end is the position of the next envelope.
func (e *entry) end() (wire.Position, error) {
	if run := e.current(); run != nil {
		return wire.Position(run.Journal().End()), nil
	}
	r, err := journal.OpenReader(e.journalDir(), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	_, end, err := r.Bounds()
	return wire.Position(end), err
}

// stream is one reader of a session.
type stream struct {
	d     *Daemon
	e     *entry
	pos   journal.Position
	yield func(gateway.Item, error) bool
	over  bool // nothing may be yielded any more
	asks  []heldAsk
}

// heldAsk is an open ask whose request may not have been given yet: it lies before
// end.
type heldAsk struct {
	ask permission.Ask
	end journal.Position
}

// run gives the stream until ctx ends, the reader leaves, or the session is removed.
func (s *stream) run(ctx context.Context) {
	w := s.d.hub.watch(s.e.id)
	defer w.close()
	for !s.over && ctx.Err() == nil && !s.removed() {
		run := s.e.current()
		if run != nil {
			s.follow(ctx, w, run)
			s.untilOther(ctx, w, run)
			continue
		}
		s.stored(ctx, w)
	}
}

func (s *stream) removed() bool {
	select {
	case <-s.e.gone:
		return true
	default:
		return false
	}
}

// give yields an item.
func (s *stream) give(it gateway.Item) bool {
	if !s.over && !s.yield(it, nil) {
		s.over = true
	}
	return !s.over
}

func (s *stream) fail(err error) {
	if !s.over {
		s.over = true
		s.yield(gateway.Item{}, err)
	}
}

// line gives an envelope, and the asks that wait for it.
func (s *stream) line(p journal.Position, line []byte) bool {
	s.pos = p + 1
	return s.give(gateway.Item{Position: wire.Position(p), Line: line}) && s.dueAsks()
}

// dueAsks gives the open asks whose request was given.
func (s *stream) dueAsks() bool {
	for len(s.asks) > 0 && s.asks[0].end <= s.pos {
		a := s.asks[0].ask
		s.asks = s.asks[1:]
		if !s.e.open(a) {
			continue // answered meanwhile
		}
		w := s.e.ask(a)
		if !s.give(gateway.Item{Position: wire.Position(s.pos), Live: &wire.Live{Ask: &w}}) {
			return false
		}
	}
	return true
}

// open reports whether an ask is open still, as it was shown.
func (e *entry) open(a permission.Ask) bool {
	for _, p := range e.d.cfg.Mediator.Pending(e.id) {
		if p.ID == a.ID {
			return p.Nonce == a.Nonce
		}
	}
	return false
}

// changed gives the metadata.
func (s *stream) changed(w *watcher) bool {
	if len(w.take()) == 0 {
		return true
	}
	if s.removed() {
		return true
	}
	now := s.e.session()
	return s.give(gateway.Item{Position: wire.Position(s.pos), Changed: &now})
}

// trimmed goes on where the journal begins, and says so.
func (s *stream) trimmed(err error) bool {
	var t *journal.TrimmedError
	if !errors.As(err, &t) {
		return false
	}
	s.pos = t.Oldest
	s.give(gateway.Item{Position: wire.Position(s.pos), Reset: true})
	return true
}

// source is what a session says, as it comes, on a channel: so that one can wait
// for other things as well.
type source struct {
	items chan host.Item
	err   error // valid when items is closed
	stop  func()
}

func newSource(ctx context.Context, seq func(context.Context) iter.Seq2[host.Item, error]) *source {
	ctx, cancel := context.WithCancel(ctx)
	src := &source{items: make(chan host.Item)}
	var wg sync.WaitGroup
	src.stop = func() { cancel(); wg.Wait() }
	all := seq(ctx) // here: deltas count from this call on
	wg.Go(func() {
		defer close(src.items)
		for it, err := range all {
			if err != nil {
				src.err = err
				return
			}
			select {
			case src.items <- it:
			case <-ctx.Done():
				return
			}
		}
	})
	return src
}

// follow gives what a session that runs says, until it has ended.
func (s *stream) follow(ctx context.Context, w *watcher, run *host.Session) {
	feed := s.d.cfg.Mediator.Subscribe(s.e.id)
	asks := make(chan heldAsk)
	asking, stopAsking := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { forwardAsks(asking, feed, run, asks) })
	src := newSource(ctx, func(ctx context.Context) iter.Seq2[host.Item, error] { return run.Watch(ctx, s.pos) })
	defer func() {
		stopAsking()
		feed.Close()
		wg.Wait()
		src.stop()
		s.asks = nil
	}()
	for {
		select {
		case it, ok := <-src.items:
			if !ok {
				s.sourceEnded(ctx, src.err)
				return
			}
			if !s.item(it) {
				return
			}
		case a := <-asks:
			s.asks = append(s.asks, a)
			if !s.dueAsks() {
				return
			}
		case <-w.wake:
			if !s.changed(w) {
				return
			}
		case <-s.e.gone:
			return
		case <-ctx.Done():
			return
		}
	}
}

// sourceEnded takes the end of what could be read: nothing more, a trimmed
// position, or a fault.
func (s *stream) sourceEnded(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil || s.trimmed(err) {
		return
	}
	if _, stat := os.Stat(s.e.journalDir()); errors.Is(stat, fs.ErrNotExist) {
		s.over = true // it is being removed
		return
	}
	s.fail(wire.Errorf(wire.CodeInternal, "the session's journal cannot be read; the host's log has more"))
	s.d.log.Error("reading a session's journal", "session", s.e.id, "err", err)
}

// item gives what a session said.
func (s *stream) item(it host.Item) bool {
	if it.Delta == nil {
		return s.line(it.Position, it.Line)
	}
	dl := it.Delta
	return s.give(gateway.Item{Position: wire.Position(s.pos), Live: &wire.Live{Delta: &wire.Delta{
		At: wire.Position(it.Position), Time: time.Now().UnixMilli(), Turn: dl.Turn, Subagent: dl.Subagent, Call: dl.Call,
		Thinking: dl.Thinking, Text: dl.Text,
	}}})
}

// forwardAsks tells of asks that are open, with the end of the stream when it heard
// of them: the request of each lies before that.
func forwardAsks(ctx context.Context, feed *permission.Feed, run *host.Session, to chan<- heldAsk) {
	for {
		c, err := feed.Next(ctx)
		if err != nil {
			return
		}
		if c.Opened == nil {
			continue
		}
		select {
		case to <- heldAsk{*c.Opened, run.Journal().End()}:
		case <-ctx.Done():
			return
		}
	}
}

// untilOther waits until a run that has ended is seen to be over.
func (s *stream) untilOther(ctx context.Context, w *watcher, run *host.Session) {
	select {
	case <-run.Done():
	default:
		return // the reader left, or is behind
	}
	for !s.over && s.e.current() == run {
		select {
		case <-w.wake:
			if !s.changed(w) {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// stored gives what a session that does not run here has, and waits until something
// changes. One that another process runs is followed.
func (s *stream) stored(ctx context.Context, w *watcher) {
	reader, err := journal.OpenReader(s.e.journalDir(), nil)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.sourceEnded(ctx, err)
		return
	}
	if err == nil {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		seq := func(ctx context.Context) iter.Seq2[host.Item, error] {
			if s.e.isForeign() {
				return records(reader.Follow(ctx, s.pos))
			}
			return records(reader.Read(s.pos, math.MaxInt64))
		}
		src := newSource(ctx, seq)
		defer src.stop()
		for open := true; open; {
			select {
			case it, ok := <-src.items:
				if !ok {
					if s.sourceEnded(ctx, src.err); src.err != nil {
						return
					}
					open = false
				} else if !s.item(it) {
					return
				}
			case <-s.e.gone:
				return
			case <-w.wake:
				if !s.changed(w) {
					return
				}
				if s.e.current() != nil {
					return // it runs here now
				}
			case <-ctx.Done():
				return
			}
		}
	}
	select {
	case <-w.wake:
		s.changed(w)
	case <-s.e.gone:
	case <-ctx.Done():
	}
}

func records(seq iter.Seq2[journal.Record, error]) iter.Seq2[host.Item, error] {
	return func(yield func(host.Item, error) bool) {
		for r, err := range seq {
			if !yield(host.Item{Position: r.Position, Envelope: r.Envelope, Line: r.Line}, err) {
				return
			}
		}
	}
}
