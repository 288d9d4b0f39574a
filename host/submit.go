package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/host/stamp"
	"github.com/agenthost/agenthost/permission"
)

// Input is what a person sends to a session.
type Input struct {
	// Envelope is a user envelope. Its ID is kept when it is a fresh cuid2;
	// an ID that the stream has already is not taken twice. Time and Turn are
	// the host's.
	Envelope contract.Envelope
	// Files go with a text.
	Files []adapters.Attachment
	// Queue lets a steer that the agent cannot take wait as the next prompt, as the
	// text's own Fallback does.
	Queue bool
	// By says who sends it, for decisions.
	By contract.DecisionBy
	// Nonce is that of the ask which a decision is about, empty for the one that is
	// open. Scope and TTL are those of what allow-always remembers.
	Nonce string
	Scope permission.Scope
	TTL   time.Duration
}

// Submit takes a user envelope: text (a prompt, or with Steer a message to the
// running turn), file, abort, permission-response or agent-configuration-changed.
// When it returns without error the input is in the journal or, for a decision
// and a configuration, was accepted by whoever decides that.
func (s *Session) Submit(ctx context.Context, in Input) error {
	switch ev := in.Envelope.Event.(type) {
	case contract.Text:
		return s.do(ctx, func() error { return s.takeText(in, ev) })
	case contract.File:
		return s.do(ctx, func() error { return s.takeFile(in, ev) })
	case contract.Abort:
		return s.do(ctx, func() error { return s.takeAbort(in, ev) })
	case contract.PermissionResponse:
		return s.decide(ctx, in, ev)
	case contract.AgentConfigurationChanged:
		wait, err := s.beginConfigure(configureOf(ev), in)
		if err != nil {
			return err
		}
		return wait(ctx)
	case contract.Unknown, contract.SessionControlChanged:
		// A newer peer's event is kept for newer readers; a change of control is a record.
		return s.do(ctx, func() error { _, err := s.user(in.Envelope, ev); return err })
	case nil:
		return errors.New("ev: want an event, got none")
	default:
		return fmt.Errorf("ev.t: want text, file, abort, permission-response or agent-configuration-changed, got %q", ev.EventType())
	}
}

// Begin is Submit for whoever reads one input after the other: a configuration,
// which the agent may take long to confirm, takes its place among the inputs, and
// wait tells its outcome. Else a person's abort would wait behind it. For any
// other input wait is nil.
func (s *Session) Begin(ctx context.Context, in Input) (wait func(context.Context) error, err error) {
	if ev, ok := in.Envelope.Event.(contract.AgentConfigurationChanged); ok {
		return s.beginConfigure(configureOf(ev), in)
	}
	return nil, s.Submit(ctx, in)
}

func configureOf(ev contract.AgentConfigurationChanged) adapters.Configure {
	return adapters.Configure{Mode: ev.PermissionMode, Model: ev.Model, ThinkingLevel: ev.ThinkingLevel, Sandbox: ev.Sandbox}
}

// configured keeps what a client sent beside a configuration that the agent
// confirmed: the members that this version does not know, and the origin. The
// change itself is in the stream as the agent tells it.
func (s *Session) configured(env contract.Envelope) {
	ev, ok := env.Event.(contract.AgentConfigurationChanged)
	if !ok || s.stamper.Took(env.ID) {
		return
	}
	if len(ev.Extra) == 0 && len(env.Extra) == 0 && env.Origin == "" {
		s.stamper.Take(env.ID)
		return
	}
	if _, err := s.user(env, ev); err != nil {
		s.log.Warn("keeping a configuration", "err", err)
	}
}

func (s *Session) takeText(in Input, ev contract.Text) error {
	if s.state == closing || s.state == over {
		return ErrStopping
	}
	files := append(s.files, in.Files...)
	if strings.TrimSpace(ev.Text) == "" && len(files) == 0 {
		return ErrEmptyPrompt
	}
	if ev.Steer && s.busy() {
		if s.can(session.CapSteer) && s.stamper.Turn() != "" {
			return s.steer(in, ev, files)
		}
		if queue := in.Queue || ev.Fallback == contract.FallbackQueue; !queue && !s.can(session.CapSteer) {
			return fmt.Errorf("steer: %s takes no message during a turn (with \"fallback\":\"queue\" it waits): %w", s.cfg.Adapter.Name(), errors.ErrUnsupported)
		}
	}
	// Nothing runs, or it waits: an ordinary prompt.
	ev.Steer, ev.Fallback = false, ""
	id, err := s.user(in.Envelope, ev)
	if err != nil || id == "" {
		return err
	}
	s.files = nil
	s.queue = append(s.queue, adapters.Prompt{ID: id, Text: ev.Text, Files: files})
	return nil
}

func (s *Session) steer(in Input, ev contract.Text, files []adapters.Attachment) error {
	id, err := s.user(in.Envelope, ev)
	if err != nil || id == "" {
		return err
	}
	s.files = nil
	s.turn.steers = append(s.turn.steers, id)
	s.waitOutcome(id, func(o adapters.Outcome) {
		if o.Err != nil {
			s.service(contract.ServiceNotice, o.Err.Code, "A message to the running turn did not reach the agent: "+o.Err.Message)
		}
	})
	if err := s.submit(adapters.Steer{ID: id, Text: ev.Text, Files: files}); err != nil {
		// It is in the stream, so it must not be lost: it becomes the next prompt.
		delete(s.waiting, id)
		s.log.Warn("steering", "err", err)
		s.queue = append(s.queue, adapters.Prompt{ID: id, Text: ev.Text, Files: files})
	}
	return nil
}

func (s *Session) takeFile(in Input, ev contract.File) error {
	if s.state == closing || s.state == over {
		return ErrStopping
	}
	if len(in.Files) == 0 {
		a, err := s.stored(ev)
		if err != nil {
			return err
		}
		in.Files = []adapters.Attachment{a}
	}
	id, err := s.user(in.Envelope, ev)
	if err != nil || id == "" {
		return err
	}
	s.files = append(s.files, in.Files...)
	return nil
}

func (s *Session) takeAbort(in Input, ev contract.Abort) error {
	if s.turn.aborting {
		s.limitAbort()
		return nil
	}
	if _, err := s.user(in.Envelope, ev); err != nil {
		return err
	}
	return s.abort()
}

// user stamps and stores a user event. The id is empty when the stream has the
// envelope already: what is sent again after a lost answer takes effect once.
func (s *Session) user(env contract.Envelope, ev contract.Event) (string, error) {
	env.Event = ev
	envs, err := s.stamper.User(env)
	if errors.Is(err, stamp.ErrDuplicate) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	s.append(envs...)
	return envs[len(envs)-1].ID, s.broken
}

// can reports whether the agent has a capability now.
func (s *Session) can(c session.Capability) bool { return slices.Contains(s.capabilities(), c) }

// capabilities is the agent's and the host's own: it queues for every agent.
func (s *Session) capabilities() []session.Capability {
	var caps []session.Capability
	if s.proto != nil {
		caps = slices.Clone(s.proto.Capabilities())
	}
	if !slices.Contains(caps, session.CapQueue) {
		caps = append(caps, session.CapQueue)
	}
	return caps
}
