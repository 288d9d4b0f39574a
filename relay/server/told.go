package server

import (
	"context"
	"encoding/json/jsontext"

	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/wire"
)

// What hosts tell of their sessions.

// own refuses a session that another host has.
func (h *hostConn) own(ctx context.Context, host, session string) error {
	if !store.ValidName(session) {
		return wire.Errorf(wire.CodeInvalid, "session: want 1 to 64 letters, digits, - and _, got %q", session)
	}
	s, ok, err := h.tenant.Session(ctx, session)
	if err != nil {
		return err
	}
	if ok && s.Host != host {
		return wire.Errorf(wire.CodeForbidden, "session %s is one of host %s", session, s.Host)
	}
	return nil
}

func (h *hostConn) open(ctx context.Context, host string, params jsontext.Value) (any, error) {
	var p wire.OpenParams
	if err := wire.UnmarshalStream(params, &p); err != nil {
		return nil, err
	}
	if err := h.own(ctx, host, p.Session.ID); err != nil {
		return nil, err
	}
	next, err := h.tenant.Next(ctx, p.Session.ID)
	if err != nil {
		return nil, err
	}
	if next > p.Session.End {
		// Going on would pass over what the host says next as sent already.
		return nil, wire.Errorf(wire.CodeConflict, "session %s has %d envelopes here and %d at the host: its journal is another one",
			p.Session.ID, next, p.Session.End).WithData(wire.OpenResult{Next: next})
	}
	version, err := h.tenant.Version(ctx, p.Session.ID)
	if err != nil {
		return nil, err
	}
	if p.Session.Version > version {
		p.Session.Host = host
		if version, err = h.tenant.PutSession(ctx, version, p.Session); err != nil {
			return nil, err
		}
	}
	return wire.OpenResult{Next: next, Version: version}, nil
}

func (h *hostConn) append(ctx context.Context, host string, params jsontext.Value) (any, error) {
	var p wire.AppendParams
	if err := wire.UnmarshalStream(params, &p); err != nil {
		return nil, err
	}
	s, ok, err := h.tenant.Session(ctx, p.Session)
	if err != nil {
		return nil, err
	}
	if !ok || s.Host != host {
		return nil, wire.Errorf(wire.CodeNotFound, "session %q is not open: %s comes first", p.Session, wire.SessionOpen)
	}
	next, err := h.tenant.Append(ctx, p.Session, p.Position, p.Envelopes, p.Reset)
	if err != nil {
		return nil, err
	}
	h.s.metrics.envelopes.Add(float64(len(p.Envelopes)))
	h.s.metrics.bytes.Add(float64(len(params)))
	return wire.AppendResult{Next: next}, nil
}

func (h *hostConn) metadata(ctx context.Context, host string, params jsontext.Value) (any, error) {
	var p wire.MetadataParams
	if err := wire.UnmarshalStream(params, &p); err != nil {
		return nil, err
	}
	if err := h.own(ctx, host, p.Session.ID); err != nil {
		return nil, err
	}
	p.Session.Host = host
	version, err := h.tenant.PutSession(ctx, p.Expect, p.Session)
	if err != nil {
		return nil, err
	}
	return wire.MetadataResult{Version: version}, nil
}

// has refuses a session that this host has not opened: people would see an ask there
// that its real host did not make. What is known is kept, since there is one live
// message for every few words.
func (h *hostConn) has(ctx context.Context, host, session string) error {
	h.mu.Lock()
	known := h.known[session]
	h.mu.Unlock()
	if known {
		return nil
	}
	if !store.ValidName(session) {
		return wire.Errorf(wire.CodeInvalid, "session: bad id %q", session)
	}
	s, ok, err := h.tenant.Session(ctx, session)
	switch {
	case err != nil:
		return err
	case !ok:
		return wire.Errorf(wire.CodeNotFound, "session %q is not open: %s comes first", session, wire.SessionOpen)
	case s.Host != host:
		return wire.Errorf(wire.CodeForbidden, "session %s is one of host %s", session, s.Host)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known == nil {
		h.known = map[string]bool{}
	}
	h.known[session] = true
	return nil
}

// liveSubject is where what passes of a session is published.
func liveSubject(tenant, session string) string { return "live." + tenant + "." + session }

// live passes on what is not stored. Who listens too slowly loses it.
func (h *hostConn) live(ctx context.Context, host string, params jsontext.Value) error {
	var p wire.LiveParams
	if err := wire.UnmarshalStream(params, &p); err != nil {
		return err
	}
	if err := h.has(ctx, host, p.Session); err != nil {
		return err
	}
	nc := h.s.opt.Store.Conn()
	if int64(len(params)) > nc.MaxPayload() {
		return nil // the envelope that follows has it all
	}
	return nc.Publish(liveSubject(h.tenant.Name(), p.Session), params)
}

func (h *hostConn) close(ctx context.Context, host string, params jsontext.Value) (any, error) {
	var p wire.CloseParams
	if err := wire.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	if err := h.own(ctx, host, p.Session); err != nil {
		return nil, err
	}
	if p.Removed {
		if err := h.tenant.RemoveSession(ctx, p.Session); err != nil {
			return nil, err
		}
		h.mu.Lock()
		delete(h.known, p.Session)
		h.mu.Unlock()
	}
	return struct{}{}, nil
}
