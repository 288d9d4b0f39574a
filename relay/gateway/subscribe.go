package gateway

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"iter"

	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/wire"
)

// begin enters a subscription; its context ends with it and with the connection.
func (v *viewer) begin() (context.Context, string, *subscription, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if limit := v.g.opts.Limits.Subscriptions; len(v.subs) >= limit {
		return nil, "", nil, wire.Errorf(wire.CodeTooLarge, "%d subscriptions on this connection: want at most that", limit)
	}
	v.last++
	id := fmt.Sprintf("s%d", v.last)
	ctx, stop := context.WithCancel(v.life)
	s := &subscription{stop: stop, done: make(chan struct{})}
	v.subs[id] = s
	return ctx, id, s, nil
}

// over forgets a subscription that sends no more.
func (v *viewer) over(id string, s *subscription) {
	s.stop()
	close(s.done)
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.subs, id)
}

// subscribe answers with the snapshot; the pushes follow.
func (v *viewer) subscribe(params jsontext.Value) (any, error) {
	var p wire.SubscribeParams
	if err := wire.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	ctx, id, s, err := v.begin()
	if err != nil {
		return nil, err
	}
	f, err := v.g.open(ctx, v.mem, v.principal.Backend, p)
	if err != nil {
		v.over(id, s)
		return nil, err
	}
	result := wire.SubscribeResult{Subscription: id, Session: f.session, Next: f.next}
	if p.Snapshot {
		if result.Transcript, err = f.events.transcript(); err != nil {
			f.close()
			v.over(id, s)
			return nil, fmt.Errorf("encoding a transcript: %w", err)
		}
	}
	answered := make(chan bool, 1)
	v.pumps.Go(func() {
		defer v.over(id, s)
		defer f.close()
		if <-answered {
			v.pump(ctx, id, f)
		}
	})
	return peer.Settled(result, func(sent bool) { answered <- sent }), nil
}

// pump sends what a feed shows, and at the end that it is the end.
func (v *viewer) pump(ctx context.Context, id string, f *feed) {
	err := f.run(ctx, &pusher{conn: v.conn, id: id, session: f.session.ID, events: f.events != nil}, 0, forever)
	if ctx.Err() != nil {
		return
	}
	end := wire.EndedPush{Subscription: id, Session: f.session.ID}
	if err != nil {
		v.g.opts.Log.Warn("subscription failed", "session", f.session.ID, "err", err)
		end.Error = wire.AsError(err)
	}
	_ = v.conn.Notify(ctx, wire.PushEnded, end) // or the connection is gone
}

// pusher is a sink that notifies.
type pusher struct {
	conn        *peer.Conn
	id, session string
	events      bool
}

func (p *pusher) lines(ctx context.Context, pos, next wire.Position, entries []entry) error {
	var raw []jsontext.Value
	for _, e := range entries {
		raw = append(raw, e.raw...)
	}
	if p.events {
		return p.push(ctx, pos, next, raw)
	}
	return p.conn.Notify(ctx, wire.PushEnvelopes, wire.EnvelopesPush{Subscription: p.id, Session: p.session, Position: pos, Envelopes: raw})
}

func (p *pusher) push(ctx context.Context, pos, next wire.Position, events []jsontext.Value) error {
	return p.conn.Notify(ctx, wire.PushEvents, wire.EventsPush{Subscription: p.id, Session: p.session, Position: pos, Next: next, Events: events})
}

func (p *pusher) live(ctx context.Context, items []wire.Live, events []jsontext.Value) error {
	return p.conn.Notify(ctx, wire.PushLive, wire.LivePush{Subscription: p.id, Session: p.session, Items: items, Events: events})
}

func (p *pusher) changed(ctx context.Context, s wire.Session, at wire.Position, events []jsontext.Value) error {
	if len(events) > 0 {
		if err := p.push(ctx, at, at, events); err != nil {
			return err
		}
	}
	return p.conn.Notify(ctx, wire.PushChanged, wire.ChangedPush{Subscription: p.id, Session: s})
}

func (p *pusher) reset(ctx context.Context, oldest wire.Position) error {
	return p.conn.Notify(ctx, wire.PushReset, wire.ResetPush{Subscription: p.id, Session: p.session, Oldest: oldest})
}

// subscribeSessions answers with the list; the changes follow.
func (v *viewer) subscribeSessions(params jsontext.Value) (any, error) {
	var p wire.SessionsParams
	if err := wire.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	ctx, id, s, err := v.begin()
	if err != nil {
		return nil, err
	}
	mem := v.mem.part()
	if err := mem.keep(subscriptionCost); err != nil {
		mem.close()
		v.over(id, s)
		return nil, err
	}
	list, changes, err := v.principal.Backend.WatchSessions(ctx, p)
	if err != nil {
		mem.close()
		v.over(id, s)
		return nil, err
	}
	answered := make(chan bool, 1)
	v.pumps.Go(func() {
		defer v.over(id, s)
		defer mem.close()
		if <-answered {
			v.pumpSessions(ctx, id, changes)
		}
	})
	return peer.Settled(wire.SessionsResult{Sessions: list, Subscription: id}, func(sent bool) { answered <- sent }), nil
}

func (v *viewer) pumpSessions(ctx context.Context, id string, changes iter.Seq2[wire.SessionsPush, error]) {
	end := wire.EndedPush{Subscription: id}
	for change, err := range changes {
		if err != nil {
			end.Error = wire.AsError(err)
			break
		}
		change.Subscription = id
		name := wire.PushSessions
		if change.Host != nil {
			name = wire.PushHosts
		}
		if v.conn.Notify(ctx, name, change) != nil {
			return
		}
	}
	if ctx.Err() == nil {
		_ = v.conn.Notify(ctx, wire.PushEnded, end) // or the connection is gone
	}
}

// unsubscribe ends a subscription: after the answer nothing more comes of it.
func (v *viewer) unsubscribe(params jsontext.Value) (any, error) {
	var p wire.UnsubscribeParams
	if err := wire.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	v.mu.Lock()
	s := v.subs[p.Subscription]
	v.mu.Unlock()
	if s == nil {
		return nil, wire.Errorf(wire.CodeNotFound, "no subscription %q on this connection", clip(p.Subscription))
	}
	s.stop()
	<-s.done
	return peer.Settled(nil, func(bool) {}), nil // behind what is queued already
}
