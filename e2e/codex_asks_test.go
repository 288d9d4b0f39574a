package e2e

import (
	"encoding/json/jsontext"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// What Codex asks people, in every way it has.

// mcpScript writes what the fake MCP server "lab" plays.
func mcpScript(t *testing.T, lab *agentlab.Lab, script string) string {
	t.Helper()
	path := filepath.Join(lab.Home, "server.txt")
	head := `? method=initialize as I
< {"jsonrpc":"2.0","id":${I.id},"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"lab","version":"1"}}}
? method=tools/list as L
< {"jsonrpc":"2.0","id":${L.id},"result":{"tools":[{"name":"order","description":"Order it","inputSchema":{"type":"object","properties":{"what":{"type":"string"}}}},{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}}
`
	if err := os.WriteFile(path, []byte(head+script+"! hold\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// asked waits for the next ask and checks which tool it is about.
func (s *session) asked(tool string) contract.PermissionRequest {
	s.t.Helper()
	ask, _ := wait[contract.PermissionRequest](s, nil)
	if ask.ToolName != tool {
		s.t.Fatalf("asked about %+v, want %s", ask, tool)
	}
	return ask
}

// MCP tools are asked about unless they only read, and a question of a server comes
// through with its answers typed; more permissions are granted as they were asked
// for; questions of the model are answered or skipped. A rejection goes on, each time.
func TestCodexAsks(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	server := mcpScript(t, lab, `? method=tools/call params.name="look" as A within 90000
< {"jsonrpc":"2.0","id":${A.id},"result":{"content":[{"type":"text","text":"I see"}]}}
? method=tools/call params.name="order" as C within 90000
< {"jsonrpc":"2.0","id":77,"method":"elicitation/create","params":{"message":"How many?","requestedSchema":{"type":"object","properties":{"count":{"type":"integer"},"gift":{"type":"boolean"}},"required":["count"]}}}
? id=77 result.action="accept" result.content.count=3 result.content.gift=true as E within 90000
< {"jsonrpc":"2.0","id":${C.id},"result":{"content":[{"type":"text","text":"three it is"}]}}
? method=tools/call params.name="order" as D within 90000
< {"jsonrpc":"2.0","id":78,"method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}
? id=78 result.action="decline" as F within 90000
< {"jsonrpc":"2.0","id":${D.id},"result":{"isError":true,"content":[{"type":"text","text":"not ordered"}]}}
`)
	s := start(t, lab, "codex", codexFlags("--on-ask", "wait", "--", "-c", "features.request_permissions_tool=true",
		"-c", fmt.Sprintf("mcp_servers.lab={command=%q,args=[],env={%s=%q}}", os.Args[0], playEnv, server))...)

	look := s.one(s.turn(script("mcp lab look", "text Looked.")), "mcp/lab/look", contract.ToolCompleted)
	if string(look.end.Result.Output) != `"I see"` {
		t.Errorf("output = %s", look.end.Result.Output)
	}

	s.prompt(script(`mcp lab order {"what":"tea"}`, "text Ordered."))
	ask := s.asked("mcp/lab/order")
	if ask.Question != nil || string(ask.Args) != `{"what":"tea"}` {
		t.Errorf("ask = %+v, want the call's own", ask)
	}
	s.decide(ask.Call, contract.AllowOnce)
	form := s.asked("mcp/lab/order")
	if form.Question == nil || form.Question.Message != "How many?" || len(form.Question.Questions) != 2 || !form.Question.Questions[0].Required {
		t.Fatalf("question = %+v", form.Question)
	}
	s.send(contract.PermissionResponse{Call: form.Call, Decision: contract.AllowOnce, Answers: jsontext.Value(`{"count":"3","gift":"true"}`)})
	s.says("Ordered.")

	s.prompt(script(`mcp lab order {"what":"tea"}`, "text Not this time."))
	s.decide(s.asked("mcp/lab/order").Call, contract.AllowOnce)
	s.decide(s.asked("mcp/lab/order").Call, contract.RejectOnce)
	s.says("Not this time.")
	s.prompt(script(`mcp lab order {"what":"coffee"}`, "text No coffee."))
	s.decide(s.asked("mcp/lab/order").Call, contract.RejectOnce)
	s.says("No coffee.")
	for text, want := range map[string]bool{"three it is": true, "not ordered": true} {
		if modelHeard(lab, text) != want {
			t.Errorf("the model heard %q: %v, want %v", text, !want, want)
		}
	}
	codexPermissions(s)
	codexQuestions(s)
	s.finished(0)
}

// The MCP servers of a session reach Codex over the protocol, in no configuration and
// on no command line; one that does not start is told. In the same session: a sentence
// that a message meets, and what can be asked about a thread.
func TestCodexServers(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	cfg := codexConfig()
	cfg.Options.MCPServers = []adapters.MCPServer{
		{Name: "lab", Transport: "stdio", Command: os.Args[0], Env: []adapters.Pair{{Name: playEnv, Value: mcpScript(t, lab, `? method=tools/call params.name="look" as A within 90000
< {"jsonrpc":"2.0","id":${A.id},"result":{"content":[{"type":"text","text":"I see"}]}}
`)}}},
		{Name: "broken", Transport: "stdio", Command: filepath.Join(lab.Home, "no-such-server")},
	}
	s := hosted(t, lab, cfg)
	wait(s, func(ev contract.Service) bool {
		return ev.Kind == contract.ServiceError && strings.Contains(ev.Text, "broken")
	})
	look := s.one(s.turn(script("mcp lab look", "text Looked.")), "mcp/lab/look", contract.ToolCompleted)
	if string(look.end.Result.Output) != `"I see"` {
		t.Errorf("output = %s", look.end.Result.Output)
	}
	codexSentence(s)
	codexOperations(s)
	all, err := lab.Leftovers()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if strings.Contains(strings.Join(p.Args, " "), "mcp_servers") {
			t.Errorf("the servers are on a command line: %v", p)
		}
	}
	s.stop()
	noneLeft(t, lab)
}

// codexSentence: a text comes live, and a message for the turn waits for its end.
func codexSentence(s *session) {
	t := s.t
	t.Helper()
	sentence := strings.Repeat("It goes on. ", 20) + "It ends."
	s.prompt(script("slow 30 ++ text "+sentence, "text Heard."))
	live := func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.live.String()
	}
	deadline(t, "the sentence begins", func() bool { return strings.Contains(live(), "It goes on. It goes on.") })
	if strings.Contains(live(), "It ends.") {
		t.Error("the sentence came at once")
	}
	s.send(contract.Text{Text: "and one more thing", Steer: true})
	whole, _ := wait[contract.Text](s, nil)
	if whole.Text != sentence || !strings.Contains(live(), sentence) {
		t.Errorf("said %q, live %q; want the whole sentence", whole.Text, live())
	}
	s.says("Heard.")
	if !modelHeard(s.lab, "and one more thing") {
		t.Error("the model did not hear the message")
	}
}

// codexOperations asks Codex whatever it can be asked about a thread.
func codexOperations(s *session) {
	t := s.t
	t.Helper()
	thread := s.codexOpened()
	s.op("rename", `{"name":"About tea"}`)
	if list := string(s.op("list", `{}`)); !strings.Contains(list, thread) || !strings.Contains(list, "About tea") {
		t.Errorf("list = %.400s, want the thread by its new name", list)
	}
	if turns := string(s.op("turns", `{}`)); !strings.Contains(turns, `"completed"`) {
		t.Errorf("turns = %.400s", turns)
	}
	for _, name := range []string{"read", "items", "goal", "queue", "terminals", "models", "mcp", "skills", "hooks", "collaboration-modes"} {
		if got := s.op(name, `{}`); len(got) < 2 {
			t.Errorf("%s = %s", name, got)
		}
	}
	if _, err := s.tryOp("stash", `{}`); err == nil {
		t.Error("there is no stash, and no error")
	}
}

// codexPermissions wants more permissions twice: granted as asked for, and not.
func codexPermissions(s *session) {
	s.t.Helper()
	want := `tool request_permissions {"reason":"to tidy up","permissions":{"file_system":{"write":["/srv/elsewhere"]}}}`
	s.prompt(script(want, "text Granted."))
	ask := s.asked("request-permissions")
	if !strings.Contains(ask.Description, "to tidy up") || !strings.Contains(string(ask.Args), `"path":"/srv/elsewhere"`) {
		s.t.Errorf("ask = %+v", ask)
	}
	s.decide(ask.Call, contract.AllowOnce)
	s.says("Granted.")
	if body := lastHeard(s.lab); !strings.Contains(body, `/srv/elsewhere`) || !strings.Contains(body, `\"scope\":\"turn\"`) {
		s.t.Error("the model does not know that it has more permissions, for the turn")
	}
	s.prompt(script(want, "text Refused."))
	s.decide(s.asked("request-permissions").Call, contract.RejectOnce)
	s.says("Refused.")
	if body := lastHeard(s.lab); !strings.Contains(body, `{\"permissions\":{\"network\":null,\"file_system\":null}`) {
		s.t.Error("the model does not know that it has no more permissions")
	}
}

// codexQuestions: plan mode, in which the model plans and asks.
func codexQuestions(s *session) {
	t := s.t
	t.Helper()
	s.send(contract.AgentConfigurationChanged{PermissionMode: contract.ModePlan})
	wait(s, func(ev contract.AgentConfigurationChanged) bool { return ev.PermissionMode == contract.ModePlan })
	question := `tool request_user_input {"questions":[{"id":"colour","header":"Colour","question":"Which colour?","options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold"}]}]}`
	s.prompt(script(question, `text "I plan.\n<proposed_plan>\n# The plan\n1. look\n2. leap\n</proposed_plan>\n"`))
	ask := s.asked("ask-user")
	if q := ask.Question; q == nil || len(q.Questions) != 1 || len(q.Questions[0].Options) != 2 || q.Questions[0].Header != "Colour" {
		t.Fatalf("ask = %+v", ask)
	}
	s.send(contract.PermissionResponse{Call: ask.Call, Decision: contract.AllowOnce, Answers: jsontext.Value(`{"colour":"Blue"}`)})
	s.says("# The plan")
	if !modelHeard(s.lab, `\"colour\":{\"answers\":[\"Blue\"]}`) {
		t.Error("the model did not hear the answer")
	}
	s.prompt(script(question, "text Without an answer."))
	s.decide(s.asked("ask-user").Call, contract.RejectOnce)
	s.says("Without an answer.")
	// Nothing is changed in this mode.
	s.turn(script("shell touch planned.txt", "text Planned."))
	if _, err := os.Stat(filepath.Join(s.lab.Dir, "planned.txt")); err == nil {
		t.Error("a command wrote in plan mode")
	}
}

// The memory of Codex: what was allowed always is not asked about again, and only
// when the user chose that memory. The same file has the price of the model.
func TestCodexRemembers(t *testing.T) {
	for who, asks := range map[string]int{"agent": 1, "host": 2} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			lab := agentlab.New(t)
			config := filepath.Join(lab.Home, "agenthost.yaml")
			text := "permissions: {remember: " + who + "}\nprices: {gpt-5.5: {input: 10, output: 100}}\n"
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			s := start(t, lab, "codex", codexFlags("--config", config, "--on-ask", "wait")...)
			s.prompt(script("shell touch a.txt", "shell touch a.txt", "text Both."))
			ask := s.asked("bash")
			s.send(contract.PermissionResponse{Call: ask.Call, Decision: contract.AllowAlways})
			wait(s, func(ev contract.ToolCallEnd) bool { return ev.Call == ask.Call })
			end := s.says("Both.")
			// 300 tokens in at 10 dollars a million, 30 out at 100.
			if end.Usage == nil || end.Usage.Cost == nil || *end.Usage.Cost < 0.0059 || *end.Usage.Cost > 0.0061 {
				t.Errorf("usage = %+v, want a cost of 0.006", end.Usage)
			}
			var got int
			for _, ev := range events[contract.PermissionRequest](s.finished(0)) {
				if strings.Contains(string(ev.Args), "a.txt") {
					got++
				}
			}
			if got != asks {
				t.Errorf("%d asks, want %d", got, asks)
			}
		})
	}
}
