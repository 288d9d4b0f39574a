package server_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/wire"
)

// heap is what is in use, in bytes.
func heap() int {
	runtime.GC()
	runtime.GC() // what finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// hog asks for n subscriptions on a connection that it does not read.
func hog(t *testing.T, r *relay, token, session string, n int) error {
	t.Helper()
	// Its own memory is not what is measured: it takes next to nothing.
	c, err := peer.Dial(t.Context(), r.http.URL, peer.Options{Token: token, Ordered: wire.Ordered, QueueBytes: 1 << 10})
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Serve(context.Background(), func(ctx context.Context, _ string, _ jsontext.Value) (any, error) {
			<-ctx.Done()
			return nil, nil
		})
	}()
	t.Cleanup(func() { c.Close(peer.StatusNormal, ""); <-ended })
	for range n {
		// The answers are not waited for: they stand behind what is not read.
		if _, err := c.Start(t.Context(), wire.SessionSubscribe, wire.SubscribeParams{Session: session}); err != nil {
			return err
		}
	}
	return nil
}

// One who subscribes to much and reads nothing costs what the limits say, also when
// envelopes are long; whoever else reads has everything, the same token too.
func TestUnreadSubscriptions(t *testing.T) {
	s, stop := openStore(t, t.TempDir())
	t.Cleanup(stop)
	const connections, each = 4, 25
	limits := gateway.Limits{ConnectionBytes: 32 << 20, TokenBytes: 48 << 20, Subscriptions: each}
	r := serveViewers(t, s, limits)
	h := newFakeHost("laptop")
	const envelopes, size = 4, 2 << 20
	h.add("session1", envelopes, size)
	connect(t, h, r.http.URL, r.token(t, "acme", wire.ScopeHost))
	until(t, "the envelopes", func() bool {
		next, err := tenantOf(t, r, "acme").Next(t.Context(), "session1")
		return err == nil && next == envelopes
	})
	bad, good := r.token(t, "acme", wire.ScopeView), r.token(t, "acme", wire.ScopeView)
	before := heap()
	var refusal error
	for range connections {
		refusal = hog(t, r, bad, "session1", each)
	}
	until(t, "the limit", func() bool { l := r.gw.Load(); return l.Waiting > 0 && l.Refused > 0 })
	if code(refusal) != wire.CodeRateLimited || !strings.Contains(fmt.Sprint(refusal), "for this token") {
		t.Errorf("one more connection of a token that reads nothing: %v, want %s", refusal, wire.CodeRateLimited)
	}
	read := func(token string) {
		t.Helper()
		c, err := client.Dial(t.Context(), strings.Replace(r.http.URL, "http", "ws", 1), client.Options{Token: token})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		next := 0
		for item, err := range c.Subscribe(t.Context(), client.Subscription{Session: "session1"}) {
			if err != nil {
				t.Fatal(err)
			}
			if item.Envelope == nil {
				continue
			}
			if want := envelope("session1", next, size); string(item.Envelope) != want {
				t.Fatalf("envelope %d is another one", next)
			}
			if next++; next == envelopes {
				return
			}
		}
	}
	read(good)
	used := heap() - before
	t.Logf("%d subscriptions of a token hold %d MiB", connections*each, used>>20)
	if used > 2*limits.TokenBytes {
		t.Errorf("%d MiB are held for a token that may have %d", used>>20, limits.TokenBytes>>20)
	}
	if l := r.gw.Load(); l.Held > limits.TokenBytes+(8<<20) || l.Held < 16<<20 || l.Refused == 0 || l.Waiting == 0 {
		t.Errorf("the gateway says %+v", l)
	}
	scrape := httptest.NewRecorder()
	r.srv.Metrics().ServeHTTP(scrape, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, name := range []string{"agenthost_relay_viewer_bytes", "agenthost_relay_viewer_waiting", "agenthost_relay_viewer_refused_total"} {
		if !regexp.MustCompile(`(?m)^` + name + ` [1-9]`).MatchString(scrape.Body.String()) {
			t.Errorf("the metrics have no %s that is not 0", name)
		}
	}
}
