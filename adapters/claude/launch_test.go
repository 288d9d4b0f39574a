package claude_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/claude"
)

// always are the arguments of every launch.
const always = "claude -p --output-format stream-json --input-format stream-json --verbose --permission-prompt-tool stdio" +
	" --include-partial-messages --forward-subagent-text --permission-mode "

func TestLaunchArguments(t *testing.T) {
	id := claude.SessionUUID("s1")
	for name, c := range map[string]struct {
		options adapters.Options
		want    string
	}{
		"plain":        {adapters.Options{}, "default --session-id " + id},
		"manual":       {adapters.Options{Mode: "manual"}, "default --session-id " + id},
		"plan":         {adapters.Options{Mode: "plan"}, "plan --session-id " + id},
		"bypass":       {adapters.Options{Mode: "bypassPermissions", AllowBypass: true}, "bypassPermissions --allow-dangerously-skip-permissions --session-id " + id},
		"resume":       {adapters.Options{Resume: "r"}, "default --resume r"},
		"rewound":      {adapters.Options{Resume: "r", ForkAt: "a"}, "default --resume r --resume-session-at a"},
		"fork":         {adapters.Options{Fork: "f"}, "default --resume f --fork-session --session-id " + id},
		"fork at":      {adapters.Options{Fork: "f", ForkAt: "a"}, "default --resume f --fork-session --resume-session-at a --session-id " + id},
		"continue":     {adapters.Options{Continue: true}, "default --continue"},
		"model":        {adapters.Options{Model: "sonnet", Thinking: "high"}, "default --session-id " + id + " --model sonnet --effort high"},
		"limits":       {adapters.Options{MaxTurns: 3, BudgetUSD: 0.5}, "default --session-id " + id + " --max-turns 3 --max-budget-usd 0.5"},
		"tools":        {adapters.Options{AllowedTools: []string{"Bash(git *)", "Edit"}, DisallowedTools: []string{"WebFetch"}}, "default --session-id " + id + " --allowedTools Bash(git *) Edit --disallowedTools WebFetch"},
		"dirs":         {adapters.Options{Dirs: []string{"/a b", "/c"}, SystemPrompt: "be kind"}, "default --session-id " + id + " --add-dir /a b /c --append-system-prompt be kind"},
		"sandbox":      {adapters.Options{Sandbox: true}, `default --session-id ` + id + ` --settings {"sandbox":{"enabled":true,"failIfUnavailable":true}}`},
		"both":         {adapters.Options{Sandbox: true, Settings: map[string]string{"settings": ` {"a": 1} `}}, `default --session-id ` + id + ` --settings {"sandbox":{"enabled":true,"failIfUnavailable":true},"a":1}`},
		"settings":     {adapters.Options{Settings: map[string]string{"settings": "/s.json", "setting-sources": "user", "remember": "agent"}}, "default --session-id " + id + " --settings /s.json --setting-sources user"},
		"empty and on": {adapters.Options{Sandbox: true, Settings: map[string]string{"settings": "{}"}}, `default --session-id ` + id + ` --settings {"sandbox":{"enabled":true,"failIfUnavailable":true}}`},
	} {
		l, err := claude.New().Launch(adapters.LaunchRequest{SessionID: "s1", StateDir: "/state", Options: c.options})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(l.Argv, " "); got != always+c.want {
			t.Errorf("%s: %s\nwant %s", name, got, always+c.want)
		}
	}
}

func TestLaunchRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		options adapters.Options
		args    []string
		want    string
	}{
		"bypass":        {adapters.Options{Mode: "bypassPermissions"}, nil, "local opt-in"},
		"auto":          {adapters.Options{Mode: "auto"}, nil, "local opt-in"},
		"yolo":          {adapters.Options{Mode: "yolo"}, nil, `got "yolo"`},
		"two sessions":  {adapters.Options{Resume: "a", Fork: "b"}, nil, "one of resume, fork and continue"},
		"cut nothing":   {adapters.Options{ForkAt: "a"}, nil, "forkAt"},
		"thinking":      {adapters.Options{Thinking: "deep"}, nil, "thinking"},
		"negative":      {adapters.Options{MaxTurns: -1}, nil, "0 or more"},
		"unknown":       {adapters.Options{Settings: map[string]string{"rember": "agent"}}, nil, `"remember"`},
		"remember":      {adapters.Options{Settings: map[string]string{"remember": "yes"}}, nil, "agent or host"},
		"file and box":  {adapters.Options{Sandbox: true, Settings: map[string]string{"settings": "/s.json"}}, nil, "JSON object"},
		"skip":          {adapters.Options{}, []string{"--dangerously-skip-permissions"}, "local opt-in"},
		"allow skip":    {adapters.Options{}, []string{"--allow-dangerously-skip-permissions"}, "local opt-in"},
		"mode":          {adapters.Options{}, []string{"--permission-mode", "bypassPermissions"}, "local opt-in"},
		"mode=":         {adapters.Options{}, []string{"--permission-mode=auto"}, "local opt-in"},
		"MCP transport": {adapters.Options{MCPServers: []adapters.MCPServer{{Name: "x", Transport: "carrier pigeon"}}}, nil, "carrier pigeon"},
	} {
		_, err := claude.New().Launch(adapters.LaunchRequest{SessionID: "s1", StateDir: "/state", Args: c.args, Options: c.options})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Launch = %v, want an error with %q", name, err, c.want)
		}
		if strings.Contains(c.want, "opt-in") && !errors.Is(err, adapters.ErrUnsupported) {
			t.Errorf("%s: %v is not ErrUnsupported", name, err)
		}
	}
}

// Secrets of MCP servers go into a file, not on the command line.
func TestLaunchMCP(t *testing.T) {
	l, err := claude.New().Launch(adapters.LaunchRequest{StateDir: "/state", Options: adapters.Options{MCPServers: []adapters.MCPServer{
		{Name: "local", Transport: "stdio", Command: "srv", Args: []string{"-x"}, Env: []adapters.Pair{{Name: "TOKEN", Value: `se"cret`}}},
		{Name: "far", Transport: "http", URL: "https://x.example/mcp", Headers: []adapters.Pair{{Name: "Authorization", Value: "Bearer secret"}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"mcpServers":{"local":{"type":"stdio","command":"srv","args":["-x"],"env":{"TOKEN":"se\"cret"}},` +
		`"far":{"type":"http","url":"https://x.example/mcp","headers":{"Authorization":"Bearer secret"}}}}` + "\n"
	if len(l.Files) != 1 || l.Files[0].Path != "/state/mcp.json" || string(l.Files[0].Data) != want {
		t.Errorf("files = %q, want mcp.json with %s", l.Files, want)
	}
	if argv := strings.Join(l.Argv, " "); !strings.Contains(argv, "--mcp-config /state/mcp.json") || strings.Contains(argv, "cret") {
		t.Errorf("argv = %s", argv)
	}
}

// A cloud's credentials go along only when the CLI is told to use that cloud.
func TestLaunchPass(t *testing.T) {
	for on, want := range map[string]bool{"": false, "0": false, "false": false, "1": true, "true": true} {
		l, err := claude.New().Launch(adapters.LaunchRequest{Getenv: func(name string) string {
			if name == "CLAUDE_CODE_USE_BEDROCK" {
				return on
			}
			return ""
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(l.Pass, "AWS_*"); got != want {
			t.Errorf("CLAUDE_CODE_USE_BEDROCK=%q: AWS_* passed %v, want %v", on, got, want)
		}
		if slices.Contains(l.Pass, "AZURE_*") || !slices.Contains(l.Pass, "ANTHROPIC_*") {
			t.Errorf("pass = %q", l.Pass)
		}
	}
}

// What the translator relies on is switched on, whatever the user's environment says.
func TestLaunchEnvironment(t *testing.T) {
	l, err := claude.New().Launch(adapters.LaunchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "DISABLE_AUTOUPDATER"} {
		if !slices.Contains(l.Env, adapters.Pair{Name: name, Value: "1"}) {
			t.Errorf("environment %v, want %s=1", l.Env, name)
		}
	}
}

func TestLaunchCommand(t *testing.T) {
	l, err := claude.New().Launch(adapters.LaunchRequest{Command: []string{"wrap", "claude"}, Args: []string{"--debug"}})
	if err != nil || !slices.Equal(l.Argv, []string{"wrap", "claude", "--debug"}) {
		t.Errorf("argv = %q, %v; want the command and the person's arguments alone", l.Argv, err)
	}
}
