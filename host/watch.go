package host

import (
	"context"
	"iter"
	"sync"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host/stamp"
	"github.com/agenthost/agenthost/journal"
)

// Item is one thing that a watcher sees: an envelope, or a delta of one that is
// being made.
type Item struct {
	// Position is the envelope's, or for a delta the one that the next envelope gets.
	Position journal.Position
	Envelope contract.Envelope
	// Line is the envelope as the journal has it, without the line end.
	Line []byte
	// Delta is not nil for a delta; the rest is then empty.
	Delta *Delta
}

// Delta is a piece of text as it is made. Ids are those of the stream.
type Delta struct {
	Turn     string
	Subagent string
	// Call is the tool call whose output it is, empty for the agent's text.
	Call     string
	Thinking bool
	Text     string
}

// Watch gives every envelope from a position on, and the deltas between them,
// in order, until the session ends or ctx is cancelled. Envelopes are never
// lost; a watcher that is slow loses deltas, since the envelope that follows
// has the whole text. Deltas count from the call on; the sequence is for one range.
func (s *Session) Watch(ctx context.Context, from journal.Position) iter.Seq2[Item, error] {
	deltas := s.live.subscribe()
	return func(yield func(Item, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		records := make(chan Item)
		failed := make(chan error, 1)
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(records)
			for r, err := range s.journal.Follow(ctx, from) {
				if err != nil {
					failed <- err
					return
				}
				select {
				case records <- Item{Position: r.Position, Envelope: r.Envelope, Line: r.Line}:
				case <-ctx.Done():
					return
				}
			}
		})
		defer wg.Wait()
		defer s.live.unsubscribe(deltas)
		defer cancel()
		m := merge{next: from, records: records, deltas: deltas.items, yield: yield}
		if !m.run() {
			return
		}
		select {
		case err := <-failed:
			yield(Item{}, err)
		default:
		}
	}
}

// merge puts deltas where they belong: behind the envelopes that were stored
// when they were made, before those that came later.
type merge struct {
	next    journal.Position
	records <-chan Item
	deltas  <-chan Item
	// held is a delta whose envelopes come first, nil for none.
	held  *Item
	yield func(Item, error) bool
}

// run reports whether the records ended (and not the reader).
func (m *merge) run() bool {
	for {
		if d := m.held; d != nil {
			m.held = nil
			if ok, ended := m.until(d.Position); ended || !ok {
				return ended
			}
			if !m.delta(*d) {
				return false
			}
		}
		select {
		case it, ok := <-m.records:
			if !ok {
				return true
			}
			// A delta that was made before this envelope is in the channel already.
			if !m.before(it.Position) || !m.record(it) {
				return false
			}
		case d := <-m.deltas:
			m.held = &d
		}
	}
}

// before gives the waiting deltas that belong in front of position p, and holds
// the first that does not.
func (m *merge) before(p journal.Position) bool {
	for {
		select {
		case d := <-m.deltas:
			if d.Position > p {
				m.held = &d
				return true
			}
			if !m.delta(d) {
				return false
			}
		default:
			return true
		}
	}
}

// until gives the envelopes in front of position p.
func (m *merge) until(p journal.Position) (ok, ended bool) {
	for m.next < p {
		it, open := <-m.records
		if !open {
			return false, true
		}
		if !m.record(it) {
			return false, false
		}
	}
	return true, false
}

func (m *merge) record(it Item) bool {
	m.next = it.Position + 1
	return m.yield(it, nil)
}

// delta gives d unless its envelope was given already.
func (m *merge) delta(d Item) bool {
	if d.Position < m.next {
		return true
	}
	return m.yield(d, nil)
}

// liveBuffer is how many deltas a watcher may be behind before it loses some.
const liveBuffer = 1024

// broadcast gives deltas to those who watch now.
type broadcast struct {
	mu   sync.Mutex
	subs map[*subscription]struct{} // guarded by mu; nil when closed
}

type subscription struct{ items chan Item }

func newBroadcast() *broadcast { return &broadcast{subs: map[*subscription]struct{}{}} }

func (b *broadcast) subscribe() *subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	sub := &subscription{items: make(chan Item, liveBuffer)}
	if b.subs != nil {
		b.subs[sub] = struct{}{}
	}
	return sub
}

func (b *broadcast) unsubscribe(sub *subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.subs, sub)
}

func (b *broadcast) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs = nil
}

// delta sends d to every watcher that has room.
func (b *broadcast) delta(end journal.Position, st *stamp.Stamper, d adapters.Delta) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.subs) == 0 || d.Text == "" {
		return
	}
	live := &Delta{Turn: st.Turn(), Thinking: d.Thinking, Text: d.Text}
	if d.Subagent != "" {
		id, ok := st.Subagent(d.Subagent)
		if !ok {
			return
		}
		live.Subagent = id
	}
	if d.Call != "" {
		id, ok := st.Call(d.Call, d.Subagent)
		if !ok {
			return
		}
		live.Call = id
	}
	for sub := range b.subs {
		select {
		case sub.items <- Item{Position: end, Delta: live}:
		default:
		}
	}
}
