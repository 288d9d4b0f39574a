package permission

import "github.com/agenthost/agenthost/contract"

// Decided closes an ask that a person answered elsewhere, where the answer had its
// effect already: in the agent's own terminal, say. No rule is asked and nothing is
// remembered. When it returns the ask is settled, with this answer or with one that
// came first; an ask that is not open is left alone.
func (m *Mediator) Decided(id string, d contract.Decision, by contract.DecisionBy) {
	m.end(id, Answer{Decision: d, By: by})
}
