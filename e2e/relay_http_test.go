package e2e

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/wire"
)

// curl is what curl would send to the relay about sessions, without a body for "", and
// the status and the body of the answer.
func (w *world) curl(method, path, body string) (int, string) {
	w.t.Helper()
	secret, err := os.ReadFile(w.token)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, w.url+"/v1/sessions"+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret)))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// do is curl for an answer that must be a success, whose body is read into out unless
// that is nil.
func (w *world) do(method, path string, body, out any) {
	w.t.Helper()
	sent := ""
	if body != nil {
		sent = mustJSON(w.t, body)
	}
	status, raw := w.curl(method, path, sent)
	if status/100 != 2 {
		w.t.Fatalf("%s %s %v: %d %s\nthe host:\n%s", method, path, body, status, raw, w.hostLog())
	}
	if out != nil {
		if err := json.Unmarshal([]byte(raw), out); err != nil {
			w.t.Fatalf("%s %s: %v: %s", method, path, err, raw)
		}
	}
}

type object map[string]any

// say sends a message and returns its id.
func (w *world) say(id string, lines ...string) string {
	w.t.Helper()
	var sent wire.SentResult
	w.do("POST", "/"+id+"/messages", object{"text": script(lines...)}, &sent)
	return sent.ID
}

// allow answers the open ask, which is looked up as a program without a stream does.
func (w *world) allow(s *session, id string) {
	w.t.Helper()
	call := ask(s).Call
	var open wire.AsksResult
	w.do("GET", "/"+id+"/asks", nil, &open)
	if len(open.Asks) != 1 || open.Asks[0].Call != call {
		w.t.Fatalf("the open asks are %+v, want call %s", open.Asks, call)
	}
	w.do("POST", "/"+id+"/permissions/"+call, object{"decision": "allow-once", "nonce": open.Asks[0].Nonce}, nil)
	wait[contract.PermissionResponse](s, nil)
}

// overHTTP: what the commands do, plain HTTP does too.
func (w *world) overHTTP(s *session, id, agent string) {
	w.t.Helper()
	w.say(id, "shell touch h.txt && sleep 300")
	w.allow(s, id)
	w.do("POST", "/"+id+"/abort", object{}, nil)
	if end := s.turnEnd(); end.Status != contract.TurnCancelled {
		w.t.Errorf("the turn aborted over HTTP ended as %+v", end)
	}
	w.configureOverHTTP(s, id, agent)
	if agent != "gemini" {
		w.say(id, "shell touch g.txt && sleep 2", "text steered over HTTP")
		w.allow(s, id)
		w.do("POST", "/"+id+"/messages", object{"text": "mind the docs", "admission": "steer"}, nil)
		s.next("steer", func(e contract.Envelope) bool {
			ev, ok := e.Event.(contract.Text)
			return ok && e.Role == contract.RoleUser && ev.Steer && ev.Text == "mind the docs"
		})
		w.completed(s)
		w.backOverHTTP(s, id)
	}
	if agent != "gemini" { // which asks nothing over its protocol
		w.question(s, id, agent, "Red", func(q contract.PermissionRequest) {
			w.do("POST", "/"+id+"/permissions/"+q.Call, object{"decision": "allow-once", "answers": object{q.Question.Questions[0].ID: "Red"}}, nil)
		})
	}
}

// againOverHTTP: the agent ends, and comes again with all it knows.
func (w *world) againOverHTTP(s *session, id string) {
	w.t.Helper()
	var got wire.SessionResult
	w.do("POST", "/"+id+"/stop", object{}, &got)
	deadline(w.t, "the session being stopped", func() bool {
		w.do("GET", "/"+id, nil, &got)
		return got.Session.State == wire.StateStopped
	})
	w.do("POST", "/"+id+"/resume", object{}, &got)
	if got.Session.State == wire.StateStopped || got.Session.State == wire.StateFailed {
		w.t.Errorf("a session that was resumed is %s", got.Session.State)
	}
	w.say(id, "text resumed over HTTP")
	w.completed(s)
}

// configureOverHTTP switches mode and model.
func (w *world) configureOverHTTP(s *session, id, agent string) {
	w.t.Helper()
	var got wire.SessionResult
	for _, mode := range []contract.PermissionMode{contract.ModeAcceptEdits, contract.ModeDefault} {
		w.do("POST", "/"+id+"/config", object{"permissionMode": mode}, &got)
		if got.Session.Config.PermissionMode != mode {
			w.t.Errorf("the mode is %s, want %s", got.Session.Config.PermissionMode, mode)
		}
		wait(s, func(c contract.AgentConfigurationChanged) bool { return c.PermissionMode == mode })
	}
	if status, body := w.post(id+"/config", `{"permissionMode":"bypassPermissions"}`); status != http.StatusForbidden {
		w.t.Errorf("bypassPermissions over HTTP: %d %s", status, body)
	}
	if agent == "gemini" {
		return
	}
	model := map[string]string{"claude": "claude-sonnet-4-5", "codex": codexModels()[0]}[agent]
	w.do("POST", "/"+id+"/config", object{"model": model}, &got)
	if got.Session.Config.Model != model {
		w.t.Errorf("the model is %q, want %q", got.Session.Config.Model, model)
	}
	wait(s, func(c contract.AgentConfigurationChanged) bool { return c.Model == model })
}

// backOverHTTP takes the conversation back, and branches off.
func (w *world) backOverHTTP(s *session, id string) {
	w.t.Helper()
	sent := w.say(id, "text what HTTP takes back")
	w.completed(s)
	w.do("POST", "/"+id+"/ops/rewind", object{"params": object{"to": sent}}, nil)
	w.say(id, "text behind the rewind of HTTP")
	w.completed(s)
	if heard := lastHeard(w.lab); strings.Contains(heard, "what HTTP takes back") {
		w.t.Errorf("after the rewind the model hears:\n%.2000s", heard)
	}
	var res wire.OpResult
	w.do("POST", "/"+id+"/ops/fork", object{"params": jsontext.Value("{}")}, &res)
	if res.Session == nil || res.Session.ID == id {
		w.t.Fatalf("the fork over HTTP is %+v", res)
	}
	f := w.watch(res.Session.ID)
	w.say(res.Session.ID, "text in the branch of HTTP")
	w.completed(f)
	w.do("POST", "/"+res.Session.ID+"/stop", object{}, nil)
}
