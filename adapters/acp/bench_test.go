package acp

import (
	"bytes"
	"encoding/json"
	jsonv2 "encoding/json/v2"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
)

var start = time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)

// bench is a host for one Protocol: it keeps the clock, collects what comes out
// and checks the rules of the contract on the way.
type bench struct {
	t       *testing.T
	p       adapters.Protocol
	now     time.Time
	wake    time.Time
	drafts  []adapters.Draft
	live    []adapters.Delta
	done    []adapters.Outcome
	facts   adapters.Facts
	written []jsonrpc.Message // by the Protocol, in order
	raw     [][]byte          // the same as bytes
	effects []adapters.Effect
	stop    string
	errs    []error // from Receive

	asks  []string // open
	turn  bool
	calls map[string]string // open, to sub-agent
	subs  map[string]bool   // running
	n     int               // prompts
	asked map[string]string // methods of the agent's requests by their ids
}

func newBench(t *testing.T, spec AgentSpec, o adapters.Options) *bench {
	t.Helper()
	info := adapters.SessionInfo{
		ID: "host-1", Dir: "/w", Client: adapters.ClientInfo{Name: "agenthost", Version: "0.0.1"}, Options: o,
	}
	return &bench{t: t, p: New(spec).NewProtocol(info), now: start, calls: map[string]string{}, subs: map[string]bool{}, asked: map[string]string{}}
}

// openBench opens a session against an agent that answers as told.
func openBench(t *testing.T, spec AgentSpec, o adapters.Options, initialize, opened string) *bench {
	t.Helper()
	b := newBench(t, spec, o)
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), initialize)
	b.result(b.lastOf("session/new", "session/load", "session/resume", "session/fork"), opened)
	for !b.opened() {
		m, ok := b.unanswered()
		if !ok {
			t.Fatalf("the session did not open: %+v", b.done)
		}
		b.result(m, `{}`)
	}
	if o := b.done[len(b.done)-1]; o.Err != nil {
		t.Fatalf("opening: %v", o.Err)
	}
	return b
}

// plain is a session of an agent that follows the specification.
func plain(t *testing.T) *bench {
	t.Helper()
	return openBench(t, AgentSpec{Name: "fake", Title: "Fake"}, adapters.Options{},
		`{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`, `{"sessionId":"s"}`)
}

func (b *bench) opened() bool {
	return slices.ContainsFunc(b.done, func(o adapters.Outcome) bool { return o.ID == "open" })
}

func (b *bench) submit(c adapters.Command) {
	b.t.Helper()
	if err := b.try(c); err != nil {
		b.t.Fatalf("Submit(%T) = %v", c, err)
	}
}

func (b *bench) try(c adapters.Command) error {
	b.t.Helper()
	step, err := b.p.Submit(b.now, c)
	if err != nil {
		if len(step.Emit)+len(step.Write)+len(step.Done) > 0 {
			b.t.Errorf("Submit(%T) gave the error %v and a step", c, err)
		}
		return err
	}
	b.apply(step)
	return nil
}

func (b *bench) prompt() string {
	b.t.Helper()
	b.n++
	id := fmt.Sprintf("p%d", b.n)
	b.submit(adapters.Prompt{ID: id, Text: "hello"})
	return id
}

// line feeds one line of the agent's standard output.
func (b *bench) line(s string) {
	b.t.Helper()
	if m, err := jsonrpc.Parse([]byte(s)); err == nil && m.Kind == jsonrpc.Request {
		b.asked[string(m.ID)] = m.Method
	}
	data := []byte(s)
	step, err := b.p.Receive(b.now, adapters.Frame{Source: adapters.Stdout, Data: data})
	for i := range data {
		data[i] = 'x' // the data is only valid during Receive
	}
	if err != nil {
		b.errs = append(b.errs, err)
	}
	b.apply(step)
}

func (b *bench) update(u string) {
	b.t.Helper()
	b.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":` + u + `}}`)
}

func (b *bench) chunk(text string) {
	b.t.Helper()
	q, _ := json.Marshal(text)
	b.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` + string(q) + `}}`)
}

func (b *bench) request(id, method, params string) {
	b.t.Helper()
	b.line(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
}

func (b *bench) result(m jsonrpc.Message, result string) {
	b.t.Helper()
	b.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
}

func (b *bench) fail(m jsonrpc.Message, e string) {
	b.t.Helper()
	b.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"error":` + e + `}`)
}

// advance lets time pass, with every wake-up on the way.
func (b *bench) advance(d time.Duration) {
	b.t.Helper()
	until := b.now.Add(d)
	for !b.wake.IsZero() && !b.wake.After(until) {
		if b.wake.After(b.now) {
			b.now = b.wake
		}
		before := b.wake
		b.apply(b.p.Tick(b.now))
		if b.wake.Equal(before) {
			b.t.Fatalf("Tick at %v asks for itself again", before)
		}
	}
	b.now = until
}

func (b *bench) exit(s adapters.ExitStatus) {
	b.t.Helper()
	b.apply(b.p.Exit(b.now, s))
	if b.turn || len(b.calls) > 0 || len(b.subs) > 0 || len(b.asks) > 0 {
		b.t.Errorf("open after Exit: turn %v, calls %v, sub-agents %v, asks %v", b.turn, b.calls, b.subs, b.asks)
	}
}

// apply does what a host does with a Step.
func (b *bench) apply(s adapters.Step) {
	b.t.Helper()
	b.wake = s.WakeAt
	for _, a := range s.Withdraw {
		b.asks = slices.DeleteFunc(b.asks, func(x string) bool { return x == a })
	}
	for _, d := range s.Emit {
		b.check(d)
		b.drafts = append(b.drafts, d)
	}
	b.live = append(b.live, s.Live...)
	b.done = append(b.done, s.Done...)
	b.effects = append(b.effects, s.Effects...)
	if s.Stop != "" {
		b.stop = s.Stop
	}
	if s.Facts != nil {
		b.mergeFacts(*s.Facts)
	}
	for _, w := range s.Write {
		if !bytes.HasSuffix(w, []byte("\n")) || bytes.Count(w, []byte("\n")) != 1 {
			b.t.Errorf("wrote %q: want one line", w)
		}
		m, err := jsonrpc.Parse(w)
		if err != nil {
			b.t.Errorf("wrote %q: %v", w, err)
		}
		checkWritten(b.t, m, b.asked)
		b.written, b.raw = append(b.written, m), append(b.raw, w)
	}
}

func (b *bench) mergeFacts(f adapters.Facts) {
	for _, s := range []struct{ dst, src *string }{
		{&b.facts.NativeSession, &f.NativeSession},
		{&b.facts.AgentName, &f.AgentName},
		{&b.facts.AgentVersion, &f.AgentVersion},
		{&b.facts.Title, &f.Title},
		{&b.facts.Model, &f.Model},
		{&b.facts.Mode, &f.Mode},
		{&b.facts.Thinking, &f.Thinking},
	} {
		if *s.src != "" {
			*s.dst = *s.src
		}
	}
	if f.Commands != nil {
		b.facts.Commands = f.Commands
	}
	if f.Plan != nil {
		b.facts.Plan = f.Plan
	}
	if f.AuthMethods != nil {
		b.facts.AuthMethods = f.AuthMethods
	}
	if f.Modes != nil {
		b.facts.Modes = f.Modes
	}
	if f.Models != nil {
		b.facts.Models = f.Models
	}
	if f.ContextSize > 0 {
		b.facts.ContextUsed, b.facts.ContextSize = f.ContextUsed, f.ContextSize
	}
}

// check holds a draft against the contract's rules E2 to E7.
func (b *bench) check(d adapters.Draft) {
	b.t.Helper()
	wantTurn := true
	switch e := d.Event.(type) {
	case contract.TurnStart:
		if b.turn {
			b.t.Errorf("turn-start inside a turn")
		}
		b.turn, wantTurn = true, false
	case contract.TurnEnd:
		if len(b.calls) > 0 || len(b.subs) > 0 || len(b.asks) > 0 {
			b.t.Errorf("turn-end with calls %v, sub-agents %v, asks %v open", b.calls, b.subs, b.asks)
		}
		if !b.turn {
			b.t.Errorf("turn-end outside a turn")
		}
		b.turn, wantTurn = false, false
	case contract.ToolCallStart:
		if _, open := b.calls[e.Call]; open {
			b.t.Errorf("call %s started twice", e.Call)
		}
		b.calls[e.Call] = d.Subagent
		if e.Title == "" || e.Description == "" || e.Name == "" || !json.Valid(e.Args) || e.Args[0] != '{' {
			b.t.Errorf("incomplete start: %+v", e)
		}
	case contract.ToolCallEnd:
		if _, open := b.calls[e.Call]; !open {
			b.t.Errorf("end of call %s, which is not open", e.Call)
		}
		delete(b.calls, e.Call)
	case contract.PermissionRequest:
		if _, open := b.calls[e.Call]; !open {
			b.t.Errorf("permission-request for call %s, which is not open", e.Call)
		}
		if d.Ask == "" || e.Title == "" || e.Description == "" || !json.Valid(e.Args) {
			b.t.Errorf("incomplete ask: %+v", d)
		}
		b.asks = append(b.asks, d.Ask)
	case contract.SubagentStart:
		if b.subs[e.AgentID] {
			b.t.Errorf("sub-agent %s started twice", e.AgentID)
		}
		b.subs[e.AgentID] = true
	case contract.SubagentStop:
		if !b.subs[e.AgentID] {
			b.t.Errorf("stop of sub-agent %s, which does not run", e.AgentID)
		}
		delete(b.subs, e.AgentID)
	case contract.Service, contract.AgentConfigurationChanged:
		wantTurn = false
	case contract.Text:
		if e.Text == "" {
			b.t.Errorf("empty text")
		}
	}
	if wantTurn && !b.turn {
		b.t.Errorf("%T outside a turn", d.Event)
	}
	if d.Subagent != "" && !b.subs[d.Subagent] {
		b.t.Errorf("%T of sub-agent %s, which does not run", d.Event, d.Subagent)
	}
	if d.Role != "" && d.Role != contract.RoleAgent {
		b.t.Errorf("%T by %s", d.Event, d.Role)
	}
}

// answer settles the oldest open ask.
func (b *bench) answer(d contract.Decision) {
	b.t.Helper()
	if len(b.asks) == 0 {
		b.t.Fatal("no ask is open")
	}
	key := b.asks[0]
	b.asks = b.asks[1:]
	b.submit(adapters.Answer{Ask: key, Decision: d})
}

// last is the last request or notification with that method.
func (b *bench) last(method string) jsonrpc.Message { b.t.Helper(); return b.lastOf(method) }

func (b *bench) lastOf(methods ...string) jsonrpc.Message {
	b.t.Helper()
	for i := len(b.written) - 1; i >= 0; i-- {
		if slices.Contains(methods, b.written[i].Method) {
			return b.written[i]
		}
	}
	b.t.Fatalf("nothing of %q was written", methods)
	return jsonrpc.Message{}
}

func (b *bench) count(method string) (n int) {
	for _, m := range b.written {
		if m.Method == method {
			n++
		}
	}
	return n
}

// unanswered is the last request, if it is the last message.
func (b *bench) unanswered() (jsonrpc.Message, bool) {
	if len(b.written) == 0 {
		return jsonrpc.Message{}, false
	}
	m := b.written[len(b.written)-1]
	return m, m.Kind == jsonrpc.Request
}

// reply is our answer to the agent's request id.
func (b *bench) reply(id string) (jsonrpc.Message, bool) {
	for i := len(b.written) - 1; i >= 0; i-- {
		if m := b.written[i]; m.Kind == jsonrpc.Response && string(m.ID) == id {
			return m, true
		}
	}
	return jsonrpc.Message{}, false
}

// story is the stream in short, one word or two for each envelope.
func (b *bench) story() string {
	var out []string
	for _, d := range b.drafts {
		out = append(out, short(d))
	}
	return strings.Join(out, " | ")
}

func short(d adapters.Draft) string {
	s := ""
	switch e := d.Event.(type) {
	case contract.Text:
		s = "text " + e.Text
		if e.Thinking {
			s = "thinking " + e.Text
		}
	case contract.TurnStart:
		if s = "turn-start"; len(d.Prompts) > 0 {
			s += " " + strings.Join(d.Prompts, ",")
		}
	case contract.TurnEnd:
		if s = "turn-end " + string(e.Status); e.Error != nil {
			s += " " + string(e.Error.Code)
		}
	case contract.ToolCallStart:
		s = "start " + e.Call + " " + e.Name + " " + string(e.Args)
	case contract.ToolCallEnd:
		if s = "end " + e.Call; e.Result != nil {
			s += " " + string(e.Result.Status)
		}
	case contract.PermissionRequest:
		s = "ask " + e.Call
	case contract.Service:
		s = "service " + string(e.Kind)
	case contract.SubagentStart:
		s = "sub-start " + e.AgentID
	case contract.SubagentStop:
		s = "sub-stop " + e.AgentID
	case contract.AgentConfigurationChanged:
		s = "config " + string(e.PermissionMode) + e.Model + e.ThinkingLevel
	default:
		s = string(d.Event.EventType())
	}
	if d.Subagent != "" {
		s = d.Subagent + ": " + s
	}
	return s
}

func (b *bench) want(story string) {
	b.t.Helper()
	if got := b.story(); got != story {
		b.t.Errorf("story is\n  %s\nwant\n  %s", strings.ReplaceAll(got, " | ", "\n  "), strings.ReplaceAll(story, " | ", "\n  "))
	}
}

// jsonOf is a value of the contract as it goes over the wire.
func jsonOf(v any) string {
	data, err := jsonv2.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
