package adaptertest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host/stamp"
)

// epoch is the time of t = 0 when a transcript does not say: 2026-11-30 08:00 UTC.
const epoch = 1796025600000

// quiet is how long an autonomous turn may be silent before it is ended, as in
// the host.
const quiet = 2 * time.Second

// Call is one call of a Protocol and what came of it.
type Call struct {
	// T is milliseconds since the start, Record the index of the transcript's
	// record that caused it, -1 for none.
	T      int64
	Record int
	// On is the direction of the record that would hold the call's input.
	On      transcript.Dir
	Command adapters.Command // for Cmd
	Frame   adapters.Frame   // for frames
	Step    adapters.Step
	Err     error
}

// player runs one Protocol the way the host does, on a transcript's time.
type player struct {
	proto  adapters.Protocol
	mapper Mapper
	direct bool // the transcript holds commands

	session, dir string

	base    time.Time
	now     time.Time
	shift   time.Duration // how much later than recorded things happen
	record  int
	wake    time.Time
	spoke   time.Time // of the newest draft
	ticks   bool      // the transcript holds its ticks
	exited  bool
	stamper *stamp.Stamper
	ids     int

	openID   string // of the Open command, empty before it
	opened   bool
	queue    []adapters.Prompt
	sent     []string          // prompts submitted and not taken up
	asks     map[string]string // Protocol's key to the call in the stream
	aborting bool

	drafts drafts
	calls  []Call
	envs   []contract.Envelope
	faults []string

	// snapshots, when snap is set, are the calls as they were when they returned.
	snap      bool
	snapshots [][]byte
	// before, when not nil, may change a frame before the Protocol gets it.
	before func(adapters.Frame) []adapters.Frame
	// scribble overwrites a frame's data after the Protocol had it.
	scribble bool
}

// newPlayer starts a replay of f.
func newPlayer(s Suite, f transcript.File) *player {
	p := &player{mapper: direct{}, direct: true, asks: map[string]string{}, record: -1}
	start := f.Header.Start
	if start == 0 {
		start = epoch
	}
	p.base = time.UnixMilli(start).UTC()
	p.now = p.base
	p.ticks = slices.ContainsFunc(f.Records, func(r transcript.Record) bool { return r.Dir == transcript.Tick })
	info := sessionInfo(s, f)
	if s.Wire != nil && !slices.ContainsFunc(f.Records, func(r transcript.Record) bool { return r.Dir == transcript.Cmd }) {
		p.direct = false
		p.mapper = s.Wire.Mapper(f)
		info.Options = s.Wire.Options(f, info.Options)
	}
	p.session, p.dir = info.ID, info.Dir
	p.proto = s.Adapter.NewProtocol(info)
	p.stamper = stamp.New(stamp.Config{NewID: p.newID, Now: func() time.Time { return p.now }})
	p.drafts.init()
	return p
}

// sessionInfo is the header's, completed.
func sessionInfo(s Suite, f transcript.File) adapters.SessionInfo {
	info := f.Header.SessionInfo()
	if f.Header.Options == nil {
		info.Options = s.Options
	}
	if info.ID == "" {
		info.ID = "s00000000000000000000001"
	}
	if info.Dir == "" {
		info.Dir = "/w"
	}
	if info.Client == (adapters.ClientInfo{}) {
		info.Client = adapters.ClientInfo{Name: "agenthost", Title: "agenthost", Version: "1.0.0"}
	}
	return info
}

// newID counts ids of the shape of a cuid2.
func (p *player) newID() string {
	p.ids++
	return fmt.Sprintf("e%023d", p.ids)
}

func (p *player) fault(format string, args ...any) {
	where := fmt.Sprintf("record %d, t=%d: ", p.record, p.t())
	p.faults = append(p.faults, where+fmt.Sprintf(format, args...))
}

func (p *player) t() int64 { return p.now.Sub(p.base).Milliseconds() }

// open submits Open when the transcript does not.
func (p *player) open() {
	if !p.direct {
		p.command(adapters.Open{ID: "open"})
	}
}

// play takes the next record.
func (p *player) play(i int, r transcript.Record) {
	if p.exited {
		return
	}
	p.record = i
	p.advance(p.base.Add(time.Duration(max(r.T, 0))*time.Millisecond + p.shift))
	switch r.Dir {
	case transcript.Cmd:
		c, err := r.Command()
		if err != nil {
			p.fault("%v", err)
			return
		}
		p.command(c)
	case transcript.In:
		if !p.direct {
			p.host(p.mapper.Said(r.Data))
			p.patient(p.mapper.Behind)
		}
	case transcript.Tick:
		p.tick()
	case transcript.Exit:
		status, err := r.Exit()
		if err != nil {
			p.fault("%v", err)
		}
		p.exit(status)
	case transcript.Note:
		if !p.direct && string(r.Data) == closedNote {
			p.command(adapters.Close{})
		}
	default:
		if f, ok := r.Frame(); ok {
			p.frame(f)
		}
	}
}

// closedNote is the remark that the recorded client closed the agent's input.
const closedNote = "stdin closed"

// finish ends the replay; a recording that does not hold the child's end gets one.
func (p *player) finish() {
	if !p.exited {
		p.exit(adapters.ExitStatus{Code: 0, Requested: true})
	}
}

// frame passes a frame on to the Protocol.
func (p *player) frame(f adapters.Frame) {
	for _, f := range p.mapper.Heard(f) {
		frames := []adapters.Frame{f}
		if p.before != nil {
			frames = p.before(f)
		}
		for _, f := range frames {
			p.receive(f)
		}
	}
}

// receive calls Receive. The Protocol gets a copy, as a reader's buffer would be.
func (p *player) receive(f adapters.Frame) {
	own := f
	own.Data = bytes.Clone(f.Data)
	step, err := p.proto.Receive(p.now, own)
	if p.scribble {
		for i := range own.Data {
			own.Data[i] = '~'
		}
	}
	call := Call{On: transcript.FrameRecord(0, adapters.Frame{Source: f.Source}).Dir, Frame: f, Step: step, Err: err}
	p.done(call)
}

// patient lets time pass while the Protocol waits for something that the recorded
// client did not wait for. What follows in the recording comes later by that much.
func (p *player) patient(waits func() bool) {
	const patience = 2 * time.Minute
	from := p.now
	for waits() && !p.exited && !p.wake.IsZero() && !p.wake.After(from.Add(patience)) {
		p.advance(p.wake)
	}
	p.shift += p.now.Sub(from)
}

// command calls Submit.
func (p *player) command(c adapters.Command) (adapters.Step, error) {
	if p.exited {
		return adapters.Step{}, nil
	}
	if open, ok := c.(adapters.Open); ok && p.openID == "" {
		p.openID = open.ID
	}
	if p.direct {
		p.people(c)
	}
	p.drafts.submitted(c)
	step, err := p.proto.Submit(p.now, c)
	switch {
	case err != nil && !emptyStep(step):
		p.fault("Submit(%T) = a Step that is not empty, and error %v", c, err)
	case err == nil:
		p.drafts.accepted(c)
	}
	p.done(Call{On: transcript.Cmd, Command: c, Step: step, Err: err})
	return step, err
}

func (p *player) tick() {
	p.done(Call{On: transcript.Tick, Step: p.proto.Tick(p.now)})
}

func (p *player) exit(status adapters.ExitStatus) {
	step := p.proto.Exit(p.now, status)
	p.exited = true
	if len(step.Write) > 0 || len(step.Effects) > 0 {
		p.fault("Exit wrote %d messages and asked for %d effects to a child that is gone", len(step.Write), len(step.Effects))
	}
	p.done(Call{On: transcript.Exit, Step: step})
	for _, fault := range p.drafts.atExit() {
		p.fault("after Exit: %s", fault)
	}
	p.envs = append(p.envs, p.stamper.Finish(contract.TurnFailed, &contract.Error{
		Code: contract.CodeAgentExited, Message: "the agent exited",
	})...)
}

// done applies a Step as the host does.
func (p *player) done(c Call) {
	c.T, c.Record = p.t(), p.record
	p.calls = append(p.calls, c)
	if p.snap {
		p.snapshots = append(p.snapshots, encodeCall(c, p.base))
	}
	if c.On == transcript.Cmd && c.Err != nil {
		return // nothing happened; an earlier WakeAt stands
	}
	for _, fault := range p.drafts.step(c.Step) {
		p.fault("%s: %s", c.On, fault)
	}
	for _, key := range c.Step.Withdraw {
		if call, open := p.asks[key]; open {
			p.respond(contract.PermissionResponse{
				Call: call, Decision: contract.RejectOnce, By: &contract.DecisionBy{Resolver: contract.ByHost},
			})
		}
	}
	for _, d := range c.Step.Emit {
		p.stamp(d)
	}
	p.wake = c.Step.WakeAt
	for _, o := range c.Step.Done {
		if p.openID != "" && o.ID == p.openID && o.Err == nil {
			p.opened = true
		}
	}
	var answers []adapters.Frame
	for _, w := range c.Step.Write {
		answers = append(answers, p.mapper.Wrote(bytes.TrimSuffix(w, []byte("\n")))...)
	}
	cmds := p.mapper.Stepped(c.Step)
	if p.exited {
		return
	}
	for _, f := range answers {
		p.receive(f)
	}
	p.host(cmds)
	if !p.direct {
		p.pump()
	}
}

// maxIdleTicks bounds the ticks between two records.
const maxIdleTicks = 1000

// advance lets time pass until to, with the ticks the Protocol asked for.
func (p *player) advance(to time.Time) {
	for n := 0; ; n++ {
		next, tick := to, false
		if p.stamper.Settled() && p.spoke.Add(quiet).Before(next) {
			next = p.spoke.Add(quiet)
		}
		if !p.ticks && !p.wake.IsZero() && !p.wake.After(next) && !p.exited {
			next, tick = p.wake, true
		}
		if n == maxIdleTicks {
			p.fault("more than %d ticks until t=%d", maxIdleTicks, to.Sub(p.base).Milliseconds())
			p.wake = time.Time{}
			return
		}
		if next.After(p.now) {
			p.now = next
		}
		if tick {
			p.tick()
			continue
		}
		if p.stamper.Settled() && !p.spoke.Add(quiet).After(p.now) {
			p.envs = append(p.envs, p.stamper.Idle()...)
			if !p.direct {
				p.pump()
			}
			continue
		}
		if !p.now.Before(to) {
			return
		}
	}
}
