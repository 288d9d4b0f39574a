package acp

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// call is one tool call, put together from what the agent said of it.
type call struct {
	id       string
	subagent string

	native, kind, title string
	firstTitle          string
	status              string
	input               rawjson.Value // rawInput
	output              rawjson.Value // rawOutput
	content             rawjson.Value // the last content, an array
	resulting           bool          // content came while or after the tool ran: it is output
	diffs               rawjson.Value // the last content that held a diff
	asked               rawjson.Value // toolCall of the permission request
	response            rawjson.Value // Claude's own result of the tool
	paths               []string
	lines               map[string]int64 // line of a path, where told

	acts     bool // it is what an agent asks for: a harmless name does not hide its kind
	started  bool
	hasInput bool      // enough to start with
	release  time.Time // when to start although more may come, zero when started
	allowed  bool      // a person or policy said yes
	rejected bool
	ending   bool // its end is being written

	streamed []byte // output collected from deltas
	sent     int    // how much of it was sent as deltas of ours
	overflow bool   // some of it was dropped
	live     string // output that was sent live, cumulative
	exitCode *int64
}

// calls are the open calls in the order of their first sight, and the ids of
// those that have ended.
type calls struct {
	list  []*call
	ended map[string]ending
	fifo  []string
	// closing is the result of what the end of the turn ends.
	closing *contract.ToolResult
	// leaving: silence ends the turn, so that its calls may go on.
	leaving bool
}

// ending is what is remembered of a call that has ended.
type ending struct {
	turn     int // its number
	rejected bool
	// left is the call when silence ended it, nil otherwise: it may end yet.
	left *call
}

// maxEnded bounds how many ended ids are remembered. An update for an older one
// looks like a new call.
const maxEnded = 4096

func (c *calls) find(id string) *call {
	for _, x := range c.list {
		if x.id == id {
			return x
		}
	}
	return nil
}

func (c *calls) open() int { return len(c.list) }

func (c *calls) end(x *call, turn int) {
	for i := range c.list {
		if c.list[i] == x {
			c.list = append(c.list[:i], c.list[i+1:]...)
			break
		}
	}
	if c.ended == nil {
		c.ended = map[string]ending{}
	}
	if _, ok := c.ended[x.id]; !ok {
		c.fifo = append(c.fifo, x.id)
	}
	e := ending{turn: turn, rejected: x.rejected}
	if c.leaving && x.subagent == "" {
		e.left = x.remains()
	}
	c.ended[x.id] = e
	if len(c.fifo) > maxEnded {
		delete(c.ended, c.fifo[0])
		c.fifo = c.fifo[1:]
	}
}

// remains is what is kept of a call that may end yet: what describes it, without
// its output.
func (c *call) remains() *call {
	return &call{
		id: c.id, native: c.native, kind: c.kind, title: c.title, firstTitle: c.firstTitle, status: c.status,
		input: c.input, paths: c.paths, lines: c.lines, hasInput: c.hasInput,
	}
}

// back is a call that silence ended, opened again because its end is told.
func (c *calls) back(p *Protocol, id, status string) *call {
	old := c.ended[id].left
	if old == nil || !finalStatus(status) {
		return nil
	}
	p.ensureTurn()
	c.list = append(c.list, old)
	return old
}

// nextRelease is when the first held call starts, zero for none.
func (c *calls) nextRelease() time.Time {
	var next time.Time
	for _, x := range c.list {
		if !x.started && (next.IsZero() || x.release.Before(next)) {
			next = x.release
		}
	}
	return next
}

// toolUpdate handles tool_call and tool_call_update alike: some agents send only
// the second, some send the first twice.
func (p *Protocol) toolUpdate(u rawjson.Value, subagent string, announced bool) error {
	id := u.Get("toolCallId").Text()
	if id == "" {
		return fmt.Errorf("tool call without an id")
	}
	p.settleCalls(id)
	c := p.calls.find(id)
	status := u.Get("status").Text()
	if c == nil {
		c = p.calls.back(p, id, status)
	}
	if c == nil {
		if p.forgotten(id, status, announced) {
			return nil
		}
		c = p.newCall(id, subagent, u)
	}
	c.merge(u, p.spec.Quirks)
	p.turn.active = p.now
	switch {
	case finalStatus(status):
		p.startCall(c)
		p.endCall(c, p.result(c))
	case c.started:
		p.streamOutput(c)
	case status != "" && status != "pending" || c.streamed != nil:
		p.startCall(c)
		p.streamOutput(c)
	default:
		c.hold(p)
	}
	return nil
}

// forgotten reports whether an update concerns a call that has ended. A call that
// is announced anew under an old id is a new call. That a tool ran although it was
// refused is told.
func (p *Protocol) forgotten(id, status string, announced bool) bool {
	old, ok := p.calls.ended[id]
	if !ok {
		return false
	}
	if old.rejected && status == "completed" {
		p.calls.ended[id] = ending{turn: old.turn}
		p.emit(contract.Service{
			Text: fmt.Sprintf("%s reports that it completed the tool call %s, which was refused.", p.name(), id),
			Kind: contract.ServiceError,
		})
		return true
	}
	return !announced || old.turn == p.turn.n && finalStatus(status)
}

func finalStatus(s string) bool { return s == "completed" || s == "failed" || s == "cancelled" }

func (p *Protocol) newCall(id, subagent string, u rawjson.Value) *call {
	p.ensureTurn()
	p.usage.requests++
	if subagent == "" {
		subagent = p.agents.of(p, u)
	}
	c := &call{id: id, subagent: subagent}
	p.calls.list = append(p.calls.list, c)
	return c
}

// merge takes what an update says; what it leaves out stays.
func (c *call) merge(u rawjson.Value, q Quirks) {
	meta := u.Get("_meta")
	for _, name := range []rawjson.Value{u.Get("name"), meta.Get("claudeCode", "toolName"), meta.Get("toolName")} {
		if t := name.Text(); t != "" && c.native == "" {
			c.native = t
		}
	}
	if t := u.Get("title").Text(); t != "" {
		if c.firstTitle == "" {
			c.firstTitle = t
			if q.NameFromTitle && c.native == "" && u.Get("status").Text() == "pending" && toolLike(t) {
				c.native = t
			}
		}
		c.title = t
	}
	set := func(dst *string, v rawjson.Value) {
		if t := v.Text(); t != "" {
			*dst = t
		}
	}
	set(&c.kind, u.Get("kind"))
	set(&c.status, u.Get("status"))
	keep := func(dst *rawjson.Value, v rawjson.Value) {
		if v.Given() {
			*dst = rawjson.Value(v.Clean())
		}
	}
	if in := u.Get("rawInput"); !in.Empty() {
		keep(&c.input, in)
		c.hasInput = c.kind != "execute" || q.TitleIsCommand || hasCommand(in)
	}
	keep(&c.output, u.Get("rawOutput"))
	keep(&c.response, meta.Get("claudeCode", "toolResponse"))
	if list := u.Get("content"); list.Kind() == rawjson.Array {
		keep(&c.content, list)
		if c.resulting = c.status == "in_progress" || finalStatus(c.status); hasDiff(list) {
			c.diffs = c.content
		}
	}
	c.locate(u)
	c.deltas(meta)
}

// locate takes the paths that a call concerns.
func (c *call) locate(u rawjson.Value) {
	add := func(path string) {
		if path == "" {
			return
		}
		for _, have := range c.paths {
			if have == path {
				return
			}
		}
		c.paths = append(c.paths, path)
	}
	for l := range u.Get("locations").Elements() {
		path := l.Get("path").Text()
		add(path)
		if n, ok := l.Get("line").Int(); ok && n > 0 {
			if c.lines == nil {
				c.lines = map[string]int64{}
			}
			c.lines[path] = n
		}
	}
	for b := range u.Get("content").Elements() {
		if b.Get("type").Text() == "diff" {
			add(b.Get("path").Text())
		}
	}
}

// deltas takes output that comes in pieces (codex-acp).
func (c *call) deltas(meta rawjson.Value) {
	if data := meta.Get("terminal_output_delta", "data").Text(); data != "" {
		if room := MaxOutput - len(c.streamed); len(data) > room {
			data, c.overflow = strings.ToValidUTF8(data[:room], ""), true
		}
		c.streamed = append(c.streamed, data...)
	}
	if code, ok := meta.Get("terminal_exit", "exit_code").Int(); ok {
		c.exitCode = &code
	}
}

func hasDiff(list rawjson.Value) bool {
	for b := range list.Elements() {
		if b.Get("type").Text() == "diff" {
			return true
		}
	}
	return false
}

// hasCommand tells the input of a shell call from a first stub of it.
func hasCommand(in rawjson.Value) bool {
	for _, name := range []string{"command", "cmd", "commands", "script", "code"} {
		if in.Get(name).Given() {
			return true
		}
	}
	return in.Kind() != rawjson.Object
}

// hold puts off the start of a call: what it begins with is often empty, and an
// envelope cannot be changed later.
func (c *call) hold(p *Protocol) {
	wait := SettleWait
	if !c.hasInput {
		if !c.release.IsZero() {
			return // the first sight counts
		}
		if wait = p.spec.Quirks.StubWait; wait == 0 {
			wait = DefaultStubWait
		}
	}
	c.release = p.now.Add(wait)
}

// settleCalls starts the held calls that have their input, for the agent goes on
// to something else. The call named except may get more.
func (p *Protocol) settleCalls(except string) {
	for _, c := range append([]*call(nil), p.calls.list...) {
		if !c.started && c.hasInput && c.id != except {
			p.startCall(c)
		}
	}
}

// releaseCalls starts the held calls whose time is up.
func (p *Protocol) releaseCalls() {
	for _, c := range append([]*call(nil), p.calls.list...) {
		if !c.started && p.due(c.release) {
			p.startCall(c)
		}
	}
}

// startCall writes the call's start, once.
func (p *Protocol) startCall(c *call) {
	if c.started {
		return
	}
	c.started, c.release = true, time.Time{}
	p.agents.begin(p, c.subagent)
	t := p.describe(c)
	p.emitFor(c.subagent, contract.ToolCallStart{
		Call: c.id, Name: t.Name, Title: t.Title, Description: t.Description, Args: t.Args, Native: t.Native,
	})
}

// endCall writes the call's end.
func (p *Protocol) endCall(c *call, result *contract.ToolResult) {
	c.ending = true
	p.agents.callEnded(p, c)
	p.emitFor(c.subagent, contract.ToolCallEnd{Call: c.id, Result: result})
	p.calls.end(c, p.turn.n)
}

// closeCalls ends what is open at the end of the turn.
func (p *Protocol) closeCalls(status contract.TurnStatus, fault *contract.Error) {
	p.calls.closing = nil // the agent did not tell how it ended
	switch status {
	case contract.TurnCancelled:
		p.calls.closing = &contract.ToolResult{Status: contract.ToolCancelled}
	case contract.TurnFailed:
		p.calls.closing = &contract.ToolResult{Status: contract.ToolError, Error: "the turn failed"}
		if fault != nil {
			p.calls.closing.Error = fault.Message
		}
	}
	for len(p.calls.list) > 0 { // ending one may end those of its sub-agent
		c := p.calls.list[0]
		p.startCall(c)
		p.endCall(c, p.calls.closing)
	}
	p.calls.closing = nil
}

// streamOutput sends what is new in the output of a running call. Agents send it
// whole each time, or in pieces.
func (p *Protocol) streamOutput(c *call) {
	if len(c.streamed) > 0 {
		// Only what is new is looked at: a chatty command sends many pieces.
		if piece := string(c.streamed[c.sent:]); piece != "" {
			p.step.Live = append(p.step.Live, adapters.Delta{Subagent: p.agents.keyOf(c.subagent), Call: c.id, Text: piece})
		}
		c.sent = len(c.streamed)
		return
	}
	if c.kind != "execute" || !c.resulting {
		return
	}
	text := blocksText(c.content)
	if !strings.HasPrefix(text, c.live) || len(text) == len(c.live) || len(text) > MaxOutput {
		return
	}
	p.step.Live = append(p.step.Live, adapters.Delta{Subagent: p.agents.keyOf(c.subagent), Call: c.id, Text: text[len(c.live):]})
	c.live = text
}

// blocksText is the text of a call's content.
func blocksText(list rawjson.Value) string {
	var parts []string
	for b := range list.Elements() {
		if b.Get("type").Text() == "content" {
			if t := rawjson.Repair(contentText(b.Get("content"))); t != "" {
				parts = append(parts, t)
			}
		}
	}
	return strings.Join(parts, "\n")
}

// toolLike tells a tool's name from a title for people.
func toolLike(s string) bool {
	return s != "" && len(s) <= 64 && !bytes.ContainsFunc([]byte(s), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.')
	})
}
