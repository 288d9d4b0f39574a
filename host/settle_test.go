package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/journal"
	"github.com/nrednav/cuid2"
)

// TestSettle: what a crash left open is ended without an agent, once, and what is
// added stands behind it, once.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		st.mustSend(contract.Text{Text: "work"})
		c.want("prompt work")
		c.say("start a", "text half")
		synctest.Wait()
		stored := Stored{StateDir: st.cfg.StateDir, ID: st.ID()}
		if _, err := Settle(stored); !errors.Is(err, journal.ErrLocked) {
			t.Errorf("Settle of a session that runs = %v, want ErrLocked", err)
		}
		// As a crash leaves it: the journal up to here, and nobody writes on.
		crashed := Stored{StateDir: t.TempDir(), ID: st.ID()}
		if err := os.CopyFS(SessionDir(crashed.StateDir, st.ID()), os.DirFS(st.dir)); err != nil {
			t.Fatal(err)
		}
		took := contract.Envelope{ID: cuid2.Generate(), Event: contract.SessionControlChanged{ClientType: contract.ClientPhone}}
		for range 2 {
			if _, err := Settle(crashed, took); err != nil {
				t.Fatal(err)
			}
		}
		r, err := journal.OpenReader(filepath.Join(SessionDir(crashed.StateDir, st.ID()), "journal"), nil)
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for rec, err := range r.Read(0, 1<<30) {
			if err != nil {
				t.Fatal(err)
			}
			words = append(words, word(rec.Envelope))
		}
		check(t, words, "user:work", "turn-start", "start:a", "agent:half", "end:a:error", "turn-end:failed:host-stopped", "session-control-changed")
		c.die(adapters.ExitStatus{})
		st.end()
	})
}

// TestRemove: a session goes when it does not run, and only then.
func TestRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, _ := opened(t, fakeAdapter{}, nil)
		if err := Remove(st.cfg.StateDir, st.ID()); !errors.Is(err, journal.ErrLocked) {
			t.Errorf("Remove of a session that runs = %v, want ErrLocked", err)
		}
		st.end()
		for range 2 {
			if err := Remove(st.cfg.StateDir, st.ID()); err != nil {
				t.Errorf("Remove = %v", err)
			}
		}
		if _, err := os.Stat(st.dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the directory is still there: %v", err)
		}
		if _, err := Settle(Stored{StateDir: st.cfg.StateDir, ID: st.ID()}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Settle of a session that is gone = %v, want not exist", err)
		}
	})
}

// TestStatus: Changed is called for what Status tells, and only then.
func TestStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := 0
		st, c := opened(t, fakeAdapter{}, func(cfg *Config) { cfg.Changed = func() { changes++ } })
		synctest.Wait()
		before := changes
		got, err := st.Status(t.Context())
		if err != nil || got.Phase != PhaseReady || got.Turn != "" || got.Meta.Facts.NativeSession != "native-1" {
			t.Errorf("Status() = %+v, %v; want it ready", got, err)
		}
		synctest.Wait()
		if changes != before {
			t.Errorf("asking for the status counted as a change")
		}
		st.mustSend(contract.Text{Text: "one"})
		st.mustSend(contract.Text{Text: "two"})
		c.want("prompt one")
		if got, _ := st.Status(t.Context()); got.Turn == "" || got.Queued != 1 {
			t.Errorf("Status() = %+v, want a turn and one prompt that waits", got)
		}
		if changes == before {
			t.Error("a turn is no change")
		}
		c.say("done completed")
		c.want("prompt two")
		c.say("done completed")
		st.end()
		if _, err := st.Status(t.Context()); !errors.Is(err, ErrOver) {
			t.Errorf("Status of a session that is over = %v, want ErrOver", err)
		}
	})
}
