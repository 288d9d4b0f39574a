package prompt

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/permission/grant"
	"github.com/agenthost/agenthost/permission/policy"
)

// screenBuffer is a screen that can be read while it is written to.
type screenBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screenBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// take is what was written since the last take.
func (s *screenBuffer) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.b.Reset()
	return s.b.String()
}

// desk is a mediator with a person at a terminal. It lives in a synctest bubble.
type desk struct {
	t   *testing.T
	m   *permission.Mediator
	in  *io.PipeWriter
	out *screenBuffer
	end chan error
}

func sit(t *testing.T, p *Prompt) *desk {
	t.Helper()
	rules, err := policy.Parse([]byte("timeout: 0\nrules: [{deny: 'bash(rm *)'}]"), policy.Env{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := grant.Open("", grant.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, m: permission.New(permission.Options{Policy: rules, Grants: s}), out: &screenBuffer{}, end: make(chan error, 1)}
	r, w := io.Pipe()
	p.In, p.Out, d.in = r, d.out, w
	go func() { d.end <- p.Run(t.Context(), d.m, "") }()
	synctest.Wait()
	return d
}

// leave closes the input, which ends the prompt without an answer.
func (d *desk) leave() {
	d.t.Helper()
	_ = d.in.Close()
	if err := <-d.end; err != nil {
		d.t.Errorf("Run = %v, want nil", err)
	}
	_ = d.m.Close()
}

func (d *desk) open(a permission.Ask) *permission.Answer {
	d.t.Helper()
	got := new(permission.Answer)
	if err := d.m.Open(a, func(x permission.Answer) { *got = x }); err != nil {
		d.t.Fatal(err)
	}
	synctest.Wait()
	return got
}

func (d *desk) press(keys string) {
	d.t.Helper()
	if _, err := io.WriteString(d.in, keys); err != nil {
		d.t.Fatal(err)
	}
	synctest.Wait()
}

func run(id, command string) permission.Ask {
	quoted, _ := jsontext.AppendQuote(nil, command)
	return permission.Ask{
		ID: id, Session: "s", Agent: "claude", Call: "c", Tool: "bash", Title: "Run `" + command + "`", Description: "does things", Cwd: "/w/app",
		Args: jsontext.Value(`{"command":` + string(quoted) + `,"timeout":5}`), CanMessage: true, CanEditArgs: true,
	}
}

func TestKeys(t *testing.T) {
	for _, raw := range []bool{true, false} {
		enter := "\n"
		if raw {
			enter = "\r"
		}
		for _, tt := range []struct {
			keys    []string
			want    contract.Decision
			message string
			see     string
		}{
			{keys: []string{"y"}, want: contract.AllowOnce},
			{keys: []string{"a"}, want: contract.AllowAlways},
			{keys: []string{"n"}, want: contract.RejectOnce},
			{keys: []string{"N", "use make"}, want: contract.RejectOnce, message: "use make"},
			{keys: []string{"x", " ", "q", "y"}, want: contract.AllowOnce, see: "y yes"},
			{keys: []string{"?", "n"}, want: contract.RejectOnce, see: "no rule allows it"},
			{keys: []string{"d", "y"}, want: contract.AllowOnce, see: "$ ls -l"},
		} {
			t.Run(fmt.Sprintf("raw=%v %q", raw, tt.keys), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := sit(t, &Prompt{Raw: raw, By: contract.DecisionBy{ClientType: contract.ClientCLI}})
					defer d.leave()
					got := d.open(run("1", "ls -l"))
					d.out.take()
					for _, k := range tt.keys {
						if !raw || len(k) > 1 {
							k += enter
						}
						d.press(k)
					}
					if got.Decision != tt.want || got.Message != tt.message || got.By.ClientType != contract.ClientCLI {
						t.Errorf("%+v, want %s with %q", got, tt.want, tt.message)
					}
					if out := d.out.take(); !strings.Contains(out, tt.see) {
						t.Errorf("the screen shows %q, want %q in it", out, tt.see)
					}
				})
			})
		}
	}
}

func TestScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sit(t, &Prompt{Raw: true, Lines: 4, Color: true})
		defer d.leave()
		a := permission.Ask{
			ID: "1", Session: "s", Agent: "codex", Subagent: "helper", Tool: "edit", Title: "Edit **a\\_b.go**", Description: "Fix \x1b[2Jthe\u202e bug \\[now\\] with `a\\b`", Cwd: "/w/app",
			Args: jsontext.Value(`{"path":"a.go","diff":"@@ -1,2 +1,2 @@\n-old\u001b[31m\n+new\n same\n more\n"}`),
		}
		d.open(a)
		want := "\n\x1b[1mcodex, sub-agent helper\x1b[0m asks: \x1b[1mEdit a_b.go\x1b[0m\n" +
			"  \x1b[2mFix �[2Jthe� bug [now] with a\\b\x1b[0m\n" +
			"  \x1b[2mtool\x1b[0m edit\n" +
			"  \x1b[2min\x1b[0m   /w/app\n" +
			"    \x1b[36mpath: a.go\x1b[0m\n" +
			"    \x1b[36m@@ -1,2 +1,2 @@\x1b[0m\n" +
			"    \x1b[31m-old�[31m\x1b[0m\n" +
			"    \x1b[32m+new\x1b[0m\n" +
			"    \x1b[33m… and 2 more lines: d shows all\x1b[0m\n" +
			"y yes · a always (a.go) · n no · d all of it · ? why "
		if got := strings.ReplaceAll(d.out.take(), "\r\n", "\n"); got != want {
			t.Errorf("the screen shows\n%q, want\n%q", got, want)
		}
		d.press("N")
		if got := d.out.take(); !strings.Contains(got, "takes no message") {
			t.Errorf("N shows %q", got)
		}
		d.press("d")
		if got := d.out.take(); !strings.Contains(got, "     same\r\n     more\r\n") {
			t.Errorf("d shows %q", got)
		}
	})
}

// Keys that were typed before an ask was shown do not answer it.
func TestEarlyKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sit(t, &Prompt{Raw: true})
		defer d.leave()
		d.press("yyyy")
		got := d.open(run("1", "ls"))
		if got.Decision != "" {
			t.Fatalf("answered with %s by keys that were typed before", got.Decision)
		}
		second := d.open(run("2", "pwd"))
		d.press("yy") // the second is for the first ask, too
		if got.Decision != contract.AllowOnce || second.Decision != "" {
			t.Errorf("first %q, second %q, want the first only", got.Decision, second.Decision)
		}
		d.press("n")
		if second.Decision != contract.RejectOnce {
			t.Errorf("second %q, want reject-once", second.Decision)
		}
	})
}

func TestAnsweredElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sit(t, &Prompt{Raw: true})
		defer d.leave()
		first, second := d.open(run("1", "ls")), d.open(run("2", "pwd"))
		third := d.open(run("3", "id"))
		for _, id := range []string{"2", "1"} {
			if err := d.m.Resolve(t.Context(), id, permission.Response{Decision: contract.RejectOnce, By: contract.DecisionBy{ClientType: contract.ClientPhone}}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if out := d.out.take(); !strings.Contains(out, "answered elsewhere: reject-once by client (phone)") || !strings.Contains(out, "$ id") || strings.Contains(out, "$ pwd") {
			t.Errorf("the screen shows %q", out)
		}
		d.press("y")
		if first.Decision != contract.RejectOnce || second.Decision != contract.RejectOnce || third.Decision != contract.AllowOnce {
			t.Errorf("decisions %s %s %s", first.Decision, second.Decision, third.Decision)
		}
	})
}

func TestEdit(t *testing.T) {
	for _, tt := range []struct {
		name, edited string
		fail         bool
		keys         string
		want         string
		decided      contract.Decision
	}{
		{name: "changed", edited: "ls -a\n", keys: "ey", want: `{"command":"ls -a","timeout":5}`, decided: contract.AllowOnce},
		{name: "changed and given up", edited: "ls -a", keys: "exn", decided: contract.RejectOnce},
		{name: "not changed", edited: "ls", keys: "en", decided: contract.RejectOnce},
		{name: "failed", fail: true, keys: "en", decided: contract.RejectOnce},
		{name: "denied by a rule", edited: "rm x", keys: "eyn", decided: contract.RejectOnce},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := sit(t, &Prompt{Raw: true, Edit: func(_ context.Context, name string, text []byte) ([]byte, error) {
					if name != "command.sh" || string(text) != "ls" {
						t.Errorf("Edit(%q, %q)", name, text)
					}
					if tt.fail {
						return nil, errors.New("no editor")
					}
					return []byte(tt.edited), nil
				}})
				defer d.leave()
				got := d.open(run("1", "ls"))
				for _, k := range tt.keys {
					d.press(string(k))
				}
				if got.Decision != tt.decided || string(got.Args) != tt.want {
					t.Errorf("%s with %s, want %s with %s\n%s", got.Decision, got.Args, tt.decided, tt.want, d.out.take())
				}
			})
		})
	}
}

func TestEditable(t *testing.T) {
	name, text, put := editable(&permission.Ask{Args: jsontext.Value(`{"path":"a","n":1}`)})
	if name != "arguments.json" || !strings.Contains(text, "\n") {
		t.Errorf("%q %q", name, text)
	}
	if v, err := put(`{"path": "b"}`); err != nil || string(v) != `{"path":"b"}` {
		t.Errorf("put = %s, %v", v, err)
	}
	if _, err := put(`{"path": `); err == nil {
		t.Error("put took half an object")
	}
}

func TestQuestion(t *testing.T) {
	q := &contract.Question{Message: "Before I go on", Questions: []contract.QuestionField{
		{ID: "db", Header: "Database", Question: "Which?", Required: true, Options: []contract.QuestionOption{{Label: "Postgres", Value: "pg"}, {Label: "SQLite"}}},
		{ID: "parts", Question: "Which parts?", Multiple: true, Custom: true, Options: []contract.QuestionOption{{Label: "api"}, {Label: "web"}}},
		{ID: "token", Question: "Token?", Secret: true},
		{ID: "note", Question: "Anything else?"},
	}}
	synctest.Test(t, func(t *testing.T) {
		d := sit(t, &Prompt{Raw: true})
		defer d.leave()
		got := d.open(permission.Ask{ID: "1", Session: "s", Agent: "claude", Tool: "ask-user", Title: "A question", Question: q})
		d.press("\r")            // an answer is needed
		d.press("3\r")           // there is no third
		d.press("sqx\x7flite\r") // by name
		d.press("2 1\r")
		d.press("s3cret\r")
		d.press("\r")
		if want := `{"db":"SQLite","parts":["web","api"],"token":"s3cret"}`; got.Decision != contract.AllowOnce || string(got.Answers) != want {
			t.Errorf("%s with %s, want %s", got.Decision, got.Answers, want)
		}
		out := d.out.take()
		for _, want := range []string{"Before I go on", "Database", "1  Postgres", "an answer is needed", "want a number from 1 to 2", "Token?"} {
			if !strings.Contains(out, want) {
				t.Errorf("the screen shows %q, want %q in it", out, want)
			}
		}
		if strings.Contains(out, "s3cret") {
			t.Errorf("the screen shows the secret: %q", out)
		}
		declined := d.open(permission.Ask{ID: "2", Session: "s", Tool: "ask-user", Title: "A question", Question: q})
		d.press("\x03")
		if declined.Decision != contract.RejectOnce {
			t.Errorf("declined: %+v", declined)
		}
	})
}

// The end of the input answers nothing.
func TestEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := sit(t, &Prompt{Raw: true})
		got := d.open(run("1", "ls"))
		_ = d.in.Close()
		if err := <-d.end; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		if got.Decision != "" || len(d.m.Pending("")) != 1 {
			t.Errorf("decision %q, %d open, want the ask still open", got.Decision, len(d.m.Pending("")))
		}
		_ = d.m.Close()
	})
}

func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := permission.New(permission.Options{})
		r, w := io.Pipe()
		defer w.Close()
		ctx, cancel := context.WithCancel(t.Context())
		end := make(chan error, 1)
		p := &Prompt{In: r, Out: io.Discard}
		go func() { end <- p.Run(ctx, m, "") }()
		synctest.Wait()
		cancel()
		if err := <-end; !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v, want context.Canceled", err)
		}
		go func() { end <- p.Run(t.Context(), m, "") }()
		synctest.Wait()
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-end; err != nil {
			t.Errorf("Run = %v, want nil when the mediator is closed", err)
		}
	})
}

// Whatever an agent sends, the screen gets no control character of it.
func FuzzScreen(f *testing.F) {
	f.Add("title\x1b[2J", `{"command":"ls\u001b]0;x\u0007"}`, "bash")
	f.Add("a\u202eb", `{"old_string":"a\nb","new_string":"\r"}`, "edit")
	f.Add("", `{"patch":"*** Update File: a\n+\u009b31m"}`, "edit")
	f.Add("\xff", `not json`, "\x00")
	f.Fuzz(func(t *testing.T, title, args, tool string) {
		var out bytes.Buffer
		s := &screen{Prompt: &Prompt{Out: &out, Lines: 10}, ask: &permission.Ask{
			Title: title, Description: args, Tool: tool, Agent: tool, Cwd: title, Args: jsontext.Value(args), Always: []string{title},
			Verdict: policy.Explanation{Why: title, Parts: []policy.Part{{Command: args, Rule: tool, Why: title}}},
		}}
		s.show(false)
		s.show(true)
		s.why()
		for _, r := range out.String() {
			if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r >= 0x202A && r <= 0x202E {
				t.Fatalf("the screen shows %q", out.String())
			}
		}
	})
}
