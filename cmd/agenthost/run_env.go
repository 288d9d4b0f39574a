package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/host/daemon"
	"github.com/agenthost/agenthost/internal/childenv"
	"github.com/agenthost/agenthost/relay/wire"
)

// environment reads the values of --env. What it refuses it names without the
// value, which may be a secret.
func environment(flags []string) ([]adapters.Pair, error) {
	var set []adapters.Pair
	for _, kv := range flags {
		name, value, ok := strings.Cut(kv, "=")
		if !ok {
			return nil, usage("write it as --env NAME=value", "--env: want NAME=value, got no =")
		}
		if !variableName(name) {
			return nil, usage("write it as --env NAME=value", "--env: want a name of printable ASCII without spaces that begins with no digit, got %q", name)
		}
		set = append(set, adapters.Pair{Name: name, Value: value})
	}
	return set, nil
}

// variableName reports whether a program can be given a variable of that name:
// more than a shell takes (npm has dots and hyphens), and nothing that would break
// a line.
func variableName(name string) bool {
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		return false
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] >= 0x7f {
			return false
		}
	}
	return true
}

// shellEnvironment is what the daemon needs of this process's environment to start the
// agent as this process would.
func shellEnvironment(cfg configuration, req runRequest) (*wire.Environment, error) {
	hc, err := agentConfig(cfg, req)
	if err != nil {
		return nil, err
	}
	set, err := environment(req.flags.env)
	if err != nil {
		return nil, err
	}
	env := &wire.Environment{Pass: req.flags.passEnv}
	for _, entry := range host.Inherited(hc) {
		name, value, _ := strings.Cut(entry, "=")
		env.Inherit = append(env.Inherit, wire.Variable{Name: name, Value: value})
	}
	for _, p := range set {
		env.Set = append(env.Set, wire.Variable{Name: p.Name, Value: p.Value})
	}
	for _, v := range slices.Concat(env.Inherit, env.Set) {
		if !utf8.ValidString(v.Value) {
			return nil, usage("set it to another value, unset it, or run with --local",
				"environment: want values in UTF-8 for the daemon's agents, got another one in %s", v.Name)
		}
	}
	return env, nil
}

// inherits gives a session of the daemon the environment that it is started from: the one
// that it was given, else the daemon's. set is set in it, behind the config's.
func inherits(hc *host.Config, env *wire.Environment) (set []adapters.Pair) {
	hc.Environ = environ()
	if env == nil {
		return nil
	}
	hc.Environ, hc.PassEnv = nil, slices.Clone(env.Pass)
	for _, v := range env.Inherit {
		hc.Environ = append(hc.Environ, v.Name+"="+v.Value)
	}
	for _, v := range env.Set {
		set = append(set, adapters.Pair{Name: v.Name, Value: v.Value})
	}
	return set
}

// lost says which variables the agent does not have any more, now that the daemon that was
// given them is gone; nothing when it has all.
func lost(hc *host.Config, r daemon.Request) []string {
	var names []string
	for _, name := range r.Lost {
		value, _ := childenv.Get(hc.Environ, name)
		set := slices.ContainsFunc(hc.Env, func(p adapters.Pair) bool { return p.Name == name })
		if value == "" && !set && !childenv.Surroundings(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("The host was started again and has lost the environment that this session was begun with. "+
		"The agent has the host's own, without %s; agenthost run --resume %s gives it that of a shell again.", strings.Join(names, ", "), r.ID)}
}
