package host

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract/session"
)

// ErrBusy: a turn runs, and what was asked for needs that none does.
var ErrBusy = errors.New("a turn runs: stop it first")

// Op runs an operation of the agent and returns its result, raw JSON: session.op
// of the contract. One that the agent cannot do is ErrUnsupported. An agent that
// is not open yet, or that died, is waited for or started again first.
//
// Every name passes through to the agent but two, which the host acts on:
//
//	rewind  {"to", "at", "what", "dryRun"} takes the conversation back to before a
//	        message of the user ("to": its envelope id, or the agent's own id), or to
//	        behind an answer ("at": its envelope id, or an origin), in the same
//	        session. It is over when the agent is ready to go on from there; the next
//	        prompt does. "what" is conversation (also when it is left out), files or
//	        both. Result: {"conversation": bool, "files": false or what the agent
//	        tells of them, "origin": of the last answer that was kept, when known}.
//	        During a turn it is ErrBusy.
//	fork    {"to", "at"}, or neither for the end. The result is a Branch: what a
//	        session is started with that goes on from there, beside this one. During
//	        a turn the end is ErrBusy.
//
// When ctx ends first the operation goes on.
func (s *Session) Op(ctx context.Context, name string, params jsontext.Value) (jsontext.Value, error) {
	var result jsontext.Value
	err := s.await(ctx, func(done func(error)) {
		s.ready(func(err error) {
			if err != nil {
				done(err)
				return
			}
			s.operate(name, params, func(v jsontext.Value, err error) {
				result = v
				done(err)
			})
		})
	})
	if err != nil {
		return nil, err // the loop may still write result
	}
	return result, nil
}

// ready calls f, not from within a Step, when the agent takes commands, or with
// the reason why it will not.
func (s *Session) ready(f func(error)) {
	if s.state == down && !s.revive() {
		f(fmt.Errorf("the agent is %s", s.state))
		return
	}
	switch {
	case s.state == open && !s.gaveUp:
		f(nil)
	case s.state == opening, s.state == replacing:
		s.waitOutcome(openID, func(o adapters.Outcome) {
			s.followUp = append(s.followUp, func() {
				if err := outcomeError(o); err != nil {
					f(err)
					return
				}
				s.ready(f)
			})
		})
	default:
		f(fmt.Errorf("the agent is not ready (%s)", s.state))
	}
}

// operate runs an operation of an agent that is open.
func (s *Session) operate(name string, params jsontext.Value, done func(jsontext.Value, error)) {
	if c := session.Capability(name); (c == session.CapRewind || c == session.CapFork || c == session.CapStash) && !s.can(c) {
		done(nil, s.cannot(c))
		return
	}
	switch name {
	case adapters.OpRewind:
		s.rewind(params, done)
	case adapters.OpFork:
		s.fork(params, done)
	default:
		s.pass(name, params, func(o adapters.Outcome) { done(o.Result, outcomeError(o)) }, func(err error) { done(nil, err) })
	}
}

// cannot is ErrUnsupported with the reason that the agent's face has, if any.
func (s *Session) cannot(c session.Capability) error {
	for _, claim := range adapters.DescribeFace(s.cfg.Adapter, s.meta.Face).Claims {
		if claim.Capability == c && claim.Reason != "" {
			return fmt.Errorf("%s: %s cannot do that (%s): %w", c, s.cfg.Adapter.Name(), claim.Reason, errors.ErrUnsupported)
		}
	}
	return fmt.Errorf("%s: %s cannot do that: %w", c, s.cfg.Adapter.Name(), errors.ErrUnsupported)
}

// pass hands an operation to the agent.
func (s *Session) pass(name string, params jsontext.Value, got func(adapters.Outcome), refused func(error)) {
	s.command(adapters.Op{ID: s.commandID(), Name: name, Params: params}, got, refused)
}

// opParams are the params of a rewind or fork.
type opParams struct {
	To     string `json:"to,omitzero"`
	At     string `json:"at,omitzero"`
	What   string `json:"what,omitzero"`
	DryRun bool   `json:"dryRun,omitzero"`
	// More are the agent's own.
	More jsontext.Value `json:",embed"`
}

func readParams(name string, raw jsontext.Value) (opParams, error) {
	var p opParams
	if len(raw) == 0 {
		return p, nil
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("%s: params: %w", name, err)
	}
	return p, nil
}

func (p opParams) raw() (jsontext.Value, error) { return json.Marshal(p) }
