package slip

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"claude", "claude-acp", "codex", "pi", "stateDir"}
	for got, want := range map[string]string{
		"clade": "claude", "Claude": "claude", "claude_acp": "claude-acp", "codx": "codex", "state-dir": "stateDir", "nobody": "", "xy": "", "": "",
	} {
		if near := Nearest(got, known); near != want {
			t.Errorf("Nearest(%q) = %q, want %q", got, near, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"mode", "mode", 0},
		{"moed", "mode", 2},
		{"kitten", "sitting", 3},
		{strings.Repeat("a", 65), "a", 64},
	} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
