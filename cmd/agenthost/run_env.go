package main

import (
	"strings"

	"github.com/agenthost/agenthost/adapters"
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
