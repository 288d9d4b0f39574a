package gateway_test

import (
	"encoding/json/v2"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

// What does not fit into the memory of a connection is refused with what to do, unless
// it can be given bit by bit. Nobody else notices.
func TestBudget(t *testing.T) {
	b := newBench(t, gateway.Options{Limits: gateway.Limits{ConnectionBytes: 4 << 20, PageBytes: 64 << 20}})
	s := b.host.Add(wire.Session{})
	const n, size = 30, 200_000 // 6 MB
	var want []string
	for i := range n {
		want = append(want, string(b.host.Say(s.ID, fmt.Sprint(i, strings.Repeat("x", size)))))
	}
	var small []string
	other := b.host.Add(wire.Session{})
	small = append(small, string(b.host.Say(other.ID, "hello")))
	path := "/v1/sessions/" + s.ID
	for name, get := range map[string]string{"a page": path + "/envelopes", "events": path + "/events", "a transcript": path + "/transcript"} {
		resp, body := b.do("GET", get, "view-token", "")
		if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "close subscriptions") {
			t.Errorf("%s of 6 MB within 4 MiB: %s %.200s", name, resp.Status, body)
		}
	}
	c, pushes, _ := b.dial("view-token")
	if err := c.Call(t.Context(), wire.SessionSubscribe, wire.SubscribeParams{Session: s.ID, Format: wire.FormatEvents, Snapshot: true}, nil); err == nil || wire.AsError(err).Code != wire.CodeRateLimited {
		t.Errorf("a snapshot of 6 MB within 4 MiB: %v", err)
	}
	if err := c.Call(t.Context(), wire.SessionSubscribe, wire.SubscribeParams{Session: s.ID, Format: wire.FormatEvents}, nil); err != nil {
		t.Fatal(err)
	}
	for {
		p := next(t, pushes)
		if p.method != wire.PushEnded {
			continue
		}
		var end wire.EndedPush
		if err := json.Unmarshal(p.params, &end); err != nil || end.Error == nil || end.Error.Code != wire.CodeRateLimited {
			t.Errorf("events of 6 MB within 4 MiB end with %s, %v", p.params, err)
		}
		break
	}
	// The same connection and the same token go on.
	if err := c.Call(t.Context(), wire.SessionSubscribe, wire.SubscribeParams{Session: s.ID}, nil); err != nil {
		t.Fatal(err)
	}
	if got := collect(t, pushes, 0, n); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Error("the envelopes are other ones")
	}
	var page wire.EnvelopesPage
	b.get("/v1/sessions/"+other.ID+"/envelopes", &page)
	if len(page.Envelopes) != 1 || string(page.Envelopes[0]) != small[0] {
		t.Errorf("another session's page: %+v", page)
	}
	if l := b.gw.Load(); l.Refused != 5 {
		t.Errorf("the gateway says %+v, want 5 refused", l)
	}
}

// Connections count, and say so when there are too many for the memory.
func TestBudgetOfConnections(t *testing.T) {
	b := newBench(t, gateway.Options{Limits: gateway.Limits{TokenBytes: 3 << 20}})
	for range 3 {
		b.dial("view-token")
	}
	resp, body := b.do("GET", "/v1/ws", "view-token", "", "Upgrade", "websocket", "Connection", "Upgrade")
	if resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, "for this token") {
		t.Errorf("a fourth connection: %s %s", resp.Status, body)
	}
	b.dial("control-token")
}
