package wire

import (
	"fmt"
	"path"
	"strings"
)

// Environment is what an agent's environment is made of, in place of what the host that
// starts it has. Values may be secrets: it is taken over the daemon's own socket alone, it
// is kept in the daemon's memory alone, and nothing that the wire tells has it. As text it
// is its names.
type Environment struct {
	// Inherit takes the place of the host's own environment. What of that reaches an
	// agent its adapter says, here as there.
	Inherit []Variable `json:"inherit,omitempty"`
	// Pass are globs of variables of Inherit that reach it, too.
	Pass []string `json:"pass,omitempty"`
	// Set is set in what reaches it.
	Set []Variable `json:"set,omitempty"`
}

// Variable is a variable of an environment.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// EnvironmentBytes is how long the names, globs and values of an Environment may be
// together.
const EnvironmentBytes = 256 << 10

// Check refuses what no program can be given, without saying a value.
func (e *Environment) Check() error {
	if e == nil {
		return nil
	}
	size := 0
	for _, list := range [][]Variable{e.Inherit, e.Set} {
		for _, v := range list {
			if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") {
				return Errorf(CodeInvalid, "env: want names that are not empty, without = and NUL, got %q", v.Name)
			}
			if strings.ContainsRune(v.Value, 0) {
				return Errorf(CodeInvalid, "env: %s: want a value without NUL", v.Name)
			}
			size += len(v.Name) + len(v.Value)
		}
	}
	for _, p := range e.Pass {
		if _, err := path.Match(p, ""); err != nil {
			return Errorf(CodeInvalid, "env: pass: want globs, got %q", p)
		}
		size += len(p)
	}
	if size > EnvironmentBytes {
		return Errorf(CodeTooLarge, "env: want at most %d bytes, got %d", EnvironmentBytes, size)
	}
	return nil
}

// String gives the names.
func (e *Environment) String() string {
	if e == nil {
		return "env[]"
	}
	return fmt.Sprintf("env[inherit %v, pass %v, set %v]", e.Inherit, e.Pass, e.Set)
}

// GoString is String.
func (e *Environment) GoString() string { return e.String() }

// String gives the name.
func (v Variable) String() string { return v.Name }

// GoString is String.
func (v Variable) GoString() string { return v.Name }
