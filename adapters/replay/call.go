package replay

import (
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
)

// Call is one call of a Protocol and what came of it.
type Call struct {
	// T is milliseconds since the start, Record the index of the transcript's
	// record that caused it, -1 for none.
	T      int64
	Record int
	// On is the direction of the record that would hold the call's input.
	On      transcript.Dir
	Command adapters.Command // for Cmd
	Frame   adapters.Frame   // for frames
	Step    adapters.Step
	Err     error
}

// Says reports whether the call's Step says anything.
func (c Call) Says() bool { return !emptyStep(c.Step) }

func emptyStep(s adapters.Step) bool {
	return len(s.Withdraw) == 0 && len(s.Emit) == 0 && len(s.Live) == 0 && s.Facts == nil && len(s.Write) == 0 &&
		len(s.Effects) == 0 && len(s.Done) == 0 && s.WakeAt.IsZero() && s.Stop == ""
}

// Result is what a replay gave.
type Result struct {
	// Start is the time of t = 0.
	Start time.Time
	// Info is what the Protocol was made with.
	Info      adapters.SessionInfo
	Calls     []Call
	Envelopes []contract.Envelope
	// Faults are what the Protocol did wrong, Notes what of the recording could
	// not be matched.
	Faults, Notes []string
}

// Play replays one transcript from its start to its end.
func Play(c Config, f transcript.File) Result {
	p := New(c, f)
	p.Open()
	for p.Next() {
	}
	return p.Close()
}
