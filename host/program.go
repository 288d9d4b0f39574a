package host

import (
	"path/filepath"
	"runtime"

	"github.com/agenthost/agenthost/adapters"
)

// program is what is started for a command that was found. A command that a person
// named is started as it is.
func (s *Session) program(exe string) string {
	if s.cfg.Command != nil {
		return exe
	}
	return Program(s.cfg.Adapter, exe, s.cfg.Resolve)
}

// Program is the program behind a package manager's script exe, an absolute path, if a
// knows where it lies and resolve finds it there; else exe.
func Program(a adapters.Adapter, exe string, resolve func(command, path string) (string, error)) string {
	u, ok := a.(adapters.Unwrapper)
	if !ok {
		return exe
	}
	script, err := filepath.EvalSymlinks(exe)
	if err != nil {
		return exe
	}
	for _, place := range u.Unwrap(script, runtime.GOOS, runtime.GOARCH) {
		if found, err := resolve(place, ""); err == nil {
			return found
		}
	}
	return exe
}
