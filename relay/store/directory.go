package store

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agenthost/agenthost/relay/wire"
)

// Connection says which relay process has a host.
type Connection struct {
	Host wire.Host `json:"host"`
	// ID names the connection; commands for the host go to its subject.
	ID string `json:"id,omitzero"`
	// Seen is when this process last heard of it, by its own clock, which no setting of
	// any clock on a wall changes. What it finds as it begins was heard of then.
	Seen time.Time `json:"-"`
}

// directory is what this process has read of a tenant's bucket: it follows the bucket
// by milliseconds.
type directory struct {
	mu       sync.Mutex
	sessions map[string]wire.Session // guarded by mu
	hosts    map[string]Connection   // guarded by mu
	watchers map[*watcher]bool       // guarded by mu
}

// watcher is one who is told of changes. What changed twice is told once.
type watcher struct {
	sessions map[string]bool // guarded by directory.mu
	hosts    map[string]bool // guarded by directory.mu
	wake     chan struct{}   // holds one
}

// watch begins to follow the bucket, and returns when what was there is read.
func (t *Tenant) watch(ctx context.Context) error {
	d := &t.dir
	d.sessions, d.hosts, d.watchers = map[string]wire.Session{}, map[string]Connection{}, map[*watcher]bool{}
	w, err := t.kv.WatchFiltered(t.store.ctx, []string{"s.*", "h.*"})
	if err != nil {
		return fmt.Errorf("watching the bucket: %w", err)
	}
	read := make(chan struct{})
	t.watching.Go(func() {
		defer func() { _ = w.Stop() }()
		begun := false
		for {
			select {
			case <-t.store.ctx.Done():
				return
			case e, ok := <-w.Updates():
				switch {
				case !ok:
					return
				case e != nil:
					d.take(e)
				case !begun:
					begun = true
					close(read)
				}
			}
		}
	})
	select {
	case <-read:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.store.ctx.Done():
		return errors.New("the store is closed")
	}
}

// take reads one entry of the bucket.
func (d *directory) take(e jetstream.KeyValueEntry) {
	kind, id, _ := strings.Cut(e.Key(), ".")
	gone := e.Operation() != jetstream.KeyValuePut
	d.mu.Lock()
	defer d.mu.Unlock()
	switch kind {
	case "s":
		var s wire.Session
		if gone {
			delete(d.sessions, id)
		} else if json.Unmarshal(e.Value(), &s) == nil {
			d.sessions[id] = s
		}
	case "h":
		var c Connection
		if gone {
			delete(d.hosts, id)
		} else if json.Unmarshal(e.Value(), &c) == nil {
			c.Seen = time.Now()
			d.hosts[id] = c
		}
	}
	for w := range d.watchers {
		if kind == "s" {
			w.sessions[id] = true
		} else {
			w.hosts[id] = true
		}
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// PutSession replaces a session's metadata when its version is expect, and returns
// the new one, which is s.Version when that is higher than expect. Another version is
// wire.CodeConflict with the current metadata as data.
func (t *Tenant) PutSession(ctx context.Context, expect int64, s wire.Session) (int64, error) {
	if !ValidName(s.ID) {
		return 0, wire.Errorf(wire.CodeInvalid, "session.id: want 1 to 64 letters, digits, - and _, got %q", s.ID)
	}
	key := "s." + s.ID
	if s.Version <= expect {
		s.Version = expect + 1
	}
	value, err := wire.Marshal(s)
	if err != nil {
		return 0, fmt.Errorf("encoding metadata: %w", err)
	}
	current, rev, err := t.session(ctx, s.ID)
	if err != nil {
		return 0, err
	}
	if current.Version != expect {
		return 0, conflict(current)
	}
	if rev == 0 {
		_, err = t.kv.Create(ctx, key, value)
	} else {
		_, err = t.kv.Update(ctx, key, value, rev)
	}
	t.store.wrote("kv_"+t.name, err)
	if errors.Is(err, jetstream.ErrKeyExists) || isWrongSequence(err) {
		if current, _, err = t.session(ctx, s.ID); err != nil {
			return 0, err
		}
		return 0, conflict(current)
	}
	if err != nil {
		return 0, fmt.Errorf("storing metadata of session %s: %w", s.ID, err)
	}
	return s.Version, nil
}

func conflict(current wire.Session) error {
	return wire.Errorf(wire.CodeConflict, "session %s has version %d by now", current.ID, current.Version).WithData(current)
}

// session reads a session's metadata from the bucket: a zero Session and revision 0
// when there is none.
func (t *Tenant) session(ctx context.Context, id string) (s wire.Session, revision uint64, err error) {
	e, err := t.kv.Get(ctx, "s."+id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return wire.Session{ID: id}, 0, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value(), &s)
	}
	if err != nil {
		return wire.Session{}, 0, fmt.Errorf("reading metadata of session %s: %w", id, err)
	}
	return s, e.Revision(), nil
}

// Version is the version of a session's metadata, 0 for none.
func (t *Tenant) Version(ctx context.Context, id string) (int64, error) {
	if !ValidName(id) {
		return 0, wire.Errorf(wire.CodeInvalid, "session.id: bad id %q", id)
	}
	s, _, err := t.session(ctx, id)
	return s.Version, err
}

// RemoveSession forgets a session and what is stored of it.
func (t *Tenant) RemoveSession(ctx context.Context, id string) error {
	if err := t.Purge(ctx, id); err != nil {
		return err
	}
	return t.kv.Delete(ctx, "s."+id)
}

// Session finds a session by its id; false when there is none.
func (t *Tenant) Session(ctx context.Context, id string) (wire.Session, bool, error) {
	t.dir.mu.Lock()
	s, ok := t.dir.sessions[id]
	t.dir.mu.Unlock()
	if ok || !ValidName(id) {
		return s, ok, nil
	}
	// It may be newer than what the watch has brought.
	s, rev, err := t.session(ctx, id)
	return s, rev != 0, err
}

// Sessions are the sessions that match, the newest first.
func (t *Tenant) Sessions(p wire.SessionsParams) []wire.Session {
	t.dir.mu.Lock()
	defer t.dir.mu.Unlock()
	return t.dir.list(p)
}

func (d *directory) list(p wire.SessionsParams) []wire.Session {
	var out []wire.Session
	for _, s := range d.sessions {
		if matches(s, p) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b wire.Session) int {
		if a.Updated != b.Updated {
			return int(max(-1, min(1, b.Updated-a.Updated)))
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}

func matches(s wire.Session, p wire.SessionsParams) bool {
	return (p.Host == "" || p.Host == s.Host) && (p.Dir == "" || p.Dir == s.Dir)
}

// PutHost says that a host is there, or not.
func (t *Tenant) PutHost(ctx context.Context, c Connection) error {
	if !ValidName(c.Host.ID) {
		return wire.Errorf(wire.CodeInvalid, "host.id: want 1 to 64 letters, digits, - and _, got %q", c.Host.ID)
	}
	value, err := wire.Marshal(c)
	if err != nil {
		return fmt.Errorf("encoding a host: %w", err)
	}
	_, err = t.kv.Put(ctx, "h."+c.Host.ID, value)
	t.store.wrote("kv_"+t.name, err)
	if err != nil {
		return fmt.Errorf("storing host %s: %w", c.Host.ID, err)
	}
	return nil
}

// RenewHost is PutHost for a connection that has said so before. When a newer one has
// taken over it does nothing.
func (t *Tenant) RenewHost(ctx context.Context, c Connection) error {
	e, err := t.kv.Get(ctx, "h."+c.Host.ID)
	if err != nil {
		return fmt.Errorf("reading host %s: %w", c.Host.ID, err)
	}
	var has Connection
	if err := json.Unmarshal(e.Value(), &has); err != nil || has.ID != c.ID {
		return err
	}
	return t.updateHost(ctx, c, e.Revision())
}

// updateHost replaces the entry of a revision; a newer one is left.
func (t *Tenant) updateHost(ctx context.Context, c Connection, revision uint64) error {
	value, err := wire.Marshal(c)
	if err != nil {
		return fmt.Errorf("encoding a host: %w", err)
	}
	_, err = t.kv.Update(ctx, "h."+c.Host.ID, value, revision)
	t.store.wrote("kv_"+t.name, err)
	if err != nil && !isWrongSequence(err) && !errors.Is(err, jetstream.ErrKeyExists) {
		return fmt.Errorf("storing host %s: %w", c.Host.ID, err)
	}
	return nil
}

// HostOf is a host as the bucket has it now; false when there is none.
func (t *Tenant) HostOf(ctx context.Context, id string) (Connection, bool, error) {
	if !ValidName(id) {
		return Connection{}, false, nil
	}
	var c Connection
	e, err := t.kv.Get(ctx, "h."+id)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return c, false, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value(), &c)
	}
	if err != nil {
		return c, false, fmt.Errorf("reading host %s: %w", id, err)
	}
	c.Seen = time.Now() // unless the directory has it already
	t.dir.mu.Lock()
	defer t.dir.mu.Unlock()
	if known := t.dir.hosts[id]; known.ID == c.ID && known.Host.LastSeen == c.Host.LastSeen {
		c.Seen = known.Seen
	}
	return c, true, nil
}

// LeaveHost says that a connection of a host is gone. A newer connection is left.
func (t *Tenant) LeaveHost(ctx context.Context, host, connection string, lastSeen int64) error {
	e, err := t.kv.Get(ctx, "h."+host)
	if err != nil {
		return fmt.Errorf("reading host %s: %w", host, err)
	}
	var c Connection
	if err := json.Unmarshal(e.Value(), &c); err != nil || c.ID != connection {
		return err
	}
	c.ID, c.Host.Online, c.Host.LastSeen = "", false, lastSeen
	return t.updateHost(ctx, c, e.Revision())
}

// Hosts are the hosts, by name.
func (t *Tenant) Hosts() []Connection {
	t.dir.mu.Lock()
	defer t.dir.mu.Unlock()
	out := make([]Connection, 0, len(t.dir.hosts))
	for _, c := range t.dir.hosts {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Connection) int {
		return strings.Compare(a.Host.Name+"\x00"+a.Host.ID, b.Host.Name+"\x00"+b.Host.ID)
	})
	return out
}

// Change is a session or a host that came, changed or went: one member is set.
type Change struct {
	Session *wire.Session
	// Removed is the id of a session that is gone.
	Removed string
	Host    *Connection
}

// Watch gives the sessions that match and then every change of them and of hosts,
// from the same moment, until ctx is over. Changes of one thing may be merged.
func (t *Tenant) Watch(ctx context.Context, p wire.SessionsParams) ([]wire.Session, iter.Seq[Change]) {
	d := &t.dir
	w := &watcher{sessions: map[string]bool{}, hosts: map[string]bool{}, wake: make(chan struct{}, 1)}
	d.mu.Lock()
	list := d.list(p)
	d.watchers[w] = true
	d.mu.Unlock()
	context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.watchers, w)
	})
	known := map[string]bool{}
	for _, s := range list {
		known[s.ID] = true
	}
	return list, func(yield func(Change) bool) {
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.store.ctx.Done():
				return
			case <-w.wake:
			}
			for _, c := range d.changes(w, p, known) {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// changes takes what w was told of. known are the sessions that its reader has.
func (d *directory) changes(w *watcher, p wire.SessionsParams, known map[string]bool) []Change {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Change
	for id := range w.sessions {
		s, ok := d.sessions[id]
		switch {
		case ok && matches(s, p):
			known[id] = true
			out = append(out, Change{Session: &s})
		case known[id]:
			delete(known, id)
			out = append(out, Change{Removed: id})
		}
	}
	for id := range w.hosts {
		if c, ok := d.hosts[id]; ok && (p.Host == "" || p.Host == id) {
			out = append(out, Change{Host: &c})
		}
	}
	clear(w.sessions)
	clear(w.hosts)
	return out
}
