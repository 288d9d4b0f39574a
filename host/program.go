package host

import (
	"path/filepath"
	"runtime"

	"github.com/agenthost/agenthost/adapters"
)

// program is what is started for a command that was found: the program behind a
// package manager's script, if the adapter knows where it lies and it is there. A
// command that a person named is started as it is.
func (s *Session) program(exe string) string {
	u, ok := s.cfg.Adapter.(adapters.Unwrapper)
	if !ok || s.cfg.Command != nil {
		return exe
	}
	script, err := filepath.EvalSymlinks(exe)
	if err != nil {
		return exe
	}
	for _, place := range u.Unwrap(script, runtime.GOOS, runtime.GOARCH) {
		if found, err := s.cfg.Resolve(place, ""); err == nil {
			return found
		}
	}
	return exe
}
