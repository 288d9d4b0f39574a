package main

import (
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		flag, name, value string
		ok                bool
	}{
		{"A=b", "A", "b", true},
		{"A=", "A", "", true},
		{"A=b=c\nd", "A", "b=c\nd", true}, // a key in PEM has lines
		{"npm_config.x-y=1", "npm_config.x-y", "1", true},
		{"geheim", "", "", false},
		{"=geheim", "", "", false},
		{"A\nB=geheim", "", "", false},
		{"A B=geheim", "", "", false},
		{"A\x00=geheim", "", "", false},
		{"A\x1b[0m=geheim", "", "", false},
		{"1A=geheim", "", "", false},
		{"Ä=geheim", "", "", false},
	} {
		got, err := environment([]string{"FIRST=1", c.flag})
		if !c.ok {
			if err == nil || strings.Contains(err.Error(), "geheim") || strings.ContainsAny(err.Error(), "\n\x1b\x00") {
				t.Errorf("environment(%q) = %v, error %v; want an error without the value", c.flag, got, err)
			}
			continue
		}
		if err != nil || len(got) != 2 || got[1].Name != c.name || got[1].Value != c.value {
			t.Errorf("environment(%q) = %v, %v; want %q = %q", c.flag, got, err, c.name, c.value)
		}
	}
}

// What a session that the daemon has is started from again needs no command, and values
// that cannot be sent are refused by name.
func TestShellEnvironment(t *testing.T) {
	for _, agent := range []string{ptyAgent, "acp", "claude"} {
		req := runRequest{agent: agent, flags: &runFlags{resume: "x", env: []string{"KEY=geheim"}}}
		env, err := shellEnvironment(configuration{}, req)
		if err != nil || len(env.Set) != 1 {
			t.Errorf("%s: %v, %v; want KEY set", agent, env, err)
		}
		req.flags.env = []string{"KEY=geh\xe9im"}
		if _, err := shellEnvironment(configuration{}, req); err == nil || !strings.Contains(err.Error(), "KEY") || strings.Contains(err.Error(), "geh") {
			t.Errorf("%s: error %v; want one that names KEY and no value", agent, err)
		}
	}
	for _, agent := range []string{ptyAgent, "acp"} {
		if err := wantsCommand(runRequest{agent: agent, flags: &runFlags{}}); err == nil {
			t.Errorf("%s without a command is taken", agent)
		}
	}
}
