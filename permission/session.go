package permission

import (
	"cmp"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission/policy"
)

// SessionOptions are what one session has of its own. Zero fields mean those of
// the policy.
type SessionOptions struct {
	// Mode is what it begins with.
	Mode contract.PermissionMode
	// OnAsk is what becomes of its asks that need a person.
	OnAsk policy.OnAsk
	// Rules add to the policy's: those of the command line. Its AllowBypass counts
	// for this session only; set it only from a flag at the terminal.
	Rules *policy.Policy
	// By is who starts it, for the audit of its mode; the host when empty.
	By contract.DecisionBy
}

// session is what is known of a session.
type session struct {
	// mode is the session's, empty for the policy's; before is the mode that
	// leaving plan mode restores.
	mode, before contract.PermissionMode
	onAsk        policy.OnAsk
	rules        *policy.Policy
	// base and joined cache the policy that holds.
	base, joined *policy.Policy
}

// StartSession says what a session has of its own. A session that is not started
// has nothing. It may be called again when a session goes on; a mode that was set
// meanwhile stays.
func (m *Mediator) StartSession(id string, o SessionOptions) error {
	mode := cmp.Or(o.Mode, modeOf(o.Rules))
	if mode != "" {
		if _, err := policy.ParseMode(string(mode)); err != nil {
			return err
		}
	}
	if _, err := policy.ParseOnAsk(string(o.OnAsk)); err != nil {
		return err
	}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return ErrClosed
	}
	old := m.sessions[id]
	s := &session{mode: mode, onAsk: o.OnAsk, rules: o.Rules}
	if mode == contract.ModePlan {
		s.before = contract.ModeDefault
	}
	if old != nil && o.Mode == "" && old.mode != "" {
		s.mode, s.before = old.mode, old.before
	}
	refused := s.mode == contract.ModeBypassPermissions && !m.mayBypassLocked(s)
	if !refused {
		m.sessions[id] = s
	}
	m.mu.Unlock()
	if mode != "" || refused {
		o.By.Resolver = cmp.Or(o.By.Resolver, contract.ByHost)
		m.auditMode(id, mode, o.By, refused)
	}
	if refused {
		return ErrBypass
	}
	return nil
}

func modeOf(p *policy.Policy) contract.PermissionMode {
	if p == nil {
		return ""
	}
	return p.Mode
}

// EndSession closes the asks of a session and forgets it. Its grants stay.
func (m *Mediator) EndSession(id string, cause contract.Resolver) {
	for _, a := range m.Pending(id) {
		if a.Session == id {
			m.Withdraw(a.ID, cause)
		}
	}
	m.mu.Lock()
	delete(m.sessions, id)
	m.mu.Unlock()
}

// SetMode changes the mode of a session. Every try is audited. bypassPermissions
// without a local opt-in gives ErrBypass, whoever asks; an unknown mode is an
// error, never a guess.
func (m *Mediator) SetMode(id string, mode contract.PermissionMode, by contract.DecisionBy) error {
	mode, err := policy.ParseMode(string(mode))
	if err != nil {
		return err
	}
	m.mu.Lock()
	s := m.sessionLocked(id)
	refused := mode == contract.ModeBypassPermissions && !m.mayBypassLocked(s)
	if !refused {
		if now := m.modeLocked(s); mode == contract.ModePlan && now != contract.ModePlan {
			s.before = now
		}
		s.mode = mode
	}
	m.mu.Unlock()
	m.auditMode(id, mode, by, refused)
	if refused {
		return ErrBypass
	}
	return nil
}

// Permits reports whether SetMode would take the mode: ErrBypass for
// bypassPermissions without a local opt-in, which is audited as a try.
func (m *Mediator) Permits(id string, mode contract.PermissionMode, by contract.DecisionBy) error {
	if mode != contract.ModeBypassPermissions {
		return nil
	}
	m.mu.Lock()
	may := m.mayBypassLocked(m.sessions[id])
	m.mu.Unlock()
	if may {
		return nil
	}
	m.auditMode(id, mode, by, true)
	return ErrBypass
}

// Mode is the mode that holds for a session.
func (m *Mediator) Mode(id string) contract.PermissionMode {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.modeLocked(m.sessions[id])
}

// sessionLocked is the state of a session, made when there is none.
func (m *Mediator) sessionLocked(id string) *session {
	s := m.sessions[id]
	if s == nil {
		s = &session{}
		m.sessions[id] = s
	}
	return s
}

func (m *Mediator) mayBypassLocked(s *session) bool {
	return m.o.AllowBypass || m.policy.Load().AllowBypass || s != nil && s.rules != nil && s.rules.AllowBypass
}

// modeLocked is the mode that holds for s, which may be nil. bypassPermissions
// holds only as long as the opt-in does.
func (m *Mediator) modeLocked(s *session) contract.PermissionMode {
	mode := m.policy.Load().Mode
	if s != nil && s.mode != "" {
		mode = s.mode
	}
	if mode == "" || mode == contract.ModeBypassPermissions && !m.mayBypassLocked(s) {
		return contract.ModeDefault
	}
	return mode
}

// rulesLocked is the policy that holds for a session.
func (m *Mediator) rulesLocked(id string) *policy.Policy {
	base := m.policy.Load()
	s := m.sessions[id]
	if s == nil || s.rules == nil {
		return base
	}
	if s.base != base {
		s.base, s.joined = base, policy.Join(base, s.rules)
	}
	return s.joined
}

// rules are the policy, the mode and the way of asking that hold for a session.
func (m *Mediator) rules(id string) (*policy.Policy, contract.PermissionMode, policy.OnAsk) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, s := m.rulesLocked(id), m.sessions[id]
	var own policy.OnAsk
	if s != nil {
		own = s.onAsk
	}
	return p, m.modeLocked(s), cmp.Or(own, p.OnAsk, m.o.OnAsk, policy.OnAskWait)
}

// currentLocked reports whether what was considered still holds.
func (m *Mediator) currentLocked(c considered) bool {
	return m.rulesLocked(c.session) == c.policy && m.modeLocked(m.sessions[c.session]) == c.mode
}

// leavePlan restores the mode before plan mode when o was the request to leave it,
// and returns it.
func (m *Mediator) leavePlan(o *open) contract.PermissionMode {
	if !policy.LeavesPlan(o.ask.Tool) {
		return ""
	}
	m.mu.Lock()
	s := m.sessionLocked(o.ask.Session)
	if m.modeLocked(s) != contract.ModePlan {
		m.mu.Unlock()
		return ""
	}
	s.mode, s.before = cmp.Or(s.before, contract.ModeDefault), ""
	mode := m.modeLocked(s)
	m.mu.Unlock()
	m.auditMode(o.ask.Session, mode, contract.DecisionBy{Resolver: contract.ByHost, Rule: "plan mode was left"}, false)
	return mode
}

// SetPolicy changes the rules for every session at once. Open asks that a deny
// rule is about now are rejected.
func (m *Mediator) SetPolicy(p *policy.Policy) {
	m.policy.Store(policy.Join(p))
	for _, ask := range m.Pending("") {
		rules, mode, _ := m.rules(ask.Session)
		a := rules.Analyse(request(&ask))
		e := rules.Judge(a, mode)
		a.Release()
		if e.Verdict != policy.Deny || e.Stage != policy.ByRule {
			continue
		}
		m.mu.Lock()
		o := m.asks[ask.ID]
		if o != nil {
			m.claimLocked(o)
		}
		m.mu.Unlock()
		if o != nil {
			m.finish(o, rejected(contract.ByPolicy, e.Rule, denial(e)), nil)
		}
	}
}

// Policy is the policy that holds for all sessions.
func (m *Mediator) Policy() *policy.Policy { return m.policy.Load() }
