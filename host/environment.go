package host

import (
	"slices"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/childenv"
)

// childEnv is the environment of a child whose launch passes and sets variables.
func (s *Session) childEnv(pass []string, set []adapters.Pair) ([]string, error) {
	return childenv.Build(childenv.Request{
		Host: s.cfg.Environ, Pass: append(slices.Clone(pass), s.cfg.PassEnv...),
		Set: slices.Concat(s.screenEnv(), pairs(set), pairs(s.cfg.Env)),
	})
}

// getenv reads what a child can have of a name at most: all that any launch may pass.
func (s *Session) getenv(name string) string {
	env, _ := s.childEnv([]string{"*"}, nil) // what is malformed is told when a child is started
	value, _ := childenv.Get(env, name)
	return value
}

// maxLaunches bounds how often a launch is asked for anew because it read what it does
// not pass. Twice is enough for one that does not go round in circles.
const maxLaunches = 3

// launched is the launch of an adapter that has seen the environment which the child gets,
// but for what the launch itself sets there. What it passes is not known before, so it is
// asked again when it read something that the child will not have, or otherwise.
func (s *Session) launched(launch func(adapters.LaunchRequest) (adapters.Launch, error)) (adapters.Launch, error) {
	env, err := s.childEnv([]string{"*"}, nil)
	if err != nil {
		return adapters.Launch{}, err
	}
	for n := 1; ; n++ {
		read := map[string]string{}
		req := s.launchRequest()
		req.Getenv = func(name string) string {
			read[name], _ = childenv.Get(env, name)
			return read[name]
		}
		l, err := launch(req)
		if err != nil || n == maxLaunches {
			return l, err
		}
		if env, err = s.childEnv(l.Pass, nil); err != nil {
			return l, err
		}
		same := true
		for name, value := range read {
			now, _ := childenv.Get(env, name)
			same = same && now == value
		}
		if same {
			return l, nil
		}
	}
}
