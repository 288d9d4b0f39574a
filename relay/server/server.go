package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/wire"
)

// Operator is the tenant whose admins may make and revoke tokens of every tenant.
// It has no hosts of its own.
const Operator = "_operator"

// Options are what a server works with.
type Options struct {
	Store   *store.Store
	Version string
	// Viewers makes what serves people, for the server as its Authenticator. What the
	// server offers beside it is under the same checks of Origin and Host. Nil serves
	// hosts alone.
	Viewers func(gateway.Authenticator) *gateway.Gateway
	// MaxHosts is how many hosts a tenant may have connected to this process,
	// default 1,000.
	MaxHosts int
	// HostBytes is how much of long messages, that are not whole or not handled yet, may
	// be in memory for all hosts of a tenant, 1 GiB when 0. A connection that would have
	// more is closed, and the host comes again.
	HostBytes int
	// Patience is how long a host that sends or takes a file may do nothing, 2 min when 0.
	Patience time.Duration
	// ClientIP says where a request comes from, for limits; nil is the connection's
	// address. Behind a proxy it is the proxy's word.
	ClientIP func(*http.Request) string
	// Health reports a store that cannot be used, for /readyz; nil asks the store alone.
	Health func() error
	// Now is the clock on the wall; time.Now when nil. Whether somebody is there hangs
	// on no such clock.
	Now func() time.Time
	// Logger gets facts, never tokens, codes or envelopes. Nil is silent.
	Logger *slog.Logger
}

// Server is one relay process. It is safe for concurrent use.
type Server struct {
	opt     Options
	log     *slog.Logger
	mux     *http.ServeMux
	metrics *metrics
	hosts   counter
	// hostBytes are those of long messages of hosts.
	hostBytes counter
	handing   singles
	// pairing limits tries of codes: of 2^50, ten a minute and place find none.
	pairing attempts
	// ctx ends when the server is closed.
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool           // guarded by mu; no more hosts
	conns  sync.WaitGroup // of hosts
}

// New makes a server. Close it.
func New(o Options) *Server {
	if o.MaxHosts == 0 {
		o.MaxHosts = 1000
	}
	if o.HostBytes == 0 {
		o.HostBytes = 1 << 30
	}
	if o.Patience == 0 {
		o.Patience = 2 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.ClientIP == nil {
		o.ClientIP = remoteIP
	}
	s := &Server{opt: o, log: o.Logger, mux: http.NewServeMux(), metrics: newMetrics(), pairing: attempts{burst: 5, every: 6 * time.Second}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.metrics.watchStore(s.isReady, o.Store.Failures)
	guarded := func(h http.Handler) http.Handler { return h }
	if o.Viewers != nil {
		g := o.Viewers(s)
		s.metrics.watch(g.Load)
		s.mux.Handle("/", g)
		guarded = g.Guarded
	}
	for pattern, h := range map[string]http.HandlerFunc{
		"GET " + wire.HostPath:                   s.serveHost,
		"POST " + wire.HostFilesPath:             s.createHostFile,
		"GET " + wire.HostFilesPath + "/{ref}":   s.getHostFile,
		"PATCH " + wire.HostFilesPath + "/{ref}": s.patchHostFile,
		"POST /v1/pair":                          s.pair,
		"POST /v1/pairings":                      s.createPairing,
		"GET /v1/tokens":                         s.listTokens,
		"POST /v1/tokens":                        s.createToken,
		"DELETE /v1/tokens/{id}":                 s.revokeToken,
		"DELETE /v1/hosts/{host}/token":          s.releaseHost,
	} {
		s.mux.Handle(pattern, guarded(h))
	}
	s.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	s.mux.HandleFunc("GET /readyz", s.ready)
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Metrics serves Prometheus. It asks for no token: serve it where only the
// monitoring can reach it.
func (s *Server) Metrics() http.Handler { return s.metrics.handler() }

// Close ends the connections of hosts and waits until it is written down that they are
// gone: a few seconds at most. They come back elsewhere, or later.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.conns.Wait()
}

// enter counts a host's connection in, unless the server is closed.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.conns.Add(1)
	}
	return !s.closed
}

// readyTime bounds looking whether the store can be used.
const readyTime = 3 * time.Second

// isReady reports why nothing can be stored.
func (s *Server) isReady(ctx context.Context) error {
	if s.ctx.Err() != nil {
		return errors.New("stopping")
	}
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	if err := s.opt.Store.Ready(ctx); err != nil {
		return err
	}
	if s.opt.Health != nil {
		return s.opt.Health()
	}
	return nil
}

// ready answers without a token, so it names no tenant.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if err := s.isReady(r.Context()); err != nil {
		s.log.Warn("not ready", "err", err)
		http.Error(w, "not ready: nothing, or not everything, can be stored; the log says why", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ready\n"))
}

// bearer is the token of a request: in the header, or for a browser's WebSocket,
// which can set none, among the subprotocols.
func bearer(r *http.Request) string {
	if t, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return strings.TrimSpace(t)
	}
	for _, v := range r.Header.Values("Sec-WebSocket-Protocol") {
		for p := range strings.SplitSeq(v, ",") {
			if t, ok := strings.CutPrefix(strings.TrimSpace(p), "bearer."); ok {
				return t
			}
		}
	}
	return ""
}

// unauthorized is the one answer for every token that does not count.
var unauthorized = wire.Error{
	Code:    wire.CodeUnauthorized,
	Message: `the token is missing, wrong, expired or revoked: send one as "Authorization: Bearer TOKEN"`,
}

// token finds the token of a request.
func (s *Server) token(r *http.Request) (store.Token, error) {
	secret := bearer(r)
	if secret == "" {
		e := unauthorized
		return store.Token{}, &e
	}
	k, ok, err := s.opt.Store.TokenOf(r.Context(), secret)
	if err != nil {
		return k, err
	}
	if !ok {
		e := unauthorized
		return k, &e
	}
	return k, nil
}

// authenticate finds who makes a request that needs a scope, and its tenant.
func (s *Server) authenticate(r *http.Request, need wire.Scope) (store.Token, *store.Tenant, error) {
	k, err := s.token(r)
	if err != nil {
		return k, nil, err
	}
	if !k.Scope.Includes(need) {
		return k, nil, wire.Errorf(wire.CodeForbidden, "this needs the scope %s, the token has %s", need, k.Scope)
	}
	if k.Tenant == Operator && need != wire.ScopeAdmin {
		return k, nil, wire.Errorf(wire.CodeForbidden, "the operator's token is for tokens only: make one for a tenant with it")
	}
	t, err := s.opt.Store.Tenant(r.Context(), k.Tenant)
	return k, t, err
}

// Authenticate implements gateway.Authenticator.
func (s *Server) Authenticate(r *http.Request) (gateway.Principal, error) {
	k, t, err := s.authenticate(r, wire.ScopeView)
	if err != nil {
		return gateway.Principal{}, err
	}
	p := gateway.Principal{
		Caller:  wire.Caller{TokenID: k.ID, Scope: k.Scope, Name: k.Name},
		Backend: backend{s, t},
	}
	if k.Expires != 0 {
		p.Expires = time.UnixMilli(k.Expires)
	}
	return p, nil
}
