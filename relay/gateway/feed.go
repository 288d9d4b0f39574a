package gateway

import (
	"context"
	"encoding/json/jsontext"
	"iter"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/wire"
)

const (
	// firstBatch to batchBytes, twice as much each time, and batchItems bound what is
	// sent as one push: over a line that breaks all the time, the first ones still
	// arrive.
	firstBatch = 4 << 10
	batchBytes = 256 << 10
	batchItems = 500
	// maxNulls is how many damaged envelopes in a row are shown as null.
	maxNulls = 1000
)

// feed is one reader's view of a session: what a WebSocket subscription, an event
// stream and a page have in common. It is used by one goroutine.
type feed struct {
	session wire.Session
	params  wire.SubscribeParams
	format  format
	events  *events // format, when it is that
	limits  Limits
	mem     *pool // of its own

	pull  *puller
	items []Item        // taken and not yet looked at
	at    wire.Position // of the next line of the stream
	next  wire.Position // of the first line that is to be shown
	batch int           // bytes of the next push
	reset bool          // what was asked for begins before what is kept
}

// sink takes what a feed shows, in order.
type sink interface {
	// lines are the entries of the envelopes from pos to before next.
	lines(ctx context.Context, pos, next wire.Position, entries []entry) error
	live(ctx context.Context, items []wire.Live, events []jsontext.Value) error
	changed(ctx context.Context, s wire.Session, at wire.Position, events []jsontext.Value) error
	reset(ctx context.Context, oldest wire.Position) error
}

// entry is what one envelope became.
type entry struct {
	next wire.Position // behind the envelope
	raw  []jsontext.Value
}

// open begins a feed that counts in mem. The caller closes it.
func (g *Gateway) open(ctx context.Context, mem *pool, b Backend, p wire.SubscribeParams) (_ *feed, err error) {
	profile, err := contract.ParseProfile(p.Profile)
	switch {
	case err != nil:
		return nil, wire.Errorf(wire.CodeInvalid, "%v", err)
	case p.From < wire.FromEnd:
		return nil, wire.Errorf(wire.CodeInvalid, "from: want a position, or -1 for the end, got %d", p.From)
	case p.Format != "" && p.Format != wire.FormatEnvelopes && p.Format != wire.FormatEvents:
		return nil, wire.Errorf(wire.CodeInvalid, "format: want envelopes or events, got %q", clip(string(p.Format)))
	case p.Snapshot && p.Format != wire.FormatEvents:
		return nil, wire.Errorf(wire.CodeInvalid, "snapshot: want format events with it")
	}
	s, err := b.Session(ctx, p.Session)
	if err != nil {
		return nil, err
	}
	f := &feed{session: s, params: p, limits: g.opts.Limits, mem: mem.part(), next: p.From, batch: firstBatch}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	if err := f.mem.keep(subscriptionCost); err != nil {
		return nil, err
	}
	if p.From == wire.FromEnd || p.Snapshot {
		f.next = s.End
	}
	if f.next < s.Oldest {
		f.next, f.reset = s.Oldest, true
	}
	f.at = f.next
	f.format = envelopes{profile}
	if p.Format == wire.FormatEvents {
		// The fold needs what was before, without showing it.
		var size int
		f.events, f.at, size = g.folds.restore(b, s, profile, f.next)
		f.format = f.events
		if err := f.mem.keep(size); err != nil {
			return nil, err
		}
	}
	from := f.at
	f.pull, err = pull(ctx, f.mem, func(ctx context.Context) (iter.Seq2[Item, error], error) { return b.Stream(ctx, s.ID, from) })
	if err != nil {
		return nil, err
	}
	if err := f.prime(ctx); err != nil {
		return nil, err
	}
	g.folds.keep(b, f, from)
	return f, nil
}

func (f *feed) close() {
	if f.pull != nil {
		f.pull.close()
	}
	f.mem.close()
}

// line is what an envelope becomes. A fold keeps what it is given, which counts.
func (f *feed) line(line []byte) ([]jsontext.Value, error) {
	if f.events != nil {
		if err := f.mem.keep(foldCost + len(line)); err != nil {
			return nil, err
		}
	}
	return f.format.line(line), nil
}

// foldCost is what a fold keeps of an envelope beside its texts.
const foldCost = 256

// prime folds what comes before f.next, as far as the session has it. What does not
// come within Limits.Settle, since a relay lags behind its host, is not in a snapshot
// but shown after it.
func (f *feed) prime(ctx context.Context) error {
	target := min(f.next, f.session.End)
	if f.events == nil || f.at >= target {
		return nil
	}
	for f.at < target {
		if len(f.items) == 0 {
			items, over, err := f.pull.take(ctx, f.limits.Settle)
			if err != nil {
				return err
			}
			if over || len(items) == 0 {
				break
			}
			f.items = items
		}
		item := f.items[0]
		if item.Line != nil && item.Position >= target {
			f.at = target // the last ones are damaged
			break
		}
		f.items = f.items[1:]
		err := f.absorb(item)
		f.mem.give(item.counted)
		if err != nil {
			return err
		}
	}
	if f.params.Snapshot {
		f.next = f.at
	}
	return nil
}

// absorb folds an item that is not shown.
func (f *feed) absorb(item Item) error {
	switch {
	case item.Line != nil && item.Position >= f.at:
		f.at = item.Position + 1
		_, err := f.line(item.Line)
		return err
	case item.Reset:
		f.at = max(f.at, item.Position)
	case item.Changed != nil:
		f.session = *item.Changed
		f.format.changed(f.session)
	}
	return nil
}

// run shows the stream to s until ctx is over, the session is removed (nil), or until
// says that it is enough; idle, unless it is 0, ends a silence.
func (f *feed) run(ctx context.Context, s sink, idle time.Duration, until func() bool) error {
	if f.reset {
		f.reset = false
		if err := s.reset(ctx, f.next); err != nil {
			return err
		}
	}
	for !until() {
		if len(f.items) == 0 {
			items, over, err := f.pull.take(ctx, idle)
			if err != nil || over || len(items) == 0 {
				return err
			}
			f.items = items
		}
		if err := f.show(ctx, s, until); err != nil {
			return err
		}
	}
	return nil
}

// forever is an until that is never enough.
func forever() bool { return false }

// show sends what was taken.
func (f *feed) show(ctx context.Context, s sink, until func() bool) error {
	for len(f.items) > 0 && !until() {
		item := f.items[0]
		var err error
		switch {
		case item.Line != nil:
			err = f.showLines(ctx, s, until)
			if err != nil {
				return err
			}
			continue
		case item.Live != nil:
			if err = f.showLive(ctx, s); err != nil {
				return err
			}
			continue
		case item.Changed != nil:
			f.session = *item.Changed
			err = s.changed(ctx, f.session, f.next, f.format.changed(f.session))
		case item.Reset:
			if item.Position > f.at {
				f.at, f.next = item.Position, max(f.next, item.Position)
				err = s.reset(ctx, item.Position)
			}
		}
		if err != nil {
			return err
		}
		f.items = f.items[1:]
		f.mem.give(item.counted)
	}
	return nil
}

// showLines sends the lines at the head of what was taken as one batch.
func (f *feed) showLines(ctx context.Context, s sink, until func() bool) error {
	var list []entry
	pos, size, held := f.next, 0, 0
	for len(f.items) > 0 && f.items[0].Line != nil && size < f.batch && len(list) < batchItems && !until() {
		item := f.items[0]
		if item.Position > f.at+maxNulls {
			break
		}
		f.items = f.items[1:]
		held += item.counted
		if item.Position < f.at {
			continue // shown already
		}
		for f.at < item.Position { // damaged: it keeps its position
			list = f.add(list, []jsontext.Value{null})
		}
		raw, err := f.line(item.Line)
		if err != nil {
			return err
		}
		list = f.add(list, raw)
		for _, r := range raw {
			size += len(r)
		}
	}
	if f.next > pos {
		f.batch = min(2*f.batch, batchBytes)
		if err := s.lines(ctx, pos, f.next, list); err != nil {
			return err
		}
	}
	f.mem.give(held)
	if len(f.items) > 0 && f.items[0].Line != nil && f.items[0].Position > f.at+maxNulls {
		f.at = f.items[0].Position
		f.next = max(f.next, f.at)
		return s.reset(ctx, f.at)
	}
	return nil
}

// add enters what the envelope at f.at became, unless that is not to be shown.
func (f *feed) add(list []entry, raw []jsontext.Value) []entry {
	f.at++
	if f.at <= f.next {
		return list
	}
	f.next = f.at
	if f.events != nil && len(raw) == 1 && string(raw[0]) == "null" {
		raw = nil
	}
	return append(list, entry{f.next, raw})
}

// showLive sends what passes, together with what passes right after it.
func (f *feed) showLive(ctx context.Context, s sink) error {
	var items []wire.Live
	var events []jsontext.Value
	held := 0
	for len(f.items) > 0 && f.items[0].Live != nil && len(items)+len(events) < batchItems {
		item := f.items[0]
		f.items = f.items[1:]
		held += item.counted
		if !f.params.Live {
			continue
		}
		i, e := f.format.live(*item.Live)
		items, events = append(items, i...), append(events, e...)
	}
	defer func() { f.mem.give(held) }()
	if len(items)+len(events) == 0 {
		return nil
	}
	return s.live(ctx, items, events)
}
