package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/wire"
)

// serve serves w on its socket and on a loopback address until the test ends.
func (w *world) serve() (socket, address string) {
	w.t.Helper()
	dir, err := os.MkdirTemp("", "ah") // short: it is a socket's path
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := w.Listen(w.t.Context(), filepath.Join(dir, "s"))
	if err != nil {
		w.t.Fatal(err)
	}
	tcp, err := w.ListenTCP(w.t.Context(), "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- w.Serve(ctx, OwnDoor(l), tcp) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			w.t.Errorf("Serve = %v", err)
		}
		_ = os.RemoveAll(dir)
	})
	return l.Addr().String(), tcp.Addr().String()
}

// TestServe: a client drives a session over the socket.
func TestServe(t *testing.T) {
	w := newWorld(t, nil)
	socket, _ := w.serve()
	c, err := client.Dial(t.Context(), "unix://"+socket, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := c.Spawn(t.Context(), wire.SpawnParams{Agent: "fake", Dir: w.work, Prompt: &wire.SendParams{Text: "ask c1"}})
	if err != nil || s.Control == nil || s.Control.ClientType != contract.ClientCLI {
		t.Fatalf("Spawn = %+v, %v", s, err)
	}
	var words []string
	for it, err := range c.Subscribe(t.Context(), client.Subscription{Session: s.ID, Live: true}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range it.Live {
			if l.Ask == nil {
				continue
			}
			if _, err := c.Decide(t.Context(), wire.DecideParams{Session: s.ID, Call: l.Ask.Call, Nonce: l.Ask.Nonce, Decision: contract.AllowOnce}); err != nil {
				t.Error(err)
			}
		}
		if it.Envelope == nil {
			continue
		}
		e, err := contract.Decode(it.Envelope)
		if err != nil {
			t.Fatal(err)
		}
		if words = append(words, word(e)); strings.HasPrefix(words[len(words)-1], "turn-end") {
			break
		}
	}
	if got := strings.Join(words, " "); !strings.Contains(got, "answer:allow-once") || !strings.Contains(got, "agent:decided allow-once") {
		t.Errorf("the stream is %q", words)
	}
	if _, err := c.Configure(t.Context(), wire.ConfigureParams{Session: s.ID, Model: "no-such-model"}); client.Code(err) != wire.CodeUnsupported {
		t.Errorf("Configure = %v, want it unsupported", err)
	}
}

// TestDoors: the socket is this user's; a loopback address wants the token, the
// right one, belongs to this machine, and may be the end of a tunnel.
func TestDoors(t *testing.T) {
	w := newWorld(t, nil)
	_, address := w.serve()
	token, err := os.ReadFile(w.TokenFile())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(w.TokenFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file is %v, %v; want it for this user alone", info.Mode(), err)
	}
	for name, tc := range map[string]struct {
		header string
		want   int
	}{
		"none":  {"", http.StatusUnauthorized},
		"wrong": {"Bearer " + strings.Repeat("x", 40), http.StatusUnauthorized},
		"empty": {"Bearer ", http.StatusUnauthorized},
		"basic": {"Basic " + string(bytes.TrimSpace(token)), http.StatusUnauthorized},
		"right": {"Bearer " + string(bytes.TrimSpace(token)), http.StatusOK},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/sessions", nil)
		if err != nil {
			t.Fatal(err)
		}
		if tc.header != "" {
			req.Header.Set("Authorization", tc.header)
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != tc.want {
			t.Errorf("%s: status %d, want %d", name, res.StatusCode, tc.want)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for own, want := range map[bool]bool{true: true, false: false} {
		req := httptest.NewRequest(http.MethodGet, "/v1/sessions", nil)
		req.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(token)))
		p, err := w.Authenticate(req.WithContext(context.WithValue(req.Context(), knocked{}, Door{own: own})))
		if err != nil || p.Caller.Local != want {
			t.Errorf("by the user's own door %t: local %t, %v; want %t", own, p.Caller.Local, err, want)
		}
	}
	for _, a := range []string{"0.0.0.0:0", "192.0.2.1:1", ":0", "example.com:1", "127.0.0.1"} {
		if d, err := w.ListenTCP(t.Context(), a); err == nil {
			t.Errorf("it listens on %s", a)
			d.Close()
		}
	}
}

// TestForeignRefused: who is refused for where a request is for or from reads how to
// allow that, and what was allowed comes in.
func TestForeignRefused(t *testing.T) {
	w := newWorld(t, func(c *Config) {
		c.Hosts, c.Origins, c.HostSetting, c.OriginSetting = []string{"box.example"}, []string{"https://app.example"}, "--allow-host", "--allow-origin"
	})
	_, address := w.serve()
	token, err := os.ReadFile(w.TokenFile())
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for name, tc := range map[string]struct {
		host, origin string
		want         int
		holds        string
	}{
		"its own name":     {address, "", http.StatusOK, ""},
		"a foreign name":   {"evil.example", "", http.StatusForbidden, "--allow-host"},
		"an allowed name":  {"box.example", "", http.StatusOK, ""},
		"a foreign page":   {address, "https://evil.example", http.StatusForbidden, "--allow-origin"},
		"no page's origin": {address, "null", http.StatusForbidden, "--allow-origin"},
		"an allowed page":  {address, "https://app.example", http.StatusOK, ""},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/sessions", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = tc.host
		req.Header.Set("Authorization", "Bearer "+string(bytes.TrimSpace(token)))
		if tc.origin != "" {
			req.Header.Set("Origin", tc.origin)
		}
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != tc.want || !strings.Contains(string(body), tc.holds) {
			t.Errorf("%s: %d %s, %v; want %d with %q", name, res.StatusCode, body, err, tc.want, tc.holds)
		}
	}
}

// TestTokenGone: without its file nobody comes in.
func TestTokenGone(t *testing.T) {
	w := newWorld(t, nil)
	for _, content := range []string{"", "\n"} {
		if err := os.WriteFile(w.TokenFile(), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(context.WithValue(t.Context(), knocked{}, Door{}), http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(content))
		if _, err := w.Authenticate(req); !errors.Is(err, &wire.Error{Code: wire.CodeUnauthorized}) {
			t.Errorf("with the file %q: %v", content, err)
		}
	}
}

// TestOwnPeer: this user may come in by its own socket.
func TestOwnPeer(t *testing.T) {
	l, err := listen(t.Context(), filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := net.Dial("unix", l.Addr().String()); err == nil {
			c.Close()
		}
	}()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
