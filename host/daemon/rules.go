package daemon

import (
	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/host"
)

// RulesChanged has every session that runs here tell its agent what rules are about now;
// watched gives that for an agent's name. Sessions that are being started, and those that
// start later, are told as well. It returns at once.
func (d *Daemon) RulesChanged(watched func(agent string) []adapters.Use) {
	d.mu.Lock()
	d.watched = watched
	d.mu.Unlock()
	for _, e := range d.list() {
		if run := e.current(); run != nil {
			d.tellRules(run)
		}
	}
}

// tellRules tells a session what rules are about now. A start calls it when the session
// is one of those that RulesChanged finds: what it was prepared with may be older.
func (d *Daemon) tellRules(run *host.Session) {
	d.mu.Lock()
	changed := d.watched != nil
	d.mu.Unlock()
	if !changed {
		return
	}
	run.AskFirst(func(agent string) []adapters.Use {
		// As they are when the session takes it, so that the last to be told are the newest.
		d.mu.Lock()
		watched := d.watched
		d.mu.Unlock()
		return watched(agent)
	})
}
