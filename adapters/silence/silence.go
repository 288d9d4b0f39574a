// Package silence tells people that a busy agent has said nothing for long: it may be
// retrying, or hang, and only a person can decide whether to wait.
//
// # Guarantees
//
//   - Three notices at most for each silence: after the limit, five and fifteen times of
//     it. While a tool runs each comes five times as late: many agents say nothing of
//     a tool before its end.
//   - A sign of life begins anew.
//
// # Non-goals
//
// It ends nothing: what retries may come back. Whether the agent is busy, and what is
// a sign of life, is the adapter's to know. While a person is asked, the agent is not
// busy.
//
// # Testing
//
// go test ./adapters/silence; the adapters' own tests play a silence.
package silence

import (
	"fmt"
	"time"
)

// Setting is the name of the limit in Options.Settings.
const Setting = "stall"

// Watch is the silence of one agent. Its zero value never tells.
type Watch struct {
	limit time.Duration
	since time.Time
	told  int
}

// New watches with a limit; 0 is never.
func New(limit time.Duration) Watch { return Watch{limit: limit} }

// Parse reads the value of Setting: a duration as Go writes it, 0 for never.
func Parse(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("setting %q: want a duration like 1m, or 0s for never, got %q", Setting, v)
	}
	return d, nil
}

// Heard notes a sign of life, or that the agent was given something to do.
func (w *Watch) Heard(now time.Time) { w.since, w.told = now, 0 }

// At is when to tell of a busy agent, zero for never. tool says that it runs one.
func (w *Watch) At(tool bool) time.Time {
	factors := []time.Duration{1, 5, 15}
	if w.limit == 0 || w.since.IsZero() || w.told >= len(factors) {
		return time.Time{}
	}
	wait := w.limit * factors[w.told]
	if tool {
		wait *= 5
	}
	return w.since.Add(wait)
}

// Notice is what to tell of a busy agent now, empty for nothing. It counts as told.
func (w *Watch) Notice(now time.Time, agent string, tool bool) string {
	if at := w.At(tool); at.IsZero() || at.After(now) {
		return ""
	}
	w.told++
	why := "It may be retrying a request to its model, or hang"
	if tool {
		why = "A tool may be running, or it hangs"
	}
	return fmt.Sprintf("No word from %s for %v. %s; you can stop the turn.", agent, now.Sub(w.since).Round(time.Second), why)
}
