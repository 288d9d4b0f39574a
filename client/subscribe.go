package client

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"iter"

	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/wire"
)

// Subscription says what to watch of a session.
type Subscription struct {
	// Session is an id, the beginning of one, or "last".
	Session string
	// From is the first position wanted, the end of what the caller has already;
	// wire.FromEnd for what comes from now on.
	From wire.Position
	// Format is envelopes (the default) or events.
	Format wire.Format
	// Profile is extended (the default) or strict.
	Profile string
	// Snapshot asks, with events, for the transcript in place of what made it.
	Snapshot bool
	// Live asks for texts as they are made and for asks.
	Live bool
	// OnLost is called when the connection is lost and tried again; nil for not.
	OnLost func(error)
}

// Item is one thing of a subscription. Next is the cursor: Subscription.From of who
// comes again after this item. Of the other members those of one kind are set.
type Item struct {
	Next wire.Position

	// Started is set on the first item: where the subscription begins, with the
	// metadata and, if asked for, the transcript.
	Started *wire.SubscribeResult
	// Envelope is an envelope, byte for byte as the host's journal has it, at the
	// position Next-1. It is null when it is damaged or has no place in the profile.
	Envelope jsontext.Value
	// Events are those of the envelopes up to Next, or of changed metadata.
	Events []jsontext.Value
	// Live is what passes: deltas and asks, or with the format events their events
	// and asks.
	Live       []wire.Live
	LiveEvents []jsontext.Value
	// Changed is new metadata.
	Changed *wire.Session
	// Reset says that envelopes before Next are no longer kept and were missed.
	Reset bool
}

// Subscribe watches a session. It ends without an error when the session is removed,
// with the cause of ctx when that is over, and with the error of the other side when
// trying again is of no use. Breaking off the loop ends it too.
func (c *Client) Subscribe(ctx context.Context, s Subscription) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		w := &watcher{c: c, sub: s, next: s.From, yield: yield}
		p := pause{}
		for {
			before := w.yielded
			err := w.once(ctx)
			switch {
			case w.broken || err == nil:
				return
			case ctx.Err() != nil:
				yield(Item{Next: w.next}, context.Cause(ctx))
				return
			case final(err):
				yield(Item{Next: w.next}, err)
				return
			}
			if w.yielded > before {
				p.reset()
			}
			if s.OnLost != nil {
				s.OnLost(err)
			}
			if err := p.wait(ctx, c.life); err != nil {
				yield(Item{Next: w.next}, err)
				return
			}
		}
	}
}

// watcher is where a subscription stands, over all its connections.
type watcher struct {
	c       *Client
	sub     Subscription
	next    wire.Position
	session string // the full id, once known
	yield   func(Item, error) bool
	yielded int
	broken  bool // the loop was broken off
}

// push is a notification that came.
type push struct {
	method string
	params jsontext.Value
}

// give yields an item; false when the loop was broken off.
func (w *watcher) give(i Item) bool {
	i.Next = w.next
	w.yielded++
	if !w.yield(i, nil) {
		w.broken = true
	}
	return !w.broken
}

// once is one connection: it returns nil when the session was removed, or the loop
// broken off.
func (w *watcher) once(ctx context.Context) error {
	pushes := make(chan push)
	conn, _, err := w.c.connect(ctx, func(ctx context.Context, method string, params jsontext.Value) (any, error) {
		select {
		case pushes <- push{method, params}:
		case <-ctx.Done():
		}
		return nil, nil
	})
	if err != nil {
		return err
	}
	defer conn.Close(peer.StatusNormal, "")
	if err := w.start(ctx, conn); err != nil || w.broken {
		return err
	}
	for {
		select {
		case p := <-pushes:
			if ended, err := w.take(p); ended || err != nil || w.broken {
				return err
			}
		case <-conn.Done():
			return errLost
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

var errLost = errors.New("connection lost")

// start subscribes from the cursor on.
func (w *watcher) start(ctx context.Context, conn *peer.Conn) error {
	ref := w.sub.Session
	if w.session != "" {
		ref = w.session // "last" may be another one by now
	}
	var r wire.SubscribeResult
	err := conn.Call(ctx, wire.SessionSubscribe, wire.SubscribeParams{
		Session: ref, From: w.next, Format: w.sub.Format, Profile: w.sub.Profile, Live: w.sub.Live,
		Snapshot: w.sub.Snapshot && w.session == "",
	}, &r)
	if err != nil {
		return err
	}
	if w.session != "" {
		return nil
	}
	w.session = r.Session.ID
	if w.next == wire.FromEnd || w.sub.Snapshot {
		w.next = r.Next
	}
	w.give(Item{Started: &r})
	return nil
}

// take looks at a push. What the viewer has already is passed over, and a gap that
// nobody told of is an error, after which the subscription begins again at the
// cursor.
func (w *watcher) take(p push) (ended bool, err error) {
	switch p.method {
	case wire.PushEnvelopes:
		return false, read(p, w.envelopes)
	case wire.PushEvents:
		return false, read(p, w.events)
	case wire.PushLive:
		return false, read(p, func(l wire.LivePush) error {
			w.give(Item{Live: l.Items, LiveEvents: l.Events})
			return nil
		})
	case wire.PushChanged:
		return false, read(p, func(c wire.ChangedPush) error {
			w.give(Item{Changed: &c.Session})
			return nil
		})
	case wire.PushReset:
		return false, read(p, func(r wire.ResetPush) error {
			if r.Oldest > w.next {
				w.next = r.Oldest
				w.give(Item{Reset: true})
			}
			return nil
		})
	case wire.PushEnded:
		return true, read(p, func(e wire.EndedPush) error {
			if e.Error != nil {
				return e.Error
			}
			return nil
		})
	}
	return false, nil // of a newer server
}

func (w *watcher) envelopes(p wire.EnvelopesPush) error {
	if p.Position > w.next {
		return gap(w.next, p.Position)
	}
	for i, line := range p.Envelopes {
		if p.Position+wire.Position(i) < w.next {
			continue
		}
		w.next++
		if !w.give(Item{Envelope: line}) {
			return nil
		}
	}
	return nil
}

func (w *watcher) events(p wire.EventsPush) error {
	switch {
	case p.Position > w.next:
		return gap(w.next, p.Position)
	case p.Next < w.next || p.Next == w.next && p.Position < p.Next:
		return nil
	case p.Position < w.next:
		return gap(w.next, p.Position) // it has some of what was shown
	}
	w.next = p.Next
	if len(p.Events) > 0 {
		w.give(Item{Events: p.Events})
	}
	return nil
}

func gap(want, got wire.Position) error {
	return fmt.Errorf("stream does not go on: want position %d, got %d", want, got)
}

// read reads the params of a push.
func read[T any](p push, f func(T) error) error {
	var v T
	if err := wire.UnmarshalStream(p.params, &v); err != nil {
		return fmt.Errorf("reading %s: %v", p.method, err)
	}
	return f(v)
}
