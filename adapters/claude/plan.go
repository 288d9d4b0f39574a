package claude

import (
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// plan is the agent's todo list, told by TodoWrite as a whole and by the Task
// tools step by step.
type plan struct{ tasks []task }

type task struct{ id, content, status string }

// take reads the outcome of a tool that keeps the list.
func (t *plan) take(p *protocol, c *call, details rawjson.Value, failed bool) {
	if failed {
		return
	}
	switch c.native {
	case "TodoWrite":
		t.replace(c.input.Get("todos"), "content")
	case "TaskCreate":
		made := details.Get("task")
		if made.Get("id").Text() == "" {
			return
		}
		t.tasks = append(t.tasks, task{made.Get("id").Text(), made.Get("subject").Text(), "pending"})
	case "TaskUpdate":
		if !t.update(c.input) {
			return
		}
	case "TaskList":
		if details.Get("tasks").Kind() != rawjson.Array {
			return
		}
		t.replace(details.Get("tasks"), "subject")
	default:
		return
	}
	p.learn().Plan = t.entries()
}

func (t *plan) replace(list rawjson.Value, content string) {
	t.tasks = nil
	for e := range list.Elements() {
		t.tasks = append(t.tasks, task{e.Get("id").Text(), e.Get(content).Text(), e.Get("status").Text()})
	}
}

// update changes one task and reports whether it was known.
func (t *plan) update(input rawjson.Value) bool {
	i := slices.IndexFunc(t.tasks, func(k task) bool { return k.id == input.Get("taskId").Text() })
	if i < 0 {
		return false
	}
	if s := input.Get("subject").Text(); s != "" {
		t.tasks[i].content = s
	}
	switch status := input.Get("status").Text(); status {
	case "":
	case "deleted":
		t.tasks = slices.Delete(t.tasks, i, i+1)
	default:
		t.tasks[i].status = status
	}
	return true
}

func (t *plan) entries() []adapters.PlanEntry {
	list := []adapters.PlanEntry{}
	for _, k := range t.tasks {
		status := k.status
		if status != "in_progress" && status != "completed" {
			status = "pending"
		}
		list = append(list, adapters.PlanEntry{Content: k.content, Status: status})
	}
	return list
}
