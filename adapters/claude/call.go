package claude

import (
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// call is a tool call.
type call struct {
	id     string
	native string // the CLI's name of the tool
	agent  string // native id of the sub-agent that made it
	input  rawjson.Value
	ended  bool
	// cut says that the turn ended while the call went on in the background: the
	// stream has an end of it, and the next turn tells it anew.
	cut bool
	seq int
}

// startCall takes a tool_use block.
func (p *protocol) startCall(m message, agent string, b rawjson.Value) {
	id := b.Get("id").Text()
	if id == "" {
		return
	}
	p.announce(id, agent, b.Get("name").Text(), b.Get("input"), m.uuid)
}

// announce starts a call unless it is open.
func (p *protocol) announce(id, agent, native string, input rawjson.Value, origin string) *call {
	if c := p.calls[id]; c != nil && !c.ended {
		if c.cut {
			p.tell(c, origin)
		}
		return c
	}
	c := &call{id: id, native: native, agent: agent, input: clone(input), seq: p.callSeq}
	p.callSeq++
	p.calls[id] = c
	delete(p.finished, id)
	p.tell(c, origin)
	p.agents.announced(p, c)
	return c
}

// tell emits the start of a call.
func (p *protocol) tell(c *call, origin string) {
	c.cut = false
	t := p.describe(c.native, c.input)
	p.emit(adapters.Draft{Subagent: c.agent, Origin: origin, Event: contract.ToolCallStart{
		Call: c.id, Name: t.name, Title: t.title, Description: t.description, Args: c.input.Clean(), Native: c.native,
	}})
}

// endCall takes a tool_result block.
func (p *protocol) endCall(m message, agent string, b rawjson.Value) {
	id := b.Get("tool_use_id").Text()
	c := p.calls[id]
	if c != nil {
		agent = c.agent
	}
	details := m.Get("tool_use_result")
	if n := len(slices.Collect(m.Get("message", "content").Elements())); n != 1 {
		details = nil // it belongs to one of several results, nobody knows which
	}
	p.settleAsksOf(id)
	p.agents.returned(p, id, details)
	switch {
	case c == nil:
		// Nobody announced it: its call was made before this process ran.
		c = p.announce(id, agent, "", nil, m.uuid)
	case c.cut:
		p.tell(c, m.uuid)
	}
	c.ended = true
	p.plan.take(p, c, details, b.Get("is_error").True())
	p.emit(adapters.Draft{Subagent: agent, Origin: m.uuid, Event: contract.ToolCallEnd{
		Call: id, Result: p.outcome(m, c, b, details),
	}})
}

// told reports whether the end of a call has been told.
func (p *protocol) told(id string) bool {
	c := p.calls[id]
	return c == nil && p.finished[id] || c != nil && c.ended
}

// outcome is how a call ended.
func (p *protocol) outcome(m message, c *call, b, details rawjson.Value) *contract.ToolResult {
	output, text := toolOutput(b)
	if b.Get("is_error").True() {
		r := &contract.ToolResult{Status: contract.ToolError, Error: toolError(text)}
		if p.turn.aborted && nonExecution(m, b.Get("tool_use_id").Text()) == "user-rejected" {
			r.Status = contract.ToolCancelled
		}
		return r
	}
	return &contract.ToolResult{Status: contract.ToolCompleted, Output: output, Files: fileDiffs(c, details, text)}
}

// nonExecution is why a tool did not run, empty when it ran.
func nonExecution(m message, id string) string {
	for e := range m.Get("tool_result_meta").Elements() {
		if e.Get("id").Text() == id {
			return e.Get("non_execution_kind").Text()
		}
	}
	return ""
}

// toolError takes the markup off an error.
func toolError(text string) string {
	inner, ok := strings.CutPrefix(text, "<tool_use_error>")
	if ok {
		text = strings.TrimSuffix(inner, "</tool_use_error>")
	}
	if text == "" {
		return "the tool failed"
	}
	return text
}

// toolOutput is the content of a tool_result as JSON and as text. Pictures and
// documents are not copied: they are named by type and size.
func toolOutput(b rawjson.Value) (output []byte, text string) {
	content := b.Get("content")
	if content.Kind() == rawjson.String {
		text = content.Text()
		return quote(text), text
	}
	if content.Kind() != rawjson.Array {
		return content.Clean(), ""
	}
	var blocks [][]byte
	var lines []string
	plain := true
	for e := range content.Elements() {
		if e.Get("type").Text() == "text" {
			t := e.Get("text").Text()
			lines = append(lines, t)
			blocks = append(blocks, new(object).str("type", "text").str("text", t).value())
			continue
		}
		plain = false
		blocks = append(blocks, slim(e))
	}
	text = strings.Join(lines, "\n")
	if len(blocks) == 0 {
		return nil, ""
	}
	if plain {
		return quote(text), text
	}
	return array(blocks...), text
}

// slim is a block without its base64 data.
func slim(b rawjson.Value) []byte {
	source := b.Get("source")
	data := source.Get("data")
	if data.Kind() != rawjson.String {
		return b.Clean()
	}
	o := new(object).str("type", b.Get("type").Text())
	if t := source.Get("media_type").Text(); t != "" {
		o.str("mediaType", t)
	}
	// Base64 has four characters for three bytes.
	return o.raw("size", decimal((len(data)-2)/4*3)).value()
}

// endCalls ends the open calls of an agent, the newest first.
func (p *protocol) endCalls(agent string, result *contract.ToolResult) {
	for _, c := range p.openCalls(agent) {
		c.ended = true
		if !c.cut {
			p.emit(adapters.Draft{Subagent: agent, Event: contract.ToolCallEnd{Call: c.id, Result: result}})
		}
	}
	if agent == "" {
		p.forgetCalls()
	}
}

// openCalls are the open calls of an agent, the newest first.
func (p *protocol) openCalls(agent string) []*call {
	var list []*call
	for _, c := range p.calls {
		if !c.ended && c.agent == agent {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *call) int { return b.seq - a.seq })
	return list
}

// suspend takes background work out of the turn that ends: its asks are withdrawn
// until reask, and its calls end. Their outcome is not known yet; when it comes,
// the call is told anew.
func (p *protocol) suspend() {
	for _, a := range p.asks {
		p.withdraw(a.key)
	}
	for _, a := range p.agents.list {
		p.cutCallsOf(a)
	}
}

func (p *protocol) cutCallsOf(a *subagent) {
	for _, c := range p.openCalls(a.id) {
		if !c.cut {
			c.cut = true
			p.emit(adapters.Draft{Subagent: a.id, Event: contract.ToolCallEnd{Call: c.id}})
		}
	}
}

// maxFinished bounds the ids of ended calls that are remembered, so that a result
// which comes twice is told once. When it is hit all are forgotten.
const maxFinished = 4096

// forgetCalls drops what no later message can name: the ended calls, except those
// that spawned a sub-agent which still runs.
func (p *protocol) forgetCalls() {
	for id, c := range p.calls {
		if c.ended && !p.agents.spawnedBy(id) {
			delete(p.calls, id)
			if len(p.finished) >= maxFinished {
				clear(p.finished)
			}
			p.finished[id] = true
		}
	}
}
