package codex_test

import (
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// pages are two pages of a history, the newest turn first.
func pages() []string {
	return []string{
		`{"data":[{"id":"t9","items":[{"type":"userMessage","clientId":"p9"},{"type":"userMessage","clientId":"steer"}]},
		{"id":"t8","items":[{"type":"agentMessage"},{"type":"userMessage","clientId":"joined"}]}],"nextCursor":"more"}`,
		`{"data":[{"id":"t7","items":[{"type":"userMessage","clientId":"p7"}]},{"id":"t6","items":[{"type":"userMessage","clientId":"p6"}]}]}`,
	}
}

// A rewind goes to where a turn began: by the message that began it, or behind the
// turn of an answer. What is no such place is refused, and nothing is changed.
func TestRewind(t *testing.T) {
	for _, c := range []struct {
		params, want string // the turn that is reverted before, "" for none, "!…" for a refusal
	}{
		{`{"to":"p9"}`, "t9"},
		{`{"to":"p7"}`, "t7"},
		{`{"to":"p6","at":"t5/i"}`, "t6"},
		{`{"to":"t8"}`, "t8"},
		{`{"at":"t8/item_1"}`, "t9"},
		{`{"at":"t7/item_1"}`, "t8"},
		{`{"at":"t9/item_1"}`, ""},
		{`{"to":"no turn took it","at":"t9/item_1"}`, ""},
		{`{"to":"p7","dryRun":true}`, ""},
		{`{"to":"steer","at":"t9/item_1"}`, "!whole turns"},
		{`{"to":"joined","at":"t8/item_1"}`, "!whole turns"},
		{`{"to":"nowhere"}`, "!no message nowhere"},
	} {
		s := start(t, adapters.Options{})
		s.submit(adapters.Op{ID: "r", Name: "rewind", Params: []byte(c.params)})
		for _, page := range pages() {
			if _, over := s.done["r"]; !over && s.request("thread/revert") == nil {
				s.answer("thread/turns/list", page)
			}
		}
		revert := s.request("thread/revert")
		if why, refused := strings.CutPrefix(c.want, "!"); refused {
			if o := s.done["r"]; o.Err == nil || o.Err.Code != contract.CodeInvalidRequest || !strings.Contains(o.Err.Message, why) || revert != nil {
				t.Errorf("%s: outcome %+v, revert %s, want %q", c.params, o.Err, revert, why)
			}
			continue
		}
		if got := revert.Get("params", "beforeTurnId").Text(); got != c.want {
			t.Errorf("%s: reverted before %q, want %q", c.params, got, c.want)
		}
		if c.want != "" {
			s.answer("thread/revert", `{}`)
			s.hear(`{"method":"thread/reverted","params":{"threadId":"thr-1"}}`)
		}
		if o := s.done["r"]; o.Err != nil || !adapters.ReadRewind(o.Result).Conversation || len(of[contract.Service](s)) != 0 {
			t.Errorf("%s: outcome %+v, told %+v", c.params, o, of[contract.Service](s))
		}
	}
}

// A revert that another client asked for is told.
func TestRevertedElsewhere(t *testing.T) {
	s := start(t, adapters.Options{})
	s.submit(adapters.Op{ID: "r", Name: "rewind", Params: []byte(`{"to":"p9"}`)})
	s.answer("thread/turns/list", pages()[0])
	s.refuse("thread/revert", "no")
	s.hear(`{"method":"thread/reverted","params":{"threadId":"thr-1"}}`)
	if o := s.done["r"]; o.Err == nil || len(of[contract.Service](s)) != 1 {
		t.Errorf("outcome %+v, told %+v", o, of[contract.Service](s))
	}
}

// A fork says what to launch, and none is at the end that was meant for a point.
func TestFork(t *testing.T) {
	s := start(t, adapters.Options{})
	s.submit(adapters.Op{ID: "f1", Name: "fork"})
	s.submit(adapters.Op{ID: "f2", Name: "fork", Params: []byte(`{"to":"p2","at":"t1/item_3"}`)})
	for id, want := range map[string]adapters.ForkResult{"f1": {Fork: "thr-1"}, "f2": {Fork: "thr-1", ForkAt: "t1"}} {
		if got := adapters.ReadFork(s.done[id].Result); got != want {
			t.Errorf("%s = %+v, want %+v", id, got, want)
		}
	}
	if _, err := s.proto.Submit(s.now, adapters.Op{ID: "f3", Name: "fork", Params: []byte(`{"to":"p1"}`)}); err == nil {
		t.Error("a fork before the first message = nil error")
	}
}
