package server

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/wire"
)

// hostConn is one connection of a host.
type hostConn struct {
	s      *Server
	tenant *store.Tenant
	token  store.Token
	id     string
	conn   *peer.Conn

	mu sync.Mutex
	// host is what it said in its hello, zero before. guarded by mu
	host wire.Host
	sub  *nats.Subscription // guarded by mu
	// known are sessions that are this host's for certain. guarded by mu
	known map[string]bool
}

// inflight is how many appends a host may have unanswered: enough to keep the line
// full over a long distance, few enough to bound what is handled again after a cut.
const inflight = 32

// serveHost takes the connection of a host and keeps it.
func (s *Server) serveHost(w http.ResponseWriter, r *http.Request) {
	token, tenant, err := s.authenticate(r, wire.ScopeHost)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	if !s.enter() {
		s.refuse(w, r, wire.Errorf(wire.CodeBusy, "the relay is stopping"))
		return
	}
	defer s.conns.Done()
	if !s.hosts.enter(tenant.Name(), 1, s.opt.MaxHosts) {
		s.refuse(w, r, wire.Errorf(wire.CodeRateLimited, "tenant %s has %d hosts connected, which is the limit", tenant.Name(), s.opt.MaxHosts))
		return
	}
	defer s.hosts.leave(tenant.Name(), 1)
	// Programs send no Origin; a page has no business here.
	conn, err := peer.Accept(w, r, peer.Options{
		Ordered: wire.Ordered, Log: s.log, Calls: 256,
		HoldMessage: func(n int) (release func(), err error) { return s.holdHost(tenant.Name(), n) },
	})
	if err != nil {
		s.log.Info("refusing a host", "tenant", tenant.Name(), "err", err)
		return
	}
	h := &hostConn{s: s, tenant: tenant, token: token, id: cuid2.Generate(), conn: conn}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	defer cancel(nil)
	stop := context.AfterFunc(s.ctx, func() { conn.Close(peer.StatusGoingAway, "the relay stops") })
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { h.keep(ctx) })
	err = conn.Serve(ctx, h.handle)
	cancel(err)
	wg.Wait()
	h.leave()
	s.log.Info("host gone", "tenant", tenant.Name(), "host", h.hostID(), "err", err)
}

// holdHost counts a piece of a long message of a host in.
func (s *Server) holdHost(tenant string, n int) (release func(), err error) {
	if !s.hostBytes.enter(tenant, n, s.opt.HostBytes) {
		s.metrics.refused.WithLabelValues(string(wire.CodeRateLimited)).Inc()
		return nil, wire.Errorf(wire.CodeRateLimited, "hosts of the tenant are sending more than %d bytes at once", s.opt.HostBytes)
	}
	return func() { s.hostBytes.leave(tenant, n) }, nil
}

func (h *hostConn) hostID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.host.ID
}

// keep writes the host's presence down and sees that its token still counts.
func (h *hostConn) keep(ctx context.Context) {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if h.hostID() == "" {
			h.conn.Close(peer.StatusPolicy, "no host.hello came")
			return
		}
		k, ok, err := h.s.opt.Store.TokenByHash(ctx, h.token.Hash)
		if err == nil && !ok {
			h.s.log.Info("a host's token has ended", "tenant", h.tenant.Name(), "token", k.ID)
			h.conn.Close(peer.StatusPolicy, "the token has expired or was revoked")
			return
		}
		if err := h.present(ctx); err != nil && ctx.Err() == nil {
			h.s.log.Warn("writing down a host's presence", "tenant", h.tenant.Name(), "err", err)
		}
	}
}

// present says that the host is there, unless a newer connection has it.
func (h *hostConn) present(ctx context.Context) error {
	h.mu.Lock()
	host := h.host
	h.mu.Unlock()
	host.Online, host.LastSeen = true, h.s.opt.Now().UnixMilli()
	return h.tenant.RenewHost(ctx, store.Connection{Host: host, ID: h.id})
}

// leave says that the connection is gone.
func (h *hostConn) leave() {
	h.mu.Lock()
	host, sub := h.host.ID, h.sub
	h.mu.Unlock()
	if host == "" {
		return
	}
	_ = sub.Unsubscribe() // only fails when the connection to NATS is gone
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := h.tenant.LeaveHost(ctx, host, h.id, h.s.opt.Now().UnixMilli()); err != nil {
		h.s.log.Warn("writing down that a host is gone", "tenant", h.tenant.Name(), "host", host, "err", err)
	}
}

// handle does what the host asks for.
func (h *hostConn) handle(ctx context.Context, method string, params jsontext.Value) (any, error) {
	if method == wire.HostHello {
		return h.hello(ctx, params)
	}
	host := h.hostID()
	if host == "" {
		return nil, wire.Errorf(wire.CodeUnauthorized, "%s before %s", method, wire.HostHello)
	}
	switch method {
	case wire.SessionOpen:
		return h.open(ctx, host, params)
	case wire.SessionAppend:
		return h.append(ctx, host, params)
	case wire.SessionMetadata:
		return h.metadata(ctx, host, params)
	case wire.SessionLive:
		return nil, h.live(ctx, host, params)
	case wire.SessionClose:
		return h.close(ctx, host, params)
	}
	return nil, wire.Errorf(wire.CodeUnknownMethod, "no method %q for hosts", method)
}

func (h *hostConn) hello(ctx context.Context, params jsontext.Value) (any, error) {
	var p wire.Hello
	if err := wire.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	if !slices.Contains(p.Protocols, wire.Protocol) {
		return nil, wire.Errorf(wire.CodeUnsupported, "protocols: want %s among them, got %q", wire.Protocol, p.Protocols)
	}
	if p.Host == nil || !store.ValidName(p.Host.ID) {
		return nil, wire.Errorf(wire.CodeInvalid, "host.id: want 1 to 64 letters, digits, - and _")
	}
	h.mu.Lock()
	again := h.host.ID != ""
	h.mu.Unlock()
	if again {
		return nil, wire.Errorf(wire.CodeInvalid, "%s a second time", wire.HostHello)
	}
	if err := h.tenant.ClaimHost(ctx, p.Host.ID, h.token); err != nil {
		if wire.AsError(err).Code == wire.CodeForbidden {
			h.s.metrics.refused.WithLabelValues(string(wire.CodeForbidden)).Inc()
			h.s.log.Warn("a host with another token is refused", "tenant", h.tenant.Name(), "host", p.Host.ID, "token", h.token.ID)
		}
		return nil, err
	}
	nc := h.s.opt.Store.Conn()
	subject := rpcSubject(h.tenant.Name(), p.Host.ID, h.id)
	sub, err := nc.Subscribe(subject, func(m *nats.Msg) { h.fromRelay(m) })
	if err == nil {
		// The subscription must stand before anybody can learn of the connection.
		err = nc.FlushTimeout(beat)
	}
	if err != nil {
		return nil, fmt.Errorf("subscribing to commands: %w", err)
	}
	host := *p.Host
	host.Online, host.LastSeen = true, h.s.opt.Now().UnixMilli()
	before, had, err := h.tenant.HostOf(ctx, host.ID)
	if err != nil {
		_ = sub.Unsubscribe() // only fails when the connection to NATS is gone
		return nil, err
	}
	h.mu.Lock()
	h.host, h.sub = host, sub
	h.mu.Unlock()
	if err := h.tenant.PutHost(ctx, store.Connection{Host: host, ID: h.id}); err != nil {
		return nil, err
	}
	if had && before.ID != "" && before.ID != h.id {
		// An older connection, half-open as a rule, would keep saying it is there.
		_ = nc.Publish(rpcSubject(h.tenant.Name(), host.ID, before.ID), nil)
	}
	h.s.log.Info("host there", "tenant", h.tenant.Name(), "host", host.ID, "name", host.Name, "token", h.token.ID)
	welcome := wire.Welcome{
		Protocol: wire.Protocol, Server: wire.Program{Name: "agenthost relay", Version: h.s.opt.Version},
		Limits: wire.Limits{FrameBytes: 1 << 20, MessageBytes: 96 << 20, Inflight: inflight},
		Scopes: []wire.Scope{wire.ScopeHost}, TokenID: h.token.ID, Time: h.s.opt.Now().UnixMilli(),
	}
	return peer.Then(welcome, func() { go h.handKept() }), nil
}

// fromRelay takes a message on the connection's subject: a command, or nothing at all
// when a newer connection has taken over.
func (h *hostConn) fromRelay(m *nats.Msg) {
	if m.Reply == "" {
		if len(m.Data) == 0 {
			go h.conn.Close(peer.StatusPolicy, "a newer connection of this host has taken over")
		} else {
			go h.handKept()
		}
		return
	}
	go func() {
		var r reply
		var req request
		err := wire.UnmarshalStream(m.Data, &req)
		if err == nil {
			ctx, cancel := context.WithTimeout(h.s.ctx, time.Duration(req.Timeout)*time.Millisecond)
			defer cancel()
			r.Result, err = h.call(ctx, req.Method, req.Command)
		}
		if err != nil {
			r = reply{Error: wire.AsError(err)}
		}
		body, err := wire.Marshal(r)
		if max := h.s.opt.Store.Conn().MaxPayload(); err != nil || int64(len(body)) > max {
			body, _ = wire.Marshal(reply{Error: wire.Errorf(wire.CodeTooLarge, "the answer is longer than %d bytes", max)})
		}
		if err := m.Respond(body); err != nil {
			h.s.log.Warn("answering another relay process", "tenant", h.tenant.Name(), "method", req.Method, "err", err)
		}
	}()
}

// call makes a call to the host.
func (h *hostConn) call(ctx context.Context, method string, c wire.Command) (jsontext.Value, error) {
	var result jsontext.Value
	err := h.conn.Call(ctx, method, c, &result)
	if errors.Is(err, peer.ErrNotSent) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return nil, offline(h.host.ID, store.Connection{Host: h.host})
	}
	return result, err
}

// handKept hands the host what people left for it while it was away.
func (h *hostConn) handKept() {
	ctx, cancel := context.WithTimeout(h.s.ctx, slowCallTime)
	defer cancel()
	host := h.hostID()
	err := h.s.handing.one(h.tenant.Name()+"."+host, func() error {
		return h.tenant.Kept(ctx, host, func(command []byte) error {
			var req request
			if err := wire.UnmarshalStream(command, &req); err != nil {
				h.s.log.Error("dropping a kept message that cannot be read", "tenant", h.tenant.Name(), "host", host, "err", err)
				return nil
			}
			_, err := h.call(ctx, req.Method, req.Command)
			var refused *wire.Error
			if errors.As(err, &refused) && !slices.Contains([]wire.Code{wire.CodeUnknown, wire.CodeTimeout, wire.CodeHostOffline, wire.CodeBusy}, refused.Code) {
				// It will not be taken next time either.
				h.s.log.Warn("the host refused a kept message", "tenant", h.tenant.Name(), "host", host, "method", req.Method, "code", refused.Code)
				return nil
			}
			return err
		})
	})
	if err != nil {
		h.s.log.Info("handing out kept messages", "tenant", h.tenant.Name(), "host", host, "err", err)
	}
}
