package gatewaytest

import (
	"net/http"
	"strings"
	"sync"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

// Tokens is a gateway.Authenticator over a table. The zero value knows no token.
type Tokens struct {
	mu     sync.Mutex
	tokens map[string]gateway.Principal
}

var _ gateway.Authenticator = (*Tokens)(nil)

// Set lets a token count; the TokenID is made of its scope.
func (t *Tokens) Set(token string, p gateway.Principal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tokens == nil {
		t.tokens = map[string]gateway.Principal{}
	}
	if p.Caller.TokenID == "" {
		p.Caller.TokenID = "id-of-" + string(p.Caller.Scope)
	}
	t.tokens[token] = p
}

// Revoke lets a token count no more.
func (t *Tokens) Revoke(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tokens, token)
}

// Authenticate implements gateway.Authenticator.
func (t *Tokens) Authenticate(r *http.Request) (gateway.Principal, error) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	t.mu.Lock()
	defer t.mu.Unlock()
	if p, ok := t.tokens[token]; ok && token != "" {
		return p, nil
	}
	return gateway.Principal{}, wire.Errorf(wire.CodeUnauthorized, "want a token that counts")
}
