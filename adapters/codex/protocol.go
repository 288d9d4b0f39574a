package codex

import (
	"errors"
	"fmt"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/silence"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// protocol translates for one process of the server.
type protocol struct {
	info adapters.SessionInfo
	cfg  settings

	// step is what the call under way will return, now its time.
	step adapters.Step
	now  time.Time

	open     opening
	facts    facts
	requests jsonrpc.Pending[*request]
	root     *thread
	children []*thread // threads of sub-agents, in the order in which they became known
	inputs   []*input  // messages that no turn has taken up, in order
	turn     turn
	late     []settled
	// lastTurn is the native id of the turn that ended last.
	lastTurn string
	usage    contract.Usage // since the last turn-end
	asks     []*ask
	callSeq  int
	// reverts counts those of ours that the server has not told yet.
	reverts int
	// loose says that something was emitted outside of the root's turns, so that
	// the stamper may have a turn open.
	loose bool
	// abortNext aborts the turn that takes up what is pending.
	abortNext  bool
	compacting compacting
	// diff is the newest of a turn.
	diff turnDiff
	// gone says that Exit was called.
	gone    bool
	silence silence.Watch
	// tui is set when the agent's own screen runs beside us, at the same server.
	tui *tui
	// settling are asks that were answered there.
	settling []settling
}

var _ adapters.Protocol = (*protocol)(nil)

func newProtocol(info adapters.SessionInfo) *protocol {
	// Launch has refused what cannot be done; a Protocol made all the same works
	// with the defaults.
	cfg, _ := parseSettings(info.Options)
	return &protocol{
		info: info, cfg: cfg, facts: newFacts(info.Options), root: newThread(""), silence: silence.New(cfg.stall),
	}
}

// Capabilities implements adapters.Protocol.
func (p *protocol) Capabilities() []session.Capability {
	var list []session.Capability
	for _, c := range claims() {
		if c.Supported && (c.Capability != session.CapRewind || p.facts.paginated) {
			list = append(list, c.Capability)
		}
	}
	return list
}

// Receive implements adapters.Protocol.
func (p *protocol) Receive(now time.Time, f adapters.Frame) (adapters.Step, error) {
	p.begin(now)
	if f.Source != adapters.Stderr {
		p.silence.Heard(now)
	}
	var err error
	switch {
	case f.Dropped > 0:
		err = fmt.Errorf("line of %d bytes: over the limit", f.Dropped)
		p.notice(contract.ServiceError, contract.CodeProtocol,
			fmt.Sprintf("A line of %d bytes of the agent's output was over the limit and was dropped.", f.Dropped))
	case f.Reconnected && p.tui != nil:
		p.reconnected()
	case f.Source == adapters.Stdout, f.Source == adapters.Socket && p.tui != nil:
		err = p.line(f.Data)
	case f.Source == adapters.Stderr:
		// The host keeps the tail for Exit; nothing there is protocol.
	default:
		err = fmt.Errorf("frame of source %d: want stdout or stderr", f.Source)
	}
	return p.end(), err
}

// Submit implements adapters.Protocol.
func (p *protocol) Submit(now time.Time, c adapters.Command) (adapters.Step, error) {
	p.begin(now)
	p.silence.Heard(now)
	var err error
	switch c := c.(type) {
	case adapters.Open:
		err = p.submitOpen(c)
	case adapters.Prompt:
		err = p.submitMessage(c.ID, c.Text, c.Files, false)
	case adapters.Steer:
		err = p.submitMessage(c.ID, c.Text, c.Files, true)
	case adapters.Abort:
		p.submitAbort()
	case adapters.Answer:
		err = p.submitAnswer(c)
	case adapters.Configure:
		err = p.submitConfigure(c)
	case adapters.Op:
		err = p.submitOp(c)
	case adapters.Close:
		// The server ends at the end of its input, and ends its commands.
		if c.ID != "" {
			p.done(adapters.Outcome{ID: c.ID})
		}
	default:
		err = fmt.Errorf("codex: command %T: %w", c, adapters.ErrUnsupported)
	}
	if err != nil {
		p.step = adapters.Step{}
		return adapters.Step{}, err
	}
	return p.end(), nil
}

// Tick implements adapters.Protocol.
func (p *protocol) Tick(now time.Time) adapters.Step {
	p.begin(now)
	for _, w := range p.requests.Expired(now) {
		w.Value.got(reply{err: &wireError{contract.CodeTimeout, "the agent did not answer " + w.Method + " in time"}})
	}
	p.expireInputs()
	p.expireTurn()
	if by := p.compacting.by; !by.IsZero() && !by.After(now) {
		p.compacted(wireError{contract.CodeTimeout, "the conversation was not compacted in time"})
	}
	p.expireScreen()
	if busy, tool := p.busy(); busy {
		p.notice(contract.ServiceNotice, "", p.silence.Notice(now, "Codex", tool))
	}
	return p.end()
}

// busy reports whether word of the server is waited for, and whether a tool runs. At
// its screen a person sees for himself.
func (p *protocol) busy() (busy, tool bool) {
	if p.tui != nil || p.gone || len(p.asks) > 0 || !p.turn.open || p.turn.aborted || p.turn.gaveUp {
		return false, false
	}
	for _, th := range p.threads() {
		tool = tool || len(p.openCalls(th)) > 0
	}
	return true, tool
}

func (p *protocol) begin(now time.Time) {
	p.now = now
	p.step = adapters.Step{}
}

func (p *protocol) end() adapters.Step {
	p.flushLate()
	p.unhold()
	p.step.WakeAt = p.deadline()
	step := p.step
	p.step = adapters.Step{}
	return step
}

// deadline is the earliest time to be called again, zero for never.
func (p *protocol) deadline() time.Time {
	first := p.requests.Next()
	also := func(t time.Time) {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	for _, in := range p.inputs {
		also(in.deadline)
	}
	also(p.compacting.by)
	also(p.turn.abortBy)
	also(p.turn.retryBy)
	also(p.turn.sayBy)
	for _, s := range p.settling {
		also(s.by)
	}
	if busy, tool := p.busy(); busy {
		also(p.silence.At(tool))
	}
	return first
}

func (p *protocol) done(o adapters.Outcome)       { p.step.Done = append(p.step.Done, o) }
func (p *protocol) withdraw(key string)           { p.step.Withdraw = append(p.step.Withdraw, key) }
func (p *protocol) fail(id string, e wireError)   { p.done(adapters.Outcome{ID: id, Err: e.contract()}) }
func (p *protocol) succeed(id string, res []byte) { p.done(adapters.Outcome{ID: id, Result: res}) }

func (p *protocol) emit(d adapters.Draft) {
	switch d.Event.(type) {
	case contract.TurnStart, contract.TurnEnd:
		p.sayTurn()
		p.loose = false
	case contract.Service, contract.AgentConfigurationChanged:
	default:
		p.sayTurn()
		p.loose = p.loose || !p.turn.open
	}
	p.step.Emit = append(p.step.Emit, d)
}

func (p *protocol) live(d adapters.Delta) {
	p.sayTurn()
	p.step.Live = append(p.step.Live, d)
}

// write sends a line to the server.
func (p *protocol) write(line []byte) {
	if !p.gone && (p.tui == nil || !p.tui.down) {
		p.step.Write = append(p.step.Write, line)
	}
}

// notice emits a service envelope.
func (p *protocol) notice(kind contract.ServiceKind, code contract.ErrorCode, text string) {
	p.noticeOf("", kind, code, text)
}

func (p *protocol) noticeOf(agent string, kind contract.ServiceKind, code contract.ErrorCode, text string) {
	if text != "" {
		p.emit(adapters.Draft{Subagent: agent, Event: contract.Service{Text: text, Kind: kind, Code: code}})
	}
}

// learn returns the facts of this step to be filled in.
func (p *protocol) learn() *adapters.Facts {
	if p.step.Facts == nil {
		p.step.Facts = &adapters.Facts{}
	}
	return p.step.Facts
}

// line takes one line of stdout.
func (p *protocol) line(data []byte) error {
	v, err := rawjson.Parse(data)
	if err != nil {
		return p.garbage(data)
	}
	m, err := jsonrpc.Parse(v)
	if err != nil {
		return err
	}
	return p.message(m)
}

func (p *protocol) message(m jsonrpc.Message) error {
	switch m.Kind {
	case jsonrpc.Response:
		return p.response(m)
	case jsonrpc.Request:
		return p.serverRequest(m)
	}
	return p.notification(m.Method, m.Params)
}

// garbage takes a line that is no JSON. One that looks like the remains of a
// message is told to people, once a turn: something may be missing. Other text on
// stdout (a banner, a log line) is noise.
func (p *protocol) garbage(data []byte) error {
	first := byte(0)
	for _, c := range data {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			first = c
			break
		}
	}
	switch first {
	case 0:
		return nil
	case '{':
		if !p.turn.malformed {
			p.turn.malformed = true
			p.notice(contract.ServiceError, contract.CodeProtocol, "malformed agent output: a message of the agent could not be read")
		}
		return fmt.Errorf("line of %d bytes: want a JSON object, got a broken one", len(data))
	}
	return errors.New("line of text: want a JSON object")
}
