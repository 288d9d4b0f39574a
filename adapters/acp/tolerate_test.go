package acp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/jsonrpc"
)

// TestTolerate has a test for each thing that real ACP agents were seen to do and
// that an adapter must live with. The numbers are those of the list in
// docs/protocol/acp.md.
func TestTolerate(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"01 agents' ids start at 0, answers name ours as text": idsOfAnyKind,
		"02 updates before the answer that names the session":  updatesBeforeTheSession,
		"02 updates after load are history for some agents":    replayAfterLoad,
		"03 updates after the answer to the prompt":            updatesAfterTheAnswer,
		"03 a call of the agent's own turn that never ends":    callLeftOpen,
		"04 updates and asks for calls never announced":        callsNeverAnnounced,
		"04 repeated, empty and missing states of a call":      callsWithoutState,
		"05 a cancelled prompt ends as it likes":               cancelEndsAnyhow,
		"05 a cancelled prompt never ends":                     cancelNeverEnds,
		"05 the agent waits for its ask":                       cancelAnswersAsks,
		"05 an ask crosses the cancel":                         askCrossesCancel,
		"06 unknown kinds, values and methods":                 unknownThings,
		"07 several options of one kind":                       severalOptions,
		"08 errors of any code and shape":                      errorsOfAnyShape,
		"09 results and usage of any shape":                    usageOfAnyShape,
		"10 lines of many megabytes":                           hugeLines,
		"11 silence of minutes":                                silent,
		"11 silence of a tool, and silence that nobody minds":  silentTools,
		"12 fs and terminal methods that were not offered":     notOffered,
		"13 a request that is never answered":                  neverAnswered,
		"14 empty prompts":                                     emptyPrompts,
		"15 capabilities that are not there":                   lyingCapabilities,
		"16 lines that are no messages":                        noiseOnStdout,
		"16 a message that is broken":                          brokenMessage,
		"16 standard error is not shown":                       stderrIsNotShown,
		"17 a login only when it is wanted":                    loginOnlyWhenWanted,
		"18 goodbye cancels and closes":                        goodbye,
		"19 a fault of the process ends everything once":       exitEndsEverything,
	} {
		t.Run(name, test)
	}
}

func idsOfAnyKind(t *testing.T) {
	b := newBench(t, fake, adapters.Options{})
	b.submit(adapters.Open{ID: "open"})
	b.line(`{"jsonrpc":"2.0","id":"1","result":{"protocolVersion":1}}`)
	b.line(`{"jsonrpc":"2.0","id":2.0,"result":{"sessionId":"s"}}`)
	if !b.opened() {
		t.Fatal("answers with the ids \"1\" and 2.0 were not taken")
	}
	b.prompt()
	b.request("0", "session/request_permission", permission("t", "allow_once", "reject_once"))
	b.answer(contract.AllowOnce)
	m, ok := b.reply("0")
	if got := m.Result.Get("outcome", "optionId").Text(); !ok || got != "allow_once" {
		t.Errorf("answer to request 0 selects %q, want allow_once", got)
	}
}

// permission are the parameters of an ask with options whose ids are their kinds.
func permission(call string, kinds ...string) string {
	var options []string
	for _, k := range kinds {
		id, kind, ok := strings.Cut(k, "=")
		if !ok {
			kind = id
		}
		options = append(options, fmt.Sprintf(`{"optionId":%q,"name":%q,"kind":%q}`, id, id, kind))
	}
	return `{"sessionId":"s","toolCall":{"toolCallId":"` + call + `","kind":"execute","title":"ls","rawInput":{"command":"ls"}},"options":[` +
		strings.Join(options, ",") + `]}`
}

func updatesBeforeTheSession(t *testing.T) {
	b := newBench(t, fake, adapters.Options{})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), `{"protocolVersion":1}`)
	b.update(`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"web","description":"search","input":{"hint":"words"}}]}`)
	b.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"not ours"}}}}`)
	b.result(b.last("session/new"), `{"sessionId":"s"}`)
	if c := b.facts.Commands; len(c) != 1 || c[0].Name != "web" || c[0].Hint != "words" {
		t.Errorf("commands are %+v, want web", c)
	}
	b.want("")
}

func replayAfterLoad(t *testing.T) {
	spec := fake
	spec.Quirks.ReplaySettle = 300 * time.Millisecond
	b := newBench(t, spec, adapters.Options{Resume: "s"})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`)
	b.chunk("old 1")
	b.result(b.last("session/load"), `{}`)
	for range 5 {
		b.advance(200 * time.Millisecond)
		b.chunk("old 2")
	}
	if b.opened() {
		t.Error("the session was open while the agent replayed")
	}
	b.advance(300 * time.Millisecond)
	if !b.opened() {
		t.Fatal("the session did not open after the replay")
	}
	b.prompt()
	b.chunk("new")
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want("turn-start p1 | text new | turn-end completed")
}

func updatesAfterTheAnswer(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.update(`{"sessionUpdate":"usage_update","used":5,"size":10}`)
	b.chunk("The background task ")
	b.chunk("is done.")
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"ls","kind":"execute","status":"in_progress","rawInput":{"command":"ls"}}`)
	b.advance(QuietCallWait - time.Second) // a call runs: the turn is not over
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`)
	b.advance(QuietWait)
	b.prompt()
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want(`turn-start p1 | turn-end completed | turn-start | text The background task is done. | start t bash {"command":"ls"} | end t completed | ` +
		`turn-end completed | turn-start p2 | turn-end completed`)
}

// callLeftOpen: a prompt waits for the turn, so it must not wait long; and what
// becomes of the call is told all the same.
func callLeftOpen(t *testing.T) {
	b := plain(t)
	b.chunk("I look into it.")
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"Build","kind":"execute","status":"in_progress","rawInput":{"command":"make"}}`)
	if b.advance(QuietCallWait); b.turn {
		t.Fatalf("the turn is open after %v of silence", QuietCallWait)
	}
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"in_progress"}`)
	b.prompt()
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want(`turn-start | text I look into it. | start t bash {"command":"make"} | end t | turn-end completed | turn-start p1 | turn-end completed`)
	b.drafts = nil
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed","rawOutput":"no rule"}`)
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed","rawOutput":"no rule"}`)
	b.advance(QuietWait)
	b.want(`turn-start | start t bash {"command":"make"} | end t error | turn-end completed`)
	if end := b.drafts[2].Event.(contract.ToolCallEnd); end.Result.Error != "no rule" {
		t.Errorf("result = %+v, want what the agent told", end.Result)
	}
}

func callsNeverAnnounced(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"u","status":"completed"}`)
	b.request("7", "session/request_permission", permission("v", "allow_once", "reject_once"))
	b.answer(contract.RejectOnce)
	b.chunk("so be it")
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want(`turn-start p1 | start u other {} | end u completed | start v bash {"command":"ls"} | ask v | end v error | text so be it | turn-end completed`)
}

func callsWithoutState(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"a"}`)
	for range 3 {
		b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"in_progress","title":null,"kind":null,"content":null}`)
	}
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed"}`)
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed"}`)
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"b","title":"ls","kind":"execute","status":"pending","rawInput":{"command":"ls"}}`)
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"c","kind":"read","status":"pending","rawInput":{}}`)
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"d","kind":"execute","title":"Where","status":"pending"}`)
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"d","kind":null,"title":null,"status":"in_progress","rawInput":{"command":"pwd"}}`)
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}`)
	b.want(`turn-start p1 | start a other {} | end a completed | start b bash {"command":"ls"} | start d bash {"command":"pwd"} | end b | start c read {} | end c | end d | turn-end completed`)
}

func cancelEndsAnyhow(t *testing.T) {
	for name, answer := range map[string]func(*bench, jsonrpc.Message){
		"cancelled": func(b *bench, m jsonrpc.Message) { b.result(m, `{"stopReason":"cancelled"}`) },
		"end_turn":  func(b *bench, m jsonrpc.Message) { b.result(m, `{"stopReason":"end_turn"}`) },
		"error":     func(b *bench, m jsonrpc.Message) { b.fail(m, `{"code":-32603,"message":"Request was aborted."}`) },
		"null":      func(b *bench, m jsonrpc.Message) { b.result(m, `null`) },
		"limit":     func(b *bench, m jsonrpc.Message) { b.result(m, `{"stopReason":"max_tokens"}`) },
	} {
		b := plain(t)
		b.prompt()
		b.submit(adapters.Abort{})
		b.submit(adapters.Abort{})
		answer(b, b.last("session/prompt"))
		// Shifted: the next prompt is the one that is called cancelled.
		b.prompt()
		b.result(b.last("session/prompt"), `{"stopReason":"cancelled"}`)
		if got := b.story(); got != "turn-start p1 | turn-end cancelled | turn-start p2 | turn-end cancelled" {
			t.Errorf("answer %s: story %s", name, got)
		}
		if n := b.count("session/cancel"); n != 1 {
			t.Errorf("answer %s: %d session/cancel, want 1", name, n)
		}
	}
	b := plain(t)
	b.prompt()
	b.submit(adapters.Abort{})
	b.exit(adapters.ExitStatus{Code: 1})
	b.want("turn-start p1 | turn-end cancelled")
}

func cancelNeverEnds(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"sleep","kind":"execute","status":"in_progress","rawInput":{"command":"sleep 60"}}`)
	b.submit(adapters.Abort{})
	b.advance(CancelWait - time.Millisecond)
	if !b.turn || b.stop != "" {
		t.Fatal("gave up too early")
	}
	b.advance(time.Millisecond)
	if b.turn || !strings.Contains(b.stop, "session/cancel") {
		t.Errorf("turn open %v, stop %q; want the turn ended and the child given up", b.turn, b.stop)
	}
	b.result(b.last("session/prompt"), `{"stopReason":"cancelled"}`) // at last, and too late
	b.want(`turn-start p1 | start t bash {"command":"sleep 60"} | end t cancelled | turn-end cancelled`)
}

func cancelAnswersAsks(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.request("1", "session/request_permission", permission("t1", "allow_once", "reject_once"))
	b.request("2", "session/request_permission", permission("t2", "allow_once", "reject_once"))
	b.submit(adapters.Abort{})
	cancel := b.last("session/cancel")
	for _, id := range []string{"1", "2"} {
		m, ok := b.reply(id)
		if !ok || m.Result.Get("outcome", "outcome").Text() != "cancelled" {
			t.Errorf("ask %s got %s, want the outcome cancelled", id, m.Result)
		}
	}
	if cancel.Kind != jsonrpc.Notification || cancel.Params.Get("sessionId").Text() != "s" {
		t.Errorf("cancel is %+v", cancel)
	}
	if len(b.asks) != 0 {
		t.Errorf("asks %v are open after the abort", b.asks)
	}
	b.result(b.last("session/prompt"), `{"stopReason":"cancelled"}`)
	b.want(`turn-start p1 | start t1 bash {"command":"ls"} | ask t1 | start t2 bash {"command":"ls"} | ask t2 | end t1 cancelled | end t2 cancelled | turn-end cancelled`)
}

func askCrossesCancel(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.submit(adapters.Abort{})
	b.request("1", "session/request_permission", permission("t", "allow_once", "reject_once"))
	if m, ok := b.reply("1"); !ok || m.Result.Get("outcome", "outcome").Text() != "cancelled" {
		t.Errorf("the ask got %s, want the outcome cancelled", m.Result)
	}
	if len(b.asks) != 0 {
		t.Error("a person was asked after the stop")
	}
	b.result(b.last("session/prompt"), `{"stopReason":"cancelled"}`)
}

func unknownThings(t *testing.T) {
	b := plain(t)
	b.prompt()
	if b.update(`{"sessionUpdate":"hologram","x":1}`); len(b.errs) != 1 {
		t.Errorf("an unknown kind of update: %v, want an error that is counted", b.errs)
	}
	for _, u := range []string{
		`{"sessionUpdate":5}`, `{}`, `"text"`, `null`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"hologram"}}`,
		`{"sessionUpdate":"agent_message_chunk","content":null}`,
		`{"sessionUpdate":"agent_message_chunk","content":[{"type":"text","text":"x"}]}`,
		`{"sessionUpdate":"config_option_update","configOptions":[{"id":"x","type":"dial","category":"colour","currentValue":7}]}`,
		`{"sessionUpdate":"config_option_update","configOptions":[{"id":"y","type":"select","category":"colour","currentValue":"red","options":[]}]}`,
		`{"sessionUpdate":"tool_call","toolCallId":7}`,
		`{"sessionUpdate":"plan","entries":{"a":1}}`,
	} {
		b.update(u)
	}
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"t","kind":"teleport","status":"warming_up","title":"Beam","rawInput":[1,2]}`)
	if len(b.calls) != 1 {
		t.Errorf("open calls %v, want one: an unknown state is no end", b.calls)
	}
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","content":[{"type":"smell"}],"rawOutput":{"odd":1}}`)
	b.request("1", "session/request_permission", permission("p", "maybe=allow_sometimes", "no=reject_once"))
	b.answer(contract.AllowOnce)
	if m, _ := b.reply("1"); m.Result.Get("outcome", "outcome").Text() != "cancelled" {
		t.Errorf("an ask without a known way to allow got %s, want the outcome cancelled", m.Result)
	}
	for _, method := range []string{"craft/drainMidTurnQueue", "_x/y", "session/nonsense", "mcp/message"} {
		b.request("9", method, `{}`)
		if m, ok := b.reply("9"); !ok || m.Err == nil || m.Err.Code != jsonrpc.MethodNotFound {
			t.Errorf("%s: answer %+v, want -32601", method, m.Err)
		}
		b.written = b.written[:len(b.written)-1]
	}
	b.line(`{"jsonrpc":"2.0","method":"_qwencode/something","params":{}}`)
	b.line(`{"jsonrpc":"2.0","method":"window/refresh","params":{}}`)
	b.result(b.last("session/prompt"), `{"stopReason":"bored"}`)
	b.want(`turn-start p1 | start t other {"input":[1,2]} | end t completed | start p bash {"command":"ls"} | ask p | end p error | service notice | turn-end completed`)
	if len(b.errs) < 5 {
		t.Errorf("%d errors were told, want one for each thing that was not understood", len(b.errs))
	}
}

func severalOptions(t *testing.T) {
	qwen := []string{"proceed_once=allow_once", "proceed_once_and_switch_to_default=allow_once", "proceed_always_project=allow_always", "proceed_always_user=allow_always", "cancel=reject_once"}
	plan := []string{"exit-plan-default=allow_once", "exit-plan-clear-auto=allow_always", "exit-plan-auto=allow_always", "reject=reject_once"}
	gemini := []string{"proceed_always=allow_always", "proceed_once=allow_once", "proceed_always_and_save=allow_always", "cancel=reject_once"}
	server := []string{"proceed_always_server=allow_always", "proceed_always_tool=allow_always", "cancel=reject_once"}
	codex := []string{"allow_once", "accept_execpolicy_amendment=allow_always", "cancel=reject_once"}
	never := []string{"a=allow_once", "b=reject_always"}
	for _, c := range []struct {
		options  []string
		decision contract.Decision
		remember string
		want     string // an option, or "cancelled"
	}{
		{qwen, contract.AllowOnce, "", "proceed_once"},
		{qwen, contract.AllowAlways, "", "proceed_once"},      // the host remembers
		{qwen, contract.AllowAlways, "agent", "proceed_once"}, // nothing that stays in the session
		{qwen, contract.RejectOnce, "", "cancel"},
		{qwen, contract.RejectAlways, "agent", "cancel"},
		{plan, contract.AllowOnce, "", "exit-plan-default"},
		{plan, contract.AllowAlways, "agent", "exit-plan-default"},
		{gemini, contract.AllowOnce, "", "proceed_once"},
		{gemini, contract.AllowAlways, "", "proceed_once"},
		{gemini, contract.AllowAlways, "agent", "proceed_always"},
		{server, contract.AllowOnce, "", "cancelled"},
		{server, contract.AllowAlways, "", "cancelled"},
		{codex, contract.AllowAlways, "agent", "allow_once"},
		{never, contract.RejectOnce, "", "cancelled"}, // for ever was not decided
		{never, contract.RejectAlways, "", "b"},
		{nil, contract.AllowOnce, "", "cancelled"},
		{codex, "", "", "cancel"},
	} {
		b := openBench(t, fake, adapters.Options{Settings: map[string]string{"remember": c.remember}},
			`{"protocolVersion":1}`, `{"sessionId":"s"}`)
		b.prompt()
		b.request("1", "session/request_permission", permission("t", c.options...))
		b.answer(c.decision)
		m, _ := b.reply("1")
		got := m.Result.Get("outcome", "optionId").Text()
		if m.Result.Get("outcome", "outcome").Text() == "cancelled" {
			got = "cancelled"
		}
		if got != c.want {
			t.Errorf("%q, remember %q: %s selects %q, want %q", c.options, c.remember, c.decision, got, c.want)
		}
	}
}

func errorsOfAnyShape(t *testing.T) {
	for answer, want := range map[string]contract.ErrorCode{
		`{"code":400,"message":"{\"error\":{\"message\":\"bad\"}}"}`: contract.CodeInvalidRequest,
		`{"code":-32603,"message":"Internal error","data":[1]}`:      contract.CodeAgentError,
		`{"code":-32603,"message":"Internal error","data":"quota"}`:  contract.CodeQuotaExceeded,
		`{"code":9e9,"message":null}`:                                contract.CodeAgentError,
		`"just text"`:                                                contract.CodeAgentError,
	} {
		b := plain(t)
		b.prompt()
		b.fail(b.last("session/prompt"), answer)
		b.want("turn-start p1 | service error | turn-end failed " + string(want))
	}
}

func usageOfAnyShape(t *testing.T) {
	for answer, want := range map[string]string{
		`null`: "null", `{}`: "null", `{"stopReason":"end_turn","usage":null}`: "null",
		`{"stopReason":"end_turn","usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0}}`:                                           "null",
		`{"stopReason":"end_turn","usage":{"inputTokens":95,"outputTokens":4,"totalTokens":107,"thoughtTokens":3,"cachedReadTokens":5}}`: `{"inputTokens":100,"outputTokens":7,"reasoningTokens":3,"cacheReadTokens":5}`,
		`{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":100,"output_tokens":7}}}}`:                             `{"inputTokens":100,"outputTokens":7}`,
		`{"stopReason":"end_turn","usage":"lots"}`:                                                                                       "null",
	} {
		b := plain(t)
		b.prompt()
		b.result(b.last("session/prompt"), answer)
		end := b.drafts[len(b.drafts)-1].Event.(contract.TurnEnd)
		got, _ := json.Marshal(usageJSON(end.Usage))
		if string(got) != want || end.Status != contract.TurnCompleted || b.story() != "turn-start p1 | turn-end completed" {
			t.Errorf("%s: usage %s, status %s, want %s", answer, got, end.Status, want)
		}
	}
}

// usageJSON is a usage in the order and with the names of the contract.
func usageJSON(u *contract.Usage) any {
	if u == nil {
		return nil
	}
	return struct {
		In    int64    `json:"inputTokens"`
		Out   int64    `json:"outputTokens"`
		Cost  *float64 `json:"cost,omitempty"`
		Think int64    `json:"reasoningTokens,omitempty"`
		Read  int64    `json:"cacheReadTokens,omitempty"`
		Write int64    `json:"cacheWriteTokens,omitempty"`
	}{u.InputTokens, u.OutputTokens, u.Cost, u.ReasoningTokens, u.CacheReadTokens, u.CacheWriteTokens}
}

func hugeLines(t *testing.T) {
	b := plain(t)
	b.prompt()
	text := strings.Repeat("0123456789abcdef\n", 5<<20/17)
	b.chunk(text)
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","rawOutput":"` + strings.Repeat("x", 5<<20) + `"}`)
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	var got strings.Builder
	for _, d := range b.drafts {
		if e, ok := d.Event.(contract.Text); ok {
			if len(e.Text) > MaxText {
				t.Fatalf("a text of %d bytes, want %d at most", len(e.Text), MaxText)
			}
			got.WriteString(e.Text)
		}
	}
	if got.String() != text {
		t.Errorf("the text of %d bytes came out with %d bytes, or changed", len(text), got.Len())
	}
}

func silent(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.advance(StallWait - time.Second)
	b.want("turn-start p1")
	b.advance(time.Second)
	b.want("turn-start p1 | service notice")
	b.advance(time.Hour)
	b.want("turn-start p1 | service notice | service notice | service notice")
	if !b.turn || b.stop != "" {
		t.Error("silence ended the turn; retries take long")
	}
	b.chunk("at last")
	b.request("1", "session/request_permission", permission("t", "allow_once", "reject_once"))
	b.advance(time.Hour) // the person is waited for, not the agent
	b.answer(contract.AllowOnce)
	b.submit(adapters.Abort{})
	b.result(b.last("session/prompt"), `{"stopReason":"cancelled"}`)
	b.want(`turn-start p1 | service notice | service notice | service notice | text at last | start t bash {"command":"ls"} | ask t | end t cancelled | turn-end cancelled`)
}

// silentTools: a tool may run for long without a word; and a person may not want to
// hear of any of it.
func silentTools(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"make","kind":"execute","status":"in_progress","rawInput":{"command":"make"}}`)
	b.advance(5*StallWait - time.Second)
	b.want(`turn-start p1 | start t bash {"command":"make"}`)
	b.advance(time.Second)
	b.want(`turn-start p1 | start t bash {"command":"make"} | service notice`)
	if text := b.drafts[2].Event.(contract.Service).Text; !strings.Contains(text, "tool") || !strings.Contains(text, "5m0s") {
		t.Errorf("notice %q, want that a tool runs, and for how long", text)
	}
	b = openBench(t, fake, adapters.Options{Settings: map[string]string{"stall": "0s"}}, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
	b.prompt()
	b.advance(24 * time.Hour)
	b.want("turn-start p1")
}

func notOffered(t *testing.T) {
	b := plain(t)
	b.prompt()
	for _, method := range []string{"fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output"} {
		b.request("5", method, `{"sessionId":"s","path":"/w/a","content":"x","command":"ls"}`)
		if m, ok := b.reply("5"); !ok || m.Err == nil || m.Err.Code != jsonrpc.MethodNotFound {
			t.Errorf("%s: answer %+v, want -32601", method, m.Err)
		}
		b.written = b.written[:len(b.written)-1]
	}
	if len(b.effects) > 0 {
		t.Errorf("effects %v without an offer", b.effects)
	}
}

func neverAnswered(t *testing.T) {
	b := newBench(t, fake, adapters.Options{})
	b.submit(adapters.Open{ID: "open"})
	if b.advance(time.Minute); len(b.done) > 0 {
		t.Errorf("given up after a minute: %+v; under load a start took half of that", b.done)
	}
	b.advance(InitializeWait - time.Minute)
	if o := b.done; len(o) != 1 || o[0].Err == nil || o[0].Err.Code != contract.CodeStartFailed {
		t.Errorf("initialize unanswered: %+v, want start-failed", o)
	}
	b = plain(t)
	b.p.(*Protocol).config.settings[settingModel] = setting{known: true}
	b.submit(adapters.Configure{ID: "c", Model: "m"})
	b.advance(ConfigWait)
	if o := b.done[len(b.done)-1]; o.ID != "c" || o.Err == nil || o.Err.Code != contract.CodeTimeout {
		t.Errorf("set_model unanswered: %+v, want a timeout", o)
	}
	if m := b.last("$/cancel_request"); string(m.Params.Get("requestId")) != string(b.last("session/set_model").ID) {
		t.Errorf("cancelled request %s", m.Params)
	}
	b.result(b.last("session/set_model"), `{}`) // too late, harmless
	b.prompt()
	b.advance(24 * time.Hour)
	if !b.turn {
		t.Error("a prompt has a time-out; models are retried for long")
	}
}

func emptyPrompts(t *testing.T) {
	b := plain(t)
	for _, c := range []adapters.Prompt{{ID: "a"}, {ID: "b", Text: " \n\t"}} {
		if err := b.try(c); err == nil {
			t.Errorf("Prompt %q was taken", c.Text)
		}
	}
	if n := b.count("session/prompt"); n != 0 {
		t.Errorf("%d prompts were sent", n)
	}
}

func lyingCapabilities(t *testing.T) {
	b := newBench(t, fake, adapters.Options{Resume: "s"})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), `{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}`)
	b.fail(b.last("session/resume"), `{"code":-32601,"message":"\"Method not found\": session/resume"}`)
	b.chunk("old")
	b.result(b.last("session/load"), `{}`)
	if !b.opened() || b.done[0].Err != nil {
		t.Fatalf("resume was not there, load was not tried: %+v", b.done)
	}
	b.want("")

	// Advertised by nobody, refused at the door.
	b = newBench(t, fake, adapters.Options{Resume: "s"})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), `{"protocolVersion":1}`)
	if o := b.done; len(o) != 1 || o[0].Err == nil || o[0].Err.Code != contract.CodeUnsupported {
		t.Errorf("resume without the capability: %+v, want unsupported", o)
	}

	// It says yes and does not do it.
	b = openBench(t, fake, adapters.Options{}, `{"protocolVersion":1}`,
		`{"sessionId":"s","configOptions":[{"id":"model","category":"model","type":"select","currentValue":"a","options":[{"value":"a","name":"A"},{"value":"b","name":"B"}]}]}`)
	b.submit(adapters.Configure{ID: "c", Model: "b"})
	b.result(b.last("session/set_config_option"), `{"configOptions":[{"id":"model","category":"model","type":"select","currentValue":"a","options":[]}]}`)
	if o := b.done[len(b.done)-1]; o.Err == nil {
		t.Error("the agent kept its model, and the change was reported as done")
	}
	b.want("")
}

func noiseOnStdout(t *testing.T) {
	b := plain(t)
	b.prompt()
	for _, l := range []string{"", "Loaded cached credentials.", "> pkg@1.2.3 npx", "   ╭───╮", "[db] migrating … ok", "42", `"x"`, "null", "[1,2]", "\xff\xfe"} {
		b.line(l)
	}
	b.chunk("ok")
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want("turn-start p1 | text ok | turn-end completed")
}

func brokenMessage(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"te{"jsonrpc":"2.0","method":"x"}`)
	b.line(`xt","text":"half"}}}}`)
	step, err := b.p.Receive(b.now, adapters.Frame{Dropped: 300 << 20})
	if err == nil {
		t.Error("a dropped line is no error")
	}
	b.apply(step)
	b.chunk("goes on")
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want("turn-start p1 | service error | text goes on | turn-end completed")
}

func stderrIsNotShown(t *testing.T) {
	b := plain(t)
	b.prompt()
	for _, l := range []string{"prompt: hello", "see https://login.example/x", `{"jsonrpc":"2.0","method":"session/update"}`} {
		step, err := b.p.Receive(b.now, adapters.Frame{Source: adapters.Stderr, Data: []byte(l)})
		if err != nil {
			t.Errorf("%q on standard error: %v", l, err)
		}
		b.apply(step)
	}
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want("turn-start p1 | turn-end completed")
}

func loginOnlyWhenWanted(t *testing.T) {
	p := play(t, "B180-auth.txt", AgentSpec{Name: "fake", Title: "Fake", Login: "fake login"}, adapters.Options{}, nil)
	if p.count("authenticate") != 0 {
		t.Error("authenticate was sent although nobody configured a login")
	}
	o := p.done[0]
	if o.Err == nil || o.Err.Code != contract.CodeAuthRequired || !strings.Contains(o.Err.Message, "fake login") || !strings.Contains(o.Err.Message, "oauth-personal") {
		t.Errorf("outcome %+v, want auth-required with the command and the methods", o.Err)
	}
	if len(p.facts.AuthMethods) != 2 {
		t.Errorf("methods %+v, want two", p.facts.AuthMethods)
	}

	p = play(t, "B180-auth.txt", fake, adapters.Options{Settings: map[string]string{"auth": "oauth-personal"}}, nil)
	if m := p.last("authenticate"); m.Params.Get("methodId").Text() != "oauth-personal" {
		t.Errorf("authenticate %s", m.Params)
	}
	p.want("service notice")
	if e := p.drafts[0].Event.(contract.Service); !strings.Contains(e.Text, "https://auth.example/o?x=1") {
		t.Errorf("notice %q lacks the address", e.Text)
	}
	p.advance(AuthWait)
	if o := p.done[0]; o.Err == nil || o.Err.Code != contract.CodeAuthRequired {
		t.Errorf("outcome %+v after the wait, want auth-required", o.Err)
	}

	b := newBench(t, fake, adapters.Options{Settings: map[string]string{"auth": "oauth-personal"}})
	b.submit(adapters.Open{ID: "open"})
	b.result(b.last("initialize"), `{"protocolVersion":1}`)
	b.fail(b.last("session/new"), `{"code":-32603,"message":"Internal error"}`)
	if b.count("authenticate") != 0 {
		t.Error("authenticate was sent for another error than a missing login")
	}
}

func goodbye(t *testing.T) {
	b := openBench(t, fake, adapters.Options{}, `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{}}}}`, `{"sessionId":"s"}`)
	b.prompt()
	b.request("1", "session/request_permission", permission("t", "allow_once", "reject_once"))
	b.submit(adapters.Close{ID: "bye"})
	var order []string
	for _, m := range b.written[len(b.written)-3:] {
		order = append(order, m.Method+string(m.ID))
	}
	if got := strings.Join(order, " "); got != "1 session/cancel session/close4" {
		t.Errorf("wrote %s, want the ask's answer, the cancel, the close", got)
	}
	answered := func() bool {
		return slices.ContainsFunc(b.done, func(o adapters.Outcome) bool { return o.ID == "bye" })
	}
	if answered() {
		t.Error("the goodbye has its outcome before the agent answered")
	}
	if b.result(b.last("session/close"), `{}`); !answered() {
		t.Error("the goodbye has no outcome after the agent answered")
	}
	b.exit(adapters.ExitStatus{Requested: true})
}

func exitEndsEverything(t *testing.T) {
	for name, s := range map[string]adapters.ExitStatus{
		"killed": {Code: -1, Signal: "SIGKILL"}, "failed": {Code: 1, Stderr: "warning\nboom\n"}, "asked for": {Requested: true},
	} {
		b := openBench(t, claudeACP(), adapters.Options{}, `{"protocolVersion":1}`, `{"sessionId":"s"}`)
		b.prompt()
		b.chunk("half a sen")
		b.update(`{"sessionUpdate":"tool_call","toolCallId":"task","name":"Task","title":"Look","kind":"think","status":"in_progress","rawInput":{"prompt":"x"}}`)
		b.update(`{"sessionUpdate":"tool_call","toolCallId":"sub","name":"Bash","title":"ls","kind":"execute","status":"in_progress","rawInput":{"command":"ls"},"_meta":{"claudeCode":{"parentToolUseId":"task"}}}`)
		b.request("1", "session/request_permission", permission("t", "allow_once", "reject_once"))
		b.exit(s)
		b.exit(s)
		if n := strings.Count(b.story(), "turn-end"); n != 1 {
			t.Errorf("%s: %d turn-ends: %s", name, n, b.story())
		}
	}
}
