package claude

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/adapters"
)

// Launch implements adapters.Adapter.
func (a Adapter) Launch(r adapters.LaunchRequest) (adapters.Launch, error) {
	args, files, err := arguments(r)
	if err != nil {
		return adapters.Launch{}, err
	}
	return a.launch(r, args, files)
}

// launch starts the CLI with our arguments and the person's own, which are checked.
func (a Adapter) launch(r adapters.LaunchRequest, args []string, files []adapters.LaunchFile) (adapters.Launch, error) {
	if err := checkArgs(r.Args, r.Options.AllowBypass); err != nil {
		return adapters.Launch{}, err
	}
	l := adapters.Launch{Env: environment(), Pass: pass(r.Getenv), Files: files}
	switch {
	case r.Command != nil:
		l.Argv = slices.Concat(r.Command, r.Args)
	default:
		l.Argv = slices.Concat(a.Describe().Command, args, r.Args)
	}
	return l, nil
}

// environment is what the CLI needs set.
func environment() []adapters.Pair {
	return []adapters.Pair{
		{Name: "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", Value: "1"},
		// Without it rewind_files has nothing to go back to.
		{Name: "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", Value: "1"},
		// An update under a running session changes the protocol under the host.
		{Name: "DISABLE_AUTOUPDATER", Value: "1"},
	}
}

// pass are the variables that the CLI reads. Credentials of a cloud go along only
// when the CLI is told to use that cloud.
func pass(getenv func(string) string) []string {
	globs := []string{
		"ANTHROPIC_*", "CLAUDE_*", "MCP_TIMEOUT", "MCP_TOOL_TIMEOUT", "MAX_MCP_OUTPUT_TOKENS", "MAX_THINKING_TOKENS",
		"BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS", "BASH_MAX_OUTPUT_LENGTH", "API_TIMEOUT_MS", "IS_SANDBOX",
		"DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_PROMPT_CACHING*", "DISABLE_COMPACT", "DISABLE_AUTO_COMPACT",
		"NODE_EXTRA_CA_CERTS", "USE_BUILTIN_RIPGREP",
	}
	if getenv == nil {
		return globs
	}
	for _, cloud := range []struct {
		flag  string
		globs []string
	}{
		{"CLAUDE_CODE_USE_BEDROCK", []string{"AWS_*"}},
		{"CLAUDE_CODE_USE_VERTEX", []string{"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "CLOUD_ML_REGION", "VERTEX_*"}},
		{"CLAUDE_CODE_USE_FOUNDRY", []string{"AZURE_*"}},
	} {
		if v := strings.ToLower(getenv(cloud.flag)); v != "" && v != "0" && v != "false" {
			globs = append(globs, cloud.globs...)
		}
	}
	return globs
}

// arguments are the protocol's own and those of the options.
func arguments(r adapters.LaunchRequest) ([]string, []adapters.LaunchFile, error) {
	o := r.Options
	cfg, err := parseSettings(o)
	if err != nil {
		return nil, nil, err
	}
	mode, err := permissionMode(o.Mode, o.AllowBypass)
	if err != nil {
		return nil, nil, err
	}
	native, err := cfg.nativeSettings(o.Sandbox, askRules(o.AskFirst, r.Dir))
	if err != nil {
		return nil, nil, err
	}
	args := []string{
		"-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose",
		"--permission-prompt-tool", "stdio", "--include-partial-messages", "--forward-subagent-text",
		"--permission-mode", mode,
	}
	return optionArgs(args, r, native, cfg.sources)
}

// optionArgs adds what the options ask for, the same in both faces; settings is the
// value of --settings, sources that of --setting-sources.
func optionArgs(args []string, r adapters.LaunchRequest, settings, sources string) ([]string, []adapters.LaunchFile, error) {
	o := r.Options
	if o.AllowBypass {
		args = append(args, "--allow-dangerously-skip-permissions")
	}
	session, err := sessionArgs(r)
	if err != nil {
		return nil, nil, err
	}
	args = append(args, session...)
	limits, err := limitArgs(o)
	if err != nil {
		return nil, nil, err
	}
	args = append(args, limits...)
	if settings != "" {
		args = append(args, "--settings", settings)
	}
	if sources != "" {
		args = append(args, "--setting-sources", sources)
	}
	return withMCP(args, r)
}

// sessionArgs say which session to go on with. ForkAt cuts the history at that
// answer, with Fork in a new session and with Resume in the same.
func sessionArgs(r adapters.LaunchRequest) ([]string, error) {
	o := r.Options
	chosen := 0
	for _, on := range []bool{o.Resume != "", o.Fork != "", o.Continue} {
		if on {
			chosen++
		}
	}
	if chosen > 1 {
		return nil, fmt.Errorf("claude: want one of resume, fork and continue, got %d", chosen)
	}
	var args []string
	fresh := false
	switch {
	case o.Resume != "":
		args = append(args, "--resume", o.Resume)
	case o.Fork != "":
		args = append(args, "--resume", o.Fork, "--fork-session")
		fresh = true
	case o.Continue:
		args = append(args, "--continue")
	default:
		fresh = true
	}
	if o.ForkAt != "" {
		if o.Resume == "" && o.Fork == "" {
			return nil, fmt.Errorf("claude: forkAt %q: want a session to fork or resume with it", o.ForkAt)
		}
		args = append(args, "--resume-session-at", o.ForkAt)
	}
	if fresh && r.SessionID != "" {
		args = append(args, "--session-id", SessionUUID(r.SessionID))
	}
	return args, nil
}

// limitArgs are the options that are flags of one value.
func limitArgs(o adapters.Options) ([]string, error) {
	var args []string
	flag := func(name, v string) {
		if v != "" {
			args = append(args, name, v)
		}
	}
	flag("--model", o.Model)
	if _, err := thinkingRequest(o.Thinking); err != nil {
		return nil, err
	}
	if slices.Contains(efforts(), o.Thinking) {
		flag("--effort", o.Thinking) // other levels have no flag: startThinking
	}
	if o.MaxTurns < 0 || o.BudgetUSD < 0 {
		return nil, fmt.Errorf("claude: max turns and budget: want 0 or more, got %d and %v", o.MaxTurns, o.BudgetUSD)
	}
	if o.MaxTurns > 0 {
		flag("--max-turns", strconv.Itoa(o.MaxTurns))
	}
	if o.BudgetUSD > 0 {
		flag("--max-budget-usd", strconv.FormatFloat(o.BudgetUSD, 'f', -1, 64))
	}
	// Patterns may hold blanks and commas, so each is an argument of its own, which
	// these flags take until the next flag.
	list := func(name string, values []string) {
		if len(values) > 0 {
			args = append(append(args, name), values...)
		}
	}
	list("--allowedTools", o.AllowedTools)
	list("--disallowedTools", o.DisallowedTools)
	list("--add-dir", o.Dirs)
	flag("--append-system-prompt", o.SystemPrompt)
	return args, nil
}

// withMCP adds the MCP servers by a file: their headers and variables are
// secrets, and a command line is not.
func withMCP(args []string, r adapters.LaunchRequest) ([]string, []adapters.LaunchFile, error) {
	if len(r.Options.MCPServers) == 0 {
		return args, nil, nil
	}
	servers := new(object)
	for _, s := range r.Options.MCPServers {
		v, err := mcpServer(s)
		if err != nil {
			return nil, nil, err
		}
		servers.raw(s.Name, v)
	}
	path := filepath.Join(r.StateDir, "mcp.json")
	data := new(object).raw("mcpServers", servers.value()).line()
	return append(args, "--mcp-config", path), []adapters.LaunchFile{{Path: path, Data: data}}, nil
}

func mcpServer(s adapters.MCPServer) ([]byte, error) {
	o := new(object).str("type", s.Transport)
	switch s.Transport {
	case "stdio":
		o.str("command", s.Command)
		var args [][]byte
		for _, a := range s.Args {
			args = append(args, quote(a))
		}
		o.raw("args", array(args...)).raw("env", pairs(s.Env))
	case "http", "sse":
		o.str("url", s.URL).raw("headers", pairs(s.Headers))
	default:
		return nil, fmt.Errorf("claude: MCP server %q: transport: want stdio, http or sse, got %q", s.Name, s.Transport)
	}
	return o.value(), nil
}

func pairs(list []adapters.Pair) []byte {
	o := new(object)
	for _, p := range list {
		o.str(p.Name, p.Value)
	}
	return o.value()
}

// checkArgs refuses arguments that would switch permissions off behind the host's back.
func checkArgs(args []string, bypass bool) error {
	for i, a := range args {
		name, v, _ := strings.Cut(a, "=")
		if v == "" && i+1 < len(args) {
			v = args[i+1]
		}
		switch {
		case bypass:
		case name == "--dangerously-skip-permissions", name == "--allow-dangerously-skip-permissions",
			name == "--permission-mode" && (v == "bypassPermissions" || v == "auto"):
			return fmt.Errorf("claude: argument %q needs the local opt-in: %w", a, adapters.ErrUnsupported)
		}
	}
	return nil
}
