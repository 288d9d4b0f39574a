package daemon

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/relay/wire"
)

// TestIdle: an agent that nobody needs is stopped; one with a viewer or a turn is
// not, and an uplink is no viewer.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *Config) { c.Limits.Idle = time.Minute })
		busy, watched, mirrored := w.start("hang"), w.start("one"), w.start("two")
		synctest.Wait()
		r := w.read(watched.ID, 0)
		ctx, cancel := context.WithCancel(Unattended(t.Context()))
		defer cancel()
		seq, err := w.Stream(ctx, mirrored.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for range seq { //nolint:revive // it reads all there is
			}
		}()
		state := func(id string) wire.State {
			s, err := w.Session(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			return s.State
		}
		time.Sleep(50 * time.Second)
		synctest.Wait()
		if got := state(mirrored.ID); got != wire.StateRunning {
			t.Errorf("before its time the agent is %s", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for id, want := range map[string]wire.State{busy.ID: wire.StateRunning, watched.ID: wire.StateRunning, mirrored.ID: wire.StateStopped} {
			if got := state(id); got != want {
				t.Errorf("the session is %s, want %s", got, want)
			}
		}
		r.want("user:one", "turn-start", "agent:one", "turn-end:completed")
	})
}
