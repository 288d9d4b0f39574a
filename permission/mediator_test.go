package permission

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission/policy"
)

// rules makes a policy of lines such as "deny bash(rm *)" and settings in YAML.
func rules(t testing.TB, yaml string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(yaml), policy.Env{Home: "/home/u"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func bash(id, command string) Ask {
	args, _ := json.Marshal(map[string]string{"command": command})
	return Ask{ID: id, Session: "s1", Agent: "claude", Call: "call-" + id, Tool: "bash", Args: args, Cwd: "/w/app", CanMessage: true, CanEditArgs: true}
}

// answers collects what an ask was settled with.
type answers struct {
	mu   sync.Mutex
	list []Answer
	done chan struct{} // closed by the first
}

func newAnswers() *answers { return &answers{done: make(chan struct{})} }

func (a *answers) settle(x Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.list = append(a.list, x); len(a.list) == 1 {
		close(a.done)
	}
}

// one is the only answer so far; it fails the test when there is none, or more.
func (a *answers) one(t testing.TB) Answer {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) != 1 {
		t.Fatalf("settled %d times: %+v, want once", len(a.list), a.list)
	}
	return a.list[0]
}

func (a *answers) none(t testing.TB) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) != 0 {
		t.Fatalf("settled with %+v, want not at all", a.list)
	}
}

func mustOpen(t testing.TB, m *Mediator, a Ask) *answers {
	t.Helper()
	got := newAnswers()
	if err := m.Open(a, got.settle); err != nil {
		t.Fatalf("Open(%s): %v", a.ID, err)
	}
	return got
}

func allow() Response { return Response{Decision: contract.AllowOnce} }

func TestAutomaticAnswers(t *testing.T) {
	m := New(Options{Policy: rules(t, `
mode: default
rules:
  - deny: bash(rm -rf /**)
  - allow: bash(git status *)
`)})
	got := mustOpen(t, m, bash("a", "git status -s")).one(t)
	if got.Decision != contract.AllowOnce || got.AgentDecision != contract.AllowOnce || got.By.Resolver != contract.ByPolicy || got.By.Rule != "allow: bash(git status *)" {
		t.Errorf("allowed: %+v", got)
	}
	got = mustOpen(t, m, bash("b", "git status; rm -rf /etc")).one(t)
	if got.Decision != contract.RejectOnce || got.By.Resolver != contract.ByPolicy || got.By.Rule != "deny: bash(rm -rf /**)" || !strings.Contains(got.Message, "rm -rf /etc") {
		t.Errorf("denied: %+v", got)
	}
	open := mustOpen(t, m, bash("c", "git status; ls"))
	open.none(t)
	list := m.Pending("s1")
	if len(list) != 1 || list[0].ID != "c" || list[0].Nonce == "" || list[0].Verdict.Verdict != policy.Ask || len(list[0].Patterns) != 2 {
		t.Errorf("pending: %+v", list)
	}
	if got := m.Pending("other"); len(got) != 0 {
		t.Errorf("pending of another session: %+v", got)
	}
}

func TestResolve(t *testing.T) {
	m := New(Options{})
	open := mustOpen(t, m, bash("a", "ls"))
	by := contract.DecisionBy{Resolver: contract.ByClient, ClientType: contract.ClientPhone, TokenID: "tok"}
	if err := m.Resolve(t.Context(), "a", Response{Decision: contract.RejectOnce, By: by, Message: "use rg", EnvelopeID: "e1"}); err != nil {
		t.Fatal(err)
	}
	got := open.one(t)
	if got.Decision != contract.RejectOnce || got.By.TokenID != "tok" || got.Message != "use rg" {
		t.Errorf("answer: %+v", got)
	}
	// Sent again, it is no error; another decision learns who won.
	if err := m.Resolve(t.Context(), "a", Response{Decision: contract.RejectOnce, By: by, EnvelopeID: "e1"}); err != nil {
		t.Errorf("sent again: %v, want nil", err)
	}
	for _, r := range []Response{{Decision: contract.AllowOnce}, {Decision: contract.AllowOnce, EnvelopeID: "e2"}, {Decision: contract.RejectOnce}} {
		var resolved *ErrResolved
		if err := m.Resolve(t.Context(), "a", r); !errors.As(err, &resolved) || resolved.By.ClientType != contract.ClientPhone || resolved.Decision != contract.RejectOnce {
			t.Errorf("Resolve(%+v) = %v, want ErrResolved by the phone", r, err)
		}
	}
	open.one(t)
	if err := m.Resolve(t.Context(), "unknown", allow()); !errors.Is(err, ErrUnknown) {
		t.Errorf("unknown id: %v", err)
	}
	if err := m.Open(bash("a", "ls"), func(Answer) { t.Error("settled") }); err == nil {
		t.Error("an id that was used before was taken")
	}
	if err := m.Open(bash("", "ls"), func(Answer) {}); err == nil {
		t.Error("an ask without an id was taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	next := mustOpen(t, m, bash("b", "ls"))
	if err := m.Resolve(ctx, "b", allow()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled context: %v", err)
	}
	next.none(t)
}

func TestWhatAnAskTakes(t *testing.T) {
	m := New(Options{Policy: rules(t, "rules: [{deny: 'bash(rm *)'}]")})
	strict := bash("a", "ls")
	strict.CanMessage, strict.CanEditArgs = false, false
	open := mustOpen(t, m, strict)
	for _, r := range []Response{
		{Decision: "yes"},
		{Decision: ""},
		{Decision: contract.AllowOnce, Message: "x"},
		{Decision: contract.AllowOnce, Args: jsontext.Value(`{"command":"pwd"}`)},
		{Decision: contract.AllowOnce, Answers: jsontext.Value(`{}`)},
		{Decision: contract.AllowAlways, Scope: "world"},
		{Decision: contract.AllowAlways, TTL: -1},
	} {
		if err := m.Resolve(t.Context(), "a", r); !errors.Is(err, ErrNotTaken) {
			t.Errorf("Resolve(%+v) = %v, want ErrNotTaken", r, err)
		}
	}
	if err := m.Resolve(t.Context(), "a", Response{Decision: contract.AllowOnce, Nonce: "old"}); !errors.Is(err, ErrStale) {
		t.Errorf("old nonce: %v, want ErrStale", err)
	}
	open.none(t)
	if err := m.Resolve(t.Context(), "a", Response{Decision: contract.AllowOnce, Nonce: m.Pending("")[0].Nonce}); err != nil {
		t.Fatal(err)
	}
	open.one(t)

	edited := mustOpen(t, m, bash("b", "ls"))
	if err := m.Resolve(t.Context(), "b", Response{Decision: contract.AllowOnce, Args: jsontext.Value(`[]`)}); !errors.Is(err, ErrNotTaken) {
		t.Errorf("arguments that are no object: %v", err)
	}
	if err := m.Resolve(t.Context(), "b", Response{Decision: contract.RejectOnce, Args: jsontext.Value(`{}`)}); !errors.Is(err, ErrNotTaken) {
		t.Errorf("arguments with a reject: %v", err)
	}
	var denied *ErrDenied
	if err := m.Resolve(t.Context(), "b", Response{Decision: contract.AllowOnce, Args: jsontext.Value(`{"command":"ls; rm x"}`)}); !errors.As(err, &denied) || denied.Rule != "deny: bash(rm *)" {
		t.Errorf("arguments that a rule denies: %v, want ErrDenied", err)
	}
	edited.none(t)
	if err := m.Resolve(t.Context(), "b", Response{Decision: contract.AllowOnce, Args: jsontext.Value(`{"command":"ls -l"}`)}); err != nil {
		t.Fatal(err)
	}
	if got := edited.one(t); string(got.Args) != `{"command":"ls -l"}` {
		t.Errorf("edited arguments: %s", got.Args)
	}
}

// Two decisions at once: one counts, the other learns which.
func TestRace(t *testing.T) {
	m := New(Options{})
	for i := range 1000 {
		id := fmt.Sprint("a", i)
		open := mustOpen(t, m, bash(id, "ls"))
		var wg sync.WaitGroup
		errs := make([]error, 4)
		start := make(chan struct{})
		for k := range errs {
			wg.Go(func() {
				<-start
				switch k {
				case 0:
					errs[k] = m.Resolve(context.Background(), id, Response{Decision: contract.AllowOnce, EnvelopeID: "e0"})
				case 1:
					errs[k] = m.Resolve(context.Background(), id, Response{Decision: contract.RejectOnce, EnvelopeID: "e1"})
				case 2:
					errs[k] = m.Resolve(context.Background(), id, Response{Decision: contract.AllowOnce, EnvelopeID: "e0"}) // a retry of the first
				case 3:
					m.Withdraw(id, contract.ByTurnEnd)
				}
			})
		}
		close(start)
		wg.Wait()
		got := open.one(t)
		for k, err := range errs[:3] {
			var resolved *ErrResolved
			won := err == nil
			if !won && !errors.As(err, &resolved) {
				t.Fatalf("round %d: error %v", i, err)
			}
			if !won && resolved.Decision != got.Decision {
				t.Fatalf("round %d: %d was told %s, the answer is %s", i, k, resolved.Decision, got.Decision)
			}
		}
		allowed := errs[0] == nil
		if allowed != (errs[2] == nil) || allowed && errs[1] == nil || allowed != (got.Decision == contract.AllowOnce) {
			t.Fatalf("round %d: errors %v, answer %+v", i, errs, got)
		}
	}
	if n := len(m.Pending("")); n != 0 {
		t.Errorf("%d asks are open", n)
	}
}

// A deadline rejects; nothing but a person allows.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Policy: rules(t, "timeout: 5m")})
		byPolicy := mustOpen(t, m, bash("a", "ls"))
		own := bash("b", "ls")
		own.Deadline = time.Now().Add(time.Minute)
		byAsk := mustOpen(t, m, own)
		if got := m.Pending("")[0].Deadline; !got.Equal(time.Now().Add(5 * time.Minute)) {
			t.Errorf("deadline %s, want in 5 minutes", got)
		}
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		byAsk.none(t)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := byAsk.one(t); got.Decision != contract.RejectOnce || got.By.Resolver != contract.ByTimeout {
			t.Errorf("answer %+v, want reject-once by timeout", got)
		}
		byPolicy.none(t)
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		if got := byPolicy.one(t); got.Decision != contract.RejectOnce || got.By.Resolver != contract.ByTimeout {
			t.Errorf("answer %+v, want reject-once by timeout", got)
		}
		var resolved *ErrResolved
		if err := m.Resolve(t.Context(), "a", allow()); !errors.As(err, &resolved) || resolved.By.Resolver != contract.ByTimeout {
			t.Errorf("late: %v, want ErrResolved by timeout", err)
		}
	})
}

func TestNoDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{Policy: rules(t, "timeout: 0")})
		open := mustOpen(t, m, bash("a", "ls"))
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
		open.none(t)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if got := open.one(t); got.Decision != contract.RejectOnce || got.By.Resolver != contract.ByHost {
			t.Errorf("answer %+v, want reject-once by host", got)
		}
		if err := m.Open(bash("b", "ls"), func(Answer) {}); !errors.Is(err, ErrClosed) {
			t.Errorf("Open after Close: %v", err)
		}
	})
}

// Who withdraws finds the ask settled, also when another was faster and is not
// done yet.
func TestWithdrawWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{})
		entered, release := make(chan struct{}), make(chan struct{})
		var settled atomic.Int32
		err := m.Open(bash("a", "ls"), func(a Answer) {
			close(entered)
			<-release
			settled.Add(1)
		})
		if err != nil {
			t.Fatal(err)
		}
		go m.Resolve(context.Background(), "a", allow())
		<-entered
		withdrawn := make(chan struct{})
		go func() {
			m.Withdraw("a", contract.ByExit)
			close(withdrawn)
		}()
		synctest.Wait()
		select {
		case <-withdrawn:
			t.Fatal("Withdraw returned before the ask was settled")
		default:
		}
		close(release)
		<-withdrawn
		if settled.Load() != 1 {
			t.Errorf("settled %d times, want once", settled.Load())
		}
		m.Withdraw("a", contract.ByExit)
		m.Withdraw("unknown", contract.ByExit)
	})
}

func TestWithdrawCauses(t *testing.T) {
	m := New(Options{})
	for i, cause := range []contract.Resolver{contract.ByTimeout, contract.ByTurnEnd, contract.ByExit, contract.ByHost} {
		id := fmt.Sprint(i)
		open := mustOpen(t, m, bash(id, "ls"))
		m.Withdraw(id, cause)
		if got := open.one(t); got.Decision != contract.RejectOnce || got.By.Resolver != cause || got.Message == "" {
			t.Errorf("%s: %+v", cause, got)
		}
	}
}

// Asks of one turn are settled in any order, each on its own.
func TestSeveralAsksAtOnce(t *testing.T) {
	m := New(Options{})
	a, b := mustOpen(t, m, bash("a", "ls")), mustOpen(t, m, bash("b", "pwd"))
	if err := m.Resolve(t.Context(), "b", Response{Decision: contract.RejectOnce}); err != nil {
		t.Fatal(err)
	}
	a.none(t)
	if got := b.one(t); got.Decision != contract.RejectOnce {
		t.Errorf("b: %+v", got)
	}
	if err := m.Resolve(t.Context(), "a", allow()); err != nil {
		t.Fatal(err)
	}
	if got := a.one(t); got.Decision != contract.AllowOnce {
		t.Errorf("a: %+v", got)
	}
}

func TestNobodyToAsk(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		s    *SessionOptions
		open bool
		fail bool
	}{
		{o: Options{OnAsk: policy.OnAskDeny}},
		{o: Options{OnAsk: policy.OnAskFail}, fail: true},
		{o: Options{OnAsk: policy.OnAskWait}, open: true},
		{o: Options{OnAsk: policy.OnAskPrompt}, open: true},
		{o: Options{}, open: true},
		{o: Options{Policy: rules(t, "onAsk: deny")}},
		{o: Options{OnAsk: policy.OnAskDeny}, s: &SessionOptions{OnAsk: policy.OnAskWait}, open: true},
		{o: Options{Policy: rules(t, "onAsk: wait")}, s: &SessionOptions{OnAsk: policy.OnAskFail}, fail: true},
	} {
		m := New(tt.o)
		if tt.s != nil {
			if err := m.StartSession("s1", *tt.s); err != nil {
				t.Fatal(err)
			}
		}
		open := mustOpen(t, m, bash("a", "ls"))
		if tt.open {
			open.none(t)
			continue
		}
		if got := open.one(t); got.Decision != contract.RejectOnce || got.By.Resolver != contract.ByHost || got.Fail != tt.fail {
			t.Errorf("%+v: %+v", tt, got)
		}
	}
}

func question(id string) Ask {
	return Ask{ID: id, Session: "s1", Call: "c" + id, Tool: "ask-user", Cwd: "/w", Question: &contract.Question{Questions: []contract.QuestionField{
		{ID: "color", Question: "Which?", Required: true}, {ID: "token", Question: "Token?", Secret: true},
	}}}
}

func TestQuestions(t *testing.T) {
	var audit bytes.Buffer
	m := New(Options{Policy: rules(t, "mode: bypassPermissions\nallowBypass: true\nrules: [{allow: '*'}]"), Audit: &audit})
	open := mustOpen(t, m, question("a"))
	open.none(t)
	for _, r := range []Response{
		allow(),
		{Decision: contract.AllowOnce, Answers: jsontext.Value(`{"token":"x"}`)},
		{Decision: contract.AllowOnce, Answers: jsontext.Value(`{"color":null}`)},
		{Decision: contract.AllowOnce, Answers: jsontext.Value(`["red"]`)},
		{Decision: contract.AllowOnce, Answers: jsontext.Value(`{"color":"red"`)},
	} {
		if err := m.Resolve(t.Context(), "a", r); !errors.Is(err, ErrNotTaken) {
			t.Errorf("answers %s: %v, want ErrNotTaken", r.Answers, err)
		}
	}
	answers := jsontext.Value(`{"color":["red"],"token":"s3cret","extra":"s3cret"}`)
	if err := m.Resolve(t.Context(), "a", Response{Decision: contract.AllowOnce, Answers: answers}); err != nil {
		t.Fatal(err)
	}
	got := open.one(t)
	if string(got.Answers) != string(answers) {
		t.Errorf("answers for the agent: %s", got.Answers)
	}
	if want := `{"color":["red"],"token":null,"extra":null}`; string(got.Recorded) != want {
		t.Errorf("answers for the journal: %s, want %s", got.Recorded, want)
	}
	if strings.Contains(audit.String(), "s3cret") {
		t.Errorf("the audit log holds the secret: %s", audit.String())
	}
	declined := mustOpen(t, m, question("b"))
	if err := m.Resolve(t.Context(), "b", Response{Decision: contract.RejectOnce}); err != nil {
		t.Fatal(err)
	}
	if got := declined.one(t); got.Decision != contract.RejectOnce || got.Answers != nil {
		t.Errorf("declined: %+v", got)
	}
	// A question is never remembered.
	c := mustOpen(t, m, question("c"))
	if err := m.Resolve(t.Context(), "c", Response{Decision: contract.AllowAlways, Answers: jsontext.Value(`{"color":"red"}`)}); err != nil {
		t.Fatal(err)
	}
	if got := c.one(t); got.Decision != contract.AllowOnce || got.Grant != "" {
		t.Errorf("always: %+v, want once", got)
	}
}

func TestNewDenyRuleClosesOpenAsks(t *testing.T) {
	m := New(Options{})
	a, b := mustOpen(t, m, bash("a", "rm x")), mustOpen(t, m, bash("b", "ls"))
	m.SetPolicy(rules(t, "rules: [{deny: 'bash(rm *)'}, {allow: 'bash(ls)'}]"))
	if got := a.one(t); got.Decision != contract.RejectOnce || got.By.Rule != "deny: bash(rm *)" || got.By.Resolver != contract.ByPolicy {
		t.Errorf("a: %+v", got)
	}
	b.none(t) // a person was asked, a person answers
	if got := mustOpen(t, m, bash("c", "ls")).one(t); got.Decision != contract.AllowOnce {
		t.Errorf("c: %+v", got)
	}
}

func TestSessionRules(t *testing.T) {
	m := New(Options{Policy: rules(t, "rules: [{deny: 'bash(rm *)'}]")})
	flags, err := policy.FromFlags(policy.Flags{Allow: []string{"bash(ls)", "bash(rm x)"}}, policy.Env{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.StartSession("s1", SessionOptions{Rules: flags}); err != nil {
		t.Fatal(err)
	}
	if got := mustOpen(t, m, bash("a", "ls")).one(t); got.Decision != contract.AllowOnce {
		t.Errorf("ls: %+v", got)
	}
	if got := mustOpen(t, m, bash("b", "rm x")).one(t); got.Decision != contract.RejectOnce {
		t.Errorf("rm x: %+v", got)
	}
	other := bash("c", "ls")
	other.Session = "s2"
	mustOpen(t, m, other).none(t)
	// Rules that change for all change for this session, too.
	m.SetPolicy(nil)
	if got := mustOpen(t, m, bash("d", "rm x")).one(t); got.Decision != contract.AllowOnce {
		t.Errorf("rm x without the deny rule: %+v", got)
	}
	open := mustOpen(t, m, bash("e", "pwd"))
	m.EndSession("s1", contract.ByExit)
	if got := open.one(t); got.By.Resolver != contract.ByExit {
		t.Errorf("ended: %+v", got)
	}
	if n := len(m.Pending("")); n != 1 {
		t.Errorf("%d asks are open, want the one of the other session", n)
	}
	mustOpen(t, m, bash("f", "ls")).none(t)
}

func TestBoundedAsks(t *testing.T) {
	m := New(Options{MaxOpen: 3, MaxOpenBytes: 100_000})
	for i := range 3 {
		mustOpen(t, m, bash(fmt.Sprint(i), "ls")).none(t)
	}
	if got := mustOpen(t, m, bash("more", "ls")).one(t); got.Decision != contract.RejectOnce || got.By.Resolver != contract.ByHost {
		t.Errorf("one too many: %+v", got)
	}
	m.Withdraw("0", contract.ByHost)
	big := bash("big", "echo "+strings.Repeat("a", 200_000))
	if got := mustOpen(t, m, big).one(t); got.By.Resolver != contract.ByHost {
		t.Errorf("one too big: %+v", got)
	}
	mustOpen(t, m, bash("fits", "ls")).none(t)
	for _, a := range m.Pending("") {
		m.Withdraw(a.ID, contract.ByHost)
	}
	if m.bytes != 0 || len(m.asks) != 0 || len(m.closing) != 0 {
		t.Errorf("left over: %d bytes, %d asks, %d closing", m.bytes, len(m.asks), len(m.closing))
	}
}

// What is kept of settled asks is bounded.
func TestForgetsSettledAsks(t *testing.T) {
	m := New(Options{OnAsk: policy.OnAskDeny})
	for i := range maxRemembered + 10 {
		mustOpen(t, m, bash(fmt.Sprint(i), "ls"))
	}
	if len(m.settled) != maxRemembered {
		t.Errorf("%d asks are remembered, want %d", len(m.settled), maxRemembered)
	}
	if err := m.Resolve(t.Context(), "0", allow()); !errors.Is(err, ErrUnknown) {
		t.Errorf("the oldest: %v, want ErrUnknown", err)
	}
	var resolved *ErrResolved
	if err := m.Resolve(t.Context(), fmt.Sprint(maxRemembered), allow()); !errors.As(err, &resolved) {
		t.Errorf("a late one: %v, want ErrResolved", err)
	}
}
