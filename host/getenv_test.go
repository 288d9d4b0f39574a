package host

import (
	"context"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/childenv"
)

// envAdapter reads variables when it is launched, and passes FLAG_*, and CLOUD_* with a
// flag for it.
type envAdapter struct {
	fakeTerminal
	names []string
	read  map[string]string
}

func (a envAdapter) Launch(r adapters.LaunchRequest) (adapters.Launch, error) {
	for _, name := range a.names {
		a.read[name] = r.Getenv(name)
	}
	l, err := a.fakeTerminal.Launch(r)
	l.Pass = []string{"FLAG_*"}
	if r.Getenv("FLAG_CLOUD") != "" {
		l.Pass = append(l.Pass, "CLOUD_*")
	}
	return l, err
}

func (a envAdapter) LaunchTerminal(r adapters.TerminalRequest) (adapters.Launch, error) {
	return a.Launch(r.LaunchRequest)
}

// What an adapter reads for a launch is what the agent will see, in either face.
func TestGetenv(t *testing.T) {
	for _, face := range []adapters.Face{adapters.FaceHeadless, adapters.FaceTerminal} {
		for _, cloud := range []string{"", "1"} {
			a := envAdapter{read: map[string]string{}, names: []string{
				"HOME", "KEY", "EMPTY", "UNSET", "NONE", "FLAG_A", "FLAG_CLOUD", "CLOUD_KEY", "SECRET", "TMUX", "LINES", "TERM", "CLAUDECODE", "GEMINI_CLI",
				"NO_PROXY", "EXTRA",
			}}
			var child []string
			st, c := newStage(t, a, func(cfg *Config) {
				cfg.Face = face
				cfg.Environ = []string{
					"HOME=/home/me", "KEY=old", "KEY=new", "EMPTY=", "FLAG_A=a", "FLAG_CLOUD=" + cloud, "CLOUD_KEY=k", "SECRET=s",
					"TMUX=/tmp/tmux", "LINES=3", "TERM=screen", "CLAUDECODE=1", "GEMINI_CLI=1", "NO_PROXY=corp", "EXTRA=e",
				}
				cfg.PassEnv = []string{"GEMINI_CLI", "EXT?A", "TMUX"}
				cfg.Env = []adapters.Pair{{Name: "HOME", Value: "/tmp/a"}, {Name: "HOME", Value: "/tmp/b"}, {Name: "UNSET", Value: ""}}
				start := cfg.Start
				cfg.Start = func(ctx context.Context, spec StartSpec) (Child, error) {
					child = spec.Env
					return start(ctx, spec)
				}
			})
			c.say("opened native-1")
			st.end()
			for _, name := range a.names {
				if want, _ := childenv.Get(child, name); a.read[name] != want {
					t.Errorf("%s, cloud %q: the launch read %s=%q, the child has %q", face, cloud, name, a.read[name], want)
				}
			}
			if a.read["CLOUD_KEY"] != map[string]string{"": "", "1": "k"}[cloud] || a.read["HOME"] != "/tmp/b" {
				t.Errorf("%s, cloud %q: read %q", face, cloud, a.read)
			}
		}
	}
}
