package daemon

import "github.com/agenthost/agenthost/adapters"

// RulesChanged has every session that runs here tell its agent what rules are about now;
// watched gives that for an agent's name. It returns at once.
func (d *Daemon) RulesChanged(watched func(agent string) []adapters.Use) {
	for _, e := range d.list() {
		if run := e.current(); run != nil {
			run.AskFirst(watched)
		}
	}
}
