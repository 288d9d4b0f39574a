package gemini_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/gemini"
)

// ruled is what a rule of Gemini CLI says.
type ruled struct {
	tools    []string
	inArgs   *regexp.Regexp
	mcp      string
	subagent string
	decision string
}

// readPolicy reads the form of TOML that we write.
func readPolicy(t *testing.T, text string) []ruled {
	t.Helper()
	var out []ruled
	quoted := func(s string) string { return strings.TrimSuffix(strings.TrimPrefix(s, "'"), "'") }
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "[[rule]]" {
			out = append(out, ruled{})
			continue
		}
		key, value, ok := strings.Cut(line, " = ")
		if line == "" || key == "denyMessage" || key == "priority" {
			continue
		}
		if !ok || len(out) == 0 {
			t.Fatalf("cannot read %q", line)
		}
		r := &out[len(out)-1]
		switch key {
		case "toolName":
			for _, name := range strings.Split(strings.Trim(value, "[]"), ", ") {
				r.tools = append(r.tools, quoted(name))
			}
		case "argsPattern":
			r.inArgs = regexp.MustCompile(quoted(value))
		case "mcpName":
			r.mcp = quoted(value)
		case "subagent":
			r.subagent = quoted(value)
		case "decision":
			r.decision = quoted(value)
		default:
			t.Fatalf("unknown key %q", key)
		}
	}
	return out
}

const policyPath = "/state/gemini/ask-first.toml"

func policyOf(t *testing.T, uses ...adapters.Use) []ruled {
	t.Helper()
	l := launch(t, bare, nil, adapters.Options{AskFirst: uses})
	return readPolicy(t, file(l, policyPath))
}

// nested is what Gemini CLI leaves a rule out for, and longest how long one may be.
var nested = regexp.MustCompile(`\([^)]*[*+?{].*\)[*+?{]`)

const longest = 2048

// What rules may be about is asked for, and little else.
func TestAskFirst(t *testing.T) {
	command := func(text string) string {
		return `{` + "\x00" + `"command":"` + text + `"` + "\x00" + `,` + "\x00" + `"description":"Runs ls on the user's .env"` + "\x00" + `}`
	}
	file := func(path string) string { return `{` + "\x00" + `"file_path":"` + path + `"` + "\x00" + `}` }
	const shell = "run_shell_command"
	for _, tt := range []struct {
		tool, pattern string
		native, args  string
		asks          bool
	}{
		{"bash", "", shell, command("ls"), true},
		{"bash", "* --force", shell, command("ls"), true},
		{"bash", "rm *", shell, command("rm x"), true},
		{"bash", "rm *", shell, command("cd x; rm"), true},
		{"bash", "rm *", shell, command("/bin/rm x"), true},
		{"bash", "rm *", shell, command("RM x"), true},
		{"bash", "rm *", shell, command("r''m x"), true},
		{"bash", "rm *", shell, command(`r\"\"m x`), true},
		{"bash", "rm *", shell, command(`r\\m x`), true},
		{"bash", "rm *", shell, command("ls; echo 'a b'"), false},
		{"bash", "rm *", shell, command("ls farm"), false},
		{"bash", "rm *", "read_file", file("rm"), false},
		{"bash", "ls *", shell, command("pwd"), false},
		{"bash", "ls *", shell, command("ls"), true},
		{"bash", "LD_PRELOAD=*", shell, command("LD_PRELOAD=x ls"), true},
		{"bash", "LD_PRELOAD=*", shell, command("ls"), false},
		{"read", "**/.env*", "read_file", file("sub/.env.local"), true},
		{"read", "**/.env*", "read_file", file("SUB/.ENV"), true},
		{"read", "**/.env*", "read_file", file("xenv"), false},
		{"read", "**/.env*", "grep_search", `{"dir_path":".env"}`, true},
		{"read", "**/.env*", shell, `{"command":"cat .env"}`, true},
		{"read", "**/.env*", shell, `{"command":"cat a"}`, false},
		{"read", "**/.env*", "write_file", file(".env"), false},
		{"read", "**/" + strings.Repeat("long", 1000), "read_file", file(strings.Repeat("long", 1000)), true},
		{"read", "", "read_file", file("x"), true},
		{"read", "", shell, `{"command":"ls"}`, true},
		{"edit", "${cwd}/secrets/**", "replace", file("secrets/x"), true},
		{"edit", "${cwd}/secrets/**", "write_file", file("a"), false},
		{"delete", "secrets/**", shell, `{"command":"rm secrets/x"}`, true},
		{"list", "/etc/**", "list_directory", `{"dir_path":"/etc/x"}`, true},
		{"web-fetch", "example.com", "web_fetch", `{"prompt":"get https://Example.com/x"}`, true},
		{"web-fetch", "example.com", "web_fetch", `{"prompt":"get https://example.org"}`, false},
		{"web-fetch", "*.example.com", "web_fetch", `{"prompt":"x"}`, true},
		{"web-search", "", "google_web_search", `{}`, true},
		{"task", "", "invoke_agent", `{}`, true},
		{"skill", "", "activate_skill", `{}`, true},
		{"todo", "", "write_todos", `{}`, false},
		{"*", "", "read_file", file("x"), true},
		{"*", "", shell, command("ls"), true},
		{"*", "", "complete_task", `{}`, false},
	} {
		asks := false
		for _, r := range policyOf(t, adapters.Use{Tool: tt.tool, Pattern: tt.pattern}) {
			if r.subagent == "" && r.decision == "ask_user" && r.mcp == "" && slices.Contains(r.tools, tt.native) && (r.inArgs == nil || r.inArgs.MatchString(tt.args)) {
				asks = true
			}
			if r.inArgs != nil && (len(r.inArgs.String()) > longest || nested.MatchString(r.inArgs.String())) {
				t.Errorf("%s(%s): Gemini CLI would leave a rule out: %s", tt.tool, tt.pattern, r.inArgs)
			}
			if slices.Contains(r.tools, shell) && r.inArgs == nil {
				t.Errorf("%s(%s): a rule for commands has no pattern: %+v", tt.tool, tt.pattern, r)
			}
		}
		if asks != tt.asks {
			t.Errorf("with a rule for %s(%s), %s of %q is asked for: %v, want %v", tt.tool, tt.pattern, tt.native, tt.args, asks, tt.asks)
		}
	}
}

// An ask inside of a sub-agent would wait for ever: there it is denied.
func TestAskFirstInSubagents(t *testing.T) {
	rules := policyOf(t, adapters.Use{Tool: "mcp", Pattern: "github/*"})
	denied := 0
	for _, r := range rules {
		if r.mcp != "github" || (r.subagent == "") != (r.decision == "ask_user") || r.subagent != "" && r.decision != "deny" {
			t.Errorf("got %+v, want it asked, and denied in sub-agents", r)
		}
		if r.subagent != "" {
			denied++
		}
	}
	if denied == 0 || len(rules) != denied+1 {
		t.Errorf("%d rules, %d for sub-agents, want one more than those", len(rules), denied)
	}
}

// The policy stands beside an administrator's, wherever that is named.
func TestAskFirstKeepsPolicies(t *testing.T) {
	m := machine(map[string]string{
		"/etc/gemini-cli/settings.json": `{"adminPolicyPaths":["/etc/theirs"]}`,
		"/home/u/.gemini/settings.json": `{"adminPolicyPaths":["/home/u/own.toml"]} // mine`,
		"/w/.gemini/settings.json":      `{"adminPolicyPaths":[]}`,
	}, "it is not root's")
	o := adapters.Options{AskFirst: []adapters.Use{{Tool: "bash", Pattern: "rm *"}, {Tool: "bash", Pattern: "rm -f *"}}}
	l := launch(t, m, map[string]string{"HOME": "/home/u"}, o)
	var paths []string
	for i, a := range l.Argv {
		if a == "--admin-policy" {
			paths = append(paths, l.Argv[i+1])
		}
	}
	if want := []string{policyPath, "/etc/theirs", "/home/u/own.toml"}; !slices.Equal(paths, want) {
		t.Errorf("policies %q, want %q", paths, want)
	}
	asks := 0
	for _, r := range readPolicy(t, file(l, policyPath)) {
		if r.subagent == "" {
			asks++
		}
	}
	if asks != 2 {
		t.Errorf("%d rules ask, want that of the program, once, and that of disguised commands", asks)
	}
	if l := launch(t, m, nil, adapters.Options{}); slices.Contains(l.Argv, "--admin-policy") || file(l, policyPath) != "" {
		t.Errorf("without a use: %q", l.Argv)
	}
	if l := launch(t, m, nil, adapters.Options{AskFirst: []adapters.Use{{Tool: "todo"}}}); slices.Contains(l.Argv, "--admin-policy") {
		t.Errorf("for a tool that it lacks: %q", l.Argv)
	}
	broken := machine(map[string]string{"/etc/gemini-cli/settings.json": `nonsense`}, "")
	if _, err := gemini.NewOn(broken).Launch(adapters.LaunchRequest{Dir: "/w", StateDir: "/state", Options: o}); err == nil {
		t.Error("an administrator's file that cannot be read is passed over")
	}
}
