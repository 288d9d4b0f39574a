package replay

import (
	"bytes"
	"cmp"
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

// Config says what to replay with.
type Config struct {
	Adapter adapters.Adapter
	// Wire understands recordings of other clients. Nil when all transcripts hold
	// commands.
	Wire Wire
	// Options are set beneath those of a transcript's header.
	Options adapters.Options
	Hooks   Hooks
	// Face is the child's where the transcript's header says none.
	Face adapters.Face
}

// Hooks let a test disturb and watch a replay. All may be nil.
type Hooks struct {
	// Before returns the frames that the Protocol gets in the place of one.
	Before func(adapters.Frame) []adapters.Frame
	// After may overwrite the data that the Protocol was given with a frame, once
	// Receive returned: a reader uses its buffer again.
	After func(data []byte)
	// Called is told each call when it returned.
	Called func(Call)
}

// Player runs the Protocols of one session the way the host does, on a transcript's time: Open,
// Next until it is false, Close. Between these a test may do what people, the
// agent's process and time can do.
type Player struct {
	proto  adapters.Protocol
	mapper Mapper
	direct bool // the transcript holds commands

	adapter adapters.Adapter
	hooks   Hooks
	info    adapters.SessionInfo
	records []transcript.Record
	next    int // index of the record that Next plays

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
}

// New makes the Protocol of f's session. It is not opened yet.
func New(c Config, f transcript.File) *Player {
	p := &Player{
		adapter: c.Adapter, mapper: direct{}, direct: true, asks: map[string]string{}, record: -1, hooks: c.Hooks, records: f.Records,
	}
	start := f.Header.Start
	if start == 0 {
		start = epoch
	}
	p.base = time.UnixMilli(start).UTC()
	p.now = p.base
	p.ticks = slices.ContainsFunc(f.Records, func(r transcript.Record) bool { return r.Dir == transcript.Tick })
	p.info = sessionInfo(c, f)
	if c.Wire != nil && !slices.ContainsFunc(f.Records, func(r transcript.Record) bool { return r.Dir == transcript.Cmd }) {
		p.direct = false
		p.mapper = c.Wire.Mapper(f)
		p.info.Options = c.Wire.Options(f, p.info.Options)
	}
	p.proto, p.drafts = Protocol(c.Adapter, p.info), newDrafts(p.info.Face)
	p.stamper = stamp.New(stamp.Config{NewID: p.newID, Now: func() time.Time { return p.now }})
	return p
}

// sessionInfo is the header's, completed.
func sessionInfo(c Config, f transcript.File) adapters.SessionInfo {
	info := f.Header.SessionInfo()
	if f.Header.Options == nil {
		info.Options = c.Options
	}
	info.Face = cmp.Or(info.Face, c.Face)
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
func (p *Player) newID() string {
	p.ids++
	return fmt.Sprintf("e%023d", p.ids)
}

func (p *Player) fault(format string, args ...any) {
	where := fmt.Sprintf("record %d, t=%d: ", p.record, p.t())
	p.faults = append(p.faults, where+fmt.Sprintf(format, args...))
}

func (p *Player) t() int64 { return p.now.Sub(p.base).Milliseconds() }

// Open submits Open when the transcript does not.
func (p *Player) Open() {
	if !p.direct {
		p.Submit(adapters.Open{ID: "open"})
	}
}

// Next plays the transcript's next record and reports whether there was one.
// Between an Exit and the next child nothing is played.
func (p *Player) Next() bool {
	if p.next >= len(p.records) {
		return false
	}
	p.play(p.next, p.records[p.next])
	p.next++
	return true
}

func (p *Player) play(i int, r transcript.Record) {
	if p.exited && !p.anew(r) {
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
		p.Submit(c)
	case transcript.In:
		if !p.direct {
			p.host(p.mapper.Said(r.Data))
			p.patient(p.mapper.Behind)
		}
	case transcript.Tick:
		p.tick()
	case transcript.Run:
		p.run(r)
	case transcript.Exit:
		status, err := r.Exit()
		if err != nil {
			p.fault("%v", err)
		}
		p.Exit(status)
	case transcript.Note:
		if !p.direct && string(r.Data) == closedNote {
			p.Submit(adapters.Close{})
		}
	default:
		if f, ok := r.Frame(); ok {
			p.frame(f)
		}
	}
}

// closedNote is the remark that the recorded client closed the agent's input.
const closedNote = "stdin closed"

// Close ends the replay and says what it gave. A recording that does not hold the
// child's end gets one.
func (p *Player) Close() Result {
	if !p.exited {
		p.Exit(adapters.ExitStatus{Code: 0, Requested: true})
	}
	return Result{
		Start: p.base, Info: p.info, Calls: p.calls, Envelopes: p.envs,
		Faults: slices.Concat(p.faults, streamFaults(p.envs)), Notes: p.mapper.Notes(),
	}
}

// frame passes a frame on to the Protocol.
func (p *Player) frame(f adapters.Frame) {
	for _, f := range p.mapper.Heard(f) {
		frames := []adapters.Frame{f}
		if p.hooks.Before != nil {
			frames = p.hooks.Before(f)
		}
		for _, f := range frames {
			p.receive(f)
		}
	}
}

// receive calls Receive. The Protocol gets a copy, as a reader's buffer would be.
func (p *Player) receive(f adapters.Frame) {
	own := f
	own.Data = bytes.Clone(f.Data)
	step, err := p.proto.Receive(p.now, own)
	if p.hooks.After != nil {
		p.hooks.After(own.Data)
	}
	call := Call{On: transcript.FrameRecord(0, adapters.Frame{Source: f.Source}).Dir, Frame: f, Step: step, Err: err}
	p.done(call)
}

// Submit calls the Protocol's Submit, which gets no command after Exit.
func (p *Player) Submit(c adapters.Command) (adapters.Step, error) {
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

func (p *Player) tick() {
	p.done(Call{On: transcript.Tick, Step: p.proto.Tick(p.now)})
}

// Exit ends the child, once.
func (p *Player) Exit(status adapters.ExitStatus) {
	if p.exited {
		return
	}
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
func (p *Player) done(c Call) {
	c.T, c.Record = p.t(), p.record
	p.calls = append(p.calls, c)
	if p.hooks.Called != nil {
		p.hooks.Called(c)
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
