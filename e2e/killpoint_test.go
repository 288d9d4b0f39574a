package e2e

import (
	"path/filepath"

	"github.com/agenthost/agenthost/contract"
)

// Points of a turn at which agents are killed: each waits until the session is there.

// toolStarts: the tool of the turn has made the file "started".
func toolStarts(s *session) { waitForFile(s.t, filepath.Join(s.lab.Dir, "started")) }

// steerTaken: a message for the turn is in the stream, while its tool runs.
func steerTaken(s *session) {
	toolStarts(s)
	s.send(contract.Text{Text: "mind the steer", Steer: true})
	s.next("steer", func(e contract.Envelope) bool { ev, ok := e.Event.(contract.Text); return ok && ev.Steer })
}

// retryTold: the agent has said that it tries the model again.
func retryTold(s *session) {
	wait(s, func(ev contract.Service) bool { return ev.Kind == contract.ServiceRetry })
}

// modelAsked: the model was asked n times.
func modelAsked(n int) func(*session) {
	return func(s *session) {
		deadline(s.t, "the model is asked", func() bool { return len(s.lab.Model.Played()) >= n })
	}
}
