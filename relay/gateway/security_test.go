package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/gateway/gatewaytest"
	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/wire"
)

// upgrade are the headers that ask for a WebSocket.
var upgrade = []string{
	"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==",
}

// What is refused, how, and that nothing happened and nothing leaked. B185 and B187 are
// among it.
func TestRefused(t *testing.T) {
	const spawn = `{"agent":"echo","dir":"/w","prompt":{"text":"private text"}}`
	const post, ws = "/v1/sessions", "/v1/ws"
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		name, method, path, token, body string
		header                          []string
		status                          int
		code                            wire.Code
		says                            string
	}{
		{"no token", "POST", post, "", spawn, nil, 401, wire.CodeUnauthorized, "token"},
		{"no token to read", "GET", post, "", "", nil, 401, wire.CodeUnauthorized, "token"},
		{"no token on the WebSocket", "GET", ws, "", "", upgrade, 401, wire.CodeUnauthorized, "token"},
		{"no token for a file", "GET", "/v1/files/abc", "", "", nil, 401, wire.CodeUnauthorized, "token"},
		{"a wrong token", "POST", post, "s3cret-wrong", spawn, nil, 401, wire.CodeUnauthorized, "token"},
		{"a token of another kind", "POST", post, "", spawn, []string{"Authorization", "Basic Y29udHJvbC10b2tlbjo="}, 401, wire.CodeUnauthorized, "token"},
		{"a cookie", "POST", post, "", spawn, []string{"Cookie", "token=control-token"}, 401, wire.CodeUnauthorized, "token"},
		{"an expired token", "POST", post, "expired-token", spawn, nil, 401, wire.CodeUnauthorized, "expired"},
		{"a token in the URL", "GET", post + "?token=view-token", "", "", nil, 401, wire.CodeUnauthorized, "URLs end in logs"},
		{"a good token and one in the URL", "GET", post + "?access_token=s3cret-x", "view-token", "", nil, 401, wire.CodeUnauthorized, "URLs end in logs"},
		{"view spawns", "POST", post, "view-token", spawn, nil, 403, wire.CodeForbidden, "want control"},
		{"view decides", "POST", post + "/s000001/permissions/c", "view-token", `{"decision":"allow-once"}`, nil, 403, wire.CodeForbidden, "want control"},
		{"view uploads", "POST", "/v1/files", "view-token", `{"name":"x","size":1}`, nil, 403, wire.CodeForbidden, "want control"},
		{"control removes", "DELETE", post + "/s000001", "control-token", "", nil, 403, wire.CodeForbidden, "want admin"},
		{"a host's token views", "GET", post, "host-token", "", nil, 403, wire.CodeForbidden, "want view"},
		{"foreign page", "POST", post, "control-token", spawn, []string{"Origin", "http://evil.example"}, 403, wire.CodeForbidden, "--allow-origin"},
		{"foreign page reads", "GET", post, "view-token", "", []string{"Origin", "http://evil.example"}, 403, wire.CodeForbidden, "--allow-origin"},
		{"sandboxed page", "POST", post, "control-token", spawn, []string{"Origin", "null"}, 403, wire.CodeForbidden, "--allow-origin"},
		{"foreign page, WebSocket", "GET", ws, "view-token", "", append([]string{"Origin", "http://evil.example"}, upgrade...), 403, wire.CodeForbidden, "--allow-origin"},
		{"sandboxed page, WebSocket", "GET", ws, "view-token", "", append([]string{"Origin", "null"}, upgrade...), 403, wire.CodeForbidden, "--allow-origin"},
		{"own name in a longer one", "POST", post, "control-token", spawn, []string{"Origin", "http://good.example.evil.example"}, 403, wire.CodeForbidden, "--allow-origin"},
		{"foreign preflight", "OPTIONS", post, "", "", []string{"Origin", "http://evil.example", "Access-Control-Request-Method", "POST"}, 403, wire.CodeForbidden, "--allow-origin"},
		{"rebound name", "GET", post, "view-token", "", []string{"Host", "evil.example"}, 403, wire.CodeForbidden, "--allow-host"},
		{"rebound name and its page", "GET", post, "view-token", "", []string{"Host", "evil.example:80", "Origin", "http://evil.example:80"}, 403, wire.CodeForbidden, "--allow-host"},
		{"name that looks local", "GET", post, "view-token", "", []string{"Host", "localhost.evil.example"}, 403, wire.CodeForbidden, "--allow-host"},
		{"numbers that are not local", "GET", post, "view-token", "", []string{"Host", "127.0.0.1.evil.example"}, 403, wire.CodeForbidden, "--allow-host"},
		{"allowed name with another port", "GET", post, "view-token", "", []string{"Host", "ported.example:99"}, 403, wire.CodeForbidden, "--allow-host"},
		{"form", "POST", post, "control-token", "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, wire.CodeBadType, "application/json"},
		{"text", "POST", post, "control-token", spawn, []string{"Content-Type", "text/plain"}, 415, wire.CodeBadType, "application/json"},
		{"text that says JSON", "POST", post, "control-token", spawn, []string{"Content-Type", "text/plain; application/json"}, 415, wire.CodeBadType, "application/json"},
		{"no type", "POST", post + "/s000001/stop", "control-token", "", nil, 415, wire.CodeBadType, "application/json"},
		{"no JSON", "POST", post, "control-token", `{"agent":`, nil, 400, wire.CodeInvalid, "not valid JSON"},
		{"another type", "POST", post, "control-token", `{"agent":5}`, nil, 400, wire.CodeInvalid, "/agent: want string, got number"},
		{"array", "POST", post, "control-token", `[]`, nil, 400, wire.CodeInvalid, "want"},
		{"name twice", "POST", post, "control-token", `{"agent":"echo","agent":"other"}`, nil, 400, wire.CodeInvalid, "duplicate"},
		{"deep", "POST", post, "control-token", strings.Repeat(`{"a":`, 20_000), nil, 400, wire.CodeInvalid, "JSON"},
		{"too long", "POST", post, "control-token", `{"agent":"` + strings.Repeat("x", 2<<20) + `"}`, nil, 413, wire.CodeTooLarge, "1048576 bytes"},
		{"unknown method", "POST", "/v1/terminal", "control-token", "{}", nil, 404, wire.CodeUnknownMethod, "/openapi.json"},
		{"unknown verb", "PUT", post, "control-token", spawn, nil, 404, wire.CodeUnknownMethod, "/openapi.json"},
		{"unknown session", "GET", post + "/nope", "view-token", "", nil, 404, wire.CodeNotFound, "nope"},
		{"bad position", "GET", post + "/last/envelopes?from=x", "view-token", "", nil, 400, wire.CodeInvalid, "from"},
		{"negative position", "GET", post + "/last/envelopes?from=-2", "view-token", "", nil, 400, wire.CodeInvalid, "from"},
		{"huge position", "GET", post + "/last/envelopes?from=99999999999999999999", "view-token", "", nil, 400, wire.CodeInvalid, "from"},
		{"bad limit", "GET", post + "/last/envelopes?limit=100000", "view-token", "", nil, 400, wire.CodeInvalid, "limit"},
		{"bad profile", "GET", post + "/last/events?profile=x", "view-token", "", nil, 400, wire.CodeInvalid, "profile"},
		{"bad query", "GET", post + "?%zz", "view-token", "", nil, 400, wire.CodeInvalid, "query"},
		{"path as a ref", "GET", "/v1/files/..%2f..%2fetc%2fpasswd", "view-token", "", nil, 404, wire.CodeNotFound, "no file"},
		{"path as a ref, written to", "PATCH", "/v1/files/%2e%2e%2fx", "control-token", "x", []string{"Content-Type", "application/octet-stream", "Upload-Offset", "0"}, 404, wire.CodeNotFound, "no file"},
		{"zero byte in a ref", "GET", "/v1/files/a%00b", "view-token", "", nil, 404, wire.CodeNotFound, "no file"},
		{"endless ref", "GET", "/v1/files/" + long, "view-token", "", nil, 404, wire.CodeNotFound, "no file"},
		{"piece without a place", "PATCH", "/v1/files/f1", "control-token", "x", []string{"Content-Type", "application/octet-stream"}, 400, wire.CodeInvalid, "Upload-Offset"},
		{"piece of another type", "PATCH", "/v1/files/f1", "control-token", "x", nil, 415, wire.CodeBadType, "application/octet-stream"},
		{"no WebSocket", "GET", ws, "view-token", "", nil, 400, wire.CodeInvalid, "Upgrade"},
		{"another protocol", "GET", ws, "view-token", "", append([]string{"Sec-WebSocket-Protocol", "agenthost.v9"}, upgrade...), 501, wire.CodeUnsupported, "want agenthost.v1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, gateway.Options{
				HostSetting: "--allow-host", OriginSetting: "--allow-origin", Limits: gateway.Limits{BodyBytes: 1 << 20},
				Origins: []string{"https://good.example"}, Hosts: []string{"ported.example:8080"},
			})
			b.host.Add(wire.Session{})
			b.tokens.Set("expired-token", gateway.Principal{
				Caller: wire.Caller{Scope: wire.ScopeAdmin}, Backend: b.host, Expires: time.Now().Add(-time.Second),
			})
			resp, body := b.do(c.method, c.path, c.token, c.body, c.header...)
			var e wire.Error
			if err := wire.Unmarshal([]byte(body), &e); err != nil || resp.StatusCode != c.status || e.Code != c.code || !strings.Contains(e.Message, c.says) {
				t.Errorf("%s %s, want %d %s with %q", resp.Status, body, c.status, c.code, c.says)
			}
			if resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("a page may read the answer")
			}
			if len(b.host.Calls()) != 0 {
				t.Errorf("calls %+v", b.host.Calls())
			}
			for _, secret := range []string{"s3cret", "private text", "control-token", "view-token"} {
				if strings.Contains(b.log.String(), secret) || strings.Contains(body, secret) {
					t.Errorf("%q leaks: %s %s", secret, body, b.log)
				}
			}
			if c.status == 401 || c.status == 403 || c.status == 415 {
				if !strings.Contains(b.log.String(), "request refused") {
					t.Errorf("not logged: %s", b.log)
				}
			}
			if resp, body := b.do("GET", "/v1/hosts", "view-token", ""); resp.StatusCode != 200 {
				t.Errorf("others are harmed: %s %s", resp.Status, body)
			}
		})
	}
}

// What looks odd and is allowed.
func TestAllowed(t *testing.T) {
	b := newBench(t, gateway.Options{Origins: []string{"https://good.example/"}, Hosts: []string{"dev.example", "ported.example:8080"}})
	own := strings.TrimPrefix(b.url, "http://")
	for _, c := range []struct {
		name   string
		header []string
		cors   string
	}{
		{"own page", []string{"Origin", b.url}, b.url},
		{"own page behind TLS", []string{"Origin", "https://" + own}, "https://" + own},
		{"allowed page", []string{"Origin", "https://good.example"}, "https://good.example"},
		{"allowed name", []string{"Host", "dev.example"}, ""},
		{"allowed name at any port", []string{"Host", "DEV.example:1234"}, ""},
		{"allowed name and port", []string{"Host", "ported.example:8080"}, ""},
		{"local name", []string{"Host", "localhost:1"}, ""},
		{"local name below", []string{"Host", "agenthost.localhost"}, ""},
		{"local number", []string{"Host", "[::1]:80"}, ""},
	} {
		resp, body := b.do("GET", "/v1/hosts", "view-token", "", c.header...)
		if resp.StatusCode != 200 || resp.Header.Get("Access-Control-Allow-Origin") != c.cors {
			t.Errorf("%s: %s %s, allows %q, want %q", c.name, resp.Status, body, resp.Header.Get("Access-Control-Allow-Origin"), c.cors)
		}
	}
	resp, _ := b.do("OPTIONS", "/v1/sessions", "", "", "Origin", "https://good.example", "Access-Control-Request-Method", "POST")
	if resp.StatusCode != 204 || !strings.Contains(resp.Header.Get("Access-Control-Allow-Headers"), "Authorization") {
		t.Errorf("preflight %s %v", resp.Status, resp.Header)
	}
	resp, _ = b.do("POST", "/v1/sessions", "control-token", `{"agent":"echo","dir":"/w"}`, "Content-Type", "application/json; charset=utf-8")
	if resp.StatusCode != 201 {
		t.Errorf("JSON with a charset: %s", resp.Status)
	}
}

// A browser sends the token as a subprotocol; it is not repeated to it.
func TestBearerSubprotocol(t *testing.T) {
	b := newBench(t, gateway.Options{})
	c, resp, err := websocket.Dial(t.Context(), b.url+"/v1/ws", &websocket.DialOptions{Subprotocols: []string{"bearer.view-token", wire.Protocol}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.CloseNow() }()
	if c.Subprotocol() != wire.Protocol || strings.Contains(fmt.Sprint(resp.Header), "view-token") {
		t.Errorf("subprotocol %q, headers %v", c.Subprotocol(), resp.Header)
	}
	if strings.Contains(b.log.String(), "view-token") {
		t.Error("the token is in the log")
	}
}

// Over the WebSocket: scopes, unknown methods and bad params, by name.
func TestSocketRefusals(t *testing.T) {
	b := newBench(t, gateway.Options{})
	s := b.host.Add(wire.Session{})
	c, _, _ := b.dial("view-token")
	for _, r := range []struct {
		method string
		params any
		code   wire.Code
		says   string
	}{
		{wire.SessionSend, wire.SendParams{Session: s.ID}, wire.CodeForbidden, "want control"},
		{wire.SessionRemove, wire.SessionRef{Session: s.ID}, wire.CodeForbidden, "want admin"},
		{"terminal.open", nil, wire.CodeUnknownMethod, "terminal.open"},
		{wire.HostHello, nil, wire.CodeUnknownMethod, "for hosts"},
		{wire.SessionAppend, nil, wire.CodeUnknownMethod, "for hosts"},
		{wire.PushEnvelopes, nil, wire.CodeUnknownMethod, wire.PushEnvelopes},
		{wire.SessionGet, map[string]int{"session": 1}, wire.CodeInvalid, "/session"},
		{wire.SessionSubscribe, wire.SubscribeParams{Session: s.ID, Format: "xml"}, wire.CodeInvalid, "format"},
		{wire.SessionSubscribe, wire.SubscribeParams{Session: s.ID, Snapshot: true}, wire.CodeInvalid, "snapshot"},
		{wire.SessionSubscribe, wire.SubscribeParams{Session: s.ID, From: -7}, wire.CodeInvalid, "from"},
		{wire.ViewerHello, wire.Hello{Protocols: []string{"agenthost.v7"}}, wire.CodeUnsupported, "want agenthost.v1"},
	} {
		err := c.Call(t.Context(), r.method, r.params, nil)
		var e *wire.Error
		if !errors.As(err, &e) || e.Code != r.code || !strings.Contains(e.Message, r.says) {
			t.Errorf("%s = %v, want %s with %q", r.method, err, r.code, r.says)
		}
	}
	if len(b.host.Calls()) != 0 {
		t.Errorf("calls %+v", b.host.Calls())
	}
}

// Tenants are apart: a token sees its own backend, and a session of another tenant
// with the same id is not mixed up with it, not in kept folds either.
func TestTenants(t *testing.T) {
	b := newBench(t, gateway.Options{})
	other := gatewaytest.New()
	b.tokens.Set("other-token", gateway.Principal{Caller: wire.Caller{TokenID: "o", Scope: wire.ScopeView}, Backend: other})
	b.host.Add(wire.Session{ID: "samesame"})
	other.Add(wire.Session{ID: "samesame"})
	for i := range 700 {
		b.host.Say("samesame", fmt.Sprint("mine ", i))
		other.Say("samesame", fmt.Sprint("theirs ", i))
	}
	b.host.Add(wire.Session{ID: "onlymine"})
	for range 2 { // the second time from a kept fold
		_, mine := b.do("GET", "/v1/sessions/samesame/transcript", "view-token", "")
		_, theirs := b.do("GET", "/v1/sessions/samesame/transcript", "other-token", "")
		if strings.Contains(mine, "theirs") || strings.Contains(theirs, "mine") || !strings.Contains(theirs, "theirs 699") {
			t.Fatal("transcripts are mixed up")
		}
	}
	if resp, _ := b.do("GET", "/v1/sessions/onlymine", "other-token", ""); resp.StatusCode != 404 {
		t.Errorf("another tenant's session: %s", resp.Status)
	}
}

// A connection ends with its token: when that expires and when it is revoked.
func TestTokenEnds(t *testing.T) {
	b := newBench(t, gateway.Options{Limits: gateway.Limits{Recheck: 20 * time.Millisecond}})
	s := b.host.Add(wire.Session{})
	b.tokens.Set("short", gateway.Principal{Caller: wire.Caller{TokenID: "short", Scope: wire.ScopeView}, Backend: b.host, Expires: time.Now().Add(time.Second)})
	_, _, ended := b.dial("short")
	var ce *peer.CloseError
	if err := <-ended; !errors.As(err, &ce) || ce.Status != peer.StatusPolicy || !strings.Contains(ce.Reason, "expired") {
		t.Errorf("expired: %v", err)
	}
	_, _, ended = b.dial("control-token")
	events := b.sse("/v1/sessions/" + s.ID + "/envelopes")
	b.tokens.Revoke("control-token")
	b.tokens.Revoke("view-token")
	if err := <-ended; !errors.As(err, &ce) || ce.Status != peer.StatusPolicy || !strings.Contains(ce.Reason, "no longer counts") {
		t.Errorf("revoked: %v", err)
	}
	if e := events.next(); e.name != "ended" || !strings.Contains(e.data, `"code":"unauthorized"`) {
		t.Errorf("event stream of a revoked token: %+v", e)
	}
}

func TestRate(t *testing.T) {
	b := newBench(t, gateway.Options{Limits: gateway.Limits{Rate: 1, Burst: 3, Connections: 2}})
	var last *http.Response
	var body string
	for range 4 {
		last, body = b.do("GET", "/v1/hosts", "view-token", "")
	}
	if last.StatusCode != 429 || last.Header.Get("Retry-After") != "1" || !strings.Contains(body, `"rate_limited"`) || !strings.Contains(body, `"ms":`) {
		t.Errorf("the fourth: %s %s", last.Status, body)
	}
	if resp, _ := b.do("GET", "/v1/hosts", "control-token", ""); resp.StatusCode != 200 {
		t.Errorf("another token: %s", resp.Status)
	}
	b.tokens.Set("local", gateway.Principal{Caller: wire.Caller{TokenID: "l", Scope: wire.ScopeAdmin, Local: true}, Backend: b.host})
	for range 20 {
		if resp, _ := b.do("GET", "/v1/hosts", "local", ""); resp.StatusCode != 200 {
			t.Fatalf("a local caller: %s", resp.Status)
		}
	}
	b.dial("local")
	b.dial("local")
	_, err := peer.Dial(t.Context(), b.url, peer.Options{Token: "local"})
	if !errors.Is(err, &wire.Error{Code: wire.CodeRateLimited}) {
		t.Errorf("a third connection: %v", err)
	}
}

// One viewer that floods, sends rubbish or stalls is refused; another one's connection
// goes on.
func TestOthersUnharmed(t *testing.T) {
	b := newBench(t, gateway.Options{})
	s := b.host.Add(wire.Session{})
	good, pushes, _ := b.dial("view-token")
	if err := good.Call(t.Context(), wire.SessionSubscribe, wire.SubscribeParams{Session: s.ID}, nil); err != nil {
		t.Fatal(err)
	}
	bad := func(what string, frames ...string) {
		c, _, err := websocket.Dial(t.Context(), b.url+"/v1/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer control-token"}}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.CloseNow() }()
		for _, f := range frames {
			if c.Write(t.Context(), websocket.MessageText, []byte(f)) != nil {
				break
			}
		}
		c.SetReadLimit(-1)
		for {
			if _, _, err := c.Read(t.Context()); err != nil {
				if websocket.CloseStatus(err) == -1 && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
					t.Errorf("%s: %v", what, err)
				}
				return
			}
		}
	}
	bad("rubbish", strings.Split(strings.Repeat("rubbish ", 20), " ")...)
	bad("a frame too long", strings.Repeat("x", 2<<20))
	bad("a bomb of chunks", `{"chunk":{"id":1,"seq":1,"data":"x"}}`)

	stalled, _, err := websocket.Dial(t.Context(), b.url+"/v1/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer view-token"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stalled.CloseNow() }()
	if err := stalled.Write(t.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"session.subscribe","params":{"session":"last","from":0}}`)); err != nil {
		t.Fatal(err)
	}
	var want []string
	for range 10 {
		want = append(want, string(b.host.Say(s.ID, strings.Repeat("y", 1<<20)))) // more than the line of the stalled one holds
	}
	if got := collect(t, pushes, 0, len(want)); strings.Join(got, "") != strings.Join(want, "") {
		t.Error("another viewer is harmed")
	}
}

// Shutdown says goodbye to everybody and waits for it.
func TestShutdown(t *testing.T) {
	b := newBench(t, gateway.Options{})
	s := b.host.Add(wire.Session{})
	entered := make(chan struct{})
	b.host.OnCall(func(ctx context.Context, _ wire.Caller, _ string, _ jsontext.Value) (any, error) {
		close(entered)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	conn, _, ended := b.dial("view-token")
	// The server has it: what is only being accepted when the server stops has no goodbye.
	if err := conn.Call(t.Context(), wire.HostsList, struct{}{}, nil); err != nil {
		t.Fatal(err)
	}
	events := b.sse("/v1/sessions/" + s.ID + "/envelopes")
	type answer struct {
		status int
		body   string
	}
	called := make(chan answer, 1)
	go func() {
		resp, body := b.do("POST", "/v1/sessions", "control-token", `{"agent":"echo","dir":"/w"}`)
		called <- answer{resp.StatusCode, body}
	}()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := b.gw.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the WebSocket ended with %v", err)
	}
	if e := events.next(); e.name != "ended" || !strings.Contains(e.data, "stopping") {
		t.Errorf("the event stream ended with %+v", e)
	}
	if a := <-called; a.status != 502 || !strings.Contains(a.body, `"unknown_outcome"`) {
		t.Errorf("the command that ran: %+v", a)
	}
	if resp, body := b.do("GET", "/v1/hosts", "view-token", ""); resp.StatusCode != 409 || !strings.Contains(body, "stopping") {
		t.Errorf("afterwards: %s %s", resp.Status, body)
	}
}
