package claude

import (
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// subagent is one run of a sub-agent.
type subagent struct {
	// id is what the stamper knows it by: the task id, or the spawning call's for
	// versions without tasks.
	id string
	// task and call are the CLI's names of it; either may be unknown.
	task, call string
	parent     string // id of the sub-agent that spawned it, empty for the main agent
	title      string
	background bool
	// kept says that the stream has it as one that may outlive its turn.
	kept    bool
	started bool
	stopped bool
	// over says that the CLI said it has ended. What it says after that begins no
	// new run.
	over bool
}

func (a *subagent) running() bool { return a.started && !a.stopped }

// agents are the sub-agents by what the CLI calls them.
type agents struct {
	list   []*subagent // in the order in which they became known
	byTask map[string]*subagent
	byCall map[string]*subagent
	// shells are the running background shells by task id, with their titles.
	shells map[string]string
}

func newAgents() agents {
	return agents{byTask: map[string]*subagent{}, byCall: map[string]*subagent{}, shells: map[string]string{}}
}

// agentOf is the id of the sub-agent that a message comes from, empty for the
// main agent. It starts the sub-agent if that is not done.
func (p *protocol) agentOf(m message) string {
	if m.parent == "" && m.agent == "" {
		return ""
	}
	a := p.agents.find(m.agent, m.parent)
	if a == nil {
		a = p.agents.add(m.agent, m.parent)
	}
	if a.title == "" {
		a.title = m.text("task_description")
	}
	p.startAgent(a)
	if a.over {
		p.straggler = a
	}
	return a.id
}

// find looks a sub-agent up and learns its other name.
func (t *agents) find(task, call string) *subagent {
	a := t.byTask[task]
	if a == nil {
		if a = t.byCall[call]; a == nil || task != "" && a.task != "" && a.task != task {
			return nil
		}
	}
	t.bind(a, task, call)
	return a
}

func (t *agents) bind(a *subagent, task, call string) {
	if task != "" && a.task == "" {
		a.task = task
	}
	if call != "" && a.call == "" {
		a.call = call
	}
	if a.task != "" {
		t.byTask[a.task] = a
	}
	if a.call != "" {
		t.byCall[a.call] = a
	}
}

// named finds a sub-agent by the stream's name of it.
func (t *agents) named(id string) *subagent {
	i := slices.IndexFunc(t.list, func(a *subagent) bool { return a.id == id })
	if i < 0 {
		return nil
	}
	return t.list[i]
}

func (t *agents) add(task, call string) *subagent {
	a := &subagent{id: task}
	if task == "" {
		a.id = call
	}
	t.bind(a, task, call)
	t.list = append(t.list, a)
	return a
}

// startAgent emits the start of a run. A sub-agent that acts after it stopped
// has begun another run.
func (p *protocol) startAgent(a *subagent) {
	if a.running() {
		return
	}
	a.started, a.stopped = true, false
	ev := contract.SubagentStart{AgentID: a.id, Title: p.agentTitle(a)}
	if c := p.calls[a.call]; c != nil {
		a.parent, ev.Call = c.agent, a.call
	}
	a.kept = a.background || p.agents.keptParent(a)
	p.emit(adapters.Draft{Subagent: a.parent, Event: ev, Background: a.kept})
}

func (p *protocol) agentTitle(a *subagent) string {
	if a.title != "" {
		return a.title
	}
	if c := p.calls[a.call]; c != nil {
		for _, name := range []string{"description", "subagent_type", "name"} {
			if s := c.input.Get(name).Text(); s != "" {
				return s
			}
		}
	}
	return ""
}

// stopAgent emits the end of a run, and before it that of what it left open.
func (p *protocol) stopAgent(a *subagent) {
	if !a.running() {
		a.stopped = true
		return
	}
	for _, child := range slices.Backward(p.agents.list) {
		if child.parent == a.id && child.running() && !child.background {
			p.stopAgent(child)
		}
	}
	p.dropPartial(a.call)
	for _, c := range p.openCalls(a.id) {
		p.settleAsksOf(c.id)
	}
	p.settleOwnAsksOf(a.id)
	p.endCalls(a.id, &contract.ToolResult{Status: contract.ToolCancelled, Error: "the sub-agent stopped before this call ended"})
	a.stopped = true
	p.emit(adapters.Draft{Subagent: a.parent, Event: contract.SubagentStop{AgentID: a.id}})
}

// taskStarted takes the start of a task: a sub-agent or a shell. A foreground
// shell becomes a task when it runs for some seconds.
func (p *protocol) taskStarted(m message) {
	task, call := m.text("task_id"), m.text("tool_use_id")
	if task == "" {
		return
	}
	background := m.Get("is_backgrounded").True()
	if m.text("task_type") != "local_agent" {
		if background && !m.Get("ambient").True() {
			p.agents.shells[task] = m.text("description")
		}
		return
	}
	a := p.agents.find(task, call)
	switch {
	case a == nil:
		a = p.agents.add(task, call)
	case a.stopped:
		// A resumed sub-agent keeps its task id; the call that woke it is another.
		a.started, a.stopped, a.over = false, false, false
		if call != "" {
			a.call = call
			p.agents.byCall[call] = a
		}
	}
	a.background = background
	if title := m.text("description"); title != "" {
		a.title = title
	}
	if parent := p.agents.byTask[m.text("parent_task_id")]; parent != nil {
		a.parent = parent.id
	}
	// Of a sub-agent's sub-agent the task can be told before the call that spawns
	// it: it starts with that call, or when it speaks.
	if call == "" || p.calls[call] != nil {
		p.startAgent(a)
	}
}

// announced starts the sub-agent whose call has just been told.
func (t *agents) announced(p *protocol, c *call) {
	if a := t.byCall[c.id]; a != nil && a.task != "" && !a.started {
		p.startAgent(a)
	}
}

// taskUpdated takes a change of a task.
func (p *protocol) taskUpdated(m message) {
	a := p.agents.byTask[m.text("task_id")]
	if a == nil {
		return
	}
	patch := m.Get("patch")
	if patch.Get("is_backgrounded").True() {
		// The stream has it as one of the turn's: it stops with that and starts anew
		// when it goes on.
		a.background = true
	}
	switch patch.Get("status").Text() {
	case "completed", "failed", "killed":
		a.over = true
		p.stopAgent(a)
	}
}

// taskNotification takes the end of a task.
func (p *protocol) taskNotification(m message) {
	task := m.text("task_id")
	if a := p.agents.byTask[task]; a != nil {
		a.over = true
		p.stopAgent(a)
		return
	}
	if _, ok := p.agents.shells[task]; ok {
		delete(p.agents.shells, task)
		p.notice(contract.ServiceNotice, "", shellNotice(m))
	}
}

// shellNotice tells how a background shell ended.
func shellNotice(m message) string {
	text := m.text("summary")
	if m.text("status") == "stopped" {
		return "Background command stopped: " + text
	}
	return text
}

// backgroundTasks takes the set of live background tasks, which replaces ours.
func (p *protocol) backgroundTasks(m message) {
	live := map[string]bool{}
	for t := range m.Get("tasks").Elements() {
		live[t.Get("task_id").Text()] = true
	}
	for _, a := range p.agents.list {
		if a.background && a.running() && a.task != "" && !live[a.task] {
			a.over = true
			p.stopAgent(a)
		}
	}
	for task := range p.agents.shells {
		if !live[task] {
			delete(p.agents.shells, task)
		}
	}
}

// returned takes the result of the call that spawned a sub-agent.
func (t *agents) returned(p *protocol, call string, details rawjson.Value) {
	a := t.byCall[call]
	if task := details.Get("agentId").Text(); task != "" {
		if a = t.byTask[task]; a == nil {
			a = t.byCall[call]
		}
	}
	if a == nil {
		return
	}
	if details.Get("isAsync").True() || details.Get("status").Text() == "async_launched" {
		a.background = true
		return
	}
	if !a.background {
		p.stopAgent(a)
	}
}

// stopForeground stops the sub-agents that do not outlive the turn.
func (t *agents) stopForeground(p *protocol) {
	for _, a := range slices.Backward(t.list) {
		switch {
		case !a.running() || a.kept:
		case a.background:
			// It moved to the background after its start: it goes on as a new run.
			p.cutCallsOf(a)
			a.stopped = true
			p.emit(adapters.Draft{Subagent: a.parent, Event: contract.SubagentStop{AgentID: a.id}})
		default:
			p.stopAgent(a)
		}
	}
	t.forget()
}

// keptParent reports whether the agent that spawned a outlives its turn.
func (t *agents) keptParent(a *subagent) bool {
	return slices.ContainsFunc(t.list, func(o *subagent) bool { return o.id == a.parent && o.kept && o.running() })
}

// stopAll stops all of them and reports whether there were any.
func (t *agents) stopAll(p *protocol) bool {
	any := false
	for _, a := range slices.Backward(t.list) {
		if a.running() {
			any = true
			p.stopAgent(a)
		}
	}
	t.forget()
	return any
}

// spawnedBy reports whether a call spawned a sub-agent that runs.
func (t *agents) spawnedBy(call string) bool {
	a := t.byCall[call]
	return a != nil && !a.stopped
}

// maxStopped bounds the stopped sub-agents that are remembered, so that one that
// is resumed is known by its task. Beyond it the oldest are forgotten; their next
// run is then a sub-agent like any other.
const maxStopped = 256

func (t *agents) forget() {
	excess := -maxStopped
	for _, a := range t.list {
		if a.stopped {
			excess++
		}
	}
	t.list = slices.DeleteFunc(t.list, func(a *subagent) bool {
		if !a.stopped || excess <= 0 {
			return false
		}
		excess--
		if t.byTask[a.task] == a {
			delete(t.byTask, a.task)
		}
		if t.byCall[a.call] == a {
			delete(t.byCall, a.call)
		}
		return true
	})
}
