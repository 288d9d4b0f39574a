package permission

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/contract"
)

// A deadline is a time from now on: setting the clock by hours neither brings it about
// nor puts it off.
func TestDeadlineAndClock(t *testing.T) {
	for _, jump := range []time.Duration{9 * time.Hour, -9 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var off atomic.Int64
			m := New(Options{Policy: rules(t, "timeout: 5m"), Now: func() time.Time { return time.Now().Add(time.Duration(off.Load())).Round(0) }})
			asked := mustOpen(t, m, bash("a", "ls"))
			off.Store(int64(jump))
			time.Sleep(5*time.Minute - 1)
			synctest.Wait()
			asked.none(t)
			later := mustOpen(t, m, bash("b", "ls"))
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if got := asked.one(t); got.Decision != contract.RejectOnce || got.By.Resolver != contract.ByTimeout {
				t.Errorf("the clock is set by %v: answer %+v, want reject-once by timeout", jump, got)
			}
			later.none(t)
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			later.one(t)
		})
	}
}
