package server_test

import (
	"strings"
	"testing"

	"github.com/agenthost/agenthost/relay/server"
	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/wire"
)

// A host is the token's that was the first to be it: another token of the tenant cannot
// pass for it, until an admin gives it free or the token is revoked.
func TestHostIsBound(t *testing.T) {
	r := startRelay(t)
	token := func() (string, store.Token) {
		t.Helper()
		secret, k, err := r.store.CreateToken(t.Context(), store.Token{Tenant: "acme", Scope: wire.ScopeHost, Name: "a laptop"})
		if err != nil {
			t.Fatal(err)
		}
		return secret, k
	}
	first, _ := token()
	second, secondToken := token()
	third, _ := token()
	admin, operator := r.token(t, "acme", wire.ScopeAdmin), r.token(t, server.Operator, wire.ScopeAdmin)
	up := func(host, secret string) (stop func()) {
		t.Helper()
		u, stop := connect(t, newFakeHost(host), r.http.URL, secret)
		until(t, "host "+host+" at the relay", func() bool { return u.Status().Connected })
		return stop
	}
	refused := func(host, secret string) {
		t.Helper()
		u, stop := connect(t, newFakeHost(host), r.http.URL, secret)
		defer stop()
		until(t, "the refusal", func() bool { s := u.Status(); return !s.Connected && code(s.Err) == wire.CodeForbidden })
		if err := u.Status().Err.Error(); !strings.Contains(err, "agenthost token release "+host) || strings.Contains(err, secret) || strings.Contains(err, first) {
			t.Errorf("the refusal says %q", err)
		}
	}
	stay := up("laptop", first)
	up("desktop", second)
	up("builder", first) // a token may have several hosts
	refused("laptop", second)
	stay()
	refused("laptop", second) // nor when it is away
	stay = up("laptop", first)
	for _, c := range []struct {
		path, token string
		want        int
	}{
		{"/v1/hosts/laptop/token", second, 403},
		{"/v1/hosts/laptop/token", r.token(t, "acme", wire.ScopeControl), 403},
		{"/v1/hosts/laptop/token", r.token(t, "other", wire.ScopeAdmin), 404},
		{"/v1/hosts/laptop/token?tenant=acme", r.token(t, "other", wire.ScopeAdmin), 403},
		{"/v1/hosts/laptop/token", operator, 404},
		{"/v1/hosts/laptop/token?tenant=a.b", operator, 400},
		{"/v1/hosts/..%2f/token", admin, 400},
		{"/v1/hosts/nobody/token", admin, 404},
		{"/v1/hosts/laptop/token", admin, 204},
		{"/v1/hosts/laptop/token", admin, 404},
		{"/v1/hosts/desktop/token?tenant=acme", operator, 204},
	} {
		if status, body := r.do(t, "DELETE", c.path, c.token, "", ""); status != c.want {
			t.Errorf("DELETE %s: %d %s, want %d", c.path, status, body, c.want)
		}
	}
	stay()
	stay = up("laptop", second)
	refused("laptop", first)
	stay()
	if err := r.store.RevokeToken(t.Context(), "acme", secondToken.ID); err != nil {
		t.Fatal(err)
	}
	up("laptop", third)
}
