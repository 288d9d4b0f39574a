package gateway

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/wire"
)

// viewer is a WebSocket connection of a viewer.
type viewer struct {
	g         *Gateway
	principal Principal
	conn      *peer.Conn
	mem       *pool        // of the connection
	small     atomic.Int64 // bytes of pieces that mem does not count
	life      context.Context

	mu     sync.Mutex
	caller wire.Caller              // guarded by mu: hello may complete it
	last   int                      // subscriptions are numbered
	subs   map[string]*subscription // guarded by mu
	pumps  sync.WaitGroup
}

type subscription struct {
	stop context.CancelFunc
	done chan struct{} // closed when it sends no more
}

// serveSocket is the route /v1/ws.
func (g *Gateway) serveSocket(w http.ResponseWriter, r *http.Request, p Principal) error {
	if !headerHas(r.Header, "Upgrade", "websocket") {
		w.Header().Set("Upgrade", "websocket")
		return wire.Errorf(wire.CodeInvalid, "want a WebSocket here: Upgrade: websocket, with the subprotocol %s", wire.Protocol)
	}
	if asked := r.Header.Values("Sec-WebSocket-Protocol"); len(asked) > 0 && !headerHas(r.Header, "Sec-WebSocket-Protocol", wire.Protocol) {
		return wire.Errorf(wire.CodeUnsupported, "subprotocol: want %s, got %q", wire.Protocol, clip(strings.Join(asked, ", ")))
	}
	leave, err := g.limit.connect(p.Caller)
	if err != nil {
		return err
	}
	defer leave()
	mem := g.budget.connection(p)
	defer mem.close()
	if err := mem.keep(connectionCost); err != nil {
		return err
	}
	ctx, done := g.life(r, p)
	defer done()
	v := &viewer{g: g, principal: p, mem: mem, life: ctx, caller: p.Caller, subs: map[string]*subscription{}}
	opts := peer.Options{
		MessageBytes: g.opts.Limits.BodyBytes, QueueBytes: viewerQueue, HoldAnswer: v.holdAnswer, HoldMessage: v.holdMessage,
		Ordered: wire.Ordered, OriginChecked: true, Log: g.opts.Log,
	}
	if !p.Caller.Scope.Includes(wire.ScopeControl) {
		opts.MessageBytes = min(opts.MessageBytes, viewMessage) // it has no texts to send
	}
	if v.conn, err = peer.Accept(w, r, opts); err != nil {
		return nil // answered
	}
	v.serve(ctx)
	return nil
}

// headerHas reports whether a header lists a word.
func headerHas(h http.Header, name, word string) bool {
	return slices.ContainsFunc(h.Values(name), func(line string) bool {
		for w := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(w), word) {
				return true
			}
		}
		return false
	})
}

func (v *viewer) serve(ctx context.Context) {
	log := v.g.opts.Log.With("token", v.principal.Caller.TokenID)
	log.Info("viewer connected")
	ended := make(chan error, 1)
	go func() { ended <- v.conn.Serve(context.WithoutCancel(ctx), v.handle) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		status, reason := closing(context.Cause(ctx))
		v.conn.Close(status, reason)
		err = <-ended
	}
	v.mu.Lock()
	for _, s := range v.subs {
		s.stop()
	}
	v.mu.Unlock()
	v.pumps.Wait()
	log.Info("viewer gone", "why", err)
}

// closing is how to tell a viewer that its connection is over.
func closing(cause error) (peer.Status, string) {
	var e *wire.Error
	if errors.As(cause, &e) && e.Code == wire.CodeUnauthorized {
		return peer.StatusPolicy, e.Message
	}
	return peer.StatusGoingAway, "the server is stopping"
}

// handle does what a viewer asks for.
func (v *viewer) handle(ctx context.Context, name string, params jsontext.Value) (any, error) {
	m, ok := wire.MethodOf(name)
	switch {
	case !ok:
		return nil, wire.Errorf(wire.CodeUnknownMethod, "no method %q here; docs/relay.md lists them", clip(name))
	case m.From != wire.PartyViewer:
		return nil, wire.Errorf(wire.CodeUnknownMethod, "%s is for hosts, which connect to another address", name)
	}
	caller := v.who()
	if err := scoped(caller, m.Scope); err != nil {
		return nil, err
	}
	if err := v.g.limit.call(caller); err != nil {
		return nil, err
	}
	if m.Command {
		return v.g.command(v.life, v.principal.Backend, caller, name, params)
	}
	b := v.principal.Backend
	switch name {
	case wire.ViewerHello:
		return v.hello(params)
	case wire.HostsList:
		hosts, err := b.Hosts(ctx)
		return wire.HostsResult{Hosts: hosts}, err
	case wire.SessionsList:
		var p wire.SessionsParams
		if err := wire.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		list, err := b.Sessions(ctx, p)
		return wire.SessionsResult{Sessions: list}, err
	case wire.SessionGet:
		var p wire.SessionRef
		if err := wire.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		s, err := b.Session(ctx, p.Session)
		return wire.SessionResult{Session: s}, err
	case wire.SessionsSubscribe:
		return v.subscribeSessions(params)
	case wire.SessionSubscribe:
		return v.subscribe(params)
	case wire.SessionUnsubscribe:
		return v.unsubscribe(params)
	}
	return nil, wire.Errorf(wire.CodeUnknownMethod, "no method %q here", name)
}

func (v *viewer) who() wire.Caller {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.caller
}

// command runs a command. It goes on when the viewer's connection is lost, since half
// a command helps nobody; it is given up when the gateway stops.
func (g *Gateway) command(ctx context.Context, b Backend, c wire.Caller, method string, params jsontext.Value) (jsontext.Value, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.opts.Limits.Call)
	defer cancel()
	defer context.AfterFunc(g.stopping, cancel)()
	result, err := b.Call(ctx, c, method, params)
	switch {
	case err == nil || errors.As(err, new(*wire.Error)):
		return result, err
	case g.stopping.Err() != nil:
		return nil, wire.Errorf(wire.CodeUnknown, "%s: the server stopped before the answer came; whether it was done is not known", method)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, wire.Errorf(wire.CodeTimeout, "%s: no answer within %v; whether it was done is not known", method, g.opts.Limits.Call)
	}
	return nil, err
}

// hello greets. A viewer whose token does not say what kind of client it is, says so
// itself.
func (v *viewer) hello(params jsontext.Value) (any, error) {
	var h wire.Hello
	if err := wire.Unmarshal(params, &h); err != nil {
		return nil, err
	}
	if len(h.Protocols) > 0 && !slices.Contains(h.Protocols, wire.Protocol) {
		return nil, wire.Errorf(wire.CodeUnsupported, "protocols: want %s among them, got %q", wire.Protocol, clip(strings.Join(h.Protocols, ", ")))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.caller.ClientType == "" {
		switch t := contract.ClientType(h.ClientType); t {
		case contract.ClientCLI, contract.ClientPhone, contract.ClientBrowser, contract.ClientDaemon:
			v.caller.ClientType = t
		}
	}
	return wire.Welcome{
		Protocol: wire.Protocol, Server: v.g.opts.Server, Scopes: scopesOf(v.caller.Scope), TokenID: v.caller.TokenID,
		Features: features(v.principal.Backend), Time: time.Now().UnixMilli(),
		Limits: wire.Limits{FrameBytes: 1 << 20, MessageBytes: int64(v.g.opts.Limits.BodyBytes)},
	}, nil
}

// scopesOf are the scopes that a token has, the weakest first.
func scopesOf(has wire.Scope) []wire.Scope {
	return slices.DeleteFunc(wire.Scopes(), func(s wire.Scope) bool { return !has.Includes(s) })
}

// features are the optional parts that a backend has.
func features(b Backend) []string {
	if _, ok := b.(Files); ok {
		return []string{"files"}
	}
	return nil
}
