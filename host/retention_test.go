package host

import (
	"os"
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
