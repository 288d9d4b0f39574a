package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// What Codex's tools become, in both of its tool protocols.

// turn prompts, allows whatever is asked and returns the envelopes of the turn,
// which must complete.
func (s *session) turn(text string) []contract.Envelope {
	s.t.Helper()
	s.prompt(text)
	var envs []contract.Envelope
	for {
		e := s.next("turn-end", func(contract.Envelope) bool { return true })
		envs = append(envs, e)
		switch ev := e.Event.(type) {
		case contract.PermissionRequest:
			s.decide(ev.Call, contract.AllowOnce)
		case contract.TurnEnd:
			if ev.Status != contract.TurnCompleted {
				s.t.Errorf("%.60s: turn-end = %+v %+v", text, ev, ev.Error)
			}
			return envs
		}
	}
}

// shown is a call with its end.
type shown struct {
	contract.ToolCallStart
	end contract.ToolCallEnd
}

// calls are the calls of a stream, in the order of their starts.
func calls(envs []contract.Envelope) []shown {
	var list []shown
	for _, e := range envs {
		switch ev := e.Event.(type) {
		case contract.ToolCallStart:
			list = append(list, shown{ToolCallStart: ev})
		case contract.ToolCallEnd:
			for i := range list {
				if list[i].Call == ev.Call {
					list[i].end = ev
				}
			}
		}
	}
	return list
}

// one is the only call of a turn, with the name and the status that it must have.
func (s *session) one(envs []contract.Envelope, name string, status contract.ToolStatus) shown {
	s.t.Helper()
	list := calls(envs)
	if len(list) != 1 || list[0].Name != name || list[0].end.Result == nil || list[0].end.Result.Status != status || list[0].Title == "" {
		s.t.Fatalf("calls %+v, want one %s that is %s", list, name, status)
	}
	return list[0]
}

// patch is a call of the patch tool, in the words of the tool protocol.
func patch(model, text string) string {
	text = "*** Begin Patch\n" + text + "*** End Patch\n"
	if model == "gpt-5.5" {
		return fmt.Sprintf(`tool apply_patch {"input":%s}`, appendQuoted(nil, text))
	}
	return code("text(await tools.apply_patch(" + string(appendQuoted(nil, text)) + "))")
}

// code is a script of code mode.
func code(js string) string { return fmt.Sprintf(`tool exec {"input":%s}`, appendQuoted(nil, js)) }

// native is a call of a tool by its own name, in the words of the tool protocol.
func native(model, name, args string) string {
	if model == "gpt-5.5" {
		return "tool " + name + " " + args
	}
	args = strings.ReplaceAll(args, `"$(session_id)"`, "$(session_id)") // a number
	return code("text(JSON.stringify(await tools." + name + "(" + args + ")))")
}

// Files are added, moved, changed and deleted with diffs that say so; the plan, what
// is typed into a command, and what a command does after its turn are told; so are
// calls that no item of Codex's tells.
func TestCodexTools(t *testing.T) {
	for _, model := range codexModels() {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			lab := agentlab.New(t)
			if err := os.WriteFile(filepath.Join(lab.Dir, "hello.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			s := start(t, lab, "codex", codexFlags("--model", model, "--on-ask", "wait")...)
			codexFiles(s, model)

			s.turn(script(native(model, "update_plan", `{"plan":[{"step":"look","status":"completed"},{"step":"leap","status":"in_progress"}]}`), "text Planned."))
			deadline(t, "the plan is known", func() bool { return strings.Contains(metadata(t, lab), `"content":"leap","status":"in_progress"`) })

			// It goes on after its turn, and what becomes of it is told.
			s.turn(script(native(model, "exec_command", `{"cmd":"until [ -e go ]; do sleep 0.1; done; exit 3","yield_time_ms":250}`), "text It goes on."))
			if err := os.WriteFile(filepath.Join(lab.Dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			wait(s, func(ev contract.Service) bool {
				return strings.Contains(ev.Text, "background command") && strings.Contains(ev.Text, "exit code 3")
			})

			typed := calls(s.turn(script(native(model, "exec_command", `{"cmd":"cat","tty":true,"yield_time_ms":250}`),
				native(model, "write_stdin", `{"session_id":"$(session_id)","chars":"typed\n","yield_time_ms":250}`), "text Typed.")))
			if len(typed) != 2 || typed[1].Name != "write-stdin" || string(typed[1].Args) != `{"command":"typed\n"}` {
				t.Errorf("calls = %+v, want what was typed as the second", typed)
			}

			envs := s.turn(script(native(model, "no_such_tool", `{"a":1}`), "text Unknown."))
			if list := calls(envs); len(list) != 1 || list[0].end.Result.Status != contract.ToolError {
				t.Errorf("an unknown tool is %+v", list)
			}
			s.finished(0)
		})
	}
}

// metadata is the session's, as the host keeps it.
func metadata(t *testing.T, lab *agentlab.Lab) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(lab.Home, ".state", "agenthost", "sessions", "*", "session.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d sessions, %v, want one", len(files), err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// codexFiles edits files in every way.
func codexFiles(s *session, model string) {
	t := s.t
	t.Helper()
	envs := s.turn(script(patch(model, "*** Add File: new.txt\n+fresh\n*** Update File: hello.txt\n*** Move to: moved.txt\n@@\n one\n-two\n+TWO\n"), "text Patched."))
	var got []string
	for _, f := range s.one(envs, "edit", contract.ToolCompleted).end.Result.Files {
		got = append(got, fmt.Sprintf("%s %s<%s +%d -%d %v", f.Status, filepath.Base(f.Path), filepath.Base(f.OldPath), f.Additions, f.Deletions, strings.Contains(f.Patch, "@@")))
	}
	if want := []string{"renamed moved.txt<hello.txt +1 -1 true", "added new.txt<. +1 -0 true"}; !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	envs = s.turn(script(patch(model, "*** Delete File: moved.txt\n"), "text Deleted."))
	files := s.one(envs, "delete", contract.ToolCompleted).end.Result.Files
	if len(files) != 1 || files[0].Deletions != 2 || !strings.Contains(files[0].Patch, "-TWO") {
		t.Errorf("files %+v, want the whole text as deleted", files)
	}
}

// Tools that only one of the tool protocols has.
func TestCodexFunctionTools(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	png, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(lab.Dir, "dot.png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, lab, "codex", codexFlags("--on-ask", "wait", "--", "-c", "show_raw_agent_reasoning=true")...)
	done := func(item string) string {
		return `raw {"type":"response.output_item.done","output_index":0,"item":` + item + `}`
	}
	search := s.one(s.turn(script(done(`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"weather in Rome"}}`)+
		" ++ text Found.")), "web-search", contract.ToolCompleted)
	if !strings.Contains(search.Title, "weather in Rome") {
		t.Errorf("title = %q", search.Title)
	}
	s.one(s.turn(script(`tool view_image {"path":"dot.png"}`, "text Seen.")), "view-image", contract.ToolCompleted)
	s.one(s.turn(script(`tool view_image {"path":"none.png"}`, "text Unseen.")), "view-image", contract.ToolError)
	envs := s.turn(script(done(`{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"A raw thought."}],"encrypted_content":null}`) + " ++ text Thought."))
	if !slices.ContainsFunc(events[contract.Text](envs), func(ev contract.Text) bool { return ev.Thinking && ev.Text == "A raw thought." }) {
		t.Errorf("no raw thought came:\n%s", render(envs))
	}
	s.finished(0)
}

// Code mode runs commands at the same time; what a script does beside tools is not
// seen unless it fails.
func TestCodexCodeMode(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	s := start(t, lab, "codex", codexFlags("--model", "gpt-6.2-sol", "--on-ask", "wait")...)
	both := `const r = await Promise.all(["a","b"].map((me, i, all) => tools.exec_command({cmd:
		"touch "+me+"; until [ -e "+all[1-i]+" ]; do sleep 0.1; done; echo "+me+" met "+all[1-i], yield_time_ms: 20000}))); text(r.map(x => x.output).join(""));`
	list := calls(s.turn(script(code(both), "text They met.")))
	if len(list) != 2 {
		t.Fatalf("calls = %+v, want two that wait for each other", list)
	}
	for _, c := range list {
		if c.Name != "bash" || c.end.Result == nil || c.end.Result.Status != contract.ToolCompleted || !strings.Contains(string(c.end.Result.Output), " met ") {
			t.Errorf("call = %+v", c)
		}
	}
	thrown := s.one(s.turn(script(code("throw new Error('oh no')"), "text Thrown.")), "exec", contract.ToolError)
	if !strings.Contains(thrown.end.Result.Error, "oh no") {
		t.Errorf("error = %q", thrown.end.Result.Error)
	}
	s.one(s.turn(script(`tool sleep {"duration_ms":200}`, "text Slept.")), "sleep", contract.ToolCompleted)
	envs := s.turn(script(`tool send_message_to_user_async {"message":"By the way."}`, "text Sent."))
	if len(calls(envs)) != 0 || !strings.Contains(said(envs), "By the way.") {
		t.Errorf("a message is:\n%s", render(envs))
	}
	s.finished(0)
}

// Sub-agents of both generations: what each says, asks and does is theirs, each run
// of one begins and ends, and one can be woken.
func TestCodexSubagents(t *testing.T) {
	const work = `"SCRIPT: text kid works ++ shell touch kid.txt ;; text kid result"`
	for model, steps := range map[string][]string{
		"gpt-5.5": {
			`tool multi_agent_v1/spawn_agent {"message":` + work + `}`,
			`tool multi_agent_v1/wait_agent {"targets":["$(agent_id)"],"timeout_ms":30000}`,
			`tool multi_agent_v1/send_input {"target":"$(agent_id)","message":"SCRIPT: text second result"}`,
			`tool multi_agent_v1/wait_agent {"targets":["$(agent_id)"],"timeout_ms":30000}`,
			`tool multi_agent_v1/close_agent {"target":"$(agent_id)"}`,
		},
		"gpt-6.2-sol": {
			`tool spawn_agent {"task_name":"helper","fork_turns":"none","message":` + work + `}`,
			`tool wait_agent {"timeout_ms":30000}`,
			`tool followup_task {"target":"helper","message":"SCRIPT: text second result"}`,
			`tool wait_agent {"timeout_ms":30000}`,
			`tool interrupt_agent {"target":"helper"}`,
		},
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			lab := agentlab.New(t)
			s := start(t, lab, "codex", codexFlags("--model", model, "--on-ask", "wait")...)
			envs := s.turn(script(append(steps, "text parent done")...))
			s.finished(0)
			var runs []string
			who := map[string]string{}
			for _, e := range envs {
				switch ev := e.Event.(type) {
				case contract.SubagentStart:
					runs = append(runs, ev.AgentID)
				case contract.Text:
					who[ev.Text] = e.Subagent
				case contract.PermissionRequest:
					who["ask"] = e.Subagent
				}
			}
			if stops := events[contract.SubagentStop](envs); len(runs) != 2 || len(stops) != 2 {
				t.Fatalf("%d runs and %d stops, want 2 of each:\n%s", len(runs), len(stops), render(envs))
			}
			want := map[string]string{"kid works": runs[0], "ask": runs[0], "kid result": runs[0], "second result": runs[1], "parent done": ""}
			for what, agent := range want {
				if got, ok := who[what]; !ok || got != agent {
					t.Errorf("%s is %q's, want %q's", what, got, agent)
				}
			}
			var names []string
			for _, c := range calls(envs) {
				names = append(names, c.Name)
			}
			if want := []string{"task", "task-output", "bash", "send-message", "task-output", "task-stop"}; !slices.Equal(names, want) {
				t.Errorf("calls %q, want %q", names, want)
			}
			if _, err := os.Stat(filepath.Join(lab.Dir, "kid.txt")); err != nil {
				t.Errorf("the sub-agent's tool did not run: %v", err)
			}
			if end := events[contract.TurnEnd](envs)[0]; end.Usage == nil || end.Usage.InputTokens != 900 {
				t.Errorf("usage %+v, want that of all nine requests", end.Usage)
			}
		})
	}
}
