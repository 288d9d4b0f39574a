package uplink

import (
	"context"
	"encoding/json/jsontext"
	"fmt"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

// A batch is sent when nothing more is there at the moment, or when it has as much as
// this.
const (
	batchEnvelopes = 256
	batchBytes     = 256 << 10
)

// piece is one thing of the session's stream.
type piece struct {
	item gateway.Item
	err  error
}

// ack is an append that is not answered yet.
type ack struct {
	wait func(ctx context.Context, result any) error
}

// batcher makes appends of a session's stream. Only one goroutine uses it.
type batcher struct {
	f    *feed
	next wire.Position
	// params is the batch being made, live what passes.
	params wire.AppendParams
	bytes  int
	live   []wire.Live
	reset  bool
}

// send sends what comes until the stream or ctx ends.
func (b *batcher) send(ctx context.Context, pieces <-chan piece, acks chan<- ack) error {
	for {
		// Something is waited for only when nothing is left to be sent.
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-b.f.wake:
			if err := b.f.tellMetadata(ctx); err != nil {
				return err
			}
			if len(pieces) == 0 && rests(b.f.metadata(), b.next) && b.f.l.u.cursors.get(b.f.id) >= b.next {
				return errRests
			}
			continue
		case p, ok := <-pieces:
			if !ok {
				return errEnded
			}
			if err := b.take(p); err != nil {
				return err
			}
		}
		for more := true; more && len(b.params.Envelopes) < batchEnvelopes && b.bytes < batchBytes; {
			select {
			case p, ok := <-pieces:
				if !ok {
					more = false
					break
				}
				if err := b.take(p); err != nil {
					return err
				}
			default:
				more = false
			}
		}
		if err := b.flush(ctx, acks); err != nil {
			return err
		}
	}
}

var errEnded = fmt.Errorf("the session's stream ended")

// take adds a piece to the batch.
func (b *batcher) take(p piece) error {
	switch {
	case p.err != nil:
		return fmt.Errorf("reading the session: %w", p.err)
	case p.item.Line != nil:
		if p.item.Position != b.next && !b.reset {
			return fmt.Errorf("reading the session: want position %d, got %d", b.next, p.item.Position)
		}
		if len(b.params.Envelopes) == 0 {
			b.params.Position, b.params.Reset = p.item.Position, b.reset
		}
		b.reset = false
		line := jsontext.Value(p.item.Line)
		b.f.l.offer(b.f.id, line)
		if b.f.l.u.opt.Profile == contract.ProfileStrict {
			line = strict(line)
		}
		b.params.Envelopes = append(b.params.Envelopes, line)
		b.bytes += len(line)
		b.next = p.item.Position + 1
	case p.item.Live != nil:
		b.live = append(b.live, *p.item.Live)
	case p.item.Reset:
		// Only what comes before everything else of the batch may be one.
		if len(b.params.Envelopes) > 0 {
			return fmt.Errorf("reading the session: what lies before position %d is no longer kept", p.item.Position)
		}
		b.reset, b.next = true, p.item.Position
	case p.item.Changed != nil:
		b.f.changed(*p.item.Changed)
	}
	return nil
}

// flush sends the batch and what passes.
func (b *batcher) flush(ctx context.Context, acks chan<- ack) error {
	if n := len(b.params.Envelopes); n > 0 {
		if s, ok := b.f.l.u.opt.Source.(Syncer); ok {
			if err := s.Sync(ctx, b.f.id); err != nil {
				return fmt.Errorf("waiting for the disk: %w", err)
			}
		}
		select {
		case b.f.l.inflight <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		b.params.Session = b.f.id
		wait, err := b.f.l.conn.Start(ctx, wire.SessionAppend, b.params)
		if err != nil {
			<-b.f.l.inflight
			return fmt.Errorf("%s: %w", wire.SessionAppend, err)
		}
		acks <- ack{wait} // never waits: it holds as many as inflight
		b.params, b.bytes = wire.AppendParams{Envelopes: b.params.Envelopes[:0]}, 0
	}
	if len(b.live) > 0 {
		err := b.f.l.conn.Notify(ctx, wire.SessionLive, wire.LiveParams{Session: b.f.id, Items: b.live})
		b.live = b.live[:0]
		if err != nil {
			return fmt.Errorf("%s: %w", wire.SessionLive, err)
		}
	}
	return nil
}
