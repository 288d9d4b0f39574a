package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agenthost/agenthost/relay/wire"
)

// Record is an envelope with its position, or a Reset.
type Record struct {
	Position wire.Position
	// Line is the envelope's journal line. Nobody changes it.
	Line []byte
	// Reset says that retention has taken what lies between the position that was to
	// come and this one. Line is nil.
	Reset bool
	// Held is how many bytes were held for it.
	Held int
}

// Hold is asked before a reader has more than a message in memory, which it needs for
// long envelopes, and waits until there is room for so many bytes. Its error ends the
// reading.
type Hold func(ctx context.Context, bytes int) error

// unknownSize is what is held for a long envelope of which it is not written how long.
const unknownSize = 16 << 20

// readAhead and readMessages bound what a reader has in memory: the server sends the
// bytes of so many full messages, and so many small ones, before it waits for more to be
// asked for. There may be thousands of readers. Without a bound of messages the library
// makes a queue for a million of them, which is 8 MB.
const (
	readAhead    = 2
	readMessages = 256
)

// Read gives the session's envelopes from a position on and then those to come, until
// ctx is over, which ends the sequence without an error. Hold may be nil.
func (t *Tenant) Read(ctx context.Context, session string, from wire.Position, hold Hold) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if !ValidName(session) || from < 0 {
			yield(Record{}, wire.Errorf(wire.CodeInvalid, "want a session and a position of 0 or more, got %q and %d", session, from))
			return
		}
		r := reader{t: t, session: session, next: from, hold: hold}
		for {
			more, err := r.run(ctx, yield)
			if ctx.Err() != nil || !more {
				return
			}
			if err != nil {
				yield(Record{}, err)
				return
			}
		}
	}
}

// reader turns messages into records.
type reader struct {
	t       *Tenant
	session string
	next    wire.Position
	// parts are the pieces of a long envelope so far.
	parts []byte
	part  int
	hold  Hold
	held  int // for the long envelope that is read now
}

// run reads with one consumer until it is stopped, which is when more is false, or
// until the consumer has to be made anew.
func (r *reader) run(ctx context.Context, yield func(Record, error) bool) (more bool, err error) {
	seq, err := r.t.seek(ctx, r.session, r.next)
	if err != nil {
		return true, err
	}
	cfg := jetstream.OrderedConsumerConfig{FilterSubjects: []string{r.t.subject(r.session)}, DeliverPolicy: jetstream.DeliverAllPolicy}
	if seq > 0 {
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, seq
	}
	cons, err := r.t.store.js.OrderedConsumer(ctx, "env_"+r.t.name, cfg)
	if err != nil {
		return true, fmt.Errorf("reading session %s: %w", r.session, err)
	}
	msgs, err := cons.Messages(jetstream.PullMaxMessagesWithBytesLimit(readMessages, readAhead*r.t.payload))
	if err != nil {
		return true, fmt.Errorf("reading session %s: %w", r.session, err)
	}
	defer msgs.Stop()
	r.parts = nil
	for {
		msg, err := msgs.Next(jetstream.NextContext(ctx))
		if err != nil {
			if ctx.Err() != nil {
				return false, nil
			}
			if errors.Is(err, jetstream.ErrNoHeartbeat) || errors.Is(err, jetstream.ErrConsumerDeleted) {
				return true, nil // from r.next on, with another consumer
			}
			return true, fmt.Errorf("reading session %s: %w", r.session, err)
		}
		m, err := markOf(msg.Headers())
		if err != nil {
			return true, err
		}
		if err := r.makeRoom(ctx, m); err != nil {
			return true, err
		}
		if !r.message(m, msg.Data(), yield) {
			return false, nil
		}
	}
}

// makeRoom waits until a long envelope, which begins with a message, may be put
// together.
func (r *reader) makeRoom(ctx context.Context, m mark) error {
	if m.part != 0 || m.pos < r.next || r.hold == nil {
		return nil
	}
	// What was held for one that broke off is held for this one, which is the same.
	want := cmp.Or(m.size, unknownSize)
	if want <= r.held {
		return nil
	}
	if err := r.hold(ctx, want-r.held); err != nil {
		return fmt.Errorf("reading session %s: %w", r.session, err)
	}
	r.held = want
	return nil
}

// message yields what a message adds. It returns false when the consumer has enough.
func (r *reader) message(m mark, data []byte, yield func(Record, error) bool) bool {
	if m.part >= 0 {
		if m.part == 0 {
			r.parts = make([]byte, 0, m.size)
		} else if m.part != r.part+1 {
			return true // the rest of one whose beginning was taken
		}
		r.part = m.part
		r.parts = append(r.parts, data...)
		if m.count == 0 {
			return true
		}
		data = r.parts
		r.parts = nil
	}
	pos := m.pos
	for line := range bytes.SplitSeq(bytes.TrimSuffix(data, []byte{'\n'}), []byte{'\n'}) {
		if pos >= r.next {
			if pos > r.next && !yield(Record{Position: pos, Reset: true}, nil) {
				return false
			}
			r.next = pos + 1
			rec := Record{Position: pos, Line: line}
			if m.part >= 0 {
				rec.Held, r.held = r.held, 0
			}
			if !yield(rec, nil) {
				return false
			}
		}
		pos++
	}
	return true
}

// Oldest is the position of the first envelope that is kept, and false when none is.
func (t *Tenant) Oldest(ctx context.Context, session string) (wire.Position, bool, error) {
	m, _, err := t.at(ctx, session, 1)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, false, nil
	}
	return m.pos, err == nil, err
}

// at is the first message of the session whose stream sequence is at least seq.
func (t *Tenant) at(ctx context.Context, session string, seq uint64) (mark, uint64, error) {
	msg, err := t.env.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(t.subject(session)))
	if err != nil {
		return mark{}, 0, err
	}
	m, err := markOf(msg.Header)
	return m, msg.Sequence, err
}

// seek finds the stream sequence at which reading from a position begins, 0 for the
// session's first message.
func (t *Tenant) seek(ctx context.Context, session string, from wire.Position) (uint64, error) {
	before := func(m mark) bool { return m.pos < from || m.pos == from && m.part <= 0 }
	m, low, err := t.at(ctx, session, 1)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("seeking in session %s: %w", session, err)
	}
	if !before(m) {
		return 0, nil
	}
	last, err := t.env.GetLastMsgForSubject(ctx, t.subject(session))
	if err != nil {
		return 0, fmt.Errorf("seeking in session %s: %w", session, err)
	}
	// The message at low begins at or before from; none at or behind high does.
	for high := last.Sequence + 1; high-low > 1; {
		mid := low + (high-low)/2
		m, seq, err := t.at(ctx, session, mid)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			high = mid // retention took it meanwhile
		case err != nil:
			return 0, fmt.Errorf("seeking in session %s: %w", session, err)
		case before(m) && seq < high:
			low = seq
		default:
			high = mid
		}
	}
	return low, nil
}
