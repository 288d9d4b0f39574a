package codex_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/codex"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/internal/rawjson"
)

func item(done bool, turn, body string) string {
	method := "item/started"
	if done {
		method = "item/completed"
	}
	return fmt.Sprintf(`{"method":%q,"params":{"threadId":"thr-1","turnId":%q,"item":{%s}}}`, method, turn, body)
}

// B022: requests of the server were refused without a look. An approval and an
// elicitation are asked, and answered by the id as it came.
func TestEveryRequestIsAsked(t *testing.T) {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	s.hear(item(false, "t1", `"type":"commandExecution","id":"c0","command":"touch x","cwd":"/w","status":"inProgress"`),
		`{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"thr-1","turnId":"t1","itemId":"c0","reason":"needs more rights","command":"touch x"}}`)
	ask := s.ask()
	if ev := ask.Event.(contract.PermissionRequest); ev.Call != "c0" || ev.ToolName != "bash" || !strings.Contains(ev.Description, "needs more rights") {
		t.Errorf("ask = %+v", ev)
	}
	s.submit(adapters.Answer{Ask: ask.Ask, Decision: contract.AllowOnce})
	if got := string(s.reply("0").Get("result")); got != `{"decision":"accept"}` {
		t.Errorf("answer = %s", got)
	}
	s.hear(`{"id":"b","method":"mcpServer/elicitation/request","params":{"threadId":"thr-1","turnId":"t1","serverName":"connectors","mode":"form","_meta":null,
		"message":"Allow reading calendar?","requestedSchema":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}}}`)
	ask = s.ask()
	if q := ask.Event.(contract.PermissionRequest).Question; q == nil || len(q.Questions) != 1 || !q.Questions[0].Required {
		t.Fatalf("question = %+v", q)
	}
	s.submit(adapters.Answer{Ask: ask.Ask, Decision: contract.AllowOnce, Answers: []byte(`{"ok":"true"}`)})
	if got := string(s.reply(`"b"`).Get("result")); got != `{"action":"accept","content":{"ok":true},"_meta":null}` {
		t.Errorf("answer = %s", got)
	}
	s.completed("t1", "completed")
	if ends := of[contract.TurnEnd](s); len(ends) != 1 || ends[0].Status != contract.TurnCompleted {
		t.Errorf("ends = %+v", ends)
	}
}

// B034: a turn that the agent starts itself is a turn of its own, and the next
// prompt is not ended by it.
func TestTurnOfItsOwn(t *testing.T) {
	s := start(t, adapters.Options{})
	s.hear(`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"t0"}}}`)
	s.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	if s.request("turn/start") != nil {
		t.Fatal("a prompt was given to a turn that nobody asked for")
	}
	s.completed("t0", "completed")
	s.answer("turn/start", `{"turn":{"id":"t1"}}`)
	s.hear(`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"t1"}}}`)
	s.completed("t0", "completed") // once more, of a turn that is over
	if n := len(of[contract.TurnEnd](s)); n != 1 {
		t.Errorf("%d ends, want the first turn's alone", n)
	}
	s.completed("t1", "completed")
	var prompts [][]string
	for _, d := range s.drafts {
		if _, ok := d.Event.(contract.TurnStart); ok {
			prompts = append(prompts, d.Prompts)
		}
	}
	if len(prompts) != 2 || len(prompts[0]) != 0 || !slices.Equal(prompts[1], []string{"p1"}) {
		t.Errorf("turns = %q", prompts)
	}
}

// A prompt that the server makes a part of a turn it had just begun gets its
// turn-start all the same.
func TestPromptJoinsTurn(t *testing.T) {
	s := start(t, adapters.Options{})
	s.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	s.hear(`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"t0"}}}`)
	s.answer("turn/start", `{"turn":{"id":"t0"}}`)
	s.completed("t0", "completed")
	if starts, ends := of[contract.TurnStart](s), of[contract.TurnEnd](s); len(starts) != 1 || len(ends) != 1 {
		t.Errorf("%d starts, %d ends, want one each", len(starts), len(ends))
	}
}

// B044: nothing comes any more; an abort works.
func TestStallAbort(t *testing.T) {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	s.hear(`{"method":"thread/status/changed","params":{"threadId":"thr-1","status":{"type":"active","activeFlags":[]}}}`)
	s.submit(adapters.Abort{})
	s.answer("turn/interrupt", `{}`)
	s.completed("t1", "interrupted")
	if ends := of[contract.TurnEnd](s); len(ends) != 1 || ends[0].Status != contract.TurnCancelled {
		t.Errorf("ends = %+v", ends)
	}
	if s.stop != "" {
		t.Errorf("gave up: %s", s.stop)
	}
}

// B044: nothing comes any more, which is told while no person is waited for.
func TestSilence(t *testing.T) {
	s := start(t, adapters.Options{Settings: map[string]string{"stall": "1m"}})
	told := func() int { return len(of[contract.Service](s)) }
	s.tick(time.Hour)
	s.turn("p1", "t1")
	if s.tick(59 * time.Second); told() != 0 {
		t.Error("told too early")
	}
	if s.tick(time.Second); told() != 1 || !strings.Contains(of[contract.Service](s)[0].Text, "No word from Codex for 1m0s") {
		t.Errorf("told %+v", of[contract.Service](s))
	}
	// A command may take longer, and a person as long as he likes.
	s.hear(item(false, "t1", `"type":"commandExecution","id":"c0","command":"make","cwd":"/w","status":"inProgress"`))
	if s.tick(4 * time.Minute); told() != 1 {
		t.Error("told of a command that runs for 4 minutes")
	}
	s.hear(`{"id":0,"method":"item/commandExecution/requestApproval","params":{"threadId":"thr-1","turnId":"t1","itemId":"c0","command":"make"}}`)
	if s.tick(24 * time.Hour); told() != 1 {
		t.Error("told of a person")
	}
	s.submit(adapters.Answer{Ask: s.ask().Ask, Decision: contract.AllowOnce})
	if s.tick(5 * time.Minute); told() != 2 {
		t.Error("a command that hangs is not told")
	}
	s.submit(adapters.Abort{})
	s.completed("t1", "interrupted")
	s.answer("thread/backgroundTerminals/list", `{"data":[]}`)
	if s.tick(time.Hour); told() != 2 || len(of[contract.TurnEnd](s)) != 1 {
		t.Errorf("told %d times, %d ends", told(), len(of[contract.TurnEnd](s)))
	}
}

// A server that does not even end an interrupted turn is given up.
func TestAbortUnanswered(t *testing.T) {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	s.submit(adapters.Abort{})
	s.tick(31 * time.Second)
	if s.stop == "" {
		t.Error("the child is not given up")
	}
}

// An abort before turn/started is sent when it is allowed, and once.
func TestAbortBeforeStart(t *testing.T) {
	s := start(t, adapters.Options{})
	s.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	s.submit(adapters.Abort{})
	if s.request("turn/interrupt") != nil {
		t.Fatal("the interrupt came before the turn")
	}
	s.answer("turn/start", `{"turn":{"id":"t1"}}`)
	s.hear(`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"t1"}}}`)
	if r := s.request("turn/interrupt"); r.Get("params", "turnId").Text() != "t1" {
		t.Fatalf("interrupt = %s", r)
	}
	s.completed("t1", "interrupted")
	if ends := of[contract.TurnEnd](s); len(ends) != 1 || ends[0].Status != contract.TurnCancelled {
		t.Errorf("ends = %+v", ends)
	}
}

// What an aborted turn left running is ended, what was there before is not.
func TestAbortEndsCommands(t *testing.T) {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	s.hear(item(false, "t1", `"type":"commandExecution","id":"c0","command":"sleep 9","cwd":"/w","status":"inProgress"`))
	s.submit(adapters.Abort{})
	s.completed("t1", "interrupted")
	s.answer("thread/backgroundTerminals/list", `{"data":[{"itemId":"old","processId":"1"},{"itemId":"c0","processId":"2"}]}`)
	var ended []string
	for _, w := range s.wrote {
		if w.Get("method").Text() == "thread/backgroundTerminals/terminate" {
			ended = append(ended, w.Get("params", "processId").Text())
		}
	}
	if !slices.Equal(ended, []string{"2"}) {
		t.Errorf("ended %q, want the aborted turn's alone", ended)
	}
	drafts := len(s.drafts)
	s.hear(item(true, "t1", `"type":"commandExecution","id":"c0","command":"sleep 9","cwd":"/w","status":"failed","exitCode":-1`))
	if len(s.drafts) != drafts {
		t.Errorf("the late end is told: %+v", s.drafts[drafts:])
	}
}

// B077: the text comes in deltas, in the completed item and in turn/completed, and
// is told once.
func TestTextOnce(t *testing.T) {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	s.hear(`{"method":"item/agentMessage/delta","params":{"threadId":"thr-1","turnId":"t1","itemId":"m1","delta":"Hello "}}`,
		`{"method":"item/agentMessage/delta","params":{"threadId":"thr-1","turnId":"t1","itemId":"m1","delta":"world"}}`,
		item(true, "t1", `"type":"agentMessage","id":"m1","text":"Hello world"`),
		item(true, "t1", `"type":"agentMessage","id":"m2","text":"no deltas here"`),
		`{"method":"turn/completed","params":{"threadId":"thr-1","turn":{"id":"t1","status":"completed","error":null,"items":[
			{"type":"agentMessage","id":"m1","text":"Hello world"},{"type":"agentMessage","id":"m2","text":"no deltas here"}]}}}`)
	if got := s.texts(); !slices.Equal(got, []string{"Hello world", "no deltas here"}) {
		t.Errorf("texts = %q", got)
	}
	if len(s.live) != 2 {
		t.Errorf("%d deltas, want 2", len(s.live))
	}
}

// A message whose own line was lost is taken from the end of the turn.
func TestLostMessage(t *testing.T) {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	s.hear(`{"method":"turn/completed","params":{"threadId":"thr-1","turn":{"id":"t1","status":"completed","items":[{"type":"agentMessage","id":"m1","text":"only here"}]}}}`)
	if got := s.texts(); !slices.Equal(got, []string{"only here"}) {
		t.Errorf("texts = %q", got)
	}
}

// B089: item ids repeat in later turns; nothing of them is taken for a repetition,
// and origins differ.
func TestItemIDsRepeat(t *testing.T) {
	s := start(t, adapters.Options{})
	origins := map[string]bool{}
	for i := 1; i <= 3; i++ {
		native := fmt.Sprintf("t%d", i)
		s.turn(fmt.Sprintf("p%d", i), native)
		s.hear(item(true, native, fmt.Sprintf(`"type":"agentMessage","id":"item_0","text":"turn %d text"`, i)),
			item(false, native, `"type":"commandExecution","id":"item_1","command":"/bin/bash -lc 'echo 1'","status":"inProgress"`),
			item(true, native, `"type":"commandExecution","id":"item_1","command":"/bin/bash -lc 'echo 1'","status":"completed","exitCode":0,"aggregatedOutput":"1\n"`))
		s.completed(native, "completed")
	}
	if got := s.texts(); !slices.Equal(got, []string{"turn 1 text", "turn 2 text", "turn 3 text"}) {
		t.Errorf("texts = %q", got)
	}
	if starts, ends := of[contract.ToolCallStart](s), of[contract.ToolCallEnd](s); len(starts) != 3 || len(ends) != 3 {
		t.Errorf("%d starts, %d ends, want 3 each", len(starts), len(ends))
	}
	for _, d := range s.drafts {
		if _, ok := d.Event.(contract.Text); ok {
			origins[d.Origin] = true
		}
	}
	if len(origins) != 3 {
		t.Errorf("origins = %v, want three", origins)
	}
}

func usageLine(total, cached, out int) string {
	return fmt.Sprintf(`{"method":"thread/tokenUsage/updated","params":{"threadId":"thr-1","tokenUsage":{
		"total":{"inputTokens":%d,"cachedInputTokens":%d,"outputTokens":%d},"last":{"inputTokens":100,"cachedInputTokens":20,"outputTokens":10}}}}`, total, cached, out)
}

// B102 and B106: the usage is a running total, and what a resumed or forked thread
// brings along is not of this turn.
func TestUsageIsADifference(t *testing.T) {
	s := start(t, adapters.Options{Resume: "thr-1"})
	s.hear(usageLine(1000, 200, 100)) // what was before
	s.turn("p1", "t1")
	s.hear(usageLine(1100, 220, 110))
	s.completed("t1", "completed")
	s.turn("p2", "t2")
	s.hear(usageLine(1200, 240, 120), usageLine(1300, 260, 130))
	s.completed("t2", "completed")
	var got []contract.Usage
	for _, end := range of[contract.TurnEnd](s) {
		got = append(got, *end.Usage)
	}
	if len(got) != 2 || got[0].InputTokens != 100 || got[0].CacheReadTokens != 20 || got[0].OutputTokens != 10 ||
		got[1].InputTokens != 200 || got[1].CacheReadTokens != 40 || got[1].OutputTokens != 20 {
		t.Errorf("usage = %+v", got)
	}
	fresh := start(t, adapters.Options{Resume: "thr-1"})
	fresh.turn("p1", "t1")
	fresh.hear(usageLine(5000, 200, 100)) // the first word of a long thread
	fresh.completed("t1", "completed")
	if u := of[contract.TurnEnd](fresh)[0].Usage; u.InputTokens != 100 {
		t.Errorf("usage = %+v, want the newest request's alone", u)
	}
}

// B205: ids are numbers from 0 in a space of their own, or texts.
func TestRequestIDs(t *testing.T) {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	for i, id := range []string{"0", `"x-1"`, "3.5", "9007199254740993"} {
		s.hear(fmt.Sprintf(`{"id":%s,"method":"item/commandExecution/requestApproval","params":{"threadId":"thr-1","turnId":"t1","itemId":"c%d","command":"ls"}}`, id, i))
		s.submit(adapters.Answer{Ask: s.ask().Ask, Decision: contract.RejectOnce})
		if got := string(s.reply(id).Get("result")); got != `{"decision":"decline"}` {
			t.Errorf("answer to %s = %s", id, got)
		}
	}
}

// B217: a retry is no failure, and what was streamed of the attempt is void.
func TestRetryIsNoFailure(t *testing.T) {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	s.hear(`{"method":"item/agentMessage/delta","params":{"threadId":"thr-1","turnId":"t1","itemId":"m1","delta":"half"}}`,
		`{"method":"error","params":{"threadId":"thr-1","turnId":"t1","willRetry":true,"error":{"message":"Reconnecting... 1/5","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":503}}}}}`,
		item(true, "t1", `"type":"agentMessage","id":"m1","text":"whole"`))
	s.completed("t1", "completed")
	if got := s.texts(); !slices.Equal(got, []string{"whole"}) {
		t.Errorf("texts = %q", got)
	}
	notes := of[contract.Service](s)
	if len(notes) != 1 || notes[0].Kind != contract.ServiceRetry || notes[0].Code != contract.CodeOverloaded {
		t.Errorf("notes = %+v", notes)
	}
	if end := of[contract.TurnEnd](s)[0]; end.Status != contract.TurnCompleted {
		t.Errorf("end = %+v", end)
	}
}

// A server that dies while it retries has ended: the retry is why it was late, not why
// the turn failed.
func TestDeathInRetry(t *testing.T) {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	s.hear(`{"method":"error","params":{"threadId":"thr-1","turnId":"t1","willRetry":true,"error":{"message":"Reconnecting... 1/5","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}}}}}`)
	s.apply(s.proto.Exit(s.now, adapters.ExitStatus{Code: -1, Signal: "SIGKILL"}))
	if end := of[contract.TurnEnd](s); len(end) != 1 || end[0].Error == nil || end[0].Error.Code != contract.CodeAgentExited {
		t.Errorf("ends = %+v %+v, want agent-exited", end, end[0].Error)
	}
}

// execItem is an item of "codex exec --json" as the app-server words it.
func execItem(it rawjson.Value) string {
	switch it.Get("type").Text() {
	case "agent_message":
		return fmt.Sprintf(`"type":"agentMessage","id":%s,"text":%s`, it.Get("id"), it.Get("text"))
	case "command_execution":
		status := strings.ReplaceAll(string(it.Get("status")), "in_progress", "inProgress")
		return fmt.Sprintf(`"type":"commandExecution","id":%s,"command":%s,"aggregatedOutput":%s,"exitCode":%s,"status":%s`,
			it.Get("id"), it.Get("command"), it.Get("aggregated_output"), it.Get("exit_code"), status)
	}
	panic("an item of another type: " + string(it)) // the files hold these two
}

// exec plays a part of a case of the bug log. Its lines are those of "codex exec
// --json", which agenthost does not start; here the app-server says the same.
func (s *story) exec(part string) {
	s.t.Helper()
	native := ""
	for line := range strings.Lines(part) {
		v, err := rawjson.Parse([]byte(strings.TrimSpace(line)))
		if err != nil {
			continue // a comment
		}
		switch kind := v.Get("type").Text(); kind {
		case "turn.started":
			s.turns++
			native = fmt.Sprintf("t%d", s.turns)
			s.turn(fmt.Sprintf("p%d", s.turns), native)
		case "item.started", "item.completed":
			s.hear(item(kind == "item.completed", native, execItem(v.Get("item"))))
		case "error":
			s.hear(fmt.Sprintf(`{"method":"error","params":{"threadId":"thr-1","turnId":%q,"willRetry":%v,"error":{"message":%s,"codexErrorInfo":"other"}}}`,
				native, strings.Contains(line, "Reconnecting"), v.Get("message")))
		case "turn.completed":
			var n [3]int
			for i, name := range []string{"input_tokens", "cached_input_tokens", "output_tokens"} {
				of, _ := v.Get("usage", name).Int()
				n[i] = int(of)
			}
			s.hear(usageLine(n[0], n[1], n[2]))
			s.completed(native, "completed")
		case "turn.failed":
			s.hear(fmt.Sprintf(`{"method":"turn/completed","params":{"threadId":"thr-1","turn":{"id":%q,"status":"failed","error":{"message":%s,"codexErrorInfo":"other"},"items":[]}}}`,
				native, v.Get("error", "message")))
		case "thread.started":
		default:
			s.t.Fatalf("a line of type %q", kind)
		}
	}
}

// The inputs of B089, B102 and B217.
func TestExecInputs(t *testing.T) {
	parts := func(name string) (string, string) {
		data, err := os.ReadFile("testdata/bugs/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		first, second, _ := strings.Cut(strings.TrimPrefix(string(data), "# "), "\n# ")
		return first, second
	}
	t.Run("B089", func(t *testing.T) {
		s := start(t, adapters.Options{})
		first, second := parts("B089-item0")
		s.exec(first)
		s.exec(second)
		if got := s.texts(); !slices.Equal(got, []string{"turn 1 text", "turn 2 text"}) {
			t.Errorf("texts = %q", got)
		}
		var outputs []string
		for _, end := range of[contract.ToolCallEnd](s) {
			outputs = append(outputs, string(end.Result.Output))
		}
		if starts := of[contract.ToolCallStart](s); len(starts) != 2 || !slices.Equal(outputs, []string{`"1\n"`, `"2\n"`}) {
			t.Errorf("%d calls with %q, want two, each with its own", len(starts), outputs)
		}
	})
	t.Run("B102", func(t *testing.T) {
		s := start(t, adapters.Options{})
		first, _ := parts("B102-codexcum")
		s.exec(first)
		ends := of[contract.TurnEnd](s)
		if len(ends) != 2 {
			t.Fatalf("%d ends", len(ends))
		}
		for i, want := range []contract.Usage{{InputTokens: 100, CacheReadTokens: 20, OutputTokens: 10}, {InputTokens: 200, CacheReadTokens: 40, OutputTokens: 20}} {
			if u := ends[i].Usage; u == nil || u.InputTokens != want.InputTokens || u.CacheReadTokens != want.CacheReadTokens || u.OutputTokens != want.OutputTokens {
				t.Errorf("turn %d used %+v, want %+v", i, u, want)
			}
		}
	})
	t.Run("B217", func(t *testing.T) {
		succeeds, fails := parts("B217-reconnect")
		s := start(t, adapters.Options{})
		s.exec(succeeds)
		if end := of[contract.TurnEnd](s); len(end) != 1 || end[0].Status != contract.TurnCompleted || !slices.Equal(s.texts(), []string{"OK"}) {
			t.Errorf("ends %+v, texts %q", end, s.texts())
		}
		for _, note := range of[contract.Service](s) {
			if note.Kind != contract.ServiceRetry {
				t.Errorf("told %+v, want retries at most", note)
			}
		}
		s = start(t, adapters.Options{})
		s.exec(fails)
		end := of[contract.TurnEnd](s)
		if len(end) != 1 || end[0].Status != contract.TurnFailed || end[0].Error.Code != contract.CodeRateLimited {
			t.Fatalf("ends %+v, want one that failed", end)
		}
		for _, note := range of[contract.Service](s) {
			if strings.Contains(note.Text, "exceeded retry limit") {
				t.Errorf("the failure is told twice: %+v", note)
			}
		}
	})
}

// An endless reconnect has an end.
func TestEndlessRetry(t *testing.T) {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	for range 25 {
		s.hear(`{"method":"error","params":{"threadId":"thr-1","turnId":"t1","willRetry":true,"error":{"message":"Reconnecting... waiting for network","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}}}}}`)
		s.tick(30 * time.Second)
	}
	if s.request("turn/interrupt") == nil {
		t.Fatal("the turn goes on for ever")
	}
	s.completed("t1", "interrupted")
	end := of[contract.TurnEnd](s)[0]
	if end.Status != contract.TurnFailed || end.Error.Code != contract.CodeNetwork {
		t.Errorf("end = %+v %+v", end, end.Error)
	}
}

// Every request has a time-out: a request whose line the server could not read is
// never answered.
func TestNoAnswer(t *testing.T) {
	s := start(t, adapters.Options{})
	s.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	s.submit(adapters.Configure{ID: "c1", Model: "x"})
	s.tick(61 * time.Second)
	if end := of[contract.TurnEnd](s); len(end) != 1 || end[0].Error.Code != contract.CodeTimeout {
		t.Errorf("ends = %+v", end)
	}
	if o := s.done["c1"]; o.Err == nil || o.Err.Code != contract.CodeTimeout {
		t.Errorf("configure = %+v", o)
	}
}

// Nothing is freer than the mode says: a thread starts read-only, each turn brings
// its policy, and what the server came to in between does not count.
func TestModeGoesAlong(t *testing.T) {
	s := start(t, adapters.Options{})
	if p := s.request("thread/start").Get("params"); p.Get("sandbox").Text() != "read-only" || p.Get("approvalPolicy").Text() != "untrusted" ||
		p.Get("approvalsReviewer").Text() != "user" {
		t.Errorf("thread/start = %s", p)
	}
	s.hear(`{"method":"thread/settings/updated","params":{"threadId":"thr-1","threadSettings":{"approvalPolicy":"never","sandboxPolicy":{"type":"dangerFullAccess"}}}}`)
	s.submit(adapters.Prompt{ID: "p1", Text: "hello"})
	p := s.request("turn/start").Get("params")
	if p.Get("approvalPolicy").Text() != "untrusted" || p.Get("sandboxPolicy", "type").Text() != "workspaceWrite" {
		t.Errorf("turn/start = %s", p)
	}
	_, err := s.proto.Submit(s.now, adapters.Configure{ID: "c", Mode: contract.ModeBypassPermissions})
	if !errors.Is(err, adapters.ErrUnsupported) {
		t.Errorf("bypass without the opt-in: %v", err)
	}
}

// A switch of the mode is told when the server confirmed it, and once.
func TestConfigure(t *testing.T) {
	s := start(t, adapters.Options{AllowBypass: true})
	s.submit(adapters.Configure{ID: "c1", Mode: contract.ModePlan, Model: "gpt-6.2-sol"})
	p := s.request("thread/settings/update").Get("params")
	if p.Get("collaborationMode", "mode").Text() != "plan" || p.Get("collaborationMode", "settings", "model").Text() != "gpt-6.2-sol" {
		t.Errorf("update = %s", p)
	}
	if n := len(of[contract.AgentConfigurationChanged](s)); n != 0 {
		t.Errorf("%d changes before the answer", n)
	}
	s.hear(`{"method":"thread/settings/updated","params":{"threadId":"thr-1","threadSettings":{"approvalPolicy":"on-request","model":"gpt-6.2-sol",
		"sandboxPolicy":{"type":"readOnly"},"collaborationMode":{"mode":"plan"}}}}`)
	s.answer("thread/settings/update", `{}`)
	if n := len(of[contract.AgentConfigurationChanged](s)); n != 2 {
		t.Errorf("%d changes, want mode and model once each", n)
	}
	s.submit(adapters.Configure{ID: "c2", Mode: contract.ModeBypassPermissions})
	if p := s.request("thread/settings/update").Get("params"); p.Get("collaborationMode", "mode").Text() != "default" ||
		p.Get("sandboxPolicy", "type").Text() != "dangerFullAccess" {
		t.Errorf("update = %s", p)
	}
	s.refuse("thread/settings/update", "no")
	if o := s.done["c2"]; o.Err == nil {
		t.Errorf("a refused change = %+v", o)
	}
	s.submit(adapters.Prompt{ID: "p1", Text: "x"})
	if p := s.request("turn/start").Get("params"); p.Get("sandboxPolicy", "type").Text() != "readOnly" {
		t.Errorf("after a refused change: %s", p)
	}
}

// "For the session" reaches Codex only when the user chose its memory, and only a
// cancelled ask cancels the turn.
func TestDecisions(t *testing.T) {
	for _, c := range []struct {
		remember string
		answer   adapters.Answer
		want     string
	}{
		{"", adapters.Answer{Decision: contract.AllowOnce}, "accept"},
		{"", adapters.Answer{Decision: contract.AllowAlways}, "accept"},
		{"agent", adapters.Answer{Decision: contract.AllowAlways}, "acceptForSession"},
		{"agent", adapters.Answer{Decision: contract.RejectAlways}, "decline"},
		{"", adapters.Answer{Decision: contract.RejectOnce, Cancelled: true}, "cancel"},
		{"agent", adapters.Answer{Decision: contract.AllowAlways, Cancelled: true}, "cancel"},
		{"", adapters.Answer{Decision: "something-new"}, "decline"},
	} {
		o := adapters.Options{Settings: map[string]string{}}
		if c.remember != "" {
			o.Settings["remember"] = c.remember
		}
		s := start(t, o)
		s.turn("p1", "t1")
		s.hear(item(false, "t1", `"type":"fileChange","id":"c0","changes":[{"path":"/w/a","kind":{"type":"add"},"diff":"x\n"}],"status":"inProgress"`),
			`{"id":0,"method":"item/fileChange/requestApproval","params":{"threadId":"thr-1","turnId":"t1","itemId":"c0"}}`)
		c.answer.Ask = s.ask().Ask
		s.submit(c.answer)
		if got := s.reply("0").Get("result", "decision").Text(); got != c.want {
			t.Errorf("%q, %+v: decision %q, want %q", c.remember, c.answer, got, c.want)
		}
	}
}

// Answered elsewhere: the ask is withdrawn, and a late answer writes nothing.
func TestResolvedElsewhere(t *testing.T) {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	s.hear(`{"id":7,"method":"item/commandExecution/requestApproval","params":{"threadId":"thr-1","turnId":"t1","itemId":"c0","command":"ls"}}`)
	key := s.ask().Ask
	s.hear(`{"method":"serverRequest/resolved","params":{"threadId":"thr-1","requestId":7}}`)
	if !slices.Contains(s.took, key) {
		t.Errorf("withdrawn %q, want %q", s.took, key)
	}
	if _, err := s.proto.Submit(s.now, adapters.Answer{Ask: key, Decision: contract.AllowOnce}); err == nil || s.reply("7") != nil {
		t.Errorf("a late answer: %v, %s", err, s.reply("7"))
	}
}

// A request for a thread that is not ours is not asked here.
func TestForeignThread(t *testing.T) {
	s := start(t, adapters.Options{})
	s.turn("p1", "t1")
	drafts := len(s.drafts)
	s.hear(`{"id":7,"method":"item/commandExecution/requestApproval","params":{"threadId":"other","turnId":"t9","itemId":"c0","command":"rm -rf /"}}`,
		`{"method":"item/completed","params":{"threadId":"other","turnId":"t9","item":{"type":"agentMessage","id":"m","text":"not ours"}}}`)
	if len(s.drafts) != drafts {
		t.Errorf("told: %+v", s.drafts[drafts:])
	}
	if s.reply("7").Get("error") == nil {
		t.Error("the request is left unanswered")
	}
}

// A resume that fails has a code, and no command is on the wire after it.
func TestOpenFails(t *testing.T) {
	s := begin(t, adapters.Options{Resume: "gone"})
	s.answer("initialize", `{"userAgent":"x/1 "}`)
	s.refuse("thread/resume", "no rollout found for thread id gone")
	if o := s.done["open"]; o.Err == nil || o.Err.Code != contract.CodeSessionNotFound {
		t.Errorf("open = %+v", o.Err)
	}
	if _, err := s.proto.Submit(s.now, adapters.Prompt{ID: "p", Text: "x"}); err == nil {
		t.Error("a prompt without a session = nil error")
	}
}

// --continue takes the newest thread of the directory.
func TestContinue(t *testing.T) {
	s := begin(t, adapters.Options{Continue: true})
	s.answer("initialize", `{}`)
	if p := s.request("thread/list").Get("params"); p.Get("cwd").Text() != "/w" {
		t.Errorf("thread/list = %s", p)
	}
	s.answer("thread/list", `{"data":[{"id":"newest"},{"id":"older"}]}`)
	if p := s.request("thread/resume").Get("params"); p.Get("threadId").Text() != "newest" {
		t.Errorf("thread/resume = %s", p)
	}
}

// Launch refuses what Codex cannot do, and what would answer behind the host's back.
func TestLaunchRefuses(t *testing.T) {
	for _, r := range []adapters.LaunchRequest{
		{Options: adapters.Options{Mode: "bypassPermissions"}},
		{Options: adapters.Options{Mode: "nonsense"}},
		{Options: adapters.Options{MaxTurns: 3}},
		{Options: adapters.Options{BudgetUSD: 1}},
		{Options: adapters.Options{AllowedTools: []string{"x"}}},
		{Options: adapters.Options{Resume: "a", Continue: true}},
		{Options: adapters.Options{ForkAt: "a"}},
		{Options: adapters.Options{Settings: map[string]string{"nonsense": "1"}}},
		{Options: adapters.Options{MCPServers: []adapters.MCPServer{{Name: "x", Transport: "sse"}}}},
		{Args: []string{"--dangerously-bypass-approvals-and-sandbox"}},
		{Args: []string{"-c", `approval_policy="never"`}},
		{Args: []string{"-c", "sandbox_mode=danger-full-access"}},
	} {
		if l, err := codex.New().Launch(r); err == nil {
			t.Errorf("Launch(%+v) = %+v, want an error", r, l)
		}
	}
}

// What the translator relies on is pinned on the command line, which says nothing else.
func TestLaunchFeatures(t *testing.T) {
	l, err := codex.New().Launch(adapters.LaunchRequest{
		Options: adapters.Options{Mode: "acceptEdits", Model: "m", MCPServers: []adapters.MCPServer{{Name: "x", Transport: "stdio", Command: "secret"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "codex app-server -c features.unbounded_connection_retries=false -c features.instant_interrupt=false -c tools.update_plan.enabled=true"
	if got := strings.Join(l.Argv, " "); got != want {
		t.Errorf("argv = %s, want %s", got, want)
	}
	if !slices.Contains(l.Env, adapters.Pair{Name: "LOG_FORMAT", Value: "json"}) {
		t.Errorf("env = %v", l.Env)
	}
}

// Rewind is claimed for threads that can be reverted, and no operation of others.
func TestCapabilities(t *testing.T) {
	for history, want := range map[string]bool{"paginated": true, "legacy": false} {
		s := begin(t, adapters.Options{})
		s.answer("initialize", `{}`)
		s.answer("thread/start", `{"thread":{"id":"thr-1","historyMode":"`+history+`"}}`)
		if got := slices.Contains(s.proto.Capabilities(), session.CapRewind); got != want {
			t.Errorf("%s: rewind claimed %v, want %v", history, got, want)
		}
		if _, err := s.proto.Submit(s.now, adapters.Op{ID: "r", Name: "rewind", Params: []byte(`{"to":"p"}`)}); errors.Is(err, adapters.ErrUnsupported) == want {
			t.Errorf("%s: rewind = %v", history, err)
		}
	}
}

// A compaction is done with its turn.
func TestCompact(t *testing.T) {
	for _, c := range []struct {
		body   string
		status string
		code   contract.ErrorCode
	}{
		{`"type":"contextCompaction","id":"i"`, "completed", ""},
		{`"type":"agentMessage","id":"i","text":"no"`, "interrupted", contract.CodeAgentError},
	} {
		s := start(t, adapters.Options{})
		s.submit(adapters.Op{ID: "c", Name: "compact"})
		s.answer("thread/compact/start", `{}`)
		if _, over := s.done["c"]; over {
			t.Error("the operation is over before its turn")
		}
		s.hear(`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"t1"}}}`, item(true, "t1", c.body))
		s.completed("t1", c.status)
		o, over := s.done["c"]
		if !over || c.code == "" && o.Err != nil || c.code != "" && (o.Err == nil || o.Err.Code != c.code) {
			t.Errorf("%s: outcome = %+v %v", c.status, o, over)
		}
	}
}
