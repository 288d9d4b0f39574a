//go:build unix

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/wire"
)

// A run whose session somebody removes says so and fails, whether that was before it began
// to look or while it did.
func TestRemoved(t *testing.T) {
	l := atDaemon(t)
	for name, meanwhile := range map[string]bool{"before": false, "meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			s, err := l.Spawn(t.Context(), wire.SpawnParams{Agent: "fake", Dir: "/"})
			if err != nil {
				t.Fatal(err)
			}
			remove := func() {
				if err := l.Remove(t.Context(), s.ID); err != nil {
					t.Error(err)
				}
			}
			var out, screen pad
			r := &remoteRun{
				viewing: &viewing{st: &streams{in: strings.NewReader(""), out: &out, err: &screen}, link: l, session: s, form: "text", profile: contract.ProfileExtended},
				flags:   &runFlags{from: -1}, pace: newPace(false),
			}
			done := make(chan error, 1)
			if !meanwhile {
				remove()
			}
			go func() { done <- r.run(t.Context(), "", false) }()
			if meanwhile {
				if _, err := l.Send(t.Context(), wire.SendParams{Session: s.ID, Text: "hello there"}); err != nil {
					t.Fatal(err)
				}
				out.wait(t, "hello there", 1)
				remove()
			}
			err = <-done
			var p *problem
			if !errors.As(err, &p) || p.code != exitFailed || p.what != "session "+s.ID+" was removed" {
				t.Errorf("the run gave %v, want that session %s was removed", err, s.ID)
			}
			if text := screen.String(); strings.Contains(text, "ending the session's agent") {
				t.Errorf("it tells of an agent that it does not end: %s", text)
			}
		})
	}
}
