package server

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/internal/sessionref"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/wire"
)

// backend is a tenant as the gateway serves it.
type backend struct {
	s *Server
	t *store.Tenant
}

var (
	_ gateway.Backend = backend{}
	_ gateway.Files   = backend{}
)

// Hosts implements gateway.Backend.
func (b backend) Hosts(context.Context) ([]wire.Host, error) {
	hosts := []wire.Host{}
	for _, c := range b.t.Hosts() {
		hosts = append(hosts, b.host(c))
	}
	return hosts, nil
}

func (b backend) host(c store.Connection) wire.Host {
	c.Host.Online = b.s.online(c)
	return c.Host
}

// Sessions implements gateway.Backend.
func (b backend) Sessions(_ context.Context, p wire.SessionsParams) ([]wire.Session, error) {
	return b.t.Sessions(p), nil
}

// Session implements gateway.Backend.
func (b backend) Session(ctx context.Context, ref string) (wire.Session, error) {
	if ref != sessionref.Last {
		if s, ok, err := b.t.Session(ctx, ref); ok || err != nil {
			return s, err
		}
	}
	return gateway.FindSession(ref, slices.Values(b.t.Sessions(wire.SessionsParams{})))
}

// WatchSessions implements gateway.Backend.
func (b backend) WatchSessions(ctx context.Context, p wire.SessionsParams) ([]wire.Session, iter.Seq2[wire.SessionsPush, error], error) {
	list, changes := b.t.Watch(ctx, p)
	return list, func(yield func(wire.SessionsPush, error) bool) {
		for c := range changes {
			push := wire.SessionsPush{Session: c.Session, Removed: c.Removed}
			if c.Host != nil {
				h := b.host(*c.Host)
				push.Host = &h
			}
			if !yield(push, nil) {
				return
			}
		}
	}, nil
}

// Stream implements gateway.Backend.
func (b backend) Stream(ctx context.Context, session string, from wire.Position) (iter.Seq2[gateway.Item, error], error) {
	if _, err := b.Session(ctx, session); err != nil {
		return nil, err
	}
	return func(yield func(gateway.Item, error) bool) { b.stream(ctx, session, from, yield) }, nil
}

// liveWaiting and liveBytes are how many live messages wait for a viewer, and bytes of
// them; more are lost for it.
const (
	liveWaiting = 64
	liveBytes   = 256 << 10
)

// stream merges what is stored, what passes and the metadata.
func (b backend) stream(ctx context.Context, session string, from wire.Position, yield func(gateway.Item, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	live, unsubscribe, err := b.passing(ctx, session)
	if err != nil {
		yield(gateway.Item{}, fmt.Errorf("subscribing to what passes: %w", err))
		return
	}
	defer unsubscribe()
	changed := b.metadataOf(ctx, session)
	type stored struct {
		r   store.Record
		err error
	}
	// The reader waits until its record is taken: Record.Line is valid until then.
	records, taken := make(chan stored), make(chan struct{})
	go func() {
		defer close(records)
		for r, err := range b.t.Read(ctx, session, from, gateway.Hold) {
			select {
			case records <- stored{r, err}:
			case <-ctx.Done():
				return
			}
			select {
			case <-taken:
			case <-ctx.Done():
				return
			}
		}
	}()
	next := from
	for {
		select {
		case <-ctx.Done():
			return
		case r, ok := <-records:
			if !ok {
				return
			}
			if r.err != nil {
				yield(gateway.Item{}, r.err)
				return
			}
			if !r.r.Reset {
				next = r.r.Position + 1
			}
			if !yield(gateway.Item{Position: r.r.Position, Line: r.r.Line, Reset: r.r.Reset, Held: r.r.Held}, nil) {
				return
			}
			select {
			case taken <- struct{}{}:
			case <-ctx.Done():
				return
			}
		case m := <-live:
			var p wire.LiveParams
			if wire.UnmarshalStream(m.Data, &p) != nil {
				continue
			}
			for i := range p.Items {
				if !yield(gateway.Item{Position: next, Live: &p.Items[i]}, nil) {
					return
				}
			}
		case s, ok := <-changed:
			if !ok {
				return // it was removed
			}
			if !yield(gateway.Item{Position: next, Changed: &s}, nil) {
				return
			}
		}
	}
}

// passing gives the live messages of a session until ctx is over.
func (b backend) passing(ctx context.Context, session string) (<-chan *nats.Msg, func(), error) {
	live := make(chan *nats.Msg)
	// A subscription with a callback, since others have a queue of 64 Ki entries.
	sub, err := b.s.opt.Store.Conn().Subscribe(liveSubject(b.t.Name(), session), func(m *nats.Msg) {
		select {
		case live <- m:
		case <-ctx.Done():
		}
	})
	if err != nil {
		return nil, nil, err
	}
	unsubscribe := func() { _ = sub.Unsubscribe() } // it is over either way
	if err := sub.SetPendingLimits(liveWaiting, liveBytes); err != nil {
		unsubscribe()
		return nil, nil, err
	}
	return live, unsubscribe, nil
}

// metadataOf gives the session's metadata as they change, the newest only, and is
// closed when the session is removed.
func (b backend) metadataOf(ctx context.Context, session string) <-chan wire.Session {
	out := make(chan wire.Session)
	_, changes := b.t.Watch(ctx, wire.SessionsParams{})
	go func() {
		for c := range changes {
			switch {
			case c.Removed == session:
				close(out)
				return
			case c.Session != nil && c.Session.ID == session:
				select {
				case out <- *c.Session:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out
}

// Call implements gateway.Backend.
func (b backend) Call(ctx context.Context, caller wire.Caller, method string, params jsontext.Value) (jsontext.Value, error) {
	begin := time.Now()
	result, err := b.call(ctx, caller, method, params)
	code := "ok"
	if err != nil {
		code = string(wire.AsError(err).Code)
	}
	b.s.metrics.calls.WithLabelValues(method, code).Inc()
	b.s.metrics.took.WithLabelValues(method).Observe(time.Since(begin).Seconds())
	return result, err
}

func (b backend) call(ctx context.Context, caller wire.Caller, method string, params jsontext.Value) (jsontext.Value, error) {
	m, ok := wire.MethodOf(method)
	if !ok || !m.Command {
		return nil, wire.Errorf(wire.CodeUnknownMethod, "no command %q", method)
	}
	if !caller.Scope.Includes(m.Scope) {
		return nil, wire.Errorf(wire.CodeForbidden, "%s needs the scope %s, the token has %s", method, m.Scope, caller.Scope)
	}
	host, params, err := b.route(ctx, method, params)
	if err != nil {
		return nil, err
	}
	c := wire.Command{Caller: caller, Params: params}
	if method == wire.SessionSend {
		return b.send(ctx, host, c)
	}
	return b.s.command(ctx, b.t, host, method, c)
}

// route finds the host of a command, and puts the full id of its session into params.
func (b backend) route(ctx context.Context, method string, params jsontext.Value) (host string, _ jsontext.Value, err error) {
	if method == wire.SessionSpawn {
		var p struct {
			Host string `json:"host"`
		}
		if err := wire.Unmarshal(params, &p); err != nil {
			return "", nil, err
		}
		if p.Host == "" {
			p.Host, err = b.onlyHost()
		}
		return p.Host, params, err
	}
	// Only the one member is read: the host reads the rest, which may be newer.
	var p map[string]jsontext.Value
	if err := wire.Unmarshal(params, &p); err != nil {
		return "", nil, err
	}
	var ref string
	if json.Unmarshal(p["session"], &ref) != nil || ref == "" {
		return "", nil, wire.Errorf(wire.CodeInvalid, "session: want the id of a session, got %s", p["session"])
	}
	s, err := b.Session(ctx, ref)
	if err != nil {
		return "", nil, err
	}
	if s.ID != ref {
		p["session"] = jsontext.Value(`"` + s.ID + `"`)
		if params, err = json.Marshal(p, json.Deterministic(true)); err != nil {
			return "", nil, fmt.Errorf("encoding params: %w", err)
		}
	}
	return s.Host, params, nil
}

// onlyHost is the host that is meant when none is named.
func (b backend) onlyHost() (string, error) {
	var there []string
	hosts := b.t.Hosts()
	for _, c := range hosts {
		if b.s.online(c) {
			there = append(there, c.Host.ID)
		}
	}
	switch {
	case len(there) == 1:
		return there[0], nil
	case len(there) > 1:
		return "", wire.Errorf(wire.CodeAmbiguous, "host: %d hosts are there, name one of %s", len(there), strings.Join(there, ", "))
	case len(hosts) == 1:
		return "", offline(hosts[0].Host.ID, hosts[0])
	}
	return "", wire.Errorf(wire.CodeHostOffline, "no host is there")
}

// send sends a message, or keeps it for a host that is away when the caller says so.
func (b backend) send(ctx context.Context, host string, c wire.Command) (jsontext.Value, error) {
	var p wire.SendParams
	if err := wire.Unmarshal(c.Params, &p); err != nil {
		return nil, err
	}
	if p.ID == "" {
		// The one who is asked to keep it must know it again.
		var all map[string]jsontext.Value
		if err := wire.Unmarshal(c.Params, &all); err != nil {
			return nil, err
		}
		p.ID = cuid2.Generate()
		all["id"] = jsontext.Value(`"` + p.ID + `"`)
		params, err := json.Marshal(all, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("encoding params: %w", err)
		}
		c.Params = params
	}
	result, err := b.s.command(ctx, b.t, host, wire.SessionSend, c)
	if err == nil || !p.Queue || wire.AsError(err).Code != wire.CodeHostOffline {
		return result, err
	}
	body, err := wire.Marshal(request{Method: wire.SessionSend, Command: c})
	if err != nil {
		return nil, fmt.Errorf("encoding a message to keep: %w", err)
	}
	if err := b.t.Keep(ctx, host, body); err != nil {
		return nil, err
	}
	// It may have come back between the two.
	if conn, ok, err := b.t.HostOf(ctx, host); err == nil && ok && b.s.online(conn) {
		_ = b.s.opt.Store.Conn().Publish(rpcSubject(b.t.Name(), host, conn.ID), []byte("kept"))
	}
	return wire.Marshal(wire.SentResult{ID: p.ID, Session: p.Session, Kept: true})
}

// Create implements gateway.Files.
func (b backend) Create(ctx context.Context, _ wire.Caller, p wire.UploadParams) (wire.Upload, error) {
	p.Ref = "" // refs of viewers' files are ours
	return b.t.CreateFile(ctx, p)
}

// Append implements gateway.Files.
func (b backend) Append(ctx context.Context, ref string, offset int64, r io.Reader) (wire.Upload, error) {
	return b.t.AppendFile(ctx, ref, offset, r)
}

// Stat implements gateway.Files.
func (b backend) Stat(ctx context.Context, ref string) (wire.Upload, error) {
	return b.t.StatFile(ctx, ref)
}

// Open implements gateway.Files.
func (b backend) Open(ctx context.Context, ref string) (io.ReadCloser, wire.Upload, error) {
	return b.t.OpenFile(ctx, ref)
}
