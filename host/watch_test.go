package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/journal"
)

// watched collects what a watcher sees, until the session ends.
func watched(ctx context.Context, st *stage) <-chan []string {
	out := make(chan []string, 1)
	go func() {
		var seen []string
		for it, err := range st.Watch(ctx, 0) {
			switch {
			case err != nil:
				seen = append(seen, err.Error())
			case it.Delta != nil:
				seen = append(seen, "~"+it.Delta.Text)
			default:
				seen = append(seen, word(it.Envelope))
			}
		}
		out <- seen
	}()
	return out
}

func TestWatchPutsDeltasInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		seen := watched(t.Context(), st)
		synctest.Wait()
		st.mustSend(contract.Text{Text: "hi"})
		c.want("prompt hi")
		for i := range 3 {
			c.say(fmt.Sprintf("delta a%d", i), fmt.Sprintf("delta b%d", i), fmt.Sprintf("text t%d", i))
			synctest.Wait()
		}
		c.say("done completed")
		st.Idle(t.Context())
		st.end()
		want := []string{"user:hi", "turn-start", "~a0", "~b0", "agent:t0", "~a1", "~b1", "agent:t1", "~a2", "~b2", "agent:t2", "turn-end:completed"}
		if got := <-seen; !slices.Equal(got, want) {
			t.Errorf("saw %v, want %v", got, want)
		}
	})
}

// Whatever the timing, a watcher sees every envelope once and in order, and no
// delta behind the envelope that has its text.
func TestWatchLosesNoEnvelope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		var readers []<-chan []string
		for range 5 {
			readers = append(readers, watched(t.Context(), st))
		}
		st.mustSend(contract.Text{Text: "hi"})
		c.want("prompt hi")
		const n = 2000
		for i := range n {
			c.say(fmt.Sprintf("delta d%d", i), fmt.Sprintf("text d%d", i))
		}
		c.say("done completed")
		st.Idle(t.Context())
		want := st.end()
		for _, r := range readers {
			seen := <-r
			envelopes := slices.DeleteFunc(slices.Clone(seen), func(w string) bool { return strings.HasPrefix(w, "~") })
			if !slices.Equal(envelopes, want) {
				t.Errorf("a watcher saw %d envelopes, want %d", len(envelopes), len(want))
			}
			for i, w := range seen {
				if d, ok := strings.CutPrefix(w, "~"); ok && slices.Contains(seen[:i], "agent:"+d) {
					t.Errorf("delta %s came behind its envelope", d)
				}
			}
		}
	})
}

func TestWatchCanBeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st, c := opened(t, fakeAdapter{}, nil)
		st.mustSend(contract.Text{Text: "hi"})
		c.want("prompt hi")
		for range st.Watch(t.Context(), 0) {
			break
		}
		ctx, cancel := context.WithCancel(t.Context())
		seen := watched(ctx, st)
		synctest.Wait()
		cancel()
		<-seen
		st.end()
	})
}

// A watcher that comes late to its envelopes still gets the deltas behind them.
func TestWatchHoldsDeltas(t *testing.T) {
	records, deltas := make(chan Item, 8), make(chan Item, 8)
	for p := range 3 {
		records <- Item{Position: journal.Position(p)}
	}
	deltas <- Item{Position: 2, Delta: &Delta{Text: "a"}}
	deltas <- Item{Position: 3, Delta: &Delta{Text: "b"}}
	close(records)
	var seen []string
	m := merge{records: records, deltas: deltas, yield: func(it Item, _ error) bool {
		if it.Delta != nil {
			seen = append(seen, it.Delta.Text)
		} else {
			seen = append(seen, fmt.Sprint(it.Position))
		}
		return true
	}}
	m.run()
	want := []string{"0", "1", "a", "2", "b"}
	// The last delta may lose against the end of the records.
	if !slices.Equal(seen, want) && !slices.Equal(seen, want[:4]) {
		t.Errorf("saw %q, want %q", seen, want)
	}
}
