package claude_test

import (
	"fmt"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// The lines of a session with sub-agents. parent is the call that spawned the
// speaker, empty for the main agent.

func uses(parent, id, tool, input string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":"m-%s","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]},"parent_tool_use_id":%s}`,
		id, id, tool, input, orNull(parent))
}

func says(parent, text string) string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":"m-%s","content":[{"type":"text","text":%q}]},"parent_tool_use_id":%s}`,
		text, text, orNull(parent))
}

func returns(parent, id, details string) string {
	return fmt.Sprintf(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":%q,"content":"ok"}]},"tool_use_result":%s,"parent_tool_use_id":%s}`,
		id, details, orNull(parent))
}

func task(subtype, id, more string) string {
	return fmt.Sprintf(`{"type":"system","subtype":%q,"task_id":%q%s}`, subtype, id, more)
}

func orNull(s string) string {
	if s == "" {
		return "null"
	}
	return fmt.Sprintf("%q", s)
}

func agentTask(call, title string) string {
	return fmt.Sprintf(`,"tool_use_id":%q,"task_type":"local_agent","description":%q`, call, title)
}

const (
	done       = `{"status":"completed"}`
	notified   = `,"status":"completed","summary":"done"`
	background = `,"is_backgrounded":true`
	endOfMain  = `{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"x"}`
	launchedBg = `{"isAsync":true,"status":"async_launched","agentId":"T1"}`
)

func TestSubagents(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		want  string
	}{
		"two at once": {[]string{
			uses("", "A", "Agent", `{"description":"first"}`), uses("", "B", "Agent", `{"description":"second"}`),
			task("task_started", "T1", agentTask("A", "first")), task("task_started", "T2", agentTask("B", "second")),
			uses("B", "b1", "Read", `{"file_path":"/b"}`), uses("A", "a1", "Read", `{"file_path":"/a"}`),
			returns("A", "a1", `{}`), returns("B", "b1", `{}`), says("B", "of two"), says("A", "of one"),
			task("task_notification", "T2", notified), returns("", "B", done),
			task("task_notification", "T1", notified), returns("", "A", done), says("", "both"), endOfMain,
		}, `
			turn-start [p]
			call A task
			call B task
			agent T1 "first" of A
			agent T2 "second" of B
			T2: call b1 read
			T1: call a1 read
			T1: end a1 completed
			T2: end b1 completed
			T2: "of two"
			T1: "of one"
			stop T2
			end B completed
			stop T1
			end A completed
			"both"
			turn-end completed`},
		// The inner task is told before the call that spawns it.
		"nested": {[]string{
			uses("", "A", "Agent", `{"description":"outer"}`), task("task_started", "T1", agentTask("A", "outer")),
			task("task_started", "T2", agentTask("B", "inner")+`,"parent_task_id":"T1"`),
			uses("A", "B", "Agent", `{"description":"inner"}`), says("B", "deep"),
			returns("A", "B", done), says("A", "middle"), returns("", "A", done), endOfMain,
		}, `
			turn-start [p]
			call A task
			agent T1 "outer" of A
			T1: call B task
			T1: agent T2 "inner" of B
			T2: "deep"
			T1: stop T2
			T1: end B completed
			T1: "middle"
			stop T1
			end A completed
			"x"
			turn-end completed`},
		// The inner one's call is never told: it belongs to its task's parent.
		"nested unseen": {[]string{
			uses("", "A", "Agent", `{"description":"outer"}`), task("task_started", "T1", agentTask("A", "outer")),
			task("task_started", "T2", agentTask("B", "inner")+`,"parent_task_id":"T1"`),
			says("B", "deep"), task("task_notification", "T2", notified), returns("", "A", done), endOfMain,
		}, `
			turn-start [p]
			call A task
			agent T1 "outer" of A
			T1: agent T2 "inner" of
			T2: "deep"
			T1: stop T2
			stop T1
			end A completed
			"x"
			turn-end completed`},
		// Old versions: no tasks, the call's id is all there is.
		"no tasks": {[]string{
			uses("", "A", "Task", `{"description":"look","subagent_type":"Explore"}`), says("A", "hi"), returns("", "A", done), endOfMain,
		}, `
			turn-start [p]
			call A task
			agent A "look" of A
			A: "hi"
			stop A
			end A completed
			"x"
			turn-end completed`},
		// Nobody told of it: it is attributed all the same, and ends with the turn.
		"unannounced": {[]string{says("Z", "who am I"), endOfMain}, `
			agent Z "" of
			Z: "who am I"
			stop Z
			turn-start [p]
			"x"
			turn-end completed`},
		// A sub-agent cut off leaves nothing open.
		"cut off": {[]string{
			uses("", "A", "Agent", `{"description":"outer"}`), task("task_started", "T1", agentTask("A", "outer")),
			uses("A", "B", "Agent", `{"description":"inner"}`), task("task_started", "T2", agentTask("B", "inner")),
			uses("B", "b1", "Bash", `{"command":"sleep 9"}`), endOfMain,
		}, `
			turn-start [p]
			call A task
			agent T1 "outer" of A
			T1: call B task
			T1: agent T2 "inner" of B
			T2: call b1 bash
			"x"
			T2: end b1 cancelled
			T1: stop T2
			T1: end B cancelled
			stop T1
			end A cancelled
			turn-end completed`},
		// In the background it outlives the turn, and speaks outside of one.
		"background": {[]string{
			uses("", "A", "Agent", `{"description":"long","run_in_background":true}`),
			task("task_started", "T1", agentTask("A", "long")+background), returns("", "A", launchedBg), endOfMain,
			says("A", "working"), task("task_notification", "T1", notified), says("", "it is done"), endOfMain,
		}, `
			turn-start [p]
			call A task
			agent T1 "long" of A
			end A completed
			"x"
			turn-end completed
			T1: "working"
			stop T1
			turn-start []
			"it is done"
			turn-end completed`},
		// Moved to the background: it stops with the turn and goes on as a new run,
		// of no call: that one has ended.
		"moved": {[]string{
			uses("", "A", "Agent", `{"description":"long"}`), task("task_started", "T1", agentTask("A", "long")),
			says("A", "in front"), uses("A", "a1", "Bash", `{"command":"sleep 9"}`),
			task("task_updated", "T1", `,"patch":{"is_backgrounded":true}`), returns("", "A", launchedBg), endOfMain,
			returns("A", "a1", `{}`), says("A", "behind"), task("task_updated", "T1", `,"patch":{"status":"completed"}`),
		}, `
			turn-start [p]
			call A task
			agent T1 "long" of A
			T1: "in front"
			T1: call a1 bash
			end A completed
			"x"
			T1: end a1
			stop T1
			turn-end completed
			agent T1 "long" of
			T1: call a1 bash
			T1: end a1 completed
			T1: "behind"
			stop T1`},
		// Woken by SendMessage: the same task, another call.
		"resumed": {[]string{
			uses("", "A", "Agent", `{"description":"worker"}`), task("task_started", "T1", agentTask("A", "worker")), says("A", "one"),
			task("task_notification", "T1", notified), returns("", "A", done),
			uses("", "C", "SendMessage", `{"to":"T1"}`), task("task_started", "T1", agentTask("C", "worker")+background),
			returns("", "C", `{"success":true}`), says("C", "two"), endOfMain, task("task_notification", "T1", notified),
		}, `
			turn-start [p]
			call A task
			agent T1 "worker" of A
			T1: "one"
			stop T1
			end A completed
			call C send-message
			agent T1 "worker" of C
			end C completed
			T1: "two"
			"x"
			turn-end completed
			stop T1`},
		// What is told after the end is told, and begins nothing that stays.
		"straggler": {[]string{
			uses("", "A", "Agent", `{"description":"w"}`), task("task_started", "T1", agentTask("A", "w")),
			task("task_updated", "T1", `,"patch":{"status":"killed"}`), says("A", "late"), endOfMain,
		}, `
			turn-start [p]
			call A task
			agent T1 "w" of A
			stop T1
			agent T1 "w" of A
			T1: "late"
			stop T1
			"x"
			end A cancelled
			turn-end completed`},
		// The set of live tasks is authoritative.
		"gone": {[]string{
			uses("", "A", "Agent", `{"description":"w"}`), task("task_started", "T1", agentTask("A", "w")+background),
			`{"type":"system","subtype":"background_tasks_changed","tasks":[]}`, returns("", "A", launchedBg), endOfMain,
		}, `
			turn-start [p]
			call A task
			agent T1 "w" of A
			stop T1
			end A completed
			"x"
			turn-end completed`},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, adapters.Options{})
			s.prompt("p")
			s.hear(c.lines...)
			s.says(c.want)
			s.stream()
		})
	}
}

// A request of a background agent that the end of a turn closed is asked again;
// the CLI gets one answer.
func TestBackgroundAsk(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(uses("", "A", "Agent", `{"description":"w"}`), task("task_started", "T1", agentTask("A", "w")+background), returns("", "A", launchedBg),
		uses("A", "a1", "Bash", `{"command":"touch x"}`),
		`{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"a1","agent_id":"T1","input":{"command":"touch x"}}}`,
		endOfMain)
	s.says(`
		turn-start [p]
		call A task
		agent T1 "w" of A
		end A completed
		T1: call a1 bash
		T1: ask q a1 bash
		"x"
		T1: end a1
		turn-end completed
		T1: call a1 bash
		T1: ask q#2 a1 bash`)
	if len(s.took) != 1 || s.took[0] != "q" {
		t.Errorf("withdrew %q, want q", s.took)
	}
	s.refused(adapters.Answer{Ask: "q", Decision: contract.AllowOnce})
	s.submit(adapters.Answer{Ask: "q#2", Decision: contract.AllowOnce})
	if got := s.answered("q"); len(got) != 1 {
		t.Errorf("answered %s, want one answer", got)
	}
	s.stream()
}

// Stop while only background work runs: it is interrupted, and the turn that
// stood for it ends as cancelled.
func TestAbortBackground(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(uses("", "A", "Agent", `{"description":"w"}`), task("task_started", "T1", agentTask("A", "w")+background),
		returns("", "A", launchedBg), endOfMain, says("A", "working"))
	s.drafts = nil
	s.submit(adapters.Abort{})
	s.reply(s.request("interrupt"), `{"still_queued":[]}`)
	s.says(`
		turn-start []
		stop T1
		turn-end cancelled`)
}

// Background shells end with a notice, or leave the set of live tasks without one.
func TestShells(t *testing.T) {
	s := start(t, adapters.Options{})
	shell := `,"is_backgrounded":true,"task_type":"local_bash","description":"tail"`
	s.hear(task("task_started", "b1", shell), task("task_started", "b2", shell), task("task_started", "b3", shell),
		task("task_started", "b4", shell+`,"ambient":true`), task("task_started", "", shell),
		task("task_notification", "b1", `,"status":"stopped","summary":"tail"`),
		task("task_notification", "nobody", `,"status":"completed","summary":"x"`),
		`{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b3"}]}`)
	s.submit(adapters.Close{})
	if got := s.request("stop_task").Get("request", "task_id").Text(); got != "b3" {
		t.Errorf("stopped %s, want b3", got)
	}
	if got := only[contract.Service](s); len(got) != 1 || got[0].Text != "Background command stopped: tail" {
		t.Errorf("said %+v, want one notice", got)
	}
}

// Of very many sub-agents the oldest stopped ones are forgotten.
func TestManySubagents(t *testing.T) {
	s := start(t, adapters.Options{})
	for i := range 600 {
		call, id := fmt.Sprintf("A%d", i), fmt.Sprintf("T%d", i)
		s.prompt(fmt.Sprintf("p%d", i))
		s.hear(uses("", call, "Agent", `{"description":"w"}`), task("task_started", id, agentTask(call, "w")),
			task("task_notification", id, notified), returns("", call, done), endOfMain)
	}
	s.prompt("q")
	s.hear(says("A0", "still me"), endOfMain)
	if starts, stops := len(only[contract.SubagentStart](s)), len(only[contract.SubagentStop](s)); starts != 601 || stops != 601 {
		t.Errorf("%d starts and %d stops, want 601 each", starts, stops)
	}
	s.stream()
}
