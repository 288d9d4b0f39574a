package permission

import (
	"fmt"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission/grant"
	"github.com/agenthost/agenthost/permission/policy"
)

// considered is what rules, mode and grants make of an ask.
type considered struct {
	// answered: answer decides it; else people are to be asked.
	answered bool
	answer   Answer
	places   string
	// policy and mode are what was considered, session its state.
	policy  *policy.Policy
	mode    contract.PermissionMode
	session string
}

// consider judges ask, and fills in what people are shown.
func (m *Mediator) consider(ask *Ask) considered {
	p, mode, onAsk := m.rules(ask.Session)
	c := considered{policy: p, mode: mode, session: ask.Session}
	a := p.Analyse(request(ask))
	defer a.Release()
	e := p.Judge(a, mode)
	c.places = a.Places()
	ask.Verdict = e
	switch {
	case e.Verdict == policy.Deny:
		c.answered, c.answer = true, rejected(contract.ByPolicy, e.Rule, denial(e))
		return c
	case e.Verdict == policy.Allow && ask.Question == nil:
		c.answered = true
		c.answer.Decision, c.answer.By = contract.AllowOnce, contract.DecisionBy{Resolver: contract.ByPolicy, Rule: e.Rule}
		return c
	}
	key, canRemember := rememberable(ask, a, e)
	if canRemember {
		if c.answer, c.answered = m.remembered(ask, key); c.answered {
			return c
		}
	}
	m.describe(ask, p, a, canRemember)
	if ask.Deadline.IsZero() && p.Timeout > 0 {
		ask.Deadline = m.o.Now().Add(p.Timeout)
	}
	c.answer, c.answered = nobody(onAsk)
	return c
}

// rememberable is the key of ask for grants; false when a rule or the kind of the
// ask demands a person each time, or what it does is not settled.
func rememberable(ask *Ask, a *policy.Analysis, e policy.Explanation) (string, bool) {
	if ask.Question != nil || e.Verdict != policy.Ask || e.Stage == policy.ByRule || policy.LeavesPlan(ask.Tool) {
		return "", false
	}
	return a.Key()
}

// remembered answers ask with a grant; false when there is none.
func (m *Mediator) remembered(ask *Ask, key string) (Answer, bool) {
	if m.o.Grants == nil {
		return Answer{}, false
	}
	g, ok, err := m.o.Grants.Match(grant.Query{Tool: ask.Tool, Key: grantKey(ask, key), Session: ask.Session, Project: ask.Project})
	if err != nil {
		m.o.Logger.Error("reading the grants", "err", err)
		return Answer{}, false
	}
	if !ok {
		return Answer{}, false
	}
	return Answer{
		Decision: contract.AllowOnce, Grant: g.ID,
		By: contract.DecisionBy{Resolver: contract.ByRemembered, Rule: "grant " + g.ID + " (" + string(g.Scope) + "): " + g.Covers},
	}, true
}

// countUse counts that a grant answered; id is empty when none did.
func (m *Mediator) countUse(id string) {
	if id == "" {
		return
	}
	if err := m.o.Grants.Use(id); err != nil {
		m.o.Logger.Error("counting the use of a grant", "grant", id, "err", err)
	}
}

// describe says what the ask and allow-always cover.
func (m *Mediator) describe(ask *Ask, p *policy.Policy, a *policy.Analysis, canRemember bool) {
	covers := a.Covers()
	if len(ask.Patterns) == 0 {
		ask.Patterns = covers
	}
	if p.Remember != policy.RememberHost {
		return
	}
	ask.Always = nil
	if canRemember && m.o.Grants != nil {
		ask.Always = covers
	}
}

// nobody is the answer when no person will come; false when one may.
func nobody(o policy.OnAsk) (Answer, bool) {
	switch o {
	case policy.OnAskDeny, policy.OnAskFail:
		a := rejected(contract.ByHost, "", "Nobody can be asked here, and no rule allows it.")
		a.Fail = o == policy.OnAskFail
		return a, true
	}
	return Answer{}, false
}

// denial is what the agent is told about a deny.
func denial(e policy.Explanation) string {
	if e.Why != "" {
		return e.Why
	}
	for _, p := range e.Parts {
		if p.Verdict == policy.Deny {
			return fmt.Sprintf("Not allowed here: %s (%s).", p.Command, e.Rule)
		}
	}
	return fmt.Sprintf("Not allowed here (%s).", e.Rule)
}

func request(ask *Ask) policy.Request {
	return policy.Request{
		Tool: ask.Tool, Args: ask.Args, Cwd: ask.Cwd, Agent: ask.Agent, Subagent: ask.Subagent, Question: ask.Question != nil,
	}
}

// grantKey ties what an ask does to where it does it: a command means something
// else in another directory. Paths are absolute in any case.
func grantKey(ask *Ask, key string) string {
	if ask.Tool == "bash" {
		return key + "\n@" + ask.Cwd
	}
	return key
}

// Preview says what the ask and allow-always would cover, and what rules and mode
// make of it, without deciding anything: for the permission-request in the stream.
func (m *Mediator) Preview(ask Ask) Ask {
	m.complete(&ask)
	if ask.Nonce == "" {
		ask.Nonce = m.o.NewNonce()
	}
	p, mode, _ := m.rules(ask.Session)
	a := p.Analyse(request(&ask))
	defer a.Release()
	ask.Verdict = p.Judge(a, mode)
	_, can := rememberable(&ask, a, ask.Verdict)
	m.describe(&ask, p, a, can)
	return ask
}
