package host

import (
	"fmt"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/render"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/permission/policy"
)

// tellUnasked tells of a call that an agent ran without asking though a rule
// forbids it: agents hold some commands to be harmless. It cannot be taken back,
// but nobody may think that the rule held.
func (s *Session) tellUnasked(envs []contract.Envelope) {
	if s.cfg.Mediator == nil {
		return
	}
	for _, e := range envs {
		switch ev := e.Event.(type) {
		case contract.ToolCallStart:
			s.unasked[ev.Call] = e
		case contract.PermissionRequest:
			delete(s.unasked, ev.Call)
		case contract.ToolCallEnd:
			start, ok := s.unasked[ev.Call]
			delete(s.unasked, ev.Call)
			if ok && ev.Result != nil && ev.Result.Status == contract.ToolCompleted {
				s.tellForbidden(start)
			}
		case contract.TurnEnd:
			clear(s.unasked)
		}
	}
}

func (s *Session) tellForbidden(start contract.Envelope) {
	call := start.Event.(contract.ToolCallStart)
	v := s.cfg.Mediator.Preview(permission.Ask{
		ID: start.ID, Session: s.cfg.ID, Agent: s.cfg.Adapter.Name(), Subagent: start.Subagent, Call: call.Call,
		Tool: call.Name, Args: call.Args, Cwd: s.cfg.Dir,
	}).Verdict
	if v.Verdict == policy.Deny && v.Stage == policy.ByRule {
		s.service(contract.ServiceError, contract.CodeUnsupported, fmt.Sprintf(
			"%s did this without asking, though a rule forbids it (%s): %s", s.cfg.Adapter.Describe().Title, v.Rule, render.Plain(call.Title)))
	}
}
