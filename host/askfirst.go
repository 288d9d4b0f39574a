package host

import (
	"fmt"
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// AskFirst says that rules changed; watched gives the uses that an agent of a name has to
// ask for now. An agent that was told others at its start is told these, at once; where
// that cannot be, a notice in the stream says so, and the next start has them. It
// returns at once.
func (s *Session) AskFirst(watched func(agent string) []adapters.Use) {
	s.inbox.post(func() {
		s.cfg.Options.AskFirst = watched(s.cfg.Adapter.Name())
		s.retell()
	})
}

// retell tells the agent what rules are about when that is not what it was told last. It
// does nothing before the agent's session is open: opened calls it again.
func (s *Session) retell() {
	uses := s.cfg.Options.AskFirst
	if s.state != open || s.gaveUp || slices.Equal(uses, s.askFirst) {
		return
	}
	s.askFirst = uses
	if _, heeds := s.cfg.Adapter.(adapters.AsksFirst); !heeds {
		return // it never was told
	}
	s.command(adapters.AskFirst{ID: s.commandID(), Uses: uses}, func(o adapters.Outcome) {
		if o.Err != nil && s.state == open {
			s.notTold(o.Err.Message)
		}
	}, func(err error) { s.notTold(err.Error()) })
}

func (s *Session) notTold(why string) {
	s.log.Info("the agent was not told of changed rules", "session", s.cfg.ID, "why", why)
	s.service(contract.ServiceNotice, contract.CodeUnsupported, fmt.Sprintf(
		"The rules changed. %[1]s was told at its start what it has to ask for, and cannot be told anew: until it is started again "+
			"it may do without asking what only the new rules are about.", s.cfg.Adapter.Describe().Title))
}
