package claude

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// crew is what is known of the sub-agents' files.
type crew struct {
	members map[string]*member // by the CLI's id
	ids     []string           // in the order in which they became known
}

// member is one sub-agent's file.
type member struct {
	id string
	// waiting are lines that came before the call that made the sub-agent was told.
	waiting []rawjson.Value
	// linked says that the call is known, or was given up.
	linked bool
	// said says that it ended its say: its last record is an answer without a call.
	said bool
	// stopped says that its SubagentStop hook came.
	stopped bool
}

func (c *crew) init() { c.members = map[string]*member{} }

func (c *crew) known(id string) *member { return c.members[id] }

func (c *crew) member(id string) *member {
	m := c.members[id]
	if m == nil {
		m = &member{id: id}
		c.members[id] = m
		c.ids = append(c.ids, id)
	}
	return m
}

// crewPatience is how long the session's file waits for a sub-agent's file to be
// read to its end, and a sub-agent's for the call that made it. When it is hit
// neither waits: a late text is told as the sub-agent's next run.
const crewPatience = 2 * time.Second

// crewRecord takes a record of a sub-agent's file.
func (t *terminal) crewRecord(file string, v rawjson.Value) error {
	id := v.Get("agentId").Text()
	if id == "" {
		id = strings.TrimSuffix(strings.TrimPrefix(file, "agent-"), ".jsonl")
	}
	if id == "" {
		return fmt.Errorf("record of a sub-agent: want an agentId")
	}
	m := t.crew.member(id)
	if !m.linked && !t.link(m, v) {
		if len(m.waiting) == 0 {
			t.waitFor("", "call of "+id, crewPatience, func(reply) { t.linkAnyhow(m) })
		}
		m.waiting = append(m.waiting, clone(v))
		return nil
	}
	return t.crewSays(m, v)
}

// link finds the call that made a sub-agent: its result names the sub-agent, or its
// prompt is the sub-agent's first text.
func (t *terminal) link(m *member, v rawjson.Value) bool {
	if a := t.agents.byTask[m.id]; a != nil && a.call != "" {
		m.linked = true
		return true
	}
	first := v
	if len(m.waiting) > 0 {
		first = m.waiting[0]
	}
	prompt := contentText(first.Get("message", "content"))
	if first.Get("type").Text() != "user" || prompt == "" {
		return false
	}
	for _, c := range t.spawning() {
		if c.input.Get("prompt").Text() == prompt {
			t.enlist(m, c)
			return true
		}
	}
	return false
}

// spawning are the calls that make a sub-agent whose sub-agent is not known, oldest
// first.
func (t *terminal) spawning() []*call {
	var list []*call
	for _, c := range t.calls {
		if a := t.agents.byCall[c.id]; toolName(c.native) == "task" && (a == nil || a.task == "") {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *call) int { return a.seq - b.seq })
	return list
}

// enlist starts the sub-agent of a call. In this face sub-agents run in the
// background unless they are told not to.
func (t *terminal) enlist(m *member, c *call) {
	m.linked = true
	background := !(c.input.Get("run_in_background").Given() && !c.input.Get("run_in_background").True())
	o := new(object).str("task_id", m.id).str("tool_use_id", c.id).str("task_type", "local_agent").
		str("description", c.input.Get("description").Text()).flag("is_backgrounded", background)
	t.taskStarted(newMessage(o.value()))
	t.hear(m)
}

// linkAnyhow stops waiting for the call.
func (t *terminal) linkAnyhow(m *member) {
	if m.linked {
		return
	}
	m.linked = true
	t.hear(m)
}

// hear takes the lines that waited.
func (t *terminal) hear(m *member) {
	lines := m.waiting
	m.waiting = nil
	t.requests.take(func(q *pending) bool { return q.kind == "call of "+m.id })
	for _, v := range lines {
		// A line that cannot be understood was told when it came.
		_ = t.crewSays(m, v)
	}
}

// crewSays takes what a sub-agent says.
func (t *terminal) crewSays(m *member, v rawjson.Value) error {
	switch v.Get("type").Text() {
	case "assistant":
		if v.Get("isApiErrorMessage").True() || v.Get("message", "model").Text() == synthetic {
			return nil
		}
		t.meterRecord(v)
		m.said = v.Get("message", "stop_reason").Text() == "end_turn"
		err := t.assistant(native(v))
		t.rest(m)
		return err
	case "user":
		m.said = false
		for b := range v.Get("message", "content").Elements() {
			if b.Get("type").Text() == "tool_result" {
				t.resultSeen(b, v)
				return t.user(native(v))
			}
		}
	}
	return nil // its prompt and its context
}

// agentStopped takes the end of a sub-agent's run.
func (t *terminal) agentStopped(id string) {
	t.hooks.answered(func(d standing) bool { return d.agent == id })
	maps.DeleteFunc(t.hooks.calls, func(_ string, c *foretold) bool { return id != "" && c.agent == id })
	m := t.crew.known(id)
	if m == nil {
		return // one that works for the CLI itself, as when it compacts
	}
	m.stopped = true
	t.rest(m)
	if m.stopped {
		t.waitFor("", "last of "+id, crewPatience, func(reply) {
			m.said = true
			t.rest(m)
		})
	}
}

// rest stops a sub-agent that has stopped and whose last text was told.
func (t *terminal) rest(m *member) {
	if !m.stopped || !m.said || len(m.waiting) > 0 {
		return
	}
	m.stopped = false
	if a := t.agents.byTask[m.id]; a != nil {
		t.stopAgent(a)
	}
	t.requests.take(func(q *pending) bool { return q.kind == "last of "+m.id })
	t.releaseMain()
}

// holds reports whether a record of the session's file must wait for a sub-agent's:
// the result of a call whose sub-agent has not ended its say.
func (t *terminal) holds(v rawjson.Value) bool {
	task := v.Get("toolUseResult", "agentId").Text()
	if task == "" || v.Get("toolUseResult", "isAsync").True() || v.Get("toolUseResult", "status").Text() == "async_launched" {
		return false
	}
	m := t.crew.known(task)
	a := t.agents.byTask[task]
	return m != nil && !m.said && a != nil && a.running()
}

// releaseMain takes the records of the session's file that waited.
func (t *terminal) releaseMain() {
	t.alarmOff(alarmCrew)
	lines := t.files.held
	t.files.held = nil
	for i, v := range lines {
		if i > 0 && !t.gone && t.holds(v) {
			t.files.held = append(t.files.held, lines[i:]...)
			t.alarmAt(alarmCrew, t.now.Add(crewPatience))
			return
		}
		// A record that is not known was told when it came.
		_ = t.record(v)
	}
}

// taskNotice takes the report of work in the background: the turn that it begins, and
// the end of what it is about.
func (t *terminal) taskNotice(text string) {
	for part := range strings.SplitSeq(text, "</task-notification>") {
		id, summary := between(part, "task-id"), between(part, "summary")
		if m := t.crew.known(id); m != nil {
			m.said, m.stopped = true, true
			t.rest(m)
		} else if summary != "" {
			t.notice(contract.ServiceNotice, "", summary)
		}
	}
	t.enter()
}
