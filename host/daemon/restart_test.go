package daemon

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/relay/wire"
)

// started is how many agents were started.
func (w *world) started() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.children)
}

// kill ends the newest agent's process.
func (w *world) kill() {
	w.mu.Lock()
	c := w.children[len(w.children)-1]
	w.mu.Unlock()
	c.die(adapters.ExitStatus{Signal: "SIGKILL"})
	synctest.Wait()
}

// TestRestart: an agent that dies is started again by itself, later each time, and
// not for ever; a turn that ends well begins anew, and a person's stop counts.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *Config) { c.Restart = true })
		s := w.start("one")
		synctest.Wait()
		state := func() wire.State {
			s, err := w.Session(t.Context(), s.ID)
			if err != nil {
				t.Fatal(err)
			}
			return s.State
		}
		for n := range restartTries {
			w.kill()
			if got := state(); got != wire.StateRestarting {
				t.Fatalf("after death %d the session is %s", n+1, got)
			}
			time.Sleep(restartWait(n) - time.Millisecond)
			synctest.Wait()
			if got := w.started(); got != n+1 {
				t.Fatalf("before its time agent %d was started", got)
			}
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			if got := w.started(); got != n+2 || state() != wire.StateRunning {
				t.Fatalf("after death %d: %d agents were started, the session is %s", n+1, got, state())
			}
		}
		w.kill()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := state(); got != wire.StateStopped || w.started() != restartTries+1 {
			t.Fatalf("after too many deaths the session is %s, agents %d", got, w.started())
		}
		w.send(s.ID, "goes on") // and with it the count begins anew
		synctest.Wait()
		before := w.started()
		w.kill()
		time.Sleep(restartFirst + time.Millisecond)
		synctest.Wait()
		if got := w.started(); got != before+1 {
			t.Errorf("after a turn that ended well the wait is longer than at first")
		}
		w.kill()
		must[wire.SessionResult](w, wire.SessionStop, wire.StopParams{Session: s.ID})
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := state(); got != wire.StateStopped || w.started() != before+1 {
			t.Errorf("a stopped session is %s, %d agents were started", got, w.started())
		}
	})
}
