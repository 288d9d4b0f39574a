package claude

import (
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
)

func TestAskRules(t *testing.T) {
	for _, tt := range []struct {
		tool, pattern string
		want          []string
	}{
		{"bash", "", []string{"Bash"}},
		{"bash", "*", []string{"Bash"}},
		{"bash", "* --force", []string{"Bash"}},
		{"bash", "rm -rf /**", []string{"Bash(rm *)"}},
		{"bash", "/bin/ls", []string{"Bash(ls *)"}},
		{"bash", "'rm' x", []string{"Bash"}},
		{"bash", "LD_PRELOAD=*", []string{"Bash(*LD_PRELOAD=*)"}},
		{"read", "", []string{"Read", "Bash"}},
		{"read", "~/.ssh/**", []string{"Bash(*.ssh*)", "Read(~/.ssh/**)"}},
		{"read", "**/.env*", []string{"Bash(*.env*)", "Read(**/.env*)", "Read(//**/.env*)"}},
		{"read", "/etc/shadow", []string{"Bash(*shadow*)", "Read(//etc/shadow)"}},
		{"read", "${cwd}/secrets/**", []string{"Bash(*secrets*)", "Read(//w/app/secrets/**)"}},
		{"read", "secrets/{a,b}", []string{"Bash(*secrets*)", "Read(//w/app/secrets/*)"}},
		{"read", "a(b)", []string{"Read", "Bash"}},
		{"grep", "**/*", []string{"Grep", "Read", "Bash"}},
		{"list", "/etc/**", []string{"Glob", "Bash(*etc*)", "Read(//etc/**)", "Bash(ls *)"}},
		{"edit", "**/.env", []string{"Bash(*.env*)", "Edit(**/.env)", "Edit(//**/.env)"}},
		{"web-fetch", "https://example.com/x/**", []string{"WebFetch(domain:example.com)"}},
		{"web-fetch", "*.example.com", []string{"WebFetch"}},
		{"web-search", "", []string{"WebSearch"}},
		{"task", "", []string{"Agent"}},
		{"mcp", "github/get_*", []string{"mcp__github"}},
		{"mcp", "*/get", nil},
		{"todo", "", nil},
	} {
		got := askRules([]adapters.Use{{Tool: tt.tool, Pattern: tt.pattern}}, "/w/app")
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s(%s) is asked for by %q, want %q", tt.tool, tt.pattern, got, tt.want)
		}
	}
	all := askRules([]adapters.Use{{Tool: "*"}, {Tool: "bash"}, {Tool: "bash"}}, "/w/app")
	if slices.Contains(all[1:], "Bash") || !slices.Contains(all, "Edit") {
		t.Errorf("every tool is asked for by %q, each once", all)
	}
}

// The rules join the user's own settings.
func TestNativeSettings(t *testing.T) {
	for _, tt := range []struct {
		native  string
		sandbox bool
		ask     []string
		want    string
	}{
		{"", false, nil, ""},
		{"x.json", false, nil, "x.json"},
		{"x.json", false, []string{"Bash"}, "x.json"}, // a file is the user's
		{"", false, []string{"Bash", `a"b`}, `{"permissions":{"ask":["Bash","a\"b"]}}`},
		{"", true, []string{"Bash"}, `{"sandbox":{"enabled":true,"failIfUnavailable":true},"permissions":{"ask":["Bash"]}}`},
		{
			`{"a":1,"permissions":{"deny":["X"],"ask":["Y"]}}`, false,
			[]string{"Bash"},
			`{"permissions":{"deny":["X"],"ask":["Y","Bash"]},"a":1}`,
		},
		{`{"sandbox":{"enabled":false}}`, true, nil, `{"sandbox":{"enabled":true,"failIfUnavailable":true}}`},
	} {
		got, err := settings{native: tt.native}.nativeSettings(tt.sandbox, tt.ask)
		if err != nil || got != tt.want {
			t.Errorf("nativeSettings(%q, %v, %q) = %q, %v, want %q", tt.native, tt.sandbox, tt.ask, got, err, tt.want)
		}
	}
	if _, err := (settings{native: "x.json"}).nativeSettings(true, nil); err == nil || !strings.Contains(err.Error(), "want a JSON object") {
		t.Errorf("a file with the sandbox: %v", err)
	}
}
