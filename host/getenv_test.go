package host

import (
	"testing"

	"github.com/agenthost/agenthost/adapters"
)

// What an adapter reads for a launch is what the agent will see.
func TestGetenv(t *testing.T) {
	s := &Session{cfg: Config{
		Environ: []string{"HOME=/home/me", "KEY=old", "KEY=new", "EMPTY="},
		Env:     []adapters.Pair{{Name: "HOME", Value: "/tmp/a"}, {Name: "HOME", Value: "/tmp/b"}, {Name: "UNSET", Value: ""}},
	}}
	for name, want := range map[string]string{"HOME": "/tmp/b", "KEY": "new", "EMPTY": "", "UNSET": "", "NONE": ""} {
		if got := s.getenv(name); got != want {
			t.Errorf("getenv(%q) = %q, want %q", name, got, want)
		}
	}
}
