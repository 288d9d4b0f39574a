package host

import (
	"context"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract/session"
)

// Phase is where a session's agent is in its life.
type Phase string

// The phases. A session whose agent is down starts it again for the next prompt.
const (
	PhaseStarting   Phase = "starting"
	PhaseReady      Phase = "ready"
	PhaseRestarting Phase = "restarting"
	PhaseDown       Phase = "down"
	PhaseStopping   Phase = "stopping"
	PhaseOver       Phase = "over"
)

// Status is a session as it is now, for those who list it.
type Status struct {
	Meta         Meta
	Capabilities []session.Capability
	Phase        Phase
	// Turn is the id of the turn that runs, empty for none.
	Turn string
	// Queued is the number of prompts that wait, Asks that of the open asks.
	Queued, Asks int
}

// Status is a snapshot. When the session is over it is ErrOver.
func (s *Session) Status(ctx context.Context) (Status, error) {
	var st Status
	err := s.do(ctx, func() error {
		st = Status{
			Meta: s.meta.clone(), Capabilities: s.capabilities(), Phase: s.phase(), Turn: s.stamper.Turn(),
			Queued: len(s.queue), Asks: len(s.asks),
		}
		return nil
	})
	if err != nil {
		return Status{}, err // the loop may still write st
	}
	return st, nil
}

// Took reports whether the session took an input under this id of an envelope
// before. What is sent under it again has no effect.
func (s *Session) Took(ctx context.Context, id string) (bool, error) {
	var took bool
	if err := s.do(ctx, func() error { took = s.stamper.Took(id); return nil }); err != nil {
		return false, err // the loop may still write took
	}
	return took, nil
}

func (s *Session) phase() Phase {
	switch s.state {
	case down:
		return PhaseDown
	case opening:
		if s.restart > 0 {
			return PhaseRestarting
		}
		return PhaseStarting
	case open:
		return PhaseReady
	case closing:
		return PhaseStopping
	case over:
		return PhaseOver
	}
	return PhaseRestarting
}

// glance is what of a session makes its Status change.
type glance struct {
	phase               Phase
	face                adapters.Face
	turn                string
	queued, asks, facts int
}

// tell calls Changed when something did.
func (s *Session) tell() {
	if s.cfg.Changed == nil {
		return
	}
	g := glance{s.phase(), s.meta.Face, s.stamper.Turn(), len(s.queue), len(s.asks), s.facts}
	if g != s.told {
		s.told = g
		s.cfg.Changed()
	}
}
