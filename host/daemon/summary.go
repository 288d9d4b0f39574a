package daemon

import (
	"encoding/json/jsontext"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/journal"
	"github.com/agenthost/agenthost/relay/wire"
)

// summary is what the metadata tell of a stream: the fold of its envelopes before
// At. It is kept, so that a restart reads only what came since. What it has of
// pointers is never changed, only replaced.
type summary struct {
	At      journal.Position   `json:"at"`
	Status  session.Status     `json:"status,omitzero"`
	Updated int64              `json:"updated,omitzero"` // Unix ms, of the last envelope
	Config  wire.Configuration `json:"config,omitzero"`
	Control *wire.Control      `json:"control,omitempty"`
	Usage   *contract.Usage    `json:"usage,omitempty"`
	// Asks are the open asks, by call.
	Asks map[string]asked `json:"asks,omitempty"`

	// resolved are the newest settled asks, by call: for those who decide late. It
	// begins anew with the daemon.
	resolved map[string]answered
	order    []string
}

// asked is an ask as it stands in the stream.
type asked struct {
	ID    string         `json:"id"`
	Event jsontext.Value `json:"event"`
}

// answered is who settled an ask, and in which envelope.
type answered struct {
	id       string
	decision contract.Decision
	by       contract.DecisionBy
}

// maxResolved is how many settled asks of a session are remembered; one before
// them is not found any more.
const maxResolved = 256

// apply takes the envelope at At and reports whether the metadata may have changed.
func (s *summary) apply(e contract.Envelope) bool {
	s.At++
	s.Updated = max(s.Updated, e.Time)
	switch ev := e.Event.(type) {
	case contract.TurnStart:
		s.Status = session.StatusBusy
	case contract.TurnEnd:
		s.turnEnd(ev)
	case contract.PermissionRequest:
		s.ask(e.ID, ev)
	case contract.PermissionResponse:
		s.settle(e.ID, ev)
	case contract.AgentConfigurationChanged:
		s.configure(ev)
	case contract.SessionControlChanged:
		s.Control = &wire.Control{ClientType: ev.ClientType, TokenID: ev.TokenID, Since: e.Time}
	default:
		return false
	}
	return true
}

func (s *summary) turnEnd(ev contract.TurnEnd) {
	s.Status = session.StatusIdle
	if ev.Status == contract.TurnFailed {
		s.Status = session.StatusError
	}
	if ev.Usage == nil {
		return
	}
	var u contract.Usage
	if s.Usage != nil {
		u = *s.Usage
	}
	u.InputTokens += ev.Usage.InputTokens
	u.OutputTokens += ev.Usage.OutputTokens
	u.ReasoningTokens += ev.Usage.ReasoningTokens
	u.CacheReadTokens += ev.Usage.CacheReadTokens
	u.CacheWriteTokens += ev.Usage.CacheWriteTokens
	if ev.Usage.Cost != nil {
		cost := *ev.Usage.Cost
		if u.Cost != nil {
			cost += *u.Cost
		}
		u.Cost = &cost
	}
	s.Usage = &u
}

func (s *summary) ask(id string, ev contract.PermissionRequest) {
	raw, err := contract.AppendEvent(nil, ev)
	if err != nil {
		return // it came out of a journal
	}
	if s.Asks == nil {
		s.Asks = map[string]asked{}
	}
	s.Asks[ev.Call] = asked{ID: id, Event: raw}
	delete(s.resolved, ev.Call)
}

func (s *summary) settle(id string, ev contract.PermissionResponse) {
	delete(s.Asks, ev.Call)
	if s.resolved == nil {
		s.resolved = map[string]answered{}
	}
	if _, known := s.resolved[ev.Call]; !known {
		s.order = append(s.order, ev.Call)
	}
	a := answered{id: id, decision: ev.Decision}
	if ev.By != nil {
		a.by = *ev.By
	}
	s.resolved[ev.Call] = a
	if len(s.order) > maxResolved {
		delete(s.resolved, s.order[0])
		s.order = s.order[1:]
	}
}

func (s *summary) configure(ev contract.AgentConfigurationChanged) {
	if ev.Model != "" {
		s.Config.Model = ev.Model
	}
	if ev.PermissionMode != "" {
		s.Config.PermissionMode = ev.PermissionMode
	}
	if ev.ThinkingLevel != "" {
		s.Config.ThinkingLevel = ev.ThinkingLevel
	}
	if ev.Sandbox != nil {
		s.Config.Sandbox = ev.Sandbox
	}
}
