package host

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission"
)

// prompts gives the prompts of each turn by the texts of their envelopes.
func (st *stage) prompts() [][]string {
	st.t.Helper()
	texts := map[string]string{}
	var turns [][]string
	for e, err := range st.Journal().Envelopes() {
		if err != nil {
			st.t.Fatal(err)
		}
		switch ev := e.Event.(type) {
		case contract.Text:
			texts[e.ID] = ev.Text
		case contract.TurnStart:
			var names []string
			for _, id := range ev.Prompts {
				names = append(names, texts[id])
			}
			turns = append(turns, names)
		}
	}
	return turns
}

// What is typed in the agent's terminal and what is sent from elsewhere are turns of one
// stream, each with its prompts.
func TestTypedPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := onScreen(t, nil)
		c.say("typed k1 one", "takes k1", "text a", "steered and this", "typed k2 two", "typed k3 three", "typed k4 none")
		st.mustSend(contract.Text{Text: "sent"})
		synctest.Wait()
		c.silent() // it waits for the turn
		c.say("done completed")
		c.want("prompt sent")
		c.say("removed k4", "done completed", "takes k2 k3", "done completed", "steered too late")
		synctest.Wait()
		check(t, st.end(), "user:one", "turn-start", "agent:a", "user:and this!", "user:two", "user:three", "user:none", "user:sent",
			"turn-end:completed", "turn-start", "turn-end:completed", "turn-start", "turn-end:completed", "user:too late")
		want := [][]string{{"one"}, {"sent"}, {"two", "three"}}
		if got := st.prompts(); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("prompts of the turns = %q, want %q", got, want)
		}
	})
}

// What was typed into an agent that is handed over before it came to it is done after.
func TestTypedAndHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := onScreen(t, nil)
		c.say("typed k1 one", "takes k1", "typed k2 two", "typed k3 taken back", "removed k3")
		st.mustSend(contract.Text{Text: "sent"})
		over := st.setFace(adapters.FaceHeadless, true)
		c.want("abort")
		c.say("done cancelled")
		c.want("close")
		next := st.next(c, "native-1")
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"prompt two", "prompt sent"} {
			next.want(want)
			next.say("done completed")
		}
		st.Idle(t.Context())
		st.end()
		want := [][]string{{"one"}, {"two"}, {"sent"}}
		if got := st.prompts(); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("prompts of the turns = %q, want %q", got, want)
		}
	})
}

// What an agent had not come to when it was quit, or stopped with its session, is told as
// what it is: not as something that was not sent. What waited here is named as ever.
func TestTypedAndGone(t *testing.T) {
	const typed = `The agent ended before it came to what was typed at its screen, which only its own conversation has: "two" (`
	for name, end := range map[string]func(st *stage, c *fakeChild){
		"quit":    func(_ *stage, c *fakeChild) { c.die(adapters.ExitStatus{}) },
		"stopped": func(st *stage, c *fakeChild) { go st.Stop(st.t.Context()); c.want("abort"); c.say("done cancelled") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cfg Config
				st, c := onScreen(t, func(c *Config) { cfg = *c })
				cfg.ID = st.ID()
				c.say("typed k1 one", "takes k1", "typed k2 two")
				st.sendAs(firstID, contract.Text{Text: "sent"})
				synctest.Wait()
				end(st, c)
				<-st.Done()
				told := st.notices()
				told = slices.DeleteFunc(told, func(s string) bool { return strings.HasPrefix(s, typed) && !strings.Contains(s, firstID) })
				if len(st.notices()) != 2 {
					t.Fatalf("notices are %q, want one of what was typed and one of what waited", st.notices())
				}
				naming(t, told, firstID)
				if strings.Contains(told[0], `"two"`) {
					t.Errorf("told %q, though it was sent", told[0])
				}
				again, ch := onScreen(t, func(c *Config) { c.ID, c.Dir, c.StateDir, c.Requeue = cfg.ID, cfg.Dir, cfg.StateDir, true })
				synctest.Wait()
				ch.silent()
				again.end()
				if len(again.notices()) != 2 {
					t.Errorf("told again: %q", again.notices())
				}
			})
		})
	}
}

// After a crash of the host what the agent has taken in without a turn is not run again,
// nor told; what waited here is run, and what its agent had not come to.
func TestTypedAndRequeued(t *testing.T) {
	for _, requeue := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var cfg Config
			st, c := onScreen(t, func(c *Config) { cfg = *c })
			cfg.ID = st.ID()
			c.say("typed k1 one", "takes k1", "done completed", "steered late", "typed k2 two", "typed k3 three", "takes k3")
			synctest.Wait()
			st.sendAs(firstID, contract.Text{Text: "sent"})
			synctest.Wait()
			st.Journal().Close() // what comes after is not in the journal
			c.die(adapters.ExitStatus{})
			st.Stop(t.Context())
			again, ch := onScreen(t, func(c *Config) { c.ID, c.Dir, c.StateDir, c.Requeue = cfg.ID, cfg.Dir, cfg.StateDir, requeue })
			for _, want := range map[bool][]string{true: {"prompt two", "prompt sent"}}[requeue] {
				ch.want(want)
				ch.say("done completed")
			}
			again.Idle(t.Context())
			ch.silent()
			again.end()
			for _, told := range again.notices() {
				if strings.Contains(told, "late") || requeue {
					t.Errorf("requeue %t: told %q", requeue, told)
				}
			}
		})
	}
}

// onScreenAsking is a session in whose terminal a dialog is open.
func onScreenAsking(t *testing.T) (*stage, *fakeChild, *desk) {
	t.Helper()
	d := newDesk()
	st, c := onScreen(t, func(cfg *Config) { cfg.Mediator = d })
	c.say("typed k work", "takes k", "start c1", "ask c1 q1")
	synctest.Wait()
	return st, c, d
}

// An answer in the agent's own dialog settles the ask; who answers later hears of it.
func TestAnsweredInTheTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, d := onScreenAsking(t)
		c.say("answered c1 allow-always")
		synctest.Wait()
		if n := d.pending(); n > 0 {
			t.Errorf("%d asks are open, want none", n)
		}
		var late *permission.ErrResolved
		err := st.decide("c1", contract.RejectOnce)
		if !errors.As(err, &late) || late.Decision != contract.AllowAlways || !strings.Contains(err.Error(), "in the agent's terminal") {
			t.Errorf("a late decision = %v, want already resolved in the agent's terminal", err)
		}
		c.say("answered c1 reject-once", "answered unknown reject-once", "end c1 out", "done completed")
		c.silent() // the agent has its answer
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "start:c1", "ask:c1", "answer:c1:allow-always:client", "end:c1:completed", "turn-end:completed")
		for e := range st.Journal().Envelopes() {
			if r, ok := e.Event.(contract.PermissionResponse); ok && (r.By.ClientType != contract.ClientCLI || r.By.Rule != "in the agent's terminal") {
				t.Errorf("by = %+v, want a person in the agent's terminal", r.By)
			}
		}
	})
}

// A decision from elsewhere that was first counts, and the dialog's comes to nothing.
func TestAnsweredElsewhereFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, _ := onScreenAsking(t)
		if err := st.decide("c1", contract.AllowOnce); err != nil {
			t.Fatal(err)
		}
		c.want("answer q1 allow-once")
		c.say("answered c1 reject-once", "end c1 out", "done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "start:c1", "ask:c1", "answer:c1:allow-once:client", "end:c1:completed", "turn-end:completed")
	})
}

// Both at once: the mediator took a decision that the loop has not heard of when the
// terminal's answer comes. The agent has that one, so it is what is written down, and
// that the other had no effect.
func TestAnsweredAtOnce(t *testing.T) {
	for decision, want := range map[contract.Decision][]string{
		contract.AllowOnce:    {"answer:c1:reject-once:client", "service:notice:"},
		contract.RejectAlways: {"answer:c1:reject-once:client"},
	} {
		synctest.Test(t, func(t *testing.T) {
			st, c, d := onScreenAsking(t)
			if err := st.do(t.Context(), func() error {
				if err := d.Resolve(t.Context(), d.asks[0].ID, permission.Response{
					Decision: decision, By: contract.DecisionBy{Resolver: contract.ByClient, ClientType: contract.ClientPhone},
				}); err != nil {
					return err
				}
				st.receive(adapters.Frame{Data: []byte("answered c1 reject-once")})
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			c.silent()
			c.say("end c1 out", "done completed")
			st.Idle(t.Context())
			check(t, st.end(), slices.Concat([]string{"user:work", "turn-start", "start:c1", "ask:c1"}, want,
				[]string{"end:c1:completed", "turn-end:completed"})...)
		})
	}
}

// A dialog that goes without an answer is no answer.
func TestWithdrawnInTheTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, _ := onScreenAsking(t)
		c.say("withdraw q1")
		synctest.Wait()
		if err := st.decide("c1", contract.AllowOnce); !errors.Is(err, ErrNoAsk) {
			t.Errorf("a late decision = %v, want ErrNoAsk", err)
		}
		c.say("done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "start:c1", "ask:c1", "answer:c1:reject-once:host", "end:c1:cancelled", "turn-end:completed")
	})
}

// Esc in the agent's terminal is an abort, once, and closes what is asked.
func TestAbortedInTheTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, d := onScreenAsking(t)
		c.say("escape")
		synctest.Wait()
		if n := d.pending(); n > 0 {
			t.Errorf("%d asks are open, want none", n)
		}
		st.mustSend(contract.Abort{}) // the same from elsewhere: it is stopping already
		c.say("escape", "done cancelled", "escape")
		synctest.Wait()
		c.silent()
		check(t, st.end(), "user:work", "turn-start", "start:c1", "ask:c1", "abort", "answer:c1:reject-once:turn-end",
			"end:c1:cancelled", "turn-end:cancelled")
	})
	// An abort from elsewhere shows there, and is none of a person's there.
	synctest.Test(t, func(t *testing.T) {
		st, c := onScreen(t, nil)
		c.say("typed k work", "takes k")
		synctest.Wait()
		st.mustSend(contract.Abort{})
		c.want("abort")
		c.say("escape", "done cancelled")
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "abort", "turn-end:cancelled")
	})
	// One that changes nothing there ends when somebody else wants it, too.
	synctest.Test(t, func(t *testing.T) {
		st, c := onScreen(t, nil)
		c.say("typed k work", "takes k", "escape")
		time.Sleep(time.Hour)
		c.silent()
		st.mustSend(contract.Abort{})
		<-c.gone
		synctest.Wait()
		check(t, st.end(), "user:work", "turn-start", "abort", "service:error:timeout", "turn-end:cancelled")
	})
	// A crash on the way is the end of the abort.
	synctest.Test(t, func(t *testing.T) {
		st, c := onScreen(t, nil)
		c.say("typed k work", "takes k", "escape")
		synctest.Wait()
		c.die(adapters.ExitStatus{Code: 1})
		synctest.Wait()
		check(t, st.end(), "user:work", "turn-start", "abort", "turn-end:cancelled")
	})
}

// A mode that a person chose there holds, also a freer one; one that the agent says it
// went into holds only when it is stricter.
func TestModeInTheTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		st, c := onScreen(t, func(cfg *Config) { cfg.Mediator = d })
		for _, test := range []struct {
			says string
			want contract.PermissionMode
		}{
			{"chose acceptEdits ", contract.ModeAcceptEdits},
			{"mode plan", contract.ModePlan},
			{"mode acceptEdits", contract.ModePlan},
			{"chose default ", contract.ModeDefault},
		} {
			c.say(test.says)
			synctest.Wait()
			if got := d.Mode(""); got != test.want {
				t.Errorf("mode after %q = %q, want %q", test.says, got, test.want)
			}
		}
		st.end()
	})
}

// What a Protocol wants done beside the screen is the child's to do; what it cannot do
// is told.
func TestChildEffects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := onScreen(t, nil)
		for _, test := range []struct{ says, want string }{
			{"follow f /x/y", "follow f /x/y"}, {"unfollow f", "unfollow f"}, {"reply h1 yes", "reply h1 yes"}, {"follow g bad", "effect g already resolved"},
		} {
			c.say(test.says)
			c.want(test.want)
		}
		st.end()
	})
}

// bypassPermissions is not switched on from another machine, also when somebody here
// typed meanwhile; the agent is told to go back. Here it is.
func TestBypassFromAfar(t *testing.T) {
	far := contract.DecisionBy{Resolver: contract.ByClient, ClientType: contract.ClientPhone, TokenID: "anna"}
	near := contract.DecisionBy{Resolver: contract.ByClient, ClientType: contract.ClientCLI, TokenID: "local"}
	for name, test := range map[string]struct {
		types func(*stage)
		free  bool
	}{
		"nobody known":   {func(*stage) {}, true},
		"here":           {func(st *stage) { st.Typing(near, true) }, true},
		"from afar":      {func(st *stage) { st.Typing(far, false) }, false},
		"long ago":       {func(st *stage) { st.Typing(far, false); time.Sleep(time.Hour) }, false},
		"then here":      {func(st *stage) { st.Typing(far, false); st.Typing(near, true) }, false},
		"long ago, here": {func(st *stage) { st.Typing(far, false); time.Sleep(time.Hour); st.Typing(near, true) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk()
				st, c := onScreen(t, func(cfg *Config) { cfg.Mediator = d })
				c.say("chose plan ")
				synctest.Wait()
				test.types(st)
				c.say("chose bypassPermissions ")
				synctest.Wait()
				want := contract.ModePlan
				if test.free {
					want = contract.ModeBypassPermissions
					c.silent()
				} else {
					if got := c.want("configure "); !strings.HasSuffix(strings.TrimSpace(got), " plan") {
						t.Errorf("the agent was told %q, want to go back to plan", got)
					}
				}
				if got := d.Mode(""); got != want {
					t.Errorf("mode = %q, want %q", got, want)
				}
				st.end()
				said := false
				for e := range st.Journal().Envelopes() {
					ev, ok := e.Event.(contract.Service)
					said = said || ok && ev.Kind == contract.ServiceError && strings.Contains(ev.Text, "by phone anna from another machine")
				}
				if said == test.free {
					t.Errorf("the session said so = %v, want %v", said, !test.free)
				}
			})
		})
	}
}

// A decision in the agent's own dialog is of who typed there last.
func TestDecidedByTheTypist(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c, _ := onScreenAsking(t)
		st.Typing(contract.DecisionBy{Resolver: contract.ByClient, ClientType: contract.ClientPhone, TokenID: "anna"}, false)
		c.say("answered c1 allow-once", "end c1 out", "done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "start:c1", "ask:c1", "answer:c1:allow-once:client", "end:c1:completed", "turn-end:completed")
		for e := range st.Journal().Envelopes() {
			if r, ok := e.Event.(contract.PermissionResponse); ok && (r.By.ClientType != contract.ClientPhone || r.By.TokenID != "anna" || r.By.Rule != "in the agent's terminal") {
				t.Errorf("by = %+v, want anna's phone", r.By)
			}
		}
	})
}
