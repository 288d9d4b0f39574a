package host

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/contract"
)

func TestPrune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := t.TempDir()
		session := func() *stage {
			st, c := opened(t, fakeAdapter{}, func(c *Config) { c.StateDir = state })
			st.mustSend(contract.Text{Text: "hi"})
			c.want("prompt hi")
			c.say("done completed")
			st.Idle(t.Context())
			return st
		}
		old := session()
		old.end()
		running := session()
		time.Sleep(48 * time.Hour) // the bubble's clock
		fresh := session()
		fresh.end()
		removed, err := Prune(state, time.Now().Add(-24*time.Hour))
		if err != nil || !slices.Equal(removed, []string{old.ID()}) {
			t.Errorf("Prune = %v, %v; want %v", removed, err, old.ID())
		}
		if _, err := os.Stat(SessionDir(state, old.ID())); err == nil {
			t.Error("the old session is still there")
		}
		running.end()
	})
}

// ended makes a session that is over.
func ended(t *testing.T, state string) *stage {
	t.Helper()
	st, c := opened(t, fakeAdapter{}, func(c *Config) { c.StateDir = state })
	st.mustSend(contract.Text{Text: "hi"})
	c.want("prompt hi")
	c.say("done completed")
	st.Idle(t.Context())
	st.end()
	return st
}

// Who goes on with a session while it is being removed does not lose what it
// writes.
func TestPruneTakesNothingOfANewSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := t.TempDir()
		old := ended(t, state)
		var next *stage
		gone, err := prune(state, old.ID(), time.Now().Add(time.Hour), func(dir string) error {
			next, _ = opened(t, fakeAdapter{}, func(c *Config) { c.StateDir, c.ID = state, old.ID() })
			return os.RemoveAll(dir)
		})
		if !gone || err != nil {
			t.Fatalf("prune = %t, %v; want true", gone, err)
		}
		next.end()
		if m, err := readMeta(state, old.ID()); err != nil || m.Facts.NativeSession == "" {
			t.Errorf("the new session's metadata are %+v, %v", m, err)
		}
		if left, _ := filepath.Glob(filepath.Join(state, "sessions", removedPrefix+"*")); left != nil {
			t.Errorf("%q is left", left)
		}
	})
}

// One that was gone on with after it was listed is not old any more.
func TestPruneLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := t.TempDir()
		s := ended(t, state)
		gone, err := prune(state, s.ID(), time.Now().Add(-time.Hour), os.RemoveAll)
		if gone || err != nil {
			t.Errorf("prune of a fresh session = %t, %v; want false", gone, err)
		}
		if _, err := readMeta(state, s.ID()); err != nil {
			t.Error(err)
		}
	})
}

func TestPruneFinishesWhatItCouldNotRemove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := t.TempDir()
		s := ended(t, state)
		full := errors.New("no")
		if gone, err := prune(state, s.ID(), time.Now().Add(time.Hour), func(string) error { return full }); !gone || !errors.Is(err, full) {
			t.Fatalf("prune = %t, %v; want true and the error", gone, err)
		}
		if all, err := List(state); len(all) > 0 || err != nil {
			t.Errorf("List = %v, %v; want none", all, err)
		}
		if _, err := Prune(state, time.Now()); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(filepath.Join(state, "sessions")); len(left) > 0 || err != nil {
			t.Errorf("left are %v, %v; want nothing", left, err)
		}
	})
}
