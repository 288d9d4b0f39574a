package gateway_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/gateway/gatewaytest"
	"github.com/agenthost/agenthost/relay/wire"
)

// pipes is a network in memory: nothing is in flight, and the clock is the test's.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	over  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.over) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	a, b := net.Pipe()
	p.conns <- b
	return a, nil
}

// memory is a gateway in a synctest bubble, with a token for each scope, named after it:
// "view-token".
func memory(t *testing.T, o gateway.Options) (*gatewaytest.Backend, *pipes) {
	t.Helper()
	host, tokens := gatewaytest.New(), &gatewaytest.Tokens{}
	for _, s := range wire.Scopes() {
		tokens.Set(string(s)+"-token", gateway.Principal{Caller: wire.Caller{TokenID: string(s), Scope: s}, Backend: host})
	}
	o.Auth = tokens
	gw := gateway.New(o)
	l := &pipes{conns: make(chan net.Conn), over: make(chan struct{})}
	srv := gateway.Server(gw)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	t.Cleanup(func() {
		if err := gw.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		_ = srv.Close()
		<-served
		time.Sleep(time.Minute) // of synctest: net/http lingers over connections that it closed
		if l := gw.Load(); l.Held != 0 || l.Waiting != 0 {
			t.Errorf("when all have left, the gateway holds %+v", l)
		}
	})
	return host, l
}

// A viewer that is there and reads nothing for a minute costs a bounded amount of what
// is read of the stream; then it has everything.
func TestStalledViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host, l := memory(t, gateway.Options{})
		s := host.Add(wire.Session{})
		const n, size = 300, 100_000
		for i := range n {
			host.Say(s.ID, fmt.Sprint(i, strings.Repeat("x", size)))
		}
		transport := &http.Transport{DialContext: l.dial}
		c, _, err := websocket.Dial(t.Context(), "ws://localhost/v1/ws", &websocket.DialOptions{
			HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Authorization": {"Bearer view-token"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		c.SetReadLimit(-1)
		if err := c.Write(t.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"session.subscribe","params":{"session":"last","from":0}}`)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the answer is being written, and cannot be
		for range 6 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_ = c.Ping(ctx) // it lives; the answer waits behind what it does not read
			cancel()
		}
		synctest.Wait()
		if read := host.Read(s.ID); read*size > 8<<20 {
			t.Errorf("%d envelopes were read for a viewer that takes none", read)
		}
		got, frames := 0, 0
		for got < n {
			_, frame, err := c.Read(t.Context())
			if err != nil {
				t.Fatalf("after %d envelopes: %v", got, err)
			}
			got += strings.Count(string(frame), `"t":"text"`) + strings.Count(string(frame), `\"t\":\"text\"`)
			frames++
		}
		if got != n {
			t.Errorf("%d envelopes in %d frames, want %d", got, frames, n)
		}
		_ = c.CloseNow()
		transport.CloseIdleConnections()
	})
}
