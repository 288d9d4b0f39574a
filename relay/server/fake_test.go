package server_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/server"
	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/uplink"
	"github.com/agenthost/agenthost/relay/wire"
)

// fakeHost is an uplink.Source in memory.
type fakeHost struct {
	id string
	// call runs commands; nil refuses them.
	call func(ctx context.Context, caller wire.Caller, method string, params jsontext.Value) (jsontext.Value, error)

	mu       sync.Mutex
	changed  chan struct{} // closed and made anew at each change; guarded by mu
	sessions map[string]*fakeSession
}

type fakeSession struct {
	meta  wire.Session
	lines []string
	// live are the deltas so far, to be given to those who listen.
	live []wire.Live
}

func newFakeHost(id string) *fakeHost {
	return &fakeHost{id: id, changed: make(chan struct{}), sessions: map[string]*fakeSession{}}
}

func (h *fakeHost) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	close(h.changed)
	h.changed = make(chan struct{})
}

// add appends n envelopes of a size to a session, which is made when it is new.
func (h *fakeHost) add(session string, n, size int) {
	h.change(func() {
		s := h.sessions[session]
		if s == nil {
			s = &fakeSession{meta: wire.Session{ID: session, Version: 1, Host: h.id, Agent: "fake", State: wire.StateRunning}}
			h.sessions[session] = s
		}
		for range n {
			s.lines = append(s.lines, envelope(session, len(s.lines), size))
		}
		s.meta.End = int64(len(s.lines))
	})
}

func envelope(session string, n, size int) string {
	return fmt.Sprintf(`{"id":"%s-%d","pad":%q}`, session, n, strings.Repeat("x", size))
}

func (h *fakeHost) Hosts(context.Context) ([]wire.Host, error) {
	return []wire.Host{{ID: h.id, Name: h.id, Online: true}}, nil
}

func (h *fakeHost) WatchSessions(ctx context.Context, _ wire.SessionsParams) ([]wire.Session, iter.Seq2[wire.SessionsPush, error], error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []wire.Session
	told := map[string]int64{}
	for _, id := range slices.Sorted(maps.Keys(h.sessions)) {
		list = append(list, h.sessions[id].meta)
		told[id] = h.sessions[id].meta.Version
	}
	return list, func(yield func(wire.SessionsPush, error) bool) {
		for {
			h.mu.Lock()
			wait := h.changed
			var pushes []wire.SessionsPush
			for id, s := range h.sessions {
				if told[id] < s.meta.Version {
					told[id] = s.meta.Version
					meta := s.meta
					pushes = append(pushes, wire.SessionsPush{Session: &meta})
				}
			}
			for id := range told {
				if h.sessions[id] == nil {
					delete(told, id)
					pushes = append(pushes, wire.SessionsPush{Removed: id})
				}
			}
			h.mu.Unlock()
			for _, p := range pushes {
				if !yield(p, nil) {
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-wait:
			}
		}
	}, nil
}

func (h *fakeHost) Stream(ctx context.Context, session string, from wire.Position) (iter.Seq2[gateway.Item, error], error) {
	return func(yield func(gateway.Item, error) bool) {
		live := 0
		for next := from; ; {
			h.mu.Lock()
			wait := h.changed
			s := h.sessions[session]
			if s == nil {
				h.mu.Unlock()
				return
			}
			lines, deltas := s.lines[next:], s.live[live:]
			live = len(s.live)
			h.mu.Unlock()
			for _, line := range lines {
				if !yield(gateway.Item{Position: next, Line: []byte(line)}, nil) {
					return
				}
				next++
			}
			for i := range deltas {
				if !yield(gateway.Item{Position: next, Live: &deltas[i]}, nil) {
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-wait:
			}
		}
	}, nil
}

func (h *fakeHost) Call(ctx context.Context, caller wire.Caller, method string, params jsontext.Value) (jsontext.Value, error) {
	if h.call == nil {
		return nil, wire.Errorf(wire.CodeUnsupported, "the fake takes no commands")
	}
	return h.call(ctx, caller, method, params)
}

// relay is a server for tests.
type relay struct {
	store *store.Store
	srv   *server.Server
	gw    *gateway.Gateway // nil without viewers
	http  *httptest.Server
}

func openStore(t testing.TB, dir string) (*store.Store, func()) {
	t.Helper()
	e, err := store.StartEmbedded(store.EmbeddedOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), e.Conn(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, func() { s.Close(); e.Close() }
}

func startRelay(t testing.TB) *relay {
	t.Helper()
	s, stop := openStore(t, t.TempDir())
	t.Cleanup(stop)
	return serveStore(t, s)
}

// serveStore runs one more relay process on a store.
func serveStore(t testing.TB, s *store.Store) *relay {
	t.Helper()
	r := &relay{store: s, srv: server.New(server.Options{Store: s, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})}
	r.http = httptest.NewServer(r.srv)
	t.Cleanup(func() { r.srv.Close(); r.http.Close() })
	return r
}

// token makes a token and returns its secret.
func (r *relay) token(t testing.TB, tenant string, scope wire.Scope) string {
	t.Helper()
	secret, _, err := r.store.CreateToken(t.Context(), store.Token{Tenant: tenant, Scope: scope, Name: string(scope)})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// viewer is a tenant as a token sees it.
func (r *relay) viewer(t testing.TB, token string) gateway.Principal {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/sessions", nil)
	req.Header.Set("Authorization", "Bearer "+token)
	p, err := r.srv.Authenticate(req)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// connect keeps an uplink of a host to a URL until the test or stop ends it.
func connect(t testing.TB, h uplink.Source, url, token string) (u *uplink.Uplink, stop func()) {
	t.Helper()
	u, err := uplink.New(uplink.Options{
		URL: strings.Replace(url, "http", "ws", 1), Token: func() (string, error) { return token, nil }, Source: h,
		Program: wire.Program{Name: "test"}, StateDir: t.TempDir(), MinWait: time.Millisecond, MaxWait: 50 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = u.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return u, stop
}

// until waits for a condition that something else brings about.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 500 {
		if ok() {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatalf("waited too long for %s", what)
}

// proxy passes connections on to a server, and cuts them.
type proxy struct {
	ln net.Listener

	mu    sync.Mutex
	to    string
	conns map[net.Conn]bool
	down  bool
	cuts  int
}

func newProxy(t testing.TB, to string) *proxy {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{ln: ln, to: strings.TrimPrefix(to, "http://"), conns: map[net.Conn]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() { ln.Close(); p.cut(); wg.Wait() })
	return p
}

func (p *proxy) url() string { return "http://" + p.ln.Addr().String() }

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	p.mu.Lock()
	to := p.to
	p.mu.Unlock()
	up, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer up.Close()
	p.mu.Lock()
	if p.down {
		p.mu.Unlock()
		return
	}
	p.conns[c], p.conns[up] = true, true
	p.mu.Unlock()
	go func() { _, _ = io.Copy(up, c); up.Close(); c.Close() }()
	_, _ = io.Copy(c, up)
	p.mu.Lock()
	delete(p.conns, c)
	delete(p.conns, up)
	p.mu.Unlock()
}

// cut breaks what is connected.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.SetLinger(0)
		}
		_ = c.Close()
	}
	p.cuts++
}

// moveTo passes new connections on to another server.
func (p *proxy) moveTo(to string) {
	p.mu.Lock()
	p.to = strings.TrimPrefix(to, "http://")
	p.mu.Unlock()
	p.cut()
}

// setDown lets nothing through until it is called again.
func (p *proxy) setDown(down bool) {
	p.mu.Lock()
	p.down = down
	p.mu.Unlock()
	if down {
		p.cut()
	}
}
