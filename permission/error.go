package permission

import (
	"errors"
	"fmt"

	"github.com/agenthost/agenthost/contract"
)

var (
	// ErrUnknown: there is no ask of that id, and there was none lately.
	ErrUnknown = errors.New("no such ask")
	// ErrStale: the decision is about something else than what is asked now: the
	// nonce is an old one, or what the arguments name has changed since.
	ErrStale = errors.New("the decision is stale")
	// ErrNotTaken: the agent does not take edited arguments, feedback or answers
	// here, or the decision is none of those it offers.
	ErrNotTaken = errors.New("the ask does not take this")
	// ErrBypass: bypassPermissions without a local opt-in.
	ErrBypass = errors.New("bypassPermissions needs allowBypass: true in the local configuration or the flag at the terminal")
	// ErrClosed: the Mediator is closed.
	ErrClosed = errors.New("the mediator is closed")
)

// ErrResolved says that an ask was settled before, and by whom.
type ErrResolved struct {
	ID       string
	Decision contract.Decision
	By       contract.DecisionBy
}

// Error implements error.
func (e *ErrResolved) Error() string {
	s := fmt.Sprintf("already resolved: %s by %s", e.Decision, e.By.Resolver)
	if e.By.ClientType != "" {
		s += " (" + string(e.By.ClientType) + ")"
	}
	if e.By.Rule != "" {
		s += ": " + e.By.Rule
	}
	return s
}
