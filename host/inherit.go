package host

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/childenv"
)

// Inherited is what of cfg.Environ reaches the agent of cfg in any of its faces, or is
// read by its adapter: what another host has to have of it to start the agent as this one
// would. It starts nothing, and takes ID, Adapter, Dir, StateDir, Command, Args, Options,
// Env, PassEnv and Environ of cfg.
func Inherited(cfg Config) []string {
	s := &Session{cfg: cfg, dir: SessionDir(cfg.StateDir, cfg.ID)}
	var reads []string
	r := s.launchRequest()
	r.Getenv = func(name string) string {
		reads = append(reads, name)
		return s.getenv(name)
	}
	pass := slices.Clone(cfg.PassEnv)
	add := func(l adapters.Launch, err error) {
		if err == nil { // else it does not start in that face, and whoever tries says why
			pass = append(pass, l.Pass...)
		}
	}
	add(cfg.Adapter.Launch(r))
	if a, ok := cfg.Adapter.(adapters.TerminalAdapter); ok {
		hook := filepath.Join(os.TempDir(), "hook") // nothing of it is made
		add(a.LaunchTerminal(adapters.TerminalRequest{LaunchRequest: r, SocketDir: os.TempDir(), Hook: hook, HookClosed: hook}))
	}
	return childenv.Inherited(cfg.Environ, pass, reads)
}
