package acp

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/silence"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// phase is how far the session has come.
type phase int

const (
	fresh   phase = iota // before Open
	opening              // from Open to its Outcome
	ready
	failed // the session could not be opened
	gone   // after Exit
)

// Protocol translates for one child process. Each exported method builds one
// Step; the state is plain values, and what shall happen when an answer comes is
// a closure in the table of pending requests.
type Protocol struct {
	spec       AgentSpec
	info       adapters.SessionInfo
	cancelWait time.Duration // CancelWait, unless a setting says otherwise

	now  time.Time     // of the call that is being handled
	step adapters.Step // that the call builds

	pending jsonrpc.Pending[func(reply)]
	phase   phase
	wasOpen bool // the session was ready once: capabilities do not shrink
	opener  opener
	agent   agent
	session string // native id, empty until known
	early   early
	config  config

	turn    turn
	text    textBuffer
	calls   calls
	agents  subagents
	asks    asks
	client  clientSide
	usage   usage
	steer   steers
	foreign foreign

	silence silence.Watch
	exit    *adapters.ExitStatus
}

var _ adapters.Protocol = (*Protocol)(nil)

func newProtocol(spec AgentSpec, info adapters.SessionInfo) *Protocol {
	p := &Protocol{spec: spec, info: info}
	stall := StallWait
	if d, err := silence.Parse(p.setting(silence.Setting)); err == nil {
		stall = d
	}
	p.silence = silence.New(stall)
	p.cancelWait = CancelWait
	if d, err := time.ParseDuration(p.setting("cancel-wait")); err == nil && d > 0 {
		p.cancelWait = d
	}
	return p
}

// Receive implements adapters.Protocol.
func (p *Protocol) Receive(now time.Time, f adapters.Frame) (adapters.Step, error) {
	p.begin(now)
	var err error
	switch f.Source {
	case adapters.Stdout:
		err = p.line(f)
	case adapters.Stderr:
		p.stderr(f.Data)
	default:
		err = fmt.Errorf("frame from source %d: want standard output or error", f.Source)
	}
	return p.finish(), err
}

// Submit implements adapters.Protocol.
func (p *Protocol) Submit(now time.Time, c adapters.Command) (adapters.Step, error) {
	p.begin(now)
	if err := p.submit(c); err != nil {
		p.step = adapters.Step{}
		return adapters.Step{}, err
	}
	return p.finish(), nil
}

// submit checks before it acts: on an error nothing has happened.
func (p *Protocol) submit(c adapters.Command) error {
	if p.phase == gone {
		return errors.New("the agent's process has ended")
	}
	switch c := c.(type) {
	case adapters.Open:
		return p.open(c)
	case adapters.Prompt:
		return p.prompt(c)
	case adapters.Steer:
		return p.steerWith(c)
	case adapters.Abort:
		p.abort()
	case adapters.Answer:
		return p.answer(c)
	case adapters.Configure:
		return p.configure(c)
	case adapters.Op:
		return p.op(c)
	case adapters.EffectDone:
		return p.effectDone(c)
	case adapters.Close:
		p.goodbye(c.ID)
	default:
		return fmt.Errorf("command %T: %w", c, adapters.ErrUnsupported)
	}
	return nil
}

// Tick implements adapters.Protocol.
func (p *Protocol) Tick(now time.Time) adapters.Step {
	p.begin(now)
	if p.phase != gone {
		p.timers()
	}
	return p.finish()
}

// Exit implements adapters.Protocol.
func (p *Protocol) Exit(now time.Time, s adapters.ExitStatus) adapters.Step {
	p.begin(now)
	if p.phase == gone {
		return p.finish()
	}
	p.exit = &s
	for _, w := range p.pending.Drain() {
		w.Value(reply{gone: true})
	}
	if p.turn.open {
		p.endTurn(contract.TurnFailed, p.exitFault())
	}
	if p.phase == opening {
		p.openFailed(*p.exitFault())
	}
	p.phase = gone
	step := p.finish()
	step.WakeAt, step.Write, step.Stop = time.Time{}, nil, ""
	return step
}

// begin starts a Step. The clock never runs backwards in here.
func (p *Protocol) begin(now time.Time) {
	p.step = adapters.Step{}
	if now.After(p.now) {
		p.now = now
	}
}

func (p *Protocol) finish() adapters.Step {
	s := p.step
	p.step = adapters.Step{}
	s.WakeAt = p.nextWake()
	return s
}

// line handles one line of the agent's output.
func (p *Protocol) line(f adapters.Frame) error {
	if f.Dropped > 0 {
		p.garbled()
		return fmt.Errorf("dropped a line of %d bytes: longer than the limit", f.Dropped)
	}
	var errs []error
	jsonrpc.SplitBatch(f.Data, func(m jsonrpc.Message, err error) {
		if err == nil {
			err = p.message(m)
		} else if looksGarbled(f.Data) {
			p.garbled()
		}
		if err != nil {
			errs = append(errs, err)
		}
	})
	return errors.Join(errs...)
}

// looksGarbled tells a broken message from a banner or log line.
func looksGarbled(line []byte) bool {
	line = bytes.TrimSpace(line)
	return bytes.HasPrefix(line, []byte("{")) || bytes.Contains(line, []byte(`"jsonrpc"`))
}

// garbled says once a turn that something was lost.
func (p *Protocol) garbled() {
	if p.turn.garbled {
		return
	}
	p.turn.garbled = true
	p.emit(contract.Service{
		Text: "Malformed agent output: a part of what the agent said could not be read.",
		Kind: contract.ServiceError, Code: contract.CodeProtocol,
	})
}

// message handles one message.
func (p *Protocol) message(m jsonrpc.Message) error {
	p.silence.Heard(p.now)
	switch m.Kind {
	case jsonrpc.Response:
		w, ok := p.pending.Take(m.ID)
		if !ok {
			if m.Err != nil && !m.ID.Given() {
				return fmt.Errorf("the agent could not read a message: %w", m.Err)
			}
			return fmt.Errorf("answer to request %q, which does not wait for one", m.ID.Clean())
		}
		p.settleCalls("")
		w.Value(reply{result: m.Result, err: m.Err})
		return nil
	case jsonrpc.Request:
		return p.request(m)
	default:
		return p.notification(m)
	}
}

// notification handles what needs no answer. Unknown ones whose name begins with
// an underscore are somebody's extension, and ignored as the protocol wants.
func (p *Protocol) notification(m jsonrpc.Message) error {
	switch m.Method {
	case "session/update":
		return p.notified(m.Params)
	case "$/cancel_request":
		p.cancelRequest(m.Params.Get("requestId"))
	case "elicitation/complete":
		p.elicitationComplete(m.Params.Get("elicitationId").Text())
	case "_qwencode/end_turn":
		if p.turn.open && p.turn.auto {
			p.endTurn(contract.TurnCompleted, nil)
		}
	default:
		if len(m.Method) == 0 || m.Method[0] != '_' {
			return fmt.Errorf("unknown notification %q", m.Method)
		}
	}
	return nil
}

// request handles what the agent asks of us. Whatever it is, it gets an answer.
func (p *Protocol) request(m jsonrpc.Message) error {
	switch m.Method {
	case "session/request_permission":
		p.requestPermission(m)
	case "elicitation/create":
		p.settleCalls("")
		p.elicit(m)
	case "fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output",
		"terminal/wait_for_exit", "terminal/kill", "terminal/release":
		p.settleCalls("")
		p.clientRequest(m)
	case "craft/drainMidTurnQueue":
		p.settleCalls("")
		p.drain(m)
	case "_qwencode/start_turn":
		p.ensureTurn()
		p.respond(m.ID, []byte("{}"))
	default:
		p.refuse(m.ID, jsonrpc.MethodNotFound, "Method not found: "+m.Method)
		return fmt.Errorf("unknown request %q", m.Method)
	}
	return nil
}

// reply is what became of a request of ours.
type reply struct {
	result  rawjson.Value
	err     *jsonrpc.Error
	timeout bool
	gone    bool // the child has ended
}

// ok reports a result.
func (r reply) ok() bool { return r.err == nil && !r.timeout && !r.gone }

// unknownMethod reports that the agent has no such method.
func (r reply) unknownMethod() bool { return r.err != nil && r.err.Code == jsonrpc.MethodNotFound }

// call sends a request. then runs when the answer is there, the time is up or the
// child is gone; a wait of 0 is for ever.
func (p *Protocol) call(method string, params any, wait time.Duration, then func(reply)) int64 {
	var deadline time.Time
	if wait > 0 {
		deadline = p.now.Add(wait)
	}
	id := p.pending.Add(method, deadline, then)
	p.step.Write = append(p.step.Write, jsonrpc.AppendRequest(nil, id, method, encode(params)))
	return id
}

func (p *Protocol) notify(method string, params any) {
	p.step.Write = append(p.step.Write, jsonrpc.AppendNotification(nil, method, encode(params)))
}

// respond answers a request of the agent with strict JSON.
func (p *Protocol) respond(id rawjson.Value, result []byte) {
	p.step.Write = append(p.step.Write, jsonrpc.AppendResult(nil, id, result))
}

func (p *Protocol) refuse(id rawjson.Value, code int64, message string) {
	p.step.Write = append(p.step.Write, jsonrpc.AppendError(nil, id, code, message, nil))
}

// encode makes strict JSON of our own parameter types, which always can be
// encoded: broken UTF-8 is replaced, raw JSON was checked before.
func encode(v any) []byte {
	data, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return []byte("{}")
	}
	return data
}

func (p *Protocol) emit(e contract.Event) { p.emitFor("", e) }

// emitFor writes an event of the sub-agent, the main agent when it is empty. The
// text so far comes before it.
func (p *Protocol) emitFor(subagent string, e contract.Event) {
	p.flushText()
	p.step.Emit = append(p.step.Emit, adapters.Draft{Subagent: p.agents.keyOf(subagent), Event: e})
}

func (p *Protocol) facts() *adapters.Facts {
	if p.step.Facts == nil {
		p.step.Facts = &adapters.Facts{}
	}
	return p.step.Facts
}

func (p *Protocol) done(id string, result jsontext.Value, err *contract.Error) {
	p.step.Done = append(p.step.Done, adapters.Outcome{ID: id, Result: result, Err: err})
}
