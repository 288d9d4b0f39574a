package codex

import (
	"slices"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// other is a conversation of the server that is not the session's: one that a person
// began, resumed or branched off at the screen, or left there. We join each, so that
// nothing of it is missed when the session goes there.
type other struct {
	th *thread
	// told is what the server said when we joined, nil until then.
	told rawjson.Value
	// settings are the newest that it told since.
	settings rawjson.Value
	// holding says that a turn began in it while one of the session's ran. What it
	// says waits in held, size bytes, and lost says that some did not fit.
	holding bool
	held    []jsonrpc.Message
	size    int
	lost    bool
}

// maxHeld bounds what waits of one conversation. What is over is lost, and told.
const maxHeld = 8 << 20

func (o *other) hold(m jsonrpc.Message) {
	n := len(m.Params) + len(m.Method) + len(m.ID)
	if o.lost || o.size+n > maxHeld {
		o.lost = true
		return
	}
	o.size += n
	m.ID, m.Params = slices.Clone(m.ID), slices.Clone(m.Params)
	o.held = append(o.held, m)
}

// elsewhere takes a notification about a thread that is not ours; false when it
// says nothing to us.
func (p *protocol) elsewhere(id, method string, params rawjson.Value) bool {
	if id == "" || !p.open.ok || p.gone {
		return false
	}
	o := p.tui.others[id]
	switch {
	case method == "thread/started":
		p.startedThere(id, params.Get("thread"))
	case o == nil && method == "thread/status/changed":
		if params.Get("status", "type").Text() != "notLoaded" {
			p.lookAt(id)
		}
	case o == nil || !known(method):
		return false
	case o.told == nil && method == "thread/status/changed" && params.Get("status", "type").Text() == "active":
		p.join(o) // what was refused while it had no message
	case o.holding, method == "turn/started":
		o.holding = true
		o.hold(jsonrpc.Message{Kind: jsonrpc.Notification, Method: method, Params: params})
	case method == "thread/settings/updated":
		o.settings = slices.Clone(params)
	}
	return true
}

// startedThere takes a thread that somebody began.
func (p *protocol) startedThere(id string, thread rawjson.Value) {
	if p.tui.others[id] != nil || p.tui.passed[id] {
		return
	}
	if !conversation(thread) {
		p.tui.passed[id] = true
		return
	}
	o := p.meet(id)
	p.persist(id, func(reply) { p.join(o) })
}

// conversation reports whether a thread is one of a person, not a sub-agent's and
// not one in which the screen has a title made.
func conversation(thread rawjson.Value) bool {
	by := thread.Get("threadSource").Text()
	return !thread.Get("ephemeral").True() && thread.Get("parentThreadId").Text() == "" &&
		thread.Get("source").Kind() != rawjson.Object && (by == "" || by == "user")
}

// lookAt finds out what a thread is that was loaded without a word.
func (p *protocol) lookAt(id string) {
	if p.tui.passed[id] {
		return
	}
	p.tui.passed[id] = true
	params := new(object).str("threadId", id).value()
	p.request("thread/read", params, func(r reply) {
		if r.err != nil || !conversation(r.result.Get("thread")) || p.threadOf(id) != nil || p.tui.others[id] != nil {
			return
		}
		delete(p.tui.passed, id)
		p.join(p.meet(id))
	})
}

// meet gets to know a conversation.
func (p *protocol) meet(id string) *other {
	o := &other{th: newThread(id)}
	o.th.agent = "" // it is a root once the session is there
	p.tui.others[id] = o
	p.tui.order = append(p.tui.order, id)
	return o
}

// joinParams are those of thread/resume for a conversation.
func joinParams(id string) []byte {
	return new(object).str("threadId", id).flag("excludeTurns", true).raw("initialTurnsPage", newestTurn()).value()
}

// join subscribes to a conversation, gives it what the session's mode allows, and has
// the session go there.
func (p *protocol) join(o *other) {
	id := o.th.id
	p.request("thread/resume", joinParams(id), func(r reply) {
		if r.err != nil || p.gone || p.tui.others[id] != o {
			return // it is tried again when something happens there
		}
		o.told, o.th.joined = slices.Clone(r.result), true
		p.impose(id, func(imposed reply) {
			p.tui.next = id
			if imposed.err != nil && !imposed.broken {
				p.notice(contract.ServiceError, imposed.err.code, "The conversation that was opened at the terminal has rights of its own: "+imposed.err.message)
			}
		})
	})
}

// unhold goes to another conversation when the session has come to rest, and takes
// what was said there meanwhile.
func (p *protocol) unhold() {
	if p.tui == nil || p.gone || !p.open.ok {
		return
	}
	for !p.turn.open && !slices.ContainsFunc(p.inputs, func(in *input) bool { return in.sent }) {
		o := p.nextThere()
		if o == nil {
			return
		}
		p.moveTo(o)
		held := o.held
		o.held, o.size, o.holding = nil, 0, false
		for _, m := range held {
			// Faults in it were not counted when it came; it is told what could be read.
			_ = p.message(m)
		}
		if o.lost {
			o.lost = false
			p.notice(contract.ServiceError, contract.CodeProtocol, "A part of what was said there is missing.")
		}
	}
}

// nextThere is the conversation to go to, nil for none: one in which something
// happened, else the one that was opened last.
func (p *protocol) nextThere() *other {
	for _, id := range p.tui.order {
		if o := p.tui.others[id]; o != nil && o.holding {
			return o
		}
	}
	o := p.tui.others[p.tui.next]
	p.tui.next = ""
	if o == nil || o.told == nil {
		return nil
	}
	return o
}

// moveTo makes another conversation the session's.
func (p *protocol) moveTo(o *other) {
	p.stopChildren()
	p.closeAsks(p.root)
	p.endCalls(p.root, nil)
	left := &other{th: p.root, told: rawjson.Value("{}")}
	p.tui.others[p.root.id] = left
	p.tui.order = append(p.tui.order, p.root.id)
	delete(p.tui.others, o.th.id)
	p.tui.order = slices.DeleteFunc(p.tui.order, func(id string) bool { return id == o.th.id })
	p.root, p.children, p.lastTurn, p.diff = o.th, nil, "", turnDiff{}
	f := p.learn()
	f.NativeSession = p.root.id
	title := o.told.Get("thread", "name").Text()
	if title != "" {
		f.Title = title
	}
	text := "Another conversation was opened at the terminal"
	if title != "" {
		text += ": " + title
	}
	p.notice(contract.ServiceNotice, "", text+".")
	if o.told.Get("thread", "historyMode").Given() {
		p.facts.paginated = o.told.Get("thread", "historyMode").Text() == "paginated"
	}
	p.toldSettings(o.told)
	if o.settings != nil {
		p.settingsUpdated(o.settings)
	}
	p.seenTurns(o.told)
	if page := turnsOf(o.told); len(page) > 0 && page[len(page)-1].Get("status").Text() == "inProgress" {
		p.catchUp(page[len(page)-1:])
	}
}

// toldSettings takes the settings of a thread from the answer to thread/resume. What
// it may do is what we imposed.
func (p *protocol) toldSettings(result rawjson.Value) {
	if m := result.Get("model").Text(); m != "" {
		p.setModel(contract.RoleUser, m)
	}
	if e := result.Get("reasoningEffort").Text(); e != "" {
		p.setEffort(contract.RoleUser, e)
	}
	p.facts.planned = p.facts.planned || result.Get("collaborationMode", "mode").Text() == collaboratePlan
}

// leaveThere tells that another conversation was under way when the agent ended.
func (p *protocol) leaveThere() {
	if p.tui == nil {
		return
	}
	for _, id := range p.tui.order {
		if o := p.tui.others[id]; o != nil && o.holding {
			p.notice(contract.ServiceNotice, "", "Another conversation went on at the terminal, which is not told here.")
			return
		}
	}
}
