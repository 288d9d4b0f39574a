package host

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission"
	"github.com/agenthost/agenthost/permission/grant"
	"github.com/agenthost/agenthost/permission/policy"
)

// judged starts a session in a turn, with a real mediator of these rules.
func judged(t *testing.T, rules string) (*stage, *fakeChild) {
	t.Helper()
	p, err := policy.Parse([]byte("timeout: 1h\nrules: "+rules), policy.Env{})
	if err != nil {
		t.Fatal(err)
	}
	grants, err := grant.Open("", grant.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := permission.New(permission.Options{Policy: p, Grants: grants})
	t.Cleanup(func() { _ = m.Close() })
	st, c := opened(t, fakeAdapter{}, func(cfg *Config) { cfg.Mediator = m })
	st.mustSend(contract.Text{Text: "work"})
	c.want("prompt work")
	return st, c
}

func (st *stage) requests() []contract.PermissionRequest {
	st.t.Helper()
	var out []contract.PermissionRequest
	for e, err := range st.Journal().Envelopes() {
		if err != nil {
			st.t.Fatal(err)
		}
		if req, ok := e.Event.(contract.PermissionRequest); ok {
			out = append(out, req)
		}
	}
	return out
}

// A request says what it covers, what an allow-always would be remembered for, and
// under which nonce it is answered: an answer to another showing is refused, and
// the request stays open.
func TestRequestsSayWhatTheyCover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := judged(t, "[]")
		c.say("start a", "ask a ka")
		synctest.Wait()
		reqs := st.requests()
		if len(reqs) != 1 || !slices.Equal(reqs[0].Patterns, []string{"x"}) || !slices.Equal(reqs[0].Always, []string{"x"}) || reqs[0].Nonce == "" {
			t.Fatalf("requests = %+v, want one about x with a nonce", reqs)
		}
		err := st.send(contract.PermissionResponse{Call: "a", Decision: contract.AllowOnce, Nonce: "another"})
		if !errors.Is(err, permission.ErrStale) || !strings.Contains(err.Error(), reqs[0].Nonce) {
			t.Errorf("another nonce: %v, want ErrStale with the right one", err)
		}
		c.silent()
		st.mustSend(contract.PermissionResponse{Call: "a", Decision: contract.AllowOnce, Nonce: reqs[0].Nonce})
		c.want("answer ka allow-once")
		c.say("end a", "done completed")
		st.end()
	})
}

// What no person answers has no nonce; what is not remembered is not offered to be.
func TestRequestsThatNobodyAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := judged(t, "[{allow: bash(x)}]")
		c.say("start a", "ask a ka")
		c.want("answer ka allow-once")
		reqs := st.requests()
		if len(reqs) != 1 || reqs[0].Nonce != "" || len(reqs[0].Always) != 0 || !slices.Equal(reqs[0].Patterns, []string{"x"}) {
			t.Errorf("requests = %+v, want one without nonce and always", reqs)
		}
		c.say("end a", "done completed")
		st.end()
	})
}

// A decision that leaves plan mode puts the agent into the mode before, as the
// mediator is; an agent that does not take it is told of.
func TestLeavingPlanModeIsToldTheAgent(t *testing.T) {
	for _, outcome := range []string{"configured", "failed"} {
		t.Run(outcome, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, c, d := asking(t)
				d.leaves = contract.ModeAcceptEdits
				c.say("start a", "ask a ka")
				synctest.Wait()
				if err := st.decide("a", contract.AllowOnce); err != nil {
					t.Fatal(err)
				}
				c.want("answer ka allow-once")
				_, id, _ := strings.Cut(strings.TrimSpace(c.want("configure ")), " ")
				c.say("mode default", outcome+" "+strings.TrimSpace(id)+" no")
				synctest.Wait()
				want := contract.ModeAcceptEdits
				if outcome == "failed" {
					want = ""
				}
				if d.mode != want {
					t.Errorf("the mediator was put into %q, want %q", d.mode, want)
				}
				c.say("end a", "done completed")
				told := slices.ContainsFunc(st.end(), func(s string) bool { return strings.HasPrefix(s, "service") })
				if told != (outcome == "failed") {
					t.Errorf("told of a refusal: %v", told)
				}
			})
		})
	}
}
