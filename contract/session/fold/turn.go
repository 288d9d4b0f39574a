package fold

import (
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

func (f *Fold) turnStart() {
	if t := f.root.session.Time; t.CompletedAt != nil {
		t.CompletedAt = nil
		f.updated(f.root)
	}
	f.status(f.root, session.StatusBusy)
	f.openMessage(f.root)
}

func (f *Fold) turnEnd(ev contract.TurnEnd) {
	s := f.root
	f.endCalls()
	var cost *session.Cost
	if ev.Usage != nil {
		cost = costOf(*ev.Usage)
		s.session.Cost = sum(s.session.Cost, *cost)
	}
	f.closeMessage(s, func(m *session.Message) {
		m.Cost = cost
		if ev.Model != "" {
			m.Model = &session.ModelRef{ID: ev.Model}
		}
		if ev.Error != nil {
			m.Error = &session.Error{Code: string(ev.Error.Code), Message: ev.Error.Message}
		}
	})
	if ev.Model != "" {
		s.session.Model = &session.ModelRef{ID: ev.Model}
	}
	s.session.Time.CompletedAt = new(f.now)
	next := session.StatusIdle
	if ev.Status == contract.TurnFailed {
		next = session.StatusError
	}
	f.status(s, next)
	f.updated(s)
}

// costOf adds nothing up twice: input includes what caches gave, output includes
// the reasoning.
func costOf(u contract.Usage) *session.Cost {
	c := &session.Cost{
		InputTokens:      u.InputTokens,
		OutputTokens:     u.OutputTokens,
		ReasoningTokens:  u.ReasoningTokens,
		CacheReadTokens:  u.CacheReadTokens,
		CacheWriteTokens: u.CacheWriteTokens,
		TotalTokens:      u.InputTokens + u.OutputTokens,
	}
	if u.Cost != nil {
		c.CostUSD = *u.Cost
	}
	return c
}

// sum is a new Cost, since events hold the old one.
func sum(total *session.Cost, c session.Cost) *session.Cost {
	if total == nil {
		return &c
	}
	return &session.Cost{
		InputTokens:      total.InputTokens + c.InputTokens,
		OutputTokens:     total.OutputTokens + c.OutputTokens,
		ReasoningTokens:  total.ReasoningTokens + c.ReasoningTokens,
		CacheReadTokens:  total.CacheReadTokens + c.CacheReadTokens,
		CacheWriteTokens: total.CacheWriteTokens + c.CacheWriteTokens,
		TotalTokens:      total.TotalTokens + c.TotalTokens,
		CostUSD:          total.CostUSD + c.CostUSD,
	}
}
