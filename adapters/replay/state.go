package replay

import (
	"maps"
	"slices"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
)

// State is where a replay is.
type State struct {
	Asked  bool // Open was submitted
	Opened bool // and succeeded
	Busy   bool // a prompt has to wait
	Turn   bool // the Protocol's turn is open
	// Aborting says that the turn is being aborted.
	Aborting bool
	// Asks, Calls and Agents count what is open.
	Asks, Calls, Agents int
	Exited              bool
}

// State returns where the replay is.
func (p *Player) State() State {
	return State{
		Asked: p.openID != "", Opened: p.opened, Busy: p.busy(), Turn: p.drafts.turn, Aborting: p.aborting,
		Asks: len(p.asks), Calls: len(p.drafts.calls), Agents: len(p.drafts.agents), Exited: p.exited,
	}
}

// Asks are the Protocol's keys of the open asks, sorted.
func (p *Player) Asks() []string { return slices.Sorted(maps.Keys(p.asks)) }

// Capabilities are the Protocol's, as they are now.
func (p *Player) Capabilities() []session.Capability { return slices.Clone(p.proto.Capabilities()) }

// Calls are those until now. The caller does not change them.
func (p *Player) Calls() []Call { return p.calls }

// Envelopes are the stream until now. The caller does not change it.
func (p *Player) Envelopes() []contract.Envelope { return p.envs }
