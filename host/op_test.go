package host

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// operation is an Op that runs.
type operation struct {
	result jsontext.Value
	err    error
	over   chan struct{}
}

func (st *stage) begin(name, params string) *operation {
	o := &operation{over: make(chan struct{})}
	go func() {
		o.result, o.err = st.Op(context.WithoutCancel(st.t.Context()), name, jsontext.Value(params))
		close(o.over)
	}()
	return o
}

// want waits for the operation's end.
func (o *operation) want(t *testing.T, result, failure string) {
	t.Helper()
	<-o.over
	if failure != "" {
		if o.err == nil || !strings.Contains(o.err.Error(), failure) {
			t.Errorf("Op = %s, %v; want an error with %q", o.result, o.err, failure)
		}
		return
	}
	if o.err != nil || string(o.result) != result {
		t.Errorf("Op = %s, %v; want %s", o.result, o.err, result)
	}
}

// taken reads the operation that the agent was given, and its id.
func (c *fakeChild) op(want string) string {
	c.t.Helper()
	_, rest, _ := strings.Cut(c.want("op "), " ")
	id, rest, _ := strings.Cut(rest, " ")
	if rest != want {
		c.t.Errorf("the agent got %q, want %q", rest, want)
	}
	return id
}

// talk has a turn with one answer.
func (st *stage) talk(c *fakeChild, prompt, origin string) {
	st.t.Helper()
	st.mustSend(contract.Text{Text: prompt})
	c.want("prompt " + prompt)
	c.say(fmt.Sprintf("says %s re:%s", origin, prompt), "done completed")
	st.Idle(st.t.Context())
}

// message is the envelope id of a text of the stream.
func (st *stage) message(text string) string {
	st.t.Helper()
	for e, err := range st.Journal().Envelopes() {
		if err != nil {
			st.t.Fatal(err)
		}
		if ev, ok := e.Event.(contract.Text); ok && ev.Text == text {
			return e.ID
		}
	}
	st.t.Fatalf("no text %q in the stream", text)
	return ""
}

func (st *stage) meta() Meta {
	st.t.Helper()
	m, err := readMeta(st.cfg.StateDir, st.ID())
	if err != nil {
		st.t.Fatal(err)
	}
	return m
}

// Operations pass through; what the agent cannot do is ErrUnsupported.
func TestOpPassesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		o := st.begin("list", `{"all":true}`)
		c.say("result " + c.op(`list {"all":true}`) + ` {"a": [1]}`)
		o.want(t, `{"a": [1]}`, "")
		o = st.begin("list", "")
		c.say("failed " + c.op("list ") + " no")
		o.want(t, "", "no")
		for _, name := range []string{"rewind", "fork", "stash", "nothing"} {
			o := st.begin(name, "")
			<-o.over
			if !errors.Is(o.err, errors.ErrUnsupported) {
				t.Errorf("%s: %v, want ErrUnsupported", name, o.err)
			}
		}
		c.silent()
		check(t, st.end())
	})
}

// An operation of a session whose agent is starting, or died, waits for it.
func TestOpWaitsForTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := newStage(t, fakeAdapter{}, nil)
		o := st.begin("list", "")
		synctest.Wait()
		c.silent()
		c.say("opened n")
		c.say("result " + c.op("list ") + ` 1`)
		o.want(t, "1", "")

		c.die(adapters.ExitStatus{Code: 1})
		o = st.begin("list", "")
		c = <-st.children
		c.want("open")
		c.say("opened n")
		c.say("result " + c.op("list ") + ` 2`)
		o.want(t, "2", "")
		check(t, st.end(), "service:reconnect:")
	})
}

const restartAt = `{"restart":{"resume":"native-1","resumeAt":%q},"files":{"filesChanged":["a.go"]}}`

// A rewind starts the agent again at the point, in the same session; prompts that
// come meanwhile go to what is there afterwards.
func TestRewindRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{moves: true}, nil)
		st.talk(c, "one", "o1")
		st.talk(c, "two", "o2")
		two := st.message("two")
		o := st.begin("rewind", fmt.Sprintf(`{"to":%q,"what":"both"}`, two))
		id := c.op(fmt.Sprintf(`rewind {"to":%q,"at":"o1","what":"both"}`, two))
		st.mustSend(contract.Text{Text: "three"})
		c.deaf = true
		c.say("result " + id + " " + fmt.Sprintf(restartAt, "o1"))
		c.want("close")
		if m := st.meta(); m.cutAt() != "o1" {
			t.Errorf("before the agent went cutAt = %q, want it on disk", m.cutAt())
		}
		c.die(adapters.ExitStatus{})
		c = <-st.children
		c.want("open")
		synctest.Wait()
		c.silent()
		c.say("opened native-1")
		c.want("prompt three")
		o.want(t, `{"conversation":true,"files":{"filesChanged":["a.go"]},"origin":"o1"}`, "")
		c.say("says o3 re:three", "done completed")
		st.Idle(t.Context())
		if m := st.meta(); m.cutAt() != "" || len(m.Rewinds) != 1 {
			t.Errorf("after the next turn the session has %+v", m.Rewinds)
		}
		if got := st.argv[1][1]; got != "--resume=native-1@o1" {
			t.Errorf("started with %q", got)
		}
		// The message that was rewound away is no point any more, and what comes before
		// the newest one is the answer that was kept.
		st.begin("rewind", fmt.Sprintf(`{"to":%q}`, two)).want(t, "", "was rewound")
		o = st.begin("fork", fmt.Sprintf(`{"to":%q}`, st.message("three")))
		c.say("result " + c.op(fmt.Sprintf(`fork {"to":%q,"at":"o1"}`, st.message("three"))) + ` {"newProcess":true,"fork":"native-1","forkAt":"o1"}`)
		o.want(t, fmt.Sprintf(`{"parent":%q,"agent":"fake","origin":"o1","fork":"native-1","forkAt":"o1"}`, st.ID()), "")
		// An agent that dies now goes on at its end.
		c.die(adapters.ExitStatus{Code: 1})
		synctest.Wait() // else the prompt may be sent to it
		st.mustSend(contract.Text{Text: "four"})
		c = <-st.children
		c.want("open")
		if got := st.argv[2][1]; got != "--resume=native-1" {
			t.Errorf("started with %q", got)
		}
		check(t, st.end(),
			"user:one", "turn-start", "agent:re:one", "turn-end:completed",
			"user:two", "turn-start", "agent:re:two", "turn-end:completed",
			"user:three", "service:notice:", "turn-start", "agent:re:three", "turn-end:completed",
			"user:four", "service:reconnect:", "service:notice:host-stopped")
	})
}

// A rewind is refused during a turn, and a fork of the end is.
func TestOpsDuringATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{moves: true}, nil)
		st.talk(c, "one", "o1")
		st.mustSend(contract.Text{Text: "two"})
		c.want("prompt two")
		for _, op := range [][2]string{{"rewind", `{"at":"o1"}`}, {"fork", ""}} {
			o := st.begin(op[0], op[1])
			<-o.over
			if !errors.Is(o.err, ErrBusy) {
				t.Errorf("%s = %v, want ErrBusy", op[0], o.err)
			}
		}
		c.silent()
		o := st.begin("fork", `{"at":"o1"}`)
		c.say("result " + c.op(`fork {"at":"o1"}`) + ` {"fork":"native-1","forkAt":"o1"}`)
		o.want(t, fmt.Sprintf(`{"parent":%q,"agent":"fake","origin":"o1","fork":"native-1","forkAt":"o1"}`, st.ID()), "")
		c.say("done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:one", "turn-start", "agent:re:one", "turn-end:completed", "user:two", "turn-start", "turn-end:completed")
	})
}

// An agent that does not open its session at the point is started as it was, the
// rewind fails and says why. Whether it says so or just ends is all one.
func TestRewindTakenBack(t *testing.T) {
	for name, end := range map[string]func(c *fakeChild){
		"refused": func(c *fakeChild) { c.say("refused no such message"); c.want("close") },
		"exited":  func(c *fakeChild) { c.die(adapters.ExitStatus{Code: 1, Stderr: "no such message"}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, c := opened(t, fakeAdapter{moves: true}, nil)
				st.talk(c, "one", "o1")
				o := st.begin("rewind", `{"at":"gone"}`)
				c.say("result " + c.op(`rewind {"at":"gone"}`) + ` {"restart":{"resume":"native-1","resumeAt":"gone"}}`)
				c.want("close")
				c = <-st.children
				c.want("open")
				end(c)
				c = <-st.children
				c.want("open")
				c.say("opened native-1")
				o.want(t, "", "no such message")
				if got := st.argv[2][1]; got != "--resume=native-1" {
					t.Errorf("started with %q", got)
				}
				if m := st.meta(); len(m.Rewinds) != 0 {
					t.Errorf("the session has %+v", m.Rewinds)
				}
				st.talk(c, "two", "o2")
				got := st.end()
				check(t, got[len(got)-4:], "user:two", "turn-start", "agent:re:two", "turn-end:completed")
				if n := len(got) - 8; n != 1 || !strings.HasPrefix(got[4], "service:error:") {
					t.Errorf("stream = %q, want one error", got)
				}
			})
		})
	}
}

// A rewind that no turn followed holds for the next run of the session.
func TestRewindSurvivesTheHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{moves: true}, nil)
		st.talk(c, "one", "o1")
		st.talk(c, "two", "o2")
		o := st.begin("rewind", fmt.Sprintf(`{"at":%q}`, st.message("re:one")))
		c.say("result " + c.op(`rewind {"at":"o1"}`) + ` {"restart":{"resume":"native-1","resumeAt":"o1"}}`)
		c.want("close")
		c = <-st.children
		c.want("open")
		c.say("opened native-1")
		o.want(t, `{"conversation":true,"files":false,"origin":"o1"}`, "")
		// A fork of the end is one of what is left.
		o = st.begin("fork", "")
		c.say("result " + c.op(`fork {"at":"o1"}`) + ` {"fork":"native-1","forkAt":"o1"}`)
		o.want(t, fmt.Sprintf(`{"parent":%q,"agent":"fake","origin":"o1","fork":"native-1","forkAt":"o1"}`, st.ID()), "")
		st.end()
		b, err := BranchOf(st.cfg.StateDir, st.meta(), "")
		if want := (Branch{Parent: st.ID(), Agent: "fake", Origin: "o1", Fork: "native-1", ForkAt: "o1"}); err != nil || b != want {
			t.Errorf("BranchOf = %+v, %v; want %+v", b, err, want)
		}
		again, c := newStage(t, fakeAdapter{moves: true}, func(cfg *Config) {
			cfg.ID, cfg.StateDir, cfg.Dir = st.cfg.ID, st.cfg.StateDir, st.cfg.Dir
			cfg.Options.Resume = "native-1"
		})
		if got := again.argv[0][1]; got != "--resume=native-1@o1" {
			t.Errorf("started with %q", got)
		}
		c.say("opened native-1")
		again.Opened(t.Context())
		again.end()
	})
}

// A stop in the middle of a rewind ends the session; the operation says so.
func TestStopInARewind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{moves: true}, nil)
		st.talk(c, "one", "o1")
		o := st.begin("rewind", `{"at":"o1"}`)
		c.deaf = true
		c.say("result " + c.op(`rewind {"at":"o1"}`) + ` {"restart":{"resume":"native-1","resumeAt":"o1"}}`)
		c.want("close")
		go st.Stop(t.Context())
		synctest.Wait()
		c.die(adapters.ExitStatus{})
		<-st.Done()
		<-o.over
		if !errors.Is(o.err, ErrOver) {
			t.Errorf("Op = %v, want ErrOver", o.err)
		}
		if len(st.children) != 0 {
			t.Error("the agent was started again")
		}
		check(t, st.stream(), "user:one", "turn-start", "agent:re:one", "turn-end:completed")
	})
}

// An agent that rewinds by itself needs no restart.
func TestRewindByTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{moves: true}, nil)
		st.talk(c, "one", "o1")
		st.talk(c, "two", "o2")
		two := st.message("two")
		o := st.begin("rewind", fmt.Sprintf(`{"to":%q,"dryRun":true}`, two))
		c.say("result " + c.op(fmt.Sprintf(`rewind {"to":%q,"at":"o1","dryRun":true}`, two)) + ` {"conversation":true}`)
		o.want(t, `{"conversation":true}`, "")
		o = st.begin("rewind", fmt.Sprintf(`{"to":%q,"own":[1]}`, two))
		c.say("result " + c.op(fmt.Sprintf(`rewind {"to":%q,"at":"o1","own":[1]}`, two)) + ` {"conversation":true,"files":false,"turn":"t"}`)
		o.want(t, `{"conversation":true,"files":false,"turn":"t"}`, "")
		if m := st.meta(); len(m.Rewinds) != 1 || m.Rewinds[0].Open {
			t.Errorf("the session has %+v, want one rewind that the agent has done", m.Rewinds)
		}
		st.begin("rewind", `[]`).want(t, "", "params")
		check(t, st.end(),
			"user:one", "turn-start", "agent:re:one", "turn-end:completed",
			"user:two", "turn-start", "agent:re:two", "turn-end:completed", "service:notice:")
	})
}

// What people are told of a rewind, in words.
func TestTellRewound(t *testing.T) {
	files := jsontext.Value(`{"canRewind":true,"filesChanged":["a.go","b.go"]}`)
	for _, c := range []struct {
		w    rewound
		want string
	}{
		{rewound{Conversation: true, message: "do\nit"}, `The conversation was rewound, the files stay as they are, to before "do it". The agent does not know any more what was said after that.`},
		{rewound{Files: files}, `The files were rewound, the conversation goes on. Put back: a.go, b.go. What commands changed stays.`},
		{rewound{Conversation: true, Files: jsontext.Value(`{}`)}, `The conversation and the files were rewound. The agent does not know any more what was said after that. What commands changed stays.`},
		{rewound{Conversation: true, Files: jsontext.Value(`{"filesChanged":[]}`)}, `The conversation and the files were rewound. The agent does not know any more what was said after that. No file had to be put back; what commands changed stays.`},
		{rewound{Files: jsontext.Value(`false`), message: strings.Repeat("ä", 100)}, `The agent was rewound, to before "` + strings.Repeat("ä", 80) + `…".`},
	} {
		if got := c.w.String(); got != c.want {
			t.Errorf("%+v:\n got %s\nwant %s", c.w, got, c.want)
		}
	}
}

// A branch that the agent has made is opened; one that is at the wrong point is none.
func TestForkMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{moves: true}, nil)
		st.talk(c, "one", "o1")
		for _, c2 := range []struct{ params, at, result, want, failure string }{
			{``, `{}`, `{"sessionId":"native-2"}`, `{"parent":%q,"agent":"fake","origin":"o1","resume":"native-2"}`, ""},
			{``, `{}`, `{"newSessionId":"native-2"}`, `{"parent":%q,"agent":"fake","origin":"o1","resume":"native-2"}`, ""},
			{`{"at":"o1"}`, `{"at":"o1"}`, `{"sessionId":"native-2"}`, "", "native-2"},
			{``, `{}`, `[]`, "", "did not say"},
		} {
			o := st.begin("fork", c2.params)
			c.say("result " + c.op("fork "+c2.at) + " " + c2.result)
			want := c2.want
			if want != "" {
				want = fmt.Sprintf(want, st.ID())
			}
			o.want(t, want, c2.failure)
		}
		st.end()
	})
}

// A branch is a session of its own that names its parent, also after its next start.
func TestBranch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cfg Config
		b := Branch{Parent: "p", Agent: "fake", Origin: "o1", Fork: "native-1", ForkAt: "o1"}
		for range 2 {
			st, c := newStage(t, fakeAdapter{}, func(c *Config) {
				if cfg.ID != "" {
					c.ID, c.StateDir, c.Dir, c.Options.Resume = cfg.ID, cfg.StateDir, cfg.Dir, "native-2"
					return
				}
				b.Configure(c)
			})
			c.say("opened native-2")
			st.Opened(t.Context())
			st.end()
			cfg = st.cfg
			m := st.meta()
			if m.Parent != "p" || m.Origin != "o1" || m.Facts.NativeSession != "native-2" {
				t.Errorf("metadata = %+v", m)
			}
		}
	})
}

func TestReadBranch(t *testing.T) {
	for _, bad := range []string{``, `[]`, `{}`, `{"fork":"a","resume":"b"}`} {
		if b, err := ReadBranch(jsontext.Value(bad)); err == nil {
			t.Errorf("ReadBranch(%s) = %+v, want an error", bad, b)
		}
	}
	want := Branch{Parent: "p", Resume: "r"}
	if b, err := ReadBranch(jsontext.Value(`{"parent":"p","resume":"r"}`)); err != nil || b != want {
		t.Errorf("ReadBranch = %+v, %v", b, err)
	}
}

// A confirmed configuration is that of the next start.
func TestConfigurationOutlivesTheAgent(t *testing.T) {
	s := &Session{}
	box := true
	s.keep(adapters.Configure{Mode: "plan", Model: "m", ThinkingLevel: "high", Sandbox: &box})
	s.keep(adapters.Configure{Model: "n"})
	if o := s.cfg.Options; o.Mode != "plan" || o.Model != "n" || o.Thinking != "high" || !o.Sandbox {
		t.Errorf("options = %+v", o)
	}
}

// reasoned is an agent that says why it cannot rewind.
type reasoned struct{ fakeAdapter }

func (reasoned) Describe() adapters.Description {
	return adapters.Description{Title: "Fake", Claims: []adapters.Claim{{Capability: "rewind", Reason: "it forgets nothing"}}}
}

// reasonedOnScreen has another reason on its own screen.
type reasonedOnScreen struct{ adapters.TerminalAdapter }

func (reasonedOnScreen) Name() string { return "fake" }

func (reasonedOnScreen) Describe() adapters.Description { return reasoned{}.Describe() }

func (reasonedOnScreen) DescribeTerminal() adapters.Description {
	return adapters.Description{Title: "Fake", Claims: []adapters.Claim{{Capability: "rewind", Reason: "its screen has no such command"}}}
}

// Who is refused is told the reason that the capabilities have.
func TestOpRefusedWithReason(t *testing.T) {
	s := &Session{cfg: Config{Adapter: reasoned{}}}
	onScreen := &Session{cfg: Config{Adapter: reasonedOnScreen{}}}
	onScreen.meta.Face = adapters.FaceTerminal
	if err := onScreen.cannot("rewind"); err == nil || !strings.Contains(err.Error(), "(its screen has no such command)") {
		t.Errorf("on its screen: %v, want the reason of that face", err)
	}
	for name, want := range map[session.Capability]string{"rewind": "cannot do that (it forgets nothing)", "fork": "cannot do that: "} {
		if err := s.cannot(name); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ErrUnsupported with %q", name, err, want)
		}
	}
}
