package claude_test

import (
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

const suggestions = `"permission_suggestions":[
	{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"npm run:*"},{"toolName":"Bash","ruleContent":"echo (x)"},{"toolName":"Read","ruleContent":"//etc/**"},{"toolName":"Read","ruleContent":"/rel/**"},{"toolName":"mcp__a__b"},{"toolName":"WebSearch"},{"toolName":"Bash"}],"behavior":"allow","destination":"localSettings"},
	{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"rm"}],"behavior":"deny","destination":"session"},
	{"type":"addDirectories","directories":["/w"],"destination":"session"},
	{"type":"setMode","mode":"acceptEdits","destination":"session"}]`

// asking is a session in which one request is open.
func asking(t *testing.T, o adapters.Options, members string) *session {
	s := start(t, o)
	s.prompt("p")
	s.hear(bashCall)
	line := fmt.Sprintf(`{"type":"control_request","request_id":"rq-1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"touch /tmp/x"},"tool_use_id":"toolu_1"%s}}`, members)
	s.hear(string(compacted(line)))
	return s
}

func compacted(s string) jsontext.Value {
	v := jsontext.Value(s)
	if err := v.Compact(); err != nil {
		panic(err) // the test's own JSON
	}
	return v
}

func TestPermissionRequest(t *testing.T) {
	s := asking(t, adapters.Options{}, `,"blocked_path":"/tmp/x","decision_reason":"outside","description":"make a file",`+suggestions)
	ev := only[contract.PermissionRequest](s)[0]
	if want := []string{"bash(npm run *)", "read(/etc/**)", "mcp(a/b)", "web-search(*)"}; !slices.Equal(ev.Always, want) {
		t.Errorf("always = %q, want %q", ev.Always, want)
	}
	if want := "`touch /tmp/x`\noutside\nConcerns `/tmp/x`"; ev.Description != want {
		t.Errorf("description = %q, want %q", ev.Description, want)
	}
	var decisions []contract.Decision
	for _, o := range ev.Options {
		decisions = append(decisions, o.Decision)
	}
	if want := []contract.Decision{contract.AllowOnce, contract.AllowAlways, contract.RejectOnce}; !slices.Equal(decisions, want) {
		t.Errorf("options = %q, want %q", decisions, want)
	}
	for _, members := range []string{`,"requires_user_interaction":true`, `,"suppress_always_allow_rule":true`} {
		s := asking(t, adapters.Options{}, members)
		if n := len(only[contract.PermissionRequest](s)[0].Options); n != 2 {
			t.Errorf("%s: %d options, want no allow-always", members, n)
		}
	}
}

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		options adapters.Options
		answer  adapters.Answer
		want    string
	}{
		"once":      {adapters.Options{}, adapters.Answer{Decision: contract.AllowOnce}, `{"behavior":"allow","updatedInput":{"command":"touch /tmp/x"}}`},
		"edited":    {adapters.Options{}, adapters.Answer{Decision: contract.AllowOnce, Args: jsontext.Value("{\n \"command\": \"ls\" }")}, `{"behavior":"allow","updatedInput":{"command":"ls"}}`},
		"always":    {adapters.Options{}, adapters.Answer{Decision: contract.AllowAlways}, `{"behavior":"allow","updatedInput":{"command":"touch /tmp/x"}}`},
		"reject":    {adapters.Options{}, adapters.Answer{Decision: contract.RejectOnce}, `{"behavior":"deny","message":"The user rejected this."}`},
		"because":   {adapters.Options{}, adapters.Answer{Decision: contract.RejectAlways, Message: "no \"way\""}, `{"behavior":"deny","message":"no \"way\""}`},
		"nobody":    {adapters.Options{}, adapters.Answer{Decision: contract.AllowOnce, Cancelled: true}, `{"behavior":"deny","message":"Nobody decided about this request. It was not allowed."}`},
		"nonsense":  {adapters.Options{}, adapters.Answer{Decision: "perhaps"}, `{"behavior":"deny","message":"The user rejected this."}`},
		"remember":  {adapters.Options{Settings: map[string]string{"remember": "agent"}}, adapters.Answer{Decision: contract.AllowAlways}, `{"behavior":"allow","updatedInput":{"command":"touch /tmp/x"},"updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch:*"}],"behavior":"allow","destination":"session"}]}`},
		"not asked": {adapters.Options{Settings: map[string]string{"remember": "agent"}}, adapters.Answer{Decision: contract.AllowOnce}, `{"behavior":"allow","updatedInput":{"command":"touch /tmp/x"}}`},
	} {
		s := asking(t, c.options, `,"permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch:*"}],"behavior":"allow","destination":"session"},{"type":"setMode","mode":"acceptEdits","destination":"session"}]`)
		c.answer.Ask = "rq-1"
		s.submit(c.answer)
		if got := string(s.answered("rq-1")[0].Get("response")); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
	s := asking(t, adapters.Options{}, ``)
	s.refused(adapters.Answer{Ask: "rq-1", Decision: contract.AllowOnce, Args: jsontext.Value(`[1]`)})
	s.refused(adapters.Answer{Ask: "rq-1", Decision: contract.AllowOnce, Args: jsontext.Value(`{`)})
	s.submit(adapters.Answer{Ask: "rq-1", Decision: contract.AllowOnce})
}

// A request for a call that nobody announced announces it; one that cannot be
// read is refused.
func TestOddRequests(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(`{"type":"control_request","request_id":"a","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"},"tool_use_id":"toolu_9"}}`,
		`{"type":"control_request","request_id":"b","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"}}}`,
		`{"type":"control_request","request_id":"c","request":{"subtype":"can_use_tool","tool_name":"Bash","input":"ls","tool_use_id":"t"}}`,
		`{"type":"control_request","request_id":"d","request":{"subtype":"can_use_tool","input":{},"tool_use_id":"t"}}`)
	s.submit(adapters.Answer{Ask: "b", Decision: contract.AllowOnce})
	s.says(`
		turn-start [p]
		call toolu_9 bash
		ask a toolu_9 bash
		call ask-b bash
		ask b ask-b bash
		service error protocol
		service error protocol
		end ask-b`)
	for _, id := range []string{"c", "d"} {
		if got := s.answered(id); len(got) != 1 || got[0].Get("response", "behavior").Text() != "deny" {
			t.Errorf("%s answered %s, want a deny", id, got)
		}
	}
	s.stream()
}

// The end of a turn leaves no request of the CLI without an answer.
func TestTurnEndsWhileAsking(t *testing.T) {
	s := asking(t, adapters.Options{}, ``)
	s.hear(ended)
	if got := s.answered("rq-1"); len(got) != 1 || got[0].Get("response", "behavior").Text() != "deny" {
		t.Errorf("answered %s, want a deny", got)
	}
	s.refused(adapters.Answer{Ask: "rq-1", Decision: contract.AllowOnce})
}

func TestQuestion(t *testing.T) {
	const questions = `{"questions":[{"question":"Which colour?","header":"Colour","options":[{"label":"Red","description":"warm"},{"label":"Blue"}],"multiSelect":true},{"question":"Why?","header":"Why","options":[]}],"x":1.0}`
	for name, c := range map[string]struct {
		answer adapters.Answer
		want   string
	}{
		"by id":   {adapters.Answer{Decision: contract.AllowOnce, Answers: jsontext.Value(`{"q1":["Red","Blue"],"q2":"so"}`)}, `{"behavior":"allow","updatedInput":` + questions[:len(questions)-1] + `,"answers":{"Which colour?":"Red, Blue","Why?":"so"}}}`},
		"by text": {adapters.Answer{Decision: contract.AllowOnce, Answers: jsontext.Value(`{"Why?":7}`)}, `{"behavior":"allow","updatedInput":` + questions[:len(questions)-1] + `,"answers":{"Why?":"7"}}}`},
		"none":    {adapters.Answer{Decision: contract.AllowOnce}, `{"behavior":"allow","updatedInput":` + questions[:len(questions)-1] + `,"answers":{}}}`},
		"free":    {adapters.Answer{Decision: contract.AllowOnce, Message: "neither"}, `{"behavior":"allow","updatedInput":` + questions[:len(questions)-1] + `,"answers":{},"response":"neither"}}`},
		"skipped": {adapters.Answer{Decision: contract.RejectOnce}, `{"behavior":"deny","message":"The user rejected this."}`},
	} {
		s := start(t, adapters.Options{})
		s.prompt("p")
		s.hearf(`{"type":"control_request","request_id":"rq-1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":%s,"tool_use_id":"toolu_1"}}`, questions)
		q := only[contract.PermissionRequest](s)[0].Question
		if q == nil || len(q.Questions) != 2 || !q.Questions[0].Multiple || !q.Questions[0].Custom || q.Questions[0].Options[0].Description != "warm" {
			t.Fatalf("question = %+v", q)
		}
		c.answer.Ask = "rq-1"
		s.submit(c.answer)
		if got := string(s.answered("rq-1")[0].Get("response")); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hearf(`{"type":"control_request","request_id":"rq-1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":%s,"tool_use_id":"toolu_1"}}`, questions)
	s.refused(adapters.Answer{Ask: "rq-1", Decision: contract.AllowOnce, Answers: jsontext.Value(`{"q9":"x"}`)})
	s.refused(adapters.Answer{Ask: "rq-1", Decision: contract.AllowOnce, Answers: jsontext.Value(`["x"]`)})
}

func TestElicitation(t *testing.T) {
	const schema = `{"type":"object","required":["n"],"properties":{
		"n":{"type":"integer","title":"Number","description":"how many"},"f":{"type":"number"},"b":{"type":"boolean"},
		"e":{"type":"string","enum":["a","b"],"enumNames":["A","B"]},"o":{"type":"string","oneOf":[{"const":"x","title":"X"},{"const":"y"}]},
		"l":{"type":"array","items":{"type":"string","enum":["p","q"]}},"s":{"type":"string"}}}`
	line := string(compacted(`{"type":"control_request","request_id":"el","request":{"subtype":"elicitation","mcp_server_name":"lab","message":"Tell me","mode":"form","requested_schema":` + schema + `}}`))
	for name, c := range map[string]struct {
		answer adapters.Answer
		want   string
	}{
		"typed":     {adapters.Answer{Decision: contract.AllowOnce, Answers: jsontext.Value(`{"n":"3","f":"1.5","b":"true","e":"a","o":"x","l":"p","s":"7"}`)}, `{"action":"accept","content":{"n":3,"f":1.5,"b":true,"e":"a","o":"x","l":["p"],"s":"7"}}`},
		"as given":  {adapters.Answer{Decision: contract.AllowOnce, Answers: jsontext.Value(`{"n":3,"b":false,"l":["p","q"]}`)}, `{"action":"accept","content":{"n":3,"b":false,"l":["p","q"]}}`},
		"not typed": {adapters.Answer{Decision: contract.AllowOnce, Answers: jsontext.Value(`{"n":"three","b":"maybe"}`)}, `{"action":"accept","content":{"n":"three","b":"maybe"}}`},
		"declined":  {adapters.Answer{Decision: contract.RejectOnce}, `{"action":"decline"}`},
		"cancelled": {adapters.Answer{Decision: contract.RejectOnce, Cancelled: true}, `{"action":"cancel"}`},
	} {
		s := start(t, adapters.Options{})
		s.prompt("p")
		s.hear(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"mcp__lab__order","input":{}}]}}`, line)
		ev := only[contract.PermissionRequest](s)[0]
		if ev.Call != "t1" || ev.ToolName != "ask-user" || ev.Question.Message != "Tell me" || len(ev.Question.Questions) != 7 {
			t.Fatalf("ask = %+v", ev)
		}
		if n := ev.Question.Questions[0]; n.ID != "n" || n.Header != "Number" || n.Question != "how many" || !n.Required || !n.Custom {
			t.Errorf("field = %+v", n)
		}
		if e := ev.Question.Questions[3]; len(e.Options) != 2 || e.Options[1].Label != "B" || e.Options[1].Value != "b" || e.Custom {
			t.Errorf("field = %+v", e)
		}
		c.answer.Ask = "el"
		s.submit(c.answer)
		if got := string(s.answered("el")[0].Get("response")); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
	// Without a call of that server it gets one of its own; a link is shown.
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(`{"type":"control_request","request_id":"el","request":{"subtype":"elicitation","mcp_server_name":"lab","message":"Log in","mode":"url","url":"https://x.example"}}`)
	if q := only[contract.PermissionRequest](s)[0].Question; q.Message != "Log in\nhttps://x.example" {
		t.Errorf("message = %q", q.Message)
	}
	s.submit(adapters.Answer{Ask: "el", Decision: contract.AllowOnce})
	s.says(`
		turn-start [p]
		call elicitation-el ask-user
		ask el elicitation-el ask-user
		end elicitation-el`)
}

// A form that the turn leaves open is cancelled, and the call made for it ends.
func TestElicitationLeftOpen(t *testing.T) {
	s := start(t, adapters.Options{})
	s.prompt("p")
	s.hear(`{"type":"control_request","request_id":"el","request":{"subtype":"elicitation","mcp_server_name":"lab","message":"Log in"}}`, ended)
	if got := string(s.answered("el")[0].Get("response")); got != `{"action":"cancel"}` {
		t.Errorf("answered %s", got)
	}
	if len(s.took) != 1 || len(only[contract.ToolCallEnd](s)) != 1 {
		t.Errorf("withdrew %q and ended %d calls, want one each", s.took, len(only[contract.ToolCallEnd](s)))
	}
	s.stream()
}
