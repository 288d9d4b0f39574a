package daemon

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/relay/wire"
)

// entry is one session of the daemon, whether its agent runs or not.
type entry struct {
	d  *Daemon
	id string
	// life is held by whoever starts, stops or removes the session: it holds one
	// value while nobody does.
	life chan struct{}
	// gone is closed when the session is removed.
	gone chan struct{}
	// sending is held by whoever sends a message with its files; as life.
	sending chan struct{}
	// poked holds a value when the session is to be looked at.
	poked chan struct{}
	// places are the viewers' before the agent's screen.
	places attachments

	mu sync.Mutex
	// The rest is guarded by mu.

	run   *host.Session // nil when it does not run here
	state wire.State
	// before is set while run was started in another face and has not opened yet.
	before *before
	// foreign: another process runs it.
	foreign bool
	meta    host.Meta
	status  host.Status // of run, as it was last looked at
	rec     record
	// env is the environment that its agent was given. Nil is the host's own, in the place
	// of a given one whose names rec has.
	env *wire.Environment
	// version is that of told, a sum of the metadata as they were published last.
	version int64
	told    [sha256.Size]byte
	viewers int
	// restarting: the agent died and will be started again by itself; tries counts
	// that since the last turn that ended well.
	restarting bool
	tries      int
	// requeue: the next start takes up the prompts that the last run left waiting.
	requeue bool
	// moved is closed when the summary moves on, or the run ends; nil when nobody
	// waits for it.
	moved chan struct{}
	// active is when it was last used.
	active time.Time
}

func newEntry(d *Daemon, id string) *entry {
	e := &entry{d: d, id: id, life: make(chan struct{}, 1), gone: make(chan struct{}), poked: make(chan struct{}, 1), state: wire.StateStopped, active: time.Now()}
	e.life <- struct{}{}
	e.sending = make(chan struct{}, 1)
	e.sending <- struct{}{}
	return e
}

// lock takes the right to start, stop or remove the session.
func (e *entry) lock(ctx context.Context) error {
	select {
	case <-e.life:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case <-e.gone:
		e.unlock()
		return wire.Errorf(wire.CodeNotFound, "no session %s: it was removed", e.id)
	default:
		return nil
	}
}

func (e *entry) unlock() { e.life <- struct{}{} }

// current is the session that runs, nil when none does.
func (e *entry) current() *host.Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.run
}

// moveLocked wakes those who wait for the summary.
func (e *entry) moveLocked() {
	if e.moved != nil {
		close(e.moved)
		e.moved = nil
	}
}

// use notes that somebody wants something of the session.
func (e *entry) use() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.active = time.Now()
}

// load takes up what an earlier daemon knew of the session, whose meta is set.
func (e *entry) load() {
	rec, err := readRecord(e.d.cfg.StateDir, e.id)
	if err != nil {
		e.d.log.Warn("reading what is known of a session; it is found out again", "session", e.id, "err", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rec = rec
	e.version = max(rec.Reserved, e.version)
	if len(rec.Told) == len(e.told) {
		e.version = rec.Reserved - 1
		copy(e.told[:], rec.Told)
	}
	if rec.Failed != nil {
		e.state = wire.StateFailed
	}
}

// settle ends what a crash left open and reads what the stream has beyond the
// summary. It is called when the session does not run here.
func (e *entry) settle() error {
	e.mu.Lock()
	rec := e.rec
	e.mu.Unlock()
	reader, err := journal.OpenReader(e.journalDir(), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it never began
	}
	if err != nil {
		return err
	}
	if rec.Settled && rec.Extent != nil {
		if now, err := reader.Extent(); err == nil && now == *rec.Extent {
			return nil // it is as it was
		}
	}
	_, end, err := reader.Bounds()
	if err != nil {
		return err
	}
	if !rec.Settled || end != rec.Sum.At {
		_, err := host.Settle(host.Stored{StateDir: e.d.cfg.StateDir, ID: e.id, Journal: e.d.cfg.Journal, Logger: e.d.log})
		foreign := errors.Is(err, journal.ErrLocked)
		e.mu.Lock()
		e.foreign = foreign
		e.mu.Unlock()
		if err != nil && !foreign {
			return err
		}
	}
	return e.catchUp(reader)
}

// catchUp folds what the stream has beyond the summary.
func (e *entry) catchUp(reader *journal.Reader) error {
	extent, err := reader.Extent() // before Bounds: what comes in between is read again
	if err != nil {
		return err
	}
	oldest, end, err := reader.Bounds()
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	sum := &e.rec.Sum
	if sum.At > end { // the journal lost its end: begin anew
		*sum = summary{}
	}
	changed := !e.rec.Settled || sum.At != end || e.rec.Extent == nil || *e.rec.Extent != extent
	for r, err := range reader.Read(max(sum.At, oldest), end) {
		if err != nil {
			return err
		}
		sum.At = r.Position
		sum.apply(r.Envelope)
	}
	e.rec.Settled = !e.foreign
	e.keepExtent(extent)
	if changed {
		e.saveLocked(false)
	}
	return nil
}

// keepExtent notes how far the stream goes that is Settled, so that the next daemon need
// not read it. Without syncs a file may have its size and not yet what is in it, when the
// machine stops.
func (e *entry) keepExtent(x journal.Extent) {
	e.rec.Extent = nil
	if e.rec.Settled && e.d.cfg.Journal.Sync != journal.SyncOff {
		e.rec.Extent = &x
	}
}

func (e *entry) journalDir() string {
	return filepath.Join(host.SessionDir(e.d.cfg.StateDir, e.id), "journal")
}

// saveLocked keeps the record.
func (e *entry) saveLocked(durable bool) {
	if err := e.rec.write(e.d.cfg.StateDir, e.id, durable); err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.d.log.Error("keeping what is known of a session", "session", e.id, "err", err)
	}
}

// publish gives the metadata a new version when they changed, and tells those who
// watch.
func (e *entry) publish() {
	e.mu.Lock()
	changed := e.publishLocked()
	e.mu.Unlock()
	if changed {
		e.d.hub.tell(e.id)
	}
}

// publishLocked reports whether there is something to tell.
func (e *entry) publishLocked() bool {
	s := e.describeLocked()
	s.Version, s.End, s.Oldest, s.Updated = 0, 0, 0, 0
	text, err := wire.Marshal(s)
	now := sha256.Sum256(text) // the text would be most of what a session that rests holds
	if err == nil && now == e.told {
		return false
	}
	e.told = now
	e.bumpLocked()
	return true
}

// bumpLocked makes a version that was never told before.
func (e *entry) bumpLocked() {
	e.version++
	switch {
	case e.run == nil:
		// It rests, and may do so for many starts of the daemon.
		e.rec.Reserved, e.rec.Told = e.version+1, e.told[:]
		e.saveLocked(true)
	case e.version >= e.rec.Reserved:
		e.reserveLocked()
		e.saveLocked(true)
	}
}

// reserveLocked makes room for versions of which the disk need not hear.
func (e *entry) reserveLocked() { e.rec.Reserved, e.rec.Told = e.version+reserve, nil }

// session is the metadata as they are now.
func (e *entry) session() wire.Session {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.describeLocked()
}

func (e *entry) describeLocked() wire.Session {
	m, sum := e.meta, &e.rec.Sum
	s := wire.Session{
		ID: e.id, Version: e.version, Host: e.d.host.ID, Agent: m.Agent, Dir: m.Dir,
		Title:  cmp.Or(e.rec.Title, m.Title, m.Facts.Title),
		Parent: m.Parent, ParentOrigin: m.Origin,
		Created: m.Created, Updated: max(sum.Updated, m.Updated), State: e.stateLocked(), Status: e.statusLocked(),
		Archived: e.rec.Archived, End: int64(sum.At), Asks: len(sum.Asks), Queued: e.status.Queued,
		Config: e.configLocked(), Control: sum.Control, Models: m.Facts.Models, Native: m.Facts.NativeSession,
		Usage: sum.Usage, Error: e.rec.Failed,
	}
	if sp := e.rec.Spawn; sp != nil {
		s.Agent, s.Dir = cmp.Or(s.Agent, sp.Agent), cmp.Or(s.Dir, sp.Dir)
	}
	if e.run != nil {
		s.Oldest, s.End = int64(e.run.Journal().Oldest()), int64(e.run.Journal().End())
	}
	for _, c := range m.Facts.Commands {
		s.Commands = append(s.Commands, wire.SlashCommand{Name: c.Name, Description: c.Description, Hint: c.Hint})
	}
	s.Face = wireFace(m.Face)
	s.Screen = e.run != nil && e.run.Screen() != nil && m.Face == adapters.FaceTerminal
	s.Capabilities, s.Missing = e.capabilitiesLocked()
	return s
}

func (e *entry) stateLocked() wire.State {
	if e.foreign {
		return wire.StateRunning
	}
	if e.restarting && (e.run == nil || e.status.Phase == host.PhaseDown) {
		return wire.StateRestarting
	}
	if e.run == nil || e.state != wire.StateRunning {
		return e.state
	}
	switch e.status.Phase {
	case host.PhaseStarting:
		return wire.StateStarting
	case host.PhaseRestarting:
		return wire.StateRestarting
	case host.PhaseStopping:
		return wire.StateStopping
	case host.PhaseDown, host.PhaseOver:
		return wire.StateStopped
	}
	return wire.StateRunning
}

func (e *entry) statusLocked() session.Status {
	st := cmp.Or(e.rec.Sum.Status, session.StatusIdle)
	if e.rec.Archived && st != session.StatusBusy {
		return session.StatusArchived
	}
	return st
}

// configLocked is what holds: what the stream told last, else what the agent told,
// else what the session was started with. The mode is the mediator's.
func (e *entry) configLocked() wire.Configuration {
	c, f := e.rec.Sum.Config, e.meta.Facts
	var sp wire.SpawnParams
	if e.rec.Spawn != nil {
		sp = *e.rec.Spawn
	}
	c.Model = cmp.Or(c.Model, f.Model, sp.Model)
	c.ThinkingLevel = cmp.Or(c.ThinkingLevel, f.Thinking, sp.Thinking)
	c.PermissionMode = cmp.Or(c.PermissionMode, contract.PermissionMode(sp.Mode))
	if e.run != nil {
		c.PermissionMode = e.d.cfg.Mediator.Mode(e.id)
	}
	if c.Sandbox == nil && sp.Sandbox {
		c.Sandbox = &sp.Sandbox
	}
	return c
}

// capabilitiesLocked are what the agent can do now, and why not of the others.
func (e *entry) capabilitiesLocked() ([]session.Capability, map[session.Capability]string) {
	if e.run == nil {
		return nil, nil
	}
	have := map[session.Capability]bool{}
	for _, c := range e.status.Capabilities {
		have[c] = true
	}
	missing := map[session.Capability]string{}
	for _, claim := range adapters.DescribeFace(e.run.Adapter(), e.meta.Face).Claims {
		if !have[claim.Capability] {
			missing[claim.Capability] = cmp.Or(claim.Reason, "the agent did not offer it")
		}
	}
	return e.status.Capabilities, missing
}
