package claude_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/claude"
	"github.com/agenthost/agenthost/contract"
)

const (
	sayHello = `{"type":"assistant","message":{"id":"m1","model":"m","content":[{"type":"text","text":"hello"}]},"uuid":"a-1","parent_tool_use_id":null}`
	ended    = `{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","result":"hello"}`
)

// TestTable: the first cells of the mapping tables name types that the translator
// knows.
func TestTable(t *testing.T) {
	data, err := os.ReadFile("../../docs/protocol/claude.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	_, reasons, _ := strings.Cut(text, "\n## Ends of turns\n")
	reasons, _, _ = strings.Cut(reasons, "\n## ") // no types of messages
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)(?:/([a-z_]+))?` \\|").FindAllStringSubmatch(strings.Replace(text, reasons, "", 1), -1)
	if len(rows) < 40 {
		t.Fatalf("%d rows, want the whole tables", len(rows))
	}
	for _, r := range rows {
		kind, sub := r[1], r[2]
		line := fmt.Sprintf(`{"type":%q,"subtype":%q}`, kind, sub)
		switch {
		case kind == "system" && sub == "", kind == "result" || kind == "control_response" || kind == "control_request" && sub == "":
			continue
		case kind == "control_request":
			line = fmt.Sprintf(`{"type":"control_request","request_id":"x","request":{"subtype":%q}}`, sub)
		case kind == "stream_event":
			if sub == "" {
				continue
			}
			line = fmt.Sprintf(`{"type":"stream_event","event":{"type":%q}}`, sub)
			if sub == "content_block_delta" {
				line = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}}`
			}
		}
		s := start(t, adapters.Options{})
		if _, err := s.proto.Receive(s.now, adapters.Frame{Data: []byte(line)}); err != nil {
			t.Errorf("%s/%s is in the table, and: %v", kind, sub, err)
		}
	}
}

// A prompt is its own turn, a steer is folded into the running one; each says what
// became of it.
func TestSteer(t *testing.T) {
	s := start(t, adapters.Options{})
	p := s.prompt("p")
	s.ack(p, "queued", "started")
	s.hear(sayHello)
	for _, id := range []string{"in", "late", "gone"} {
		s.submit(adapters.Steer{ID: id, Text: id})
		s.ack(claude.MessageUUID(id), "queued")
	}
	if got := s.wrote[len(s.wrote)-1]; got.Get("priority").Text() != "next" || s.wrote[1].Get("priority").Text() != "later" {
		t.Errorf("priorities %s and %s, want later for the prompt and next for a steer", s.wrote[1].Get("priority"), got.Get("priority"))
	}
	s.ack(claude.MessageUUID("in"), "started")
	s.ack(claude.MessageUUID("gone"), "cancelled")
	s.hear(ended)
	s.ack(p, "completed")
	s.ack(claude.MessageUUID("late"), "started")
	s.hear(`{"type":"system","subtype":"init","session_id":"x"}`, sayHello, ended)
	s.says(`
		turn-start [p]
		"hello"
		turn-end completed
		turn-start [late]
		"hello"
		turn-end completed`)
	for id, want := range map[string]string{"in": `{"taken":"turn"}`, "late": `{"taken":"next-turn"}`} {
		if got := string(s.done[id].Result); got != want {
			t.Errorf("outcome of %s = %s, want %s", id, got, want)
		}
	}
	if s.done["gone"].Err == nil {
		t.Error("a cancelled steer has no error")
	}
}

// Versions that acknowledge nothing: a steer that made no turn was folded in.
func TestSteerUnacknowledged(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p1")
	s.hear(sayHello)
	s.submit(adapters.Steer{ID: "s", Text: "s"})
	s.hear(ended)
	s.prompt("p2")
	s.hear(sayHello, ended)
	s.says(`
		turn-start [p1]
		"hello"
		turn-end completed
		turn-start [p2]
		"hello"
		turn-end completed`)
	if got := string(s.done["s"].Result); got != `{"taken":"unconfirmed"}` {
		t.Errorf("outcome = %s, want unconfirmed", got)
	}
}

// Messages that are taken up together are one turn, also when acknowledged one by
// one.
func TestTakenTogether(t *testing.T) {
	s := start(t, adapters.Options{})
	a, b := s.prompt("a"), s.prompt("b")
	s.ack(a, "queued")
	s.ack(b, "queued")
	s.ack(a, "started")
	s.hear(`{"type":"grease"}`)
	s.ack(b, "started")
	s.hear(sayHello, ended)
	s.says(`
		turn-start [a b]
		"hello"
		turn-end completed`)
}

// A message that a CLI which acknowledges messages does not acknowledge is given
// up: it drops what its session has already.
func TestIgnoredMessage(t *testing.T) {
	s := start(t, adapters.Options{})
	s.ack(s.prompt("a"), "queued", "started")
	s.hear(sayHello, ended)
	s.prompt("b")
	s.submit(adapters.Steer{ID: "c", Text: "c"})
	if s.wake.IsZero() {
		t.Fatal("waits for nothing")
	}
	s.tick(2 * time.Minute)
	s.says(`
		turn-start [a]
		"hello"
		turn-end completed
		turn-start [b]
		turn-end failed timeout`)
	if e := s.done["c"].Err; e == nil || e.Code != contract.CodeTimeout {
		t.Errorf("outcome of the steer = %+v, want a time-out", s.done["c"])
	}
}

// Stop before the agent took the prompt up.
func TestAbortPending(t *testing.T) {
	t.Run("cancelled", func(t *testing.T) {
		s := start(t, adapters.Options{})
		p := s.prompt("p")
		s.ack(p, "queued")
		s.submit(adapters.Abort{})
		if r := s.request("interrupt"); !r.Get("request", "cancel_queued").True() {
			t.Errorf("wrote %s, want what is queued cancelled, too", r)
		}
		s.ack(p, "cancelled")
		s.hearf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"still_queued":[],"cancelled":[%q]}}}`,
			s.request("interrupt").Get("request_id").Text(), p)
		s.says(`
			turn-start [p]
			turn-end cancelled`)
	})
	t.Run("starts all the same", func(t *testing.T) {
		s := start(t, adapters.Options{})
		s.prompt("p")
		s.submit(adapters.Abort{})
		first := s.request("interrupt").Get("request_id").Text()
		s.reply(s.request("interrupt"), `{}`)
		s.hear(sayHello)
		if second := s.request("interrupt").Get("request_id").Text(); second == first {
			t.Error("the turn that began after the abort was not interrupted")
		}
		s.hear(`{"type":"result","subtype":"error_during_execution","is_error":false,"errors":[]}`)
		s.says(`
			turn-start [p]
			"hello"
			turn-end cancelled`)
	})
}

// A CLI that does not end an interrupted turn is given up.
func TestAbortIgnored(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(sayHello)
	s.submit(adapters.Abort{})
	s.reply(s.request("interrupt"), `{}`)
	s.tick(time.Second)
	if s.stop != "" {
		t.Fatalf("gave up after a second: %s", s.stop)
	}
	s.tick(time.Minute)
	if s.stop == "" {
		t.Error("did not give up")
	}
	s.exit(adapters.ExitStatus{Code: -1, Signal: "SIGKILL"})
	s.says(`
		turn-start [p]
		"hello"
		turn-end cancelled`)
}

// What was streamed and never came whole is kept when the turn is cut off, and
// dropped when the request is repeated.
func TestPartial(t *testing.T) {
	delta := func(id, text string) []string {
		return []string{
			fmt.Sprintf(`{"type":"stream_event","event":{"type":"message_start","message":{"id":%q,"model":"m"}},"parent_tool_use_id":null,"uuid":"u"}`, id),
			`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}},"parent_tool_use_id":null}`,
			fmt.Sprintf(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}},"parent_tool_use_id":null}`, text),
		}
	}
	t.Run("killed", func(t *testing.T) {
		s := start(t, adapters.Options{})
		s.prompt("p")
		s.hear(delta("m1", "half an ans")...)
		s.exit(adapters.ExitStatus{Code: -1, Signal: "SIGKILL"})
		s.says(`
			turn-start [p]
			"half an ans"
			turn-end failed agent-exited`)
	})
	t.Run("aborted by an old version", func(t *testing.T) {
		s := start(t, adapters.Options{})
		s.prompt("p")
		s.hear(delta("m1", "half an ans")...)
		s.submit(adapters.Abort{})
		s.hear(`{"type":"result","subtype":"error_during_execution","is_error":false,"errors":[]}`)
		s.says(`
			turn-start [p]
			"half an ans"
			turn-end cancelled`)
	})
	t.Run("repeated", func(t *testing.T) {
		s := start(t, adapters.Options{})
		s.prompt("p")
		s.hear(delta("m1", "half an ans")...)
		s.hear(`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":500,"error_status":null,"error":"unknown"}`)
		s.hear(delta("m2", "the whole answer")...)
		s.hear(`{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"the whole answer"}]}}`, ended)
		s.says(`
			turn-start [p]
			service retry network
			"the whole answer"
			turn-end completed`)
	})
	t.Run("failed", func(t *testing.T) {
		s := start(t, adapters.Options{})
		s.prompt("p")
		s.hear(delta("m1", "half an ans")...)
		s.hear(`{"type":"assistant","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"API Error: Connection error."}]},"error":"unknown","is_api_error_message":true}`,
			`{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","result":"API Error: Connection error."}`)
		s.says(`
			turn-start [p]
			turn-end failed network`)
	})
	t.Run("joined", func(t *testing.T) {
		s := start(t, adapters.Options{})
		s.prompt("p")
		s.hear(delta("m1", "x")...)
		s.hear(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ud83d"}}}`,
			`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ude00"}}}`)
		got := ""
		for _, d := range s.live {
			got += d.Text
		}
		if got != "x😀" {
			t.Errorf("live = %q, want the halves joined", got)
		}
	})
}

// Every part of a change is told when it is confirmed, and only then.
func TestConfigure(t *testing.T) {
	s := start(t, adapters.Options{})
	s.submit(adapters.Configure{ID: "c", Mode: contract.ModePlan, Model: "sonnet", ThinkingLevel: "high"})
	s.says(``)
	s.reply(s.request("set_permission_mode"), `{"mode":"plan"}`)
	s.says(`user config plan`)
	if _, over := s.done["c"]; over {
		t.Error("the command is over before all is confirmed")
	}
	s.hear(`{"type":"system","subtype":"status","status":null,"permissionMode":"plan"}`)
	s.reply(s.request("set_model"), `{"model":"claude-sonnet-5-5"}`)
	s.hearf(`{"type":"control_response","response":{"subtype":"error","request_id":%q,"error":"no such level"}}`, s.request("apply_flag_settings").Get("request_id").Text())
	s.says(`
		user config plan
		user config claude-sonnet-5-5`)
	if e := s.done["c"].Err; e == nil || e.Message != "no such level" {
		t.Errorf("outcome = %+v, want the refusal", s.done["c"])
	}
	if from := only[contract.AgentConfigurationChanged](s)[0].From; from == nil || from.PermissionMode != contract.ModeDefault {
		t.Errorf("from = %+v, want default", from)
	}
	// The next init says the same and nothing new.
	s.hear(`{"type":"system","subtype":"init","session_id":"x","model":"claude-sonnet-5-5","permissionMode":"plan"}`)
	// Later the agent changes both itself.
	s.hear(`{"type":"system","subtype":"init","session_id":"x","model":"claude-haiku-5-5","permissionMode":"acceptEdits"}`)
	s.says(`
		user config plan
		user config claude-sonnet-5-5
		agent config claude-haiku-5-5
		agent config acceptEdits`)
}

func TestConfigureThinking(t *testing.T) {
	efforts := []string{"low", "medium", "high", "xhigh", "max"} // these have one
	for level, want := range map[string]string{
		"low":     `{"subtype":"apply_flag_settings","settings":{"effortLevel":"low"}}`,
		"off":     `{"subtype":"set_max_thinking_tokens","max_thinking_tokens":0}`,
		"4000":    `{"subtype":"set_max_thinking_tokens","max_thinking_tokens":4000}`,
		"default": `{"subtype":"set_max_thinking_tokens","max_thinking_tokens":null}`,
	} {
		s := start(t, adapters.Options{})
		// At the start there is no flag for it.
		at := start(t, adapters.Options{Thinking: level})
		if got := string(at.wrote[len(at.wrote)-1].Get("request")); got != want && !slices.Contains(efforts, level) {
			t.Errorf("starting with %q wrote %s, want %s", level, got, want)
		}
		s.submit(adapters.Configure{ID: "c", ThinkingLevel: level})
		if got := string(s.wrote[len(s.wrote)-1].Get("request")); got != want {
			t.Errorf("thinking %q wrote %s, want %s", level, got, want)
		}
	}
}

func TestConfigureRefuses(t *testing.T) {
	yes := true
	for name, c := range map[string]struct {
		change      adapters.Configure
		unsupported bool
	}{
		"sandbox": {adapters.Configure{ID: "c", Sandbox: &yes, Mode: "plan"}, true},
		"bypass":  {adapters.Configure{ID: "c", Mode: contract.ModeBypassPermissions, Model: "x"}, true},
		"auto":    {adapters.Configure{ID: "c", Mode: "auto"}, true},
		"yolo":    {adapters.Configure{ID: "c", Mode: "yolo"}, false},
		"level":   {adapters.Configure{ID: "c", ThinkingLevel: "deep", Model: "x"}, false},
	} {
		s := start(t, adapters.Options{})
		if err := s.refused(c.change); errors.Is(err, adapters.ErrUnsupported) != c.unsupported {
			t.Errorf("%s: %v, unsupported want %v", name, err, c.unsupported)
		}
	}
	s := start(t, adapters.Options{AllowBypass: true})
	s.submit(adapters.Configure{ID: "c", Mode: contract.ModeBypassPermissions})
	s.tick(2 * time.Minute)
	if e := s.done["c"].Err; e == nil || e.Code != contract.CodeTimeout {
		t.Errorf("outcome = %+v, want a time-out", s.done["c"])
	}
	s.says(``)
}

// /clear is told, the next id is the session's, and its total starts anew.
func TestClear(t *testing.T) {
	s := start(t, adapters.Options{Resume: "old"})
	s.prompt("p")
	s.hear(`{"type":"system","subtype":"init","session_id":"old"}`,
		`{"type":"conversation_reset","new_conversation_id":"other","trigger":"clear"}`,
		`{"type":"system","subtype":"init","session_id":"new"}`,
		`{"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":"","total_cost_usd":0}`)
	s.prompt("q")
	s.hear(`{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"x","total_cost_usd":0.25,"usage":{"input_tokens":1}}`)
	s.says(`
		turn-start [p]
		service notice
		turn-end completed
		turn-start [q]
		"x"
		turn-end completed`)
	if c := only[contract.TurnEnd](s)[1].Usage.Cost; c == nil || *c != 0.25 {
		t.Errorf("cost = %v, want 0.25", c)
	}
}

// A session that does not open says why.
func TestOpenFails(t *testing.T) {
	for name, c := range map[string]struct {
		lines  []string
		status adapters.ExitStatus
		want   contract.ErrorCode
	}{
		"unknown":       {[]string{`{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"errors":["No conversation found with session ID: x"]}`}, adapters.ExitStatus{Code: 1}, contract.CodeSessionNotFound},
		"stderr":        {nil, adapters.ExitStatus{Code: 1, Stderr: "No conversation found with session ID: x"}, contract.CodeSessionNotFound},
		"in use":        {nil, adapters.ExitStatus{Code: 1, Stderr: "Error: Session ID x is already in use."}, contract.CodeStartFailed},
		"not installed": {nil, adapters.ExitStatus{Code: -1, Err: `exec: "claude": executable file not found in $PATH`}, contract.CodeNotInstalled},
		"trace":         {nil, adapters.ExitStatus{Code: 1, Stderr: "TypeError: x\n    at y"}, contract.CodeStartFailed},
	} {
		s := begin(t, adapters.Options{})
		s.hear(c.lines...)
		s.exit(c.status)
		o, ok := s.done["open"]
		if !ok || o.Err == nil || o.Err.Code != c.want || o.Err.Message == "" {
			t.Errorf("%s: open = %+v %+v, want %s", name, o, o.Err, c.want)
		}
		s.says(``)
	}
}

// A CLI that refuses the handshake works without it.
func TestHandshakeRefused(t *testing.T) {
	s := begin(t, adapters.Options{})
	s.hearf(`{"type":"control_response","response":{"subtype":"error","request_id":%q,"error":"what?"}}`, s.request("initialize").Get("request_id").Text())
	if o, ok := s.done["open"]; !ok || o.Err != nil {
		t.Fatalf("open = %+v, %v; want it done", o, ok)
	}
	s.prompt("p")
	s.hear(sayHello, ended)
	s.says(`
		turn-start [p]
		"hello"
		turn-end completed`)
}

// A request of the CLI that nobody serves is refused where people see it.
func TestRefusedRequests(t *testing.T) {
	for _, kind := range []string{"hook_callback", "of_the_future"} {
		s := start(t, adapters.Options{})
		s.hearf(`{"type":"control_request","request_id":"q","request":{"subtype":%q}}`, kind)
		if got := s.answered("q"); len(got) != 1 || got[0].Get("subtype").Text() != "error" {
			t.Errorf("%s answered %s, want an error", kind, got)
		}
		s.says(`service error unsupported`)
	}
}

// An MCP server that is not there is told in the words of JSON-RPC.
func TestMCPMessage(t *testing.T) {
	for message, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"x","method":"tools/list"}`: `{"mcp_response":{"jsonrpc":"2.0","id":"x","error":{"code":-32601,"message":"agenthost serves no MCP server of this name"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/x"}`:     `{"mcp_response":{"jsonrpc":"2.0","id":0,"result":{}}}`,
	} {
		s := start(t, adapters.Options{})
		s.hearf(`{"type":"control_request","request_id":"q","request":{"subtype":"mcp_message","server_name":"s","message":%s}}`, message)
		if got := s.answered("q"); len(got) != 1 || string(got[0].Get("response")) != want {
			t.Errorf("%s answered %s, want %s", message, got, want)
		}
		s.says(`service error unsupported`)
	}
}

// A dialog is put before people, who can dismiss it; allowed or not, and with the
// turn's end, the CLI hears that it was dismissed.
func TestDialog(t *testing.T) {
	const dialog = `{"type":"control_request","request_id":"q","request":{"subtype":"request_user_dialog","dialog_kind":"odd_one","payload":{"headline":"Sure?"}}}`
	for name, end := range map[string]func(s *session){
		"dismissed": func(s *session) { s.submit(adapters.Answer{Ask: "q", Decision: contract.RejectOnce}) },
		"allowed":   func(s *session) { s.submit(adapters.Answer{Ask: "q", Decision: contract.AllowOnce}) },
		"turn over": func(s *session) { s.prompt("p"); s.hear(sayHello, ended) },
	} {
		s := start(t, adapters.Options{})
		s.hear(dialog)
		ask := only[contract.PermissionRequest](s)[0]
		if ask.Title != `Dialog of Claude Code: **odd\_one**` || !strings.Contains(ask.Description, "headline `Sure?`") || len(ask.Options) != 1 {
			t.Errorf("%s: ask = %+v", name, ask)
		}
		end(s)
		if got := s.answered("q"); len(got) != 1 || string(got[0].Get("response")) != `{"behavior":"cancelled"}` {
			t.Errorf("%s: answered %s", name, got)
		}
		if n := len(only[contract.ToolCallEnd](s)); n != 1 {
			t.Errorf("%s: %d ends of calls, want 1", name, n)
		}
		s.stream()
	}
	// The CLI takes it back.
	s := start(t, adapters.Options{})
	s.hear(dialog, `{"type":"control_cancel_request","request_id":"q"}`)
	if len(s.took) != 1 || len(s.answered("q")) != 0 {
		t.Errorf("withdrew %q, answered %s", s.took, s.answered("q"))
	}
	// One of a tool belongs to its call.
	s = start(t, adapters.Options{})
	s.prompt("p")
	s.hear(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"x"}}]},"parent_tool_use_id":null}`,
		`{"type":"control_request","request_id":"q","request":{"subtype":"request_user_dialog","dialog_kind":"k","payload":{},"tool_use_id":"t1"}}`)
	if ask := only[contract.PermissionRequest](s)[0]; ask.Call != "t1" {
		t.Errorf("the dialog is of call %q", ask.Call)
	}
}

func TestNotices(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}`:                               "",
		`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1771606800}}`: "service notice quota-exceeded",
		`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"}}`:                              "service error quota-exceeded",
		`{"type":"auth_status","output":["Open https://x"]}`:                                               "service notice auth-required",
		`{"type":"auth_status","error":"no"}`:                                                              "service error auth-required",
		`{"type":"system","subtype":"permission_denied","tool_name":"Bash","decision_reason":"rule"}`:      "service notice",
		`{"type":"tool_progress","tool_use_id":"toolu_1-heartbeat-1","parent_tool_use_id":"toolu_1"}`:      "",
		`{"type":"system","subtype":"informational","level":"info","content":"x"}`:                         "",
		`{"type":"system","subtype":"informational","level":"warning","content":"x"}`:                      "service notice",
		`{"type":"system","subtype":"notification","priority":"low","text":"x"}`:                           "",
		`{"type":"system","subtype":"notification","priority":"high","text":"x"}`:                          "service notice",
		`{"type":"system","subtype":"local_command_output","content":"x"}`:                                 "service notice",
		`{"type":"system","subtype":"model_refusal_fallback","content":"x"}`:                               "service error refusal",
		`{"type":"system","subtype":"session_writes_lost","error_code":"ENOSPC"}`:                          "service error agent-error",
		`{"type":"system","subtype":"mirror_error","error":"x"}`:                                           "service error agent-error",
		`{"type":"system","subtype":"worker_shutting_down","reason":"x"}`:                                  "service notice",
		`{"type":"system","subtype":"status","compact_result":"failed","compact_error":"x"}`:               "service error agent-error",
	} {
		s := start(t, adapters.Options{})
		s.hear(line)
		if got := strings.TrimSpace(s.story()); got != want || s.errs > 0 {
			t.Errorf("%s said %q with %d errors, want %q", line, got, s.errs, want)
		}
	}
}

// A survived API error is told beside the answer, not as one.
func TestSurvivedError(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(`{"type":"assistant","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"}]},"error":"overloaded","is_api_error_message":true}`,
		sayHello, ended)
	s.says(`
		turn-start [p]
		"hello"
		service error overloaded
		turn-end completed`)
}

// Files go inline where the API takes them, else by their path.
func TestFiles(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		files []adapters.Attachment
		want  string
	}{
		"text":    {"hi", nil, `"hi"`},
		"picture": {"hi", []adapters.Attachment{{MIME: "image/png", Data: []byte("png"), Path: "/w/a.png"}}, `[{"type":"text","text":"hi"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}]`},
		"alone":   {"", []adapters.Attachment{{MIME: "image/webp", Data: []byte("x")}}, `[{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"eA=="}}]`},
		"pdf":     {"hi", []adapters.Attachment{{Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF")}}, `[{"type":"text","text":"hi"},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="},"title":"a.pdf"}]`},
		"path":    {"hi", []adapters.Attachment{{MIME: "text/plain", Path: "/w/a b.txt", Data: []byte("x")}, {Path: "/w/c.go"}}, `"hi\n\n@\"/w/a b.txt\" @/w/c.go"`},
		"data":    {"", []adapters.Attachment{{Name: "n.txt", MIME: "text/markdown; charset=utf-8", Data: []byte("é")}}, `[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"é"},"title":"n.txt"}]`},
	} {
		s := start(t, adapters.Options{})
		s.submit(adapters.Prompt{ID: "p", Text: c.text, Files: c.files})
		if got := string(s.wrote[len(s.wrote)-1].Get("message", "content")); got != c.want {
			t.Errorf("%s: content %s, want %s", name, got, c.want)
		}
	}
	s := start(t, adapters.Options{})
	s.refused(adapters.Prompt{ID: "p", Text: "x", Files: []adapters.Attachment{{MIME: "audio/wav", Data: []byte{0xff}}}})
	s.refused(adapters.Prompt{ID: "p", Text: " \n"})
}

// What a local command prints is the turn's text when it has no other.
func TestLocalCommand(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(`{"type":"system","subtype":"init","session_id":"x"}`,
		`{"type":"user","message":{"role":"user","content":"<local-command-stdout>Total cost: $1</local-command-stdout>"},"isReplay":true}`,
		`{"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":""}`)
	s.says(`
		turn-start [p]
		"Total cost: $1"
		turn-end completed`)
}

// B044: an agent that says nothing is told of, while no person is waited for, and can
// be stopped; nothing of it ends by itself.
func TestSilence(t *testing.T) {
	minute := adapters.Options{Settings: map[string]string{"stall": "1m"}}
	told := func(s *session) int { return len(only[contract.Service](s)) }
	s := start(t, minute)
	s.tick(time.Hour)
	p := s.prompt("p")
	if s.tick(59 * time.Second); told(s) != 0 || s.wake.Sub(s.now) != time.Second {
		t.Errorf("told %d times too early, next in %v", told(s), s.wake.Sub(s.now))
	}
	if s.tick(time.Second); told(s) != 1 {
		t.Errorf("told %d times of a prompt that nobody takes up", told(s))
	}
	s.ack(p, "queued", "started")
	s.hear(`{"type":"system","subtype":"init","session_id":"x"}`)
	for _, wait := range []time.Duration{time.Minute, 4 * time.Minute, 10 * time.Minute, time.Hour} {
		s.tick(wait)
	}
	if told(s) != 4 {
		t.Errorf("told %d times, want the three of a new silence", told(s))
	}
	// A tool may take longer, and a person as long as he likes.
	s.hear(bashCall)
	if s.tick(4 * time.Minute); told(s) != 4 {
		t.Error("told of a tool that runs for 4 minutes")
	}
	s.hear(bashAsk)
	if s.tick(24 * time.Hour); told(s) != 4 {
		t.Error("told of a person")
	}
	s.submit(adapters.Answer{Ask: "rq-1", Decision: contract.AllowOnce})
	if s.tick(5 * time.Minute); told(s) != 5 || !strings.Contains(only[contract.Service](s)[4].Text, "A tool may be running") {
		t.Errorf("told %d times of a tool that hangs", told(s))
	}
	s.submit(adapters.Abort{})
	s.hear(`{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools"}`)
	s.tick(time.Hour)
	if end := only[contract.TurnEnd](s); told(s) != 5 || len(end) != 1 || end[0].Status != contract.TurnCancelled {
		t.Errorf("told %d times, ends %+v", told(s), end)
	}
}

// What the CLI prints about a changed model is no text of the turn that runs.
func TestModelIsNoText(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(`{"type":"system","subtype":"init","session_id":"x"}`)
	s.submit(adapters.Configure{ID: "c", Model: "sonnet"})
	s.hear(`{"type":"user","message":{"role":"user","content":"<local-command-stdout>Set model to sonnet</local-command-stdout>"},"isReplay":true}`)
	s.reply(s.request("set_model"), `{"model":"claude-sonnet-5-5"}`)
	s.hear(`{"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":""}`)
	s.says(`
		turn-start [p]
		user config claude-sonnet-5-5
		turn-end completed`)
}

// The todo list is the plan, told as a whole or step by step.
func TestPlan(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	tool := func(id, name, input, result string) {
		s.hearf(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}}`, id, name, input)
		s.hearf(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":%q,"content":"ok"}]},"tool_use_result":%s}`, id, result)
	}
	want := func(entries ...adapters.PlanEntry) {
		t.Helper()
		if fmt.Sprint(s.facts.Plan) != fmt.Sprint(entries) {
			t.Errorf("plan = %+v, want %+v", s.facts.Plan, entries)
		}
	}
	tool("t1", "TodoWrite", `{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"odd"}]}`, `{}`)
	want(adapters.PlanEntry{Content: "a", Status: "completed"}, adapters.PlanEntry{Content: "b", Status: "pending"})
	tool("t2", "TodoWrite", `{"todos":[]}`, `{}`)
	want()
	tool("t3", "TaskCreate", `{"subject":"x"}`, `{"task":{"id":"1","subject":"x"}}`)
	tool("t4", "TaskUpdate", `{"taskId":"1","status":"in_progress","subject":"y"}`, `{"success":true}`)
	want(adapters.PlanEntry{Content: "y", Status: "in_progress"})
	tool("t5", "TaskList", `{}`, `{"tasks":[{"id":"1","subject":"y","status":"completed"},{"id":"2","subject":"z","status":"pending"}]}`)
	want(adapters.PlanEntry{Content: "y", Status: "completed"}, adapters.PlanEntry{Content: "z", Status: "pending"})
	tool("t6", "TaskUpdate", `{"taskId":"2","status":"deleted"}`, `{"success":true}`)
	want(adapters.PlanEntry{Content: "y", Status: "completed"})
}

// Close stops what would keep the CLI from exiting.
func TestClose(t *testing.T) {
	s := start(t, adapters.Options{})
	s.hear(`{"type":"system","subtype":"task_started","task_id":"b1","is_backgrounded":true,"task_type":"local_bash","description":"tail -f"}`,
		`{"type":"system","subtype":"task_started","task_id":"b2","is_backgrounded":true,"task_type":"local_bash","description":"sleep"}`,
		`{"type":"system","subtype":"task_notification","task_id":"b2","status":"completed","summary":"sleep ended"}`)
	s.submit(adapters.Close{})
	if got := string(s.wrote[len(s.wrote)-1].Get("request")); got != `{"subtype":"stop_task","task_id":"b1"}` {
		t.Errorf("wrote %s, want the running shell stopped", got)
	}
	s.says(`service notice`)
}

// Messages that the CLI settles without a turn.
func TestSettledWithoutTurn(t *testing.T) {
	s := start(t, adapters.Options{})
	s.ack(s.prompt("a"), "queued", "completed")
	s.ack(s.prompt("b"), "queued", "started", "cancelled")
	s.submit(adapters.Steer{ID: "c", Text: "c"})
	s.ack(claude.MessageUUID("c"), "queued", "completed")
	s.submit(adapters.Steer{ID: "d", Text: "d"})
	s.ack(claude.MessageUUID("d"), "cancelled")
	s.says(`
		turn-start [a]
		turn-end completed
		turn-start [b]
		turn-end cancelled`)
	if got := string(s.done["c"].Result); got != `{"taken":"turn"}` || s.done["d"].Err == nil {
		t.Errorf("steers: %s and %v, want one taken and one cancelled", got, s.done["d"].Err)
	}
}

// What waits when the process dies is told, as what became of it.
func TestLost(t *testing.T) {
	for name, c := range map[string]struct {
		status adapters.ExitStatus
		abort  bool
		want   string
	}{
		"died":    {adapters.ExitStatus{Code: 1, Stderr: "API Error: 401 authentication_error"}, false, "failed auth-required"},
		"stopped": {adapters.ExitStatus{Requested: true}, false, "failed host-stopped"},
		"aborted": {adapters.ExitStatus{Requested: true}, true, "cancelled"},
	} {
		s := start(t, adapters.Options{})
		s.prompt("p")
		s.submit(adapters.Steer{ID: "s", Text: "s"})
		if c.abort {
			s.submit(adapters.Abort{})
		}
		s.exit(c.status)
		s.says("turn-start [p]\nturn-end " + c.want)
		if s.done["s"].Err == nil {
			t.Errorf("%s: the steer has no error", name)
		}
	}
}

func TestTitle(t *testing.T) {
	for _, member := range []string{"title", "session_title", "name"} {
		s := start(t, adapters.Options{})
		s.hearf(`{"type":"system","subtype":"session_title_changed",%q:"About x"}`, member)
		if s.facts.Title != "About x" {
			t.Errorf("%s: title %q", member, s.facts.Title)
		}
	}
}
