package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

// What the relay serves beside the gateway, for hosts, tokens and pairing, is as shut to
// foreign pages and to names that were made to point at it: also to who has a token.
func TestGuarded(t *testing.T) {
	s, stop := openStore(t, t.TempDir())
	t.Cleanup(stop)
	r := serveViewers(t, s, gateway.Limits{})
	admin, host := r.token(t, "acme", wire.ScopeAdmin), r.token(t, "acme", wire.ScopeHost)
	do := func(method, path, token, name, origin string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, r.http.URL+path, strings.NewReader(`{"scope":"admin","code":"AAAAA-BBBBB"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", asJSON)
		req.Header.Set("Authorization", "Bearer "+token)
		if name != "" {
			req.Host = name
		}
		if origin != "" {
			req.Header.Set("Origin", origin)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s: a page may read the answer", method, path)
		}
		return resp.StatusCode, string(body)
	}
	for _, c := range []struct{ method, path, token string }{
		{"GET", wire.HostPath, host},
		{"POST", wire.HostFilesPath, host},
		{"GET", wire.HostFilesPath + "/abc", host},
		{"PATCH", wire.HostFilesPath + "/abc", host},
		{"POST", "/v1/pair", ""},
		{"POST", "/v1/pairings", admin},
		{"GET", "/v1/tokens", admin},
		{"POST", "/v1/tokens", admin},
		{"DELETE", "/v1/tokens/abc", admin},
		{"DELETE", "/v1/hosts/abc/token", admin},
		{"GET", "/v1/sessions", admin},
	} {
		for _, from := range []struct{ name, origin string }{
			{"", "http://evil.example"}, {"", "null"}, {"evil.example", ""}, {"evil.example", "http://evil.example"}, {"localhost.evil.example", ""},
		} {
			if status, body := do(c.method, c.path, c.token, from.name, from.origin); status != http.StatusForbidden || !strings.Contains(body, "forbidden") {
				t.Errorf("%s %s as %+v: %d %s", c.method, c.path, from, status, body)
			}
		}
		if status, body := do(c.method, c.path, c.token, "", ""); strings.Contains(body, "Origin") || strings.Contains(body, "Host") {
			t.Errorf("%s %s: %d %s", c.method, c.path, status, body)
		}
	}
	tokens, err := s.Tokens(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	if len(tokens) != 3 { // ours, and the one that was asked for at last
		t.Errorf("%d tokens are there: %+v", len(tokens), tokens)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := do("GET", path, "", "10.0.0.7", ""); status != http.StatusOK {
			t.Errorf("%s by address: %d %s", path, status, body)
		}
	}
}
