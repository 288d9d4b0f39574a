package codex

import (
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// thread is a thread of the server: the root, or a sub-agent's.
type thread struct {
	id string
	// agent is what the stream calls the sub-agent, empty for the root.
	agent string
	// parent is the agent of the thread that spawned it.
	parent string
	title  string
	// turn is the native id of the sub-agent's turn; started says that the stream has
	// a run of it open.
	turn    string
	started bool

	calls    map[string]*call
	finished map[string]bool // ids of calls that ended and were forgotten
	// left are the commands that went on after their turn, with their command lines.
	left     map[string]string
	partials []*partial
	raw      []rawCall
	told     int // calls that the stream was told
	meter    meter
	// joined says that the thread was begun or opened at the screen, and that no turn
	// of it was told since.
	joined bool
}

func newThread(id string) *thread {
	return &thread{id: id, agent: id, calls: map[string]*call{}, finished: map[string]bool{}, left: map[string]string{}}
}

func (th *thread) running() bool { return th.started }

// threads are the root and those of the sub-agents.
func (p *protocol) threads() []*thread { return append([]*thread{p.root}, p.children...) }

// threadOf finds one of our threads, nil for any other: the server tells of
// threads that nobody here opened.
func (p *protocol) threadOf(id string) *thread {
	if id == "" {
		return nil
	}
	if id == p.root.id {
		return p.root
	}
	i := slices.IndexFunc(p.children, func(th *thread) bool { return th.id == id })
	if i < 0 {
		return nil
	}
	return p.children[i]
}

// child finds the thread of a sub-agent or gets to know it.
func (p *protocol) child(id string, parent *thread, title string) *thread {
	th := p.threadOf(id)
	if th == nil {
		th = newThread(id)
		th.parent = parent.agent
		p.children = append(p.children, th)
	}
	if th.title == "" {
		th.title = title
	}
	return th
}

// startChild emits the start of a run of a sub-agent. It may outlive the turn.
func (p *protocol) startChild(th *thread, call string) {
	if th.started || th == p.root {
		return
	}
	if parent := p.threadOf(th.parent); parent != nil {
		p.startChild(parent, "")
	}
	th.started = true
	p.emit(adapters.Draft{Subagent: th.parent, Background: true, Event: contract.SubagentStart{
		AgentID: th.agent, Title: th.title, Call: call,
	}})
}

// childStarted takes the start of a sub-agent's turn.
func (p *protocol) childStarted(th *thread, turn string) {
	th.turn = turn
	p.startChild(th, "")
}

// childStopped ends a run of a sub-agent, and before it what it left open.
func (p *protocol) childStopped(th *thread) {
	th.turn = ""
	if !th.started {
		return
	}
	for _, other := range slices.Backward(p.children) {
		if other.parent == th.agent && other != th {
			p.childStopped(other)
		}
	}
	p.closeAsks(th)
	p.keepPartials(th)
	p.endCalls(th, &contract.ToolResult{Status: contract.ToolCancelled, Error: "the sub-agent stopped before this call ended"})
	th.started = false
	p.emit(adapters.Draft{Subagent: th.parent, Event: contract.SubagentStop{AgentID: th.agent}})
}

// stopChildren ends the runs of all sub-agents, the newest first.
func (p *protocol) stopChildren() {
	for _, th := range slices.Backward(p.children) {
		p.childStopped(th)
	}
}

// running reports whether a sub-agent runs.
func (p *protocol) running() bool { return slices.ContainsFunc(p.children, (*thread).running) }

// adopt recognises the thread of a sub-agent by what its first turn says of the
// turn that it belongs to.
func (p *protocol) adopt(params rawjson.Value) *thread {
	root := params.Get("turn", "rootTurnId").Text()
	if !p.turn.open || root == "" || !p.turn.is(root) || p.root.id == "" {
		return nil
	}
	id := params.Get("threadId").Text()
	if id == "" {
		return nil
	}
	return p.child(id, p.root, "")
}

// collab takes a collaboration call: what it says of sub-agents (v1). It is told
// as a call by its caller, before which the sub-agents stop and start.
func (p *protocol) collab(th *thread, item rawjson.Value, done bool) {
	tool := item.Get("tool").Text()
	for e := range item.Get("receiverThreadIds").Elements() {
		id := e.Text()
		if id == "" || id == p.root.id {
			continue
		}
		switch {
		case tool == "spawnAgent" && done:
			child := p.child(id, th, firstLine(item.Get("prompt").Text()))
			p.startChild(child, item.Get("id").Text())
		case (tool == "closeAgent" || tool == "interruptAgent") && done:
			if child := p.threadOf(id); child != nil {
				p.childStopped(child)
			}
		}
	}
}

// activity takes a sub-agent's activity (v2).
func (p *protocol) activity(th *thread, item rawjson.Value) {
	id := item.Get("agentThreadId").Text()
	if id == "" || id == p.root.id {
		return
	}
	path := item.Get("agentPath").Text()
	child := p.child(id, th, path[strings.LastIndexByte(path, '/')+1:])
	switch item.Get("kind").Text() {
	case "started":
		p.startChild(child, item.Get("id").Text())
	case "completed", "interrupted":
		p.childStopped(child)
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
