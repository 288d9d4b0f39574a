package adaptertest

import (
	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/replay"
)

// Terminal is a as an Adapter of its terminal face alone, for a Suite: recordings of
// that face are played into its terminal Protocol.
func Terminal(a adapters.TerminalAdapter) adapters.Adapter { return terminalFace{a} }

type terminalFace struct{ adapters.TerminalAdapter }

func (t terminalFace) Describe() adapters.Description { return t.DescribeTerminal() }

func (t terminalFace) Launch(r adapters.LaunchRequest) (adapters.Launch, error) {
	return t.LaunchTerminal(replay.TerminalRequest(r))
}
