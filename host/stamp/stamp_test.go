package stamp_test

import (
	"encoding/json/jsontext"
	"errors"
	"iter"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host/stamp"
)

func TestUserRefuses(t *testing.T) {
	w := newWorld()
	w.take(w.s.Agent(prompt()))
	w.take(w.s.Agent(by("", ask("a"))))
	for _, c := range []struct {
		ev   contract.Event
		want string
	}{
		{nil, "event: want one, got none"},
		{contract.Text{}, "text: want some, got none"},
		{contract.TurnStart{}, `event "turn-start": want an event of the user, got one of the agent`},
		{contract.Service{Text: "x"}, `event "service": want an event of the user`},
		{contract.PermissionResponse{Call: "none", Decision: contract.AllowOnce}, `no open permission request for call "none"`},
		{contract.PermissionResponse{Call: "a", Decision: "yes"}, `decision: want allow-once, allow-always, reject-once or reject-always, got "yes"`},
		{contract.PermissionResponse{Call: "a"}, "decision: want"},
		{contract.Unknown{T: "x", Body: jsontext.Value(`{"t":"y"}`)}, `event "x": want a JSON object with that t`},
		{contract.Unknown{T: "abort", Body: jsontext.Value(`{"t":"abort"}`)}, `event "abort": want`},
	} {
		envs, err := w.s.User(contract.Envelope{ID: cuid(5000), Event: c.ev})
		if envs != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("User(%#v) = %v, %v, want error %q", c.ev, envs, err, c.want)
		}
	}
	if _, err := w.s.User(contract.Envelope{Event: contract.PermissionResponse{Call: "none", Decision: contract.AllowOnce}}); !errors.Is(err, stamp.ErrNoAsk) {
		t.Errorf("a response to no request gave %v, want ErrNoAsk", err)
	}
	// What was refused has not used up the id.
	if _, err := w.s.User(contract.Envelope{ID: cuid(5000), Event: contract.Text{Text: "x"}}); err != nil {
		t.Errorf("User with the id of a refused event: %v", err)
	}
}

func TestClientIDs(t *testing.T) {
	uuid := "00000000-0000-4000-8000-000000000001"
	w := newWorld()
	for _, c := range []struct{ id, origin, wantID, wantOrigin string }{
		{cuid(5000), "", cuid(5000), ""},
		{cuid(5001), "o", cuid(5001), "o"},
		{uuid, "", "", uuid},
		{"Mine", "o2", "", "o2"},
	} {
		envs, err := w.s.User(contract.Envelope{ID: c.id, Origin: c.origin, Event: contract.Text{Text: "x"}, Extra: jsontext.Value(`{"new":1}`)})
		if err != nil {
			t.Fatal(err)
		}
		e := w.take(envs)[0]
		if e.ID != c.wantID && c.wantID != "" || e.ID == c.id && c.wantID == "" || e.Origin != c.wantOrigin || string(e.Extra) != `{"new":1}` {
			t.Errorf("User with id %q, origin %q gave %+v", c.id, c.origin, e)
		}
	}
	r, err := w.restored(len(w.stream))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []*world{w, r} { // a crash forgets no id but the one an origin hid
		for _, id := range []string{cuid(5000), uuid} {
			if _, err := w.s.User(contract.Envelope{ID: id, Event: contract.Text{Text: "x"}}); !errors.Is(err, stamp.ErrDuplicate) {
				t.Errorf("User with id %q again gave %v, want ErrDuplicate", id, err)
			}
		}
	}
	check(t, w.stream, true)
}

func TestResponse(t *testing.T) {
	w := newWorld()
	w.take(w.s.Agent(prompt()))
	form := ask("a")
	form.Question = &contract.Question{Questions: []contract.QuestionField{{ID: "user"}, {ID: "password", Secret: true}}}
	e := w.take(w.s.Agent(by("", form)))[1]
	asks := w.s.OpenAsks()
	if len(asks) != 1 || asks[0].Call != "a" || asks[0].Request.ID != e.ID || asks[0].Question == nil {
		t.Fatalf("OpenAsks() = %+v, want that of call a", asks)
	}
	if got := w.s.Response(contract.PermissionResponse{Call: "b", Decision: contract.AllowOnce}, contract.Envelope{}); got != nil {
		t.Errorf("Response to no request gave %+v", got)
	}
	answer := contract.PermissionResponse{
		Call: "a", Decision: contract.AllowOnce, Answers: jsontext.Value(`{"password":"geheim","user":"u","user2":1}`),
	}
	got := w.take(w.s.Response(answer, contract.Envelope{}))
	if len(got) != 1 {
		t.Fatalf("Response gave %+v, want one envelope", got)
	}
	r, ok := got[0].Event.(contract.PermissionResponse)
	if !ok || string(r.Answers) != `{"user":"u","user2":1}` {
		t.Errorf("Response gave %+v, want it without the secret", got)
	}
	if again := w.s.Response(answer, contract.Envelope{}); again != nil || len(w.s.OpenAsks()) > 0 {
		t.Errorf("second Response gave %+v, open asks %+v; want none", again, w.s.OpenAsks())
	}
	check(t, w.stream, false)
}

func TestOpenIDs(t *testing.T) {
	w := newWorld()
	if w.s.Turn() != "" || w.s.Autonomous() {
		t.Errorf("a new Stamper has turn %q, autonomous %t", w.s.Turn(), w.s.Autonomous())
	}
	for _, d := range []adapters.Draft{by("x", contract.Text{Text: "t"}), by("x", call("a")), by("x", done("a")), by("x", call("a")), by("", call("b"))} {
		w.take(w.s.Agent(d))
	}
	if w.s.Turn() != w.stream[0].Turn || !w.s.Autonomous() {
		t.Errorf("turn is %q, autonomous %t; want %q, true", w.s.Turn(), w.s.Autonomous(), w.stream[0].Turn)
	}
	for _, c := range []struct {
		native, sub, want string
		ok                bool
	}{{"a", "x", "a~2", true}, {"a", "", "a~2", true}, {"b", "", "b", true}, {"c", "", "", false}} {
		if got, ok := w.s.Call(c.native, c.sub); got != c.want || ok != c.ok {
			t.Errorf("Call(%q, %q) = %q, %t, want %q, %t", c.native, c.sub, got, ok, c.want, c.ok)
		}
	}
	start, ok := w.stream[1].Event.(contract.SubagentStart)
	if got, open := w.s.Subagent("x"); !ok || !open || got != start.AgentID {
		t.Errorf("Subagent(x) = %q, %t, want %q", got, open, start.AgentID)
	}
	if _, open := w.s.Subagent("y"); open {
		t.Error("Subagent(y) is open")
	}
}

func TestRestorePassesErrorsOn(t *testing.T) {
	bad := errors.New("bad line")
	s := newWorld().s
	err := s.Restore(func(yield func(contract.Envelope, error) bool) {
		_ = yield(contract.Envelope{ID: cuid(1), Turn: cuid(2), Event: contract.TurnStart{}}, nil) && yield(contract.Envelope{}, bad)
	})
	if !errors.Is(err, bad) || s.Turn() != cuid(2) {
		t.Errorf("Restore gave %v with turn %q, want the error and the turn", err, s.Turn())
	}
}

// A journal that another program wrote may hold anything.
func TestRestoreOfNonsense(t *testing.T) {
	events := []contract.Event{
		contract.TurnEnd{},
		contract.ToolCallEnd{Call: "a"},
		contract.SubagentStop{AgentID: "x"},
		contract.PermissionResponse{Call: "a"},
		contract.PermissionRequest{Call: "a"},
		contract.ToolCallStart{Call: "a"},
		contract.ToolCallStart{Call: "a"},
		contract.SubagentStart{AgentID: "x"},
		contract.SubagentStart{AgentID: "x"},
		contract.TurnStart{},
		contract.SubagentStop{AgentID: "x"},
		nil,
		contract.Unknown{},
	}
	var seq iter.Seq2[contract.Envelope, error] = func(yield func(contract.Envelope, error) bool) {
		for _, ev := range events {
			if !yield(contract.Envelope{Event: ev, Subagent: "x", Time: math.MaxInt64 / 2}, nil) {
				return
			}
		}
	}
	w := newWorld()
	if err := w.s.Restore(seq); err != nil {
		t.Fatal(err)
	}
	w.take(w.s.Finish(failed, nil))
	if w.s.Turn() != "" || len(w.s.OpenAsks()) > 0 || len(w.stream) == 0 {
		t.Errorf("after Finish: turn %q, asks %v, %d envelopes", w.s.Turn(), w.s.OpenAsks(), len(w.stream))
	}
}

func TestCleaning(t *testing.T) {
	nan := math.NaN()
	long := strings.Repeat("w ", 2000)
	deep := jsontext.Value(strings.Repeat("[", 2000) + strings.Repeat("]", 2000))
	for _, c := range []struct {
		name     string
		in, want contract.Event
	}{
		{
			"unknown status, not a number, negative counts",
			contract.TurnEnd{Status: "odd", Usage: &contract.Usage{InputTokens: -1, OutputTokens: 2, Cost: &nan}, Error: &contract.Error{Code: "c"}},
			contract.TurnEnd{Status: failed, Usage: &contract.Usage{OutputTokens: 2}, Error: &contract.Error{Code: "c", Message: "c"}},
		}, {
			"a call without anything but a native name",
			contract.ToolCallStart{Call: "a", Native: "My Tool*"},
			contract.ToolCallStart{Call: "a", Native: "My Tool*", Name: "my-tool*", Title: `my-tool\*`, Description: `my-tool\*`, Args: jsontext.Value(`{}`)},
		}, {
			"args that are no object, a description only",
			contract.ToolCallStart{Call: "b", Name: "bash", Description: "does\nthings", Args: jsontext.Value(`[1]`)},
			contract.ToolCallStart{Call: "b", Name: "bash", Title: "does things", Description: "does\nthings", Args: jsontext.Value(`{"input":[1]}`)},
		}, {
			"args that are no JSON",
			contract.ToolCallStart{Call: "c", Name: "bash", Title: "t", Description: "d", Args: jsontext.Value("{\xff")},
			contract.ToolCallStart{Call: "c", Name: "bash", Title: "t", Description: "d", Args: jsontext.Value(`{"input":"{` + "\uFFFD" + `"}`)},
		}, {
			"a result that JSON cannot hold",
			contract.ToolCallEnd{Call: "c", Result: &contract.ToolResult{Output: jsontext.Value(`{`), Error: "e", Files: []contract.FileDiff{{}, {Path: "p", Status: "odd", Additions: -1}}}},
			contract.ToolCallEnd{Call: "c", Result: &contract.ToolResult{
				Status: contract.ToolError, Output: jsontext.Value(`"{"`), Error: "e", Files: []contract.FileDiff{{Path: "p", Status: contract.ChangeModified}},
			}},
		}, {
			"a result too deep for the encoder",
			contract.ToolCallEnd{Call: "b", Result: &contract.ToolResult{Output: deep}},
			contract.ToolCallEnd{Call: "b", Result: &contract.ToolResult{Status: contract.ToolCompleted, Output: jsontext.Value(`"` + string(deep) + `"`)}},
		}, {
			"a request takes what it lacks from its call",
			contract.PermissionRequest{Call: "a", Options: []contract.PermissionOption{{Decision: "odd"}, {Decision: contract.AllowOnce, Label: "Yes"}}},
			contract.PermissionRequest{
				Call: "a", ToolName: "my-tool*", Title: `my-tool\*`, Description: `my-tool\*`, Args: jsontext.Value(`{}`),
				Options: []contract.PermissionOption{{Decision: contract.AllowOnce, Label: "Yes"}},
			},
		}, {
			"a notice without text",
			contract.Service{Kind: "odd", Code: contract.CodeNetwork},
			contract.Service{Text: "network", Kind: contract.ServiceNotice, Code: contract.CodeNetwork},
		}, {
			"a file without a name",
			contract.File{Ref: "r", Size: -1, Image: &contract.Image{Width: -1}},
			contract.File{Ref: "r", Name: "r"},
		}, {
			"who took control is not known",
			contract.SessionControlChanged{ClientType: "watch"},
			contract.SessionControlChanged{ClientType: contract.ClientDaemon},
		}, {
			"extra members that are no object",
			contract.Text{Text: "x", Steer: true, Extra: jsontext.Value(`1`)},
			contract.Text{Text: "x"},
		},
	} {
		w := newWorld()
		for _, d := range []adapters.Draft{prompt(), by("", contract.ToolCallStart{Call: "a", Native: "My Tool*"}), by("", call("b")), by("", call("c"))} {
			w.take(w.s.Agent(d))
		}
		if start, ok := c.in.(contract.ToolCallStart); ok {
			w.take(w.s.Agent(by("", done(start.Call))))
			w.s = newWorld().s
			w.stream = nil
			w.take(w.s.Agent(prompt()))
		}
		envs := w.take(w.s.Agent(by("", c.in)))
		if _, isEnd := c.in.(contract.TurnEnd); isEnd {
			envs = envs[len(envs)-1:]
		}
		if len(envs) != 1 || !reflect.DeepEqual(envs[0].Event, c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.name, envs, c.want)
		}
		check(t, w.stream, false)
	}
	w := newWorld()
	w.take(w.s.Agent(by("", contract.ToolCallStart{Call: "l", Title: long, Description: long})))
	check(t, w.stream, false)
}

func TestEmptyTextAddsNothing(t *testing.T) {
	w := newWorld()
	for _, d := range []adapters.Draft{text(""), {}, by("", contract.Unknown{T: "x", Body: jsontext.Value(`[]`)}), by("", contract.SubagentStart{})} {
		if got := w.s.Agent(d); got != nil {
			t.Errorf("Agent(%+v) = %+v, want nothing", d, got)
		}
	}
}

func TestABrokenSourceOfIDsDoesNotHang(t *testing.T) {
	w := newWorld()
	s := stamp.New(stamp.Config{NewID: func() string { return "same" }, Now: w.config().Now})
	if got := s.Agent(text("x")); len(got) != 2 {
		t.Errorf("Agent gave %d envelopes, want 2", len(got))
	}
}

func BenchmarkAgent(b *testing.B) {
	n := 0
	s := stamp.New(stamp.Config{NewID: func() string { n++; return cuid(n) }, Now: newWorld().config().Now})
	d := by("", contract.Text{Text: "some words of an agent"})
	b.ReportAllocs()
	for range b.N {
		s.Agent(d)
	}
}
