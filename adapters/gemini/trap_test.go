package gemini_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/gemini"
	"github.com/agenthost/agenthost/contract"
)

// Each test here is one trap of docs/protocol/gemini.md.

func TestModeUpdateIsNoText(t *testing.T) {
	d := prompted(t, adapters.Options{})
	d.text("[MODE_UPDATE] plan")
	d.text("[MODE_UPDATE] turbo") // of a newer version
	if got := d.kinds(); got != "agent-configuration-changed agent-configuration-changed" {
		t.Fatalf("said %s, want two changes of the configuration", got)
	}
	if got := find[contract.AgentConfigurationChanged](d); got.PermissionMode != contract.ModePlan || got.From.PermissionMode != contract.ModeDefault {
		t.Errorf("change = %+v, want default to plan", got)
	}
	if len(d.live) > 0 || d.mode != "turbo" {
		t.Errorf("live = %+v, mode = %q, want nothing and turbo", d.live, d.mode)
	}
}

func TestModeUpdateInPieces(t *testing.T) {
	for _, pieces := range [][]string{{"[MODE_UPD", "ATE] ", "auto", "Edit"}, {"[", "MODE_UPDATE] autoEdit"}, {"[MODE_UPDATE] auto", "Edit"}} {
		d := prompted(t, adapters.Options{})
		for _, p := range pieces {
			d.text(p)
		}
		if d.kinds() != "agent-configuration-changed" || find[contract.AgentConfigurationChanged](d).PermissionMode != contract.ModeAcceptEdits {
			t.Errorf("%q says %s, want acceptEdits", pieces, d.kinds())
		}
	}
}

func TestTextThatOnlyBeginsLikeAModeUpdate(t *testing.T) {
	tests := map[string]func(*drive){
		"more text":    func(d *drive) { d.text("n array]") },
		"time":         func(d *drive) { d.pass(2 * time.Second) },
		"another line": func(d *drive) { d.line("npm warn") },
		"the end":      func(d *drive) { d.result(`{"stopReason":"end_turn"}`) },
		"a tool call": func(d *drive) {
			d.update(`{"sessionUpdate":"tool_call","toolCallId":"glob__glob_1_0","kind":"search"}`)
		},
		"the exit":      func(d *drive) { d.take(d.p.Exit(d.now, adapters.ExitStatus{Code: 1})) },
		"a dropped one": func(d *drive) { s, _ := d.p.Receive(d.now, adapters.Frame{Dropped: 9}); d.take(s) },
	}
	for name, next := range tests {
		t.Run(name, func(t *testing.T) {
			d := prompted(t, adapters.Options{})
			d.text("[")
			if len(d.live) > 0 {
				t.Fatal("the first piece was told at once: nothing was held")
			}
			next(d)
			d.take(d.p.Exit(d.now, adapters.ExitStatus{}))
			if got := find[contract.Text](d).Text; !strings.HasPrefix(got, "[") {
				t.Errorf("text = %q, want it to begin with the piece", got)
			}
			if len(d.live) == 0 || d.live[0].Text[0] != '[' {
				t.Errorf("live = %+v, want the piece first", d.live)
			}
		})
	}
}

// A mode that was asked for at the start is announced before the session is open.
func TestModeUpdateWhileOpening(t *testing.T) {
	d := begin(t, adapters.Options{Mode: "plan"})
	d.result(initialized)
	d.result(`{"sessionId":"` + native + `",` + settings + `}`)
	d.text("[MODE_UPDATE] plan")
	d.result(`{}`)
	if len(d.done) != 1 || d.done[0].Err != nil || d.kinds() != "" || d.mode != "plan" {
		t.Errorf("Open = %+v, said %q, mode %q, want plan and nothing said", d.done, d.kinds(), d.mode)
	}
}

func TestReplayIsNotLive(t *testing.T) {
	d := begin(t, adapters.Options{Resume: native})
	d.result(initialized)
	d.pass(time.Minute)
	if d.waiting().Method != "session/load" {
		t.Fatalf("sent %s, want session/load", d.methods())
	}
	d.drafts = nil
	d.update(`{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"<session_context>"}}`)
	d.result(`{` + settings + `}`)
	d.text("first answer")
	d.text("[MODE_UPDATE] yolo") // said by the model once
	d.text("looking[Function Call: run_shell_command]")
	d.update(`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"help","description":"h"}]}`)
	if len(d.done) > 0 {
		t.Fatal("the session was open before the replay was over")
	}
	d.pass(5 * time.Second)
	if len(d.done) != 1 || d.done[0].Err != nil || d.kinds() != "" || len(d.live) > 0 || d.mode != "default" {
		t.Errorf("Open = %+v, said %q, mode %q, want it open and nothing said", d.done, d.kinds(), d.mode)
	}
	// The answer need not tell the mode; what the model once said does not, either.
	d = begin(t, adapters.Options{Resume: native})
	d.result(initialized)
	d.pass(time.Minute)
	d.text("[MODE_UPDATE] yolo")
	d.result(`{}`)
	d.pass(5 * time.Second)
	if len(d.done) != 1 || d.done[0].Err != nil || d.mode != "" {
		t.Errorf("Open = %+v in mode %q, want none", d.done, d.mode)
	}
}

// The clock shows 08:00:20.
func TestLoadWaitsForTheNextMinute(t *testing.T) {
	at := func(h, m, s int) time.Time { return time.Date(2026, 11, 30, h, m, s, 0, time.UTC) }
	tests := []struct {
		opened time.Time
		want   time.Time
	}{
		{time.Time{}, at(8, 1, 1)},
		{at(8, 0, 5), at(8, 1, 1)},
		{at(7, 59, 59), at(8, 0, 20)},
		{at(7, 0, 0), at(8, 0, 20)},
	}
	for _, tt := range tests {
		p := gemini.NewOn(bare).NewProtocol(adapters.SessionInfo{
			ID: "s", Dir: "/w", NativeOpened: tt.opened, Options: adapters.Options{Resume: native},
		})
		d := &drive{t: t, p: p, now: at(8, 0, 20)}
		d.submit(adapters.Open{ID: "open"})
		d.result(initialized)
		late := tt.want.After(at(8, 0, 21))
		if late != (d.kinds() == "service") {
			t.Errorf("opened %v: said %q, want a notice: %v", tt.opened, d.kinds(), late)
		}
		if late {
			if !d.step.WakeAt.Equal(tt.want) {
				t.Errorf("opened %v: loads at %v, want %v", tt.opened, d.step.WakeAt, tt.want)
			}
			d.pass(tt.want.Sub(d.now) - time.Millisecond)
			if d.waiting().Method == "session/load" {
				t.Errorf("opened %v: loaded at %v already", tt.opened, d.now)
			}
			d.pass(time.Millisecond)
		}
		if d.waiting().Method != "session/load" {
			t.Errorf("opened %v: sent %s, want session/load at %v", tt.opened, d.methods(), tt.want)
		}
	}
}

// What can be no session fails at once, not after the wait for the next minute.
func TestResumeOfNoSession(t *testing.T) {
	for _, id := range []string{"nope", "1", "latest", native[1:]} {
		d := begin(t, adapters.Options{Resume: id})
		if len(d.sent) > 0 || len(d.done) != 1 || d.done[0].Err == nil || d.done[0].Err.Code != contract.CodeSessionNotFound {
			t.Errorf("--resume %s: sent %q, Open = %+v, want session-not-found at once", id, d.methods(), d.done)
		}
	}
	p := gemini.NewOn(bare).NewProtocol(adapters.SessionInfo{
		ID: "s", Dir: "/w", NativeOpened: time.Unix(1, 0), Options: adapters.Options{Resume: "of-a-newer-form"},
	})
	d := &drive{t: t, p: p, now: time.Unix(1000, 0)}
	d.submit(adapters.Open{ID: "open"})
	if d.methods() != "initialize" {
		t.Errorf("an id that Gemini CLI gave was refused: %+v", d.done)
	}
}

// It has no fork and no list: said before it is started, and before any wait.
func TestForkAndContinueAreRefusedAtOnce(t *testing.T) {
	_, err := gemini.NewOn(bare).Launch(adapters.LaunchRequest{Dir: "/w", StateDir: "/state", Options: adapters.Options{Fork: native}})
	if !errors.Is(err, adapters.ErrUnsupported) {
		t.Errorf("Launch for a fork = %v, want ErrUnsupported", err)
	}
	d := begin(t, adapters.Options{Continue: true})
	d.result(initialized)
	if len(d.done) != 1 || d.done[0].Err == nil || d.done[0].Err.Code != contract.CodeUnsupported || d.kinds() != "" {
		t.Errorf("--continue: Open = %+v, said %q, want unsupported at once", d.done, d.kinds())
	}
}

func TestAskWithoutACall(t *testing.T) {
	d := prompted(t, adapters.Options{})
	d.ask(shellCall)
	if got := d.kinds(); got != "tool-call-start permission-request" {
		t.Fatalf("said %s, want the call's start before the ask", got)
	}
	ev := find[contract.PermissionRequest](d)
	want := `{"command":"rm -f x","description":"clean (up)","dir_path":"sub","is_background":true}`
	if ev.Call != shellID || ev.ToolName != "bash" || string(ev.Args) != want || ev.Title != "Run `rm -f x`" || ev.Description != "clean (up)" {
		t.Errorf("ask = %+v, args %s, want args %s", ev, ev.Args, want)
	}
}

// A shell call that needs no permission is announced with its explanation, which
// is no output of it.
func TestExplanationIsNoOutput(t *testing.T) {
	d := prompted(t, adapters.Options{})
	d.update(`{"sessionUpdate":"tool_call",` + strings.Replace(shellCall[1:], "pending", "in_progress", 1))
	if len(d.live) > 0 {
		t.Errorf("live = %+v, want no output", d.live)
	}
	if ev := find[contract.ToolCallStart](d); ev.Description != "clean (up)" || ev.Native != "run_shell_command" {
		t.Errorf("start = %+v, want the explanation as the description", ev)
	}
}

func TestRejectedCallIsClosedAtOnce(t *testing.T) {
	d := prompted(t, adapters.Options{})
	d.ask(shellCall)
	d.drafts = d.drafts[1:]
	d.submit(adapters.Answer{Ask: d.key(), Decision: contract.RejectOnce})
	if ev := find[contract.ToolCallEnd](d); ev.Call != shellID || ev.Result.Status != contract.ToolError {
		t.Errorf("end = %+v, want an error: nothing more comes of it", ev)
	}
	d.text("third")
	d.result(`{"stopReason":"end_turn"}`)
	if find[contract.TurnEnd](d).Status != contract.TurnCompleted {
		t.Errorf("said %s, want the turn to go on to its end", d.kinds())
	}
}

func TestPendingAskIsAnsweredBeforeTheCancel(t *testing.T) {
	d := prompted(t, adapters.Options{})
	d.ask(shellCall)
	key := d.key()
	d.sent = nil
	d.submit(adapters.Abort{})
	if got := d.methods(); got != "answer session/cancel" {
		t.Errorf("sent %s, want the answer, then the cancel: it waits for one", got)
	}
	if got := string(d.sent[0].Result); got != `{"outcome":{"outcome":"cancelled"}}` || len(d.step.Withdraw) != 1 || d.step.Withdraw[0] != key {
		t.Errorf("answered %s and withdrew %q, want cancelled and %q", got, d.step.Withdraw, key)
	}
	d.submit(adapters.Abort{})
	if strings.Count(d.methods(), "session/cancel") != 1 {
		t.Errorf("sent %s, want one cancel", d.methods())
	}
}

func TestErrorsOfThePrompt(t *testing.T) {
	tests := []struct {
		code          int
		message, data string
		want          contract.ErrorCode
		text          string
	}{
		{400, `"{\"error\":{\"code\":400,\"message\":\"bad thing\",\"status\":\"INVALID_ARGUMENT\"}}"`, "", contract.CodeInvalidRequest, "bad thing"},
		{400, `"{\"error\":{\"message\":\"{\\\"error\\\":{\\\"message\\\":\\\"inner\\\"}}\"}}"`, "", contract.CodeInvalidRequest, "inner"},
		{401, `"API key not valid"`, "", contract.CodeAuthRequired, "API key not valid"},
		{403, `"no"`, "", contract.CodeAuthRequired, "no"},
		{429, `"Rate limit exceeded. Try again later."`, "", contract.CodeRateLimited, "Rate limit exceeded. Try again later."},
		{503, `"The model is overloaded."`, "", contract.CodeOverloaded, "The model is overloaded."},
		{500, `"terminated"`, "", contract.CodeNetwork, "terminated"},
		{500, `"Unexpected end of JSON input"`, "", contract.CodeNetwork, "Unexpected end of JSON input"},
		{500, `"Expected ',' or ']' after array element in JSON at position 16"`, "", contract.CodeNetwork, "Expected ',' or ']' after array element in JSON at position 16"},
		{500, `"exception TypeError: fetch failed sending request"`, "", contract.CodeNetwork, "exception TypeError: fetch failed sending request"},
		{500, `"Internal error encountered."`, "", contract.CodeOverloaded, "Internal error encountered."},
		{500, `"no model"`, "", contract.CodeAgentError, "no model"},
		{-32603, `"Internal error"`, `{"details":"cwd does not exist"}`, contract.CodeAgentError, "cwd does not exist"},
	}
	for _, tt := range tests {
		d := prompted(t, adapters.Options{})
		d.fail(tt.code, tt.message, tt.data)
		end := find[contract.TurnEnd](d)
		if end.Status != contract.TurnFailed || end.Error == nil || end.Error.Code != tt.want || end.Error.Message != tt.text {
			t.Errorf("error %d %s ends %s %+v, want %s %q", tt.code, tt.message, end.Status, end.Error, tt.want, tt.text)
		}
	}
}

func TestUntrustedFolder(t *testing.T) {
	d := opened(t, adapters.Options{AllowBypass: true})
	d.submit(adapters.Configure{ID: "c", Mode: contract.ModeBypassPermissions})
	d.fail(-32603, `"Internal error"`, `{"details":"Cannot enable privileged approval modes in an untrusted folder."}`)
	got := d.done[len(d.done)-1]
	if got.ID != "c" || got.Err == nil || got.Err.Code != contract.CodeUnsupported || !strings.Contains(got.Err.Message, "Trust it") {
		t.Errorf("Configure = %+v, want unsupported with what to do", got.Err)
	}
	if find := d.kinds(); find != "" || d.mode != "default" {
		t.Errorf("said %q in mode %q, want nothing and default", find, d.mode)
	}
}

func TestNotLoggedIn(t *testing.T) {
	d := begin(t, adapters.Options{})
	d.result(initialized)
	d.fail(-32000, `"Gemini API key is missing or not configured."`, "")
	got := d.done[0].Err
	if got == nil || got.Code != contract.CodeAuthRequired || !strings.Contains(got.Message, "oauth-personal") {
		t.Errorf("Open = %+v, want auth-required with the ways to log in", got)
	}
	if strings.Contains(d.methods(), "authenticate") {
		t.Errorf("sent %s: authenticate changes the user's settings", d.methods())
	}
}

func TestAuthenticateOnlyWhenConfigured(t *testing.T) {
	d := begin(t, adapters.Options{Settings: map[string]string{"auth": "gemini-api-key"}})
	d.result(initialized)
	d.fail(-32000, `"Authentication required."`, "")
	if d.waiting().Method != "authenticate" {
		t.Errorf("sent %s, want authenticate", d.methods())
	}
}

// Gemini CLI would read the code from the protocol's own input.
func TestLoginCodePrompt(t *testing.T) {
	d := begin(t, adapters.Options{})
	d.result(initialized)
	d.line("\x1b[?1049h\x1b[2J\x1b[H")
	if len(d.done) > 0 {
		t.Fatal("terminal control alone ended the start")
	}
	d.line("Please visit the following URL to authorize the application:")
	if len(d.done) != 1 || d.done[0].Err == nil || d.done[0].Err.Code != contract.CodeAuthRequired {
		t.Fatalf("Open = %+v, want auth-required at once", d.done)
	}
	d.line("Enter the authorization code: ")
	if len(d.done) != 1 {
		t.Errorf("Open has %d outcomes, want 1", len(d.done))
	}
}

func TestLoginPageIsTold(t *testing.T) {
	d := begin(t, adapters.Options{})
	d.result(initialized)
	for range 9 {
		d.stderr("https://accounts.google.com/o/oauth2/v2/auth?client_id=x")
	}
	if got := strings.Count(d.kinds(), "service"); got != 3 {
		t.Errorf("said %s, want the address, thrice at most", d.kinds())
	}
	if ev := find[contract.Service](d); ev.Code != contract.CodeAuthRequired || !strings.Contains(ev.Text, "https://accounts.google.com/o/oauth2") {
		t.Errorf("notice = %+v, want the address", ev)
	}
}

func TestEmptyPromptIsRefused(t *testing.T) {
	d := opened(t, adapters.Options{})
	for _, text := range []string{"", " \n\t"} {
		if d.submit(adapters.Prompt{ID: "u", Text: text}); d.err == nil {
			t.Errorf("prompt %q was sent: it wedges the session for ever", text)
		}
	}
}

func TestImageWithOtherFilesIsRefused(t *testing.T) {
	image := adapters.Attachment{Name: "a.png", MIME: "image/png", Data: []byte{1}}
	link := adapters.Attachment{Name: "b.txt", Path: "/w/b.txt"}
	d := opened(t, adapters.Options{})
	d.submit(adapters.Prompt{ID: "u", Text: "look", Files: []adapters.Attachment{image, link}})
	if d.err == nil {
		t.Error("an image beside a link was sent: Gemini CLI drops it silently")
	}
	d.submit(adapters.Prompt{ID: "u", Text: "look", Files: []adapters.Attachment{image}})
	if d.err != nil {
		t.Errorf("an image alone: %v", d.err)
	}
}

func TestSecondPromptAndSteerAreRefused(t *testing.T) {
	d := prompted(t, adapters.Options{})
	if d.submit(adapters.Prompt{ID: "v", Text: "more"}); d.err == nil {
		t.Error("a second prompt was sent: it cancels the first")
	}
	if d.submit(adapters.Steer{ID: "v", Text: "more"}); d.err == nil {
		t.Error("a steer was sent: it cancels the turn")
	}
}

func TestUnknownModelIsTold(t *testing.T) {
	d := opened(t, adapters.Options{})
	for i, model := range []string{"gemini-2.5-pro", "gemini-99", "auto", "gemini-99"} {
		d.drafts = nil
		d.submit(adapters.Configure{ID: fmt.Sprint("c", i), Model: model})
		d.result(`{}`)
		want := "agent-configuration-changed"
		if i == 1 {
			want += " service"
		}
		if got := d.kinds(); got != want {
			t.Errorf("model %q: said %q, want %q", model, got, want)
		}
	}
	d = begin(t, adapters.Options{Model: "gemini-99"})
	d.result(initialized)
	d.result(`{"sessionId":"` + native + `",` + settings + `}`)
	d.result(`{}`)
	if d.kinds() != "service" || len(d.done) != 1 {
		t.Errorf("started with model gemini-99: said %q, want a notice", d.kinds())
	}
}

func TestTopicIsTheTitle(t *testing.T) {
	d := prompted(t, adapters.Options{})
	const id = `"toolCallId":"update_topic__update_topic_1_0"`
	d.update(`{"sessionUpdate":"tool_call",` + id + `,"status":"in_progress","title":"Update topic to: \"Fix *it*\"","kind":"think"}`)
	d.update(`{"sessionUpdate":"tool_call_update",` + id + `,"status":"completed","content":[],"kind":"think"}`)
	if ev := find[contract.ToolCallStart](d); d.title != "Fix *it*" || ev.Title != `Topic: Fix \*it\*` {
		t.Errorf("session's title = %q, call's = %q", d.title, ev.Title)
	}
}

func TestAllowAlwaysIsNotLeftToTheAgent(t *testing.T) {
	const (
		usual = `{"optionId":"proceed_always","kind":"allow_always"},{"optionId":"proceed_always_and_save","kind":"allow_always"},` +
			`{"optionId":"proceed_once","kind":"allow_once"},{"optionId":"cancel","kind":"reject_once"}`
		mcp = `{"optionId":"proceed_always_server","kind":"allow_always"},{"optionId":"proceed_always_tool","kind":"allow_always"},` +
			`{"optionId":"proceed_always_and_save","kind":"allow_always"},{"optionId":"proceed_once","kind":"allow_once"},{"optionId":"cancel","kind":"reject_once"}`
		wide = `{"optionId":"proceed_always_server","kind":"allow_always"},{"optionId":"proceed_always_and_save","kind":"allow_always"},` +
			`{"optionId":"proceed_once","kind":"allow_once"}`
	)
	tests := []struct{ options, remember, want string }{
		{usual, "", "proceed_once"},
		{mcp, "", "proceed_once"},
		{usual, "agent", "proceed_always"},
		{mcp, "agent", "proceed_always_tool"},
		{wide, "agent", "proceed_once"},
	}
	for _, tt := range tests {
		d := prompted(t, adapters.Options{Settings: map[string]string{"remember": tt.remember}})
		d.askWith(shellCall, tt.options)
		d.submit(adapters.Answer{Ask: d.key(), Decision: contract.AllowAlways})
		want := `{"outcome":{"outcome":"selected","optionId":"` + tt.want + `"}}`
		if got := string(d.sent[len(d.sent)-1].Result); got != want {
			t.Errorf("remember %q, options %s: answered %s, want %s", tt.remember, tt.options, got, want)
		}
	}
}

func TestNoFilesAreOffered(t *testing.T) {
	d := prompted(t, adapters.Options{})
	fs := d.sent[0].Params.Get("clientCapabilities", "fs")
	if fs.Get("readTextFile").True() || fs.Get("writeTextFile").True() {
		t.Errorf("offered %s: writing a new file fails then", fs)
	}
	d.line(`{"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{"sessionId":"` + native + `","path":"/w/x"}}`)
	if last := d.sent[len(d.sent)-1]; last.Err == nil || len(d.step.Effects) > 0 {
		t.Errorf("a read of a file gave %+v, want a refusal", d.step)
	}
}

func TestStopAtTheLimitNamesTheLoopDetector(t *testing.T) {
	d := prompted(t, adapters.Options{})
	d.result(`{"stopReason":"max_turn_requests"}`)
	if ev := find[contract.Service](d); ev.Code != contract.CodeMaxTurns || !strings.Contains(ev.Text, "repeats itself") {
		t.Errorf("notice = %+v", ev)
	}
}

func TestCancelledShellCall(t *testing.T) {
	d := prompted(t, adapters.Options{})
	d.ask(shellCall)
	d.submit(adapters.Answer{Ask: d.key(), Decision: contract.AllowOnce})
	d.submit(adapters.Abort{})
	d.update(`{"sessionUpdate":"tool_call_update","toolCallId":"` + shellID + `","status":"completed","title":"rm -f x","content":` +
		`[{"type":"content","content":{"type":"text","text":"Command cancelled by user."}}],"kind":"execute"}`)
	d.result(`{"stopReason":"cancelled"}`)
	if ev := find[contract.ToolCallEnd](d); ev.Result.Status != contract.ToolCancelled {
		t.Errorf("call ended %+v, want cancelled", ev.Result)
	}
	if ev := find[contract.TurnEnd](d); ev.Status != contract.TurnCancelled {
		t.Errorf("turn ended %s, want cancelled", ev.Status)
	}
}

func TestThoughtWithoutASubject(t *testing.T) {
	d := prompted(t, adapters.Options{})
	d.update(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"****\nhmm"}}`)
	d.result(`{"stopReason":"end_turn"}`)
	if ev := find[contract.Text](d); ev.Text != "hmm" || !ev.Thinking {
		t.Errorf("thought = %+v, want hmm", ev)
	}
}

func TestFailedBeforeItWasAnnounced(t *testing.T) {
	d := prompted(t, adapters.Options{})
	d.update(`{"sessionUpdate":"tool_call_update","toolCallId":"invoke_agent__invoke_agent_1_0","status":"failed","kind":"think",` +
		`"content":[{"type":"content","content":{"type":"text","text":"denied by policy."}}]}`)
	if d.kinds() != "tool-call-start tool-call-end" || find[contract.ToolCallStart](d).Name != "task" {
		t.Errorf("said %s, want a start with the tool's name and an end", d.kinds())
	}
	if r := find[contract.ToolCallEnd](d).Result; r.Status != contract.ToolError || r.Error != "denied by policy." {
		t.Errorf("result = %+v", r)
	}
	d = prompted(t, adapters.Options{})
	d.update(`{"sessionUpdate":"tool_call_update","toolCallId":"` + shellID + `","status":"failed","title":"rm -f x","kind":"execute","content":[]}`)
	if ev := find[contract.ToolCallStart](d); string(ev.Args) != `{"command":"rm -f x"}` {
		t.Errorf("a shell call that failed has the input %s, want its title", ev.Args)
	}
}

func TestSilenceIsTold(t *testing.T) {
	d := prompted(t, adapters.Options{})
	d.pass(3 * time.Minute)
	if d.kinds() != "service" || !strings.Contains(find[contract.Service](d).Text, "No word") {
		t.Errorf("said %q in three minutes of silence, want a notice", d.kinds())
	}
}

// The user's settings may say autoEdit: nobody allowed that here.
func TestStartsInTheModeOfTheHost(t *testing.T) {
	for _, mode := range []string{"autoEdit", "plan", "yolo"} {
		d := begin(t, adapters.Options{})
		d.result(initialized)
		d.result(`{"sessionId":"` + native + `",` + strings.Replace(settings, `"currentModeId":"default"`, `"currentModeId":"`+mode+`"`, 1) + `}`)
		if m := d.waiting(); len(d.done) > 0 || m.Method != "session/set_mode" || m.Params.Get("modeId").Text() != "default" {
			t.Errorf("from %s it sent %s, want set_mode default before it is open", mode, d.methods())
		}
	}
}

func TestUsage(t *testing.T) {
	d := prompted(t, adapters.Options{})
	d.result(`{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":210,"output_tokens":15},"model_usage":[` +
		`{"model":"gemini-3.8-flash","token_count":{"input_tokens":100,"output_tokens":7}},{"model":"auto","token_count":{"input_tokens":110,"output_tokens":8}}]}}}`)
	end := find[contract.TurnEnd](d)
	if end.Usage == nil || end.Usage.InputTokens != 210 || end.Usage.OutputTokens != 15 || end.Model != "gemini-3.8-flash" {
		t.Errorf("turn ended with %+v of %q, want 210 and 15 of gemini-3.8-flash", end.Usage, end.Model)
	}
	d = prompted(t, adapters.Options{})
	d.submit(adapters.Abort{})
	d.result(`{"stopReason":"cancelled"}`)
	if end := find[contract.TurnEnd](d); end.Usage != nil {
		t.Errorf("a cancelled turn used %+v, which nobody told", end.Usage)
	}
}

func TestEdits(t *testing.T) {
	const id = "write_file__write_file_1_0"
	for _, c := range []struct{ old, patch, status string }{
		{`""`, "+new", "added"}, {`"old\n"`, "-old", "modified"},
	} {
		d := prompted(t, adapters.Options{})
		d.update(`{"sessionUpdate":"tool_call_update","toolCallId":"` + id + `","status":"completed","title":"Writing to a.txt","kind":"edit",` +
			`"content":[{"type":"diff","path":"/w/a.txt","oldText":` + c.old + `,"newText":"new\n","_meta":{"kind":"add"}}],"locations":[{"path":"/w/a.txt"}]}`)
		files := find[contract.ToolCallEnd](d).Result.Files
		if len(files) != 1 || files[0].Path != "a.txt" || string(files[0].Status) != c.status || !strings.Contains(files[0].Patch, c.patch) {
			t.Errorf("from %s: files = %+v, want a.txt %s with %q", c.old, files, c.status, c.patch)
		}
	}
}

func TestCommandsArePassedOn(t *testing.T) {
	d := opened(t, adapters.Options{})
	d.submit(adapters.Prompt{ID: "u", Text: "/help $x"})
	if got := string(d.waiting().Params.Get("prompt")); got != `[{"type":"text","text":"/help $x"}]` {
		t.Errorf("prompt = %s, want the user's words", got)
	}
}
