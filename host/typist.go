package host

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// farTime is how long keys from another machine count as what a change at the agent's
// keyboard may come from, also when somebody here typed since: agents tell late.
const farTime = 10 * time.Second

// typist is who typed at the agent's own keyboard last. It is safe for concurrent use.
type typist struct {
	mu  sync.Mutex
	by  contract.DecisionBy // guarded by mu; its Resolver is empty for nobody known
	far contract.DecisionBy // who typed from another machine last; guarded by mu
	at  time.Time           // and when, zero for never; guarded by mu
	now bool                // that was the last one; guarded by mu
}

// Typing says who is about to type at the agent's own keyboard, and whether on this
// machine. What is decided and chosen there is theirs; without a word of it, it is of a
// person at this machine.
func (s *Session) Typing(by contract.DecisionBy, local bool) {
	t := &s.typist
	t.mu.Lock()
	defer t.mu.Unlock()
	t.by, t.now = by, !local
	if !local {
		t.far, t.at = by, now()
	}
}

// last is who typed last.
func (t *typist) last() contract.DecisionBy {
	t.mu.Lock()
	defer t.mu.Unlock()
	by := t.by
	by.Resolver, by.Rule = contract.ByClient, "in the agent's terminal"
	by.ClientType = cmp.Or(by.ClientType, contract.ClientCLI)
	return by
}

// maybeFar is who may have done on another machine what the agent tells now; false when
// it was done here.
func (t *typist) maybeFar() (contract.DecisionBy, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.far, t.now || !t.at.IsZero() && now().Sub(t.at) < farTime
}

// refuseFar keeps the session in its mode when the agent was switched to
// bypassPermissions from another machine, and tells the agent to go back.
func (s *Session) refuseFar(by contract.DecisionBy) {
	mode := contract.ModeDefault
	if s.cfg.Mediator != nil {
		mode = s.cfg.Mediator.Mode(s.cfg.ID)
	}
	s.service(contract.ServiceError, contract.CodeUnsupported, fmt.Sprintf(
		"The mode bypassPermissions was chosen in the agent's terminal by %s %s from another machine, where it cannot be switched on: the session stays in the mode %s, and the agent is told to go back to it.",
		by.ClientType, by.TokenID, mode))
	failed := func(err error) {
		s.service(contract.ServiceError, contract.CodeUnsupported, fmt.Sprintf("The agent does not go back to the mode %s: %v. Stop it, or choose the mode at its keyboard.", mode, err))
	}
	s.followUp = append(s.followUp, func() {
		s.command(adapters.Configure{ID: s.commandID(), Mode: mode}, func(o adapters.Outcome) {
			if err := outcomeError(o); err != nil {
				failed(err)
			}
		}, failed)
	})
}
