package adaptertest

import (
	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/replay"
	"github.com/agenthost/agenthost/adapters/transcript"
)

// What a test of an adapter needs of package replay.
type (
	Wire     = replay.Wire
	ACPModes = replay.ACPModes
	Call     = replay.Call
	Replayed = replay.Result
)

// ACP is replay.ACP.
func ACP(modes ACPModes) Wire { return replay.ACP(modes) }

// Claude is replay.Claude.
func Claude() Wire { return replay.Claude() }

// Codex is replay.Codex.
func Codex() Wire { return replay.Codex() }

// Play replays one transcript as Golden does, for an adapter's own tests.
func Play(s Suite, f transcript.File) Replayed { return replay.Play(s.config(), f) }

func (s Suite) config() replay.Config {
	c := replay.Config{Adapter: s.Adapter, Wire: s.Wire, Options: s.Options}
	if _, ok := s.Adapter.(terminalFace); ok {
		c.Face = adapters.FaceTerminal
	}
	return c
}

// played replays a whole recording with hooks.
func played(s Suite, rec recording, hooks replay.Hooks) replay.Result {
	c := s.config()
	c.Hooks = hooks
	return replay.Play(c, rec.File)
}

// opened starts a replay of a recording.
func opened(s Suite, rec recording) *replay.Player {
	p := replay.New(s.config(), rec.File)
	p.Open()
	return p
}

// upTo plays the first n records.
func upTo(s Suite, rec recording, n int) *replay.Player {
	p := opened(s, rec)
	for range n {
		p.Next()
	}
	return p
}
