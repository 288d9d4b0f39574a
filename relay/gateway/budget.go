package gateway

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/agenthost/agenthost/relay/wire"
)

const (
	// connectionCost is what a WebSocket counts for besides what it subscribes to:
	// what waits to be sent and to be handled, and goroutines.
	connectionCost = 1 << 20
	// subscriptionCost is what a subscription or a stream counts for though it shows
	// nothing: what a Backend reads ahead for it, and goroutines.
	subscriptionCost = 1 << 20
	// viewerQueue bounds what waits to be sent to a viewer (peer.Options.QueueBytes).
	viewerQueue = 512 << 10
	// viewMessage is the longest message of a viewer that may send no texts.
	viewMessage = 256 << 10
	// metadataCost is what one session's metadata count for in a stream.
	metadataCost = 4 << 10
	// smallBytes is what a body, and the pieces that a connection has sent, hold without
	// being counted: what is short, as an answer or an abort, must come through when
	// streams that lag have filled the token or the tenant to the brim.
	smallBytes = 64 << 10
	// copies is how often something is in memory while it is sent: as it was read,
	// and as a message.
	copies = 2
)

// budget counts the memory that viewers make the process hold: what is read for them
// and not yet taken by them, and what they send that is long (smallBytes) until it is
// done with. It is counted for a stream, within its connection, within
// its token, within its tenant, each of which has a bound. A tenant is a Backend.
//
// What is read of a stream waits for room, so that a reader who takes nothing is held
// up at its cursor; what would wait for nothing that ends by itself is refused with
// wire.CodeRateLimited. Callers that are Local count nowhere.
type budget struct {
	limits Limits

	mu      sync.Mutex
	tenants map[any]*pool      // by Backend, guarded by mu
	tokens  map[tokenKey]*pool // guarded by mu
	waiting []*claim           // in the order in which they came, guarded by mu
	held    int                // of all tenants, guarded by mu
	refused int                // since the start, guarded by mu
	scan    int                // numbers the looks at waiting, guarded by mu
}

type tokenKey struct {
	tenant *pool
	token  string
}

// pool is a bound of bytes. Its fields are guarded by budget.mu.
type pool struct {
	b      *budget
	up     *pool // nil for a tenant's
	name   string
	limit  int // 0 for none
	held   int
	fixed  int    // of held, what stays until the pool that has it is closed
	users  int    // pools below
	forget func() // takes it out of the budget; nil for those below tokens
	full   int    // the scan in which it had no room
}

// claim is one who waits for room.
type claim struct {
	p       *pool
	n       int
	granted chan struct{} // closed when n is counted
}

func newBudget(l Limits) *budget {
	return &budget{limits: l, tenants: map[any]*pool{}, tokens: map[tokenKey]*pool{}}
}

// connection is the pool of one connection or request of a caller; nil, which holds
// everything, for one that is not bounded. The caller closes it.
func (b *budget) connection(p Principal) *pool {
	if p.Caller.Local {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	whose := any(p.Backend)
	if kind := reflect.TypeOf(whose); kind != nil && !kind.Comparable() {
		whose = nil // one for all of those that cannot be told apart
	}
	tenant := b.tenants[whose]
	if tenant == nil {
		tenant = &pool{b: b, name: "tenant", limit: b.limits.TenantBytes, forget: func() { delete(b.tenants, whose) }}
		b.tenants[whose] = tenant
	}
	key := tokenKey{tenant, p.Caller.TokenID}
	token := b.tokens[key]
	if token == nil {
		tenant.users++
		token = &pool{b: b, up: tenant, name: "token", limit: b.limits.TokenBytes, forget: func() { delete(b.tokens, key) }}
		b.tokens[key] = token
	}
	token.users++
	return &pool{b: b, up: token, name: "connection", limit: b.limits.ConnectionBytes}
}

// part is a pool within p, without a bound of its own. The caller closes it.
func (p *pool) part() *pool {
	if p == nil {
		return nil
	}
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	p.users++
	return &pool{b: p.b, up: p, name: p.name}
}

// lacks is the pool that has no room for n, nil when all have. One in which nothing
// passes has room for anything that does, so that what is larger than the bound comes
// through alone.
func (p *pool) lacks(n int, passes bool) *pool {
	for ; p != nil; p = p.up {
		if p.held+n > p.limit && p.limit > 0 && (!passes || p.held > p.fixed) {
			return p
		}
	}
	return nil
}

func (p *pool) add(n, fixed int) {
	p.b.held += n
	for ; p != nil; p = p.up {
		p.held += n
		p.fixed += fixed
	}
}

// try counts n bytes in, or says that there is no room for them.
func (p *pool) try(n int) error { return p.tryFor(n, 0) }

// keep is try for what stays until p is closed.
func (p *pool) keep(n int) error { return p.tryFor(n, n) }

func (p *pool) tryFor(n, fixed int) error {
	if p == nil {
		return nil
	}
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	full := p.lacks(n, false)
	if full == nil {
		p.add(n, fixed)
		return nil
	}
	p.b.refused++
	return wire.Errorf(wire.CodeRateLimited, "%d bytes are held for this %s, and %d more are over its limit of %d: read what comes, or close subscriptions and connections",
		full.held, full.name, n, full.limit).WithData(wire.RetryAfter{MS: 1000})
}

// take counts n bytes in, waiting until there is room. Its error is the cause of ctx.
func (p *pool) take(ctx context.Context, n int) error {
	if p == nil || n == 0 {
		return nil
	}
	p.b.mu.Lock()
	if len(p.b.waiting) == 0 && p.lacks(n, true) == nil {
		p.add(n, 0)
		p.b.mu.Unlock()
		return nil
	}
	c := &claim{p: p, n: n, granted: make(chan struct{})}
	p.b.waiting = append(p.b.waiting, c)
	p.b.grant()
	p.b.mu.Unlock()
	select {
	case <-c.granted:
		return nil
	case <-ctx.Done():
	}
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	if i := slices.Index(p.b.waiting, c); i >= 0 {
		p.b.waiting = slices.Delete(p.b.waiting, i, i+1)
	} else {
		p.add(-n, 0) // granted meanwhile
	}
	p.b.grant() // those behind it
	return context.Cause(ctx)
}

// give counts n bytes out.
func (p *pool) give(n int) {
	if p == nil || n == 0 {
		return
	}
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	p.add(-n, 0)
	p.b.grant()
}

// close counts out what is left, of a pool without parts that are open.
func (p *pool) close() {
	if p == nil {
		return
	}
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	p.add(-p.held, -p.fixed)
	for up := p.up; up != nil; up = up.up {
		if up.users--; up.users > 0 || up.forget == nil {
			break
		}
		up.forget()
	}
	p.b.grant()
}

// grant serves those who wait, in their order, but nobody waits behind one whose own
// pool is full.
func (b *budget) grant() {
	b.scan++
	b.waiting = slices.DeleteFunc(b.waiting, func(c *claim) bool {
		for p := c.p; p != nil; p = p.up {
			if p.full == b.scan {
				return false
			}
		}
		if full := c.p.lacks(c.n, true); full != nil {
			full.full = b.scan
			return false
		}
		c.p.add(c.n, 0)
		close(c.granted)
		return true
	})
}

type holdKey struct{}

// Hold waits for room for an Item of n bytes that a Backend is about to have in memory
// for the stream whose ctx it is, beyond the few hundred KiB that every stream may have.
// The Item says so with Held. Its error is the cause of ctx. It is nil at once where
// nothing is counted.
func Hold(ctx context.Context, n int) error {
	p, _ := ctx.Value(holdKey{}).(*pool)
	return p.take(ctx, copies*n)
}

// Load is what viewers make a Gateway hold.
type Load struct {
	// Held is bytes that were read for viewers and that they have not taken yet, by
	// the budget's count; Waiting is how many streams wait for room.
	Held, Waiting int
	// Refused is how often something was refused for lack of room, since the start.
	Refused int
}

// Load is what viewers make it hold now.
func (g *Gateway) Load() Load {
	g.budget.mu.Lock()
	defer g.budget.mu.Unlock()
	return Load{Held: g.budget.held, Waiting: len(g.budget.waiting), Refused: g.budget.refused}
}

// holdAnswer counts an answer in while it waits for its reader.
func (v *viewer) holdAnswer(method string, n int) (release func(), err error) {
	if m, _ := wire.MethodOf(method); m.Scope != wire.ScopeView || n < viewerQueue/8 {
		return func() {}, nil // small; and what was done must not be said to be refused
	}
	if err := v.mem.try(copies * n); err != nil {
		return nil, err
	}
	return func() { v.mem.give(copies * n) }, nil
}

// holdMessage counts a piece of a long message in until the message was handled.
func (v *viewer) holdMessage(n int) (release func(), err error) {
	size := int64(n)
	if v.small.Add(size) <= smallBytes {
		return func() { v.small.Add(-size) }, nil
	}
	v.small.Add(-size)
	if err := v.mem.try(copies * n); err != nil {
		return nil, err
	}
	return func() { v.mem.give(copies * n) }, nil
}
