package gateway

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/agenthost/agenthost/relay/wire"
)

// TestPool: who waits gets room in the order of coming, but not behind somebody whose
// own connection is full; what is larger than a bound comes through alone; what is
// given up is forgotten.
func TestPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(Limits{ConnectionBytes: 100, TokenBytes: 150, TenantBytes: 1000})
		who := func(token string) *pool {
			return b.connection(Principal{Caller: wire.Caller{TokenID: token}})
		}
		var order []string
		wait := func(ctx context.Context, name string, p *pool, n int) {
			go func() {
				if p.take(ctx, n) == nil {
					b.mu.Lock()
					order = append(order, name)
					b.mu.Unlock()
				} else {
					b.mu.Lock()
					order = append(order, "-"+name)
					b.mu.Unlock()
				}
			}()
			synctest.Wait()
		}
		want := func(names ...string) {
			t.Helper()
			synctest.Wait()
			b.mu.Lock()
			defer b.mu.Unlock()
			if !slices.Equal(order, names) {
				t.Fatalf("granted: %v, want %v", order, names)
			}
		}
		a1, a2, a3, other := who("a"), who("a"), who("a"), who("b")
		if err := a1.keep(10); err != nil {
			t.Fatal(err)
		}
		part := a1.part()
		wait(t.Context(), "first", part, 90) // a1 is full
		wait(t.Context(), "stuck", a1, 1)
		wait(t.Context(), "second", a2, 50) // behind "stuck", which waits for its own connection; the token is full
		want("first", "second")
		ctx, giveUp := context.WithCancelCause(t.Context())
		wait(ctx, "third", a3, 20)
		wait(t.Context(), "fourth", a3, 1)
		wait(t.Context(), "other", other, 100) // another token
		want("first", "second", "other")
		var full *wire.Error
		if err := a2.try(1); !errors.As(err, &full) || full.Code != wire.CodeRateLimited {
			t.Errorf("try = %v, want %s", err, wire.CodeRateLimited)
		}
		giveUp(errors.New("it left"))
		want("first", "second", "other", "-third")
		a2.give(50)
		want("first", "second", "other", "-third", "fourth")
		part.close()
		want("first", "second", "other", "-third", "fourth", "stuck")
		a1.give(1)
		a3.give(1)
		wait(t.Context(), "large", a1, 5000) // beside what is kept, alone
		wait(t.Context(), "small", a2, 1)
		want("first", "second", "other", "-third", "fourth", "stuck")
		other.give(100)
		want("first", "second", "other", "-third", "fourth", "stuck", "large")
		a1.close()
		want("first", "second", "other", "-third", "fourth", "stuck", "large", "small")
		for _, p := range []*pool{a2, a3, other} {
			p.close()
		}
		if b.held != 0 || len(b.tenants) != 0 || len(b.tokens) != 0 || len(b.waiting) != 0 {
			t.Errorf("at the end %d bytes of %d tenants and %d tokens are held", b.held, len(b.tenants), len(b.tokens))
		}
	})
}
