package server_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/wire"
)

// wall is a clock on the wall that somebody sets.
type wall struct{ off atomic.Int64 }

func (w *wall) now() time.Time { return time.Now().Add(time.Duration(w.off.Load())).Round(0) }

func (w *wall) set(d time.Duration) { w.off.Store(int64(d)) }

// withClock is a relay process whose clock is set at will.
func withClock(t *testing.T, e *store.Embedded, w *wall) *relay {
	t.Helper()
	s, err := store.Open(t.Context(), e.Conn(), store.Options{Now: w.now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return serveClocked(t, s, gateway.Limits{Recheck: 20 * time.Millisecond}, w.now)
}

// The clock of a relay is set forward and back by hours, and another process of it has
// one that is wrong all the time: nobody is cut off or taken for absent, cursors hold,
// and tokens count by the clock as it is.
func TestClockJumps(t *testing.T) {
	e, err := store.StartEmbedded(store.EmbeddedOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	var clock, wrong wall
	wrong.set(7 * time.Hour)
	r, other := withClock(t, e, &clock), withClock(t, e, &wrong)
	token := func(scope wire.Scope, life time.Duration) string {
		t.Helper()
		k := store.Token{Tenant: "acme", Scope: scope}
		if life > 0 {
			k.Expires = clock.now().Add(life).UnixMilli()
		}
		secret, _, err := r.store.CreateToken(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	h := newFakeHost("laptop")
	h.call = func(context.Context, wire.Caller, string, jsontext.Value) (jsontext.Value, error) {
		return jsontext.Value(`{}`), nil
	}
	h.add("session1", 1, 10)
	u, _ := connect(t, h, r.http.URL, token(wire.ScopeHost, 0))
	until(t, "the host", func() bool { return u.Status().Connected })
	since := u.Status().Since
	control, hour := token(wire.ScopeControl, 0), token(wire.ScopeView, time.Hour)

	dial := func(secret string) *client.Client {
		t.Helper()
		c, err := client.Dial(t.Context(), strings.Replace(r.http.URL, "http", "ws", 1), client.Options{Token: secret})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	got, failed := make(chan int64, 1000), make(chan error, 1)
	viewer := dial(control)
	go func() {
		for item, err := range viewer.Subscribe(t.Context(), client.Subscription{Session: "session1"}) {
			if err != nil {
				failed <- err
				return
			}
			if item.Envelope != nil {
				got <- item.Next
			}
		}
	}()
	next := int64(0)
	short := dial(hour)
	works := func(c *client.Client) error {
		_, err := c.Hosts(t.Context())
		return err
	}
	for _, c := range []struct {
		off   time.Duration
		short bool // the token of an hour counts
	}{{0, true}, {50 * time.Minute, true}, {-9 * time.Hour, true}, {59 * time.Minute, true}, {0, true}, {5 * time.Hour, false}, {-3 * time.Hour, true}} {
		clock.set(c.off)
		h.add("session1", 1, 10)
		next++
		for seen := int64(0); seen < next; {
			select {
			case seen = <-got:
				if seen > next {
					t.Fatalf("%v: the viewer has position %d, want %d", c.off, seen, next)
				}
			case err := <-failed:
				t.Fatalf("%v: %v", c.off, err)
			case <-time.After(time.Minute):
				t.Fatalf("%v: envelope %d does not come", c.off, next)
			}
		}
		for name, p := range map[string]*relay{"this process": r, "the other process": other} {
			v := p.viewer(t, control)
			if _, err := v.Backend.Call(t.Context(), v.Caller, wire.SessionAbort, jsontext.Value(`{"session":"session1"}`)); err != nil {
				t.Errorf("%v: a command by %s: %v", c.off, name, err)
			}
			hosts, err := v.Backend.Hosts(t.Context())
			if err != nil || len(hosts) != 1 || !hosts[0].Online {
				t.Errorf("%v: %s has the hosts %+v, %v", c.off, name, hosts, err)
			}
		}
		if c.short {
			until(t, fmt.Sprintf("the token of an hour at %v", c.off), func() bool { return works(short) == nil })
			continue
		}
		until(t, "the end of the token of an hour", func() bool { return client.Code(works(short)) == wire.CodeUnauthorized })
		if _, err := client.Dial(t.Context(), strings.Replace(r.http.URL, "http", "ws", 1), client.Options{Token: hour}); client.Code(err) != wire.CodeUnauthorized {
			t.Errorf("a token that has expired: %v", err)
		}
		clock.set(0)
		short = dial(hour)
	}
	if s := u.Status(); !s.Connected || s.Since != since {
		t.Errorf("the host's connection was cut: %+v", s)
	}
}

// A code that is good for minutes is not good for hours because the clock was set back.
func TestCodeAndClock(t *testing.T) {
	e, err := store.StartEmbedded(store.EmbeddedOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	var clock wall
	r := withClock(t, e, &clock)
	for _, c := range []struct {
		off time.Duration
		ok  bool
	}{{0, true}, {4 * time.Minute, true}, {-30 * time.Second, true}, {6 * time.Minute, false}, {-2 * time.Hour, false}} {
		clock.set(0)
		code, err := r.store.NewCode(t.Context(), store.Token{Tenant: "acme", Scope: wire.ScopeView}, 5*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		clock.set(c.off)
		if _, _, err := r.store.RedeemCode(t.Context(), code, ""); (err == nil) != c.ok {
			t.Errorf("a code of 5 minutes after %v: %v", c.off, err)
		}
	}
}
