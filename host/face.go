package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/host/screen"
)

// Face is how the agent shows itself, or will when it is started again.
func (s *Session) Face(ctx context.Context) (adapters.Face, error) {
	var f adapters.Face
	if err := s.do(ctx, func() error { f = s.meta.Face; return nil }); err != nil {
		return "", err // the loop may still write f
	}
	return f, nil
}

// Screen is what the agent's own screen shows, over all its children. It is nil for an
// adapter without a terminal face, and blank while the session has another face.
func (s *Session) Screen() *screen.Hub { return s.screen }

// HandOverError says what a hand-over would break off. With force it is broken off.
type HandOverError struct{ Why string }

func (e *HandOverError) Error() string {
	return "the session cannot be handed over now: " + e.Why
}

// Is makes it an ErrBusy.
func (e *HandOverError) Is(target error) bool { return target == ErrBusy }

// SetFace hands the session over to another face of its agent: the child ends and is
// gone before the next is started, with the agent's own session and the mode and model
// that hold. It returns when that one's session is open, or with the reason why it is
// not; the former face is taken back then. Prompts that come meanwhile are run after it.
//
// While a turn runs, an ask is open or something works in the background it is a
// *HandOverError; with force the turn is aborted first. A face that the adapter does not
// have is ErrUnsupported. When ctx ends first the hand-over goes on.
func (s *Session) SetFace(ctx context.Context, face adapters.Face, force bool) error {
	return s.await(ctx, func(done func(error)) { done(s.mayHave(face)) })
}

// mayHave is nil when the adapter has a face.
func (s *Session) mayHave(face adapters.Face) error {
	switch face {
	case adapters.FaceHeadless:
		return nil
	case adapters.FaceTerminal:
		if _, ok := s.cfg.Adapter.(adapters.TerminalAdapter); ok {
			return nil
		}
		return fmt.Errorf("%s has no screen of its own that a session can have: %w", s.cfg.Adapter.Describe().Title, errors.ErrUnsupported)
	}
	return fmt.Errorf("face: want %q or %q, got %q", adapters.FaceHeadless, adapters.FaceTerminal, face)
}
