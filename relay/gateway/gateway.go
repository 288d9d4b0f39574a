package gateway

import (
	"context"
	"encoding/json/v2"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/agenthost/agenthost/relay/gateway/termpage"
	"github.com/agenthost/agenthost/relay/wire"
)

// Gateway serves viewers. It is an http.Handler, safe for concurrent use.
type Gateway struct {
	opts   Options
	mux    *http.ServeMux
	limit  *limiter
	budget *budget
	folds  *folds

	stopping context.Context // over when Shutdown begins
	stop     context.CancelFunc

	mu      sync.Mutex
	stopped bool           // guarded by mu: no more connections
	running sync.WaitGroup // requests and connections
}

// New makes a Gateway. Serve it with an http.Server (see Server), and call Shutdown
// before that of the server, which does not know of WebSockets.
func New(opts Options) *Gateway {
	g := &Gateway{opts: opts.withDefaults(), mux: http.NewServeMux(), folds: newFolds()}
	g.limit, g.budget = newLimiter(g.opts.Limits), newBudget(g.opts.Limits)
	g.stopping, g.stop = context.WithCancel(context.Background())
	for _, r := range routes() {
		g.mux.HandleFunc(r.Method+" "+r.Path, g.route(r))
	}
	termpage.Register(g.mux)
	g.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		g.refuse(w, r, wire.Errorf(wire.CodeUnknownMethod, "no %s %s here; see /openapi.json", clip(r.Method), clip(r.URL.Path)))
	})
	return g
}

// Server is an http.Server for h, with bounds on what strangers may hold open.
func Server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: timed(h), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
}

// Shutdown ends all connections and waits for them until ctx is over, whose cause it
// then returns. WebSockets get "going away"; commands that run are given up, and
// their outcome is unknown to who called.
func (g *Gateway) Shutdown(ctx context.Context) error {
	g.mu.Lock()
	g.stopped = true
	g.mu.Unlock()
	g.stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.running.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.enter() {
		g.refuse(w, r, wire.Errorf(wire.CodeBusy, "the server is stopping"))
		return
	}
	defer g.running.Done()
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if err := g.guard(w, r); err != nil {
		g.refuse(w, r, err)
		return
	}
	if r.Method == http.MethodOptions {
		preflight(w)
		return
	}
	g.mux.ServeHTTP(w, r)
}

func (g *Gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return false
	}
	g.running.Add(1)
	return true
}

// route wraps the handler of a route: who is it, may he, and what went wrong.
func (g *Gateway) route(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if rt.open {
			if err := rt.handle(g, w, r, Principal{}); err != nil {
				g.refuse(w, r, err)
			}
			return
		}
		p, err := g.principal(r, rt.scope())
		if err == nil {
			err = rt.handle(g, w, r, p)
		}
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		g.opts.Log.Debug("request", "method", r.Method, "route", rt.Path, "token", p.Caller.TokenID)
	}
}

// principal authenticates a request and checks its scope and rate.
func (g *Gateway) principal(r *http.Request, need wire.Scope) (Principal, error) {
	p, err := g.opts.Auth.Authenticate(r)
	if err != nil {
		return p, err
	}
	if !p.Expires.IsZero() && !g.opts.Now().Before(p.Expires) {
		return p, wire.Errorf(wire.CodeUnauthorized, "the token has expired")
	}
	if err := scoped(p.Caller, need); err != nil {
		return p, err
	}
	return p, g.limit.call(p.Caller)
}

func scoped(c wire.Caller, need wire.Scope) error {
	if c.Scope.Includes(need) {
		return nil
	}
	return wire.Errorf(wire.CodeForbidden, "the token's scope is %s: want %s", c.Scope, need)
}

// refuse answers with an error, and logs what a person should know of.
func (g *Gateway) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e := wire.AsError(err)
	var known *wire.Error
	switch {
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil:
		return // nobody reads it
	case !errors.As(err, &known):
		g.opts.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	case e.Code == wire.CodeUnauthorized || e.Code == wire.CodeForbidden || e.Code == wire.CodeBadType || e.Code == wire.CodeRateLimited:
		g.opts.Log.Warn("request refused", "method", r.Method, "path", r.URL.Path, "remote", r.RemoteAddr,
			"host", clip(r.Host), "origin", clip(r.Header.Get("Origin")), "code", e.Code, "why", e.Message)
	}
	h := w.Header()
	if e.Code == wire.CodeUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="agenthost"`)
	}
	var after wire.RetryAfter
	if e.Code == wire.CodeRateLimited && json.Unmarshal(e.Data, &after) == nil {
		h.Set("Retry-After", strconv.FormatInt((after.MS+999)/1000, 10))
	}
	g.writeJSON(w, e.Code.HTTPStatus(), e)
}

// answerPiece is how much of an answer must be taken within Limits.Write.
const answerPiece = 64 << 10

// writeJSON answers with v. What goes wrong now is between the browser and the line.
func (g *Gateway) writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := wire.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"code":"internal","message":"the answer cannot be written"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(status)
	out := newPatient(w, g.opts.Limits.Write)
	for piece := range slices.Chunk(append(body, '\n'), answerPiece) {
		if _, err := out.Write(piece); err != nil {
			return
		}
	}
}

// life is the context of a connection: it ends with the request, the token and the
// gateway. The cause says which, as a *wire.Error.
func (g *Gateway) life(r *http.Request, p Principal) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(r.Context())
	undo := context.AfterFunc(g.stopping, func() { cancel(errStopping) })
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		g.recheck(ctx, r, p.Expires, cancel)
	}()
	return ctx, func() {
		undo()
		cancel(context.Canceled)
		<-watched
	}
}

var (
	errStopping = wire.Errorf(wire.CodeBusy, "the server is stopping")
	errExpired  = wire.Errorf(wire.CodeUnauthorized, "the token has expired")
	errRevoked  = wire.Errorf(wire.CodeUnauthorized, "the token no longer counts")
)

// recheck looks at the token again from time to time, since it may be revoked, and when
// it should end. That it cannot be looked at ends nothing. The clock on the wall is asked
// each time, since it may have been set.
func (g *Gateway) recheck(ctx context.Context, r *http.Request, expires time.Time, cancel context.CancelCauseFunc) {
	for {
		wait := g.opts.Limits.Recheck
		if !expires.IsZero() {
			wait = min(wait, max(0, expires.Sub(g.opts.Now())))
		}
		late := time.NewTimer(wait)
		select {
		case <-late.C:
		case <-ctx.Done():
			late.Stop()
			return
		}
		if !expires.IsZero() && !g.opts.Now().Before(expires) {
			cancel(errExpired)
			return
		}
		if _, err := g.opts.Auth.Authenticate(r); err != nil && wire.AsError(err).Code == wire.CodeUnauthorized {
			cancel(errRevoked)
			return
		}
	}
}
