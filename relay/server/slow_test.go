package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/server"
	"github.com/agenthost/agenthost/relay/wire"
)

// oneConn is a listener that gives one connection.
type oneConn struct {
	conns chan net.Conn
	over  chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// Somebody without a token who announces a body and does not send it is gone after half a
// minute, wherever it was sent to.
func TestSlowStrangers(t *testing.T) {
	s, stop := openStore(t, t.TempDir())
	t.Cleanup(stop)
	for _, to := range []string{"POST /v1/pair", "POST /v1/tokens", "GET /healthz", "POST /v1/sessions", "PATCH /v1/host/files/x", "GET /v1/nothing"} {
		t.Run(to, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := server.New(server.Options{Store: s, Viewers: func(a gateway.Authenticator) *gateway.Gateway {
					return gateway.New(gateway.Options{Auth: a})
				}})
				web := gateway.Server(srv)
				l := &oneConn{make(chan net.Conn), make(chan struct{})}
				served := make(chan error, 1)
				go func() { served <- web.Serve(l) }()
				here, there := net.Pipe()
				l.conns <- there
				began := time.Now()
				if _, err := fmt.Fprintf(here, "%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", to); err != nil {
					t.Fatal(err)
				}
				said, _ := io.ReadAll(here)
				if took := time.Since(began); took > 35*time.Second || !strings.HasPrefix(string(said), "HTTP/1.1 ") {
					t.Errorf("it was there for %v, and heard %q", took, said)
				}
				srv.Close()
				close(l.over)
				_ = web.Close()
				<-served
				time.Sleep(time.Minute) // of synctest: net/http lingers over connections that it closed
			})
		})
	}
}

// Hosts that send long envelopes and do not end them hold what a tenant may have; the one
// that is over comes again, and others are unharmed.
func TestSlowHosts(t *testing.T) {
	s, stop := openStore(t, t.TempDir())
	t.Cleanup(stop)
	r := &relay{store: s, srv: server.New(server.Options{Store: s, HostBytes: 1 << 20, Patience: 300 * time.Millisecond})}
	r.http = httptest.NewServer(r.srv)
	t.Cleanup(func() { r.srv.Close(); r.http.Close() })
	token := r.token(t, "acme", wire.ScopeHost)
	trickle := func() *websocket.Conn {
		t.Helper()
		c, _, err := websocket.Dial(t.Context(), r.http.URL+wire.HostPath, &websocket.DialOptions{
			HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}, Subprotocols: []string{wire.Protocol},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.CloseNow() })
		piece := fmt.Sprintf(`{"chunk":{"id":1,"seq":0,"last":false,"data":%q}}`, strings.Repeat("x", 600_000))
		if err := c.Write(t.Context(), websocket.MessageText, []byte(piece)); err != nil {
			t.Fatal(err)
		}
		// What was sent before it is counted when this is answered.
		if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"session.open","params":{}}`)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := trickle()
	if _, answer, err := first.Read(t.Context()); err != nil || !strings.Contains(string(answer), "unauthorized") {
		t.Fatalf("the first: %s, %v", answer, err)
	}
	if _, answer, err := trickle().Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusTryAgainLater {
		t.Errorf("the second: %s, %v", answer, err)
	}
	const long = 900_000 // in chunks
	other := r.token(t, "other", wire.ScopeHost)
	h := newFakeHost("laptop")
	h.add("session1", 1, long)
	connect(t, h, r.http.URL, other)
	viewer := r.token(t, "other", wire.ScopeView)
	until(t, "another tenant", func() bool { return follow(t, r, viewer, "session1", 1, long) == nil })
	_ = first.CloseNow()
	until(t, "room for the next", func() bool {
		_, _, err := trickle().Read(t.Context())
		return err == nil
	})
}

// A host that stops in the middle of a file is gone soon; what came is kept.
func TestSlowFile(t *testing.T) {
	s, stop := openStore(t, t.TempDir())
	t.Cleanup(stop)
	r := &relay{store: s, srv: server.New(server.Options{Store: s, Patience: 300 * time.Millisecond})}
	r.http = httptest.NewServer(r.srv)
	t.Cleanup(func() { r.srv.Close(); r.http.Close() })
	token := r.token(t, "acme", wire.ScopeHost)
	if status, body := r.do(t, "POST", wire.HostFilesPath, token, asJSON, `{"ref":"f1","name":"a","size":100}`); status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	c, err := net.Dial("tcp", r.http.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "PATCH %s/f1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nUpload-Offset: 0\r\nContent-Length: 100\r\n\r\n0123456789", wire.HostFilesPath, token); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	if said, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(said), "HTTP/1.1 ") {
		t.Errorf("it is kept waiting: %q, %v", said, err)
	}
	tn, err := s.Tenant(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	if u, err := tn.StatFile(t.Context(), "f1"); err != nil || u.Offset != 10 {
		t.Errorf("what came: %+v, %v", u, err)
	}
}
