package host

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// check compares a stream in words.
func check(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("stream:\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		st.mustSend(contract.Text{Text: "hi"})
		c.want("prompt hi")
		c.say("text hello", "start a", "end a ok", "done completed")
		if err := st.Idle(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(t, st.end(), "user:hi", "turn-start", "agent:hello", "start:a", "end:a:completed", "turn-end:completed")
	})
}

func TestPromptsQueueInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := newStage(t, fakeAdapter{}, nil)
		// Before the handshake is over, too.
		for _, text := range []string{"one", "two", "three"} {
			st.mustSend(contract.Text{Text: text})
		}
		c.say("opened n")
		for _, text := range []string{"one", "two", "three"} {
			c.want("prompt " + text)
			synctest.Wait()
			c.silent()
			c.say("text re:"+text, "done completed")
		}
		st.Idle(t.Context())
		check(t, st.end(), "user:one", "user:two", "user:three",
			"turn-start", "agent:re:one", "turn-end:completed",
			"turn-start", "agent:re:two", "turn-end:completed",
			"turn-start", "agent:re:three", "turn-end:completed")
	})
}

func TestRefusedInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		if err := st.send(contract.Text{Text: " \n"}); !errors.Is(err, ErrEmptyPrompt) {
			t.Errorf("empty prompt: %v, want ErrEmptyPrompt", err)
		}
		if err := st.send(contract.TurnStart{}); err == nil {
			t.Error("turn-start of a user was taken")
		}
		if err := st.send(contract.PermissionResponse{Call: "nope", Decision: contract.AllowOnce}); !errors.Is(err, ErrNoAsk) {
			t.Errorf("answer to no ask: %v, want ErrNoAsk", err)
		}
		// An adapter that refuses a prompt fails its turn: the prompt is in the stream.
		st.mustSend(contract.Text{Text: "refuse me"})
		st.mustSend(contract.Text{Text: "and go on"})
		c.want("prompt and go on")
		c.say("done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:refuse me", "turn-start", "turn-end:failed:invalid-request", "user:and go on", "turn-start", "turn-end:completed")
	})
}

func TestInputSentTwiceActsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		in := Input{Envelope: contract.Envelope{ID: "tz4a98xxat96iws9zmbrgj3a", Role: contract.RoleUser, Event: contract.Text{Text: "once"}}}
		for range 2 {
			if err := st.Submit(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		c.want("prompt once")
		c.say("done completed")
		st.Idle(t.Context())
		c.silent()
		check(t, st.end(), "user:once", "turn-start", "turn-end:completed")
	})
}

func TestSteer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{steer: true}, nil)
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt work")
		st.mustSend(contract.Text{Text: "faster", Steer: true})
		c.want("steer faster")
		st.mustSend(contract.Text{Text: "and better", Steer: true})
		c.want("steer and better")
		c.say("late", "done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "user:faster!", "user:and better!", "service:notice:timeout", "turn-end:completed")
	})
}

// A steer that fails with its turn is told: it is in the stream, and the agent has not
// got it.
func TestSteerLostWithItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{steer: true}, nil)
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt work")
		st.mustSend(contract.Text{Text: "faster", Steer: true})
		c.want("steer faster")
		st.mustSend(contract.Text{Text: "and better", Steer: true})
		c.want("steer and better")
		c.say("late done")
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "user:faster!", "user:and better!", "turn-end:failed", "service:notice:timeout")
	})
}

func TestSteerRefusedOrQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt work")
		if err := st.send(contract.Text{Text: "faster", Steer: true}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("steer = %v, want ErrUnsupported", err)
		}
		in := Input{Queue: true, Envelope: contract.Envelope{Role: contract.RoleUser, Event: contract.Text{Text: "later", Steer: true}}}
		if err := st.Submit(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		// A fallback of a newer peer counts as none.
		if err := st.send(contract.Text{Text: "faster", Steer: true, Fallback: "stash"}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("steer with an unknown fallback = %v, want ErrUnsupported", err)
		}
		st.mustSend(contract.Text{Text: "at last", Steer: true, Fallback: contract.FallbackQueue})
		c.say("done completed")
		c.want("prompt later")
		c.say("done completed")
		c.want("prompt at last")
		c.say("done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "user:later", "user:at last", "turn-end:completed",
			"turn-start", "turn-end:completed", "turn-start", "turn-end:completed")
	})
}

func TestAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		// Nothing runs: recorded, and nobody waits for anything.
		st.mustSend(contract.Abort{})
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt work")
		c.say("start a")
		synctest.Wait()
		for range 3 {
			st.mustSend(contract.Abort{})
		}
		c.want("abort")
		synctest.Wait()
		c.silent() // a second cancel would reach the next turn
		c.say("done completed")
		st.mustSend(contract.Text{Text: "next"})
		c.want("prompt next")
		c.say("done completed")
		st.Idle(t.Context())
		check(t, st.end(), "abort", "user:work", "turn-start", "start:a", "abort", "end:a:cancelled", "turn-end:cancelled",
			"user:next", "turn-start", "turn-end:completed")
	})
}

func TestAbortEscalates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, func(cfg *Config) { cfg.Limits.Abort = 5 * time.Second })
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt work")
		c.say("start a")
		st.mustSend(contract.Abort{})
		c.want("abort")
		begin := time.Now()
		st.Idle(t.Context()) // the agent ignores it and is stopped
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("stopped after %v, want 5s", took)
		}
		// The next prompt starts the agent again, with its own session.
		st.mustSend(contract.Text{Text: "next"})
		c = <-st.children
		c.want("open")
		c.say("opened native-2")
		c.want("prompt next")
		c.say("done completed")
		st.Idle(t.Context())
		if got := st.argv[1][1]; got != "--resume=native-1" {
			t.Errorf("started again with %q, want the native session", got)
		}
		check(t, st.end(), "user:work", "turn-start", "start:a", "abort", "service:error:timeout", "end:a:cancelled", "turn-end:cancelled",
			"user:next", "service:reconnect:", "turn-start", "turn-end:completed")
	})
}

func TestChildDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, func(cfg *Config) { cfg.Limits.Restarts = -1 })
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt work")
		st.mustSend(contract.Text{Text: "more"})
		c.say("start a", "ask a k")
		synctest.Wait()
		c.die(adapters.ExitStatus{Code: -1, Signal: "killed", Stderr: "boom"})
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "user:more", "start:a", "ask:a", "answer:a:reject-once:host",
			"end:a:error", "turn-end:failed:agent-exited", "turn-start", "turn-end:failed:agent-exited")
	})
}

// A prompt that was sent and never taken up has its turn all the same.
func TestChildDiesBeforeTurnStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{lazyTurn: true}, nil)
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt work")
		c.die(adapters.ExitStatus{Code: 7})
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "turn-end:failed:agent-exited")
	})
}

func TestRefusedHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := newStage(t, fakeAdapter{}, nil)
		st.mustSend(contract.Text{Text: "hi"})
		c.say("refused log in first")
		var open *OpenError
		if err := st.Opened(t.Context()); !errors.As(err, &open) || open.Cause.Code != contract.CodeAuthRequired {
			t.Errorf("Opened = %v, want auth-required", err)
		}
		<-st.Done()
		check(t, st.stream(), "user:hi", "service:error:auth-required", "turn-start", "turn-end:failed:auth-required")
	})
}

func TestHandshakeTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, _ := newStage(t, fakeAdapter{}, func(cfg *Config) { cfg.Limits.Start = time.Minute })
		begin := time.Now()
		<-st.Done()
		if took := time.Since(begin); took != time.Minute {
			t.Errorf("gave up after %v, want 1m", took)
		}
		check(t, st.stream(), "service:error:timeout", "service:error:start-failed")
	})
}

func TestStopDuringTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		st.mustSend(contract.Text{Text: "work"})
		st.mustSend(contract.Text{Text: "waits"})
		c.want("prompt work")
		c.say("start a")
		synctest.Wait()
		go func() {
			c.want("abort")
			c.say("done completed")
			c.want("close")
		}()
		check(t, st.end(), "user:work", "turn-start", "user:waits", "start:a", "service:notice:host-stopped", "end:a:cancelled", "turn-end:cancelled")
	})
}

func TestStopOfAgentThatIgnoresAbort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt work")
		check(t, st.end(), "user:work", "turn-start", "turn-end:cancelled")
	})
}

// The agent's input stays open until it has answered the goodbye, but not for ever.
func TestGoodbyeIsAnswered(t *testing.T) {
	for name, tt := range map[string]struct {
		answers time.Duration // 0 for never
		kill    bool
		want    time.Duration
	}{
		"at once":     {answers: time.Millisecond, want: time.Millisecond},
		"late":        {answers: 700 * time.Millisecond, want: 700 * time.Millisecond},
		"never":       {want: goodbyeWait},
		"not awaited": {kill: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, c := opened(t, fakeAdapter{parts: true}, nil)
				begin := time.Now()
				stopped := make(chan time.Duration, 1)
				c.onStop = func() { stopped <- time.Since(begin) }
				go func() {
					c.want("close")
					if tt.answers > 0 {
						<-time.After(tt.answers)
						c.say("closed")
					}
				}()
				if tt.kill {
					st.Kill()
					<-st.Done()
				} else {
					st.end()
				}
				if got := <-stopped; got != tt.want {
					t.Errorf("the agent's input was closed after %v, want %v", got, tt.want)
				}
			})
		})
	}
}

func TestCancelledContextStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		c := &fakeChild{t: t, frames: make(chan adapters.Frame), wrote: make(chan string, 64), gone: make(chan struct{})}
		s, err := Start(ctx, Config{
			Dir: t.TempDir(), StateDir: t.TempDir(), Adapter: fakeAdapter{},
			Resolve: func(command, _ string) (string, error) { return command, nil },
			Start:   func(context.Context, StartSpec) (Child, error) { return c, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		<-s.Done()
		if err := s.Submit(t.Context(), Input{Envelope: contract.Envelope{Event: contract.Text{Text: "late"}}}); !errors.Is(err, ErrOver) {
			t.Errorf("Submit after the end = %v, want ErrOver", err)
		}
	})
}

func TestAutonomousTurnEndsByQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		c.say("text by the way")
		synctest.Wait()
		st.Idle(t.Context())
		st.mustSend(contract.Text{Text: "thanks"})
		c.want("prompt thanks")
		c.say("done completed")
		st.Idle(t.Context())
		check(t, st.end(), "turn-start", "agent:by the way", "turn-end:completed", "user:thanks", "turn-start", "turn-end:completed")
	})
}

func TestOutputIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, func(cfg *Config) { cfg.Limits.OutputBytes = 10 })
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt")
		c.say("start a", "end a 12345678é90", "done completed")
		st.Idle(t.Context())
		st.end()
		for e := range st.Journal().Envelopes() {
			if end, ok := e.Event.(contract.ToolCallEnd); ok {
				if !end.Result.Truncated || string(end.Result.Output) != `"12345678é"` {
					t.Errorf("output = %s, truncated %v; want the first 10 bytes", end.Result.Output, end.Result.Truncated)
				}
			}
		}
	})
}

func TestPriceFillsCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, func(cfg *Config) {
			cfg.Price = func(model string, u contract.Usage) (float64, bool) {
				return float64(u.InputTokens) * 0.5, model == "m"
			}
		})
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt")
		c.say("done completed")
		st.Idle(t.Context())
		st.end()
		for e := range st.Journal().Envelopes() {
			if end, ok := e.Event.(contract.TurnEnd); ok && (end.Usage.Cost == nil || *end.Usage.Cost != 5) {
				t.Errorf("cost = %v, want 5", end.Usage.Cost)
			}
		}
	})
}

func TestConfigure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		go func() {
			line := c.want("configure")
			c.say("configured " + strings.Fields(line)[1])
		}()
		if err := st.Configure(t.Context(), adapters.Configure{Model: "big"}, contract.DecisionBy{}); err != nil {
			t.Error(err)
		}
		if _, err := st.Op(t.Context(), "rewind", nil); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("Op = %v, want ErrUnsupported", err)
		}
		st.end()
	})
}

func TestResumeEndsWhatACrashLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cfg Config
		st, c := opened(t, fakeAdapter{}, func(c *Config) { cfg = *c })
		cfg.ID = st.ID()
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt work")
		st.mustSend(contract.Text{Text: "waits"})
		c.say("start a")
		synctest.Wait()
		// The host dies: its journal is let go in the middle of a turn.
		st.Journal().Close()
		st2, c2 := opened(t, fakeAdapter{}, func(c *Config) { c.ID, c.Dir, c.StateDir = cfg.ID, cfg.Dir, cfg.StateDir })
		st2.mustSend(contract.Text{Text: "again"})
		c2.want("prompt again")
		c2.say("done completed")
		st2.Idle(t.Context())
		check(t, st2.end(), "user:work", "turn-start", "user:waits", "start:a", "end:a:error", "turn-end:failed:host-stopped",
			"service:notice:host-stopped", "user:again", "turn-start", "turn-end:completed")
		c.die(adapters.ExitStatus{})
		st.Stop(t.Context())
	})
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	for name, cfg := range map[string]Config{
		"no adapter":   {Dir: dir, StateDir: dir},
		"relative dir": {Dir: "x", StateDir: dir, Adapter: fakeAdapter{}},
		"no such dir":  {Dir: dir + "/none", StateDir: dir, Adapter: fakeAdapter{}},
		"bad id":       {Dir: dir, StateDir: dir, Adapter: fakeAdapter{}, ID: "../../etc"},
	} {
		if _, err := Start(t.Context(), cfg); err == nil {
			t.Errorf("%s: Start = nil, want an error", name)
		}
	}
	_, err := Start(t.Context(), Config{
		Dir: dir, StateDir: dir, Adapter: fakeAdapter{},
		Resolve: func(string, string) (string, error) { return "", errors.New("not found") },
	})
	var not *NotStartedError
	if !errors.As(err, &not) || !strings.Contains(err.Error(), "make fake") {
		t.Errorf("Start = %v, want NotStartedError with the way to install it", err)
	}
}

// An agent that died before it had saved its session starts with a new one, and
// the prompt that waits is answered.
func TestAgentForgotItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt work")
		c.die(adapters.ExitStatus{Code: -1, Signal: "SIGKILL"})
		st.Idle(t.Context())
		st.mustSend(contract.Text{Text: "next"})
		c = <-st.children
		c.want("open")
		c.say("unknown-session")
		c = <-st.children
		c.want("open")
		c.say("opened native-2")
		c.want("prompt next")
		c.say("done completed")
		st.Idle(t.Context())
		if got := []string{st.argv[1][1], st.argv[2][1]}; !slices.Equal(got, []string{"--resume=native-1", "--resume="}) {
			t.Errorf("started again with %q", got)
		}
		check(t, st.end(), "user:work", "turn-start", "turn-end:failed:agent-exited", "user:next", "service:reconnect:",
			"service:notice:session-not-found", "service:reconnect:", "turn-start", "turn-end:completed")
	})
}

// So does one whose host ended in its first turn. What was answered once is to be there.
func TestAgentForgotWhatItsHostCutOff(t *testing.T) {
	for _, c := range []struct {
		name     string
		done     bool     // a turn was completed before
		want     []string // of the second run
		launched string   // last
	}{
		{"in its first turn", false, []string{"turn-end:failed:host-stopped", "user:next", "service:notice:session-not-found", "turn-start", "turn-end:completed"}, "--resume="},
		{"later", true, []string{"turn-end:failed:host-stopped", "user:next", "service:error:session-not-found", "turn-start", "turn-end:failed:session-not-found"}, "--resume=native-1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var cfg Config
				first, child := opened(t, fakeAdapter{}, func(to *Config) { cfg = *to })
				if c.done {
					first.mustSend(contract.Text{Text: "one"})
					child.want("prompt one")
					child.say("done completed")
					first.Idle(t.Context())
				}
				first.mustSend(contract.Text{Text: "work"})
				child.want("prompt work")
				synctest.Wait()
				// What the disk has when the host is killed.
				state := t.TempDir()
				if err := os.CopyFS(state, os.DirFS(cfg.StateDir)); err != nil {
					t.Fatal(err)
				}
				first.Kill()
				<-first.Done()

				st, child := newStage(t, fakeAdapter{}, func(to *Config) {
					to.ID, to.Dir, to.StateDir, to.Options.Resume = first.ID(), cfg.Dir, state, "native-1"
				})
				had := st.journal.End()
				st.mustSend(contract.Text{Text: "next"})
				child.say("unknown-session")
				if c.done {
					<-st.Done()
				} else {
					child = st.next(child, "native-2")
					child.want("prompt next")
					child.say("done completed")
					st.Idle(t.Context())
				}
				if got := st.last(); !strings.Contains(got, c.launched) {
					t.Errorf("last started as %q, want %s", got, c.launched)
				}
				got := st.end()
				check(t, got[int(had)-1:], c.want...)
			})
		})
	}
}

// What the Protocol makes of an agent that ends in its handshake is told.
func TestExitInHandshakeSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := newStage(t, fakeAdapter{}, nil)
		c.die(adapters.ExitStatus{Code: 52, Stderr: "please log in"})
		var open *OpenError
		if err := st.Opened(t.Context()); !errors.As(err, &open) || open.Cause.Code != contract.CodeAuthRequired {
			t.Errorf("Opened = %v, want auth-required", err)
		}
		<-st.Done()
		check(t, st.stream(), "service:error:auth-required")
	})
}

// A prompt that waits does not go to an agent that is being stopped.
func TestPromptWaitsForTheNextAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		c.deaf = true
		st.mustSend(contract.Text{Text: "one"})
		c.want("prompt one")
		st.mustSend(contract.Text{Text: "two"})
		c.say("give-up cancelled")
		synctest.Wait()
		c.silent()
		c.die(adapters.ExitStatus{Code: -1, Signal: "SIGKILL"})
		c = <-st.children
		c.want("open")
		c.say("opened native-1")
		c.want("prompt two")
		c.say("done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:one", "turn-start", "user:two", "turn-end:cancelled", "service:error:timeout",
			"service:reconnect:", "turn-start", "turn-end:completed")
	})
}

// An abort of what the agent said by itself, and was done with, does not reach
// the turn that comes next.
func TestAbortOfRestingTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, func(cfg *Config) { cfg.Limits.Abort = time.Second })
		c.say("text by the way")
		synctest.Wait()
		st.mustSend(contract.Abort{})
		st.mustSend(contract.Text{Text: "one"})
		c.want("prompt one")
		time.Sleep(time.Minute) // the bubble's clock
		c.say("text done", "done completed")
		st.Idle(t.Context())
		check(t, st.end(), "turn-start", "agent:by the way", "abort", "turn-end:completed",
			"user:one", "turn-start", "agent:done", "turn-end:completed")
	})
}

// What a newer peer sends is kept for newer readers.
func TestUnknownInputIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, _ := opened(t, fakeAdapter{}, nil)
		st.mustSend(contract.Unknown{T: "wave", Body: []byte(`{"t":"wave","hand":"left"}`)})
		check(t, st.end(), "wave")
	})
}
