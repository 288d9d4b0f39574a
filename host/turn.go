package host

import (
	"errors"
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// turn is what the loop knows of the prompts that are under way.
type turn struct {
	// sent are prompts that were submitted and not taken up yet.
	sent []string
	// steers are the messages to the open turn, steered those to turns that are over:
	// nobody waits for their outcome when the Step is applied that ended the turn.
	steers, steered []string
	// aborting says that the open turn was aborted.
	aborting bool
	// refused is why the open turn is to count as failed, nil when it is not.
	refused *contract.Error
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
			if s.held > 0 || s.gaveUp {
				return // for what comes of it; for the agent that comes next
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
	if d.Role == contract.RoleUser && !s.theirs(&d) {
		return
	}
	switch ev := d.Event.(type) {
	case contract.TurnStart:
		d.Prompts = s.named(d.Prompts)
		s.said = s.meta.Facts.NativeSession
		s.turn.sent = slices.DeleteFunc(s.turn.sent, func(id string) bool { return slices.Contains(d.Prompts, id) })
		ev.Prompts = d.Prompts
		d.Event = ev
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
		if d.Role != contract.RoleUser {
			s.modeChanged(ev)
		}
	case contract.ToolCallEnd:
		ev.Result = cut(ev.Result, s.cfg.Limits.OutputBytes)
		d.Event = ev
	}
	envs := s.stamper.Agent(d)
	s.foresee(envs)
	s.belongs(d, envs)
	s.append(envs...)
	s.typedThere(d, envs)
	s.moot(envs)
	s.cutShort(d, envs)
	s.tellUnasked(envs)
	if d.Ask != "" {
		s.openAsk(d, envs)
	}
	s.watchQuiet()
}

// cutShort keeps the books of a turn that the stamper ended itself, because
// another one began.
func (s *Session) cutShort(d adapters.Draft, envs []contract.Envelope) {
	if _, own := d.Event.(contract.TurnEnd); own {
		return
	}
	for _, e := range envs {
		if end, ok := e.Event.(contract.TurnEnd); ok {
			s.turnEnded(end.Status)
		}
	}
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
	s.turn.steered = append(s.turn.steered, s.turn.steers...)
	s.turn.steers = nil
	s.turn.aborting = false
	if status == contract.TurnCompleted {
		s.restart = 0
	}
	s.alarm.clear(alarmAbort)
	s.saveMeta()
	// Not now: the Step that ended the turn is still being applied.
	switch {
	case s.state == closing:
		s.followUp = append(s.followUp, s.shut)
	case s.turn.refused != nil:
		s.followUp = append(s.followUp, s.stop)
	case s.hand != nil:
		s.followUp = append(s.followUp, s.goOver)
	}
	s.turn.refused = nil
}

// forgetSteers gives up waiting for what became of messages to turns that are over.
// The agent may have taken them without a word.
func (s *Session) forgetSteers() {
	for _, id := range s.turn.steered {
		delete(s.waiting, id)
	}
	s.turn.steered = nil
}

// modeChanged holds an agent that went into a stricter mode by itself to it. A
// freer one that an agent tells of counts for nothing here: what it says may be
// the model's words, and only people loosen.
func (s *Session) modeChanged(ev contract.AgentConfigurationChanged) {
	if s.meta.Face == adapters.FaceTerminal {
		// A person chose it there, or the agent did and it holds all the same (B060).
		s.keep(adapters.Configure{Model: ev.Model, ThinkingLevel: ev.ThinkingLevel})
	}
	if s.cfg.Mediator == nil {
		return
	}
	strict := []contract.PermissionMode{
		contract.ModePlan, contract.ModeDefault, contract.ModeAcceptEdits, contract.ModeBypassPermissions,
	}
	now, next := slices.Index(strict, s.cfg.Mediator.Mode(s.cfg.ID)), slices.Index(strict, ev.PermissionMode)
	if next >= 0 && next < now {
		s.setMode(ev.PermissionMode, contract.DecisionBy{Resolver: contract.ByHost})
	}
}

// setMode gives a mode that holds now to the mediator.
func (s *Session) setMode(mode contract.PermissionMode, by contract.DecisionBy) {
	if mode == "" || s.cfg.Mediator == nil {
		return
	}
	if err := s.cfg.Mediator.SetMode(s.cfg.ID, mode, by); err != nil {
		s.log.Warn("the mediator does not take the mode", "mode", mode, "err", err)
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
	if s.stamper.Autonomous() && s.stamper.Settled() {
		s.quiet() // nothing runs in it
	}
	if s.stamper.Turn() == "" && len(s.turn.sent) == 0 {
		return nil
	}
	s.turn.aborting = true
	// A person's stop answers every open question: no. They are settled before
	// the agent hears of the abort, so that none of them can still be allowed.
	s.closeAsks(contract.ByTurnEnd)
	s.limitAbort()
	return s.submit(adapters.Abort{})
}

// limitAbort gives an aborted turn its time to end. One that a person aborted at the
// agent's own screen has none until somebody else wants it ended, too.
func (s *Session) limitAbort() {
	if s.turn.aborting && s.alarm[alarmAbort].IsZero() {
		s.alarm.set(alarmAbort, now().Add(s.cfg.Limits.Abort))
	}
}

func (s *Session) checkIdle() {
	if len(s.idle) == 0 || len(s.turn.sent) > 0 || s.stamper.Turn() != "" || len(s.queue) > 0 || s.state == opening || s.state == replacing || s.hand != nil {
		return
	}
	waiting := s.idle
	s.idle = nil
	for _, f := range waiting {
		f()
	}
}
