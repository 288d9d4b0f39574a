package permission

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission/policy"
)

func records(t testing.TB, log string) []Record {
	t.Helper()
	var out []Record
	for line := range strings.Lines(log) {
		var r Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("audit line %q: %v", line, err)
		}
		out = append(out, r)
	}
	return out
}

var phone = contract.DecisionBy{Resolver: contract.ByClient, ClientType: contract.ClientPhone, TokenID: "tok"}

// bypassPermissions needs a local opt-in, and every try is in the audit log.
func TestBypassNeedsOptIn(t *testing.T) {
	var audit bytes.Buffer
	m := New(Options{Audit: &audit})
	if err := m.SetMode("s1", contract.ModeBypassPermissions, phone); !errors.Is(err, ErrBypass) {
		t.Errorf("SetMode = %v, want ErrBypass", err)
	}
	if err := m.StartSession("s2", SessionOptions{Mode: contract.ModeBypassPermissions, By: phone}); !errors.Is(err, ErrBypass) {
		t.Errorf("StartSession = %v, want ErrBypass", err)
	}
	for _, s := range []string{"s1", "s2"} {
		if got := m.Mode(s); got != contract.ModeDefault {
			t.Errorf("mode of %s is %s, want default", s, got)
		}
	}
	mustOpen(t, m, bash("a", "ls")).none(t)
	log := records(t, audit.String())
	if len(log) != 2 || !log[0].Refused || log[0].Mode != contract.ModeBypassPermissions || log[0].By.TokenID != "tok" || log[0].Event != "mode" || !log[1].Refused {
		t.Errorf("audit: %+v", log)
	}

	m.SetPolicy(rules(t, "allowBypass: true"))
	if err := m.SetMode("s1", contract.ModeBypassPermissions, phone); err != nil {
		t.Fatal(err)
	}
	if got := mustOpen(t, m, bash("b", "ls")).one(t); got.Decision != contract.AllowOnce || got.By.Rule != "mode: bypassPermissions" {
		t.Errorf("b: %+v", got)
	}
	// The opt-in is taken back: the mode holds no longer.
	m.SetPolicy(nil)
	if got := m.Mode("s1"); got != contract.ModeDefault {
		t.Errorf("mode is %s, want default", got)
	}
	mustOpen(t, m, bash("c", "ls")).none(t)

	for _, o := range []Options{{AllowBypass: true}, {Policy: rules(t, "mode: bypassPermissions\nallowBypass: true")}} {
		m := New(o)
		if o.AllowBypass {
			if err := m.SetMode("s1", contract.ModeBypassPermissions, phone); err != nil {
				t.Fatal(err)
			}
		}
		if got := m.Mode("s1"); got != contract.ModeBypassPermissions {
			t.Errorf("mode is %s, want bypassPermissions", got)
		}
	}
	flags, err := policy.FromFlags(policy.Flags{Mode: "bypassPermissions", Bypass: true}, policy.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.StartSession("s3", SessionOptions{Rules: flags}); err != nil {
		t.Fatal(err)
	}
	if got := m.Mode("s3"); got != contract.ModeBypassPermissions {
		t.Errorf("mode of s3 is %s, want bypassPermissions", got)
	}
	if got := m.Mode("s1"); got != contract.ModeDefault {
		t.Errorf("mode of s1 is %s: the flag was for another session", got)
	}
}

// A mode that is not known is refused, one that is missing is the default.
func TestModeIsNeverGuessed(t *testing.T) {
	m := New(Options{AllowBypass: true})
	if err := m.SetMode("s", "", phone); err != nil {
		t.Errorf("empty mode: %v", err)
	}
	for _, mode := range []contract.PermissionMode{"yolo", "Bypass", "null", "auto"} {
		if err := m.SetMode("s", mode, phone); err == nil {
			t.Errorf("SetMode(%q) = nil, want an error", mode)
		}
		if err := m.StartSession("s", SessionOptions{Mode: mode}); err == nil {
			t.Errorf("StartSession(%q) = nil, want an error", mode)
		}
	}
	if err := m.StartSession("s", SessionOptions{OnAsk: "maybe"}); err == nil {
		t.Error("StartSession with an unknown way to ask = nil, want an error")
	}
	if got := m.Mode("s"); got != contract.ModeDefault {
		t.Errorf("mode is %s, want default", got)
	}
}

// A session that goes on keeps the mode it was given.
func TestModeIsKept(t *testing.T) {
	m := New(Options{})
	if err := m.StartSession("s", SessionOptions{Mode: contract.ModeAcceptEdits}); err != nil {
		t.Fatal(err)
	}
	if err := m.StartSession("s", SessionOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := m.Mode("s"); got != contract.ModeAcceptEdits {
		t.Errorf("mode is %s, want acceptEdits", got)
	}
	m.SetPolicy(rules(t, "mode: plan"))
	if got := m.Mode("s"); got != contract.ModeAcceptEdits {
		t.Errorf("mode is %s, want the session's own", got)
	}
	if got := m.Mode("other"); got != contract.ModePlan {
		t.Errorf("mode of another session is %s, want the policy's", got)
	}
}

func TestPlanMode(t *testing.T) {
	m := New(Options{Policy: rules(t, "mode: acceptEdits\nrules: [{allow: plan}, {allow: 'bash(ls)'}]")})
	if err := m.SetMode("s1", contract.ModePlan, phone); err != nil {
		t.Fatal(err)
	}
	if got := mustOpen(t, m, bash("a", "ls")).one(t); got.Decision != contract.RejectOnce || got.Message != policy.PlanRefusal || got.By.Rule != "mode: plan" {
		t.Errorf("acting in plan mode: %+v", got)
	}
	plan := Ask{ID: "p", Session: "s1", Call: "c", Tool: "plan", Args: []byte(`{"plan":"x"}`), Cwd: "/w"}
	refused := mustOpen(t, m, plan)
	refused.none(t)
	if err := m.Resolve(t.Context(), "p", Response{Decision: contract.RejectOnce}); err != nil {
		t.Fatal(err)
	}
	if got := refused.one(t); got.Mode != "" || m.Mode("s1") != contract.ModePlan {
		t.Errorf("refused: %+v, mode %s, want plan", got, m.Mode("s1"))
	}
	plan.ID = "p2"
	left := mustOpen(t, m, plan)
	if err := m.Resolve(t.Context(), "p2", allow()); err != nil {
		t.Fatal(err)
	}
	if got := left.one(t); got.Mode != contract.ModeAcceptEdits || m.Mode("s1") != contract.ModeAcceptEdits {
		t.Errorf("left: %+v, mode %s, want acceptEdits", got, m.Mode("s1"))
	}
	if got := mustOpen(t, m, bash("b", "ls")).one(t); got.Decision != contract.AllowOnce {
		t.Errorf("after leaving: %+v", got)
	}
	// Outside plan mode the tool changes nothing.
	plan.ID = "p3"
	if got := mustOpen(t, m, plan).one(t); got.Mode != "" {
		t.Errorf("outside plan mode: %+v", got)
	}
}

type failingWriter struct{ fail bool }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.fail {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

// What leaves no trace must not happen.
func TestNoAllowWithoutAudit(t *testing.T) {
	w := &failingWriter{}
	m := New(Options{Policy: rules(t, "rules: [{allow: 'bash(ls)'}]"), Audit: w})
	if got := mustOpen(t, m, bash("a", "ls")).one(t); got.Decision != contract.AllowOnce {
		t.Fatalf("with a log: %+v", got)
	}
	open := mustOpen(t, m, bash("b", "pwd"))
	w.fail = true
	if got := mustOpen(t, m, bash("c", "ls")).one(t); got.Decision != contract.RejectOnce || got.By.Resolver != contract.ByHost {
		t.Errorf("by rule without a log: %+v", got)
	}
	if err := m.Resolve(t.Context(), "b", allow()); err != nil {
		t.Fatal(err)
	}
	if got := open.one(t); got.Decision != contract.RejectOnce || got.By.Resolver != contract.ByHost {
		t.Errorf("by a person without a log: %+v", got)
	}
	var resolved *ErrResolved
	if err := m.Resolve(t.Context(), "b", allow()); !errors.As(err, &resolved) || resolved.Decision != contract.RejectOnce {
		t.Errorf("late: %v, want ErrResolved with the reject", err)
	}
}

func TestAudit(t *testing.T) {
	var audit bytes.Buffer
	m := New(Options{Policy: rules(t, "rules: [{allow: 'bash(ls)'}, {deny: 'bash(rm *)'}]"), Audit: &audit})
	mustOpen(t, m, bash("a", "ls"))
	mustOpen(t, m, bash("b", "ls && rm x"))
	mustOpen(t, m, bash("c", "pwd\nid"))
	if err := m.Resolve(t.Context(), "c", Response{Decision: contract.AllowOnce, By: phone, EnvelopeID: "e", Args: []byte(`{"command":"secret-args"}`)}); err != nil {
		t.Fatal(err)
	}
	log := records(t, audit.String())
	if len(log) != 3 {
		t.Fatalf("%d lines, want 3", len(log))
	}
	for i, want := range []struct {
		decision contract.Decision
		resolver contract.Resolver
		about    string
	}{
		{contract.AllowOnce, contract.ByPolicy, "ls"}, {contract.RejectOnce, contract.ByPolicy, "ls|rm x"}, {contract.AllowOnce, contract.ByClient, "pwd|id"},
	} {
		r := log[i]
		if r.Event != "decision" || r.Decision != want.decision || r.By.Resolver != want.resolver || strings.Join(r.About, "|") != want.about ||
			r.Session != "s1" || r.Tool != "bash" || r.Agent != "claude" || r.Cwd != "/w/app" || r.Time.IsZero() || r.Call == "" || r.Ask == "" {
			t.Errorf("line %d: %+v", i, r)
		}
	}
	if !log[2].Edited || log[2].Envelope != "e" || log[2].By.TokenID != "tok" || strings.Contains(audit.String(), "secret-args") {
		t.Errorf("the decision of a person: %+v", log[2])
	}
}

// The lines that every decision waits for are written by hand: they say what
// json.Marshal would.
func TestAuditLineIsThatOfTheEncoder(t *testing.T) {
	odd := "a\"b\\c\u2028<é>\x01\n"
	for _, r := range []Record{
		{},
		{
			Time: time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC), Event: "decision", Session: odd, Ask: "a", Call: odd, Agent: "claude", Subagent: "s",
			Tool: odd, Cwd: odd, About: []string{odd, "", "x"}, Question: true, Decision: contract.AllowOnce, Grant: "g", Edited: true, Envelope: odd,
			By: contract.DecisionBy{Resolver: contract.ByClient, Rule: odd, ClientType: contract.ClientCLI, TokenID: odd}, WaitedMS: 12,
		},
		{Event: "mode", Mode: contract.ModePlan, Refused: true, By: contract.DecisionBy{Resolver: contract.ByHost, Extra: jsontext.Value(`{"later":1}`)}},
	} {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.appendTo(nil)
		if err != nil || string(got) != string(want) {
			t.Errorf("appendTo = %v\n%s, want\n%s", err, got, want)
		}
	}
	r := Record{Event: "decision", Cwd: "/w/\xff"}
	if got, err := r.appendTo(nil); err != nil || !utf8.Valid(got) || !strings.Contains(string(got), "/w/\ufffd") {
		t.Errorf("a directory that is no UTF-8: %q, %v", got, err)
	}
}

// B063: a session that is started without a mode has the policy's, one with an unknown
// mode does not start, and the mode that holds is the one that is reported.
func TestModeOfSpawn(t *testing.T) {
	for _, tt := range []struct {
		mode, policy string
		want         contract.PermissionMode
		refused      bool
	}{
		{"", "", contract.ModeDefault, false},
		{"", "mode: acceptEdits", contract.ModeAcceptEdits, false},
		{"plan", "mode: acceptEdits", contract.ModePlan, false},
		{"yolo", "", contract.ModeDefault, true},
		{"YOLO", "mode: acceptEdits", contract.ModeAcceptEdits, true},
		{"bypass", "", contract.ModeDefault, true},
		{"null", "", contract.ModeDefault, true},
		{"bypassPermissions", "", contract.ModeDefault, true},
	} {
		m := New(Options{Policy: rules(t, tt.policy+"\nrules: []")})
		err := m.StartSession("s", SessionOptions{Mode: contract.PermissionMode(tt.mode), By: phone})
		if (err != nil) != tt.refused || m.Mode("s") != tt.want {
			t.Errorf("started in %q over %q: %v, in mode %s, want refused %v, mode %s", tt.mode, tt.policy, err, m.Mode("s"), tt.refused, tt.want)
		}
	}
}
