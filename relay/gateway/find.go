package gateway

import (
	"errors"
	"iter"

	"github.com/agenthost/agenthost/internal/sessionref"
	"github.com/agenthost/agenthost/relay/wire"
)

// FindSession is the session that ref names among all, the one that was changed last
// first (package sessionref). Its error is a *wire.Error.
func FindSession(ref string, all iter.Seq[wire.Session]) (wire.Session, error) {
	s, err := sessionref.Find(ref, all, func(s wire.Session) (id, native string) { return s.ID, s.Native }, nil)
	var many *sessionref.AmbiguousError
	switch {
	case err == nil:
		return s, nil
	case errors.Is(err, sessionref.ErrEmpty):
		return s, wire.Errorf(wire.CodeInvalid, "session: %v", err)
	case errors.As(err, &many):
		return s, wire.Errorf(wire.CodeAmbiguous, "%v", err)
	case ref == sessionref.Last:
		return s, wire.Errorf(wire.CodeNotFound, "there is no session yet")
	}
	return s, wire.Errorf(wire.CodeNotFound, "no session %q", clip(ref))
}
