package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/gateway/gatewaytest"
	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/wire"
)

// patience is how long a test waits for what must happen, on a busy machine.
const patience = 60 * time.Second

// bench is a gateway over a host in memory, with a token for each scope, named after
// it: "view-token".
type bench struct {
	t      *testing.T
	host   *gatewaytest.Backend
	tokens *gatewaytest.Tokens
	gw     *gateway.Gateway
	url    string
	log    *syncBuffer
}

// syncBuffer is a log that a test may read.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newBench(t *testing.T, o gateway.Options) *bench {
	t.Helper()
	b := &bench{t: t, host: gatewaytest.New(), tokens: &gatewaytest.Tokens{}, log: &syncBuffer{}}
	for _, s := range wire.Scopes() {
		b.tokens.Set(string(s)+"-token", gateway.Principal{Caller: wire.Caller{Scope: s, ClientType: "phone"}, Backend: b.host})
	}
	o.Auth, o.Log = b.tokens, slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if o.Server.Name == "" {
		o.Server = wire.Program{Name: "agenthost", Version: "test"}
	}
	b.gw = gateway.New(o)
	srv := httptest.NewUnstartedServer(b.gw)
	srv.Config.ReadHeaderTimeout = patience
	srv.Start()
	b.url = srv.URL
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := b.gw.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown = %v", err)
		}
		srv.Close()
		if l := b.gw.Load(); l.Held != 0 || l.Waiting != 0 {
			t.Errorf("when all have left, the gateway holds %+v", l)
		}
	})
	return b
}

// do makes a request; header is pairs.
func (b *bench) do(method, path, token, body string, header ...string) (*http.Response, string) {
	b.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.url+path, r)
	if err != nil {
		b.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp, string(out)
}

// get is a request whose answer is read into v.
func (b *bench) get(path string, v any, header ...string) {
	b.t.Helper()
	resp, body := b.do("GET", path, "view-token", "", header...)
	if resp.StatusCode != 200 {
		b.t.Fatalf("GET %s = %s %s", path, resp.Status, body)
	}
	if err := wire.UnmarshalStream([]byte(body), v); err != nil {
		b.t.Fatalf("GET %s = %s: %v", path, body, err)
	}
}

// push is a notification that came.
type push struct {
	method string
	params jsontext.Value
}

// dial opens a WebSocket with a token; what is pushed comes through the channel.
func (b *bench) dial(token string) (*peer.Conn, <-chan push, <-chan error) {
	b.t.Helper()
	c, err := peer.Dial(b.t.Context(), b.url, peer.Options{Token: token, Ordered: wire.Ordered})
	if err != nil {
		b.t.Fatal(err)
	}
	pushes, ended := make(chan push, 1024), make(chan error, 1)
	go func() {
		ended <- c.Serve(context.Background(), func(ctx context.Context, method string, params jsontext.Value) (any, error) {
			select {
			case pushes <- push{method, params}:
			case <-ctx.Done():
			}
			return nil, nil
		})
		close(pushes)
	}()
	b.t.Cleanup(func() { c.Close(peer.StatusNormal, "") })
	return c, pushes, ended
}

func next(t *testing.T, pushes <-chan push) push {
	t.Helper()
	select {
	case p := <-pushes:
		return p
	case <-time.After(patience):
		t.Fatal("no push")
		return push{}
	}
}

// collect gathers envelopes until there are n, and the positions they claim.
func collect(t *testing.T, pushes <-chan push, from wire.Position, n int) []string {
	t.Helper()
	var got []string
	for len(got) < n {
		p := next(t, pushes)
		if p.method != wire.PushEnvelopes {
			continue
		}
		var e wire.EnvelopesPush
		if err := wire.UnmarshalStream(p.params, &e); err != nil {
			t.Fatal(err)
		}
		if e.Position != from+wire.Position(len(got)) {
			t.Fatalf("position %d, want %d", e.Position, from+wire.Position(len(got)))
		}
		for _, raw := range e.Envelopes {
			got = append(got, string(raw))
		}
	}
	return got
}

// A subscription has what was, then what comes, byte for byte, each once.
func TestSubscribe(t *testing.T) {
	b := newBench(t, gateway.Options{})
	s := b.host.Add(wire.Session{Dir: "/w"})
	var want []string
	for i := range 1200 {
		want = append(want, string(b.host.Say(s.ID, fmt.Sprintf("old %d \u2028 <", i))))
	}
	odd := `{"id":"odd","time":5,"role":"agent","ev":{"t":"new-thing","args":{"k":1,"k":2},"n":1e400}}`
	b.host.AppendLines(s.ID, []byte(odd))
	want = append(want, odd)
	c, pushes, _ := b.dial("view-token")
	var r wire.SubscribeResult
	if err := c.Call(t.Context(), wire.SessionSubscribe, wire.SubscribeParams{Session: "last", From: 7}, &r); err != nil {
		t.Fatal(err)
	}
	if r.Next != 7 || r.Session.ID != s.ID || r.Session.End != 1201 {
		t.Errorf("result %+v", r)
	}
	for i := range 300 {
		want = append(want, string(b.host.Say(s.ID, fmt.Sprintf("new %d", i))))
	}
	long := string(b.host.Say(s.ID, strings.Repeat("long \"text\" ", 60_000)))
	want = append(want, long)
	got := collect(t, pushes, 7, len(want)-7)
	for i := range got {
		if got[i] != want[i+7] {
			t.Fatalf("at %d: %.80s, want %.80s", i+7, got[i], want[i+7])
		}
	}
	if err := c.Call(t.Context(), wire.SessionUnsubscribe, wire.UnsubscribeParams{Subscription: r.Subscription}, nil); err != nil {
		t.Fatal(err)
	}
	err := c.Call(t.Context(), wire.SessionUnsubscribe, wire.UnsubscribeParams{Subscription: r.Subscription}, nil)
	if !errors.Is(err, &wire.Error{Code: wire.CodeNotFound}) {
		t.Errorf("unsubscribing twice = %v", err)
	}
}

// Over HTTP a page, an event stream and lines give the same envelopes.
func TestHTTPStreams(t *testing.T) {
	b := newBench(t, gateway.Options{})
	s := b.host.Add(wire.Session{})
	var want []string
	for i := range 5 {
		want = append(want, string(b.host.Say(s.ID, fmt.Sprint("text ", i))))
	}
	path := "/v1/sessions/" + s.ID + "/envelopes"
	var page wire.EnvelopesPage
	b.get(path+"?from=1&limit=3", &page)
	if page.Position != 1 || page.Next != 4 || page.End != 5 || len(page.Envelopes) != 3 || string(page.Envelopes[2]) != want[3] {
		t.Errorf("page %+v", page)
	}
	b.get(path+"?from=5", &page)
	if page.Position != 5 || page.Next != 5 || len(page.Envelopes) != 0 {
		t.Errorf("the page at the end %+v", page)
	}
	if _, body := b.do("GET", path+"?from=2", "view-token", "", "Accept", "application/x-ndjson"); body != strings.Join(want[2:], "\n")+"\n" {
		t.Errorf("lines %s", body)
	}

	events := b.sse(path+"?from=2", "Last-Event-ID", "4")
	b.host.Say(s.ID, "more")
	if e := events.next(); e.name != "envelope" || e.id != "5" || e.data != want[4] {
		t.Errorf("event %+v", e)
	}
	if e := events.next(); e.id != "6" || !strings.Contains(e.data, `"more"`) {
		t.Errorf("event %+v", e)
	}
	b.host.Change(s.ID, func(s *wire.Session) { s.Title = "new" })
	if e := events.next(); e.name != "changed" || !strings.Contains(e.data, `"title":"new"`) {
		t.Errorf("event %+v", e)
	}
	b.host.Remove(s.ID)
	if e := events.next(); e.name != "ended" {
		t.Errorf("event %+v", e)
	}
	if e := events.next(); e.name != "" {
		t.Errorf("after the end: %+v", e)
	}
}

type sseEvent struct{ name, id, data string }

type sseReader struct {
	t *testing.T
	r *bufio.Reader
}

func (b *bench) sse(path string, header ...string) *sseReader {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), "GET", b.url+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer view-token")
	req.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		b.t.Fatalf("GET %s = %s %s", path, resp.Status, body)
	}
	return &sseReader{b.t, bufio.NewReader(resp.Body)}
}

// next is the next event; the zero one at the end of the stream.
func (s *sseReader) next() (e sseEvent) {
	s.t.Helper()
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			return e
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case name == "event":
			e.name = value
		case name == "id":
			e.id = value
		case name == "data":
			e.data = value
		case line == "\n" && e.data != "":
			return e
		}
	}
}

func TestCommands(t *testing.T) {
	b := newBench(t, gateway.Options{})
	resp, body := b.do("POST", "/v1/sessions", "control-token", `{"agent":"echo","dir":"/w","id":"abcdefgh","prompt":{"text":"hi"},"new":1}`)
	if resp.StatusCode != 201 || !strings.Contains(body, `"id":"abcdefgh"`) {
		t.Fatalf("spawn = %s %s", resp.Status, body)
	}
	resp, body = b.do("POST", "/v1/sessions/abcd/messages", "control-token", `{"text":"more","session":"other"}`)
	if resp.StatusCode != 200 || !strings.Contains(body, `"session":"abcdefgh"`) {
		t.Fatalf("send = %s %s", resp.Status, body)
	}
	ask := b.host.Ask("abcdefgh", "c/1")
	if _, body = b.do("GET", "/v1/sessions/last/asks", "view-token", ""); !strings.Contains(body, ask.Nonce) {
		t.Errorf("asks = %s", body)
	}
	resp, body = b.do("POST", "/v1/sessions/last/permissions/c%2F1", "control-token", `{"decision":"allow-once","nonce":"old"}`)
	if resp.StatusCode != 409 || !strings.Contains(body, `"code":"stale"`) || !strings.Contains(body, ask.Nonce) {
		t.Errorf("a stale decision = %s %s", resp.Status, body)
	}
	if resp, body = b.do("POST", "/v1/sessions/last/permissions/c%2F1", "control-token", `{"decision":"allow-once"}`); resp.StatusCode != 200 {
		t.Errorf("decision = %s %s", resp.Status, body)
	}
	resp, body = b.do("POST", "/v1/sessions/last/permissions/c%2F1", "control-token", `{"decision":"allow-once"}`)
	if resp.StatusCode != 409 || !strings.Contains(body, `"code":"resolved"`) || !strings.Contains(body, `"tokenId":"id-of-control"`) {
		t.Errorf("a second decision = %s %s", resp.Status, body)
	}
	if resp, _ = b.do("DELETE", "/v1/sessions/last", "control-token", ""); resp.StatusCode != 403 {
		t.Errorf("removing without admin = %s", resp.Status)
	}
	if resp, body = b.do("DELETE", "/v1/sessions/last", "admin-token", ""); resp.StatusCode != 204 || body != "" {
		t.Errorf("removing = %s %s", resp.Status, body)
	}
	b.host.SetOnline(false)
	resp, body = b.do("POST", "/v1/sessions", "control-token", `{"agent":"echo","dir":"/w"}`)
	if resp.StatusCode != 503 || !strings.Contains(body, `"lastSeen"`) {
		t.Errorf("offline = %s %s", resp.Status, body)
	}
	for _, call := range b.host.Calls() {
		if call.Caller.ClientType != "phone" || strings.Contains(call.Params, "other") {
			t.Errorf("call %+v", call)
		}
	}
}
