package host

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host/screen"
	"github.com/agenthost/agenthost/host/stamp"
	"github.com/agenthost/agenthost/internal/proc"
	"github.com/agenthost/agenthost/journal"
	"github.com/nrednav/cuid2"
)

// newSession checks the configuration and opens the session's files.
func newSession(cfg Config) (*Session, error) {
	if cfg.Adapter == nil {
		return nil, errors.New("host.Config.Adapter: want an adapter, got nil")
	}
	for name, dir := range map[string]string{"Dir": cfg.Dir, "StateDir": cfg.StateDir} {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("host.Config.%s: want an absolute path, got %q", name, dir)
		}
	}
	if info, err := os.Stat(cfg.Dir); err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("working directory %q: want a directory", cfg.Dir)
	}
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.NewID == nil {
		cfg.NewID = cuid2.Generate
	}
	if cfg.ID == "" {
		cfg.ID = cfg.NewID()
	}
	if !cuid2.IsCuid(cfg.ID) {
		return nil, fmt.Errorf("host.Config.ID: want a cuid2, got %q", cfg.ID)
	}
	if cfg.Start == nil {
		cfg.Start = Processes(nil)
	}
	if cfg.Resolve == nil {
		cfg.Resolve = proc.Resolve
	}
	if cfg.Record == nil {
		cfg.Record = noRecord{}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Session{
		cfg: cfg, dir: SessionDir(cfg.StateDir, cfg.ID), log: cfg.Logger,
		inbox: newInbox(), live: newBroadcast(), done: make(chan struct{}),
		asks: map[string]*ask{}, unasked: map[string]contract.Envelope{}, waiting: map[string]func(adapters.Outcome){},
	}
	if err := s.mayHave(cfg.Face); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	s.effects = newEffects(append([]string{cfg.Dir}, cfg.Options.Dirs...), s.inbox)
	s.metaFile = newMetaWriter(s.dir)
	if cfg.Journal.Damaged == nil {
		cfg.Journal.Damaged = s.damaged
	}
	var err error
	if s.journal, err = journal.Open(filepath.Join(s.dir, "journal"), cfg.Journal); err != nil {
		return nil, err
	}
	if _, ok := cfg.Adapter.(adapters.TerminalAdapter); ok {
		s.screen = screen.New(screen.Options{Cols: cfg.Cols, Rows: cfg.Rows, Logger: cfg.Logger})
	}
	return s, nil
}

// damaged tells of a place of the journal that cannot be read: what stood there
// is lost, and a reader of the stream must not think it whole. The same place is
// met by every reader and told once.
func (s *Session) damaged(d journal.Damage) {
	if _, told := s.damage.LoadOrStore(d.Position, true); told {
		return
	}
	s.log.Error("the journal is damaged: a part of the session cannot be read",
		"session", s.cfg.ID, "position", int64(d.Position), "envelopes", d.Lines, "err", d.Err)
}

// restore takes up what an earlier run left: the metadata, and the stream, whose
// open turn (if a crash left one) is ended.
func (s *Session) restore() error {
	s.stamper = stamp.New(stamp.Config{NewID: s.cfg.NewID, Now: now})
	if err := s.restoreMeta(); err != nil {
		return err
	}
	if native := s.cfg.Options.Resume; native != s.meta.Facts.NativeSession {
		s.said = native // by somebody; restoreStream knows of our own
	}
	if err := s.restoreStream(); err != nil {
		return err
	}
	s.first = s.journal.End()
	if s.cfg.Control != "" {
		s.append(s.stamper.Agent(adapters.Draft{Event: contract.SessionControlChanged{ClientType: s.cfg.Control}})...)
	}
	for _, n := range s.cfg.Notices {
		s.service(contract.ServiceNotice, "", n)
	}
	s.saveMeta()
	return s.broken
}

// restoreStream takes up the stream and ends what a crash left open in it.
func (s *Session) restoreStream() error {
	if s.journal.End() == 0 {
		return nil
	}
	waiting := unanswered{theirs: readTyped(s.dir)}
	if err := s.stamper.Restore(waiting.watching(s.journal.Envelopes())); err != nil {
		return fmt.Errorf("reading the session's journal: %w", err)
	}
	s.append(s.stamper.Finish(contract.TurnFailed, &contract.Error{
		Code: contract.CodeHostStopped, Message: "the host ended before the turn did",
	})...)
	s.takeUp(&waiting)
	if kept := s.journal.Oldest() == 0; waiting.turns || !kept {
		s.said = s.meta.Facts.NativeSession
		s.unsaved = kept && !waiting.ended && s.meta.NativeOpened != 0
	}
	return nil
}

// restoreMeta takes up the session's metadata. Those that make no sense are kept
// aside under another name, since a person can read what we cannot; those that
// cannot be read at all may be whole, so the session does not start over them.
func (s *Session) restoreMeta() error {
	s.meta = newMeta(s.cfg, now())
	old, err := readMeta(s.cfg.StateDir, s.cfg.ID)
	var bad *metaError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &bad):
		aside := fmt.Sprintf("%s.bad-%d", bad.path, now().UnixMilli())
		if err := os.Rename(bad.path, aside); err != nil {
			return fmt.Errorf("keeping the session's unreadable metadata: %w", err)
		}
		s.log.Warn("the session's metadata make no sense and are kept aside", "session", s.cfg.ID, "file", aside, "err", err)
		return nil
	case err != nil:
		return fmt.Errorf("reading the session's metadata: %w", err)
	}
	s.meta.Created, s.meta.Facts, s.meta.NativeOpened = old.Created, old.Facts, old.NativeOpened
	s.former = &old.Face
	if s.meta.Title == "" {
		s.meta.Title = old.Title
	}
	s.restoreBranch(old)
	return nil
}
