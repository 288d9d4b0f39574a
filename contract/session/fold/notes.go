package fold

import (
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// service adds what the system said to the transcript. An error is announced by
// an error event that carries its message, and not by message events too.
func (f *Fold) service(s *scope, ev contract.Service) {
	switch ev.Kind {
	case contract.ServiceCompaction:
		before := s.session.Status
		f.status(s, session.StatusCompacting)
		f.addMessage(s, session.CompactionMessage(f.id, ev.Text, f.now))
		f.status(s, before)
	case contract.ServiceError:
		m := session.SystemMessage(f.id, ev.Text, new(f.now))
		m.SessionID = s.session.ID
		m.Error = &session.Error{Code: string(ev.Code), Message: ev.Text}
		s.messages = append(s.messages, m)
		f.emit(s, session.Event{Type: session.EventError, MessageID: m.ID, Message: &m, Error: m.Error})
	default:
		f.addMessage(s, session.SystemMessage(f.id, ev.Text, new(f.now)))
	}
}

// configuration notes a switch of the agent or the model. The rest of a
// configuration has no place in the session contract.
func (f *Fold) configuration(s *scope, ev contract.AgentConfigurationChanged) {
	from := ev.From
	if from == nil {
		from = &contract.ConfigurationFrom{}
	}
	agent, model := f.agentSwitch(s, ev.Agent, from.Agent), f.modelSwitch(s, ev.Model, from.Model)
	if agent == nil && model == nil {
		return
	}
	f.updated(s)
	if agent != nil {
		f.addMessage(s, *agent)
		if model != nil {
			model.ID += "-model" // one envelope, two messages
		}
	}
	if model != nil {
		f.addMessage(s, *model)
	}
}

// agentSwitch is nil when the agent stays the same.
func (f *Fold) agentSwitch(s *scope, to, from string) *session.Message {
	if from == "" {
		from = s.session.AgentID
	}
	if to == "" || to == from && to == s.session.AgentID {
		return nil
	}
	s.session.AgentID = to
	return new(session.AgentSwitchMessage(f.id, from, to, f.now))
}

// modelSwitch is nil when the model stays the same.
func (f *Fold) modelSwitch(s *scope, to, from string) *session.Message {
	old := s.session.Model
	if from != "" {
		old = &session.ModelRef{ID: from}
	}
	if to == "" || old != nil && old.ID == to && s.session.Model != nil && s.session.Model.ID == to {
		return nil
	}
	if old != nil {
		old = new(*old)
	}
	s.session.Model = &session.ModelRef{ID: to}
	return new(session.ModelSwitchMessage(f.id, old, &session.ModelRef{ID: to}, f.now))
}
