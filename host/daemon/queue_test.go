package daemon

import (
	"slices"
	"testing"

	"github.com/agenthost/agenthost/client"
	"github.com/agenthost/agenthost/relay/wire"
)

// TestQueuedByOneWhoLeft: what a client sent during a turn is the daemon's to do, though
// the client is gone before the turn ends (B082); TestCrash has it survive the daemon.
func TestQueuedByOneWhoLeft(t *testing.T) {
	w := newWorld(t, nil)
	socket, _ := w.serve()
	s := w.start("hang")
	w.until(s.ID, func(s wire.Session) bool { return s.End == 3 })
	c, err := client.Dial(t.Context(), "unix://"+socket, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Send(t.Context(), wire.SendParams{Session: s.ID, Text: "queued"}); err != nil {
		t.Fatal(err)
	}
	c.Close()
	must[wire.SentResult](w, wire.SessionAbort, wire.AbortParams{Session: s.ID})
	w.until(s.ID, func(s wire.Session) bool { return s.Usage != nil })
	w.until(s.ID, idle)
	if got := w.words(s.ID); !slices.Contains(got, "agent:queued") {
		t.Errorf("what was queued was not done: %q", got)
	}
}
