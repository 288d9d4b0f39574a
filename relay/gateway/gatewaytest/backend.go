// Package gatewaytest is a host in memory for the tests of those who serve or use a
// gateway: deterministic, without agents, and with faults on demand.
//
// A Backend takes every command. A message that is sent becomes a turn in which the
// agent says the same again; Ask opens a permission request, which session.decide
// settles. Ids and times are counted. OnCall replaces what it does.
package gatewaytest

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

// Host is the id of the one host.
const Host = "h0st"

// Epoch is the time at which everything begins, Unix ms.
const Epoch = 1_800_000_000_000

// Backend is a gateway.Backend and gateway.Files. It is safe for concurrent use.
type Backend struct {
	mu       sync.Mutex
	host     wire.Host
	sessions map[string]*state
	uploads  map[string]*upload
	calls    []Call
	ids      int
	onCall   func(ctx context.Context, c wire.Caller, method string, params jsontext.Value) (any, error)
	changed  chan struct{} // closed, and made anew, whenever something changes
	log      []wire.SessionsPush
}

var (
	_ gateway.Backend = (*Backend)(nil)
	_ gateway.Files   = (*Backend)(nil)
)

// Call is a command that came.
type Call struct {
	Caller wire.Caller
	Method string
	Params string
}

// state is a session.
type state struct {
	meta    wire.Session
	lines   [][]byte // all of them; those before meta.Oldest are not given any more
	passing []passing
	asks    []wire.Ask
	settled map[string]wire.Resolved
	sent    map[string]bool
	failed  error
	removed bool
	read    wire.Position
	term    *terminal
}

// passing is a live item or new metadata, and the position before which it came.
type passing struct {
	at   wire.Position
	item gateway.Item
}

// New makes a host without sessions, online.
func New() *Backend {
	return &Backend{
		host: wire.Host{
			ID: Host, Name: "testhost", OS: "linux", Arch: "amd64", Version: "1", Online: true, LastSeen: Epoch,
			Agents: []wire.AgentInfo{{Name: "echo", Title: "Echo", Installed: true, Version: "1"}},
		},
		sessions: map[string]*state{}, uploads: map[string]*upload{}, changed: make(chan struct{}),
	}
}

// OnCall replaces what commands do; nil puts it back.
func (b *Backend) OnCall(f func(ctx context.Context, c wire.Caller, method string, params jsontext.Value) (any, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.onCall = f
}

// Calls are the commands so far.
func (b *Backend) Calls() []Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// Add makes a session; what is empty in s is filled in. It returns it.
func (b *Backend) Add(s wire.Session) wire.Session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.add(s).meta
}

func (b *Backend) add(s wire.Session) *state {
	if s.ID == "" {
		s.ID = b.id("s")
	}
	if s.Agent == "" {
		s.Agent = "echo"
	}
	if s.State == "" {
		s.State = wire.StateRunning
	}
	s.Version, s.Host, s.Created, s.Status = 1, Host, b.now(), session.StatusIdle
	s.Updated = s.Created
	st := &state{meta: s, settled: map[string]wire.Resolved{}, sent: map[string]bool{}}
	b.sessions[s.ID] = st
	b.tell(wire.SessionsPush{Session: &s})
	return st
}

// AppendLines adds lines to a session's journal, whatever they are.
func (b *Backend) AppendLines(id string, lines ...[]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.append(b.must(id), lines...)
}

func (b *Backend) append(st *state, lines ...[]byte) {
	st.lines = append(st.lines, lines...)
	st.meta.End = wire.Position(len(st.lines))
	b.wake()
}

// Say adds an agent's text outside of any turn's bookkeeping: one envelope.
func (b *Backend) Say(id, text string) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	line := b.line(contract.RoleAgent, "turn0", contract.Text{Text: text})
	b.append(b.must(id), line)
	return line
}

// line encodes an envelope with the next id and time.
func (b *Backend) line(role contract.Role, turn string, ev contract.Event) []byte {
	line, err := contract.Encode(contract.Envelope{ID: b.id("e"), Time: b.now(), Role: role, Turn: turn, Event: ev})
	if err != nil {
		panic(err) // the test's own envelope
	}
	return line
}

// Live passes something to those who watch now.
func (b *Backend) Live(id string, l wire.Live) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pass(b.must(id), gateway.Item{Live: &l})
}

func (b *Backend) pass(st *state, item gateway.Item) {
	item.Position = wire.Position(len(st.lines))
	st.passing = append(st.passing, passing{item.Position, item})
	b.wake()
}

// Change changes metadata, whose version goes up.
func (b *Backend) Change(id string, f func(*wire.Session)) wire.Session {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.change(b.must(id), f)
}

func (b *Backend) change(st *state, f func(*wire.Session)) wire.Session {
	f(&st.meta)
	st.meta.Version++
	st.meta.Updated = b.now()
	s := st.meta
	b.pass(st, gateway.Item{Changed: &s})
	b.tell(wire.SessionsPush{Session: &s})
	return s
}

// Trim forgets what lies before a position.
func (b *Backend) Trim(id string, oldest wire.Position) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.must(id).meta.Oldest = oldest
	b.wake()
}

// Remove removes a session: its streams end.
func (b *Backend) Remove(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.remove(b.must(id))
}

func (b *Backend) remove(st *state) {
	st.removed = true
	delete(b.sessions, st.meta.ID)
	b.tell(wire.SessionsPush{Removed: st.meta.ID})
}

// Fail lets the streams of a session end with an error, until it is nil.
func (b *Backend) Fail(id string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.must(id).failed = err
	b.wake()
}

// Read is how far any stream of a session has been read.
func (b *Backend) Read(id string) wire.Position {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.must(id).read
}

// SetOnline says whether the host is there. Commands to one that is not are
// wire.CodeHostOffline.
func (b *Backend) SetOnline(online bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.host.Online = online
	h := b.host
	b.tell(wire.SessionsPush{Host: &h})
}

func (b *Backend) tell(p wire.SessionsPush) {
	b.log = append(b.log, p)
	b.wake()
}

func (b *Backend) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *Backend) must(id string) *state {
	st := b.sessions[id]
	if st == nil {
		panic("gatewaytest: no session " + id) // the test's mistake
	}
	return st
}

// id makes ids that look like cuid2s and can be told apart by eye.
func (b *Backend) id(prefix string) string {
	b.ids++
	return fmt.Sprintf("%s%06d", prefix, b.ids)
}

func (b *Backend) now() int64 {
	b.ids++
	return Epoch + int64(b.ids)
}

// Hosts implements gateway.Backend.
func (b *Backend) Hosts(context.Context) ([]wire.Host, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return []wire.Host{b.host}, nil
}

// Sessions implements gateway.Backend.
func (b *Backend) Sessions(_ context.Context, p wire.SessionsParams) ([]wire.Session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.list(p), nil
}

func (b *Backend) list(p wire.SessionsParams) []wire.Session {
	var out []wire.Session
	for _, st := range b.sessions {
		if matches(p, st.meta) {
			out = append(out, st.meta)
		}
	}
	slices.SortFunc(out, func(x, y wire.Session) int { return int(y.Updated - x.Updated) })
	return out
}

func matches(p wire.SessionsParams, s wire.Session) bool {
	return (p.Host == "" || p.Host == s.Host) && (p.Dir == "" || p.Dir == s.Dir)
}

// Session implements gateway.Backend.
func (b *Backend) Session(_ context.Context, ref string) (wire.Session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	st, err := b.find(ref)
	if err != nil {
		return wire.Session{}, err
	}
	return st.meta, nil
}

func (b *Backend) find(ref string) (*state, error) {
	if st := b.sessions[ref]; st != nil {
		return st, nil
	}
	s, err := gateway.FindSession(ref, slices.Values(b.list(wire.SessionsParams{})))
	return b.sessions[s.ID], err
}

// WatchSessions implements gateway.Backend.
func (b *Backend) WatchSessions(ctx context.Context, p wire.SessionsParams) ([]wire.Session, iter.Seq2[wire.SessionsPush, error], error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := len(b.log)
	return b.list(p), func(yield func(wire.SessionsPush, error) bool) {
		for {
			b.mu.Lock()
			news, wait := slices.Clone(b.log[at:]), b.changed
			at = len(b.log)
			b.mu.Unlock()
			for _, n := range news {
				if n.Session != nil && !matches(p, *n.Session) {
					continue
				}
				if !yield(n, nil) {
					return
				}
			}
			select {
			case <-wait:
			case <-ctx.Done():
				return
			}
		}
	}, nil
}

// Stream implements gateway.Backend.
func (b *Backend) Stream(ctx context.Context, id string, from wire.Position) (iter.Seq2[gateway.Item, error], error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	st := b.sessions[id]
	if st == nil {
		return nil, wire.Errorf(wire.CodeNotFound, "no session %q", id)
	}
	s := &reader{b: b, st: st, at: from, passed: len(st.passing)}
	return func(yield func(gateway.Item, error) bool) {
		for {
			item, wait, err := s.next()
			switch {
			case err != nil:
				yield(gateway.Item{}, err)
				return
			case wait != nil:
				select {
				case <-wait:
				case <-ctx.Done():
					return
				}
			case item == nil || ctx.Err() != nil || !yield(*item, nil):
				return
			}
		}
	}, nil
}

// reader is where a stream stands.
type reader struct {
	b      *Backend
	st     *state
	at     wire.Position
	passed int
}

// next is the next item, what to wait for, or neither at the end.
func (r *reader) next() (item *gateway.Item, wait <-chan struct{}, err error) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	switch {
	case r.st.failed != nil:
		return nil, nil, r.st.failed
	case r.st.removed:
		return nil, nil, nil
	case r.at < r.st.meta.Oldest:
		r.at = r.st.meta.Oldest
		return &gateway.Item{Position: r.at, Reset: true}, nil, nil
	case r.passed < len(r.st.passing) && r.st.passing[r.passed].at <= r.at:
		r.passed++
		return &r.st.passing[r.passed-1].item, nil, nil
	case r.at < wire.Position(len(r.st.lines)):
		r.at++
		r.st.read = max(r.st.read, r.at)
		return &gateway.Item{Position: r.at - 1, Line: r.st.lines[r.at-1]}, nil, nil
	}
	return nil, r.b.changed, nil
}
