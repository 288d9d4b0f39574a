package claude_test

import (
	"testing"

	"github.com/agenthost/agenthost/adapters"
)

// Rules that change while the CLI runs are told to it; an empty list takes back those
// that it was told so.
func TestAskFirstAnew(t *testing.T) {
	s := start(t, adapters.Options{AskFirst: []adapters.Use{{Tool: "bash", Pattern: "rm *"}}})
	for _, tt := range []struct {
		uses []adapters.Use
		want string
	}{
		{[]adapters.Use{{Tool: "bash", Pattern: "ls *"}, {Tool: "web-search"}}, `["Bash(ls *)","WebSearch"]`},
		{nil, `[]`},
	} {
		s.submit(adapters.AskFirst{ID: "a", Uses: tt.uses})
		if got, want := string(s.wrote[len(s.wrote)-1].Get("request")), `{"subtype":"apply_flag_settings","settings":{"permissions":{"ask":`+tt.want+`}}}`; got != want {
			t.Errorf("wrote %s, want %s", got, want)
		}
		if _, over := s.done["a"]; over {
			t.Error("it is over before the CLI confirmed")
		}
		s.reply(s.request("apply_flag_settings"), `{}`)
		if o, over := s.done["a"]; !over || o.Err != nil {
			t.Errorf("outcome %+v, want success", o)
		}
		delete(s.done, "a")
	}
	s.submit(adapters.AskFirst{ID: "b"})
	s.hearf(`{"type":"control_response","response":{"subtype":"error","request_id":%q,"error":"no"}}`, s.request("apply_flag_settings").Get("request_id").Text())
	if e := s.done["b"].Err; e == nil || e.Message != "no" {
		t.Errorf("outcome %+v, want the refusal", s.done["b"])
	}
}
