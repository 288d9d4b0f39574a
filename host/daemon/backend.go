package daemon

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"iter"

	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

var (
	_ gateway.Backend = (*Daemon)(nil)
	_ gateway.Files   = (*Daemon)(nil)
)

// Hosts implements gateway.Backend: this one.
func (d *Daemon) Hosts(ctx context.Context) ([]wire.Host, error) {
	h := d.host
	if d.cfg.Agents != nil {
		h.Agents = d.cfg.Agents(ctx)
	}
	return []wire.Host{h}, nil
}

// Sessions implements gateway.Backend.
func (d *Daemon) Sessions(_ context.Context, p wire.SessionsParams) ([]wire.Session, error) {
	if err := d.scan(); err != nil {
		return nil, err
	}
	return d.sorted(p), nil
}

// Session implements gateway.Backend.
func (d *Daemon) Session(_ context.Context, ref string) (wire.Session, error) {
	e, err := d.find(ref)
	if err != nil {
		return wire.Session{}, err
	}
	return e.session(), nil
}

// WatchSessions implements gateway.Backend.
func (d *Daemon) WatchSessions(ctx context.Context, p wire.SessionsParams) ([]wire.Session, iter.Seq2[wire.SessionsPush, error], error) {
	if err := d.scan(); err != nil {
		return nil, nil, err
	}
	w := d.hub.watch("") // before the list: what changes in between is told twice rather than never
	all := d.sorted(p)
	stop := context.AfterFunc(ctx, w.close)
	return all, func(yield func(wire.SessionsPush, error) bool) {
		defer w.close()
		defer stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-w.wake:
			}
			for _, id := range w.take() {
				push, ok := d.push(p, id)
				if ok && !yield(push, nil) {
					return
				}
			}
		}
	}, nil
}

// push tells of a session that changed; false when it is none of those asked for.
func (d *Daemon) push(p wire.SessionsParams, id string) (wire.SessionsPush, bool) {
	e := d.entry(id)
	if e == nil {
		return wire.SessionsPush{Removed: id}, true
	}
	s := e.session()
	return wire.SessionsPush{Session: &s}, keeps(p, s)
}

// Call implements gateway.Backend.
func (d *Daemon) Call(ctx context.Context, caller wire.Caller, method string, params jsontext.Value) (jsontext.Value, error) {
	return d.Do(ctx, caller, method, params)
}

// Sync returns when all that a session has said so far is on the disk. One that does
// not run has been synced by its end.
func (d *Daemon) Sync(_ context.Context, session string) error {
	e := d.entry(session)
	if e == nil {
		return wire.Errorf(wire.CodeNotFound, "no session %q", session)
	}
	run := e.current()
	if run == nil {
		return nil
	}
	err := run.Journal().Sync()
	if errors.Is(err, journal.ErrClosed) {
		return nil // with all it has
	}
	return err
}
