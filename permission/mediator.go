package permission

import (
	"cmp"
	"crypto/rand"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission/grant"
	"github.com/agenthost/agenthost/permission/policy"
)

// Options are what a Mediator works with. Zero fields mean defaults.
type Options struct {
	// Policy are the rules; nil has none, so that everything is asked.
	Policy *policy.Policy
	// Grants remember; nil remembers nothing.
	Grants *grant.Store
	// Audit gets one JSON line for each decision and each change of mode, in one
	// Write. Nil keeps no log.
	Audit io.Writer
	// AllowBypass is the local opt-in to bypassPermissions, beside the policy's.
	AllowBypass bool
	// OnAsk is what becomes of asks that need a person, unless the policy or the
	// session says; policy.OnAskWait when empty.
	OnAsk policy.OnAsk
	// MaxOpen and MaxOpenBytes bound the open asks and their size; an ask beyond
	// them is rejected. Defaults 10,000 and 256 MiB.
	MaxOpen      int
	MaxOpenBytes int64
	// Now is the clock; time.Now when nil. NewNonce makes nonces.
	Now      func() time.Time
	NewNonce func() string
	// Logger gets what went wrong, never arguments or answers. Nil is silent.
	Logger *slog.Logger
}

const (
	defaultMaxOpen      = 10_000
	defaultMaxOpenBytes = 256 << 20
	// maxRemembered is how many settled asks are known to a late decision; one
	// later than that gets ErrUnknown instead of ErrResolved.
	maxRemembered = 4096
)

// Mediator decides asks. It is safe for concurrent use.
type Mediator struct {
	o      Options
	policy atomic.Pointer[policy.Policy]

	// auditMu orders the lines of the audit log; auditLine is the memory of the
	// last one.
	auditMu   sync.Mutex
	auditLine []byte

	mu sync.Mutex
	// The rest is guarded by mu.
	asks     map[string]*open // not settled
	closing  map[string]*open // won, settle not called yet
	bytes    int64            // size of asks
	seq      uint64
	settled  map[string]settled
	ring     []string // ids of settled, the oldest at next
	next     int
	sessions map[string]*session
	feeds    map[*Feed]struct{}
	closed   bool
}

// open is an ask that is not settled.
type open struct {
	ask    Ask
	settle func(Answer)
	seq    uint64
	size   int64
	// places are where its files lead, as people were shown.
	places string
	timer  *time.Timer
	// done is closed after settle was called.
	done chan struct{}
	// envelope is the id of the winning decision, empty for none.
	envelope string
}

// settled is what is kept of an ask.
type settled struct {
	decision contract.Decision
	by       contract.DecisionBy
	envelope string
}

// New returns a Mediator.
func New(o Options) *Mediator {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewNonce == nil {
		o.NewNonce = rand.Text
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.MaxOpen = cmp.Or(o.MaxOpen, defaultMaxOpen)
	o.MaxOpenBytes = cmp.Or(o.MaxOpenBytes, defaultMaxOpenBytes)
	m := &Mediator{
		o: o, asks: map[string]*open{}, closing: map[string]*open{}, settled: map[string]settled{},
		sessions: map[string]*session{}, feeds: map[*Feed]struct{}{},
	}
	m.policy.Store(policy.Join(o.Policy))
	return m
}

// Open decides ask, or puts it before all who may. settle is called exactly once
// with the answer, from any goroutine and without a lock held, also before Open
// returns; it must not block. When Open returns an error settle is not called.
func (m *Mediator) Open(ask Ask, settle func(Answer)) error {
	if ask.ID == "" || settle == nil {
		return errors.New("want an ask with an id and a function to settle it")
	}
	m.complete(&ask)
	o := &open{ask: ask, settle: settle, done: make(chan struct{})}
	for {
		o.ask = ask
		c := m.consider(&o.ask)
		o.places, o.size = c.places, size(&o.ask)
		m.mu.Lock()
		if err := m.refuses(o.ask.ID); err != nil {
			m.mu.Unlock()
			return err
		}
		if !m.currentLocked(c) {
			m.mu.Unlock()
			continue // rules or mode changed meanwhile
		}
		if !c.answered {
			c.answer, c.answered = m.boundLocked(o)
		}
		m.seq++
		o.seq = m.seq
		m.asks[o.ask.ID] = o
		m.bytes += o.size
		if c.answered {
			m.claimLocked(o)
			m.mu.Unlock()
			m.finish(o, c.answer, nil)
			m.countUse(c.answer.Grant)
			return nil
		}
		if o.ask.Nonce == "" {
			o.ask.Nonce = m.o.NewNonce()
		}
		m.startTimerLocked(o)
		m.tellOpenLocked(o)
		m.mu.Unlock()
		return nil
	}
}

// complete fills in what the caller left out.
func (m *Mediator) complete(ask *Ask) {
	if ask.Opened.IsZero() {
		ask.Opened = m.o.Now()
	}
	if ask.Project == "" {
		ask.Project = ask.Cwd
	}
}

func (m *Mediator) refuses(id string) error {
	_, known := m.settled[id]
	switch {
	case m.closed:
		return ErrClosed
	case m.asks[id] != nil || m.closing[id] != nil || known:
		return fmt.Errorf("want an id that was not used yet, got %q", id)
	}
	return nil
}

// boundLocked rejects an ask that there is no room for; false when there is.
func (m *Mediator) boundLocked(o *open) (Answer, bool) {
	if len(m.asks) < m.o.MaxOpen && m.bytes+o.size <= m.o.MaxOpenBytes {
		return Answer{}, false
	}
	m.o.Logger.Warn("too many open asks", "session", o.ask.Session, "open", len(m.asks), "bytes", m.bytes)
	return rejected(contract.ByHost, "", "There are too many open requests."), true
}

func size(a *Ask) int64 {
	n := len(a.Args) + len(a.Title) + len(a.Description) + 1024
	for _, list := range [][]string{a.Patterns, a.Always} {
		for _, s := range list {
			n += len(s)
		}
	}
	for _, p := range a.Verdict.Parts {
		n += 64 + len(p.Command) + len(p.Why)
	}
	return int64(n)
}

func (m *Mediator) startTimerLocked(o *open) {
	if o.ask.Deadline.IsZero() {
		return
	}
	id := o.ask.ID
	o.timer = time.AfterFunc(o.ask.Deadline.Sub(m.o.Now()), func() { m.Withdraw(id, contract.ByTimeout) })
}

// claimLocked makes the caller the one who settles o.
func (m *Mediator) claimLocked(o *open) {
	delete(m.asks, o.ask.ID)
	m.bytes -= o.size
	m.closing[o.ask.ID] = o
	if o.timer != nil {
		o.timer.Stop()
	}
}

// finish records the answer to a claimed ask and settles it. remember makes the
// grant of an allow-always, nil for none.
func (m *Mediator) finish(o *open, a Answer, remember func(Answer) Answer) {
	if remember != nil {
		a = remember(a)
	}
	if err := m.auditDecision(o, a); err != nil && a.Decision.Allows() {
		// What leaves no trace must not happen, nor be remembered. A grant that was
		// there before has left its own.
		if remember != nil && a.Grant != "" && m.o.Grants != nil {
			if _, err := m.o.Grants.Revoke(a.Grant); err != nil && m.o.Logger != nil {
				m.o.Logger.Error("revoking a grant that the audit log does not have", "grant", a.Grant, "err", err)
			}
		}
		a = rejected(contract.ByHost, "", "The audit log cannot be written.")
	}
	if a.Decision.Allows() {
		a.Mode = m.leavePlan(o)
	}
	if a.AgentDecision == "" {
		a.AgentDecision = a.Decision
	}
	m.mu.Lock()
	m.rememberLocked(o, a)
	m.mu.Unlock()
	o.settle(a)
	m.mu.Lock()
	delete(m.closing, o.ask.ID)
	m.tellClosedLocked(o, a)
	m.mu.Unlock()
	close(o.done)
}

// rememberLocked keeps who won, for those who come late.
func (m *Mediator) rememberLocked(o *open, a Answer) {
	if len(m.ring) < maxRemembered {
		m.ring = append(m.ring, o.ask.ID)
	} else {
		delete(m.settled, m.ring[m.next])
		m.ring[m.next] = o.ask.ID
		m.next = (m.next + 1) % maxRemembered
	}
	m.settled[o.ask.ID] = settled{decision: a.Decision, by: a.By, envelope: o.envelope}
}

// Withdraw closes an ask that nobody decided: cause is timeout, turn-end, exit or
// host. When it returns the ask is settled and settle was called, by whoever came
// first. It does nothing for an ask that is not known.
func (m *Mediator) Withdraw(id string, cause contract.Resolver) {
	m.end(id, rejected(cause, "", causeMessage(cause)))
}

// end settles an ask with an answer that nobody gave to Resolve. When it returns the ask
// is settled, by whoever came first. An ask that is not known is left alone.
func (m *Mediator) end(id string, a Answer) {
	m.mu.Lock()
	o := m.asks[id]
	if o == nil {
		o = m.closing[id]
		m.mu.Unlock()
		if o != nil {
			<-o.done
		}
		return
	}
	m.claimLocked(o)
	m.mu.Unlock()
	m.finish(o, a, nil)
}

func causeMessage(cause contract.Resolver) string {
	switch cause {
	case contract.ByTimeout:
		return "Nobody answered in time."
	case contract.ByTurnEnd:
		return "The turn ended before anybody answered."
	case contract.ByExit:
		return "The agent ended before anybody answered."
	}
	return "The request was withdrawn."
}

func rejected(by contract.Resolver, rule, message string) Answer {
	return Answer{
		Decision: contract.RejectOnce, AgentDecision: contract.RejectOnce,
		By: contract.DecisionBy{Resolver: by, Rule: rule}, Message: message,
	}
}

// Pending are the open asks of a session, of all when it is empty, in the order in
// which they were opened.
func (m *Mediator) Pending(session string) []Ask {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pendingLocked(session)
}

func (m *Mediator) pendingLocked(session string) []Ask {
	list := make([]*open, 0, len(m.asks))
	for _, o := range m.asks {
		if session == "" || o.ask.Session == session {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b *open) int { return cmp.Compare(a.seq, b.seq) })
	out := make([]Ask, len(list))
	for i, o := range list {
		out[i] = o.ask
	}
	return out
}

// Close rejects every open ask with cause host and takes no more. It returns when
// all are settled.
func (m *Mediator) Close() error {
	m.mu.Lock()
	m.closed = true
	var ids []string
	for id := range m.asks {
		ids = append(ids, id)
	}
	for id := range m.closing {
		ids = append(ids, id)
	}
	m.mu.Unlock()
	for _, id := range ids {
		m.Withdraw(id, contract.ByHost)
	}
	m.mu.Lock()
	for f := range m.feeds {
		f.endLocked()
	}
	m.mu.Unlock()
	return nil
}

// recorded is what may be journaled of the answers to a question: those to secret
// fields are null, and so are those to fields that were not asked.
func recorded(q *contract.Question, answers jsontext.Value) jsontext.Value {
	if q == nil || len(answers) == 0 {
		return nil
	}
	public := map[string]bool{}
	for _, f := range q.Questions {
		public[f.ID] = !f.Secret
	}
	return maskMembers(answers, func(name string) bool { return public[name] })
}
