package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/filelock"
)

// NativeOpenError says that a session of this host's, in this process or another, has
// the agent's own session open. Two that write to one native session garble it.
type NativeOpenError struct {
	// Native is the agent's own session, Session the one that has it, empty when that is
	// not known.
	Native, Session string
}

func (e *NativeOpenError) Error() string {
	by := "another session"
	if e.Session != "" {
		by = "session " + e.Session
	}
	return fmt.Sprintf("the agent's session %s is open in %s: stop that one, or fork it", e.Native, by)
}

// claim is the agent's own session that this one holds, for as long as it lives: also
// while no child runs, since the next prompt starts one.
type claim struct {
	native string
	lock   *filelock.Lock // nil when it is another's, or cannot be locked
}

// claimNative takes the agent's own session for this one, in place of the one before.
// The error is a *NativeOpenError when another has it; the one before is given back all
// the same, since the agent has left it.
func (s *Session) claimNative(native string) error {
	if native == "" || native == s.claimed.native {
		return nil
	}
	s.unclaim()
	s.claimed.native = native
	sum := sha256.Sum256([]byte(s.cfg.Adapter.Name() + "\x00" + native))
	path := filepath.Join(s.cfg.StateDir, "native", hex.EncodeToString(sum[:12]))
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		s.claimed.lock, err = filelock.Try(path)
	}
	switch {
	case err == nil:
		err = s.claimed.lock.Note(s.cfg.ID)
	case errors.Is(err, filelock.ErrHeld):
		holder, _ := os.ReadFile(path) // what is not known is not told
		s.claimed.native = ""
		return &NativeOpenError{Native: native, Session: strings.TrimSpace(string(holder))}
	}
	if err != nil {
		// A disk without locks must not keep anybody from working.
		s.log.Warn("claiming the agent's session", "session", s.cfg.ID, "err", err)
	}
	return nil
}

func (s *Session) unclaim() {
	if s.claimed.lock != nil {
		s.claimed.lock.Unlock()
	}
	s.claimed = claim{}
}

// wentTo claims a session that the agent has gone to by itself, and warns of one that
// another has open: it cannot be kept from it any more.
func (s *Session) wentTo(native string) {
	if err := s.claimNative(native); err != nil {
		s.service(contract.ServiceNotice, "", "What is said here and there is mixed up in one conversation: "+err.Error()+".")
	}
}
