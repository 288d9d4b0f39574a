package host

import (
	"errors"
	"slices"
	"testing"

	"github.com/agenthost/agenthost/adapters"
)

// passing lets through what its two faces need, or does not start in one of them.
type passing struct {
	fakeTerminal
	headless, terminal error
}

func (p passing) Launch(r adapters.LaunchRequest) (adapters.Launch, error) {
	_ = r.Getenv("READ_ONLY")
	return adapters.Launch{Argv: []string{"fake"}, Pass: []string{"PIPES_*"}}, p.headless
}

func (p passing) LaunchTerminal(r adapters.TerminalRequest) (adapters.Launch, error) {
	pass := []string{"SCREEN_KEY"}
	if r.Getenv("CLOUD") != "" {
		pass = append(pass, "CLOUD_*")
	}
	return adapters.Launch{Argv: []string{"fake"}, Pass: pass}, p.terminal
}

// What is inherited is what the agent would get of this environment in any face, and what
// its adapter looks at; nothing else of it.
func TestInherited(t *testing.T) {
	environ := []string{
		"HOME=/h", "PIPES_A=1", "SCREEN_KEY=2", "READ_ONLY=3", "CLOUD=4", "CLOUD_KEY=5", "MINE=6", "OTHER=7", "CLAUDECODE=1", "PIPES_A=8", "=C:=C:\\",
	}
	refused := errors.New("not in that face")
	for name, test := range map[string]struct {
		adapter adapters.Adapter
		env     []adapters.Pair
		want    []string
	}{
		"both":         {passing{}, nil, []string{"HOME=/h", "PIPES_A=1", "SCREEN_KEY=2", "READ_ONLY=3", "CLOUD=4", "CLOUD_KEY=5", "MINE=6", "PIPES_A=8"}},
		"set":          {passing{}, []adapters.Pair{{Name: "CLOUD"}}, []string{"HOME=/h", "PIPES_A=1", "SCREEN_KEY=2", "READ_ONLY=3", "CLOUD=4", "MINE=6", "PIPES_A=8"}},
		"no screen":    {passing{terminal: refused}, nil, []string{"HOME=/h", "PIPES_A=1", "READ_ONLY=3", "CLOUD=4", "MINE=6", "PIPES_A=8"}},
		"screen alone": {passing{headless: refused}, nil, []string{"HOME=/h", "SCREEN_KEY=2", "READ_ONLY=3", "CLOUD=4", "CLOUD_KEY=5", "MINE=6"}},
		"none":         {passing{headless: refused, terminal: refused}, nil, []string{"HOME=/h", "READ_ONLY=3", "CLOUD=4", "MINE=6"}},
	} {
		got := Inherited(Config{Adapter: test.adapter, Dir: t.TempDir(), StateDir: t.TempDir(), Environ: environ, Env: test.env, PassEnv: []string{"M*"}})
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: Inherited = %q\nwant %q", name, got, test.want)
		}
	}
}
