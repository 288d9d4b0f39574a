package codex

import (
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// call is a tool call.
type call struct {
	id     string
	native string // the type of item, or what the server calls the request
	shown  tool
	args   jsontext.Value
	// server and tool are an MCP call's.
	server, tool string
	ended        bool
	// cut says that the root's turn ended while a sub-agent's call went on: the stream
	// has an end of it, and it is told anew.
	cut bool
	seq int
}

// callItem takes an item that is a tool call.
func (p *protocol) callItem(th *thread, turn string, it rawjson.Value, kind string, done bool) {
	id := it.Get("id").Text()
	if kind == itemAgent && it.Get("kind").Text() == "completed" {
		p.activity(th, it)
		return
	}
	if !done {
		if th == p.root && !p.turn.open {
			return // nothing of a turn comes before its start
		}
		delete(th.finished, id)
		p.announce(th, turn, id, it)
		if kind == itemAgent {
			p.activity(th, it)
		}
		return
	}
	c := th.calls[id]
	switch {
	case c != nil && c.ended, th.finished[id]:
		p.lateCommand(th, it)
		return
	case th == p.root && (!p.turn.open || turn != "" && !p.turn.is(turn)):
		p.lateCommand(th, it)
		return
	case c == nil:
		c = p.announce(th, turn, id, it)
	case c.cut:
		p.tell(th, turn, c)
	}
	p.settledByItem(th, it)
	p.withdrawAsks(th, id)
	if kind == itemCollab {
		p.collab(th, it, done)
	}
	p.endCall(th, turn, c, outcome(kind, it))
}

// announce starts a call unless it is open.
func (p *protocol) announce(th *thread, turn, id string, it rawjson.Value) *call {
	if c := th.calls[id]; c != nil && !c.ended {
		if c.cut {
			p.tell(th, turn, c)
		}
		return c
	}
	c := &call{id: id, native: it.Get("type").Text(), seq: p.callSeq, server: it.Get("server").Text(), tool: it.Get("tool").Text()}
	c.shown, c.args = p.describe(it)
	p.callSeq++
	th.told++
	th.calls[id] = c
	p.tell(th, turn, c)
	return c
}

// tell emits the start of a call.
func (p *protocol) tell(th *thread, turn string, c *call) {
	c.cut = false
	p.startChild(th, "")
	org := origin(turn, c.id)
	if turn == "" {
		org = ""
	}
	p.emit(adapters.Draft{Subagent: th.agent, Origin: org, Event: contract.ToolCallStart{
		Call: c.id, Name: c.shown.name, Title: c.shown.title, Description: c.shown.description, Args: c.args, Native: c.shown.native,
	}})
}

func (p *protocol) endCall(th *thread, turn string, c *call, result *contract.ToolResult) {
	c.ended = true
	org := ""
	if turn != "" {
		org = origin(turn, c.id)
	}
	p.emit(adapters.Draft{Subagent: th.agent, Origin: org, Event: contract.ToolCallEnd{Call: c.id, Result: result}})
}

// outcome is how a call ended.
func outcome(kind string, it rawjson.Value) *contract.ToolResult {
	r := &contract.ToolResult{Status: contract.ToolCompleted}
	switch status := it.Get("status").Text(); status {
	case "declined":
		r.Status, r.Error = contract.ToolError, "this was not allowed"
	case "failed":
		r.Status, r.Error = contract.ToolError, "the tool failed"
	}
	switch kind {
	case itemCommand:
		commandOutcome(r, it)
	case itemFiles:
		if r.Status == contract.ToolCompleted {
			r.Files = fileDiffs(it.Get("changes"))
		}
	case itemMCP:
		r.Output = contentOutput(it.Get("result", "content"), "text")
		if s := it.Get("result", "structuredContent"); r.Output == nil && s.Given() {
			r.Output = s.Clean()
		}
		if why := it.Get("error", "message").Text(); why != "" {
			r.Status, r.Error = contract.ToolError, why
		}
	case "dynamicToolCall":
		r.Output = contentOutput(it.Get("contentItems"), "inputText")
	case itemCollab:
		if states := it.Get("agentsStates"); !states.Empty() {
			r.Output = states.Clean()
		}
	case "webSearch":
		if list := it.Get("results"); !list.Empty() {
			r.Output = list.Clean()
		}
	}
	return r
}

// commandOutcome adds what a command printed, which only its end has whole.
func commandOutcome(r *contract.ToolResult, it rawjson.Value) {
	text := it.Get("aggregatedOutput").Text()
	code := it.Get("exitCode")
	if it.Get("source").Text() == sourceUser {
		r.Output = new(object).num("exitCode", integer(code)).str("output", text).value()
	} else if text != "" {
		r.Output = quote(text)
	}
	if n, ok := code.Int(); ok && code.Given() && n != 0 {
		r.Status, r.Error = contract.ToolError, fmt.Sprintf("exit code %d", n)
	}
}

// contentOutput is the text of content blocks, or the blocks themselves without
// their base64 data when there is more than text.
func contentOutput(content rawjson.Value, textType string) jsontext.Value {
	var lines []string
	var blocks [][]byte
	plain := true
	for b := range content.Elements() {
		kind := b.Get("type").Text()
		if kind == textType {
			lines = append(lines, b.Get("text").Text())
		}
		plain = plain && kind == textType
		blocks = append(blocks, slim(b))
	}
	switch {
	case len(blocks) == 0:
		return nil
	case plain:
		return quote(strings.Join(lines, "\n"))
	}
	return array(blocks...)
}

// slim is a block without long data.
func slim(b rawjson.Value) []byte {
	const most = 1 << 10
	o := new(object)
	for name, v := range b.Members() {
		if (name == "data" || name == "blob" || name == "imageUrl") && len(v) > most {
			o.num("size", int64(len(v)-2))
			continue
		}
		o.raw(name, v.Clean())
	}
	return o.value()
}

// lateCommand takes the end of a command that went on after its turn. The stream
// has ended the call; people are told what became of it.
func (p *protocol) lateCommand(th *thread, it rawjson.Value) {
	id := it.Get("id").Text()
	command, ok := th.left[id]
	if !ok || it.Get("type").Text() != itemCommand {
		return
	}
	delete(th.left, id)
	text := "The background command " + present.CodeCut(command, codeLimit) + " ended"
	if code := it.Get("exitCode"); code.Given() {
		text += fmt.Sprintf(" with exit code %d", integer(code))
	}
	p.notice(contract.ServiceNotice, "", text+".")
}

// endCalls ends the open calls of a thread, the newest first. A command without
// an outcome goes on: its end will be told.
func (p *protocol) endCalls(th *thread, result *contract.ToolResult) {
	for _, c := range p.openCalls(th) {
		if result == nil && c.native == itemCommand {
			th.left[c.id] = rawjson.Value(c.args).Get("command").Text()
		}
		if c.cut {
			c.ended = true
			continue
		}
		p.endCall(th, "", c, result)
	}
	th.forgetCalls()
}

// openCalls are the open calls of a thread, the newest first.
func (p *protocol) openCalls(th *thread) []*call {
	var list []*call
	for _, c := range th.calls {
		if !c.ended {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *call) int { return b.seq - a.seq })
	return list
}

// maxFinished bounds the ids of ended calls that are remembered, so that an end
// which comes twice is told once. When it is hit all are forgotten.
const maxFinished = 4096

// forgetCalls drops the ended calls but for their ids.
func (th *thread) forgetCalls() {
	for id, c := range th.calls {
		if c.ended {
			delete(th.calls, id)
			if len(th.finished) >= maxFinished {
				clear(th.finished)
			}
			th.finished[id] = true
		}
	}
}

// suspend takes sub-agents' work out of the turn that ends: their asks are
// withdrawn until reask, and their calls end without an outcome. When that comes,
// the call is told anew.
func (p *protocol) suspend() {
	p.settleAll(nil)
	for _, a := range p.asks {
		p.withdraw(a.key)
	}
	for _, th := range p.children {
		for _, c := range p.openCalls(th) {
			if !c.cut {
				c.cut = true
				p.emit(adapters.Draft{Subagent: th.agent, Event: contract.ToolCallEnd{Call: c.id}})
			}
		}
	}
}

// typed tells what the agent types into a running command, as a call of its own:
// whoever allowed the command has not seen that. Nothing typed is a look at what the
// command printed.
func (p *protocol) typed(th *thread, turn string, params rawjson.Value) {
	text := params.Get("stdin").Text()
	if text == "" || !p.speaks(th) {
		return
	}
	id := fmt.Sprintf("%s/stdin-%d", params.Get("itemId").Text(), p.callSeq)
	it := new(object).str("type", itemTyped).str("command", text).value()
	p.endCall(th, turn, p.announce(th, turn, id, rawjson.Value(it)), &contract.ToolResult{Status: contract.ToolCompleted})
}

// outputDelta takes a piece of what a command prints.
func (p *protocol) outputDelta(th *thread, params rawjson.Value) {
	p.alive(th)
	c := th.calls[params.Get("itemId").Text()]
	if c == nil || c.ended || c.cut {
		return
	}
	if text := params.Get("delta").Text(); text != "" {
		p.live(adapters.Delta{Subagent: th.agent, Call: c.id, Text: text})
	}
}
