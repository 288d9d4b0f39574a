package claude

import (
	"fmt"
	"slices"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/silence"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// protocol translates for one process of the CLI.
type protocol struct {
	info adapters.SessionInfo
	cfg  settings

	// step is what the call under way will return, now its time.
	step adapters.Step
	now  time.Time

	open     opening
	facts    facts
	inputs   []*input // messages sent and not taken up, in order
	next     []*input // taken up, for the turn that opens with the next line
	late     []settled
	turn     turn
	meter    meter
	partial  map[string]*partial // by parent_tool_use_id, "" for the main agent
	calls    map[string]*call
	finished map[string]bool // ids of calls that ended and were forgotten
	callSeq  int
	agents   agents
	// straggler is a sub-agent that said something after its end.
	straggler *subagent
	asks      []*ask
	requests  requests
	plan      plan
	// answers has the origin of the last answer before each message of the user;
	// lastAnswer is the newest of all. A conversation is cut at answers.
	answers    map[string]string
	lastAnswer string
	// acks says that the CLI acknowledges messages (command_lifecycle); versions
	// before 2.1.3xx do not.
	acks bool
	// loose says that something was emitted outside of the main agent's turns, so
	// that the stamper may have a turn open.
	loose bool
	// abortNext aborts the turn that takes up what is pending.
	abortNext bool
	// gone says that Exit was called.
	gone    bool
	silence silence.Watch
	// answering takes the answer to an ask where the CLI does not read it on its
	// input: at its terminal, where nothing else is written either.
	answering func(a *ask, response []byte)
}

var _ adapters.Protocol = (*protocol)(nil)

func newProtocol(info adapters.SessionInfo) *protocol {
	// Launch has refused what cannot be parsed; a Protocol made all the same
	// works with the defaults.
	cfg, _ := parseSettings(info.Options)
	return &protocol{
		info:     info,
		cfg:      cfg,
		facts:    newFacts(info.Options),
		meter:    newMeter(info.Options),
		partial:  map[string]*partial{},
		calls:    map[string]*call{},
		finished: map[string]bool{},
		agents:   newAgents(),
		answers:  map[string]string{},
		silence:  silence.New(cfg.stall),
	}
}

// Capabilities implements adapters.Protocol.
func (p *protocol) Capabilities() []session.Capability { return adapters.Supported(claims()) }

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
		p.turn.malformed = true
	case f.Source == adapters.Stdout:
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
	case adapters.AskFirst:
		p.submitAskFirst(c)
	case adapters.Close:
		p.submitClose()
		if c.ID != "" {
			p.done(adapters.Outcome{ID: c.ID})
		}
	default:
		err = fmt.Errorf("claude: command %T: %w", c, adapters.ErrUnsupported)
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
	p.expire()
	if busy, tool := p.busy(); busy {
		if text := p.silence.Notice(now, "Claude Code", tool); text != "" {
			p.notice(contract.ServiceNotice, "", text)
		}
	}
	return p.end()
}

// busy reports whether word of the agent is waited for, and whether one of its tools
// runs. At its terminal a person sees for himself.
func (p *protocol) busy() (busy, tool bool) {
	working := p.turn.open || len(p.inputs)+len(p.next) > 0
	if !working || p.turn.aborted || p.answering != nil || p.gone || len(p.asks) > 0 {
		return false, false
	}
	for _, c := range p.calls {
		tool = tool || !c.ended
	}
	return true, tool
}

func (p *protocol) begin(now time.Time) {
	p.now = now
	p.step = adapters.Step{}
}

func (p *protocol) end() adapters.Step {
	p.flushLate()
	p.step.WakeAt = p.requests.deadline()
	if busy, tool := p.busy(); busy {
		if at := p.silence.At(tool); !at.IsZero() && (p.step.WakeAt.IsZero() || at.Before(p.step.WakeAt)) {
			p.step.WakeAt = at
		}
	}
	step := p.step
	p.step = adapters.Step{}
	return step
}

func (p *protocol) done(o adapters.Outcome)       { p.step.Done = append(p.step.Done, o) }
func (p *protocol) live(d adapters.Delta)         { p.step.Live = append(p.step.Live, d) }
func (p *protocol) fail(id string, e wireError)   { p.done(adapters.Outcome{ID: id, Err: e.contract()}) }
func (p *protocol) succeed(id string, res []byte) { p.done(adapters.Outcome{ID: id, Result: res}) }

// withdraw takes an ask back. One of this very step is not asked: what a step
// withdraws comes before what it says.
func (p *protocol) withdraw(key string) {
	i := slices.IndexFunc(p.step.Emit, func(d adapters.Draft) bool { return d.Ask == key })
	if i >= 0 {
		p.step.Emit = slices.Delete(p.step.Emit, i, i+1)
		return
	}
	p.step.Withdraw = append(p.step.Withdraw, key)
}

func (p *protocol) emit(d adapters.Draft) {
	switch d.Event.(type) {
	case contract.TurnStart, contract.TurnEnd:
		p.loose = false
	case contract.Service, contract.AgentConfigurationChanged:
	default:
		p.loose = p.loose || !p.turn.open
	}
	p.step.Emit = append(p.step.Emit, d)
}

// write sends a line to the CLI.
func (p *protocol) write(line []byte) {
	if !p.gone && p.answering == nil {
		p.step.Write = append(p.step.Write, line)
	}
}

// answer gives the CLI the answer to an ask.
func (p *protocol) answer(a *ask, response []byte) {
	if p.answering != nil {
		p.answering(a, response)
		return
	}
	p.write(controlResponse(a.request, response))
}

// notice emits a service envelope.
func (p *protocol) notice(kind contract.ServiceKind, code contract.ErrorCode, text string) {
	p.noticeOf("", kind, code, text)
}

func (p *protocol) noticeOf(agent string, kind contract.ServiceKind, code contract.ErrorCode, text string) {
	p.emit(adapters.Draft{Subagent: agent, Event: contract.Service{Text: text, Kind: kind, Code: code}})
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
	if blank(data) {
		return nil
	}
	v, err := rawjson.Parse(data)
	if err != nil || v.Kind() != rawjson.Object {
		return p.garbage(data)
	}
	m := newMessage(v)
	if conversation(m) {
		p.flushNext()
	}
	err = p.dispatch(m)
	if a := p.straggler; a != nil {
		p.straggler = nil
		p.stopAgent(a)
	}
	return err
}

// conversation reports whether a message shows that the messages which were
// taken up before it have all been told: the acknowledgements of one turn stand
// together, and the control protocol and the tasks run beside the conversation.
func conversation(m message) bool {
	switch m.kind {
	case "assistant", "user", "stream_event", "result", "conversation_reset":
		return true
	case "system":
		return slices.Contains([]string{"init", "status", "compact_boundary", "api_retry"}, m.subtype)
	}
	return false
}

func blank(data []byte) bool {
	for _, c := range data {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// garbage takes a line that is no JSON object. One that looks like the remains
// of a message is told to people, once a turn: something may be missing. Other
// text on stdout (a banner, a log line) is noise.
func (p *protocol) garbage(data []byte) error {
	i := slices.IndexFunc(data, func(c byte) bool { return c != ' ' && c != '\t' })
	if data[i] != '{' {
		return fmt.Errorf("line of %d bytes: want a JSON object, got text", len(data))
	}
	if !p.turn.malformed {
		p.turn.malformed = true
		p.notice(contract.ServiceError, contract.CodeProtocol, "malformed agent output: a message of the agent could not be read")
	}
	return fmt.Errorf("line of %d bytes: want a JSON object, got a broken one", len(data))
}

// dispatch sends a message to its handler.
func (p *protocol) dispatch(m message) error {
	switch m.kind {
	case "assistant":
		return p.assistant(m)
	case "user":
		return p.user(m)
	case "stream_event":
		return p.streamEvent(m)
	case "result":
		p.result(m)
	case "system":
		return p.system(m)
	case "command_lifecycle":
		p.lifecycle(m)
	case "control_response":
		return p.controlResponse(m)
	case "control_request":
		return p.controlRequest(m)
	case "control_cancel_request":
		p.cancelRequest(m)
	case "conversation_reset":
		p.conversationReset(m)
	case "rate_limit_event":
		p.rateLimit(m)
	case "auth_status":
		p.authStatus(m)
	case "keep_alive", "tool_progress", "tool_use_summary", "prompt_suggestion", "active_goal":
		// Heartbeats and hints: nothing a stream needs.
	default:
		return fmt.Errorf("message of type %q: want one of the documented ones", m.kind)
	}
	return nil
}

// system sends a system message to its handler by subtype.
func (p *protocol) system(m message) error {
	switch m.subtype {
	case "init":
		p.init(m)
	case "status":
		p.status(m)
	case "compact_boundary":
		p.compactBoundary(m)
	case "api_retry":
		p.apiRetry(m)
	case "permission_denied":
		p.permissionDenied(m)
	case "task_started":
		p.taskStarted(m)
	case "task_updated":
		p.taskUpdated(m)
	case "task_notification":
		p.taskNotification(m)
	case "background_tasks_changed":
		p.backgroundTasks(m)
	case "commands_changed":
		p.learn().Commands = commands(m.Get("commands"))
	case "session_title_changed":
		p.titleChanged(m)
	case "informational", "notification", "local_command_output", "model_refusal_fallback",
		"model_refusal_no_fallback", "session_writes_lost", "mirror_error", "worker_shutting_down":
		p.systemNotice(m)
	case "session_state_changed", "task_progress", "thinking_tokens", "hook_started", "hook_progress", "hook_response",
		"plugin_install", "files_persisted", "memory_recall", "elicitation_complete", "control_request_progress", "ui_invalidate":
		// Progress and interface hints: nothing a stream needs.
	default:
		return fmt.Errorf("system message of subtype %q: want one of the documented ones", m.subtype)
	}
	return nil
}
