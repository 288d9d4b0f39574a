package gatewaytest

import (
	"context"
	"encoding/json/jsontext"
	"slices"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

// Call implements gateway.Backend.
func (b *Backend) Call(ctx context.Context, caller wire.Caller, method string, params jsontext.Value) (jsontext.Value, error) {
	b.mu.Lock()
	b.calls = append(b.calls, Call{caller, method, string(params)})
	onCall, host := b.onCall, b.host
	b.mu.Unlock()
	if !host.Online {
		return nil, wire.Errorf(wire.CodeHostOffline, "the host is away").WithData(host)
	}
	var result any
	var err error
	if onCall != nil {
		result, err = onCall(ctx, caller, method, params)
	} else if method == wire.TerminalRead {
		result, err = b.readTerminal(ctx, caller, params)
	} else {
		b.mu.Lock()
		result, err = b.do(caller, method, params)
		b.mu.Unlock()
	}
	if err != nil {
		return nil, err
	}
	return wire.Marshal(result)
}

// with reads params and finds the session that they name.
func with[T any](b *Backend, params jsontext.Value, ref func(T) string, f func(*state, T) (any, error)) (any, error) {
	var p T
	if err := wire.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	st, err := b.find(ref(p))
	if err != nil {
		return nil, err
	}
	return f(st, p)
}

func ofRef(p wire.SessionRef) string { return p.Session }

// do is what the toy host does. The caller holds mu.
func (b *Backend) do(caller wire.Caller, method string, params jsontext.Value) (any, error) {
	switch method {
	case wire.SessionSpawn:
		return b.spawn(params)
	case wire.SessionSend:
		return with(b, params, func(p wire.SendParams) string { return p.Session }, b.send)
	case wire.SessionAbort:
		return with(b, params, func(p wire.AbortParams) string { return p.Session }, b.abort)
	case wire.SessionDecide:
		return with(b, params, func(p wire.DecideParams) string { return p.Session }, func(st *state, p wire.DecideParams) (any, error) {
			return b.decide(caller, st, p)
		})
	case wire.SessionAsks:
		return with(b, params, ofRef, func(st *state, _ wire.SessionRef) (any, error) { return wire.AsksResult{Asks: st.asks}, nil })
	case wire.SessionConfigure:
		return with(b, params, func(p wire.ConfigureParams) string { return p.Session }, b.configure)
	case wire.SessionControl:
		return with(b, params, func(p wire.ControlParams) string { return p.Session }, func(st *state, _ wire.ControlParams) (any, error) {
			return wire.SessionResult{Session: b.change(st, func(s *wire.Session) {
				s.Control = &wire.Control{ClientType: caller.ClientType, TokenID: caller.TokenID, Since: b.now()}
			})}, nil
		})
	case wire.SessionOp:
		return with(b, params, func(p wire.OpParams) string { return p.Session }, func(_ *state, p wire.OpParams) (any, error) {
			return nil, wire.Errorf(wire.CodeUnsupported, "the agent has no %q", p.Name)
		})
	case wire.SessionUpdate:
		return with(b, params, func(p wire.UpdateParams) string { return p.Session }, b.update)
	case wire.SessionResume:
		return with(b, params, ofRef, func(st *state, _ wire.SessionRef) (any, error) { return b.setState(st, wire.StateRunning) })
	case wire.SessionStop:
		return with(b, params, func(p wire.StopParams) string { return p.Session }, func(st *state, _ wire.StopParams) (any, error) {
			return b.setState(st, wire.StateStopped)
		})
	case wire.SessionRemove:
		return with(b, params, ofRef, func(st *state, _ wire.SessionRef) (any, error) { b.remove(st); return nil, nil })
	case wire.TerminalSnapshot:
		return with(b, params, ofRef, func(st *state, _ wire.SessionRef) (any, error) { return st.screen().text(), nil })
	case wire.TerminalInput:
		return with(b, params, func(p wire.TerminalInputParams) string { return p.Session }, func(st *state, p wire.TerminalInputParams) (any, error) {
			return b.typeInto(caller, st, p)
		})
	case wire.TerminalResize:
		return with(b, params, func(p wire.TerminalResizeParams) string { return p.Session }, func(st *state, p wire.TerminalResizeParams) (any, error) {
			return b.resize(caller, st, p)
		})
	}
	return nil, wire.Errorf(wire.CodeUnknownMethod, "no method %q here", method)
}

func (b *Backend) setState(st *state, to wire.State) (any, error) {
	return wire.SessionResult{Session: b.change(st, func(s *wire.Session) { s.State = to })}, nil
}

func (b *Backend) spawn(params jsontext.Value) (any, error) {
	var p wire.SpawnParams
	if err := wire.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	if p.Agent != "echo" {
		return nil, wire.Errorf(wire.CodeNotFound, "no agent %q", p.Agent)
	}
	st := b.sessions[p.ID]
	if st == nil {
		st = b.add(wire.Session{ID: p.ID, Dir: p.Dir, Title: p.Title, Config: wire.Configuration{Model: p.Model}})
		if p.Prompt != nil {
			if _, err := b.send(st, *p.Prompt); err != nil {
				return nil, err
			}
		}
	}
	return wire.SessionResult{Session: st.meta}, nil
}

// send makes a turn of a message: the agent repeats it.
func (b *Backend) send(st *state, p wire.SendParams) (any, error) {
	if p.ID == "" {
		p.ID = b.id("e")
	}
	result := wire.SentResult{ID: p.ID, Session: st.meta.ID}
	if st.sent[p.ID] {
		return result, nil
	}
	st.sent[p.ID] = true
	user, err := contract.Encode(contract.Envelope{ID: p.ID, Time: b.now(), Role: contract.RoleUser, Event: contract.Text{Text: p.Text}})
	if err != nil {
		return nil, wire.Errorf(wire.CodeInvalid, "%v", err)
	}
	turn := b.id("t")
	b.append(st, user,
		b.line(contract.RoleAgent, turn, contract.TurnStart{}),
		b.line(contract.RoleAgent, turn, contract.Text{Text: p.Text}),
		b.line(contract.RoleAgent, turn, contract.TurnEnd{Status: contract.TurnCompleted}))
	b.change(st, func(*wire.Session) {})
	return result, nil
}

func (b *Backend) abort(st *state, p wire.AbortParams) (any, error) {
	if p.ID == "" {
		p.ID = b.id("e")
	}
	b.append(st, b.line(contract.RoleUser, "", contract.Abort{}))
	return wire.SentResult{ID: p.ID, Session: st.meta.ID}, nil
}

// Ask opens a permission request for a call, and shows it to those who watch.
func (b *Backend) Ask(id, call string) wire.Ask {
	b.mu.Lock()
	defer b.mu.Unlock()
	st := b.must(id)
	args := jsontext.Value(`{"command":"make"}`)
	request, err := contract.AppendEvent(nil, contract.PermissionRequest{Call: call, ToolName: "bash", Title: "Run `make`", Description: "builds", Args: args})
	if err != nil {
		panic(err) // our own event
	}
	ask := wire.Ask{Session: id, Call: call, Nonce: b.id("n"), Opened: b.now(), Request: request, Why: "no rule"}
	st.asks = append(st.asks, ask)
	b.append(st, b.line(contract.RoleAgent, "turn0", contract.PermissionRequest{
		Call: call, ToolName: "bash", Title: "Run `make`", Description: "builds", Args: args,
	}))
	b.pass(st, gateway.Item{Live: &wire.Live{Ask: &ask}})
	b.change(st, func(s *wire.Session) { s.Asks = len(st.asks) })
	return ask
}

func (b *Backend) decide(caller wire.Caller, st *state, p wire.DecideParams) (any, error) {
	i := slices.IndexFunc(st.asks, func(a wire.Ask) bool { return a.Call == p.Call })
	if by, ok := st.settled[p.Call]; ok && i < 0 {
		return nil, wire.Errorf(wire.CodeResolved, "it was settled before").WithData(by)
	}
	if i < 0 {
		return nil, wire.Errorf(wire.CodeNotFound, "no ask of the call %q", p.Call)
	}
	if p.Nonce != "" && p.Nonce != st.asks[i].Nonce {
		return nil, wire.Errorf(wire.CodeStale, "it is offered anew").WithData(st.asks[i])
	}
	by := contract.DecisionBy{Resolver: contract.ByClient, ClientType: caller.ClientType, TokenID: caller.TokenID}
	raw, err := wire.Marshal(by)
	if err != nil {
		return nil, err
	}
	st.asks = slices.Delete(st.asks, i, i+1)
	st.settled[p.Call] = wire.Resolved{Decision: string(p.Decision), By: raw}
	b.append(st, b.line(contract.RoleUser, "", contract.PermissionResponse{Call: p.Call, Decision: p.Decision, By: &by}))
	b.change(st, func(s *wire.Session) { s.Asks = len(st.asks) })
	if p.ID == "" {
		p.ID = b.id("e")
	}
	return wire.SentResult{ID: p.ID, Session: st.meta.ID}, nil
}

func (b *Backend) configure(st *state, p wire.ConfigureParams) (any, error) {
	if p.Expect != 0 && p.Expect != st.meta.Version {
		return nil, conflict(st)
	}
	b.append(st, b.line(contract.RoleUser, "", contract.AgentConfigurationChanged{Model: p.Model, PermissionMode: p.PermissionMode}))
	return wire.SessionResult{Session: b.change(st, func(s *wire.Session) {
		if p.Model != "" {
			s.Config.Model = p.Model
		}
		if p.PermissionMode != "" {
			s.Config.PermissionMode = p.PermissionMode
		}
	})}, nil
}

func (b *Backend) update(st *state, p wire.UpdateParams) (any, error) {
	if p.Expect != st.meta.Version {
		return nil, conflict(st)
	}
	return wire.SessionResult{Session: b.change(st, func(s *wire.Session) {
		if p.Title != nil {
			s.Title = *p.Title
		}
		if p.Archived != nil {
			s.Archived = *p.Archived
			s.Status = session.StatusArchived
		}
	})}, nil
}

func conflict(st *state) error {
	return wire.Errorf(wire.CodeConflict, "the version is %d", st.meta.Version).WithData(st.meta)
}
