package gateway

import (
	"container/list"
	"reflect"
	"sync"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session/fold"
	"github.com/agenthost/agenthost/relay/wire"
)

const (
	// foldsBytes bounds the snapshots that are kept, foldBytes one of them.
	foldsBytes = 64 << 20
	foldBytes  = 16 << 20
	// foldWorth is how many envelopes a snapshot must save to be kept.
	foldWorth = 500
)

// folds keeps snapshots of long sessions, so that the next viewer's fold does not
// begin at the start of the journal. The least used go first.
type folds struct {
	mu    sync.Mutex
	byKey map[foldKey]*list.Element // of *kept, guarded by mu
	used  *list.List                // the latest first
	bytes int
}

// foldKey has the backend, so that a session is never mixed up with one of another
// tenant, and when the session was made, so that a later one of its id is another.
type foldKey struct {
	backend Backend
	session string
	created int64
	profile contract.Profile
}

type kept struct {
	key      foldKey
	at       wire.Position
	snapshot []byte
}

func newFolds() *folds { return &folds{byKey: map[foldKey]*list.Element{}, used: list.New()} }

// key is false for a backend that cannot be told from others.
func (c *folds) key(b Backend, s wire.Session, p contract.Profile) (foldKey, bool) {
	return foldKey{b, s.ID, s.Created, p}, reflect.TypeOf(b).Comparable()
}

// restore is a fold of s for what comes from a position not after want, that position,
// and about how many bytes it holds.
func (c *folds) restore(b Backend, s wire.Session, p contract.Profile, want wire.Position) (*events, wire.Position, int) {
	fresh := newEvents(s, p)
	key, ok := c.key(b, s, p)
	if !ok {
		return fresh, s.Oldest, 0
	}
	c.mu.Lock()
	e := c.byKey[key]
	if e == nil || e.Value.(*kept).at > want || e.Value.(*kept).at <= s.Oldest {
		c.mu.Unlock()
		return fresh, s.Oldest, 0
	}
	c.used.MoveToFront(e)
	k := *e.Value.(*kept)
	c.mu.Unlock()
	f, err := fold.Restore(k.snapshot)
	if err != nil {
		return fresh, s.Oldest, 0
	}
	f.Describe(s.Updated, describe(s))
	return &events{profile: p, fold: f}, k.at, len(k.snapshot)
}

// keep stores the state of a feed that has folded much.
func (c *folds) keep(b Backend, f *feed, from wire.Position) {
	if f.events == nil || f.at-from < foldWorth {
		return
	}
	key, ok := c.key(b, f.session, f.events.profile)
	if !ok {
		return
	}
	snapshot, err := f.events.fold.Snapshot()
	if err != nil || len(snapshot) > foldBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[key]; e != nil {
		c.drop(e)
	}
	c.byKey[key] = c.used.PushFront(&kept{key, f.at, snapshot})
	for c.bytes += len(snapshot); c.bytes > foldsBytes; {
		c.drop(c.used.Back())
	}
}

// drop forgets one. The caller holds mu.
func (c *folds) drop(e *list.Element) {
	k := c.used.Remove(e).(*kept)
	delete(c.byKey, k.key)
	c.bytes -= len(k.snapshot)
}
