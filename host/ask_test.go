package host

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/permission/policy"
)

// desk is a mediator that leaves every decision to the test.
type desk struct {
	mu   sync.Mutex
	open map[string]func(permission.Answer)
	asks []permission.Ask
	mode contract.PermissionMode
	// leaves is the mode that the next decision leaves the session in.
	leaves contract.PermissionMode
}

func newDesk() *desk { return &desk{open: map[string]func(permission.Answer){}} }

func (d *desk) Open(ask permission.Ask, settle func(permission.Answer)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if strings.Contains(ask.Call, "fail") {
		settle(permission.Answer{Decision: contract.RejectOnce, By: contract.DecisionBy{Resolver: contract.ByPolicy}, Fail: true})
		return nil
	}
	if strings.Contains(ask.Call, "auto") {
		settle(permission.Answer{Decision: contract.AllowOnce, By: contract.DecisionBy{Resolver: contract.ByPolicy}})
		return nil
	}
	d.open[ask.ID] = settle
	d.asks = append(d.asks, ask)
	return nil
}

func (d *desk) take(id string) func(permission.Answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	settle := d.open[id]
	delete(d.open, id)
	return settle
}

var errTaken = errors.New("already resolved")

func (d *desk) Resolve(_ context.Context, id string, r permission.Response) error {
	settle := d.take(id)
	if settle == nil {
		return errTaken
	}
	settle(permission.Answer{EnvelopeID: r.EnvelopeID, Decision: r.Decision, By: r.By, Message: r.Message, Args: r.Args, Mode: d.leaves})
	return nil
}

func (d *desk) Withdraw(id string, cause contract.Resolver) {
	if settle := d.take(id); settle != nil {
		settle(permission.Answer{Decision: contract.RejectOnce, By: contract.DecisionBy{Resolver: cause}})
	}
}

func (d *desk) Decided(id string, decision contract.Decision, by contract.DecisionBy) {
	if settle := d.take(id); settle != nil {
		settle(permission.Answer{Decision: decision, By: by})
	}
}

func (d *desk) SetMode(_ string, mode contract.PermissionMode, _ contract.DecisionBy) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mode = mode
	return nil
}

func (d *desk) Mode(string) contract.PermissionMode {
	d.mu.Lock()
	defer d.mu.Unlock()
	return cmp.Or(d.mode, contract.ModeDefault)
}

func (d *desk) Preview(ask permission.Ask) permission.Ask {
	if strings.Contains(ask.Call, "forbidden") {
		ask.Verdict = policy.Explanation{Verdict: policy.Deny, Stage: policy.ByRule, Rule: "deny: bash(x)"}
	}
	return ask
}

func (d *desk) Permits(string, contract.PermissionMode, contract.DecisionBy) error { return nil }

func (d *desk) pending() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.open)
}

// asking starts a session in a turn, with a desk.
func asking(t *testing.T) (*stage, *fakeChild, *desk) {
	t.Helper()
	d := newDesk()
	st, c := opened(t, fakeAdapter{}, func(cfg *Config) { cfg.Mediator = d })
	st.mustSend(contract.Text{Text: "work"})
	c.want("prompt work")
	return st, c, d
}

func (st *stage) decide(call string, d contract.Decision) error {
	return st.Submit(st.t.Context(), Input{
		Envelope: contract.Envelope{Role: contract.RoleUser, Event: contract.PermissionResponse{Call: call, Decision: d}},
		By:       contract.DecisionBy{Resolver: contract.ByClient},
	})
}

func TestDecisionsInAnyOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, d := asking(t)
		c.say("start a", "start b", "ask a ka", "ask b kb")
		synctest.Wait()
		if d.asks[0].Cwd != st.cfg.Dir || d.asks[0].Agent != "fake" || string(d.asks[0].Args) != `{"command":"x"}` {
			t.Errorf("ask = %+v", d.asks[0])
		}
		if err := st.decide("b", contract.RejectOnce); err != nil {
			t.Fatal(err)
		}
		c.want("answer kb reject-once")
		if err := st.decide("a", contract.AllowOnce); err != nil {
			t.Fatal(err)
		}
		c.want("answer ka allow-once")
		synctest.Wait()
		if err := st.decide("a", contract.RejectOnce); !errors.Is(err, ErrNoAsk) {
			t.Errorf("second decision = %v, want ErrNoAsk", err)
		}
		c.say("end b no", "end a yes", "done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "start:a", "start:b", "ask:a", "ask:b",
			"answer:b:reject-once:client", "answer:a:allow-once:client", "end:b:completed", "end:a:completed", "turn-end:completed")
	})
}

// The decision is in the journal before the agent hears it.
func TestAnswerIsStoredFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, _ := asking(t)
		c.say("start auto", "ask auto k")
		c.want("answer k allow-once")
		if got := st.stream(); got[len(got)-1] != "answer:auto:allow-once:policy" {
			t.Errorf("stream when the agent got its answer ends with %q", got[len(got)-1])
		}
		st.end()
	})
}

func TestTwoPeopleAnswerAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, _ := asking(t)
		c.say("start a", "ask a k")
		synctest.Wait()
		var wg sync.WaitGroup
		var won, lost int
		var mu sync.Mutex
		for i := range 50 {
			wg.Go(func() {
				err := st.decide("a", []contract.Decision{contract.AllowOnce, contract.RejectOnce}[i%2])
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else {
					lost++
				}
			})
		}
		wg.Wait()
		answer := c.want("answer k ")
		synctest.Wait()
		c.silent()
		if won != 1 || lost != 49 {
			t.Errorf("%d won and %d lost, want 1 and 49", won, lost)
		}
		c.say("done completed")
		st.Idle(t.Context())
		stream := strings.Join(st.end(), " ")
		if want := "answer:a:" + strings.TrimPrefix(answer, "answer k "); strings.Count(stream, want) != 1 {
			t.Errorf("the stream %s has not %q", stream, want)
		}
	})
}

func TestAbortSettlesAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, d := asking(t)
		c.say("start a", "start b", "ask a ka", "ask b kb")
		synctest.Wait()
		st.mustSend(contract.Abort{})
		c.want("abort") // and no answers: the Protocol gives them where the agent wants them
		c.say("done completed")
		st.Idle(t.Context())
		c.silent()
		if d.pending() != 0 {
			t.Error("asks are still open")
		}
		check(t, st.end(), "user:work", "turn-start", "start:a", "start:b", "ask:a", "ask:b", "abort",
			"answer:a:reject-once:turn-end", "answer:b:reject-once:turn-end", "end:b:cancelled", "end:a:cancelled", "turn-end:cancelled")
	})
}

func TestAgentWithdrawsAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, d := asking(t)
		c.say("start a", "ask a k", "withdraw k", "withdraw k", "withdraw unknown")
		synctest.Wait()
		if err := st.decide("a", contract.AllowOnce); !errors.Is(err, ErrNoAsk) {
			t.Errorf("late decision = %v, want ErrNoAsk", err)
		}
		c.silent()
		if d.pending() != 0 {
			t.Error("the ask is still open")
		}
		c.say("done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "start:a", "ask:a", "answer:a:reject-once:host", "end:a:cancelled", "turn-end:completed")
	})
}

// A call that ends takes its ask with it.
func TestCallEndsWhileAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, d := asking(t)
		c.say("start a", "ask a k", "end a done", "done completed")
		st.Idle(t.Context())
		c.silent()
		if d.pending() != 0 {
			t.Error("the ask is still open")
		}
		st.end()
	})
}

func TestNoMediatorRejects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt")
		c.say("start a", "ask a k")
		c.want("answer k reject-once")
		st.end()
	})
}

func TestEditedArgsReachTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, _ := asking(t)
		c.say("start a", "ask a k")
		synctest.Wait()
		st.Submit(t.Context(), Input{Envelope: contract.Envelope{Role: contract.RoleUser, Event: contract.PermissionResponse{
			Call: "a", Decision: contract.AllowOnce, Args: jsontext.Value(`{"command":"y"}`), Message: "like this",
		}}})
		c.want("answer k allow-once")
		st.end()
		for e := range st.Journal().Envelopes() {
			if r, ok := e.Event.(contract.PermissionResponse); ok {
				if string(r.Args) != `{"command":"y"}` || r.Message != "like this" {
					t.Errorf("response = %+v", r)
				}
			}
		}
	})
}

// on-ask fail: the turn fails with a code of its own, and the session ends.
func TestRefusedAskEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, _ := asking(t)
		st.mustSend(contract.Text{Text: "more"})
		c.say("start fail", "ask fail k")
		c.want("answer k reject-once")
		c.want("abort")
		c.say("done completed")
		c.want("close")
		<-st.Done()
		check(t, st.stream(), "user:work", "turn-start", "user:more", "start:fail", "ask:fail", "answer:fail:reject-once:policy",
			"end:fail:error", "turn-end:failed:ask-refused", "service:notice:host-stopped")
	})
}

// An agent that tells of a mode can only tighten what holds: its words may be
// the model's. A mode that people choose holds when the agent confirmed it.
func TestOnlyPeopleLoosen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, d := asking(t)
		mode := func() contract.PermissionMode { synctest.Wait(); return d.Mode("") }
		c.say("mode bypassPermissions", "mode acceptEdits")
		if got := mode(); got != contract.ModeDefault {
			t.Errorf("the agent loosened to %q", got)
		}
		c.say("mode plan")
		if got := mode(); got != contract.ModePlan {
			t.Errorf("mode = %q, want plan", got)
		}
		c.say("mode default")
		if got := mode(); got != contract.ModePlan {
			t.Errorf("the agent left plan mode: %q", got)
		}
		go func() {
			line := c.want("configure")
			if got := mode(); got != contract.ModePlan {
				t.Errorf("%q holds before the agent confirmed it", got)
			}
			c.say("configured " + strings.Fields(line)[1])
		}()
		if err := st.Configure(t.Context(), adapters.Configure{Mode: contract.ModeAcceptEdits}, contract.DecisionBy{}); err != nil {
			t.Fatal(err)
		}
		if got := mode(); got != contract.ModeAcceptEdits {
			t.Errorf("mode = %q, want acceptEdits", got)
		}
		c.say("done completed")
		st.Idle(t.Context())
		st.end()
	})
}

// A call that an agent ran without asking though a rule forbids it is told.
func TestForbiddenCallThatWasNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, _ := asking(t)
		c.say("start a", "end a done", "start forbidden", "end forbidden done", "start forbidden2", "ask forbidden2 k")
		synctest.Wait()
		if err := st.decide("forbidden2", contract.AllowOnce); err != nil {
			t.Fatal(err)
		}
		c.want("answer k allow-once")
		c.say("end forbidden2 done", "done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "start:a", "end:a:completed",
			"start:forbidden", "end:forbidden:completed", "service:error:unsupported",
			"start:forbidden2", "ask:forbidden2", "answer:forbidden2:allow-once:client", "end:forbidden2:completed", "turn-end:completed")
		for e := range st.Journal().Envelopes() {
			if told, ok := e.Event.(contract.Service); ok && !strings.HasSuffix(told.Text, ": run x") { // its title is markdown: "run `x`"
				t.Errorf("told %q, want what it did as text", told.Text)
			}
		}
	})
}
