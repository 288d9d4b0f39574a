package claude_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/claude"
	"github.com/agenthost/agenthost/contract"
)

// The cases of the bug log about Claude Code. The files of testdata/bugs are what
// a fake agent prints; each is one turn after a prompt.

func TestBugFiles(t *testing.T) {
	for name, want := range map[string]string{
		// One event in the middle of another's line: two fragments, one notice, the
		// text from the result.
		"B009-midline": `
			turn-start [p]
			service error protocol
			"part one of the answer and part two of the answer"
			turn-end completed`,
		"B015-surrogate": `
			turn-start [p]
			call toolu_1 bash
			end toolu_1 completed
			"text with ` + "\ufffd" + ` inside"
			turn-end completed`,
		"B017-rawbytes": `
			turn-start [p]
			call toolu_1 bash
			end toolu_1 completed
			"it printed ` + "\ufffd\ufffd" + `"
			turn-end completed`,
		"B019-ratelimit": `
			turn-start [p]
			"Hi."
			turn-end completed`,
		"B020-unknownmix": `
			turn-start [p]
			"known text"
			turn-end completed`,
		"B025-iserror": `
			turn-start [p]
			turn-end failed auth-required`,
		"B029-emptyresult": `
			turn-start [p]
			"The real answer."
			call toolu_1 todo
			end toolu_1 completed
			turn-end completed`,
		"B074-partial": `
			turn-start [p]
			"ECHO"
			call toolu_1 bash
			end toolu_1 completed
			"second"
			"same"
			"same"
			turn-end completed`,
		"B084-opentool": `
			turn-start [p]
			"running two"
			call toolu_1 bash
			call toolu_2 bash
			end toolu_1 completed
			end toolu_2 error
			turn-end failed agent-error`,
		"B090-blocks": `
			turn-start [p]
			"two at once"
			call toolu_1 bash
			call toolu_2 read
			end toolu_1 completed
			end toolu_2 completed
			call toolu_3 bash
			end toolu_3 error
			turn-end completed`,
		"B092-subend": `
			turn-start [p]
			call toolu_A task
			agent toolu_A "Look" of toolu_A
			toolu_A: "sub says hi"
			toolu_A: call toolu_B bash
			toolu_A: end toolu_B completed
			toolu_A: "sub final"
			stop toolu_A
			end toolu_A completed
			"main synthesis"
			turn-end completed`,
		"B095-inputdelta": `
			turn-start [p]
			"let me "
			call toolu_A bash
			call toolu_B read
			end toolu_A completed
			end toolu_B completed
			turn-end completed`,
		"B096-streamparent": `
			turn-start [p]
			call toolu_A task
			agent toolu_A "Look" of toolu_A
			toolu_A: call toolu_C grep
			toolu_A: end toolu_C completed
			stop toolu_A
			end toolu_A completed
			"ok"
			turn-end completed`,
		"B098-blocksusage": `
			turn-start [p]
			thinks "t"
			"x"
			call toolu_1 bash
			end toolu_1 completed
			turn-end completed`,
		// The same diagnostic without any abort of ours is a failure.
		"B107-ede": `
			turn-start [p]
			"partial"
			turn-end failed agent-error`,
		"B213-compact": `
			turn-start [p]
			service compaction
			turn-end completed`,
		"B216-apiretry": `
			turn-start [p]
			service retry overloaded
			service retry overloaded
			service retry overloaded
			"worked in the end"
			turn-end completed`,
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, adapters.Options{})
			s.prompt("p")
			s.file(name)
			s.says(want)
			for _, e := range s.stream() {
				b, err := contract.Encode(e)
				if err != nil || !utf8.Valid(b) || bytes.Contains(b, []byte(`\ud`)) {
					t.Errorf("envelope %s, %v: want valid UTF-8 without unpaired surrogates", b, err)
				}
			}
		})
	}
}

// B001: lines of 1.5 and 8 MiB are read whole, and the picture is not copied.
func TestBugBigLine(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	for _, size := range []int{3 << 19, 8 << 20} {
		s.hear(
			`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"toolu_big","name":"Read","input":{"file_path":"/w/a.png"}}]},"parent_tool_use_id":null}`,
			`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_big","type":"tool_result","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`+
				strings.Repeat("A", size)+`"}}]}]},"parent_tool_use_id":null}`)
	}
	s.hear(`{"type":"result","subtype":"success","is_error":false,"result":"image read"}`)
	s.says(`
		turn-start [p]
		call toolu_big read
		end toolu_big completed
		call toolu_big read
		end toolu_big completed
		"image read"
		turn-end completed`)
	for _, end := range only[contract.ToolCallEnd](s) {
		if len(end.Result.Output) > 200 || !bytes.Contains(end.Result.Output, []byte(`"image/png"`)) {
			t.Errorf("output = %d bytes %.80s, want the picture named by its type", len(end.Result.Output), end.Result.Output)
		}
	}
}

// B002: a line over the cap is dropped with one notice; both turns end.
func TestBugOverCap(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p1")
	s.hear(`{"type":"system","subtype":"init","session_id":"x"}`)
	step, err := s.proto.Receive(s.now, adapters.Frame{Dropped: 70 << 20})
	if err == nil {
		t.Error("Receive of a dropped line = nil error")
	}
	s.apply(step)
	s.hear(`{"type":"result","subtype":"success","is_error":false,"result":"one"}`)
	s.prompt("p2")
	s.hear(`{"type":"result","subtype":"success","is_error":false,"result":"two"}`)
	s.says(`
		turn-start [p1]
		service error protocol
		"one"
		turn-end completed
		turn-start [p2]
		"two"
		turn-end completed`)
}

// B028: nothing on stdout, the reason on stderr.
func TestBugNoResult(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.exit(adapters.ExitStatus{Code: 52, Stderr: "Please set an Auth method in your settings or specify one of: X_API_KEY"})
	s.says(`
		turn-start [p]
		turn-end failed auth-required`)
	if msg := only[contract.TurnEnd](s)[0].Error.Message; !strings.Contains(msg, "Auth method") {
		t.Errorf("error = %q, want the end of stderr", msg)
	}
}

// B029, second case, and B092, second case: text, then the end without a result.
func TestBugEndWithoutResult(t *testing.T) {
	for _, status := range []adapters.ExitStatus{{Code: 0}, {Code: 137}, {Code: -1, Signal: "SIGKILL"}} {
		s := start(t, adapters.Options{})
		s.prompt("p")
		s.hear(`{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"The real answer."}]}}`)
		s.exit(status)
		s.says(`
			turn-start [p]
			"The real answer."
			turn-end failed agent-exited`)
	}
}

// B034: the agent starts a turn itself; nothing is glued to the one before, and
// it does not close the next one.
func TestBugSelfTurn(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p1")
	s.hear(
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"started it in the background"}]}}`,
		`{"type":"result","subtype":"success","is_error":false,"result":"started it in the background"}`,
		`{"type":"system","subtype":"task_notification","task_id":"a1","tool_use_id":"toolu_9","status":"completed","summary":"background done"}`,
		`{"type":"assistant","message":{"id":"m7","content":[{"type":"text","text":"The background task finished."}]}}`,
		`{"type":"result","subtype":"success","is_error":false,"result":"The background task finished."}`)
	s.prompt("p2")
	s.hear(
		`{"type":"assistant","message":{"id":"m8","content":[{"type":"text","text":"second prompt answered"}]}}`,
		`{"type":"result","subtype":"success","is_error":false,"result":"second prompt answered"}`)
	s.says(`
		turn-start [p1]
		"started it in the background"
		turn-end completed
		turn-start []
		"The background task finished."
		turn-end completed
		turn-start [p2]
		"second prompt answered"
		turn-end completed`)
}

const (
	bashCall = `{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"touch /tmp/x","description":"make a file"}}]},"parent_tool_use_id":null}`
	bashAsk  = `{"type":"control_request","request_id":"rq-1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"touch /tmp/x","description":"make a file"},"tool_use_id":"toolu_1","permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}]}}`
)

// B035: an allow echoes the exact input.
func TestBugAllowEchoes(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(bashCall, bashAsk)
	s.submit(adapters.Answer{Ask: "rq-1", Decision: contract.AllowOnce})
	if got, want := string(s.answered("rq-1")[0].Get("response")),
		`{"behavior":"allow","updatedInput":{"command":"touch /tmp/x","description":"make a file"}}`; got != want {
		t.Errorf("answered %s, want %s", got, want)
	}
}

// B037: a plan of 60 KB with everything that encoders like to rewrite comes back
// byte for byte; what people see may be shorter; leaving plan mode is told.
func TestBugPlanEchoes(t *testing.T) {
	plan := strings.Repeat(`- step with \"quotes\", unicode é 中 \u00e9 \u2028 and <tags> & 1.0e1\n`, 900)
	input := `{ "plan" : "` + plan + `", "n":1.0, "big":12345678901234567890, "planFilePath":"\/x" }`
	s := start(t, adapters.Options{Mode: "plan"})
	s.reply(s.request("initialize"), `{}`) // late and unknown: ignored
	s.hear(`{"type":"system","subtype":"status","permissionMode":"plan"}`)
	s.drafts = nil
	s.prompt("p")
	s.hearf(`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"toolu_1","name":"ExitPlanMode","input":%s}]}}`, input)
	s.hearf(`{"type":"control_request","request_id":"rq-1","request":{"subtype":"can_use_tool","tool_name":"ExitPlanMode","input":%s,"tool_use_id":"toolu_1","requires_user_interaction":true}}`, input)
	s.submit(adapters.Answer{Ask: "rq-1", Decision: contract.AllowAlways})
	if got := string(s.answered("rq-1")[0].Get("response", "updatedInput")); got != input {
		t.Errorf("echoed %d bytes, want the %d bytes that were asked about", len(got), len(input))
	}
	s.hear(`{"type":"system","subtype":"status","status":null,"permissionMode":"default"}`)
	s.says(`
		turn-start [p]
		call toolu_1 plan
		ask rq-1 toolu_1 plan
		agent config default`)
}

// B039: a withdrawn request is withdrawn; a late answer is an error and writes
// nothing.
func TestBugWithdrawn(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(bashCall, bashAsk, `{"type":"control_cancel_request","request_id":"rq-1"}`)
	if len(s.took) != 1 || s.took[0] != "rq-1" {
		t.Errorf("withdrew %q, want rq-1", s.took)
	}
	s.refused(adapters.Answer{Ask: "rq-1", Decision: contract.AllowOnce})
	if got := s.answered("rq-1"); len(got) != 0 {
		t.Errorf("answered %s after the withdrawal", got)
	}
}

// B046: nobody answers: nothing is allowed, however long it takes.
func TestBugNoAnswer(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(bashCall, bashAsk)
	for range 100 {
		s.tick(1e9 * 3600)
	}
	if got := s.answered("rq-1"); len(got) != 0 {
		t.Errorf("answered %s by itself", got)
	}
}

// B047: a rejection does not interrupt; the next call is asked for and runs.
func TestBugDenyOne(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(bashCall,
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"toolu_2","name":"Bash","input":{"command":"ls"}}]}}`, bashAsk)
	s.submit(adapters.Answer{Ask: "rq-1", Decision: contract.RejectOnce, Message: "not there"})
	if got, want := string(s.answered("rq-1")[0].Get("response")), `{"behavior":"deny","message":"not there"}`; got != want {
		t.Errorf("answered %s, want %s", got, want)
	}
	s.hear(`{"type":"user","message":{"content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"no","is_error":true}]}}`,
		`{"type":"control_request","request_id":"rq-2","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"toolu_2"}}`)
	s.submit(adapters.Answer{Ask: "rq-2", Decision: contract.AllowOnce})
	s.hear(`{"type":"user","message":{"content":[{"tool_use_id":"toolu_2","type":"tool_result","content":"a.txt"}]}}`,
		`{"type":"result","subtype":"success","is_error":false,"result":"one of two"}`)
	s.says(`
		turn-start [p]
		call toolu_1 bash
		call toolu_2 bash
		ask rq-1 toolu_1 bash
		end toolu_1 error
		ask rq-2 toolu_2 bash
		end toolu_2 completed
		"one of two"
		turn-end completed`)
}

// B049 and B053: one request gets one answer, whatever is tried.
func TestBugOneAnswer(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(bashCall, bashAsk, bashAsk)
	s.refused(adapters.Answer{Ask: "nope", Decision: contract.AllowOnce})
	s.submit(adapters.Answer{Ask: "rq-1", Decision: contract.RejectOnce})
	s.refused(adapters.Answer{Ask: "rq-1", Decision: contract.AllowOnce})
	s.refused(adapters.Answer{Ask: "rq-1", Decision: contract.AllowOnce})
	if got := s.answered("rq-1"); len(got) != 1 || got[0].Get("response", "behavior").Text() != "deny" {
		t.Errorf("answers %s, want one deny", got)
	}
}

// B056: stop with two open requests.
func TestBugStopPending(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(bashCall,
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"toolu_2","name":"Bash","input":{"command":"ls"}}]}}`, bashAsk,
		`{"type":"control_request","request_id":"rq-2","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"toolu_2"}}`)
	s.submit(adapters.Abort{})
	s.hear(`{"type":"control_cancel_request","request_id":"rq-1"}`, `{"type":"control_cancel_request","request_id":"rq-2"}`)
	s.reply(s.request("interrupt"), `{"still_queued":[]}`)
	s.hear(`{"type":"user","message":{"content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"rejected","is_error":true}]}}`,
		`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["[ede_diagnostic] x"],"terminal_reason":"aborted_tools"}`)
	s.says(`
		turn-start [p]
		call toolu_1 bash
		call toolu_2 bash
		ask rq-1 toolu_1 bash
		ask rq-2 toolu_2 bash
		end toolu_1 error
		end toolu_2 cancelled
		turn-end cancelled`)
	if len(s.answered("rq-1"))+len(s.answered("rq-2")) != 0 {
		t.Error("an interrupted request was answered")
	}
}

// B079: the CLI's own session file has the same messages; it is nobody's second
// reader. What comes from it is not told, so nothing is told twice.
func TestBugTwoReaders(t *testing.T) {
	data, err := os.ReadFile("testdata/bugs/B079-tworeaders.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	stream, file, _ := strings.Cut(string(data), "# same turn in the session file")
	s := start(t, adapters.Options{})
	s.prompt("p")
	for line := range strings.SplitSeq(stream, "\n") {
		s.hear(line)
		for line := range strings.SplitSeq(file, "\n") {
			step, err := s.proto.Receive(s.now, adapters.Frame{Source: adapters.LogFile, Data: []byte(line)})
			if err == nil {
				t.Errorf("a line of the session file was understood: %s", line)
			}
			s.apply(step)
		}
	}
	s.says(`
		turn-start [p]
		"only once please"
		turn-end completed`)
}

// B098: usage is the result's, not the sum over the lines.
func TestBugUsage(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.file("B098-blocksusage")
	u := only[contract.TurnEnd](s)[0].Usage
	if u == nil || u.InputTokens != 2252+500+9000 || u.OutputTokens != 180 || u.CacheReadTokens != 9000 ||
		u.CacheWriteTokens != 500 || u.Cost == nil || *u.Cost != 0.05 {
		t.Errorf("usage = %+v, want the result's", u)
	}
}

// B013: a line of more than 64 KiB, cut inside of a character on its way here: its text
// is the same byte for byte. internal/proc has the reader's half of it.
func TestBugSplitCharacter(t *testing.T) {
	data, err := os.ReadFile("../../internal/proc/testdata/B013-utf8split.bin")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, adapters.Options{})
	s.prompt("p")
	var want string
	for line := range strings.Lines(string(data)) {
		s.hear(strings.TrimSuffix(line, "\n"))
		if _, rest, ok := strings.Cut(line, `{"type":"text","text":"`); ok {
			want, _, _ = strings.Cut(rest, `"`) // nothing in it is escaped
		}
	}
	got := only[contract.Text](s)
	if len(got) != 1 || got[0].Text != want || len(want) < 64<<10 || strings.ContainsRune(want, utf8.RuneError) {
		t.Errorf("%d texts, want one with the same %d bytes", len(got), len(want))
	}
}

// B095: pieces of two inputs come mixed; each call has its own, whole, and nothing of
// them is shown before.
func TestBugInputDeltas(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.file("B095-inputdelta")
	args := map[string]string{}
	for _, ev := range only[contract.ToolCallStart](s) {
		args[ev.Call] = string(ev.Args)
	}
	if args["toolu_A"] != `{"command":"a"}` || args["toolu_B"] != `{"file_path":"b"}` || len(args) != 2 {
		t.Errorf("args = %q", args)
	}
	for _, d := range s.live {
		if d.Text != "let me " {
			t.Errorf("shown live: %q", d.Text)
		}
	}
}

// B106: history that is copied into another session's file is counted by nobody: what
// a turn used is in its result.
func TestBugForkedHistory(t *testing.T) {
	data, err := os.ReadFile("testdata/bugs/B106-forkcost.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, adapters.Options{Fork: "00000000-0000-4000-b000-00000000000a"})
	s.prompt("p")
	for line := range strings.Lines(string(data)) {
		step, err := s.proto.Receive(s.now, adapters.Frame{Source: adapters.LogFile, Data: []byte(line)})
		if err == nil {
			t.Errorf("a line of the session file was understood: %s", line)
		}
		s.apply(step)
	}
	s.hear(`{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"third answer","total_cost_usd":0.75,
		"usage":{"input_tokens":10,"output_tokens":5},"model_usage_since_last_result":{"m":{"inputTokens":10,"outputTokens":5,"costUSD":0.25}}}`)
	s.says(`
		turn-start [p]
		"third answer"
		turn-end completed`)
	if u := only[contract.TurnEnd](s)[0].Usage; u == nil || u.InputTokens != 10 || u.OutputTokens != 5 || *u.Cost != 0.25 {
		t.Errorf("usage = %+v, want the third answer's alone", u)
	}
}

// B106: a resumed or forked session goes on with a total that it did not use:
// its first cost of an old version is not known, the next are differences.
func TestBugResumedCost(t *testing.T) {
	s := start(t, adapters.Options{Fork: "5e55"})
	for i, total := range []string{"1.25", "1.375"} {
		s.prompt(string(rune('a' + i)))
		s.hearf(`{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"x","total_cost_usd":%s,"usage":{"input_tokens":10,"output_tokens":5}}`, total)
	}
	ends := only[contract.TurnEnd](s)
	if ends[0].Usage.Cost != nil || ends[0].Usage.InputTokens != 10 {
		t.Errorf("first usage = %+v, want 10 tokens and no cost", ends[0].Usage)
	}
	if c := ends[1].Usage.Cost; c == nil || *c != 0.125 {
		t.Errorf("second cost = %v, want 0.125", c)
	}
}

// B107: our abort makes the diagnostic result a cancelled turn without a text.
func TestBugInterrupted(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(`{"type":"stream_event","event":{"type":"message_start","message":{"id":"msg_01","model":"m","content":[]}},"parent_tool_use_id":null}`,
		`{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}},"parent_tool_use_id":null}`)
	s.submit(adapters.Abort{})
	s.reply(s.request("interrupt"), `{"still_queued":[]}`)
	s.hear(`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]},"parent_tool_use_id":null}`,
		`{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":2,"result":"","errors":["[ede_diagnostic] result_type=user"],"terminal_reason":"aborted_streaming"}`)
	s.says(`
		turn-start [p]
		turn-end cancelled`)
	if end := only[contract.TurnEnd](s)[0]; end.Error != nil {
		t.Errorf("error = %v, want none", end.Error)
	}
}

// B112: an interrupt while idle waits for nothing; the next prompt works.
func TestBugIdleInterrupt(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p1")
	s.hear(`{"type":"result","subtype":"success","is_error":false,"result":"done"}`)
	s.submit(adapters.Abort{})
	s.reply(s.request("interrupt"), `{"still_queued":[]}`)
	if !s.wake.IsZero() {
		t.Error("waits for something after an idle interrupt")
	}
	s.prompt("p2")
	s.hear(`{"type":"result","subtype":"success","is_error":false,"result":"next"}`)
	s.says(`
		turn-start [p1]
		"done"
		turn-end completed
		turn-start [p2]
		"next"
		turn-end completed`)
}

// B115: two messages of the middle of a turn become one turn of both.
func TestBugMerged(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p1")
	s.hear(`{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"working on 1"}]}}`)
	s.submit(adapters.Steer{ID: "s2", Text: "two"})
	s.submit(adapters.Steer{ID: "s3", Text: "three"})
	s.hear(`{"type":"result","subtype":"success","is_error":false,"result":"working on 1"}`)
	s.hearf(`{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"answer to both"}]},"user_message_uuids":[%q,%q]}`,
		claude.MessageUUID("s2"), claude.MessageUUID("s3"))
	s.hear(`{"type":"result","subtype":"success","is_error":false,"result":"answer to both"}`)
	s.says(`
		turn-start [p1]
		"working on 1"
		turn-end completed
		turn-start [s2 s3]
		"answer to both"
		turn-end completed`)
}

// B158: another session than the one asked for is told, and known from then on.
func TestBugOtherSession(t *testing.T) {
	s := start(t, adapters.Options{Resume: "00000000-0000-4000-b000-00000000000a"})
	s.prompt("p")
	s.file("B158-otherid")
	s.says(`
		turn-start [p]
		service notice session-not-found
		"fresh start, no context"
		turn-end completed`)
	if s.native != "00000000-0000-4000-b000-00000000000b" {
		t.Errorf("native session = %q, want the one to resume next", s.native)
	}
}

// B183: init may come after the first message, or at once.
func TestBugWhoSpeaksFirst(t *testing.T) {
	const initLine = `{"type":"system","subtype":"init","session_id":"00000000-0000-4000-8000-000000000001","model":"m","permissionMode":"default"}`
	answer := []string{
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"hello"}]}}`,
		`{"type":"result","subtype":"success","is_error":false,"result":"hello"}`,
	}
	for name, first := range map[string]bool{"init first": true, "init second": false} {
		t.Run(name, func(t *testing.T) {
			s := begin(t, adapters.Options{})
			if first {
				s.hear(initLine)
			} else {
				s.reply(s.request("initialize"), `{}`)
			}
			if o, ok := s.done["open"]; !ok || o.Err != nil {
				t.Fatalf("open = %+v, %v; want it done before any prompt", o, ok)
			}
			s.prompt("p")
			if !first {
				s.hear(initLine)
			}
			s.hear(answer...)
			s.says(`
				turn-start [p]
				"hello"
				turn-end completed`)
		})
	}
}

// B213: the compaction is told once, its texts are nobody's.
func TestBugCompaction(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.file("B213-compact")
	if got := only[contract.Service](s); len(got) != 1 || !strings.Contains(got[0].Text, "155000 tokens became 12000") {
		t.Errorf("services %+v, want one with the sizes", got)
	}
}
