package gemini

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/acp"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// Protocol translates for one Gemini CLI. It hands each line to package acp, made
// into what the protocol has for it: what Gemini CLI says in words and titles is
// said in members there.
type Protocol struct {
	acp  adapters.Protocol
	info adapters.SessionInfo

	wake time.Time // acp's
	step adapters.Step
	errs []error

	mode    modeText
	opener  opener
	models  []session.ModelInfo // that are offered
	told    map[string]bool     // models that were told not to be
	pending map[string]string   // models of Configure commands that wait, by command
	topics  map[string]string   // titles of open update_topic calls, by call
}

var _ adapters.Protocol = (*Protocol)(nil)

func newProtocol(info adapters.SessionInfo) *Protocol {
	p := &Protocol{info: info, told: map[string]bool{}, pending: map[string]string{}, topics: map[string]string{}}
	s := spec()
	s.Hooks.LoadAt = func(now time.Time, info adapters.SessionInfo) time.Time {
		at := loadAt(now, info)
		p.opener.loadAt = at
		return at
	}
	p.acp = acp.New(s).NewProtocol(info)
	return p
}

// Capabilities implements adapters.Protocol.
func (p *Protocol) Capabilities() []session.Capability { return p.acp.Capabilities() }

// Receive implements adapters.Protocol.
func (p *Protocol) Receive(now time.Time, f adapters.Frame) (adapters.Step, error) {
	switch {
	case f.Source == adapters.Stdout && f.Dropped == 0:
		p.line(now, f)
	case f.Source == adapters.Stderr:
		p.loginPage(f.Data)
		p.pass(now, f)
	default:
		p.release(now)
		p.pass(now, f)
	}
	return p.finish(), p.err()
}

// line handles one line of Gemini CLI's output.
func (p *Protocol) line(now time.Time, f adapters.Frame) {
	v, err := rawjson.Parse(f.Data)
	if err != nil {
		p.release(now)
		if p.loginPrompt(now, f.Data) {
			return
		}
		p.pass(now, f)
		return
	}
	params := v.Get("params")
	switch method := v.Get("method").Text(); method {
	case "session/update":
		u := params.Get("update")
		switch u.Get("sessionUpdate").Text() {
		case "agent_message_chunk":
			if p.chunk(now, f, params) {
				return
			}
		case "agent_thought_chunk":
			f.Data = withoutSubject(v)
		case "tool_call", "tool_call_update":
			f.Data = fuller(v, "update")
		}
		p.release(now)
		p.pass(now, f)
		p.topic(u)
	case "session/request_permission":
		p.release(now)
		f.Data = fuller(v, "toolCall")
		p.pass(now, f)
	default:
		p.release(now)
		p.pass(now, f)
	}
}

// pass hands a frame to acp.
func (p *Protocol) pass(now time.Time, f adapters.Frame) {
	s, err := p.acp.Receive(now, f)
	if err != nil {
		p.errs = append(p.errs, err)
	}
	p.add(now, s)
}

// Submit implements adapters.Protocol.
func (p *Protocol) Submit(now time.Time, c adapters.Command) (adapters.Step, error) {
	s, err := p.acp.Submit(now, c)
	if err != nil {
		return adapters.Step{}, err
	}
	switch c := c.(type) {
	case adapters.Open:
		p.opener.id = c.ID
	case adapters.Configure:
		if c.Model != "" {
			p.pending[c.ID] = c.Model
		}
	}
	p.add(now, s)
	return p.finish(), nil
}

// Tick implements adapters.Protocol.
func (p *Protocol) Tick(now time.Time) adapters.Step {
	if p.mode.held() && !now.Before(p.mode.until) {
		p.release(now)
	}
	p.add(now, p.acp.Tick(now))
	p.errs = nil // of a chunk that was held: it was understood, or told before
	return p.finish()
}

// Exit implements adapters.Protocol.
func (p *Protocol) Exit(now time.Time, s adapters.ExitStatus) adapters.Step {
	p.release(now)
	p.add(now, p.acp.Exit(now, s))
	p.errs = nil
	step := p.finish()
	step.WakeAt, step.Write, step.Stop = time.Time{}, nil, ""
	return step
}

// add appends a Step of acp to the one that is being made.
func (p *Protocol) add(now time.Time, s adapters.Step) {
	p.wake = s.WakeAt
	p.opener.wrote(s.Write)
	p.learn(s.Facts)
	loopNotice(s.Emit)
	p.step = joined(p.step, s)
	p.outcomes(s.Done)
	p.waiting(now)
}

// finish returns the Step that was made.
func (p *Protocol) finish() adapters.Step {
	s := p.step
	p.step = adapters.Step{}
	s.WakeAt = p.wake
	if until := p.mode.until; p.mode.held() && (s.WakeAt.IsZero() || until.Before(s.WakeAt)) {
		s.WakeAt = until
	}
	return s
}

func (p *Protocol) err() error {
	err := errors.Join(p.errs...)
	p.errs = nil
	return err
}

// joined is what two Steps say, one after the other.
func joined(a, b adapters.Step) adapters.Step {
	a.Withdraw = append(a.Withdraw, b.Withdraw...)
	a.Emit = append(a.Emit, b.Emit...)
	a.Live = append(a.Live, b.Live...)
	a.Write = append(a.Write, b.Write...)
	a.Effects = append(a.Effects, b.Effects...)
	a.Done = append(a.Done, b.Done...)
	if b.Stop != "" {
		a.Stop = b.Stop
	}
	if a.Facts == nil {
		a.Facts = b.Facts
	} else if b.Facts != nil {
		f := joinedFacts(*a.Facts, *b.Facts)
		a.Facts = &f
	}
	return a
}

// joinedFacts lays later facts over earlier ones; empty fields are unchanged.
func joinedFacts(a, b adapters.Facts) adapters.Facts {
	text := func(dst *string, v string) {
		if v != "" {
			*dst = v
		}
	}
	text(&a.NativeSession, b.NativeSession)
	text(&a.AgentName, b.AgentName)
	text(&a.AgentVersion, b.AgentVersion)
	text(&a.Title, b.Title)
	text(&a.Model, b.Model)
	text(&a.Mode, b.Mode)
	text(&a.Thinking, b.Thinking)
	list(&a.Models, b.Models)
	list(&a.Modes, b.Modes)
	list(&a.Thinkings, b.Thinkings)
	list(&a.Commands, b.Commands)
	list(&a.Plan, b.Plan)
	list(&a.AuthMethods, b.AuthMethods)
	if b.ContextUsed != 0 || b.ContextSize != 0 {
		a.ContextUsed, a.ContextSize = b.ContextUsed, b.ContextSize
	}
	return a
}

func list[T any](dst *[]T, v []T) {
	if v != nil {
		*dst = v
	}
}

// learn keeps the models that are offered.
func (p *Protocol) learn(f *adapters.Facts) {
	if f != nil && f.Models != nil {
		p.models = f.Models
	}
}

// outcomes follows what became of Open and Configure: any model's name is
// accepted, and a wrong one fails at the next prompt only.
func (p *Protocol) outcomes(done []adapters.Outcome) {
	for _, o := range done {
		model, asked := p.pending[o.ID]
		if o.ID == p.opener.id && !p.opener.done {
			p.opener.done = true
			model, asked = p.info.Options.Model, p.info.Options.Model != ""
		}
		delete(p.pending, o.ID)
		if asked && o.Err == nil {
			p.unknownModel(model)
		}
	}
}

func (p *Protocol) unknownModel(model string) {
	offered := func(m session.ModelInfo) bool { return m.ID == model }
	if p.told[model] || slices.ContainsFunc(p.models, offered) {
		return
	}
	p.told[model] = true
	p.notice(fmt.Sprintf("Gemini CLI does not offer a model %q. It takes any name; a wrong one makes the next prompt fail.", model), "")
}

// notice says something to people.
func (p *Protocol) notice(text string, code contract.ErrorCode) {
	p.step.Emit = append(p.step.Emit, adapters.Draft{
		Event: contract.Service{Text: text, Kind: contract.ServiceNotice, Code: code},
	})
}

// loopNotice adds to a notice of acp what else the same stop means here.
func loopNotice(drafts []adapters.Draft) {
	for i, d := range drafts {
		if s, ok := d.Event.(contract.Service); ok && s.Code == contract.CodeMaxTurns {
			s.Text += " Gemini CLI says the same when it finds that the model repeats itself."
			drafts[i].Event = s
		}
	}
}

// topic makes the session's title of what the model calls its topic.
func (p *Protocol) topic(u rawjson.Value) {
	id := u.Get("toolCallId").Text()
	if toolName(id) != "update_topic" {
		return
	}
	if m := topic().FindStringSubmatch(u.Get("title").Text()); m != nil {
		p.topics[id] = m[1]
	}
	switch u.Get("status").Text() {
	case "completed":
		if title := p.topics[id]; title != "" {
			p.step = joined(p.step, adapters.Step{Facts: &adapters.Facts{Title: title}})
		}
		delete(p.topics, id)
	case "failed":
		delete(p.topics, id)
	}
}
