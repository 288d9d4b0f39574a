package replay

import (
	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
)

// A session's agent may be started again: its transcript goes on behind the exit.

// anew reports whether r, which follows an exit, belongs to another child.
// Recordings without runs have only its Open.
func (p *Player) anew(r transcript.Record) bool {
	switch r.Dir {
	case transcript.Run:
		return true
	case transcript.Cmd:
		c, err := r.Command()
		if _, open := c.(adapters.Open); err == nil && open {
			p.start(p.info)
			return true
		}
	}
	return false
}

// run begins another child.
func (p *Player) run(r transcript.Record) {
	info, err := r.Run()
	if err != nil {
		p.fault("%v", err)
		return
	}
	if !p.exited {
		p.fault("a child begins before the one before has ended")
		p.Exit(adapters.ExitStatus{Requested: true})
	}
	p.start(info)
}

// start makes the Protocol of another child. The stream and its ids go on.
func (p *Player) start(info adapters.SessionInfo) {
	p.proto, p.drafts = Protocol(p.adapter, info), newDrafts(info.Face)
	p.exited, p.opened, p.openID, p.aborting = false, false, "", false
	p.sent, p.queue = nil, nil
	clear(p.asks)
}
