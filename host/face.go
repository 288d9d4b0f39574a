package host

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
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
// have is ErrUnsupported. An agent that is starting is waited for. When ctx ends first a
// hand-over that has begun goes on.
func (s *Session) SetFace(ctx context.Context, face adapters.Face, force bool) error {
	return s.await(ctx, func(done func(error)) { s.handOver(ctx, face, force, done) })
}

// handOver is a hand-over to another face that is under way. Prompts wait for its end.
type handOver struct {
	from, to adapters.Face
	// begun says that the former child was told to go.
	begun bool
	// failed is why the agent did not open its session in the new face; it is being
	// started in the former one again.
	failed *contract.Error
	done   func(error)
}

func (s *Session) handOver(ctx context.Context, face adapters.Face, force bool, done func(error)) {
	err := s.mayHave(face)
	if err == nil && face == adapters.FaceHeadless && s.meta.Face != face {
		// An agent that has only its screen says so before it is ended.
		if _, lerr := s.cfg.Adapter.Launch(s.launchRequest()); errors.Is(lerr, errors.ErrUnsupported) {
			err = lerr
		}
	}
	switch {
	case err != nil:
	case ctx.Err() != nil:
		err = context.Cause(ctx) // nobody wants it any more: a person may log in first, for long
	case s.state == closing || s.state == over:
		err = ErrStopping
	case s.hand != nil:
		err = &HandOverError{"it is being handed over already"}
	case s.move != nil || s.state == replacing:
		err = &HandOverError{"the agent is being started again"}
	case s.meta.Face == face:
		done(nil)
		return
	case s.state == opening && !force:
		s.waitOutcome(openID, func(adapters.Outcome) {
			s.followUp = append(s.followUp, func() { s.handOver(ctx, face, force, done) })
		})
		return
	default:
		s.quiet() // a turn of the agent's own that has come to rest
		if why := s.underWay(); why != "" && !force {
			err = &HandOverError{why}
		}
	}
	if err != nil {
		done(err)
		return
	}
	s.hand = &handOver{from: s.meta.Face, to: face, done: done}
	s.held++
	if s.busy() && s.state == open && !s.gaveUp {
		if err := s.abort(); err != nil {
			s.log.Warn("aborting for a hand-over", "session", s.cfg.ID, "err", err)
		}
		s.limitAbort()
	}
	s.goOver()
}

// underWay says what a hand-over would break off, empty when nothing.
func (s *Session) underWay() string {
	switch {
	case len(s.asks) > 0:
		return "a permission request is open"
	case s.busy():
		return "a turn runs"
	case s.stamper.Subagents() > 0:
		return "something works in the background"
	case s.held > 0:
		return "another change is under way"
	}
	return ""
}

// goOver ends the former child as soon as its turn has ended; exited starts the next.
func (s *Session) goOver() {
	if s.hand == nil || s.hand.begun || s.busy() && s.state == open && !s.gaveUp {
		return
	}
	s.hand.begun = true
	switch {
	case s.state == down:
		s.relaunch()
	case s.gaveUp:
		s.state = replacing // it is being stopped already
	default:
		s.replaceChild()
	}
}

// changeFace takes the face of the next child of a hand-over, with what holds now: the mode
// that the agent went into by itself, too, since nobody took it back.
func (s *Session) changeFace() {
	h := s.hand
	if h == nil {
		return
	}
	s.meta.Face = h.to
	if h.failed != nil {
		s.meta.Face = h.from
	}
	if s.cfg.Mediator != nil {
		s.cfg.Options.Mode = modeNow(s.cfg.Options.Mode, s.cfg.Mediator.Mode(s.cfg.ID))
	}
	s.saveMeta()
}

// modeNow is the mode that the next child is to be in: the one that holds. chosen may be
// one of the agent's own, which counts as the default one.
func modeNow(chosen string, holds contract.PermissionMode) string {
	switch {
	case holds != "" && holds != contract.ModeDefault:
		return string(holds)
	case slices.Contains([]contract.PermissionMode{contract.ModePlan, contract.ModeAcceptEdits, contract.ModeBypassPermissions}, contract.PermissionMode(chosen)):
		return string(contract.ModeDefault)
	}
	return chosen
}

// faceFailed notes that the agent did not open its session in the new face. It reports
// whether it is to be started in the former one.
func (s *Session) faceFailed(cause *contract.Error) bool {
	if s.hand == nil || s.hand.failed != nil {
		return false
	}
	s.hand.failed = cause
	return true
}

// handedOver ends the hand-over under way, if there is one.
func (s *Session) handedOver() {
	h := s.hand
	if h == nil {
		return
	}
	s.hand = nil
	s.held--
	if h.failed != nil {
		s.service(contract.ServiceError, h.failed.Code, "The session could not be handed over and is as it was: "+h.failed.Message)
		h.done(fmt.Errorf("handing over: %s", h.failed.Message))
		return
	}
	where := "without the agent's own screen"
	if h.to == adapters.FaceTerminal {
		where = "in the agent's own terminal"
	}
	s.service(contract.ServiceNotice, "", "The session goes on "+where+".")
	h.done(nil)
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
