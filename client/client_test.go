package client_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/internal/leaktest"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/gateway/gatewaytest"
	"github.com/agenthost/agenthost/relay/wire"
)

// patience is how long a test waits for what must happen, on a busy machine.
const patience = 120 * time.Second

// TestMain checks in the end that no goroutine is left.
func TestMain(m *testing.M) { leaktest.Main(m, "agenthost/client.", "relay/peer.") }

// server is a gateway over a host in memory; the token "t" may do all.
func server(t *testing.T, listen net.Listener) (*gatewaytest.Backend, *gatewaytest.Tokens, string) {
	t.Helper()
	host, tokens := gatewaytest.New(), &gatewaytest.Tokens{}
	tokens.Set("t", gateway.Principal{Caller: wire.Caller{Scope: wire.ScopeAdmin, Local: true}, Backend: host})
	gw := gateway.New(gateway.Options{Auth: tokens})
	srv := httptest.NewUnstartedServer(gw)
	if listen != nil {
		_ = srv.Listener.Close()
		srv.Listener = listen
	}
	srv.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := gw.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown = %v", err)
		}
		srv.Close()
	})
	return host, tokens, srv.Listener.Addr().String()
}

func dial(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), url, client.Options{Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// cutter is a proxy whose connections break after a while: anywhere in a frame, in
// the greeting as well.
type cutter struct {
	l    net.Listener
	to   string
	cuts atomic.Int64
	wg   sync.WaitGroup
	rand func(int64) int64
	stop atomic.Bool  // cut no more
	up   atomic.Int64 // when not 0: the bytes that pass to the server, once

	mu   sync.Mutex
	open map[net.Conn]bool
}

func newCutter(t *testing.T, to string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(1, 2))
	c := &cutter{l: l, to: to, open: map[net.Conn]bool{}, rand: func(n int64) int64 {
		mu.Lock()
		defer mu.Unlock()
		return r.Int64N(n)
	}}
	c.wg.Go(c.accept)
	t.Cleanup(func() {
		_ = l.Close()
		c.mu.Lock()
		for conn := range c.open {
			_ = conn.Close()
		}
		c.mu.Unlock()
		c.wg.Wait()
	})
	return c
}

func (c *cutter) accept() {
	for {
		in, err := c.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", c.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		c.mu.Lock()
		c.open[in], c.open[out] = true, true
		c.mu.Unlock()
		end := func() { _ = in.Close(); _ = out.Close() }
		c.wg.Go(func() {
			defer end()
			if n := c.up.Load(); n > 0 {
				if _, err := io.CopyN(out, in, n); err == nil && c.up.CompareAndSwap(n, 0) {
					c.cuts.Add(1)
					return
				}
			}
			_, _ = io.Copy(out, in)
		})
		c.wg.Go(func() {
			defer end()
			if c.stop.Load() {
				_, _ = io.Copy(in, out)
				return
			}
			_, _ = io.CopyN(struct{ io.Writer }{in}, out, c.rand(20_000))
			c.cuts.Add(1)
		})
	}
}

// Across 200 cuts at random bytes each envelope comes once, in order, as it was
// written.
func TestCuts(t *testing.T) {
	host, _, addr := server(t, nil)
	proxy := newCutter(t, addr)
	s := host.Add(wire.Session{ID: "abcdefgh"})
	var want []string
	say := func(n int) {
		for range n {
			want = append(want, string(host.Say(s.ID, fmt.Sprintf("text %d %s", len(want), strings.Repeat("x", len(want)%300)))))
		}
	}
	say(100)
	viewer, err := connect(t, "ws://"+proxy.l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []string
	lost := func(error) {
		if proxy.cuts.Load() < 200 {
			say(30)
		} else {
			proxy.stop.Store(true)
		}
	}
	for item, err := range viewer.Subscribe(ctx, client.Subscription{Session: "last", OnLost: lost}) {
		if err != nil {
			t.Fatalf("after %d envelopes and %d cuts: %v", len(got), proxy.cuts.Load(), err)
		}
		if item.Envelope == nil {
			continue
		}
		got = append(got, string(item.Envelope))
		if item.Next != wire.Position(len(got)) {
			t.Fatalf("cursor %d after %d envelopes", item.Next, len(got))
		}
		if len(got) == len(want) {
			if proxy.stop.Load() {
				break
			}
			say(30)
		}
	}
	t.Logf("%d envelopes over %d cuts", len(got), proxy.cuts.Load())
	if len(got) != len(want) {
		t.Fatalf("%d envelopes, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("at %d: %s, want %s", i, got[i], want[i])
		}
	}
}

// connect dials until it works, as the proxy cuts greetings too.
func connect(t *testing.T, url string) (*client.Client, error) {
	t.Helper()
	var err error
	for range 100 {
		var c *client.Client
		if c, err = client.Dial(t.Context(), url, client.Options{Token: "t"}); err == nil {
			t.Cleanup(c.Close)
			return c, nil
		}
	}
	return nil, err
}

// A command over connections that break is done once.
func TestCommandsOverCuts(t *testing.T) {
	host, _, addr := server(t, nil)
	proxy := newCutter(t, addr)
	s := host.Add(wire.Session{ID: "abcdefgh"})
	c, err := connect(t, "ws://"+proxy.l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	const n = 100
	for i := range n {
		text := strings.Repeat("y", 500)
		r, err := c.Send(t.Context(), wire.SendParams{Session: s.ID, Text: fmt.Sprint(i, text)})
		if err != nil || r.Session != s.ID {
			t.Fatalf("%d: %+v, %v", i, r, err)
		}
		if _, err := c.Session(t.Context(), s.ID); err != nil {
			t.Fatal(err)
		}
	}
	now, err := host.Session(t.Context(), s.ID)
	if err != nil || now.End != 4*n {
		t.Errorf("%d envelopes, want %d: each message once", now.End, 4*n)
	}
	t.Logf("%d cuts, %d calls for %d messages", proxy.cuts.Load(), len(host.Calls()), n)
	if proxy.cuts.Load() == 0 {
		t.Error("no connection was cut")
	}
}

func TestErrors(t *testing.T) {
	host, tokens, addr := server(t, nil)
	tokens.Set("view", gateway.Principal{Caller: wire.Caller{Scope: wire.ScopeView}, Backend: host})
	_, err := client.Dial(t.Context(), "ws://"+addr, client.Options{Token: "wrong"})
	if client.Code(err) != wire.CodeUnauthorized || strings.Contains(err.Error(), "wrong") {
		t.Errorf("a wrong token = %v", err)
	}
	if _, err := client.Dial(t.Context(), "ftp://x", client.Options{}); err == nil {
		t.Error("an address of another kind is taken")
	}
	c, err := client.Dial(t.Context(), "http://"+addr, client.Options{Token: "view"})
	if err != nil {
		t.Fatal(err)
	}
	if w := c.Welcome(); w.TokenID != "id-of-view" || w.Protocol != wire.Protocol || len(w.Scopes) != 1 || w.Features[0] != "files" {
		t.Errorf("welcome %+v", w)
	}
	if _, err := c.Spawn(t.Context(), wire.SpawnParams{Agent: "echo"}); client.Code(err) != wire.CodeForbidden {
		t.Errorf("spawning with view = %v", err)
	}
	for _, err := range c.Subscribe(t.Context(), client.Subscription{Session: "none"}) {
		if client.Code(err) != wire.CodeNotFound {
			t.Errorf("subscribing to none = %v", err)
		}
	}
	c.Close()
	if _, err := c.Hosts(t.Context()); !errors.Is(err, client.ErrClosed) {
		t.Errorf("after Close = %v", err)
	}
	c.Close()
}

// Over a unix socket, all commands; each reaches the host as its method.
func TestCommands(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ := server(t, l)
	c := dial(t, "unix://"+l.Addr().String())
	ctx := t.Context()
	s, err := c.Spawn(ctx, wire.SpawnParams{Agent: "echo", Dir: "/w", Prompt: &wire.SendParams{Text: "hi"}})
	if err != nil {
		t.Fatal(err)
	}
	ask := host.Ask(s.ID, "c1")
	title := "t"
	check := func(what string, err error, code wire.Code) {
		t.Helper()
		if client.Code(err) != code || code == "" && err != nil {
			t.Errorf("%s = %v, want %q", what, err, code)
		}
	}
	list, err := c.Sessions(ctx, wire.SessionsParams{Dir: "/w"})
	check("Sessions", err, "")
	hosts, err := c.Hosts(ctx)
	check("Hosts", err, "")
	if len(list) != 1 || len(hosts) != 1 || hosts[0].ID != gatewaytest.Host {
		t.Errorf("%d sessions, hosts %+v", len(list), hosts)
	}
	_, err = c.Send(ctx, wire.SendParams{Session: s.ID, Text: "more"})
	check("Send", err, "")
	_, err = c.Abort(ctx, wire.AbortParams{Session: s.ID})
	check("Abort", err, "")
	asks, err := c.Asks(ctx, s.ID)
	check("Asks", err, "")
	if len(asks) != 1 || asks[0].Nonce != ask.Nonce {
		t.Errorf("asks %+v", asks)
	}
	_, err = c.Decide(ctx, wire.DecideParams{Session: s.ID, Call: "c1", Nonce: "old", Decision: "allow-once"})
	check("Decide", err, wire.CodeStale)
	_, err = c.Configure(ctx, wire.ConfigureParams{Session: s.ID, Model: "m"})
	check("Configure", err, "")
	_, err = c.Control(ctx, wire.ControlParams{Session: s.ID})
	check("Control", err, "")
	_, err = c.Op(ctx, wire.OpParams{Session: s.ID, Name: "rewind"})
	check("Op", err, wire.CodeUnsupported)
	now, err := c.Session(ctx, s.ID)
	check("Session", err, "")
	_, err = c.Update(ctx, wire.UpdateParams{Session: s.ID, Expect: now.Version - 1, Title: &title})
	check("Update of an old version", err, wire.CodeConflict)
	now, err = c.Update(ctx, wire.UpdateParams{Session: s.ID, Expect: now.Version, Title: &title})
	check("Update", err, "")
	if now.Title != title {
		t.Errorf("title %q", now.Title)
	}
	_, err = c.Stop(ctx, wire.StopParams{Session: s.ID})
	check("Stop", err, "")
	_, err = c.Resume(ctx, s.ID)
	check("Resume", err, "")
	check("Remove", c.Remove(ctx, s.ID), "")
	var methods []string
	for _, call := range host.Calls() {
		methods = append(methods, strings.TrimPrefix(call.Method, "session."))
		if !call.Caller.Local {
			t.Errorf("caller %+v", call.Caller)
		}
	}
	if got := strings.Join(methods, " "); got != "spawn send abort asks decide configure control op update update stop resume remove" {
		t.Errorf("methods %s", got)
	}
}

// The list of sessions stays right over lost connections.
func TestWatchSessions(t *testing.T) {
	host, _, addr := server(t, nil)
	s := host.Add(wire.Session{Dir: "/w"})
	c := dial(t, "ws://"+addr)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	step := 0
	for item, err := range c.WatchSessions(ctx, wire.SessionsParams{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch step {
		case 0:
			if !item.IsList || len(item.List) != 1 {
				t.Fatalf("first %+v", item)
			}
			host.Change(s.ID, func(s *wire.Session) { s.Title = "new" })
		case 1:
			if item.Change.Session == nil || item.Change.Session.Title != "new" {
				t.Fatalf("second %+v", item)
			}
			host.SetOnline(false)
		case 2:
			if item.Change.Host == nil || item.Change.Host.Online {
				t.Fatalf("third %+v", item)
			}
			host.Remove(s.ID)
		case 3:
			if item.Change.Removed != s.ID {
				t.Fatalf("fourth %+v", item)
			}
		}
		if step++; step == 4 {
			break
		}
	}
	if step != 4 {
		t.Errorf("%d items, want 4", step)
	}
}

// A loop that decides within a subscription does not hold itself up, however much
// comes meanwhile.
func TestCommandInLoop(t *testing.T) {
	host, _, addr := server(t, nil)
	s := host.Add(wire.Session{})
	for range 20 {
		host.Say(s.ID, strings.Repeat("much ", 1<<17))
	}
	c := dial(t, "ws://"+addr)
	n := 0
	for item, err := range c.Subscribe(t.Context(), client.Subscription{Session: s.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Envelope == nil {
			continue
		}
		if _, err := c.Session(t.Context(), s.ID); err != nil {
			t.Fatal(err)
		}
		if n++; n == 20 {
			break
		}
	}
}

// With events: the transcript first, then what follows it, live and asks too; a trimmed
// journal is told.
func TestEvents(t *testing.T) {
	host, _, addr := server(t, nil)
	c := dial(t, "ws://"+addr)
	s, err := c.Spawn(t.Context(), wire.SpawnParams{Agent: "echo", Dir: "/w", Prompt: &wire.SendParams{Text: "one"}})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for item, err := range c.Subscribe(t.Context(), client.Subscription{Session: s.ID, Format: wire.FormatEvents, Snapshot: true, Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case item.Started != nil:
			if item.Next != 4 || !strings.Contains(string(item.Started.Transcript), `"one"`) {
				t.Errorf("start at %d with %s", item.Next, item.Started.Transcript)
			}
			if _, err := c.Send(t.Context(), wire.SendParams{Session: s.ID, Text: "two"}); err != nil {
				t.Fatal(err)
			}
			host.Ask(s.ID, "c1")
			host.Remove(s.ID)
		case item.Events != nil:
			for _, e := range item.Events {
				var ev struct {
					Type jsontext.Value `json:"type"`
				}
				if err := wire.UnmarshalStream(e, &ev); err != nil {
					t.Fatal(err)
				}
				kinds = append(kinds, strings.Trim(string(ev.Type), `"`))
			}
		case item.Live != nil:
			kinds = append(kinds, "live:"+item.Live[0].Ask.Call)
		}
	}
	// The removal may overtake what was not read yet; what came is a beginning of this.
	const all = "message.start message.end session.updated session.status message.start part.start part.end message.end session.status session.updated live:c1"
	got := strings.Join(kinds, " ")
	if !strings.HasPrefix(got, all) && !strings.HasPrefix(all, got) {
		t.Errorf("events %s, want %s …", got, all)
	}
}

// TestTooLong: what no server takes is refused here, so that it is known that it was
// not done, and costs neither the connection nor those who use it.
func TestTooLong(t *testing.T) {
	host, _, addr := server(t, nil)
	host.Add(wire.Session{ID: "session1"})
	c := dial(t, "ws://"+addr)
	_, err := c.Send(t.Context(), wire.SendParams{Session: "session1", Text: strings.Repeat("x", 9<<20)})
	if client.Code(err) != wire.CodeTooLarge {
		t.Errorf("Send = %v, want it too large", err)
	}
	if _, err := c.Session(t.Context(), "session1"); err != nil {
		t.Errorf("Session = %v", err)
	}
}
