package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nrednav/cuid2"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

// Daemon keeps the sessions of one user. Open makes it.
type Daemon struct {
	cfg   Config
	log   *slog.Logger
	host  wire.Host
	lock  *lock
	hub   *hub
	files *fileStore
	// slots bounds the agents that run at once: it holds a value for each.
	slots chan struct{}
	// waits bounds the calls of other machines that wait for a screen.
	waits chan struct{}

	// ctx ends with the daemon's own goroutines, which wg counts.
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	listing sync.Mutex
	lister  host.Lister // guarded by listing

	mu       sync.Mutex
	sessions map[string]*entry // guarded by mu
	// stale are sessions that another process changed, as it left them. guarded by mu
	stale map[string]host.Meta
	// offers are what the sessions of an agent offered last. guarded by mu
	offers  map[string]adapters.Facts
	closing bool // guarded by mu; nothing starts any more
	// watched is what rules are about, by an agent's name, since they changed first; nil
	// before. guarded by mu
	watched func(agent string) []adapters.Use
}

// Open takes the state directory, ends what a crash left open in it, and starts
// the agents again that are to go on. A *RunningError says that another daemon has
// it.
func Open(cfg Config) (*Daemon, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if err := privateDir(cfg.StateDir); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	machine := thisMachine()
	if cfg.Machine != nil {
		machine = *cfg.Machine
	}
	l, err := acquire(cfg.StateDir, machine, cfg.Host.Version)
	if err != nil {
		return nil, err
	}
	d := &Daemon{
		cfg: cfg, log: cfg.Logger, lock: l, hub: newHub(), slots: make(chan struct{}, cfg.Limits.Sessions),
		waits:    make(chan struct{}, remoteWaits),
		lister:   host.Lister{StateDir: cfg.StateDir},
		sessions: map[string]*entry{}, stale: map[string]host.Meta{}, offers: map[string]adapters.Facts{},
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	if err := d.begin(machine); err != nil {
		d.cancel()
		l.release()
		return nil, err
	}
	d.wg.Go(d.tend)
	return d, nil
}

func (c *Config) check() error {
	if !filepath.IsAbs(c.StateDir) {
		return fmt.Errorf("daemon.Config.StateDir: want an absolute path, got %q", c.StateDir)
	}
	if c.Mediator == nil || c.Prepare == nil {
		return errors.New("daemon.Config: want a Mediator and Prepare, got nil")
	}
	c.Limits = c.Limits.withDefaults()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// begin reads what is there.
func (d *Daemon) begin(m Machine) error {
	var err error
	if d.host, err = hostOf(d.cfg, m); err != nil {
		return err
	}
	if d.files, err = openFiles(filepath.Join(d.cfg.StateDir, "files"), d.cfg.Limits.FilesBytes); err != nil {
		return err
	}
	return d.takeUp(d.cfg.Resume)
}

// hostOf is what is told of this host. Its id is made once for a state directory.
func hostOf(cfg Config, m Machine) (wire.Host, error) {
	h := cfg.Host
	h.OS, h.Arch, h.Name, h.Online = cmp.Or(h.OS, runtime.GOOS), cmp.Or(h.Arch, runtime.GOARCH), cmp.Or(h.Name, m.Name), true
	if h.ID != "" {
		return h, nil
	}
	path := filepath.Join(cfg.StateDir, "host-id")
	data, err := os.ReadFile(path)
	if id := strings.TrimSpace(string(data)); err == nil && cuid2.IsCuid(id) {
		h.ID = id
		return h, nil
	}
	h.ID = cuid2.Generate()
	return h, replace(path, []byte(h.ID+"\n"), true)
}

// scan takes up the sessions of the state directory that are not known yet.
func (d *Daemon) scan() error { return d.takeUp(false) }

// takeUp is scan that starts, with again, the agents that ran when the host ended.
// All others are settled. Those that are known and changed are noted for refresh.
func (d *Daemon) takeUp(again bool) error {
	fresh, err := d.news()
	if err != nil {
		return err
	}
	severally(fresh, func(e *entry) { e.recover(again) })
	return nil
}

// severally calls f with each session, with some at once, and waits.
func severally(all []*entry, f func(*entry)) {
	var wg sync.WaitGroup
	at := make(chan struct{}, scanAtOnce)
	for _, e := range all {
		at <- struct{}{}
		wg.Go(func() {
			defer func() { <-at }()
			f(e)
		})
	}
	wg.Wait()
}

// news enters what other processes made in the state directory, and returns it.
func (d *Daemon) news() (fresh []*entry, err error) {
	d.listing.Lock()
	defer d.listing.Unlock()
	news, err := d.lister.List()
	if err != nil {
		return nil, err
	}
	found := make([]*entry, 0, len(news.Changed))
	d.mu.Lock()
	for _, m := range news.Changed {
		if d.sessions[m.ID] != nil {
			d.stale[m.ID] = m
			continue
		}
		d.shareLocked(&m.Facts, m.Agent)
		e := newEntry(d, m.ID)
		e.meta = m
		found = append(found, e)
	}
	d.mu.Unlock()
	severally(found, (*entry).load)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range found {
		if d.sessions[e.id] != nil {
			d.stale[e.id] = e.meta // it was begun here meanwhile
			continue
		}
		d.sessions[e.id] = e
		fresh = append(fresh, e)
	}
	for _, id := range slices.Concat(news.Unread, news.Gone) {
		if d.sessions[id] != nil {
			d.stale[id] = host.Meta{}
		}
	}
	return fresh, nil
}

// shareLocked lets sessions of an agent that offer the same hold it once: models and
// commands are most of what is kept of a session that rests.
func (d *Daemon) shareLocked(f *adapters.Facts, agent string) {
	has := d.offers[agent]
	share(&f.Models, &has.Models)
	share(&f.Modes, &has.Modes)
	share(&f.Thinkings, &has.Thinkings)
	share(&f.Commands, &has.Commands)
	share(&f.Agents, &has.Agents)
	d.offers[agent] = has
}

// share replaces mine by the one that others have when it is the same; else others get
// mine.
func share[T comparable](mine, others *[]T) {
	if slices.Equal(*mine, *others) {
		*mine = *others
	} else if len(*mine) > 0 {
		*others = *mine
	}
}

// scanAtOnce is how many sessions are read at once at the start.
const scanAtOnce = 4

// recover brings a session into order that was left by another run of the host.
func (e *entry) recover(again bool) {
	e.mu.Lock()
	ran := e.rec.Ran && !e.rec.Archived
	e.requeue = again && ran
	e.mu.Unlock()
	if again && ran {
		// Its start ends what is open, and takes up the prompts that waited.
		_, err := e.ensure(e.d.ctx, wire.Caller{}, want{})
		if err == nil {
			return
		}
		e.d.log.Warn("starting an agent again", "session", e.id, "err", err)
	}
	if err := e.settle(); err != nil {
		e.d.log.Error("ending what a crash left open", "session", e.id, "err", err)
	}
	e.publish()
}

// Host is this host.
func (d *Daemon) Host() wire.Host { return d.host }

// list gives the sessions, in no order.
func (d *Daemon) list() []*entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]*entry, 0, len(d.sessions))
	for _, e := range d.sessions {
		all = append(all, e)
	}
	return all
}

func (d *Daemon) entry(id string) *entry {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sessions[id]
}

// find is the session that ref names (package sessionref).
func (d *Daemon) find(ref string) (*entry, error) {
	if e := d.entry(ref); e != nil {
		return e, nil
	}
	if err := d.scan(); err != nil {
		return nil, err
	}
	s, err := gateway.FindSession(ref, slices.Values(d.sorted(wire.SessionsParams{})))
	if err != nil {
		return nil, err
	}
	if e := d.entry(s.ID); e != nil {
		return e, nil
	}
	return nil, wire.Errorf(wire.CodeNotFound, "no session %q", ref) // removed just now
}

// newer orders sessions, the one that changed last first.
func newer(a, b wire.Session) bool {
	if a.Updated != b.Updated {
		return a.Updated > b.Updated
	}
	return a.ID < b.ID
}

// Close ends the daemon: nothing new is taken, every turn is aborted, every agent
// told goodbye and ended. When ctx ends first what is left is killed. It returns
// when no process is left and may be called again, also to hurry.
func (d *Daemon) Close(ctx context.Context) error {
	d.mu.Lock()
	first := !d.closing
	d.closing = true
	d.mu.Unlock()
	if first {
		d.cancel()
	}
	var wg sync.WaitGroup
	for _, e := range d.list() {
		wg.Go(func() { e.finish(ctx) })
	}
	wg.Wait()
	d.wg.Wait()
	if first {
		d.lock.release()
	}
	return nil
}

// Closing reports whether Close was called.
func (d *Daemon) Closing() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closing
}

// look is how often sessions are looked at that this process does not run.
const look = 10 * time.Second

// tend gives signs of life, stops idle agents, and looks for what other processes
// do in the state directory.
func (d *Daemon) tend() {
	beats, looks := time.NewTicker(beat), time.NewTicker(look)
	defer beats.Stop()
	defer looks.Stop()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-beats.C:
			d.lock.touch()
		case <-looks.C:
			d.stopIdle()
			if err := d.refresh(); err != nil {
				d.log.Warn("looking at the sessions", "err", err)
			}
		}
	}
}

// refresh looks at the sessions that do not run here and have changed: `agenthost run`
// makes and resumes some beside the daemon.
func (d *Daemon) refresh() error {
	if err := d.scan(); err != nil {
		return err
	}
	d.mu.Lock()
	stale := d.stale
	d.stale = map[string]host.Meta{}
	d.mu.Unlock()
	for _, e := range d.list() {
		if d.ctx.Err() != nil {
			return nil // Close waits
		}
		m, changed := stale[e.id]
		if (!changed || e.has(m)) && !e.isForeign() {
			continue
		}
		if !e.refresh() && changed {
			d.mu.Lock()
			d.stale[e.id] = m // next time
			d.mu.Unlock()
		}
	}
	return nil
}

// stopIdle stops the agents that nobody needs.
func (d *Daemon) stopIdle() {
	if d.cfg.Limits.Idle <= 0 {
		return
	}
	for _, e := range d.list() {
		if e.idleFor() < d.cfg.Limits.Idle {
			continue
		}
		d.wg.Go(func() {
			d.log.Info("stopping an idle agent", "session", e.id)
			if err := e.stop(d.ctx, false, true); err != nil && d.ctx.Err() == nil {
				d.log.Warn("stopping an idle agent", "session", e.id, "err", err)
			}
		})
	}
}

// sorted gives the metadata of all sessions that f keeps, the newest first.
func (d *Daemon) sorted(f wire.SessionsParams) []wire.Session {
	var all []wire.Session
	for _, e := range d.list() {
		if s := e.session(); keeps(f, s) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b wire.Session) int {
		if newer(a, b) {
			return -1
		}
		return 1
	})
	return all
}

func keeps(f wire.SessionsParams, s wire.Session) bool {
	return (f.Host == "" || f.Host == s.Host) && (f.Dir == "" || f.Dir == s.Dir)
}
