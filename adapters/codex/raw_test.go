package codex_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// Calls that no item tells are told from the model's own words, unless the stream
// has what they did; what was not carried out is an error.
func TestCallsWithoutItems(t *testing.T) {
	for _, c := range []struct {
		name, output string
		want         contract.ToolStatus // empty for a call that is not told
	}{
		{"update_plan", "Plan updated", ""},
		{"update_plan", "update_plan is a TODO/checklist tool and is not allowed in Plan mode", contract.ToolCompleted},
		{"write_stdin", "Chunk ID: 1\nWall time: 0.5 seconds\nProcess running with session ID 7\nOutput:\nfailed to", ""},
		{"write_stdin", "write_stdin failed: Unknown process id 99999", contract.ToolError},
		{"request_user_input", "request_user_input is unavailable in Default mode", contract.ToolError},
		{"request_permissions", "unsupported call: request_permissions", contract.ToolError},
		{"send_message_to_user_async", `{"accepted":true}`, ""},
		{"request_user_input_async", "failed to parse function arguments: unknown field `id`", contract.ToolError},
		{"wait", "Script running", ""},
		{"wait", "Script failed\nOutput:\nScript error:\nError: oh", contract.ToolError},
		{"view_image", "unable to locate image at `/w/x.png`", contract.ToolError},
		{"exec_command", `exec_command failed: CreateProcess { message: "no" }`, contract.ToolError},
		{"exec_command", "approval policy is Never; reject command", contract.ToolError},
		{"exec_command", "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n", contract.ToolCompleted},
		{"get_goal", `{"goal":null}`, contract.ToolCompleted},
	} {
		s := start(t, adapters.Options{})
		s.turn("p1", "t1")
		raw := func(item string) {
			s.hear(`{"method":"rawResponseItem/completed","params":{"threadId":"thr-1","turnId":"t1","item":` + item + `}}`)
		}
		raw(fmt.Sprintf(`{"type":"function_call","call_id":"c","name":%q,"arguments":"{}"}`, c.name))
		raw(fmt.Sprintf(`{"type":"function_call_output","call_id":"c","output":%q}`, c.output))
		var got contract.ToolStatus
		for _, end := range of[contract.ToolCallEnd](s) {
			got = end.Result.Status
		}
		if got != c.want || len(of[contract.ToolCallStart](s)) != len(of[contract.ToolCallEnd](s)) {
			t.Errorf("%s %q: told as %q, want %q", c.name, c.output, got, c.want)
		}
	}
}

// What is typed into a running command is a call of its own, each time.
func TestTyped(t *testing.T) {
	s := start(t, adapters.Options{})
	typed := func(text string) {
		s.hear(fmt.Sprintf(`{"method":"item/commandExecution/terminalInteraction","params":{"threadId":"thr-1","turnId":"t1","itemId":"c0","processId":"7","stdin":%q}}`, text))
	}
	typed("before the turn")
	s.turn("p1", "t1")
	s.hear(item(false, "t1", `"type":"commandExecution","id":"c0","command":"bash","cwd":"/w","status":"inProgress"`))
	typed("rm x\n")
	typed("")
	typed("rm x\n")
	var got []string
	calls := map[string]bool{}
	for _, ev := range of[contract.ToolCallStart](s) {
		calls[ev.Call] = true
		got = append(got, ev.Name+" "+string(ev.Args))
	}
	want := []string{`bash {"command":"bash","cwd":"/w"}`, `write-stdin {"command":"rm x\n"}`, `write-stdin {"command":"rm x\n"}`}
	if !slices.Equal(got, want) || len(calls) != 3 {
		t.Errorf("calls %q by %d ids, want %q", got, len(calls), want)
	}
	if ends := of[contract.ToolCallEnd](s); len(ends) != 2 {
		t.Errorf("%d ends, want those of what was typed", len(ends))
	}
}

// An ask about typing into a command of an earlier turn is not shown as a command.
func TestAskToType(t *testing.T) {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	s.hear(`{"id":1,"method":"item/commandExecution/requestApproval","params":{"threadId":"thr-1","turnId":"t1","itemId":"old","approvalId":"a","kind":"writeStdin","command":"bash -c ls"}}`)
	ev := s.ask().Event.(contract.PermissionRequest)
	starts := of[contract.ToolCallStart](s)
	if ev.ToolName != "write-stdin" || string(ev.Args) != `{"command":"bash -c ls"}` || len(starts) != 1 || starts[0].Name != "write-stdin" {
		t.Errorf("ask = %+v of %+v", ev, starts)
	}
}

// The diff of the newest turn can be asked for.
func TestDiff(t *testing.T) {
	s := start(t, adapters.Options{})
	s.submit(adapters.Op{ID: "d0", Name: "diff"})
	if got := string(s.done["d0"].Result); got != `{"turn":"","diff":""}` {
		t.Errorf("before any turn: %s", got)
	}
	s.turn("p1", "t1")
	for _, text := range []string{"first", "second"} {
		s.hear(fmt.Sprintf(`{"method":"turn/diff/updated","params":{"threadId":"thr-1","turnId":"t1","diff":%q}}`, text))
	}
	s.completed("t1", "completed")
	s.submit(adapters.Op{ID: "d1", Name: "diff"})
	if got := string(s.done["d1"].Result); !strings.Contains(got, `"turn":"t1","diff":"second"`) {
		t.Errorf("after the turn: %s", got)
	}
}
