package contract_test

import (
	"encoding/json/jsontext"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

func TestValidate(t *testing.T) {
	cost := func(f float64) *float64 { return &f }
	agent := func(ev contract.Event) contract.Envelope {
		return contract.Envelope{ID: "a1", Time: 1, Role: contract.RoleAgent, Turn: "t1", Event: ev}
	}
	user := func(ev contract.Event) contract.Envelope {
		return contract.Envelope{ID: "a1", Time: 1, Role: contract.RoleUser, Event: ev}
	}
	noTurn := func(e contract.Envelope) contract.Envelope { e.Turn = ""; return e }
	inTurn := func(e contract.Envelope) contract.Envelope { e.Turn = "t1"; return e }
	sub := func(e contract.Envelope) contract.Envelope { e.Subagent = "s1"; return e }
	start := contract.ToolCallStart{Call: "c", Name: "bash", Title: "t", Description: "d"}
	named := func(name string) contract.ToolCallStart { s := start; s.Name = name; return s }
	request := contract.PermissionRequest{Call: "c", ToolName: "bash", Title: "t", Description: "d"}
	asking := func(q ...contract.QuestionField) contract.PermissionRequest {
		r := request
		r.Question = &contract.Question{Questions: q}
		return r
	}
	tests := []struct {
		name string
		e    contract.Envelope
		want string // in the extended profile, "" for none
	}{
		{"user text", user(contract.Text{Text: "hi"}), ""},
		{"agent text", agent(contract.Text{Text: "hi", Thinking: true}), ""},
		{"empty", contract.Envelope{}, `id: want cuid2, got ""; time: want Unix milliseconds from 1 to 253402300799999, got 0; role: want one of user, agent, got ""; ev: want event, got nothing`},
		{
			"ids",
			contract.Envelope{ID: "A1", Time: 1, Role: "agent", Turn: "t-1", Subagent: "sa_research", Event: contract.Abort{}},
			`id: want cuid2, got "A1"; turn: want cuid2, got "t-1"; subagent: want cuid2, got "sa_research"; role: want user for abort, got agent`,
		},
		{"very long id", contract.Envelope{ID: strings.Repeat("é", 40), Time: 1, Role: "user", Event: contract.Abort{}}, `id: want cuid2, got "` + strings.Repeat("é", 24) + `…"`},
		{"long id", contract.Envelope{ID: strings.Repeat("a", 33), Time: 1, Role: "user", Event: contract.Abort{}}, `id: want cuid2, got "` + strings.Repeat("a", 33) + `"`},
		{"far future", contract.Envelope{ID: "a1", Time: math.MaxInt64, Role: "user", Event: contract.Abort{}}, `time: want Unix milliseconds from 1 to 253402300799999, got 9223372036854775807`},
		{"role", contract.Envelope{ID: "a1", Time: 1, Role: "system", Event: contract.Abort{}}, `role: want one of user, agent, got "system"`},

		{"thinking user", user(contract.Text{Thinking: true}), "role: want agent for thinking text, got user"},
		{"steering agent", agent(contract.Text{Steer: true}), "role: want user for steer text, got agent"},
		{"agent's thinking that steers", agent(contract.Text{Thinking: true, Steer: true}), "role: want user for steer text, got agent"},
		{"user's thinking that steers", inTurn(user(contract.Text{Thinking: true, Steer: true})), "role: want agent for thinking text, got user"},
		{"steer with and without a turn", inTurn(user(contract.Text{Steer: true})), ""},
		{"user turn-start", noTurn(user(contract.TurnStart{})), "role: want agent for turn-start, got user"},
		{"user request", noTurn(user(request)), "role: want agent for permission-request, got user"},
		{"agent response", agent(contract.PermissionResponse{Call: "c", Decision: "allow-once"}), "role: want user for permission-response, got agent"},
		{"agent text without turn", noTurn(agent(contract.Text{})), "turn: want turn of the agent's text, got nothing"},
		{"agent call without turn", noTurn(agent(start)), "turn: want turn of the agent's tool-call-start, got nothing"},
		{"user text with turn", inTurn(user(contract.Text{})), `turn: want nothing on the user's text, got "t1"`},
		{"user file with turn", inTurn(user(contract.File{Ref: "r", Name: "n"})), `turn: want nothing on the user's file, got "t1"`},
		{"service outside a turn", noTurn(agent(contract.Service{})), ""},
		{"abort with turn", inTurn(user(contract.Abort{})), ""},
		{"sub-agent text", sub(agent(contract.Text{})), ""},
		{"sub-agent turn-end", sub(agent(contract.TurnEnd{Status: "failed"})), `subagent: want nothing on the agent's turn-end, got "s1"`},
		{"sub-agent of the user", sub(user(contract.Text{})), `subagent: want nothing on the user's text, got "s1"`},
		{"response to a sub-agent", sub(user(contract.PermissionResponse{Call: "c", Decision: "reject-always"})), ""},

		{"refs", user(contract.Text{Refs: []contract.FileRef{{Ref: "r"}, {Size: -1}}}), `ev.refs[1].ref: want text that is not empty, got ""; ev.refs[1].size: want integer >= 0, got -1`},
		{
			"file", user(contract.File{Size: -1, Image: &contract.Image{Width: -1, Height: -2}}),
			`ev.ref: want text that is not empty, got ""; ev.name: want text that is not empty, got ""; ev.size: want integer >= 0, got -1; ev.image.width: want integer >= 0, got -1; ev.image.height: want integer >= 0, got -2`,
		},
		{"turn status", agent(contract.TurnEnd{Status: "done"}), `ev.status: want one of completed, failed, cancelled, got "done"`},
		{
			"usage", agent(contract.TurnEnd{Status: "failed", Usage: &contract.Usage{InputTokens: -1, OutputTokens: -1, Cost: cost(math.NaN()), ReasoningTokens: -1, CacheReadTokens: -1, CacheWriteTokens: -1}}),
			`ev.usage.inputTokens: want integer >= 0, got -1; ev.usage.outputTokens: want integer >= 0, got -1; ev.usage.cost: want finite number >= 0, got NaN; ev.usage.reasoningTokens: want integer >= 0, got -1; ev.usage.cacheReadTokens: want integer >= 0, got -1; ev.usage.cacheWriteTokens: want integer >= 0, got -1`,
		},
		{"negative cost", agent(contract.TurnEnd{Status: "failed", Usage: &contract.Usage{Cost: cost(-0.5)}}), `ev.usage.cost: want finite number >= 0, got -0.5`},
		{"infinite cost", agent(contract.TurnEnd{Status: "failed", Usage: &contract.Usage{Cost: cost(math.Inf(1))}}), `ev.usage.cost: want finite number >= 0, got +Inf`},
		{
			"call", agent(contract.ToolCallStart{Args: jsontext.Value(`"x"`)}),
			`ev.call: want text that is not empty, got ""; ev.name: want name in lower case with hyphens, got ""; ev.title: want text that is not empty, got ""; ev.description: want text that is not empty, got ""; ev.args: want object, got string`,
		},
		{"broken args", agent(contract.ToolCallStart{Call: "c", Name: "bash", Title: "t", Description: "d", Args: jsontext.Value(`{`)}), `ev.args: want object, got invalid JSON "{"`},
		{"name in upper case", agent(named("Bash")), `ev.name: want name in lower case with hyphens, got "Bash"`},
		{"name with underscores", agent(named("apply_patch")), `ev.name: want name in lower case with hyphens, got "apply_patch"`},
		{"name with a space", agent(named("mcp/a/b c")), `ev.name: want name in lower case with hyphens, got "mcp/a/b c"`},
		{"MCP name", agent(named("mcp/GitHub/get_Issue")), ""},
		{
			"call end", agent(contract.ToolCallEnd{Result: &contract.ToolResult{Status: "ok", Output: jsontext.Value("x"), Files: []contract.FileDiff{{Status: "touched", Additions: -1, Deletions: -2}}}}),
			`ev.call: want text that is not empty, got ""; ev.result.status: want one of completed, error, cancelled, got "ok"; ev.result.output: want JSON value, got invalid JSON "x"; ev.result.files[0].path: want text that is not empty, got ""; ev.result.files[0].status: want one of added, modified, deleted, renamed, got "touched"; ev.result.files[0].additions: want integer >= 0, got -1; ev.result.files[0].deletions: want integer >= 0, got -2`,
		},
		{"service", agent(contract.Service{Kind: "warning", Code: "own-code"}), `ev.kind: want one of notice, error, retry, reconnect, compaction, got "warning"`},
		{"sub-agents", agent(contract.SubagentStart{AgentID: "sa_1"}), `ev.agentId: want cuid2, got "sa_1"`},
		{"sub-agent's stop", agent(contract.SubagentStop{}), `ev.agentId: want cuid2, got ""`},
		{"control", user(contract.SessionControlChanged{ClientType: "tv"}), `ev.clientType: want one of cli, phone, browser, daemon, got "tv"`},
		{
			"request", agent(contract.PermissionRequest{Args: jsontext.Value("1"), Options: []contract.PermissionOption{{Decision: "maybe"}}}),
			`ev.call: want text that is not empty, got ""; ev.toolName: want name in lower case with hyphens, got ""; ev.title: want text that is not empty, got ""; ev.description: want text that is not empty, got ""; ev.args: want object, got number; ev.options[0].decision: want one of allow-once, allow-always, reject-once, reject-always, got "maybe"; ev.options[0].label: want text that is not empty, got ""`,
		},
		{"no question", agent(asking()), `ev.question.questions: want at least one question, got none`},
		{
			"questions", agent(asking(contract.QuestionField{ID: "q", Options: []contract.QuestionOption{{}}}, contract.QuestionField{ID: "q", Schema: jsontext.Value("?")})),
			`ev.question.questions[0].options[0].label: want text that is not empty, got ""; ev.question.questions[1].id: want id of one question, got "q" again; ev.question.questions[1].schema: want JSON value, got invalid JSON "?"`,
		},
		{
			"response", user(contract.PermissionResponse{Decision: "yes", By: &contract.DecisionBy{Resolver: "me", ClientType: "tv"}, Answers: jsontext.Value("1"), Args: jsontext.Value("[]")}),
			`ev.call: want text that is not empty, got ""; ev.decision: want one of allow-once, allow-always, reject-once, reject-always, got "yes"; ev.by.resolver: want one of policy, remembered, client, timeout, turn-end, exit, host, got "me"; ev.by.clientType: want one of cli, phone, browser, daemon, got "tv"; ev.answers: want object, got number; ev.args: want object, got array`,
		},
		{"an agent's own mode", user(contract.AgentConfigurationChanged{PermissionMode: "auto"}), ""},
		{"unknown event", user(contract.Unknown{T: "later"}), ""},
		{"unknown without a type", user(contract.Unknown{}), `ev.t: want text that is not empty, got ""`},
		{"unknown with another body", user(contract.Unknown{T: "x", Body: jsontext.Value(`{"t":"y"}`)}), `ev.t: want "x", got "y"`},
		{"unknown with a broken body", user(contract.Unknown{T: "x", Body: jsontext.Value(`{`)}), `ev: want JSON object, got invalid JSON "{"`},
		{"a pointer", user(&contract.Abort{}), `ev.t: want one of the 14 event structs or Unknown, by value, got "abort"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := contract.Validate(tt.e, contract.ProfileExtended)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Validate = %s\nwant       %s", got, tt.want)
			}
		})
	}
}

func TestValidateStrict(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"the draft's members", `{"id":"a1","time":1,"role":"agent","turn":"t1","ev":{"t":"turn-end","status":"completed","usage":{"inputTokens":1,"outputTokens":2,"cost":0}}}`, "<nil>"},
		{
			"origin and unknown members", `{"id":"a1","time":1,"role":"user","origin":"o","ev":{"t":"text","text":"a","refs":[],"x":1},"y":{}}`,
			"origin: want nothing beyond the draft, got string; ev.x: want nothing beyond the draft, got number; y: want nothing beyond the draft, got object",
		},
		{
			"extended members", `{"id":"a1","time":1,"role":"agent","turn":"t1","ev":{"t":"turn-end","status":"failed","usage":{"inputTokens":1,"outputTokens":2,"reasoningTokens":3,"z":1},"error":{"message":"m"},"model":"m"}}`,
			"ev.usage.cost: want number, got nothing; ev.usage.reasoningTokens: want nothing beyond the draft, got number; ev.usage.z: want nothing beyond the draft, got number; ev.error: want nothing beyond the draft, got object; ev.model: want nothing beyond the draft, got string",
		},
		{"result", `{"id":"a1","time":1,"role":"agent","turn":"t1","ev":{"t":"tool-call-end","call":"c","result":{"status":"completed"}}}`, "ev.result: want nothing beyond the draft, got object"},
		{
			"raw args are the tool's own", `{"id":"a1","time":1,"role":"agent","turn":"t1","ev":{"t":"tool-call-start","call":"c","name":"n","title":"t","description":"d","args":{"x":{"y":1}},"native":"N"}}`,
			"ev.native: want nothing beyond the draft, got string",
		},
		{
			"mode", `{"id":"a1","time":1,"role":"user","ev":{"t":"agent-configuration-changed","permissionMode":"auto"}}`,
			`ev.permissionMode: want one of default, acceptEdits, bypassPermissions, plan, got "auto"`,
		},
		{
			"unknown type", `{"id":"a1","time":1,"role":"user","ev":{"t":"later"}}`,
			`ev.t: want one of text, file, turn-start, turn-end, tool-call-start, tool-call-end, service, subagent-start, subagent-stop, session-control-changed, permission-request, permission-response, abort, agent-configuration-changed, got "later"`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := contract.Decode([]byte(tt.in))
			if err != nil {
				t.Fatalf("Decode = %v", err)
			}
			if got := fmt.Sprint(contract.Validate(e, contract.ProfileStrict)); got != tt.want {
				t.Errorf("Validate = %s\nwant       %s", got, tt.want)
			}
		})
	}
}

func TestParseProfile(t *testing.T) {
	for in, want := range map[string]contract.Profile{"": "extended", "extended": "extended", "strict": "strict"} {
		if got, err := contract.ParseProfile(in); err != nil || got != want {
			t.Errorf("ParseProfile(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	if _, err := contract.ParseProfile("Strict"); err == nil {
		t.Error("ParseProfile(\"Strict\"): want an error")
	}
}
