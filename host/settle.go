package host

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host/stamp"
	"github.com/agenthost/agenthost/journal"
	"github.com/nrednav/cuid2"
)

// Stored names a session that does not run.
type Stored struct {
	StateDir, ID string
	Journal      journal.Options
	// Logger is nil for silence.
	Logger *slog.Logger
}

// Settle ends what a crash left open in the stream of a session that does not run:
// its turn with all that is in it. Then it takes down the user's envelopes of add,
// as Submit would; one that the stream has already is left out. It returns where
// the stream ends. journal.ErrLocked says that the session runs somewhere.
func Settle(o Stored, add ...contract.Envelope) (journal.Position, error) {
	s := &Session{cfg: Config{ID: o.ID, StateDir: o.StateDir}, dir: SessionDir(o.StateDir, o.ID), log: o.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if _, err := os.Stat(s.dir); err != nil {
		return 0, err // opening the journal would make it
	}
	o.Journal.Damaged = s.damaged
	var err error
	if s.journal, err = journal.Open(filepath.Join(s.dir, "journal"), o.Journal); err != nil {
		return 0, err
	}
	err = s.settle(add)
	end := s.journal.End()
	if cerr := s.journal.Close(); err == nil {
		err = cerr
	}
	return end, err
}

func (s *Session) settle(add []contract.Envelope) error {
	s.stamper = stamp.New(stamp.Config{NewID: cuid2.Generate, Now: now})
	if err := s.restoreStream(); err != nil {
		return err
	}
	for _, env := range add {
		if _, err := s.user(env, env.Event); err != nil {
			return fmt.Errorf("taking down a %s: %w", env.Event.EventType(), err)
		}
	}
	s.sync()
	return s.broken
}
