package host

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/render"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/permission/policy"
)

// ask is one open permission request.
type ask struct {
	// key is the Protocol's, id the mediator's, call the one in the stream.
	key, id, call, title string
	// seq counts the asks of the session.
	seq int
	// sent are the decisions of clients that the mediator is looking at, by the id
	// of their envelope.
	sent map[string]contract.Envelope
	// answer is set once, by the mediator, before the loop hears of it.
	answer atomic.Pointer[permission.Answer]
}

// openAsk puts the request that d became before the mediator.
func (s *Session) openAsk(d adapters.Draft, envs []contract.Envelope) {
	env, req, ok := requestIn(envs)
	if !ok {
		// The stamper refused it (the turn or the call is over): no.
		s.answer(adapters.Answer{Ask: d.Ask, Decision: contract.RejectOnce, Cancelled: true})
		return
	}
	s.ids++
	a := &ask{key: d.Ask, id: env.ID, call: req.Call, title: render.Plain(req.Title), seq: s.ids, sent: map[string]contract.Envelope{}}
	s.asks[a.key] = a
	settle := func(ans permission.Answer) {
		a.answer.Store(&ans)
		s.inbox.post(func() { s.settled(a) })
	}
	if s.cfg.Mediator == nil {
		settle(reject(contract.ByHost, "nobody can be asked"))
		return
	}
	about := s.asking(env, req)
	about.CanEditArgs, about.CanMessage = d.AskOptions.EditArgs, d.AskOptions.Message
	if err := s.cfg.Mediator.Open(about, settle); err != nil {
		settle(reject(contract.ByHost, err.Error()))
	}
}

// asking is the request as the mediator takes it.
func (s *Session) asking(env contract.Envelope, req contract.PermissionRequest) permission.Ask {
	return permission.Ask{
		ID: env.ID, Nonce: req.Nonce, Session: s.cfg.ID, Agent: s.cfg.Adapter.Name(), Subagent: env.Subagent,
		Call: req.Call, Tool: req.ToolName, Title: req.Title, Description: req.Description,
		Args: req.Args, Cwd: s.cfg.Dir, Options: req.Options, Patterns: req.Patterns, Always: req.Always,
		Question: req.Question, Opened: now(),
	}
}

// foresee adds to a request that was stamped what its readers need and the agent
// does not know: what it covers, what an allow-always would be remembered for, and
// the nonce when people are to answer it.
func (s *Session) foresee(envs []contract.Envelope) {
	if s.cfg.Mediator == nil {
		return
	}
	for i, e := range envs {
		req, ok := e.Event.(contract.PermissionRequest)
		if !ok {
			continue
		}
		seen := s.cfg.Mediator.Preview(s.asking(e, req))
		if req.Question == nil {
			req.Patterns, req.Always = seen.Patterns, seen.Always
		}
		if seen.Verdict.Verdict == policy.Ask {
			req.Nonce = seen.Nonce
		}
		envs[i].Event = req
	}
}

func requestIn(envs []contract.Envelope) (contract.Envelope, contract.PermissionRequest, bool) {
	for _, e := range envs {
		if req, ok := e.Event.(contract.PermissionRequest); ok {
			return e, req, true
		}
	}
	return contract.Envelope{}, contract.PermissionRequest{}, false
}

func reject(by contract.Resolver, message string) permission.Answer {
	return permission.Answer{Decision: contract.RejectOnce, By: contract.DecisionBy{Resolver: by}, Message: message}
}

// settled passes a decision on to the agent. The decision is on disk first.
func (s *Session) settled(a *ask) {
	if s.asks[a.key] != a {
		return
	}
	ans := s.record(a)
	decision := cmp.Or(ans.AgentDecision, ans.Decision)
	s.answer(adapters.Answer{Ask: a.key, Decision: decision, Message: ans.Message, Args: ans.Args, Answers: ans.Answers})
	if ans.Fail {
		s.refuse(a.title)
	}
	if ans.Mode != "" {
		s.follow(ans.Mode, ans.By)
	}
}

// follow has the agent go into the mode that a decision left the session in: the
// mediator holds it to that one already.
func (s *Session) follow(mode contract.PermissionMode, by contract.DecisionBy) {
	failed := func(err error) {
		s.log.Warn("the agent does not take the mode", "mode", mode, "err", err)
		s.service(contract.ServiceNotice, contract.CodeUnsupported, fmt.Sprintf(
			"Plan mode was left and the session is in mode %s again; %s was not told: %v", mode, s.cfg.Adapter.Describe().Title, err))
	}
	c := adapters.Configure{ID: s.commandID(), Mode: mode}
	s.command(c, func(o adapters.Outcome) {
		if o.Err != nil {
			failed(outcomeError(o))
			return
		}
		s.keep(c)
		s.setMode(mode, by)
	}, failed)
}

// refuse ends the run because nobody was there to allow something: the turn is
// aborted and counts as failed, and the session stops.
func (s *Session) refuse(title string) {
	s.turn.refused = &contract.Error{Code: contract.CodeAskRefused, Message: "nobody was there to allow it: " + title}
	if err := s.abort(); err != nil {
		s.log.Warn("aborting after a refused ask", "err", err)
	}
}

// record writes the decision about a into the stream and closes a.
func (s *Session) record(a *ask) permission.Answer {
	ans := *a.answer.Load()
	delete(s.asks, a.key)
	by := ans.By
	from := a.sent[ans.EnvelopeID]
	// Recorded is Answers without the secrets.
	r := contract.PermissionResponse{
		Call: a.call, Decision: ans.Decision, By: &by, Message: ans.Message, Answers: ans.Recorded, Args: ans.Args,
	}
	if sent, ok := from.Event.(contract.PermissionResponse); ok {
		r.Extra = sent.Extra
	}
	envs := s.stamper.Response(r, from)
	if len(envs) == 0 {
		// The stamper closed it already; nothing of it may reach the agent.
		s.log.Warn("recording a decision", "call", a.call, "decision", ans.Decision)
		return reject(contract.ByHost, "")
	}
	s.append(envs...)
	s.sync()
	return ans
}

// answer tells the agent. Only what the journal holds may let a tool run.
func (s *Session) answer(ans adapters.Answer) {
	if s.broken != nil {
		ans = adapters.Answer{Ask: ans.Ask, Decision: contract.RejectOnce, Cancelled: true}
	}
	if err := s.submit(ans); err != nil {
		s.log.Warn("answering an ask", "err", err)
		s.service(contract.ServiceError, contract.CodeProtocol, "The decision could not be passed on to the agent: "+err.Error())
	}
}

// withdrawn closes an ask that the agent took back: nothing is answered.
func (s *Session) withdrawn(key string) {
	if a := s.asks[key]; a != nil {
		s.closeAsk(a, contract.ByHost)
	}
}

// closeAsks closes every open ask without telling the agent.
func (s *Session) closeAsks(cause contract.Resolver) {
	// In the order in which they were asked.
	for _, a := range slices.SortedFunc(maps.Values(s.asks), func(x, y *ask) int { return x.seq - y.seq }) {
		s.closeAsk(a, cause)
	}
}

// closeAsk settles a without a decision. A decision that came first, and that
// the loop has not heard of, is the one that is recorded: whoever made it was
// told that it counts.
func (s *Session) closeAsk(a *ask, cause contract.Resolver) {
	if s.cfg.Mediator != nil {
		s.cfg.Mediator.Withdraw(a.id, cause)
	}
	if a.answer.Load() == nil {
		ans := reject(cause, "")
		a.answer.Store(&ans)
	}
	s.record(a)
}

// moot closes the asks that the stamper answered itself, because their call or
// their sub-agent ended.
func (s *Session) moot(envs []contract.Envelope) {
	for _, e := range envs {
		r, ok := e.Event.(contract.PermissionResponse)
		if !ok {
			continue
		}
		for _, a := range s.asks {
			if a.call != r.Call {
				continue
			}
			delete(s.asks, a.key)
			if s.cfg.Mediator != nil {
				s.cfg.Mediator.Withdraw(a.id, contract.ByHost)
			}
		}
	}
}

// decide gives a person's decision to the mediator. One that counted, sent again,
// is no error.
func (s *Session) decide(ctx context.Context, in Input, r contract.PermissionResponse) error {
	env, by := in.Envelope, in.By
	var about *ask
	var taken bool
	var open string
	err := s.do(ctx, func() error {
		if err := s.lately(r.Call); err != nil {
			return err
		}
		taken = s.stamper.Took(env.ID)
		for _, a := range s.asks {
			open += fmt.Sprintf(" %q", a.call)
		}
		about = s.askOf(r.Call)
		if about != nil && !taken {
			if env.ID == "" {
				env.ID = s.cfg.NewID()
			}
			about.sent[env.ID] = env
		}
		return nil
	})
	if err != nil || taken {
		return err
	}
	if about == nil || s.cfg.Mediator == nil {
		if open == "" {
			open = " none"
		}
		return fmt.Errorf("%w %q: open are%s", ErrNoAsk, r.Call, open)
	}
	if by.Resolver == "" {
		by.Resolver = contract.ByClient
	}
	err = s.cfg.Mediator.Resolve(ctx, about.id, permission.Response{
		EnvelopeID: env.ID, Decision: r.Decision, By: by, Message: r.Message, Args: r.Args, Answers: r.Answers,
		Nonce: cmp.Or(r.Nonce, in.Nonce), Scope: in.Scope, TTL: in.TTL,
	})
	if err != nil {
		s.inbox.post(func() { delete(about.sent, env.ID) })
	}
	return err
}
