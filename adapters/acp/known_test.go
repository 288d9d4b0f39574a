package acp

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract/session"
)

func TestKnown(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Known() {
		if seen[s.Name] || s.Name == "" || s.Title == "" || len(s.Command) == 0 || s.Install == "" || s.Login == "" {
			t.Errorf("incomplete or doubled: %+v", s)
		}
		seen[s.Name] = true
		d := New(s).Describe()
		var caps []session.Capability
		for _, c := range d.Claims {
			caps = append(caps, c.Capability)
			if !c.Supported && c.Reason == "" {
				t.Errorf("%s lacks %s without a reason", s.Name, c.Capability)
			}
		}
		want := []session.Capability{session.CapSteer, session.CapQueue, session.CapRewind, session.CapFork, session.CapStash, session.CapDiff, session.CapReasoning}
		if !slices.Equal(caps, want) {
			t.Errorf("%s claims %q, want %q", s.Name, caps, want)
		}
		for _, glob := range s.Pass {
			if glob == "*" || strings.HasPrefix(glob, "*") {
				t.Errorf("%s passes %q of the environment: too much", s.Name, glob)
			}
		}
	}
	for _, name := range []string{"claude-acp", "codex-acp", "opencode", "qwen", "goose", "copilot", "cursor", "kimi", "auggie", "cline", "droid", "junie", "vibe"} {
		if !seen[name] {
			t.Errorf("%s is not known", name)
		}
	}
	if !reflect.DeepEqual(names(Known()), names(Known())) {
		t.Error("Known is not the same each time")
	}
}

func names(list []AgentSpec) (out []string) {
	for _, s := range list {
		out = append(out, s.Name)
	}
	return out
}

func TestLaunch(t *testing.T) {
	l, err := New(copilot()).Launch(adapters.LaunchRequest{Args: []string{"--x"}})
	if err != nil || !slices.Equal(l.Argv, []string{"copilot", "--acp", "--no-auto-update", "--x"}) {
		t.Errorf("Launch = %q, %v", l.Argv, err)
	}
	l, _ = New(copilot()).Launch(adapters.LaunchRequest{Command: []string{"docker", "run", "copilot"}, Args: []string{"--x"}})
	if !slices.Equal(l.Argv, []string{"docker", "run", "copilot", "--x"}) {
		t.Errorf("Launch with a command = %q", l.Argv)
	}
	spec := copilot()
	spec.Hooks.Launch = func(_ adapters.LaunchRequest, l *adapters.Launch) error {
		l.Argv[0], l.Pass[0] = "other", "OTHER_*"
		return nil
	}
	if l, _ = New(spec).Launch(adapters.LaunchRequest{}); l.Argv[0] != "other" || spec.Command[0] != "copilot" || spec.Pass[0] != "COPILOT_*" {
		t.Errorf("a hook changed the spec itself: %+v", spec)
	}
}

func TestCustom(t *testing.T) {
	a := Custom([]string{"/opt/agent", "acp"})
	if a.Name() != "acp" || a.Describe().Title != "agent" {
		t.Errorf("name %q, title %q", a.Name(), a.Describe().Title)
	}
	l, err := a.Launch(adapters.LaunchRequest{Args: []string{"--v"}})
	if err != nil || !slices.Equal(l.Argv, []string{"/opt/agent", "acp", "--v"}) {
		t.Errorf("Launch = %q, %v", l.Argv, err)
	}
	// agenthost run acp -- CMD…
	l, err = Custom(nil).Launch(adapters.LaunchRequest{Args: []string{"some-agent", "--acp"}})
	if err != nil || !slices.Equal(l.Argv, []string{"some-agent", "--acp"}) {
		t.Errorf("Launch = %q, %v", l.Argv, err)
	}
	if _, err := Custom(nil).Launch(adapters.LaunchRequest{}); err == nil {
		t.Error("Launch without a command gave no error")
	}
}

// TestLaunchOpencode: it asks, and its sub-agents do not wait for what nobody sees.
func TestLaunchOpencode(t *testing.T) {
	env := func(req adapters.LaunchRequest) map[string]string {
		l, err := New(opencode()).Launch(req)
		if err != nil {
			t.Fatal(err)
		}
		m := map[string]string{}
		for _, p := range l.Env {
			m[p.Name] = p.Value
		}
		return m
	}
	e := env(adapters.LaunchRequest{})
	if e["OPENCODE_PERMISSION"] != `{"bash":"ask","edit":"ask","external_directory":"ask","webfetch":"ask"}` || !json.Valid([]byte(e["OPENCODE_CONFIG_CONTENT"])) {
		t.Errorf("environment %v", e)
	}
	e = env(adapters.LaunchRequest{Getenv: func(string) string { return "{}" }})
	if _, ok := e["OPENCODE_CONFIG_CONTENT"]; ok || e["OPENCODE_PERMISSION"] == "" {
		t.Errorf("environment %v, want the user's own configuration kept", e)
	}
	e = env(adapters.LaunchRequest{Options: adapters.Options{Settings: map[string]string{"permissions": "agent"}}})
	if _, ok := e["OPENCODE_PERMISSION"]; ok {
		t.Errorf("environment %v, want the agent's own rules", e)
	}
}
