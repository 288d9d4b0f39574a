// Package childenv builds the environment of an agent from that of the host.
//
// An agent gets what is on an allow-list and nothing else: the host's
// environment holds tokens that are none of its business, and the marks of a
// session it may itself run in, which make agents refuse to start ("cannot be
// launched inside another session").
//
// Everything is a pure function of its arguments, and safe for concurrent use.
// The package knows the operating system's variables and the marks that agents
// leave; what an agent needs beyond that, its adapter says with globs.
//
// Test with: go test ./internal/childenv (tables only, nothing is started).
package childenv

import (
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
)

// Request says what an agent's environment is made of. The layers are applied in
// the order of the fields; a later one wins.
type Request struct {
	// Host is the host's environment as KEY=value, normally os.Environ().
	Host []string
	// Pass are globs (path.Match, so * ? [a-z]) over names that the adapter and
	// the user (--pass-env) let through from Host, beside the allow-list. A
	// session mark is passed only by its exact name, never by a pattern.
	Pass []string
	// Set are KEY=value entries of the adapter and the user (--env), the last of
	// a name wins. A session mark may be set: whoever writes it means it. An
	// entry without "=" takes the variable away.
	Set []string
}

// Build returns the environment, sorted by name, each name once. The error names
// the entry of Pass or Set that is malformed; entries of Host that are (Windows
// has "=C:=C:\dir") are left out.
func Build(r Request) ([]string, error) {
	for _, pattern := range r.Pass {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fmt.Errorf("variables to pass: want a glob, got %q", pattern)
		}
	}
	vars := make(variables)
	for _, entry := range r.Host {
		name, value, ok := strings.Cut(entry, "=")
		if ok && name != "" && passes(name, r.Pass) {
			vars.set(name, value)
		}
	}
	for _, entry := range r.Set {
		name, value, ok := strings.Cut(entry, "=")
		switch {
		case name == "" || strings.ContainsRune(entry, 0):
			return nil, fmt.Errorf("variable to set: want NAME=value, got %q", entry)
		case ok:
			vars.set(name, value)
		default:
			vars.unset(name)
		}
	}
	exemptLoopback(vars)
	return vars.entries(), nil
}

// Inherited are the entries of a host's environment that Build lets through with these
// globs, and those whose names are among reads.
func Inherited(host, pass, reads []string) []string {
	var through []string
	for _, entry := range host {
		name, _, ok := strings.Cut(entry, "=")
		if ok && name != "" && (passes(name, pass) || slices.Contains(reads, name)) {
			through = append(through, entry)
		}
	}
	return through
}

// Surroundings reports whether a variable says merely who and where one is and how text
// looks, so that its absence is no news.
func Surroundings(name string) bool { return matches(name, surroundings()) }

// Get returns the value of a variable in an environment, and whether it is there.
// The last entry of a name wins, as it does for the C library's heirs.
func Get(env []string, name string) (string, bool) {
	for _, entry := range slices.Backward(env) {
		if key, value, ok := strings.Cut(entry, "="); ok && fold(key) == fold(name) {
			return value, true
		}
	}
	return "", false
}

// With returns a copy of env in which the variable has the value.
func With(env []string, name, value string) []string {
	changed := slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		key, _, _ := strings.Cut(entry, "=")
		return fold(key) == fold(name)
	})
	return append(changed, name+"="+value)
}

// passes reports whether a variable of the host reaches the agent.
func passes(name string, pass []string) bool {
	if slices.Contains(pass, name) {
		return true
	}
	if Mark(name) {
		return false
	}
	return matches(name, allowed()) || matches(name, pass)
}

// matches reports whether one of the patterns matches the name. They are known
// to be well-formed.
func matches(name string, patterns []string) bool {
	for _, pattern := range patterns {
		if ok, _ := path.Match(fold(pattern), fold(name)); ok {
			return true
		}
	}
	return false
}

// fold makes names comparable: Windows ignores their case, nobody else does.
func fold(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// variables maps folded names to entries.
type variables map[string]entry

type entry struct{ name, value string }

func (v variables) set(name, value string) { v[fold(name)] = entry{name, value} }
func (v variables) unset(name string)      { delete(v, fold(name)) }
func (v variables) get(name string) string { return v[fold(name)].value }
func (v variables) entries() (env []string) {
	for _, e := range v {
		env = append(env, e.name+"="+e.value)
	}
	slices.Sort(env)
	return env
}
