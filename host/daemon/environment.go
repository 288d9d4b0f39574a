package daemon

import (
	"slices"

	"github.com/agenthost/agenthost/relay/wire"
)

// give gives the agent another environment from its next start on; nil gives none. Its
// values stay in memory: what is written, logged and told has its names at most.
func (e *entry) give(env *wire.Environment) {
	if env == nil {
		return
	}
	var names []string
	for _, v := range slices.Concat(env.Inherit, env.Set) {
		if v.Value != "" {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.rec.Env
	e.env, e.rec.Env = env, slices.Compact(names)
	if !slices.Equal(before, e.rec.Env) {
		e.saveLocked(false)
	}
}

// given is the environment that the agent was given, nil for none.
func (e *entry) given() *wire.Environment {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.env
}
