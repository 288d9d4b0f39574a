package host

import (
	"errors"
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// turn is what the loop knows of the prompts that are under way.
type turn struct {
	// sent are prompts that were submitted and not taken up yet; taken are the
	// ones that the open turn takes up.
	sent, taken []string
	// steers are the messages to the open turn; nobody waits for their outcome
	// when it is over.
	steers []string
	// aborting says that the open turn was aborted.
	aborting bool
	// refused is why the open turn is to count as failed, nil when it is not.
	refused *contract.Error
	// ended counts the turns of this run.
	ended int
	last  contract.TurnStatus
}

// busy reports whether a prompt must wait. A turn that the agent began by itself
// and that came to rest does not hold one up: the prompt's turn ends it.
func (s *Session) busy() bool {
	if len(s.turn.sent) > 0 {
		return true
	}
	return s.stamper.Turn() != "" && !(s.stamper.Autonomous() && s.stamper.Settled())
}

// pump submits the next prompt when nothing is under way, and starts the agent
// again when it is down and a prompt waits.
func (s *Session) pump() {
	for len(s.queue) > 0 && !s.busy() {
		switch s.state {
		case down:
			if s.revive() {
				return
			}
			s.failQueue()
		case open:
			if s.configuring > 0 {
				return // they are meant for what comes of it
			}
			p := s.queue[0]
			s.queue = slices.Delete(s.queue, 0, 1)
			s.prompt(p)
		default:
			return
		}
	}
	s.checkIdle()
}

// prompt submits one prompt. One that the adapter refuses is a failed turn of
// its own: every prompt that was accepted has its answer in the stream.
func (s *Session) prompt(p adapters.Prompt) {
	s.turn.sent = append(s.turn.sent, p.ID)
	if err := s.submit(p); err != nil {
		code := contract.CodeInvalidRequest
		if errors.Is(err, errors.ErrUnsupported) {
			code = contract.CodeUnsupported
		}
		s.failPrompt(p.ID, &contract.Error{Code: code, Message: err.Error()})
	}
}

// failPrompt writes a failed turn for a prompt that never reached the agent.
func (s *Session) failPrompt(id string, cause *contract.Error) {
	s.emit(adapters.Draft{Event: contract.TurnStart{}, Prompts: []string{id}})
	s.emit(adapters.Draft{Event: contract.TurnEnd{Status: contract.TurnFailed, Error: cause}})
}

// failQueue gives every waiting prompt a failed turn: the agent is gone for good.
func (s *Session) failQueue() {
	cause := s.meta.OpenError
	if cause == nil {
		cause = &contract.Error{Code: contract.CodeAgentExited, Message: "the agent is not running and could not be started again"}
	}
	for _, p := range s.queue {
		s.failPrompt(p.ID, cause)
	}
	s.queue = nil
}

// emit stamps a draft and stores it, and keeps the books of turns and asks.
func (s *Session) emit(d adapters.Draft) {
	switch ev := d.Event.(type) {
	case contract.TurnStart:
		s.turn.taken = d.Prompts
		s.turn.sent = slices.DeleteFunc(s.turn.sent, func(id string) bool { return slices.Contains(d.Prompts, id) })
	case contract.TurnEnd:
		if s.stamper.Turn() == "" {
			// The stamper drops an end without a start; so do the books.
			return
		}
		s.closeAsks(contract.ByTurnEnd)
		if s.turn.refused != nil {
			ev.Status, ev.Error = contract.TurnFailed, s.turn.refused
		}
		d.Event = s.priced(ev)
		defer s.turnEnded(ev.Status)
	case contract.AgentConfigurationChanged:
		s.modeChanged(ev)
	case contract.ToolCallEnd:
		ev.Result = cut(ev.Result, s.cfg.Limits.OutputBytes)
		d.Event = ev
	}
	envs := s.stamper.Agent(d)
	s.append(envs...)
	s.moot(envs)
	if d.Ask != "" {
		s.openAsk(d, envs)
	}
	s.watchQuiet()
}

// watchQuiet ends an autonomous turn that has come to rest: an agent that says
// something on its own often does not say when it is done.
func (s *Session) watchQuiet() {
	if s.stamper.Autonomous() && s.stamper.Settled() {
		s.alarm.set(alarmQuiet, now().Add(s.cfg.Limits.Quiet))
	} else {
		s.alarm.clear(alarmQuiet)
	}
}

// quiet ends the autonomous turn.
func (s *Session) quiet() {
	if envs := s.stamper.Idle(); len(envs) > 0 {
		s.append(envs...)
		s.turnEnded(contract.TurnCompleted)
	}
}

func (s *Session) turnEnded(status contract.TurnStatus) {
	s.sync()
	s.turn.taken = nil
	for _, id := range s.turn.steers {
		delete(s.waiting, id)
	}
	s.turn.steers = nil
	s.turn.aborting = false
	s.turn.ended++
	s.turn.last = status
	if status == contract.TurnCompleted {
		s.restart = 0
	}
	s.alarm.clear(alarmAbort)
	s.saveMeta()
	switch {
	case s.state == closing:
		s.shut()
	case s.turn.refused != nil:
		s.stop()
	}
	s.turn.refused = nil
}

// modeChanged keeps the mediator's mode the agent's: an agent that entered plan
// mode by itself is held to it.
func (s *Session) modeChanged(ev contract.AgentConfigurationChanged) {
	if ev.PermissionMode == "" || s.cfg.Mediator == nil {
		return
	}
	by := contract.DecisionBy{Resolver: contract.ByHost}
	if err := s.cfg.Mediator.SetMode(s.cfg.ID, ev.PermissionMode, by); err != nil {
		s.log.Debug("the mediator does not take the agent's mode", "mode", ev.PermissionMode, "err", err)
	}
}

// priced fills in a cost that the agent does not report.
func (s *Session) priced(end contract.TurnEnd) contract.TurnEnd {
	if end.Usage == nil || end.Usage.Cost != nil || s.cfg.Price == nil {
		return end
	}
	model := end.Model
	if model == "" {
		model = s.meta.Facts.Model
	}
	if cost, ok := s.cfg.Price(model, *end.Usage); ok {
		u := *end.Usage
		u.Cost = &cost
		end.Usage = &u
	}
	return end
}

// abort stops the running turn. Asked for twice it acts once: a second cancel
// reaches the agent's next turn.
func (s *Session) abort() error {
	if s.turn.aborting {
		return nil
	}
	if s.stamper.Turn() == "" && len(s.turn.sent) == 0 {
		return nil
	}
	s.turn.aborting = true
	// A person's stop answers every open question: no. They are settled before
	// the agent hears of the abort, so that none of them can still be allowed.
	s.closeAsks(contract.ByTurnEnd)
	s.alarm.set(alarmAbort, now().Add(s.cfg.Limits.Abort))
	return s.submit(adapters.Abort{})
}

func (s *Session) checkIdle() {
	if len(s.idle) == 0 || len(s.turn.sent) > 0 || s.stamper.Turn() != "" || len(s.queue) > 0 || s.state == opening {
		return
	}
	waiting := s.idle
	s.idle = nil
	for _, f := range waiting {
		f()
	}
}
