package server_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/server"
	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/wire"
)

// serveViewers runs a relay process that people can use too.
func serveViewers(t testing.TB, s *store.Store, limits gateway.Limits) *relay {
	t.Helper()
	return serveClocked(t, s, limits, nil)
}

// serveClocked is serveViewers with a clock on the wall.
func serveClocked(t testing.TB, s *store.Store, limits gateway.Limits, now func() time.Time) *relay {
	t.Helper()
	r := &relay{store: s}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	r.srv = server.New(server.Options{Store: s, Now: now, Logger: log, Viewers: func(a gateway.Authenticator) *gateway.Gateway {
		r.gw = gateway.New(gateway.Options{Auth: a, Now: now, Limits: limits, Log: log})
		return r.gw
	}})
	r.http = httptest.NewServer(r.srv)
	t.Cleanup(func() {
		r.srv.Close()
		_ = r.gw.Shutdown(context.Background())
		r.http.CloseClientConnections()
		r.http.Close()
	})
	return r
}

var errWrong = errors.New("the stream is wrong")

// An agent streams while connections are cut at random, on both sides of the relay,
// the relay process is replaced, the host comes anew and the viewer comes anew: the
// viewer has each envelope once, in order.
func TestEverythingBreaks(t *testing.T) {
	s, stop := openStore(t, t.TempDir())
	t.Cleanup(stop)
	a, b := serveViewers(t, s, gateway.Limits{Connections: 1000, Rate: 10_000, Burst: 10_000}), serveViewers(t, s, gateway.Limits{Connections: 1000, Rate: 10_000, Burst: 10_000})
	const total, size, cuts = 100_000, 60, 200
	h := newFakeHost("laptop")
	h.add("session1", 1, size)
	hostSide, viewerSide := newProxy(t, a.http.URL), newProxy(t, a.http.URL)
	hostToken := a.token(t, "acme", wire.ScopeHost)
	_, stopHost := connect(t, h, hostSide.url(), hostToken)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	view := a.token(t, "acme", wire.ScopeView)

	// The viewer keeps its cursor, as a program that is killed would on disk.
	var next int64
	watch := func(until int64) error {
		c, err := client.Dial(ctx, strings.Replace(viewerSide.url(), "http", "ws", 1), client.Options{Token: view})
		if err != nil {
			return err
		}
		defer c.Close()
		for item, err := range c.Subscribe(ctx, client.Subscription{Session: "session1", From: next}) {
			if err != nil {
				return err
			}
			if item.Reset {
				return fmt.Errorf("%w: a reset at %d", errWrong, item.Next)
			}
			if item.Envelope == nil {
				continue
			}
			if item.Next != next+1 || string(item.Envelope) != envelope("session1", int(next), size) {
				return fmt.Errorf("%w: got %d %.60s, want %d", errWrong, item.Next-1, item.Envelope, next)
			}
			if next++; next >= until {
				return nil
			}
		}
		return errors.New("the subscription ended")
	}
	watched := make(chan error, 1)
	go func() {
		for part := int64(1); part <= 5; part++ {
			for {
				err := watch(total * part / 5)
				if err == nil {
					break
				}
				// Its first connection may fall into a cut; only that is tried again.
				if ctx.Err() != nil || errors.Is(err, errWrong) {
					watched <- err
					return
				}
			}
		}
		watched <- nil
	}()
	for i := range cuts {
		h.add("session1", (total-1)/cuts, size)
		switch {
		case i == cuts/4: // the relay process is replaced
			hostSide.moveTo(b.http.URL)
			viewerSide.moveTo(b.http.URL)
		case i == cuts/2: // the host comes anew
			stopHost()
			_, stopHost = connect(t, h, hostSide.url(), hostToken)
		case rand.N(2) == 0:
			hostSide.cut()
		default:
			viewerSide.cut()
		}
		if i%8 == 0 {
			<-time.After(5 * time.Millisecond) // something gets through now and then
		}
	}
	h.add("session1", (total-1)%cuts, size)
	if err := <-watched; err != nil {
		t.Fatalf("at %d: %v", next, err)
	}
	if next, err := tenantOf(t, a, "acme").Next(t.Context(), "session1"); next != total || err != nil {
		t.Errorf("the relay has %d, %v; want %d", next, err, total)
	}
	if hostSide.cuts+viewerSide.cuts < cuts-5 {
		t.Errorf("only %d cuts", hostSide.cuts+viewerSide.cuts)
	}
}

// A viewer that takes nothing holds up nobody, and catches up.
func TestStalledViewer(t *testing.T) {
	s, stop := openStore(t, t.TempDir())
	t.Cleanup(stop)
	r := serveViewers(t, s, gateway.Limits{})
	h := newFakeHost("laptop")
	h.add("session1", 1, 10)
	connect(t, h, r.http.URL, r.token(t, "acme", wire.ScopeHost))
	view := r.token(t, "acme", wire.ScopeView)
	until(t, "the session", func() bool {
		_, err := r.viewer(t, view).Backend.Session(t.Context(), "session1")
		return err == nil
	})
	const total, size = 3000, 10_000
	stalled, goOn := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		c, err := client.Dial(t.Context(), strings.Replace(r.http.URL, "http", "ws", 1), client.Options{Token: view})
		if err != nil {
			t.Error(err)
			close(stalled)
			return
		}
		defer c.Close()
		next := int64(0)
		for item, err := range c.Subscribe(t.Context(), client.Subscription{Session: "session1"}) {
			if err != nil {
				t.Error(err)
				return
			}
			if item.Envelope == nil {
				continue
			}
			if next == 0 {
				close(stalled)
				<-goOn
			}
			if item.Next != next+1 {
				t.Errorf("got %d, want %d", item.Next-1, next)
				return
			}
			if next++; next == total {
				return
			}
		}
	})
	<-stalled
	for len(h.sessions["session1"].lines) < total {
		h.add("session1", min(200, total-len(h.sessions["session1"].lines)), size)
	}
	// Another viewer has it all meanwhile.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := r.viewer(t, view).Backend.Stream(ctx, "session1", total-1)
	if err != nil {
		t.Fatal(err)
	}
	for item, err := range stream {
		if err != nil {
			t.Fatal(err)
		}
		if item.Line != nil {
			break
		}
	}
	close(goOn)
	wg.Wait()
}

// What people send reaches the host's command with who they are.
func TestPeople(t *testing.T) {
	s, stop := openStore(t, t.TempDir())
	t.Cleanup(stop)
	r := serveViewers(t, s, gateway.Limits{})
	h := newFakeHost("laptop")
	h.add("session1", 1, 10)
	var mu sync.Mutex
	var calls []string
	h.call = func(_ context.Context, c wire.Caller, method string, _ jsontext.Value) (jsontext.Value, error) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, fmt.Sprintf("%s %s %s", method, c.Scope, c.ClientType))
		switch method {
		case wire.SessionSpawn:
			h.add("session2", 1, 10)
			return wire.Marshal(wire.SessionResult{Session: wire.Session{ID: "session2", Version: 1, Host: "laptop", End: 1}})
		case wire.SessionDecide:
			return nil, wire.Errorf(wire.CodeResolved, "somebody else was first").WithData(wire.Resolved{Decision: "allow-once"})
		}
		return wire.Marshal(wire.SentResult{ID: "x", Session: "session1"})
	}
	connect(t, h, r.http.URL, r.token(t, "acme", wire.ScopeHost))
	view := r.token(t, "acme", wire.ScopeView)
	until(t, "the session", func() bool {
		_, err := r.viewer(t, view).Backend.Session(t.Context(), "session1")
		return err == nil
	})
	dial := func(scope wire.Scope) *client.Client {
		c, err := client.Dial(t.Context(), strings.Replace(r.http.URL, "http", "ws", 1), client.Options{Token: r.token(t, "acme", scope), ClientType: contract.ClientPhone})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	if _, err := dial(wire.ScopeView).Send(t.Context(), wire.SendParams{Session: "session1", Text: "hi"}); client.Code(err) != wire.CodeForbidden {
		t.Errorf("a viewer sends: %v", err)
	}
	c := dial(wire.ScopeControl)
	if _, err := c.Send(t.Context(), wire.SendParams{Session: "session1", Text: "hi"}); err != nil {
		t.Error(err)
	}
	made, err := c.Spawn(t.Context(), wire.SpawnParams{Agent: "claude", Dir: "/tmp"})
	if err != nil {
		t.Fatal(err)
	}
	// Who made it can use it at once.
	if got, err := c.Session(t.Context(), made.ID); err != nil || got.ID != "session2" {
		t.Errorf("the session that was made: %+v, %v", got, err)
	}
	if _, err := c.Decide(t.Context(), wire.DecideParams{Session: "session1", Call: "c", Decision: contract.AllowOnce}); client.Code(err) != wire.CodeResolved {
		t.Errorf("the second decision: %v", err)
	}
	// The same over HTTP.
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.http.URL+"/v1/sessions/session1/messages", strings.NewReader(`{"text":"hi"}`))
	req.Header.Set("Authorization", "Bearer "+r.token(t, "acme", wire.ScopeControl))
	req.Header.Set("Content-Type", asJSON)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		t.Errorf("a message over HTTP: %s", resp.Status)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{"session.send control phone", "session.spawn control phone", "session.decide control phone", "session.send control "}
	if len(calls) != len(want) || !slices.Equal(calls[:3], want[:3]) || !strings.HasPrefix(calls[3], want[3]) {
		t.Errorf("the host was called with %q, want %q", calls, want)
	}
}

// BenchmarkDecision is a person's decision from the viewer over the relay to the host
// and back, while the agent streams.
func BenchmarkDecision(b *testing.B) {
	s, stop := openStore(b, b.TempDir())
	b.Cleanup(stop)
	r := serveViewers(b, s, gateway.Limits{Rate: 1_000_000, Burst: 1_000_000})
	h := newFakeHost("laptop")
	h.add("session1", 1, 10)
	h.call = func(context.Context, wire.Caller, string, jsontext.Value) (jsontext.Value, error) {
		return wire.Marshal(wire.SentResult{ID: "x", Session: "session1"})
	}
	connect(b, h, r.http.URL, r.token(b, "acme", wire.ScopeHost))
	c, err := client.Dial(b.Context(), strings.Replace(r.http.URL, "http", "ws", 1), client.Options{Token: r.token(b, "acme", wire.ScopeControl)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	until(b, "the session", func() bool {
		_, err := c.Session(b.Context(), "session1")
		return err == nil
	})
	var took []time.Duration
	for b.Loop() {
		h.add("session1", 5, 300)
		begin := time.Now()
		if _, err := c.Decide(b.Context(), wire.DecideParams{Session: "session1", Call: "c", Decision: contract.AllowOnce}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
}

// One host at two relays at once: each has everything, and one that goes away costs
// the other nothing.
func TestTwoRelays(t *testing.T) {
	a, b := startRelay(t), startRelay(t)
	h := newFakeHost("laptop")
	h.add("session1", 50, 20)
	p := newProxy(t, a.http.URL)
	connect(t, h, p.url(), a.token(t, "acme", wire.ScopeHost))
	connect(t, h, b.http.URL, b.token(t, "other", wire.ScopeHost))
	views := map[*relay]string{a: a.token(t, "acme", wire.ScopeView), b: b.token(t, "other", wire.ScopeView)}
	for r, token := range views {
		until(t, "the session", func() bool {
			_, err := r.viewer(t, token).Backend.Session(t.Context(), "session1")
			return err == nil
		})
	}
	p.setDown(true)
	h.add("session1", 50, 20)
	if err := follow(t, b, views[b], "session1", 100, 20); err != nil {
		t.Errorf("the relay that stayed: %v", err)
	}
	p.setDown(false)
	if err := follow(t, a, views[a], "session1", 100, 20); err != nil {
		t.Errorf("the relay that was away: %v", err)
	}
}
