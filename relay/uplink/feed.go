package uplink

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/wire"
)

// feed tells the relay of one session.
type feed struct {
	l      *link
	id     string
	ctx    context.Context
	cancel context.CancelFunc
	// opened is closed when the relay knows the session, done when the feed has ended.
	opened, done chan struct{}
	once         sync.Once

	mu sync.Mutex
	// latest is the newest metadata, told the version of what the relay has.
	latest wire.Session  // guarded by mu
	wake   chan struct{} // holds one: latest has changed

	// version is what the relay has; only run uses it.
	version int64
}

func newFeed(l *link, s wire.Session) *feed {
	f := &feed{l: l, id: s.ID, latest: s, opened: make(chan struct{}), done: make(chan struct{}), wake: make(chan struct{}, 1)}
	f.ctx, f.cancel = context.WithCancel(l.ctx)
	return f
}

func (f *feed) stop() { f.cancel() }

// changed takes newer metadata.
func (f *feed) changed(s wire.Session) {
	f.mu.Lock()
	if s.Version > f.latest.Version {
		f.latest = s
	}
	f.mu.Unlock()
	f.poke()
}

// poke wakes who waits for a change.
func (f *feed) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *feed) metadata() wire.Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.latest
}

// Waits of a session that the relay refuses, while the others go on.
const (
	feedWait    = time.Second
	maxFeedWait = 5 * time.Minute
)

// run tells of the session until the connection ends.
func (f *feed) run() {
	defer close(f.done)
	defer f.cancel()
	for wait := feedWait; ; wait = min(2*wait, maxFeedWait) {
		begin := time.Now()
		err := f.tell()
		if f.ctx.Err() != nil {
			return
		}
		if time.Since(begin) > wait {
			wait = feedWait
		}
		f.l.u.log.Warn("telling the relay of a session", "session", f.id, "err", err, "again in", wait)
		select {
		case <-f.ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// tell opens the session at the relay and sends what it lacks and what comes.
func (f *feed) tell() (err error) {
	var open wire.OpenResult
	s := f.metadata()
	if err := f.l.conn.Call(f.ctx, wire.SessionOpen, wire.OpenParams{Session: s}, &open); err != nil {
		return fmt.Errorf("%s: %w", wire.SessionOpen, err)
	}
	f.version = open.Version
	if had := f.l.u.cursors.get(f.id); open.Next < had {
		f.l.u.log.Warn("the relay has lost envelopes: sending them again", "session", f.id, "has", open.Next, "had", had)
	}
	f.l.u.cursors.set(f.id, open.Next, f.l.u.log)
	f.once.Do(func() { close(f.opened) })
	for next := open.Next; ; {
		if next, err = f.follow(next); !errors.Is(err, errRests) {
			return err
		}
		if err := f.rest(next); err != nil {
			return err
		}
	}
}

// rests reports whether nothing is to be expected of the session: its agent is
// stopped, and what lies before next is all there is. Most sessions of a host are
// like that, and cost nothing then.
func rests(s wire.Session, next wire.Position) bool {
	return (s.State == wire.StateStopped || s.State == wire.StateFailed) && next >= s.End
}

// errRests says that the session's stream was left because it rests.
var errRests = errors.New("the session rests")

// rest waits until the session does something again.
func (f *feed) rest(next wire.Position) error {
	for {
		if err := f.tellMetadata(f.ctx); err != nil {
			return err
		}
		if !rests(f.metadata(), next) {
			return nil
		}
		select {
		case <-f.ctx.Done():
			return context.Cause(f.ctx)
		case <-f.wake:
		}
	}
}

// follow sends what the relay lacks and what comes, until the session rests: then it
// returns the next position and errRests.
func (f *feed) follow(next wire.Position) (wire.Position, error) {
	if rests(f.metadata(), next) {
		return next, errRests
	}
	ctx, cancel := context.WithCancelCause(f.ctx)
	defer cancel(nil)
	stream, err := f.l.u.opt.Source.Stream(ctx, f.id, next)
	if err != nil {
		return next, fmt.Errorf("reading the session: %w", err)
	}
	b := &batcher{f: f, next: next}
	pieces := make(chan piece, batchEnvelopes)
	acks := make(chan ack, cap(f.l.inflight))
	var wg sync.WaitGroup
	defer func() {
		cancel(nil)
		wg.Wait()
		// The answers still to come are nobody's; their room is the other sessions'.
		for range len(acks) {
			<-acks
			<-f.l.inflight
		}
	}()
	wg.Go(func() {
		defer close(pieces)
		for item, err := range stream {
			// The line is the stream's until the next item.
			item.Line = slices.Clone(item.Line)
			select {
			case pieces <- piece{item, err}:
			case <-ctx.Done():
				return
			}
		}
	})
	wg.Go(func() {
		if err := f.acknowledge(ctx, acks); err != nil {
			cancel(err)
		}
	})
	err = b.send(ctx, pieces, acks)
	if cause := context.Cause(ctx); cause != nil && f.ctx.Err() == nil {
		err = cause
	}
	return b.next, err
}

// acknowledge takes the answers in the order of the appends.
func (f *feed) acknowledge(ctx context.Context, acks <-chan ack) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case a := <-acks:
			var r wire.AppendResult
			err := a.wait(ctx, &r)
			<-f.l.inflight
			if err != nil {
				return fmt.Errorf("%s: %w", wire.SessionAppend, err)
			}
			f.l.u.cursors.set(f.id, r.Next, f.l.u.log)
			if rests(f.metadata(), r.Next) {
				f.poke() // send looks whether that was all
			}
		}
	}
}

// tellMetadata replaces what the relay has of the session's metadata by the newest.
func (f *feed) tellMetadata(ctx context.Context) error {
	for range 3 {
		s := f.metadata()
		if s.Version == f.version {
			return nil
		}
		var r wire.MetadataResult
		err := f.l.conn.Call(ctx, wire.SessionMetadata, wire.MetadataParams{Expect: f.version, Session: s}, &r)
		if err == nil {
			f.version = r.Version
			return nil
		}
		var refused *wire.Error
		if !errors.As(err, &refused) || refused.Code != wire.CodeConflict {
			return fmt.Errorf("%s: %w", wire.SessionMetadata, err)
		}
		// The host is the source of truth: what the relay has is an older word of ours.
		var has wire.Session
		if err := wire.UnmarshalStream(refused.Data, &has); err != nil {
			return fmt.Errorf("%s: %w", wire.SessionMetadata, err)
		}
		f.version = has.Version
	}
	return errors.New("the relay's metadata keep changing: does another host have the session?")
}

// strict is a line in the strict profile, null when it has no place there.
func strict(line []byte) jsontext.Value {
	if e, err := contract.Decode(line); err == nil {
		if e, ok := contract.Strict(e); ok {
			if out, err := contract.Encode(e); err == nil {
				return out
			}
		}
	}
	return jsontext.Value("null")
}
