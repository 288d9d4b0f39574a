package codex

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// operation is a request that an Op passes through. Params go along as they are,
// but for the thread, which is always ours where the method has one.
type operation struct {
	name, method string
	thread       bool
}

// operations are the pass-through operations, by our name. Those of threads are
// also known by the server's, without "thread/". rewind, fork, list,
// compact and diff have code of their own.
func operations() []operation {
	return []operation{
		{"rename", "thread/name/set", true},
		{"turns", "thread/turns/list", true},
		{"items", "thread/items/list", true},
		{"read", "thread/read", true},
		{"review", "review/start", true},
		{"goal", "thread/goal/get", true},
		{"goal-set", "thread/goal/set", true},
		{"goal-clear", "thread/goal/clear", true},
		{"queue", "thread/queue/list", true},
		{"queue-add", "thread/queue/add", true},
		{"queue-delete", "thread/queue/delete", true},
		{"queue-start", "thread/queue/start", true},
		{"terminals", "thread/backgroundTerminals/list", true},
		{"terminal-stop", "thread/backgroundTerminals/terminate", true},
		{"terminals-stop", "thread/backgroundTerminals/clean", true},
		{"models", "model/list", false},
		{"mcp", "mcpServerStatus/list", false},
		{"skills", "skills/list", false},
		{"hooks", "hooks/list", false},
		{"usage", "account/rateLimits/read", false},
		{"collaboration-modes", "collaborationMode/list", false},
	}
}

// submitOp starts an operation.
func (p *protocol) submitOp(c adapters.Op) error {
	run := p.operation(c.Name)
	if run == nil {
		return fmt.Errorf("codex: operation %q: %w", c.Name, adapters.ErrUnsupported)
	}
	if err := p.ready(c.Name); err != nil {
		return err
	}
	var params rawjson.Value
	if len(c.Params) > 0 {
		v, err := rawjson.Parse(c.Params)
		if err != nil || v.Given() && v.Kind() != rawjson.Object {
			return fmt.Errorf("codex: %s: params: want a JSON object", c.Name)
		}
		params = v
	}
	return run(c.ID, params)
}

// operation finds an operation by its name, nil when there is none.
func (p *protocol) operation(name string) func(id string, params rawjson.Value) error {
	switch name {
	case "rewind", "revert":
		if !slices.Contains(p.Capabilities(), session.CapRewind) {
			return nil
		}
		return p.rewind
	case "fork":
		return p.fork
	case "list":
		return p.list
	case "compact", "compact/start":
		return p.compact
	case "diff":
		return p.lastDiff
	}
	for _, o := range operations() {
		if o.name == name || o.method == name || o.thread && o.method == "thread/"+name {
			return func(id string, params rawjson.Value) error {
				p.request(o.method, p.opParams(o, params), func(r reply) { p.answerOp(id, r) })
				return nil
			}
		}
	}
	return nil
}

// opParams are the params of an operation with our thread.
func (p *protocol) opParams(o operation, params rawjson.Value) []byte {
	out := new(object)
	if o.thread {
		out.str("threadId", p.root.id)
	}
	if o.method == "review/start" && !params.Get("target").Given() {
		out.raw("target", []byte(`{"type":"uncommittedChanges"}`))
	}
	for name, v := range params.Members() {
		if name != "threadId" || !o.thread {
			out.raw(name, v.Clean())
		}
	}
	return out.value()
}

// answerOp ends an operation with the server's answer.
func (p *protocol) answerOp(id string, r reply) {
	if r.err != nil {
		p.fail(id, *r.err)
		return
	}
	p.succeed(id, r.result.Clean())
}

// list lists the threads of the directory, or of all with {"all":true}.
func (p *protocol) list(id string, params rawjson.Value) error {
	out := new(object)
	if !params.Get("all").True() && !params.Get("cwd").Given() {
		out.str("cwd", p.info.Dir)
	}
	for name, v := range params.Members() {
		if name != "all" {
			out.raw(name, v.Clean())
		}
	}
	p.request("thread/list", out.value(), func(r reply) { p.answerOp(id, r) })
	return nil
}

// turnDiff is what the edits of a turn amount to: a unified diff of all files. What
// shell commands change is not in it.
type turnDiff struct{ turn, text string }

// lastDiff tells the diff of the newest turn that changed a file:
// {"turn":native id,"diff":text}, both empty when this process saw none.
func (p *protocol) lastDiff(id string, _ rawjson.Value) error {
	p.succeed(id, new(object).str("turn", p.diff.turn).str("diff", p.diff.text).value())
	return nil
}

// compactTimeout is how long a compaction may take: the model reads everything.
const compactTimeout = 10 * time.Minute

// compact compacts the conversation, in a turn of its own. It is done with that.
func (p *protocol) compact(id string, _ rawjson.Value) error {
	switch {
	case p.compacting.id != "":
		return errors.New("codex: compact: a compaction is under way")
	case p.turn.open:
		return errors.New("codex: compact: a turn runs: stop it first")
	}
	p.compacting = compacting{id: id, by: p.now.Add(compactTimeout)}
	params := new(object).str("threadId", p.root.id).value()
	p.request("thread/compact/start", params, func(r reply) {
		if r.err != nil {
			p.compacted(*r.err)
		}
	})
	return nil
}

// compacting is a compact operation under way.
type compacting struct {
	id string
	by time.Time
}

// compacted ends the compact operation under way, if there is one. An empty code
// is success.
func (p *protocol) compacted(e wireError) {
	id := p.compacting.id
	if id == "" {
		return
	}
	p.compacting = compacting{}
	if e.code != "" {
		p.fail(id, e)
		return
	}
	p.succeed(id, []byte(`{"compacted":true}`))
}

// compactEnd ends the compact operation with the turn that it became.
func (p *protocol) compactEnd(end contract.TurnEnd, done bool) {
	switch {
	case done:
		p.compacted(wireError{})
	case end.Error != nil:
		p.compacted(wireError{end.Error.Code, end.Error.Message})
	default:
		p.compacted(wireError{contract.CodeAgentError, "the compaction was stopped"})
	}
}
