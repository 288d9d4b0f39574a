package host

import (
	"fmt"
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission"
)

// What a person does in the agent's own terminal reaches the loop as drafts of the
// user: it had its effect there already, and is taken down.

// typed is a message that was typed there, and that no turn has taken up.
type typed struct{ key, id, text string }

// theirs takes a draft of the user before it is stamped. It reports whether it is to
// be.
func (s *Session) theirs(d *adapters.Draft) bool {
	switch ev := d.Event.(type) {
	case contract.Text:
		// Without a turn there is nothing that it could steer.
		ev.Steer = ev.Steer && s.stamper.Turn() != ""
		d.Event = ev
	case contract.Abort:
		return s.abortedThere()
	case contract.PermissionResponse:
		return s.decidedThere(d.Subagent, ev)
	case contract.AgentConfigurationChanged:
		s.configuredThere(ev)
	}
	return true
}

// typedThere notes a message that was typed: a turn will name it by its key.
func (s *Session) typedThere(d adapters.Draft, envs []contract.Envelope) {
	text, ok := d.Event.(contract.Text)
	if !ok || d.Key == "" || d.Role != contract.RoleUser || text.Steer || len(envs) == 0 {
		return
	}
	s.typed = append(s.typed, typed{d.Key, envs[len(envs)-1].ID, text.Text})
}

// named gives the messages that a turn takes up by the ids of their envelopes, and
// strikes those off that were typed.
func (s *Session) named(prompts []string) []string {
	if len(s.typed) == 0 {
		return prompts
	}
	names := slices.Clone(prompts)
	for i, name := range names {
		if t := s.struck(name); t != nil {
			names[i] = t.id
		}
	}
	return names
}

// struck strikes a typed message off, nil when there is none of this key.
func (s *Session) struck(key string) *typed {
	i := slices.IndexFunc(s.typed, func(t typed) bool { return t.key == key })
	if i < 0 {
		return nil
	}
	t := s.typed[i]
	s.typed = slices.Delete(s.typed, i, i+1)
	return &t
}

// abortedThere takes an abort of the open turn.
func (s *Session) abortedThere() bool {
	if s.turn.aborting || s.stamper.Turn() == "" {
		return false // ours, that shows there; or nothing that it could stop
	}
	s.followUp = append(s.followUp, func() {
		if s.turn.aborting {
			s.closeAsks(contract.ByTurnEnd)
		}
	})
	s.turn.aborting = true
	return true
}

// maxDecided is how many decisions are remembered for who comes late.
const maxDecided = 256

// decidedThere settles the ask that was answered in the agent's own dialog. It reports
// whether the draft is to be stamped: not when the ask is one of the host's.
func (s *Session) decidedThere(subagent string, r contract.PermissionResponse) bool {
	call, known := s.stamper.Call(r.Call, subagent)
	a := s.askOf(call)
	by := s.typist.last()
	if !known || a == nil {
		return known // the stamper knows whether there is one
	}
	ans := permission.Answer{
		EnvelopeID: "", Decision: r.Decision, AgentDecision: r.Decision, By: by,
		Message: r.Message, Args: r.Args, Answers: r.Answers, Recorded: r.Answers,
	}
	if s.cfg.Mediator != nil {
		s.cfg.Mediator.Decided(a.id, ans.Decision, ans.By)
	}
	other := a.answer.Swap(&ans)
	s.record(a)
	s.decided = append(s.decided, permission.ErrResolved{ID: call, Decision: ans.Decision, By: ans.By})
	if len(s.decided) > maxDecided {
		s.decided = slices.Delete(s.decided, 0, 1)
	}
	if other != nil && other.By.Resolver == contract.ByClient && other.By.Rule != ans.By.Rule && other.Decision.Allows() != ans.Decision.Allows() {
		// Both answered at once, and the mediator had taken the other one.
		s.service(contract.ServiceNotice, "", fmt.Sprintf(
			"%q was answered in the agent's terminal before the decision %s of %s reached it, which has no effect.",
			a.title, other.Decision, other.By.ClientType))
	}
	return false
}

// askOf is the open ask of a call, nil when there is none.
func (s *Session) askOf(call string) *ask {
	for _, a := range s.asks {
		if a.call == call {
			return a
		}
	}
	return nil
}

// lately is how a call was decided in the agent's own terminal, nil when it was not.
func (s *Session) lately(call string) error {
	for i := range s.decided {
		if s.decided[i].ID == call {
			e := s.decided[i]
			return &e
		}
	}
	return nil
}

// configuredThere makes a change at the agent's own keyboard that of the session. A
// freer mode counts, since a person chose it; one that is not allowed here does not,
// whatever the agent does with it, nor bypassPermissions from another machine.
func (s *Session) configuredThere(ev contract.AgentConfigurationChanged) {
	c, by := configureOf(ev), s.typist.last()
	if who, far := s.typist.maybeFar(); far && c.Mode == contract.ModeBypassPermissions {
		s.refuseFar(who)
		c.Mode = ""
	}
	if s.cfg.Mediator != nil && c.Mode != "" {
		if err := s.cfg.Mediator.Permits(s.cfg.ID, c.Mode, by); err != nil {
			s.service(contract.ServiceNotice, contract.CodeUnsupported, fmt.Sprintf("The mode %s was chosen in the agent's terminal, and the session does not follow: %v", c.Mode, err))
			c.Mode = ""
		}
	}
	s.setMode(c.Mode, by)
	s.keep(c)
}
