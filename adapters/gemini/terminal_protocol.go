package gemini

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/acp"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// terminal translates for one Gemini CLI that shows its own screen.
//
// Its sources, and what each is for:
//
//   - The chat file is what was said: texts, thoughts, calls and their results,
//     tokens, errors, that a request was cancelled.
//   - Hooks say at once what the file tells later or never: that a prompt was taken,
//     that a tool is about to run and what became of it, that a person is about to be
//     asked, that a turn is over.
//   - The screen says when keys may be typed: whether the input line is there and
//     empty, whether a question about a tool is shown, what is in the way at the start.
//
// What it hears it says to package acp's Protocol as an agent would over ACP, so that
// both faces make the same envelopes; what that Protocol writes becomes keys.
//
// Where Gemini CLI runs no hooks (settings that it does not take, a directory that is
// not trusted) the chat file alone tells, and a turn ends when the screen is idle.
type terminal struct {
	acp  adapters.Protocol
	info adapters.TerminalInfo
	now  time.Time
	born time.Time // of Open
	wake time.Time // acp's
	step adapters.Step
	errs []error
	todo [][]byte // messages that acp has yet to be told

	open  starting
	chat  chatFile
	turn  liveTurn
	calls callBook
	gate  dialogGate
	typed typist
	ghost ghost
	view  view
	viewT time.Time // of the newest screen
	over  bool      // Exit was called
}

var _ adapters.Protocol = (*terminal)(nil)

func newTerminal(info adapters.TerminalInfo) *terminal {
	t := &terminal{info: info}
	inner := info.SessionInfo
	o := &inner.Options
	// The command line took these.
	o.Mode, o.Model, o.Resume, o.Continue, o.MCPServers, o.Sandbox = "", "", "", false, nil, false
	o.AskFirst = nil
	t.acp = acp.New(terminalSpec()).NewProtocol(inner)
	t.chat.init()
	return t
}

// Capabilities implements adapters.Protocol.
func (*terminal) Capabilities() []session.Capability { return adapters.Supported(terminalClaims()) }

// Receive implements adapters.Protocol.
func (t *terminal) Receive(now time.Time, f adapters.Frame) (adapters.Step, error) {
	t.now = now
	switch {
	case f.Source == adapters.Hook:
		t.hook(f)
	case f.Dropped > 0:
		t.errs = append(t.errs, fmt.Errorf("a line of %d bytes was dropped", f.Dropped))
	case f.Source == adapters.Terminal:
		t.screen(f.Data)
	case f.Source == adapters.LogFile:
		t.record(f)
	default:
		t.errs = append(t.errs, errors.New("output that is neither of a hook, a file nor a screen"))
	}
	t.settle()
	err := errors.Join(t.errs...)
	t.errs = nil
	return t.finish(), err
}

// Submit implements adapters.Protocol.
func (t *terminal) Submit(now time.Time, c adapters.Command) (adapters.Step, error) {
	t.now = now
	switch c := c.(type) {
	case adapters.Prompt:
		if err := t.mayType(c); err != nil {
			return adapters.Step{}, err
		}
	case adapters.Open:
		if t.born.IsZero() {
			t.born = now
		}
	}
	if err := t.tell(c); err != nil {
		return adapters.Step{}, err
	}
	switch c := c.(type) {
	case adapters.Open:
		t.begin()
	case adapters.Prompt:
		t.typed.take(c, now)
	}
	t.settle()
	t.errs = nil
	return t.finish(), nil
}

// tell submits a command to acp.
func (t *terminal) tell(c adapters.Command) error {
	s, err := t.acp.Submit(t.now, c)
	if err != nil {
		return err
	}
	t.add(s)
	t.drain()
	return nil
}

// Tick implements adapters.Protocol.
func (t *terminal) Tick(now time.Time) adapters.Step {
	t.now = now
	if !t.wake.IsZero() && !now.Before(t.wake) {
		t.add(t.acp.Tick(now))
		t.drain()
	}
	t.settle()
	t.errs = nil
	return t.finish()
}

// Exit implements adapters.Protocol.
func (t *terminal) Exit(now time.Time, s adapters.ExitStatus) adapters.Step {
	t.now = now
	if t.turn.open && t.turn.finished() {
		t.endTurn() // it was over; only its end was waited for
	}
	t.over = true
	t.add(t.acp.Exit(now, s))
	t.todo, t.errs = nil, nil
	step := t.finish()
	step.WakeAt, step.Write, step.Effects, step.Stop = time.Time{}, nil, nil, ""
	return step
}

// settle does what is due after something happened.
func (t *terminal) settle() {
	t.start()
	t.endings()
	t.dialogs()
	t.gate.unstray(t)
	t.typing()
}

// finish returns the Step that was made.
func (t *terminal) finish() adapters.Step {
	s := t.step
	t.step = adapters.Step{}
	s.WakeAt = t.wake
	for _, at := range []time.Time{t.open.at, t.turn.endAt, t.turn.idleAt, t.gate.at, t.typed.at} {
		if !at.IsZero() && (s.WakeAt.IsZero() || at.Before(s.WakeAt)) {
			s.WakeAt = at
		}
	}
	return s
}

// add takes a Step of acp: its messages are done here, the rest goes on.
func (t *terminal) add(s adapters.Step) {
	t.wake = s.WakeAt
	writes := s.Write
	s.Write = nil
	s.Withdraw = slices.DeleteFunc(s.Withdraw, func(key string) bool { return t.gate.settled[key] })
	if s.Facts != nil {
		f := *s.Facts
		t.open.facts(&f)
		s.Facts = &f
	}
	for _, d := range s.Emit {
		switch d.Event.(type) {
		case contract.TurnStart:
			t.turn.begin(t.now, len(d.Prompts) == 0)
		case contract.TurnEnd:
			t.turn.end()
			t.calls.reset()
			t.gate.reset(t)
		case contract.PermissionRequest:
			t.gate.keyed(d.Ask)
		}
	}
	t.step = joined(t.step, s)
	for _, w := range writes {
		m, err := jsonrpc.Parse(w)
		if err != nil {
			continue // acp writes what can be read
		}
		t.wrote(m)
	}
}

// wrote does what acp asks of the agent.
func (t *terminal) wrote(m jsonrpc.Message) {
	switch {
	case m.Kind == jsonrpc.Response:
		t.decided(m)
	case m.Method == "initialize":
		t.answer(m.ID, `{"protocolVersion":1,"agentInfo":{"name":"gemini-cli","title":"Gemini CLI","version":""},"agentCapabilities":{}}`)
	case m.Method == "session/new":
		t.open.request = rawjson.Value(m.ID.Clean())
	case m.Method == "session/prompt":
		t.turn.request = rawjson.Value(m.ID.Clean())
	case m.Method == "session/cancel":
		t.cancel()
	case m.Kind == jsonrpc.Request:
		t.say(jsonrpc.AppendError(nil, m.ID, jsonrpc.MethodNotFound, "Gemini CLI has no such thing for its screen", nil))
	}
}

// say tells acp a message of the agent, soon.
func (t *terminal) say(message []byte) { t.todo = append(t.todo, message) }

func (t *terminal) answer(id rawjson.Value, result string) {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	b = append(append(b, `,"result":`...), result...)
	t.say(append(b, '}'))
}

// update tells acp an update of the session.
func (t *terminal) update(update jsontext.Value) {
	b := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`)
	b = rawjson.AppendString(b, t.open.wire)
	b = append(append(b, `,"update":`...), update...)
	t.say(append(b, '}', '}'))
	t.drain()
}

// drain tells acp what it has yet to be told.
func (t *terminal) drain() {
	for len(t.todo) > 0 && !t.over {
		m := t.todo[0]
		t.todo = t.todo[1:]
		s, err := t.acp.Receive(t.now, adapters.Frame{Data: []byte(strings.TrimSuffix(string(m), "\n"))})
		if err != nil {
			t.errs = append(t.errs, err)
		}
		t.add(s)
	}
}

// write types at the terminal.
func (t *terminal) write(keys string) { t.step.Write = append(t.step.Write, []byte(keys)) }

// notice says something to people.
func (t *terminal) notice(text string, code contract.ErrorCode) {
	t.step.Emit = append(t.step.Emit, adapters.Draft{Event: contract.Service{Text: text, Kind: contract.ServiceNotice, Code: code}})
}

// byUser says what a person did at the terminal.
func (t *terminal) byUser(d adapters.Draft) {
	d.Role = contract.RoleUser
	t.step.Emit = append(t.step.Emit, d)
}

// due reports whether a time that is set has come.
func (t *terminal) due(at time.Time) bool { return !at.IsZero() && !t.now.Before(at) }
