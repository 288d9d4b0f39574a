package uplink

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/wire"
)

// link is one connection.
type link struct {
	u    *Uplink
	conn *peer.Conn
	host wire.Host
	// web and base are the relay's HTTP face, for files.
	web  *http.Client
	base string
	// inflight has room for as many appends as the relay takes unanswered.
	inflight chan struct{}
	ctx      context.Context // ends with the connection
	wg       sync.WaitGroup

	mu sync.Mutex
	// feeds are the sessions that are told of. guarded by mu
	feeds map[string]*feed
}

// run serves the connection until it ends.
func (l *link) run(ctx, dialCtx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer l.web.CloseIdleConnections()
	l.ctx = ctx
	served := make(chan error, 1)
	go func() { served <- l.conn.Serve(ctx, l.handle) }()
	err := l.hello(dialCtx)
	if err == nil {
		l.u.setStatus(true, nil)
		l.u.log.Info("relay connected")
		l.wg.Go(func() {
			if err := l.tell(ctx); err != nil && ctx.Err() == nil {
				cancel(err)
			}
		})
	} else {
		cancel(err)
	}
	serveErr := <-served
	cancel(serveErr)
	l.wg.Wait()
	if err == nil {
		err = serveErr
	}
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if err == nil {
		err = errors.New("the relay closed the connection")
	}
	return err
}

// hello registers the host. Commands may come as soon as it is answered.
func (l *link) hello(ctx context.Context) error {
	var w wire.Welcome
	err := l.conn.Call(ctx, wire.HostHello, wire.Hello{Protocols: []string{wire.Protocol}, Client: l.u.opt.Program, Host: &l.host}, &w)
	if err != nil {
		return fmt.Errorf("%s: %w", wire.HostHello, err)
	}
	if w.Protocol != wire.Protocol {
		return fmt.Errorf("%s: the relay speaks %q, want %s", wire.HostHello, w.Protocol, wire.Protocol)
	}
	l.inflight = make(chan struct{}, max(1, w.Limits.Inflight))
	return nil
}

// tell tells of all sessions, those to come too.
func (l *link) tell(ctx context.Context) error {
	list, changes, err := l.u.opt.Source.WatchSessions(ctx, wire.SessionsParams{})
	if err != nil {
		return fmt.Errorf("listing the sessions: %w", err)
	}
	there := map[string]bool{}
	for _, s := range list {
		there[s.ID] = true
	}
	for _, id := range l.u.cursors.known() {
		if !there[id] {
			if err := l.removed(ctx, id); err != nil {
				return err
			}
		}
	}
	for _, s := range list {
		l.session(s)
	}
	for push, err := range changes {
		if err != nil {
			return fmt.Errorf("following the sessions: %w", err)
		}
		switch {
		case push.Session != nil:
			l.session(*push.Session)
		case push.Removed != "":
			if err := l.removed(ctx, push.Removed); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// removed tells that a session is gone at the host.
func (l *link) removed(ctx context.Context, id string) error {
	l.mu.Lock()
	f := l.feeds[id]
	delete(l.feeds, id)
	l.mu.Unlock()
	if f != nil {
		f.stop()
		<-f.done
	}
	err := l.conn.Call(ctx, wire.SessionClose, wire.CloseParams{Session: id, Removed: true}, nil)
	var refused *wire.Error
	if errors.As(err, &refused) && refused.Code == wire.CodeForbidden {
		err = nil // another host's by now
	}
	if err != nil {
		return fmt.Errorf("%s: %w", wire.SessionClose, err)
	}
	l.u.cursors.forget(id)
	return nil
}

// session tells of a session, or of what changed in it.
func (l *link) session(s wire.Session) *feed {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.feeds[s.ID]
	if f == nil {
		f = newFeed(l, s)
		l.feeds[s.ID] = f
		l.wg.Go(f.run)
		return f
	}
	f.changed(s)
	return f
}

// openWait is how long the answer to what makes a session waits for the relay to know
// the session. Without it whoever made it would be told that there is none.
const openWait = 10 * time.Second

// handle runs a command.
func (l *link) handle(ctx context.Context, method string, params jsontext.Value) (any, error) {
	m, ok := wire.MethodOf(method)
	if !ok || !m.Command {
		return nil, wire.Errorf(wire.CodeUnknownMethod, "no command %q", method)
	}
	var c wire.Command
	if err := wire.Unmarshal(params, &c); err != nil {
		return nil, err
	}
	c.Caller.Local = false
	raw, err := l.fetchFiles(ctx, c.Caller, method, c.Params)
	if err != nil {
		return nil, err
	}
	result, err := l.call(ctx, c.Caller, method, raw)
	if err != nil {
		return nil, err
	}
	if method == wire.SessionSpawn || method == wire.SessionOp {
		l.awaitOpen(ctx, result)
	}
	return result, nil
}

// call runs a command at the host. What has begun is not undone by a lost connection,
// which does not wait for it either: whoever asks again under the same id learns what
// came of it.
func (l *link) call(ctx context.Context, caller wire.Caller, method string, params jsontext.Value) (jsontext.Value, error) {
	type outcome struct {
		result jsontext.Value
		err    error
	}
	done := make(chan outcome, 1)
	l.u.running.Go(func() {
		result, err := l.u.opt.Source.Call(context.WithoutCancel(ctx), caller, method, params)
		done <- outcome{result, err}
	})
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// awaitOpen waits until the relay knows the session that a result has.
func (l *link) awaitOpen(ctx context.Context, result jsontext.Value) {
	var r struct {
		Session *wire.Session `json:"session"`
	}
	if wire.UnmarshalStream(result, &r) != nil || r.Session == nil || l.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	select {
	case <-l.session(*r.Session).opened:
	case <-ctx.Done():
	case <-l.ctx.Done():
	}
}
