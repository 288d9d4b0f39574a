package acp

import (
	"encoding/json/jsontext"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// askForm is what claude-agent-acp makes of AskUserQuestion, and a form of an MCP
// server's.
const askForm = `{"mode":"form","sessionId":"s","message":"Some questions","requestedSchema":{"type":"object","required":["age"],"properties":{` +
	`"question_0":{"type":"string","title":"Colour","description":"Which colour?","oneOf":[{"const":"Red","title":"Red","description":"warm"},{"const":"Blue","title":"Blue"}]},` +
	`"question_0_custom":{"type":"string","title":"Other"},` +
	`"many":{"type":"array","title":"Sizes","items":{"anyOf":[{"const":"S","title":"Small"},{"const":"L","title":"Large"}]}},` +
	`"many_custom":{"type":"string"},` +
	`"age":{"type":"integer"},"ok":{"type":"boolean"},"pin":{"type":"string","format":"password"},"size":{"type":"string","enum":["1","2"]}}}}`

func elicited(t *testing.T, params string) (*bench, contract.PermissionRequest) {
	t.Helper()
	b := plain(t)
	b.prompt()
	b.request(`"e-1"`, "elicitation/create", params)
	e, ok := b.drafts[len(b.drafts)-1].Event.(contract.PermissionRequest)
	if !ok {
		t.Fatalf("no ask: %s", b.story())
	}
	return b, e
}

func TestForm(t *testing.T) {
	b, e := elicited(t, askForm)
	if e.ToolName != "ask-user" || e.Question == nil || e.Question.Message != "Some questions" {
		t.Fatalf("ask %+v", e)
	}
	want := []contract.QuestionField{
		{ID: "question_0", Header: "Colour", Question: "Which colour?", Custom: true, Options: []contract.QuestionOption{{Label: "Red", Description: "warm", Value: "Red"}, {Label: "Blue", Value: "Blue"}}},
		{ID: "many", Header: "Sizes", Question: "Sizes", Multiple: true, Custom: true, Options: []contract.QuestionOption{{Label: "Small", Value: "S"}, {Label: "Large", Value: "L"}}},
		{ID: "age", Question: "age", Custom: true, Required: true},
		{ID: "ok", Question: "ok", Options: []contract.QuestionOption{{Label: "Yes", Value: "true"}, {Label: "No", Value: "false"}}},
		{ID: "pin", Question: "pin", Custom: true, Secret: true},
		{ID: "size", Question: "size", Options: []contract.QuestionOption{{Label: "1", Value: "1"}, {Label: "2", Value: "2"}}},
	}
	if len(e.Question.Questions) != len(want) {
		t.Fatalf("%d questions, want %d", len(e.Question.Questions), len(want))
	}
	for i, q := range e.Question.Questions {
		if q.Schema == nil {
			t.Errorf("question %s has no schema", q.ID)
		}
		q.Schema = nil
		if got, _ := jsonOf(q), 0; got != jsonOf(want[i]) {
			t.Errorf("question %s\nwant %s", got, jsonOf(want[i]))
		}
	}
	b.answerWith(adapters.Answer{Decision: contract.AllowOnce, Answers: jsontext.Value(`{"question_0":"Green","many":["S","XL"],"age":"42","ok":"yes","pin":"1\ud83d","size":["2"],"unknown":1}`)})
	m, _ := b.reply(`"e-1"`)
	if got := string(m.Result); got != `{"action":"accept","content":{"question_0_custom":"Green","many":["S"],"many_custom":"XL","age":42,"ok":true,"pin":"1`+"\ufffd"+`","size":"2"}}` {
		t.Errorf("answer %s", got)
	}
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	end := b.drafts[3].Event.(contract.ToolCallEnd)
	if end.Result.Status != contract.ToolCompleted || end.Result.Output != nil {
		t.Errorf("end %+v, want it without the answers: they may be secret", end.Result)
	}
}

func (b *bench) answerWith(a adapters.Answer) {
	b.t.Helper()
	a.Ask, b.asks = b.asks[0], b.asks[1:]
	b.submit(a)
}

func TestFormDeclined(t *testing.T) {
	for want, answer := range map[string]adapters.Answer{
		`{"action":"decline"}`: {Decision: contract.RejectOnce},
		`{"action":"cancel"}`:  {Decision: contract.RejectOnce, Cancelled: true},
	} {
		b, _ := elicited(t, askForm)
		b.answerWith(answer)
		if m, _ := b.reply(`"e-1"`); string(m.Result) != want {
			t.Errorf("answer %s, want %s", m.Result, want)
		}
	}
	b, _ := elicited(t, askForm)
	b.submit(adapters.Abort{})
	if m, _ := b.reply(`"e-1"`); string(m.Result) != `{"action":"cancel"}` {
		t.Errorf("answer at the stop %s", m.Result)
	}
	b, _ = elicited(t, askForm)
	b.line(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"e-1"}}`)
	if m, _ := b.reply(`"e-1"`); m.Err == nil || m.Err.Code != -32800 || len(b.asks) != 0 {
		t.Errorf("withdrawn: answer %+v, open %v", m, b.asks)
	}
}

func TestVisit(t *testing.T) {
	visit := `{"mode":"url","sessionId":"s","message":"Log in to X","url":"https://x.example/a","elicitationId":"v"}`
	b, e := elicited(t, visit)
	if e.Question.Message != "Log in to X\n\nhttps://x.example/a" || len(e.Question.Questions) != 0 {
		t.Errorf("question %+v", e.Question)
	}
	b.answerWith(adapters.Answer{Decision: contract.AllowOnce})
	if m, _ := b.reply(`"e-1"`); string(m.Result) != `{"action":"accept"}` {
		t.Errorf("answer %s", m.Result)
	}
	b, _ = elicited(t, visit)
	b.line(`{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"v"}}`)
	if m, _ := b.reply(`"e-1"`); string(m.Result) != `{"action":"accept"}` || len(b.asks) != 0 {
		t.Errorf("done on the page: answer %s, open %v", m.Result, b.asks)
	}
}

func TestElicitationElsewhere(t *testing.T) {
	b := newBench(t, fake, adapters.Options{})
	b.submit(adapters.Open{ID: "open"})
	b.request("1", "elicitation/create", askForm)
	if m, ok := b.reply("1"); !ok || string(m.Result) != `{"action":"cancel"}` {
		t.Errorf("before the session: %s", m.Result)
	}
	b = plain(t)
	b.prompt()
	b.request("1", "elicitation/create", `{"mode":"telepathy","message":"x"}`)
	if m, ok := b.reply("1"); !ok || string(m.Result) != `{"action":"cancel"}` {
		t.Errorf("unknown mode: %s", m.Result)
	}
	// A question about a tool call hangs on it.
	b.update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"ls","kind":"execute","status":"in_progress","rawInput":{"command":"ls"}}`)
	b.request("2", "elicitation/create", `{"mode":"form","sessionId":"s","toolCallId":"t","message":"x","requestedSchema":{}}`)
	b.answer(contract.AllowOnce)
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`)
	b.want(`turn-start p1 | start t bash {"command":"ls"} | ask t | end t completed`)
}
