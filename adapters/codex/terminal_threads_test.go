package codex_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

const begun = `{"method":"thread/started","params":{"thread":{"id":"thr-2","ephemeral":false,"source":"vscode","threadSource":"user","parentThreadId":null}}}`

// opened has a person begin the conversation thr-2 at the screen.
func (s *story) openedThere() {
	s.hear(begun)
	s.answer("thread/section/move", `{}`)
	s.answer("thread/resume", `{"thread":{"id":"thr-2","name":"Second","historyMode":"paginated"},"model":"gpt-6"}`)
	s.answer("thread/settings/update", `{}`)
}

func on(thread, method, params string) string {
	return `{"method":"` + method + `","params":{"threadId":"` + thread + `",` + params + `}}`
}

// A conversation that is begun at the screen becomes the session's, with the rights
// of its mode, before anything is typed there.
func TestConversationThere(t *testing.T) {
	s := beside(t, adapters.Options{})
	s.openedThere()
	if s.facts.NativeSession != "thr-2" || s.facts.Title != "Second" || s.facts.Model != "gpt-6" {
		t.Errorf("facts = %+v", s.facts)
	}
	set := s.request("thread/settings/update").Get("params")
	if set.Get("threadId").Text() != "thr-2" || set.Get("approvalPolicy").Text() != "untrusted" {
		t.Errorf("rights = %s", set)
	}
	if n := len(of[contract.Service](s)); n != 1 {
		t.Errorf("%d notices, want 1", n)
	}
	s.drafts = nil
	s.hear(on("thr-2", "turn/started", `"turn":{"id":"n1"}`), userItem("thr-2", "n1", "x", "typed"),
		on("thr-2", "turn/completed", `"turn":{"id":"n1","status":"completed","items":[]}`))
	s.submit(adapters.Prompt{ID: "p1", Text: "sent"})
	if got := s.request("turn/start").Get("params", "threadId").Text(); got != "thr-2" {
		t.Errorf("turn/start in %q, want thr-2", got)
	}
	s.answer("turn/start", `{"turn":{"id":"n2"}}`)
	s.hear(on("thr-2", "turn/started", `"turn":{"id":"n2"}`), on("thr-2", "turn/completed", `"turn":{"id":"n2","status":"completed","items":[]}`))
	// Back in the first one, without a word of the server before.
	s.hear(on("thr-1", "turn/started", `"turn":{"id":"t9"}`), userItem("thr-1", "t9", "y", "back"),
		on("thr-1", "turn/completed", `"turn":{"id":"t9","status":"completed","items":[]}`))
	s.want("user:typed start,typed-1 end:completed start,p1 end:completed user:back start,typed-2 end:completed")
	if s.facts.NativeSession != "thr-1" {
		t.Errorf("native session = %q, want thr-1", s.facts.NativeSession)
	}
}

// What happens in another conversation while a turn of the session runs waits for
// the end of that turn.
func TestConversationWaits(t *testing.T) {
	s := beside(t, adapters.Options{})
	s.typed("t1", "first")
	s.openedThere()
	s.hear(on("thr-2", "turn/started", `"turn":{"id":"n1"}`), userItem("thr-2", "n1", "x", "second"),
		on("thr-2", "item/completed", `"turnId":"n1","item":{"type":"agentMessage","id":"m2","text":"there"}`),
		`{"method":"item/commandExecution/requestApproval","id":5,"params":{"threadId":"thr-2","turnId":"n1","itemId":"c1","command":"make"}}`,
		on("thr-1", "item/completed", `"turnId":"t1","item":{"type":"agentMessage","id":"m1","text":"here"}`))
	s.want("user:first start,typed-1 text:here")
	s.completed("t1", "completed")
	s.want("user:first start,typed-1 text:here end:completed agent-configuration-changed user:second start,typed-2 text:there call ask")
	s.submit(adapters.Answer{Ask: s.ask().Ask, Decision: contract.AllowOnce})
	if got := s.reply("5").Get("result", "decision").Text(); got != "accept" {
		t.Errorf("decision = %q, want accept", got)
	}
	s.hear(on("thr-2", "turn/completed", `"turn":{"id":"n1","status":"completed","items":[]}`))
	if !strings.HasSuffix(s.shape(), "called end:completed") {
		t.Errorf("the stream is %s", s.shape())
	}
}

// What waits is bounded, and what does not fit is told to be missing.
func TestConversationTooLong(t *testing.T) {
	s := beside(t, adapters.Options{})
	s.typed("t1", "first")
	s.openedThere()
	s.hear(on("thr-2", "turn/started", `"turn":{"id":"n1"}`))
	long := strings.Repeat("x", 1<<20)
	for i := range 10 {
		s.hear(on("thr-2", "item/completed", fmt.Sprintf(`"turnId":"n1","item":{"type":"agentMessage","id":"m%d","text":%q}`, i, long)))
	}
	s.completed("t1", "completed")
	if n := len(s.texts()); n != 1+7 { // one typed, seven that fit
		t.Errorf("%d texts, want 8", n)
	}
	missing := false
	for _, ev := range of[contract.Service](s) {
		missing = missing || strings.Contains(ev.Text, "missing")
	}
	if !missing {
		t.Error("nobody is told that something is missing")
	}
}

// Threads of sub-agents and those in which titles are made are no conversations; one
// that is loaded without a word is looked at.
func TestNoConversation(t *testing.T) {
	s := beside(t, adapters.Options{})
	for i, thread := range []string{
		`"ephemeral":true,"source":"vscode","threadSource":"thread_title"`,
		`"ephemeral":false,"source":{"subAgent":"review"}`,
		`"ephemeral":false,"source":"vscode","parentThreadId":"thr-1"`,
		`"ephemeral":false,"source":"vscode","threadSource":"subagent"`,
	} {
		id := fmt.Sprintf("other-%d", i)
		s.hear(`{"method":"thread/started","params":{"thread":{"id":"`+id+`",`+thread+`}}}`,
			on(id, "thread/status/changed", `"status":{"type":"active"}`), on(id, "turn/started", `"turn":{"id":"x"}`))
	}
	if s.request("thread/resume") != nil || s.request("thread/read") != nil {
		t.Error("what is no conversation was joined")
	}
	s.hear(on("child", "thread/status/changed", `"status":{"type":"idle"}`))
	s.answer("thread/read", `{"thread":{"id":"child","ephemeral":false,"source":"vscode","parentThreadId":"thr-1"}}`)
	s.hear(on("gone", "thread/status/changed", `"status":{"type":"notLoaded"}`), on("old", "thread/status/changed", `"status":{"type":"idle"}`))
	if s.request("thread/resume") != nil {
		t.Error("a sub-agent's thread was joined")
	}
	s.answer("thread/read", `{"thread":{"id":"old","ephemeral":false,"source":"cli"}}`)
	s.answer("thread/resume", `{"thread":{"id":"old"}}`)
	s.answer("thread/settings/update", `{}`)
	if s.facts.NativeSession != "old" {
		t.Errorf("native session = %q, want the conversation that was resumed", s.facts.NativeSession)
	}
}

// A conversation that could not be joined is joined when something happens there,
// and what runs already is told.
func TestConversationJoinedLate(t *testing.T) {
	s := beside(t, adapters.Options{})
	s.hear(begun)
	s.refuse("thread/section/move", "unknown variant")
	s.refuse("thread/resume", "no rollout found")
	if s.facts.NativeSession == "thr-2" {
		t.Error("the session went where it cannot listen")
	}
	s.drafts = nil
	s.hear(on("thr-2", "thread/status/changed", `"status":{"type":"active"}`))
	s.answer("thread/resume", `{"thread":{"id":"thr-2","status":{"type":"active"}},"initialTurnsPage":{"data":[{"id":"n1","status":"inProgress","items":[{"type":"userMessage","id":"u1","clientId":"x","content":[{"type":"text","text":"typed"}]}]}]}}`)
	s.answer("thread/settings/update", `{}`)
	s.hear(on("thr-2", "turn/completed", `"turn":{"id":"n1","status":"completed","items":[]}`))
	s.want("user:typed start,typed-1 end:completed")
}

// broken breaks the connection and answers what the Protocol asks on the new one.
func (s *story) broken(page, status string, replayed ...string) {
	s.t.Helper()
	step, err := s.proto.Receive(s.now, adapters.Frame{Source: adapters.Socket, Reconnected: true})
	if err != nil {
		s.t.Fatal(err)
	}
	s.apply(step)
	s.answer("initialize", `{"userAgent":"agenthost/0.171.0 (x)"}`)
	s.hear(`{"method":"configWarning","params":{"summary":"once more"}}`)
	s.answer("thread/resume", `{"thread":{"id":"thr-1","status":{"type":"`+status+`"}},"initialTurnsPage":{"data":[`+page+`]}}`)
	s.hear(replayed...)
	s.answer("thread/loaded/list", `{"data":["thr-1"]}`)
}

func pageItem(kind, id, rest string) string {
	return `{"type":"` + kind + `","id":"` + id + `",` + rest + `}`
}

func message(client, text string) string {
	return pageItem("userMessage", "u-"+client, `"clientId":"`+client+`","content":[{"type":"text","text":"`+text+`"}]`)
}

// After a break nothing is lost and nothing is told twice.
func TestBroken(t *testing.T) {
	const said = `{"method":"item/completed","params":{"threadId":"thr-1","turnId":"t1","item":{"type":"agentMessage","id":"m1","text":"one"}}}`
	for name, c := range map[string]struct {
		before       func(s *story)
		page, status string
		after        func(s *story)
		want         string
	}{
		"between turns": {
			before: func(s *story) { s.typed("t1", "go"); s.hear(said); s.completed("t1", "completed") },
			page:   `{"id":"t1","status":"completed","items":[` + message("there-t1", "go") + `,` + pageItem("agentMessage", "m1", `"text":"one"`) + `]}`, status: "idle",
			want: "user:go start,typed-1 text:one end:completed",
		},
		"in a turn that ended meanwhile": {
			before: func(s *story) { s.typed("t1", "go"); s.hear(said) },
			page: `{"id":"t1","status":"completed","items":[` + message("there-t1", "go") + `,` + pageItem("agentMessage", "m1", `"text":"one"`) + `,` +
				pageItem("commandExecution", "c1", `"command":"make","status":"completed","exitCode":0`) + `,` + pageItem("agentMessage", "m2", `"text":"two"`) + `]}`, status: "idle",
			want: "user:go start,typed-1 text:one call called text:two end:completed",
		},
		"in a turn that goes on": {
			before: func(s *story) { s.typed("t1", "go"); s.hear(said) },
			page:   `{"id":"t1","status":"inProgress","items":[` + message("there-t1", "go") + `,` + pageItem("agentMessage", "m1", `"text":"one"`) + `]}`, status: "active",
			after: func(s *story) { s.completed("t1", "completed") },
			want:  "user:go start,typed-1 text:one end:completed",
		},
		"while a text was streamed": {
			before: func(s *story) {
				s.typed("t1", "go")
				s.hear(`{"method":"item/agentMessage/delta","params":{"threadId":"thr-1","turnId":"t1","itemId":"m1","delta":"on"}}`)
			},
			page: `{"id":"t1","status":"inProgress","items":[` + message("there-t1", "go") + `]}`, status: "active",
			after: func(s *story) { s.hear(said); s.completed("t1", "completed") },
			want:  "user:go start,typed-1 text:one end:completed",
		},
		"whole turns meanwhile": {
			before: func(s *story) { s.typed("t1", "go"); s.completed("t1", "completed") },
			page: `{"id":"t3","status":"inProgress","items":[` + message("c", "three") + `]},{"id":"t2","status":"completed","items":[` + message("b", "two") + `,` +
				pageItem("agentMessage", "m2", `"text":"2"`) + `]},{"id":"t1","status":"completed","items":[]}`, status: "active",
			after: func(s *story) { s.completed("t3", "completed") },
			want:  "user:go start,typed-1 end:completed user:two start,typed-2 text:2 end:completed user:three start,typed-3 end:completed",
		},
		"the turn is nowhere": {
			before: func(s *story) { s.typed("t1", "go") }, page: ``, status: "idle",
			want: "user:go start,typed-1 end:failed",
		},
		"the turn has only just begun": {
			before: func(s *story) { s.typed("t1", "go") }, page: ``, status: "active",
			after: func(s *story) { s.completed("t1", "completed") },
			want:  "user:go start,typed-1 end:completed",
		},
		"a prompt that came there": {
			before: func(s *story) { s.submit(adapters.Prompt{ID: "p1", Text: "sent"}) },
			page:   `{"id":"t1","status":"inProgress","items":[` + message("p1", "sent") + `]}`, status: "active",
			after: func(s *story) { s.completed("t1", "completed") },
			want:  "start,p1 end:completed",
		},
		"a prompt that did not come there": {
			before: func(s *story) { s.submit(adapters.Prompt{ID: "p1", Text: "sent"}) }, page: ``, status: "idle",
			after: func(s *story) {
				s.answer("turn/start", `{"turn":{"id":"t1"}}`)
				s.hear(`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"t1"}}}`, userItem("thr-1", "t1", "p1", "sent"))
				s.completed("t1", "completed")
			},
			want: "start,p1 end:completed",
		},
		"a turn that is being stopped": {
			before: func(s *story) { s.typed("t1", "go"); s.submit(adapters.Abort{}) },
			page:   `{"id":"t1","status":"inProgress","items":[` + message("there-t1", "go") + `]}`, status: "active",
			after: func(s *story) { s.answer("turn/interrupt", `{}`); s.completed("t1", "interrupted") },
			want:  "user:go start,typed-1 end:cancelled",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := beside(t, adapters.Options{})
			c.before(s)
			s.broken(c.page, c.status)
			if c.after != nil {
				c.after(s)
			}
			s.want(c.want)
			for _, ev := range of[contract.Service](s) {
				if strings.Contains(ev.Text, "once more") {
					t.Error("a warning is told on each connection")
				}
			}
		})
	}
}

// Asks outlive a break: the server repeats those that are open, and one that it does
// not repeat was answered. An answer that got lost is asked for again.
func TestBrokenAsks(t *testing.T) {
	const page = `{"id":"t1","status":"inProgress","items":[]}`
	again := `{"method":"item/commandExecution/requestApproval","id":7,"params":{"threadId":"thr-1","turnId":"t1","itemId":"c1","command":"make"}}`

	s := beside(t, adapters.Options{})
	s.typed("t1", "go")
	s.command("t1", "c1", "7")
	s.broken(page, "active", again)
	s.tick(time.Second)
	s.want("user:go start,typed-1 call ask")
	s.submit(adapters.Answer{Ask: "7", Decision: contract.AllowOnce})
	s.broken(page, "active", again)
	s.want("user:go start,typed-1 call ask ask")
	s.submit(adapters.Answer{Ask: s.ask().Ask, Decision: contract.AllowOnce})

	s = beside(t, adapters.Options{})
	s.typed("t1", "go")
	s.command("t1", "c1", "7")
	s.broken(page, "active")
	s.tick(time.Second)
	s.want("user:go start,typed-1 call ask answer:allow-once")
}

// A break leads into no other conversation: those that were left are joined again,
// and the session stays.
func TestBrokenThere(t *testing.T) {
	s := beside(t, adapters.Options{})
	s.openedThere()
	s.drafts = nil
	step, err := s.proto.Receive(s.now, adapters.Frame{Source: adapters.Socket, Reconnected: true})
	if err != nil {
		t.Fatal(err)
	}
	s.apply(step)
	s.answer("initialize", `{"userAgent":"agenthost/0.171.0 (x)"}`)
	joined := map[string]string{}
	for _, w := range s.wrote[len(s.wrote)-2:] {
		joined[w.Get("params", "threadId").Text()] = string(w.Get("id"))
	}
	for id, request := range joined {
		s.hear(`{"id":` + request + `,"result":{"thread":{"id":"` + id + `","status":{"type":"idle"}},"initialTurnsPage":{"data":[]}}}`)
	}
	if len(joined) != 2 || s.facts.NativeSession != "thr-2" {
		t.Errorf("joined %v, native session %q, want both and thr-2", joined, s.facts.NativeSession)
	}
	s.hear(on("thr-1", "turn/started", `"turn":{"id":"t9"}`), userItem("thr-1", "t9", "y", "back"),
		on("thr-1", "turn/completed", `"turn":{"id":"t9","status":"completed","items":[]}`))
	s.want("user:back start,typed-1 end:completed")
}

// What was asked of the server fails, and a server that does not take us back is
// given up.
func TestBrokenCommands(t *testing.T) {
	s := beside(t, adapters.Options{})
	s.submit(adapters.Op{ID: "o1", Name: "turns"})
	s.submit(adapters.Configure{ID: "c1", Mode: contract.ModePlan})
	s.broken(``, "idle")
	for _, id := range []string{"o1", "c1"} {
		if got := s.done[id]; got.Err == nil || got.Err.Code != contract.CodeNetwork {
			t.Errorf("%s: %+v, want a network error", id, got)
		}
	}
	step, err := s.proto.Receive(s.now, adapters.Frame{Source: adapters.Socket, Reconnected: true})
	if err != nil {
		t.Fatal(err)
	}
	s.apply(step)
	s.answer("initialize", `{"userAgent":"x/1"}`)
	s.refuse("thread/resume", "no such thread")
	if s.stop == "" {
		t.Error("a server without the thread is kept")
	}
}
