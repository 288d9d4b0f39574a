package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// setFace hands over in the background.
func (st *stage) setFace(face adapters.Face, force bool) <-chan error {
	done := make(chan error, 1)
	go func() { done <- st.SetFace(st.t.Context(), face, force) }()
	return done
}

func (st *stage) wantFace(want adapters.Face) {
	st.t.Helper()
	face, err := st.Face(st.t.Context())
	if err != nil || face != want {
		st.t.Errorf("Face = %q, %v; want %q", face, err, want)
	}
	if m, err := Find(st.cfg.StateDir, st.ID(), ""); err != nil || m.Face != want {
		st.t.Errorf("face on disk = %q, %v; want %q", m.Face, err, want)
	}
}

// B060: over to the agent's own terminal and back: one stream, in which nothing is lost
// or doubled, with the mode and the model that hold; and what is asked meanwhile is done
// after it.
func TestHandOverThereAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		d.mode = contract.ModePlan
		st, c := opened(t, fakeTerminal{}, func(cfg *Config) {
			cfg.Mediator, cfg.Options = d, adapters.Options{Mode: "default", Model: "m1"}
		})
		st.mustSend(contract.Text{Text: "one"})
		c.want("prompt one")
		c.say("text first", "done completed")
		st.Idle(t.Context())

		c.deaf = true
		over := st.setFace(adapters.FaceTerminal, false)
		c.want("close")
		synctest.Wait()
		st.mustSend(contract.Text{Text: "two"})
		if err := st.SetFace(t.Context(), adapters.FaceHeadless, true); !errors.Is(err, ErrBusy) {
			t.Errorf("SetFace during a hand-over = %v, want ErrBusy", err)
		}
		c.say("text last words")
		c.die(adapters.ExitStatus{Code: 143})
		tui := st.next(c, "")
		if got, want := st.last(), "/bin/fake --resume=native-1 --mode=plan --model=m1 --tui"; got != want {
			t.Errorf("command = %q, want %q", got, want)
		}
		synctest.Wait()
		tui.silent() // the prompt waits
		tui.say("opened native-1")
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		st.wantFace(adapters.FaceTerminal)
		tui.want("prompt two")
		tui.say("text second", "done completed", "chose acceptEdits m2")
		st.Idle(t.Context())
		if err := st.SetFace(t.Context(), adapters.FaceTerminal, false); err != nil {
			t.Errorf("SetFace to the face it has = %v, want nil", err)
		}

		back := st.setFace(adapters.FaceHeadless, false)
		tui.want("close")
		c = st.next(tui, "native-1")
		if err := <-back; err != nil {
			t.Fatal(err)
		}
		if got, want := st.last(), "/bin/fake --resume=native-1 --mode=acceptEdits --model=m2"; got != want {
			t.Errorf("command = %q, want %q", got, want)
		}
		st.wantFace(adapters.FaceHeadless)
		st.mustSend(contract.Text{Text: "three"})
		c.want("prompt three")
		c.say("done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:one", "turn-start", "agent:first", "turn-end:completed",
			"user:two", "turn-start", "agent:last words", "turn-end:cancelled", "service:notice:",
			"turn-start", "agent:second", "turn-end:completed", "agent-configuration-changed", "service:notice:",
			"user:three", "turn-start", "turn-end:completed")
	})
}

func TestHandOverRefused(t *testing.T) {
	for _, test := range []struct{ name, why string }{
		{"turn", "a turn runs"}, {"ask", "a permission request is open"}, {"background", "something works in the background"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk()
				st, c := onScreen(t, func(cfg *Config) { cfg.Mediator = d })
				c.say("typed k work", "takes k")
				switch test.name {
				case "ask":
					c.say("start c1", "ask c1 k1")
				case "background":
					c.say("helper h1", "done completed")
				}
				synctest.Wait()
				err := st.SetFace(t.Context(), adapters.FaceHeadless, false)
				var busy *HandOverError
				if !errors.As(err, &busy) || busy.Why != test.why || !errors.Is(err, ErrBusy) {
					t.Errorf("SetFace = %v, want a HandOverError: %s", err, test.why)
				}
				// Forced, what runs is stopped first.
				over := st.setFace(adapters.FaceHeadless, true)
				if test.name != "background" {
					c.want("abort")
					synctest.Wait()
					c.silent() // until the turn has ended
					c.say("done cancelled")
				}
				c.want("close")
				next := st.next(c, "native-1")
				if err := <-over; err != nil {
					t.Fatal(err)
				}
				st.mustSend(contract.Text{Text: "more"})
				next.want("prompt more")
				next.say("done completed")
				st.Idle(t.Context())
				want := map[string][]string{
					"turn":       {"user:work", "turn-start", "turn-end:cancelled"},
					"ask":        {"user:work", "turn-start", "start:c1", "ask:c1", "answer:c1:reject-once:turn-end", "end:c1:cancelled", "turn-end:cancelled"},
					"background": {"user:work", "turn-start", "subagent-start", "turn-end:completed", "turn-start", "subagent-stop", "turn-end:cancelled"},
				}[test.name]
				check(t, st.end(), append(want, "service:notice:", "user:more", "turn-start", "turn-end:completed")...)
			})
		})
	}
}

// An agent that does not end its turn is stopped, and the hand-over goes on.
func TestHandOverForcedAgainstADeafAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := onScreen(t, nil)
		c.say("typed k work", "takes k")
		synctest.Wait()
		over := st.setFace(adapters.FaceHeadless, true)
		c.want("abort")
		next := st.next(c, "native-1")
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		st.mustSend(contract.Text{Text: "more"})
		next.want("prompt more")
		next.say("done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:work", "turn-start", "service:error:timeout", "turn-end:cancelled", "service:notice:",
			"user:more", "turn-start", "turn-end:completed")
	})
}

// A child that dies while its turn is being stopped ends the waiting.
func TestHandOverWhenTheChildDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := onScreen(t, nil)
		c.say("typed k work", "takes k")
		synctest.Wait()
		over := st.setFace(adapters.FaceHeadless, true)
		c.want("abort")
		c.die(adapters.ExitStatus{}) // also with 0: it is no quit now
		st.next(c, "native-1")
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		check(t, st.end(), "user:work", "turn-start", "turn-end:cancelled", "service:notice:")
	})
}

// Whatever keeps the agent from opening its session in the new face, the former one is
// taken back.
func TestHandOverFails(t *testing.T) {
	for name, fail := range map[string]func(c *fakeChild){
		"refuses": func(c *fakeChild) { c.say("refused log in first") },
		"dies":    func(c *fakeChild) { c.die(adapters.ExitStatus{Code: 1}) },
		"quits":   func(c *fakeChild) { c.die(adapters.ExitStatus{}) },
		"forgot":  func(c *fakeChild) { c.say("unknown-session") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, c := opened(t, fakeTerminal{}, nil)
				st.mustSend(contract.Text{Text: "one"})
				c.want("prompt one")
				c.say("done completed")
				st.Idle(t.Context())
				over := st.setFace(adapters.FaceTerminal, false)
				c.want("close")
				tui := st.next(c, "")
				st.mustSend(contract.Text{Text: "two"})
				fail(tui)
				c = st.next(tui, "native-1")
				if err := <-over; err == nil {
					t.Error("SetFace = nil, want the reason")
				}
				if strings.Contains(st.last(), "--tui") {
					t.Errorf("command = %q, want the former face", st.last())
				}
				st.wantFace(adapters.FaceHeadless)
				c.want("prompt two")
				c.say("done completed")
				st.Idle(t.Context())
				got := st.end()
				check(t, slices.Concat(got[:4], got[5:]), "user:one", "turn-start", "turn-end:completed", "user:two", "turn-start", "turn-end:completed")
				if !strings.HasPrefix(got[4], "service:error:") {
					t.Errorf("stream = %q, want an error of the hand-over", got)
				}
			})
		})
	}
}

// When neither face opens its session the hand-over fails and the session lives on: its
// next prompt tries again.
func TestHandOverFailsBothWays(t *testing.T) {
	for name, fail := range map[string]func(c *fakeChild){
		"refuses": func(c *fakeChild) { c.say("refused log in first") },
		"dies":    func(c *fakeChild) { c.die(adapters.ExitStatus{Code: 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, c := opened(t, fakeTerminal{}, nil)
				over := st.setFace(adapters.FaceTerminal, false)
				c.want("close")
				tui := st.next(c, "")
				fail(tui)
				c = st.next(tui, "")
				fail(c)
				if err := <-over; err == nil {
					t.Error("SetFace = nil, want the reason")
				}
				synctest.Wait()
				st.mustSend(contract.Text{Text: "again"})
				c = st.next(c, "native-1")
				c.want("prompt again")
				c.say("done completed")
				st.Idle(t.Context())
				if got := st.end(); got[len(got)-1] != "turn-end:completed" {
					t.Errorf("stream = %q, want a turn that completed at its end", got)
				}
			})
		})
	}
}

// A session in which nothing was said may not be saved by its agent: the next face
// begins anew, and nobody is told of a loss. A branch is made once more.
func TestHandOverOfAnUnsavedSession(t *testing.T) {
	for fork, want := range map[string]string{
		"":      "/bin/fake --resume= --mode= --model=",
		"other": "/bin/fake --resume= --mode= --model= --fork=other",
	} {
		t.Run("fork="+fork, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, c := onScreen(t, func(cfg *Config) { cfg.Options.Fork = fork })
				over := st.setFace(adapters.FaceHeadless, false)
				c.want("close")
				next := st.next(c, "")
				next.say("unknown-session")
				st.next(next, "native-2")
				if err := <-over; err != nil {
					t.Fatal(err)
				}
				if got := st.last(); got != want {
					t.Errorf("command = %q, want %q", got, want)
				}
				check(t, st.end(), "service:notice:")
			})
		})
	}
}

// The same when it is gone on with after its host ended: it opens, at once. One that a
// person names is another matter: it must be there.
func TestGoOnWithAnUnsavedSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cfg Config
		first, _ := onScreen(t, func(c *Config) { cfg = *c })
		first.end()
		st, c := newStage(t, fakeTerminal{}, func(c *Config) {
			c.ID, c.Dir, c.StateDir, c.Face, c.Options.Resume = first.ID(), cfg.Dir, cfg.StateDir, adapters.FaceTerminal, "native-1"
		})
		c.say("unknown-session")
		st.next(c, "native-2")
		if err := st.Opened(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(t, st.end())
		other, c := newStage(t, fakeTerminal{}, func(c *Config) { c.Options.Resume = "native-1" })
		c.say("unknown-session")
		if err := other.Opened(t.Context()); err == nil {
			t.Error("Opened = nil for a session that is not there, want an error")
		}
		<-other.Done()
	})
}

// The directory for sockets that a killed host left is removed by the next start, and
// nothing else is.
func TestSocketDir(t *testing.T) {
	keep := t.TempDir()
	s := &Session{dir: t.TempDir(), cfg: Config{Environ: []string{"XDG_RUNTIME_DIR=" + strings.Repeat("/long", 30)}}}
	if err := os.WriteFile(filepath.Join(s.dir, socketDirFile), []byte(keep), 0o600); err != nil {
		t.Fatal(err)
	}
	first, err := s.socketDir()
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.socketDir()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(second)
	if _, err := os.Stat(first); err == nil || first == second {
		t.Errorf("%s is left beside %s", first, second)
	}
	if _, err := os.Stat(keep); err != nil {
		t.Errorf("a directory that is none of ours was removed: %v", err)
	}
	info, err := os.Stat(second)
	if err != nil || info.Mode().Perm() != 0o700 || len(second) > maxSocketDir {
		t.Errorf("%s: %v, %v; want mode 700 and at most %d bytes", second, info.Mode(), err, maxSocketDir)
	}
}

// A directory that has become somebody else's is left, and forgotten.
func TestSocketDirOfOthers(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("nothing is somebody else's for root")
	}
	session, base := t.TempDir(), t.TempDir()
	dir := filepath.Join(base, socketPrefix+"x")
	note := filepath.Join(session, socketDirFile)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(note, []byte(dir), 0o600), os.Chmod(base, 0o500)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(base, 0o700) })
	if err := removeSocketDir(session); err != nil {
		t.Errorf("removeSocketDir = %v, want nil", err)
	}
	if _, err := os.Stat(note); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the note: %v, want it gone", err)
	}
}

// However a child ends, or does not begin, the directory for its sockets goes with it,
// whoever started it; and with a session that is removed.
func TestSocketDirGoes(t *testing.T) {
	failed := errors.New("no such program")
	for name, end := range map[string]func(st *stage, c *fakeChild){
		"stopped": func(st *stage, _ *fakeChild) { st.end() },
		"quit":    func(_ *stage, c *fakeChild) { c.die(adapters.ExitStatus{}) },
		"died":    func(st *stage, c *fakeChild) { c.die(adapters.ExitStatus{Code: 1}); synctest.Wait() },
		"handed over": func(st *stage, c *fakeChild) {
			st.setFace(adapters.FaceHeadless, true)
			c.want("close")
			st.next(c, "native-1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var dir string
				st, c := onScreen(t, func(cfg *Config) {
					start := cfg.Start
					cfg.Start = func(ctx context.Context, spec StartSpec) (Child, error) {
						if spec.Terminal != nil {
							dir = spec.Terminal.Dir
						}
						return start(ctx, spec)
					}
				})
				if _, err := os.Stat(dir); err != nil {
					t.Fatal(err)
				}
				end(st, c)
				synctest.Wait()
				if _, err := os.Stat(dir); err == nil {
					t.Errorf("%s is left", dir)
				}
				st.Stop(t.Context())
			})
		})
	}
	t.Run("not started", func(t *testing.T) {
		var dir string
		_, err := Start(t.Context(), Config{
			Dir: t.TempDir(), StateDir: t.TempDir(), Adapter: fakeTerminal{}, Face: adapters.FaceTerminal,
			Resolve: func(command, _ string) (string, error) { return command, nil },
			Start: func(_ context.Context, spec StartSpec) (Child, error) {
				dir = spec.Terminal.Dir
				return nil, failed
			},
		})
		if _, stat := os.Stat(dir); !errors.Is(err, failed) || stat == nil {
			t.Errorf("Start = %v, and %q is left: %t", err, dir, stat == nil)
		}
	})
	t.Run("removed after a crash", func(t *testing.T) {
		var cfg Config
		st, _ := opened(t, fakeAdapter{}, func(c *Config) { cfg = *c })
		st.end()
		dir, err := os.MkdirTemp("", socketPrefix)
		if err == nil {
			err = os.WriteFile(filepath.Join(SessionDir(cfg.StateDir, st.ID()), socketDirFile), []byte(dir), 0o600)
		}
		if err == nil {
			err = Remove(cfg.StateDir, st.ID())
		}
		if _, stat := os.Stat(dir); err != nil || stat == nil {
			t.Errorf("Remove = %v, and %s is left: %t", err, dir, stat == nil)
		}
	})
}

func TestSetFaceUnsupported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, _ := opened(t, fakeAdapter{}, nil)
		if err := st.SetFace(t.Context(), adapters.FaceTerminal, true); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("SetFace = %v, want ErrUnsupported", err)
		}
		if err := st.SetFace(t.Context(), "other", true); err == nil {
			t.Error("SetFace of an unknown face = nil, want an error")
		}
		if st.Screen() != nil {
			t.Error("Screen != nil for an agent without one")
		}
		st.end()
		if err := st.SetFace(t.Context(), adapters.FaceHeadless, true); !errors.Is(err, ErrOver) {
			t.Errorf("SetFace at the end = %v, want ErrOver", err)
		}
	})
	_, err := Start(t.Context(), Config{Adapter: fakeAdapter{}, Dir: t.TempDir(), StateDir: t.TempDir(), Face: adapters.FaceTerminal})
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Start = %v, want ErrUnsupported", err)
	}
}

// An agent that is down, or on its way, is handed over too.
func TestHandOverWithoutAChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := newStage(t, fakeTerminal{}, nil)
		over := st.setFace(adapters.FaceTerminal, false)
		synctest.Wait()
		c.silent() // it waits until the session is open
		c.say("opened native-1")
		c.want("close")
		tui := st.next(c, "native-1")
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		tui.die(adapters.ExitStatus{Code: 1})
		synctest.Wait()
		over = st.setFace(adapters.FaceHeadless, false)
		st.next(tui, "native-1")
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		check(t, st.end(), "service:notice:", "service:notice:")
	})
}

// A hand-over that waits for a log-in, and that nobody wants any more, is none.
func TestHandOverGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := newStage(t, fakeTerminal{}, func(cfg *Config) { cfg.Face = adapters.FaceTerminal })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := st.SetFace(ctx, adapters.FaceHeadless, false); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("SetFace = %v, want DeadlineExceeded", err)
		}
		c.say("opened native-1")
		synctest.Wait()
		c.silent()
		st.wantFace(adapters.FaceTerminal)
		// Forced, nothing is waited for.
		st.end()
		st, c = newStage(t, fakeTerminal{}, func(cfg *Config) { cfg.Face = adapters.FaceTerminal })
		over := st.setFace(adapters.FaceHeadless, true)
		c.want("close")
		st.next(c, "native-1")
		if err := <-over; err != nil {
			t.Fatal(err)
		}
		check(t, st.end(), "service:notice:")
	})
}

// A stop during a hand-over is a stop.
func TestStopDuringHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeTerminal{}, nil)
		c.deaf = true
		over := st.setFace(adapters.FaceTerminal, false)
		c.want("close")
		go st.Stop(context.WithoutCancel(t.Context()))
		synctest.Wait()
		c.die(adapters.ExitStatus{})
		if err := <-over; !errors.Is(err, ErrOver) {
			t.Errorf("SetFace = %v, want ErrOver", err)
		}
		<-st.Done()
		check(t, st.stream())
	})
}

// An agent whose screen breaks off mid-turn is started again with its screen, whatever
// ended it.
func TestScreenCrashes(t *testing.T) {
	for name, status := range map[string]adapters.ExitStatus{
		"code": {Code: 1}, "kill": {Code: -1, Signal: "SIGKILL"}, "terminal closed": {Code: -1, Signal: "SIGHUP"},
		"server": {Err: "the agent's server ended"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, c := onScreen(t, nil)
				c.say("typed k work", "takes k", "text half", "typed k2 queued there")
				synctest.Wait()
				c.die(status)
				tui := st.next(c, "native-1")
				if !strings.HasSuffix(st.last(), "--tui") || !strings.Contains(st.last(), "--resume=native-1") {
					t.Errorf("command = %q, want the same face and session", st.last())
				}
				tui.want("prompt queued there")
				tui.say("done completed")
				st.Idle(t.Context())
				st.wantFace(adapters.FaceTerminal)
				check(t, st.end(), "user:work", "turn-start", "agent:half", "user:queued there", "turn-end:failed:agent-exited",
					"service:reconnect:", "turn-start", "turn-end:completed")
			})
		})
	}
}

// A person who ends the agent in its terminal ends the session.
func TestQuit(t *testing.T) {
	for name, test := range map[string]struct {
		before []string
		want   []string
	}{
		"idle":    {nil, nil},
		"turn":    {[]string{"typed k work", "takes k"}, []string{"user:work", "turn-start", "turn-end:cancelled"}},
		"waiting": {[]string{"typed k work"}, []string{"user:work", "service:notice:host-stopped"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, c := onScreen(t, nil)
				c.say(test.before...)
				synctest.Wait()
				c.die(adapters.ExitStatus{})
				<-st.Done()
				check(t, st.stream(), test.want...)
			})
		})
	}
	t.Run("at a gate", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st, c := newStage(t, fakeTerminal{}, func(cfg *Config) { cfg.Face = adapters.FaceTerminal })
			c.die(adapters.ExitStatus{})
			<-st.Done()
			if err := st.Opened(t.Context()); err == nil {
				t.Error("Opened = nil, want an error")
			}
			check(t, st.stream())
		})
	})
}

// A person may take long to log in: that is told, and nothing is cut short.
func TestSlowStartOnAScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := newStage(t, fakeTerminal{}, func(cfg *Config) { cfg.Face = adapters.FaceTerminal })
		time.Sleep(10 * time.Minute)
		c.say("opened native-1")
		if err := st.Opened(t.Context()); err != nil {
			t.Fatal(err)
		}
		check(t, st.end(), "service:notice:timeout")
	})
}

// A host that was killed leaves an open turn and a face. The next run has both.
func TestRecoveryOnAScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cfg Config
		st, c := onScreen(t, func(c *Config) { cfg = *c })
		c.say("typed k work", "takes k", "text half")
		synctest.Wait()
		state := t.TempDir()
		if err := os.CopyFS(state, os.DirFS(cfg.StateDir)); err != nil {
			t.Fatal(err)
		}
		m, err := Find(state, st.ID(), "")
		if err != nil || m.Face != adapters.FaceTerminal || m.Facts.NativeSession != "native-1" {
			t.Fatalf("metadata = %+v, %v; want face and native session", m, err)
		}
		next, tui := onScreen(t, func(c *Config) {
			c.ID, c.Dir, c.StateDir, c.Face = st.ID(), cfg.Dir, state, m.Face
			c.Options.Resume = m.Facts.NativeSession
		})
		if got := next.last(); !strings.Contains(got, "--resume=native-1") || !strings.HasSuffix(got, "--tui") {
			t.Errorf("command = %q, want the screen of native-1", got)
		}
		tui.say("typed k more", "takes k", "done completed")
		synctest.Wait()
		check(t, next.end(), "user:work", "turn-start", "agent:half", "turn-end:failed:host-stopped",
			"user:more", "turn-start", "turn-end:completed")
		st.end()
	})
}

// B156: two sessions that write to one native session garble it.
func TestNativeOpenedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cfg Config
		st, c := onScreen(t, func(c *Config) { cfg = *c })
		again := Config{
			Adapter: fakeTerminal{}, Dir: cfg.Dir, StateDir: cfg.StateDir, Options: adapters.Options{Resume: "native-1"},
			Start: cfg.Start, Resolve: cfg.Resolve,
		}
		_, err := Start(t.Context(), again)
		var open *NativeOpenError
		if !errors.As(err, &open) || open.Native != "native-1" || open.Session != st.ID() {
			t.Errorf("Start = %v, want a NativeOpenError that names %s", err, st.ID())
		}
		// A branch of it is another one.
		branch, b := opened(t, fakeTerminal{}, func(c *Config) { c.StateDir, c.Options.Fork = cfg.StateDir, "native-1" })
		// The agent goes there by itself: that cannot be kept from it, but is told.
		b.say("opened native-1")
		synctest.Wait()
		check(t, branch.end(), "service:notice:")
		// It has left, and a crash changes nothing.
		c.die(adapters.ExitStatus{Code: 1})
		synctest.Wait()
		if _, err := Start(t.Context(), again); !errors.As(err, &open) {
			t.Errorf("Start while the agent is down = %v, want a NativeOpenError", err)
		}
		st.mustSend(contract.Text{Text: "more"})
		c = st.next(c, "native-2") // a /clear, say
		c.want("prompt more")
		c.say("done completed")
		st.Idle(t.Context())
		third, _ := opened(t, fakeTerminal{}, func(c *Config) { c.StateDir, c.Options.Resume = cfg.StateDir, "native-1" })
		third.end()
		st.end()
		fourth, _ := opened(t, fakeTerminal{}, func(c *Config) { c.StateDir, c.Options.Resume = cfg.StateDir, "native-2" })
		fourth.end()
	})
}

// A session that is gone on with in another face has that one from when it is open: what
// comes to nothing, at whatever point, leaves the former one.
func TestOtherFaceFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeTerminal{}, nil)
		id, state, dir := st.ID(), st.cfg.StateDir, st.cfg.Dir
		_ = c
		st.end()
		on := func(face adapters.Face, start Starter) func(*Config) {
			return func(cfg *Config) {
				cfg.ID, cfg.StateDir, cfg.Dir, cfg.Face, cfg.Options.Resume = id, state, dir, face, "native-1"
				if start != nil {
					cfg.Start = start
				}
			}
		}
		want := func(when string, face adapters.Face) {
			t.Helper()
			if m, err := Find(state, id, ""); err != nil || m.Face != face {
				t.Errorf("%s: face on disk = %q, %v; want %q", when, m.Face, err, face)
			}
		}
		cfg := Config{
			Adapter: fakeTerminal{}, Resolve: func(command, _ string) (string, error) { return "/bin/" + command, nil },
		}
		on(adapters.FaceTerminal, func(context.Context, StartSpec) (Child, error) { return nil, errTaken })(&cfg)
		if _, err := Start(t.Context(), cfg); err == nil {
			t.Fatal("an agent that cannot be started was started")
		}
		want("no process", adapters.FaceHeadless)

		st, c = newStage(t, fakeTerminal{}, on(adapters.FaceTerminal, nil))
		if face, err := st.Face(t.Context()); err != nil || face != adapters.FaceTerminal {
			t.Errorf("while it opens Face = %q, %v", face, err)
		}
		want("opening", adapters.FaceHeadless)
		c.say("refused not logged in")
		<-st.Done()
		want("refused", adapters.FaceHeadless)

		st, _ = opened(t, fakeTerminal{}, on(adapters.FaceTerminal, nil))
		want("open", adapters.FaceTerminal)
		st.end()
		want("stopped", adapters.FaceTerminal)
	})
}
