//go:build unix

package agentlab

import (
	"encoding/json/jsontext"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/internal/scriptmodel"
)

const (
	textScript = "SCRIPT: text hello from the model"
	toolScript = "SCRIPT: text making it ++ shell touch made-by-agent ;; text it is made"
)

// checkPlayed checks that the three steps of the two scripts were asked for, in
// order, each once and to its end, and that the shell call was really made.
func checkPlayed(t *testing.T, l *Lab, api string) {
	t.Helper()
	want := []struct {
		script string
		step   int
	}{{"text hello from the model", 0}, {"text making it ++ shell touch made-by-agent ;; text it is made", 0}, {"text making it ++ shell touch made-by-agent ;; text it is made", 1}}
	got := l.Model.Played()
	if len(got) != len(want) {
		t.Fatalf("the model was asked %d times for a step, want %d: %+v", len(got), len(want), got)
	}
	for i, r := range got {
		if r.Script != want[i].script || r.Step != want[i].step || r.API != api || r.Ending != scriptmodel.EndDone {
			t.Errorf("request %d: got step %d of %q over %s, %s; want step %d of %q over %s, done",
				i, r.Step, r.Script, r.API, r.Ending, want[i].step, want[i].script, api)
		}
	}
	for _, r := range l.Model.Requests() {
		if r.Kind == scriptmodel.KindUnknown || r.Kind == scriptmodel.KindBroken || r.Kind == scriptmodel.KindEcho {
			t.Errorf("unexpected request %s %s: %s, status %d", r.Method, r.Path, r.Kind, r.Status)
		}
	}
	if _, err := os.Stat(filepath.Join(l.Dir, "made-by-agent")); err != nil {
		t.Errorf("the tool did not run: %v", err)
	}
}

// checkText checks the two texts that were said.
func checkText(t *testing.T, first, second string) {
	t.Helper()
	if want := "hello from the model"; first != want {
		t.Errorf("first turn said %q, want %q", first, want)
	}
	if want := "making itit is made"; second != want {
		t.Errorf("second turn said %q, want %q", second, want)
	}
}

func TestACP(t *testing.T) {
	for _, tt := range []struct {
		name, api, mode string
		args            []string
	}{
		{name: "gemini", api: "gemini", args: []string{"--acp"}},
		{name: "opencode", api: "chat", args: []string{"acp"}},
		{name: "claude-agent-acp", api: "messages", mode: "default"}, // starts in mode auto
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := New(t)
			a := startAgent(t, l, tt.name, tt.args...)
			a.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}, nil)
			var session struct {
				ID string `json:"sessionId"`
			}
			decode(t, a.call("session/new", map[string]any{"cwd": l.Dir, "mcpServers": []any{}}, nil), &session)
			if tt.mode != "" {
				a.call("session/set_mode", map[string]any{"sessionId": session.ID, "modeId": tt.mode}, nil)
			}
			first, asked := a.acpPrompt(session.ID, textScript)
			if asked != 0 {
				t.Errorf("a text needed %d permissions", asked)
			}
			second, asked := a.acpPrompt(session.ID, toolScript)
			if asked != 1 {
				t.Errorf("the shell call needed %d permissions, want 1", asked)
			}
			checkText(t, first, second)
			checkPlayed(t, l, tt.api)
		})
	}
}

// acpPrompt runs one turn, allows what is asked, and returns the text and how
// often permission was asked.
func (a *agent) acpPrompt(session, text string) (said string, asked int) {
	a.t.Helper()
	res := a.call("session/prompt", map[string]any{
		"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}},
	}, func(m message) {
		switch {
		case m.Method == "session/request_permission":
			asked++
			a.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{
				"outcome": map[string]any{"outcome": "selected", "optionId": allowOnce(a.t, m.Params)},
			}})
		case m.Method != "" && len(m.ID) > 0:
			a.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": map[string]any{"code": -32601, "message": "not here"}})
		case m.Method == "session/update":
			said += chunk(a.t, m.Params)
		}
	})
	var end struct {
		StopReason string `json:"stopReason"`
	}
	if decode(a.t, res, &end); end.StopReason != "end_turn" {
		a.t.Errorf("stop reason %q, want end_turn", end.StopReason)
	}
	return said, asked
}

func allowOnce(t *testing.T, params jsontext.Value) string {
	var p struct {
		Options []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		} `json:"options"`
	}
	decode(t, params, &p)
	for _, o := range p.Options {
		if o.Kind == "allow_once" {
			return o.ID
		}
	}
	t.Fatalf("no allow_once in %s", params)
	return ""
}

// chunk is the text of an agent_message_chunk, "" for other updates.
func chunk(t *testing.T, params jsontext.Value) string {
	var p struct {
		Update struct {
			Kind    string         `json:"sessionUpdate"`
			Content jsontext.Value `json:"content"`
		} `json:"update"`
	}
	decode(t, params, &p)
	if p.Update.Kind != "agent_message_chunk" {
		return ""
	}
	var c struct {
		Text string `json:"text"`
	}
	decode(t, p.Update.Content, &c)
	return c.Text
}

func TestClaude(t *testing.T) {
	l := New(t)
	a := startAgent(t, l, "claude", "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--permission-prompt-tool", "stdio", "--permission-mode", "default")
	first, asked := a.claudePrompt(textScript)
	if asked != 0 {
		t.Errorf("a text needed %d permissions", asked)
	}
	second, asked := a.claudePrompt(toolScript)
	if asked != 1 {
		t.Errorf("the shell call needed %d permissions, want 1", asked)
	}
	checkText(t, first, second)
	checkPlayed(t, l, "messages")
}

// claudePrompt runs one turn of stream-json.
func (a *agent) claudePrompt(text string) (said string, asked int) {
	a.t.Helper()
	a.send(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": text}})
	for {
		m, ok := a.next()
		if !ok {
			a.t.Fatal("claude ended its output before the result")
		}
		var e struct {
			Type      string `json:"type"`
			Subtype   string `json:"subtype"`
			Result    string `json:"result"`
			IsError   bool   `json:"is_error"`
			RequestID string `json:"request_id"`
			Request   struct {
				Subtype string         `json:"subtype"`
				Input   jsontext.Value `json:"input"`
			} `json:"request"`
			Message jsontext.Value `json:"message"`
		}
		decode(a.t, jsontext.Value(m.line), &e)
		switch e.Type {
		case "control_request":
			if e.Request.Subtype != "can_use_tool" {
				a.t.Fatalf("unexpected request %s", m.line)
			}
			asked++
			a.send(map[string]any{"type": "control_response", "response": map[string]any{
				"subtype": "success", "request_id": e.RequestID,
				"response": map[string]any{"behavior": "allow", "updatedInput": e.Request.Input},
			}})
		case "assistant":
			var msg struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			}
			decode(a.t, e.Message, &msg)
			for _, c := range msg.Content {
				said += c.Text
			}
		case "result":
			if e.IsError || e.Subtype != "success" {
				a.t.Errorf("result %s", m.line)
			}
			return said, asked
		}
	}
}

func TestCodexAppServer(t *testing.T) {
	l := New(t)
	a := startAgent(t, l, "codex", "app-server")
	a.call("initialize", map[string]any{
		"clientInfo":   map[string]any{"name": "agentlab", "title": "Lab", "version": "1"},
		"capabilities": map[string]any{"experimentalApi": true},
	}, nil)
	a.send(map[string]any{"method": "initialized"})
	var start struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
	}
	decode(t, a.call("thread/start", map[string]any{
		"cwd": l.Dir, "approvalPolicy": "untrusted", "sandbox": "danger-full-access",
	}, nil), &start)
	first, asked := a.codexTurn(start.Thread.ID, textScript)
	if asked != 0 {
		t.Errorf("a text needed %d approvals", asked)
	}
	second, asked := a.codexTurn(start.Thread.ID, toolScript)
	if asked != 1 {
		t.Errorf("the shell call needed %d approvals, want 1", asked)
	}
	checkText(t, first, second)
	checkPlayed(t, l, "responses")
}

// codexTurn runs one turn of the app server, whose messages may come before the
// response of turn/start.
func (a *agent) codexTurn(thread, text string) (said string, asked int) {
	a.t.Helper()
	over := false
	handle := func(m message) {
		switch m.Method {
		case "item/commandExecution/requestApproval":
			asked++
			a.send(map[string]any{"id": m.ID, "result": map[string]any{"decision": "accept"}})
		case "item/completed":
			var p struct {
				Item struct {
					Type string `json:"type"`
					Text string `json:"text"`
				} `json:"item"`
			}
			if decode(a.t, m.Params, &p); p.Item.Type == "agentMessage" {
				said += p.Item.Text
			}
		case "turn/completed":
			over = true
			if !strings.Contains(string(m.Params), `"status":"completed"`) {
				a.t.Errorf("turn: %s", m.Params)
			}
		}
	}
	a.call("turn/start", map[string]any{
		"threadId": thread, "input": []any{map[string]any{"type": "text", "text": text, "text_elements": []any{}}},
	}, handle)
	for !over {
		m, ok := a.next()
		if !ok {
			a.t.Fatal("codex ended its output before the turn")
		}
		handle(m)
	}
	return said, asked
}

func TestCodexExec(t *testing.T) {
	// gpt-6.2-sol gets its tools in a JavaScript interpreter, gpt-5.5 as functions.
	for _, model := range []string{"gpt-5.5", "gpt-6.2-sol"} {
		t.Run(model, func(t *testing.T) {
			l := New(t)
			first := codexExec(t, l, model, textScript)
			second := codexExec(t, l, model, toolScript)
			checkText(t, first, second)
			checkPlayed(t, l, "responses")
			if got := l.Model.Requests()[0].Model; got != model {
				t.Errorf("the model asked for was %q, want %q", got, model)
			}
		})
	}
}

// codexExec runs one prompt and returns what was said.
func codexExec(t *testing.T, l *Lab, model, prompt string) (said string) {
	t.Helper()
	a := startAgent(t, l, "codex", "exec", "--json", "-s", "danger-full-access", "-m", model, prompt)
	a.stdin.Close() // codex waits for the end of input
	var types []string
	for {
		m, ok := a.next()
		if !ok {
			break
		}
		var e struct {
			Type string `json:"type"`
			Item struct {
				Type string `json:"type"`
				Text string `json:"text"`
			} `json:"item"`
		}
		decode(t, jsontext.Value(m.line), &e)
		types = append(types, e.Type)
		if e.Type == "item.completed" && e.Item.Type == "agent_message" {
			said += e.Item.Text
		}
	}
	if !slices.Contains(types, "turn.completed") {
		t.Errorf("codex sent %v, want a turn.completed", types)
	}
	return said
}
