package adaptertest

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// mini is the smallest agent that the suite can be tried on: enough of ACP for
// one turn with an ask. Its field makes it wrong in one way.
type mini struct{ wrong string }

func (mini) Name() string { return "mini" }

func (m mini) Describe() adapters.Description {
	d := adapters.Description{Title: "Mini"}
	for _, c := range seven() {
		supported := slices.Contains(m.capabilities(), c)
		claim := adapters.Claim{Capability: c, Supported: supported}
		if !supported && m.wrong != "claim without a reason" {
			claim.Reason = "mini has none"
		}
		d.Claims = append(d.Claims, claim)
	}
	return d
}

func (m mini) capabilities() []session.Capability {
	caps := []session.Capability{session.CapDiff, session.CapReasoning}
	if m.wrong == "claims steer" {
		caps = append(caps, session.CapSteer)
	}
	if m.wrong == "hides reasoning" {
		caps = caps[:1]
	}
	return caps
}

func (m mini) Launch(r adapters.LaunchRequest) (adapters.Launch, error) {
	argv := r.Command
	if argv == nil {
		argv = []string{"mini"}
	}
	l := adapters.Launch{Argv: append(slices.Clone(argv), r.Args...)}
	if m.wrong == "file outside" {
		l.Files = []adapters.LaunchFile{{Path: "/etc/passwd"}}
	}
	return l, nil
}

func (m mini) NewProtocol(adapters.SessionInfo) adapters.Protocol {
	return &miniProtocol{mini: m, pending: jsonrpc.Pending[string]{}}
}

type miniProtocol struct {
	mini
	pending  jsonrpc.Pending[string]
	open     bool
	openID   string
	session  string
	turn     bool
	calls    []string
	ask      rawjson.Value // id of the request behind the open ask
	askKey   string
	asks     int
	deadline time.Time
	last     *adapters.Step
}

func (p *miniProtocol) Capabilities() []session.Capability {
	caps := p.capabilities()
	if p.wrong == "capability goes away" && p.turn {
		caps = caps[:1]
	}
	return caps
}

func (p *miniProtocol) Receive(now time.Time, f adapters.Frame) (adapters.Step, error) {
	var s adapters.Step
	defer func() { s.WakeAt = p.deadline }()
	if p.wrong == "changes a Step" && p.last != nil && len(p.last.Write) > 0 && len(p.last.Write[0]) > 0 {
		p.last.Write[0][0] = '!'
	}
	if f.Dropped > 0 {
		return p.wake(s), errors.New("a line was too long")
	}
	if f.Source != adapters.Stdout {
		return p.wake(s), nil
	}
	m, err := jsonrpc.Parse(f.Data)
	if p.wrong == "dies of garbage" && err != nil {
		s.Stop = "garbage"
	}
	if p.wrong == "says garbage" && err != nil {
		s.Emit = append(s.Emit, adapters.Draft{Event: contract.Text{Text: "?"}})
	}
	if err != nil && p.wrong != "swallows errors" {
		return p.wake(s), err
	}
	switch m.Kind {
	case jsonrpc.Response:
		p.response(&s, m)
	case jsonrpc.Request:
		p.request(&s, m)
	case jsonrpc.Notification:
		p.update(&s, m)
	}
	s = p.wake(s)
	p.last = &s
	return s, nil
}

func (p *miniProtocol) wake(s adapters.Step) adapters.Step {
	s.WakeAt = p.deadline
	return s
}

func (p *miniProtocol) write(s *adapters.Step, method, params, value string) {
	id := p.pending.Add(method, time.Time{}, value)
	s.Write = append(s.Write, jsonrpc.AppendRequest(nil, id, method, []byte(params)))
}

func (p *miniProtocol) response(s *adapters.Step, m jsonrpc.Message) {
	w, ok := p.pending.Take(m.ID)
	if !ok {
		return
	}
	switch w.Method {
	case "initialize":
		p.write(s, "session/new", `{"cwd":"/w","mcpServers":[]}`, "")
	case "session/new":
		p.session, p.open = m.Result.Get("sessionId").Text(), true
		s.Done = append(s.Done, adapters.Outcome{ID: p.openID})
	case "session/prompt":
		p.end(s, contract.TurnCompleted, m.Result.Get("stopReason").Text() == "cancelled")
	}
}

func (p *miniProtocol) end(s *adapters.Step, status contract.TurnStatus, cancelled bool) {
	if !p.turn {
		return
	}
	if cancelled {
		status = contract.TurnCancelled
	}
	for _, c := range p.calls {
		s.Emit = append(s.Emit, adapters.Draft{Event: contract.ToolCallEnd{Call: c}})
	}
	p.calls, p.ask, p.askKey, p.turn, p.deadline = nil, nil, "", false, time.Time{}
	s.Emit = append(s.Emit, adapters.Draft{Event: contract.TurnEnd{Status: status}})
	if p.wrong == "ends twice" {
		s.Emit = append(s.Emit, adapters.Draft{Event: contract.TurnEnd{Status: status}})
	}
}

func (p *miniProtocol) request(s *adapters.Step, m jsonrpc.Message) {
	if m.Method != "session/request_permission" || !p.turn || p.ask != nil {
		s.Write = append(s.Write, jsonrpc.AppendError(nil, m.ID, jsonrpc.MethodNotFound, "no", nil))
		return
	}
	call := m.Params.Get("toolCall", "toolCallId").Text()
	title := m.Params.Get("toolCall", "title").Text()
	if !slices.Contains(p.calls, call) && p.wrong != "asks for nothing" {
		p.calls = append(p.calls, call)
		s.Emit = append(s.Emit, adapters.Draft{Event: contract.ToolCallStart{
			Call: call, Name: "bash", Title: title, Description: title, Args: jsontext.Value(`{}`),
		}})
	}
	p.asks++
	p.ask, p.askKey = rawjson.Value(m.ID.Clean()), fmt.Sprintf("ask%d", p.asks)
	if p.wrong == "repeats an ask" {
		p.askKey = "ask"
	}
	s.Emit = append(s.Emit, adapters.Draft{Ask: p.askKey, Event: contract.PermissionRequest{
		Call: call, ToolName: "bash", Title: title, Description: title, Args: jsontext.Value(`{}`),
	}})
}

func (p *miniProtocol) update(s *adapters.Step, m jsonrpc.Message) {
	u := m.Params.Get("update")
	if !p.turn || m.Params.Get("sessionId").Text() != p.session {
		if p.wrong == "trips over news" && m.Method != "session/update" {
			p.turn = false
		}
		return
	}
	switch kind := u.Get("sessionUpdate").Text(); kind {
	case "agent_message_chunk", "agent_thought_chunk":
		text := u.Get("content", "text")
		ev := contract.Text{Text: text.Text(), Thinking: kind == "agent_thought_chunk"}
		d := adapters.Draft{Event: ev}
		if p.wrong == "keeps a frame" {
			d.Event = contract.Unknown{T: "x", Body: jsontext.Value(u)}
		}
		if ev.Text != "" {
			s.Emit = append(s.Emit, d)
		}
	case "tool_call_update":
		call := u.Get("toolCallId").Text()
		if !slices.Contains(p.calls, call) {
			return
		}
		p.calls = slices.DeleteFunc(p.calls, func(c string) bool { return c == call })
		r := &contract.ToolResult{Status: contract.ToolCompleted}
		if diff := u.Get("diff").Text(); diff != "" {
			r.Files = []contract.FileDiff{{Path: "x", Status: contract.ChangeModified, Patch: diff}}
		}
		s.Emit = append(s.Emit, adapters.Draft{Event: contract.ToolCallEnd{Call: call, Result: r}})
	}
}

func (p *miniProtocol) Submit(now time.Time, c adapters.Command) (adapters.Step, error) {
	var s adapters.Step
	s.WakeAt = p.deadline
	switch c := c.(type) {
	case adapters.Open:
		if p.openID != "" {
			return adapters.Step{}, errors.New("open already")
		}
		p.openID = c.ID
		p.write(&s, "initialize", `{"protocolVersion":1}`, "")
	case adapters.Prompt:
		if !p.open || p.turn || c.Text == "" && len(c.Files) == 0 {
			return adapters.Step{}, errors.New("not now")
		}
		p.turn = true
		s.Emit = append(s.Emit, adapters.Draft{Event: contract.TurnStart{}, Prompts: []string{c.ID}})
		p.write(&s, "session/prompt", `{}`, c.ID)
	case adapters.Abort:
		if p.turn && p.wrong != "ignores aborts" {
			p.deadline = now.Add(10 * time.Second)
			if p.wrong == "aborts too soon" {
				p.end(&s, contract.TurnCancelled, true)
				p.turn = true
			}
			s.Write = append(s.Write, jsonrpc.AppendNotification(nil, "session/cancel", []byte(`{}`)))
			s.WakeAt = p.deadline
		}
	case adapters.Answer:
		if p.ask == nil || c.Ask != p.askKey && p.wrong != "takes any answer" {
			return adapters.Step{}, fmt.Errorf("no ask %q", c.Ask)
		}
		s.Write = append(s.Write, jsonrpc.AppendResult(nil, p.ask, []byte(`{"outcome":{"outcome":"cancelled"}}`)))
		if p.wrong != "takes two answers" {
			p.ask = nil
		}
	case adapters.Close:
	default:
		if p.wrong == "refuses vaguely" {
			return adapters.Step{}, errors.New("no")
		}
		if p.wrong == "acts and refuses" {
			return adapters.Step{Stop: "x"}, errors.ErrUnsupported
		}
		return adapters.Step{}, errors.ErrUnsupported
	}
	return s, nil
}

func (p *miniProtocol) Tick(now time.Time) adapters.Step {
	var s adapters.Step
	if p.wrong == "wakes for ever" {
		s.WakeAt = now
		return s
	}
	if !p.deadline.IsZero() && !now.Before(p.deadline) {
		p.end(&s, contract.TurnCancelled, true)
	}
	return p.wake(s)
}

func (p *miniProtocol) Exit(time.Time, adapters.ExitStatus) adapters.Step {
	var s adapters.Step
	if p.openID != "" && !p.open && p.wrong != "forgets the open" {
		s.Done = append(s.Done, adapters.Outcome{ID: p.openID, Err: &contract.Error{Code: contract.CodeStartFailed, Message: "gone"}})
	}
	if p.wrong != "leaves the turn open" {
		p.end(&s, contract.TurnFailed, false)
	}
	if p.wrong == "writes to the dead" {
		s.Write = append(s.Write, []byte("bye\n"))
	}
	return s
}
