package claude_test

import (
	"encoding/json/jsontext"
	"errors"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/claude"
	"github.com/agenthost/agenthost/contract"
)

func (s *session) op(name, params string) {
	s.t.Helper()
	s.submit(adapters.Op{ID: "o-" + name, Name: name, Params: jsontext.Value(params)})
}

// TestOps: what each operation asks the CLI, and its answer as the result.
func TestOps(t *testing.T) {
	for _, c := range []struct{ name, params, want string }{
		{"context", ``, `{"subtype":"get_context_usage"}`},
		{"context", `{"detail":true}`, `{"subtype":"get_context_usage","detail":true}`},
		{"models", ``, `{"subtype":"list_models"}`},
		{"list-models", `null`, `{"subtype":"list_models"}`},
		{"rename", `{"title":"a \"b\""}`, `{"subtype":"rename_session","title":"a \"b\""}`},
		{"usage", ``, `{"subtype":"get_usage"}`},
		{"cost", ``, `{"subtype":"get_session_cost"}`},
		{"settings", ``, `{"subtype":"get_settings"}`},
		{"permissions", ``, `{"subtype":"list_permission_rules"}`},
		{"hooks", ``, `{"subtype":"get_hooks_listing"}`},
		{"version", ``, `{"subtype":"get_binary_version"}`},
		{"mcp", ``, `{"subtype":"mcp_status"}`},
		{"mcp-reconnect", `{"serverName":"a"}`, `{"subtype":"mcp_reconnect","serverName":"a"}`},
		{"mcp-toggle", `{"serverName":"a","enabled":false}`, `{"subtype":"mcp_toggle","serverName":"a","enabled":false}`},
		{"files", `{"query":"x"}`, `{"subtype":"file_suggestions","query":"x"}`},
		{"background", `{"tool_use_id":"t"}`, `{"subtype":"background_tasks","tool_use_id":"t"}`},
		{"stop-task", `{"task_id":"b"}`, `{"subtype":"stop_task","task_id":"b"}`},
		{"task-output", `{"task_id":"b"}`, `{"subtype":"get_task_output","task_id":"b"}`},
	} {
		s := start(t, adapters.Options{})
		s.op(c.name, c.params)
		last := s.wrote[len(s.wrote)-1]
		if got := string(last.Get("request")); got != c.want {
			t.Errorf("%s wrote %s, want %s", c.name, got, c.want)
		}
		s.reply(last, `{"a": [1]}`)
		if o := s.done["o-"+c.name]; o.Err != nil || string(o.Result) != `{"a": [1]}` {
			t.Errorf("%s: outcome %s %v, want the answer", c.name, o.Result, o.Err)
		}
	}
}

func TestOpsRefused(t *testing.T) {
	for _, c := range []struct {
		name, params string
		unsupported  bool
	}{
		{"stash", ``, true},
		{"", ``, true},
		{"rename", ``, false},
		{"rename", `[]`, false},
		{"rename", `{"title":`, false},
		{"rewind", ``, false},
		{"rewind", `{"to":"p","what":"everything"}`, false},
		{"rewind", `{"to":"p","what":"conversation"}`, false},
		{"fork", ``, false},
	} {
		s := start(t, adapters.Options{})
		err := s.refused(adapters.Op{ID: "o", Name: c.name, Params: jsontext.Value(c.params)})
		if errors.Is(err, adapters.ErrUnsupported) != c.unsupported {
			t.Errorf("%s %s: %v, unsupported want %v", c.name, c.params, err, c.unsupported)
		}
	}
	s := start(t, adapters.Options{})
	s.op("usage", ``)
	s.hearf(`{"type":"control_response","response":{"subtype":"error","request_id":%q,"error":"what?","error_code":"unsupported_request"}}`,
		s.request("get_usage").Get("request_id").Text())
	if e := s.done["o-usage"].Err; e == nil || e.Code != contract.CodeUnsupported || e.Message != "what?" {
		t.Errorf("outcome = %+v, want the refusal", s.done["o-usage"])
	}
	s.op("cost", ``)
	s.tick(2 * time.Minute)
	if e := s.done["o-cost"].Err; e == nil || e.Code != contract.CodeTimeout {
		t.Errorf("outcome = %+v, want a time-out", s.done["o-cost"])
	}
}

// twoTurns is a session with two answered prompts, whose answers are a-1 and a-2.
func twoTurns(t *testing.T) *session {
	s := start(t, adapters.Options{})
	s.prompt("p1")
	s.hear(`{"type":"system","subtype":"init","session_id":"native"}`, sayHello, ended)
	s.prompt("p2")
	s.hear(`{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"again"}]},"uuid":"a-2","parent_tool_use_id":null}`, ended)
	return s
}

func TestRewind(t *testing.T) {
	p2 := claude.MessageUUID("p2")
	ask := `{"subtype":"rewind_files","user_message_id":"` + p2 + `"}`
	dry := `{"subtype":"rewind_files","user_message_id":"` + p2 + `","dry_run":true}`
	for name, c := range map[string]struct{ params, wrote, answer, want string }{
		"files":     {`{"to":"p2","what":"files"}`, ask, `{"canRewind":true,"filesChanged":["/w/a"]}`, `{"conversation":false,"files":{"canRewind":true,"filesChanged":["/w/a"]}}`},
		"look":      {`{"to":"` + p2 + `","what":"both","dryRun":true}`, dry, `{"canRewind":true}`, `{"dryRun":true,"conversation":true,"files":{"canRewind":true}}`},
		"look talk": {`{"to":"p2","dryRun":true}`, ``, ``, `{"dryRun":true,"conversation":true,"files":false}`},
		"native":    {`{"user_message_id":"` + p2 + `","what":"files"}`, ask, `{"canRewind":true}`, `{"conversation":false,"files":{"canRewind":true}}`},
		"talk":      {`{"to":"p2"}`, ``, ``, `{"restart":{"resume":"native","resumeAt":"a-1"},"files":false}`},
		"talk at":   {`{"what":"conversation","at":"a-2"}`, ``, ``, `{"restart":{"resume":"native","resumeAt":"a-2"},"files":false}`},
		"known":     {`{"to":"p2","at":"guessed"}`, ``, ``, `{"restart":{"resume":"native","resumeAt":"a-1"},"files":false}`},
		"told":      {`{"to":"earlier","at":"a-0"}`, ``, ``, `{"restart":{"resume":"native","resumeAt":"a-0"},"files":false}`},
		"both":      {`{"to":"p2","what":"both"}`, ask, `{"canRewind":true}`, `{"restart":{"resume":"native","resumeAt":"a-1"},"files":{"canRewind":true}}`},
	} {
		s := twoTurns(t)
		before := len(s.wrote)
		s.op("rewind", c.params)
		if c.wrote == "" {
			if len(s.wrote) != before {
				t.Errorf("%s wrote %s, want nothing", name, s.wrote[before])
			}
		} else {
			// A look comes first; it alone says which files.
			last := s.wrote[len(s.wrote)-1]
			if got := string(last.Get("request")); got != dry {
				t.Errorf("%s wrote %s, want %s", name, got, dry)
			}
			s.reply(last, c.answer)
			if c.wrote != dry {
				last = s.wrote[len(s.wrote)-1]
				if got := string(last.Get("request")); got != c.wrote {
					t.Errorf("%s wrote %s, want %s", name, got, c.wrote)
				}
				s.reply(last, `{"canRewind":true}`)
			}
		}
		if o := s.done["o-rewind"]; o.Err != nil || string(o.Result) != c.want {
			t.Errorf("%s: outcome %s %v, want %s", name, o.Result, o.Err, c.want)
		}
	}
	// Before the first message there is nothing to go back to.
	s := twoTurns(t)
	s.refused(adapters.Op{ID: "o", Name: "rewind", Params: jsontext.Value(`{"to":"p1","what":"conversation"}`)})
	// No checkpoint.
	s.op("rewind", `{"to":"nobody","what":"files"}`)
	s.reply(s.request("rewind_files"), `{"canRewind":false,"error":"No file checkpoint found for this message."}`)
	if e := s.done["o-rewind"].Err; e == nil || e.Code != contract.CodeInvalidRequest || e.Message != "No file checkpoint found for this message." {
		t.Errorf("outcome = %+v, want the reason", s.done["o-rewind"])
	}
}

func TestFork(t *testing.T) {
	for params, want := range map[string]string{
		``:                         `{"newProcess":true,"fork":"native"}`,
		`{"at":"a-1"}`:             `{"newProcess":true,"fork":"native","forkAt":"a-1"}`,
		`{"to":"p2"}`:              `{"newProcess":true,"fork":"native","forkAt":"a-1"}`,
		`{"to":"none","at":"a-0"}`: `{"newProcess":true,"fork":"native","forkAt":"a-0"}`,
	} {
		s := twoTurns(t)
		s.op("fork", params)
		if got := string(s.done["o-fork"].Result); got != want {
			t.Errorf("fork %s = %s, want %s", params, got, want)
		}
	}
	twoTurns(t).refused(adapters.Op{ID: "o", Name: "fork", Params: jsontext.Value(`{"to":"p1"}`)})
}

func TestCompact(t *testing.T) {
	boundary := `{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"manual","pre_tokens":900,"post_tokens":100}}`
	none := `{"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":""}`
	for name, c := range map[string]struct {
		lines []string
		code  contract.ErrorCode
		want  string
	}{
		"done": {
			[]string{
				`{"type":"system","subtype":"status","status":"compacting"}`, `{"type":"system","subtype":"init","session_id":"x"}`, boundary,
				`{"type":"user","message":{"role":"user","content":"This session is being continued"},"isSynthetic":true}`,
				`{"type":"user","message":{"role":"user","content":"<local-command-stdout>Compacted</local-command-stdout>"},"isReplay":true}`, none,
			},
			"",
			"turn-start []\nservice compaction\nturn-end completed",
		},
		"failed": {
			[]string{`{"type":"system","subtype":"init","session_id":"x"}`, `{"type":"system","subtype":"status","compact_result":"failed","compact_error":"no"}`, none},
			contract.CodeAgentError, "turn-start []\nservice error agent-error\nturn-end completed",
		},
		"nothing": {
			[]string{
				`{"type":"system","subtype":"init","session_id":"x"}`,
				`{"type":"user","message":{"role":"user","content":"<local-command-stderr>Not enough messages to compact.</local-command-stderr>"},"isReplay":true}`, none,
			},
			contract.CodeAgentError, "turn-start []\n\"Not enough messages to compact.\"\nturn-end completed",
		},
		"error": {
			[]string{`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","result":"API Error: 529","api_error_status":529}`},
			contract.CodeOverloaded, "turn-start []\nturn-end failed overloaded",
		},
	} {
		s := start(t, adapters.Options{})
		s.op("compact", `{"instructions":"keep x"}`)
		last := s.wrote[len(s.wrote)-1]
		if got := last.Get("message", "content").Text(); got != "/compact keep x" {
			t.Errorf("%s wrote %q", name, got)
		}
		s.hear(c.lines...)
		s.says(c.want)
		o := s.done["o-compact"]
		if (o.Err == nil) != (c.code == "") || o.Err != nil && o.Err.Code != c.code {
			t.Errorf("%s: outcome %s %+v, want %q", name, o.Result, o.Err, c.code)
		}
	}
	t.Run("stopped", func(t *testing.T) {
		s := start(t, adapters.Options{})
		s.op("compact", ``)
		s.hear(`{"type":"system","subtype":"init","session_id":"x"}`)
		s.submit(adapters.Abort{})
		s.hear(`{"type":"result","subtype":"error_during_execution","is_error":false,"errors":[]}`)
		if s.done["o-compact"].Err == nil {
			t.Error("a compaction that was stopped succeeded")
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		s := start(t, adapters.Options{})
		s.op("compact", ``)
		s.ack(s.wrote[len(s.wrote)-1].Get("uuid").Text(), "queued", "cancelled")
		if s.done["o-compact"].Err == nil {
			t.Error("a compaction that was cancelled succeeded")
		}
		s.tick(time.Hour) // nothing waits any more
		s.says(``)
	})
	t.Run("lost", func(t *testing.T) {
		s := start(t, adapters.Options{})
		s.op("compact", ``)
		s.exit(adapters.ExitStatus{Code: 1})
		if e := s.done["o-compact"].Err; e == nil || e.Code != contract.CodeAgentExited {
			t.Errorf("outcome = %+v, want agent-exited", s.done["o-compact"])
		}
		s.says(``)
	})
}
