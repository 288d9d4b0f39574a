package host

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/proc"
	"github.com/agenthost/agenthost/journal"
)

// An agent whose input is closed is on its way out: that is no new trouble to
// tell anybody of. One that does not read is.
func TestWriteErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want []string
	}{
		{proc.ErrInputClosed, []string{"user:work", "turn-start", "turn-end:completed"}},
		{proc.ErrInputFull, []string{"user:work", "service:error:timeout", "turn-start", "turn-end:failed:agent-exited"}},
	} {
		t.Run(c.err.Error(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st, child := opened(t, fakeAdapter{lazyTurn: true}, nil)
				child.full = c.err
				st.mustSend(contract.Text{Text: "work"})
				synctest.Wait()
				if errors.Is(c.err, proc.ErrInputClosed) {
					child.say("turn", "done completed")
				}
				st.Idle(t.Context())
				check(t, st.end(), c.want...)
			})
		})
	}
}

// Prompts that wait for an agent that is not started again have their answer, and
// whoever waits for them does not wait for ever.
func TestIdleWhenRestartsAreUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, child := opened(t, fakeAdapter{}, func(c *Config) { c.Limits.Restarts = -1 })
		st.mustSend(contract.Text{Text: "one"})
		child.want("prompt one")
		st.mustSend(contract.Text{Text: "two"})
		idle := make(chan error, 1)
		go func() { idle <- st.Idle(t.Context()) }()
		synctest.Wait()
		child.die(adapters.ExitStatus{Code: 3})
		if err := <-idle; err != nil {
			t.Errorf("Idle = %v, want nil", err)
		}
		check(t, st.end(), "user:one", "turn-start", "user:two", "turn-end:failed:agent-exited",
			"turn-start", "turn-end:failed:agent-exited")
	})
}

// A configuration that the agent does not answer holds up no abort, and prompts
// behind it wait for its outcome.
func TestAbortOvertakesConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, child := opened(t, fakeAdapter{}, nil)
		st.mustSend(contract.Text{Text: "one"})
		child.want("prompt one")
		input := Input{Envelope: contract.Envelope{Role: contract.RoleUser, Event: contract.AgentConfigurationChanged{Model: "big"}}}
		wait, err := st.Begin(t.Context(), input)
		if err != nil {
			t.Fatal(err)
		}
		st.mustSend(contract.Text{Text: "two"})
		st.mustSend(contract.Abort{})
		id := strings.Fields(child.want("configure"))[1]
		child.want("abort")
		child.say("done cancelled")
		synctest.Wait()
		child.silent()
		child.say("configured " + id)
		if err := wait(t.Context()); err != nil {
			t.Error(err)
		}
		child.want("prompt two")
		child.say("done completed")
		st.Idle(t.Context())
		// One whose agent goes away is answered too, and holds nothing up then.
		if wait, err = st.Begin(t.Context(), input); err != nil {
			t.Fatal(err)
		}
		child.want("configure")
		st.mustSend(contract.Text{Text: "three"})
		child.die(adapters.ExitStatus{Code: 1})
		if err := wait(t.Context()); err == nil {
			t.Error("wait = nil for an agent that is gone, want an error")
		}
		next := <-st.children
		next.want("open")
		next.say("opened native-1")
		next.want("prompt three")
		next.say("done completed")
		st.Idle(t.Context())
		check(t, st.end(), "user:one", "turn-start", "user:two", "abort", "turn-end:cancelled",
			"turn-start", "turn-end:completed", "user:three", "service:reconnect:", "turn-start", "turn-end:completed")
	})
}

// Kill waits for nobody: no abort, no grace.
func TestKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, child := opened(t, fakeAdapter{}, nil)
		child.stubborn = true
		st.mustSend(contract.Text{Text: "work"})
		child.want("prompt")
		begin := time.Now()
		go st.Stop(t.Context())
		child.want("abort")
		st.Kill()
		<-st.Done()
		if took := time.Since(begin); took > 0 {
			t.Errorf("it took %v, want no time", took)
		}
		check(t, st.stream(), "user:work", "turn-start", "turn-end:cancelled")
	})
}

// A session whose journal fails says so at its end: what its stream lacks must
// not pass for a session that ended well.
func TestErrOfABrokenJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, child := opened(t, fakeAdapter{}, nil)
		if err := st.Err(); err != nil {
			t.Errorf("Err = %v while it runs, want nil", err)
		}
		st.mustSend(contract.Text{Text: "work"})
		child.want("prompt")
		st.Journal().Close()
		child.say("text lost")
		<-st.Done()
		if err := st.Err(); !errors.Is(err, journal.ErrClosed) {
			t.Errorf("Err = %v, want %v", err, journal.ErrClosed)
		}
	})
}

// A damaged journal is gone on with, and the damage is told once, however often
// it is met.
func TestDamagedJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cfg Config
		st, child := opened(t, fakeAdapter{}, func(c *Config) { cfg = *c })
		cfg.ID = st.ID()
		st.mustSend(contract.Text{Text: "work"})
		child.want("prompt")
		child.say("text one", "text two", "done completed")
		st.Idle(t.Context())
		st.end()
		file := filepath.Join(SessionDir(cfg.StateDir, cfg.ID), "journal", "00000000000000000000.ndjson")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, bytes.Replace(data, []byte(`"text":"one"`), []byte(`"text":"one`), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		st2, _ := opened(t, fakeAdapter{}, func(c *Config) {
			c.ID, c.Dir, c.StateDir = cfg.ID, cfg.Dir, cfg.StateDir
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		check(t, st2.end(), "user:work", "turn-start", "agent:two", "turn-end:completed")
		if n := strings.Count(log.String(), "the journal is damaged"); n != 1 || !strings.Contains(log.String(), "position=2") {
			t.Errorf("log = %s\nwant the damage at position 2 told once, got it %d times", log.String(), n)
		}
	})
}

// A session that is there and cannot be read is not taken for an id of the agent's.
func TestFindUnreadable(t *testing.T) {
	const id = "tz4a98xxat96iws9zmbrgj3a"
	for name, content := range map[string]string{
		"garbage":    "garbage",
		"other id":   `{"id":"../../../../elsewhere","agent":"fake"}`,
		"no content": "",
	} {
		dir := t.TempDir()
		if err := os.MkdirAll(SessionDir(dir, id), 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(SessionDir(dir, id), metaFile)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Find(dir, id, ""); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: Find = %v, want an error that names %s", name, err, path)
		}
		for _, ref := range []string{"last", "../../../../elsewhere"} {
			if m, err := Find(dir, ref, ""); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: Find(%q) = %+v, %v; want none", name, ref, m, err)
			}
		}
	}
	if _, err := Find(t.TempDir(), id, ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Find = %v, want not found", err)
	}
}
