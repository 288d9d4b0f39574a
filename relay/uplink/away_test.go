package uplink_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agenthost/agenthost/relay/uplink"
)

// A relay that is away for long: the host says each hour how much its own disk keeps for
// it, tries again all the time, and asks no more often than the back-off says.
func TestAwayForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newFakeHost()
		h.add("s", numbered(0, 5)...)
		h.add("other", numbered(0, 2)...)
		var log strings.Builder
		tries := 0
		u, err := uplink.New(uplink.Options{
			URL: "ws://relay.example", Source: h, StateDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Token: func() (string, error) { tries++; return "", errors.New("nobody is there") }, // asked at each connect
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour+30*time.Minute)
		defer cancel()
		if err := u.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run = %v", err)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 2 || strings.Count(log.String(), "envelopes=7") != 2 {
			t.Errorf("it warned %d times in two hours and a half, want 2 of 7 envelopes:\n%.2000s", n, log.String())
		}
		if s := u.Status(); s.Connected || s.Waiting != 7 {
			t.Errorf("the status is %+v", s)
		}
		if tries < 150 || tries > 2000 {
			t.Errorf("it tried %d times", tries)
		}
	})
}
