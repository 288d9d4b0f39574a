package childenv

import (
	"runtime"
	"slices"
	"strings"
)

// allowed are the names that reach every agent. What gives access to something
// (tokens, but SSH_AUTH_SOCK too) isn't among them: who wants it passes it.
func allowed() []string { return slices.Concat(surroundings(), network()) }

// network are whom to trust, and the way out.
func network() []string {
	return []string{
		"SSL_CERT_*", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	}
}

// surroundings are what every program has in some way.
func surroundings() []string {
	names := []string{
		// Who and where. PWD isn't here: it is the host's directory.
		"HOME", "USER", "LOGNAME", "SHELL", "PATH", "TMPDIR", "TMP", "TEMP", "XDG_*",
		// How text and time look.
		"LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR",
		// Says that nobody watches; tools turn their prompts off.
		"CI",
	}
	if runtime.GOOS == "windows" {
		// Without these hardly anything starts there.
		names = append(names, "SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "OS", "USERPROFILE", "USERNAME",
			"USERDOMAIN", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "ALLUSERSPROFILE",
			"ProgramFiles", "ProgramFiles(x86)", "CommonProgramFiles", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE")
	}
	return names
}

// Mark reports whether a variable is a mark that an agent, or we, leave in the
// environment of what they start: it tells a program that it runs inside of a
// session. The agent that we start doesn't.
func Mark(name string) bool { return matches(name, marks()) }

// marks were collected from the agents' documentation, from libraries that detect
// agents, and from reports of nested sessions that failed. Names that hold
// settings or keys stay out of it (CLAUDE_CODE_MAX_RETRIES, OPENCODE_CONFIG,
// GEMINI_CLI_NO_RELAUNCH …).
func marks() []string {
	return []string{
		// The common ones: the agents.md proposal and its rival.
		"AGENT", "AI_AGENT",
		// Claude Code: refuses to start inside of itself when it sees CLAUDECODE.
		"CLAUDECODE", "CLAUDE_CODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT",
		"CLAUDE_CODE_SESSION_ACCESS_TOKEN", "CLAUDE_CODE_WEBSOCKET_AUTH_FILE_DESCRIPTOR", "CLAUDE_CODE_EXECPATH",
		"CLAUDE_CODE_REMOTE", "CLAUDE_CODE_REMOTE_SESSION_ID", "CLAUDE_CODE_CONTAINER_ID", "CLAUDE_CODE_IS_COWORK",
		"CLAUDE_AGENT_SDK_VERSION",
		// What its hooks and plugins see.
		"CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE", "CLAUDE_PLUGIN_ROOT",
		// Codex.
		"CODEX_SANDBOX", "CODEX_SANDBOX_*", "CODEX_CI", "CODEX_THREAD_ID", "CODEX_INTERNAL_ORIGINATOR_OVERRIDE",
		// Gemini CLI, its hooks and editor companion, and its fork.
		"GEMINI_CLI", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR", "GEMINI_CWD", "GEMINI_CLI_IDE_*",
		"QWEN_CODE", "QWEN_SESSION_ID", "QWEN_PROJECT_DIR", "QWEN_CODE_IDE_*",
		// opencode.
		"OPENCODE", "OPENCODE_CLIENT", "OPENCODE_CALLER", "OPENCODE_PID", "OPENCODE_RUN_ID", "OPENCODE_PROCESS_ROLE",
		"OPENCODE_SESSION_ID", "OPENCODE_TERMINAL", "OPENCODE_APP_INFO",
		// Others.
		"COPILOT_CLI", "COPILOT_AGENT_SESSION_ID", "CURSOR_AGENT", "CURSOR_TRACE_ID", "CLINE_ACTIVE", "AUGMENT_AGENT",
		"GOOSE_TERMINAL", "AMP_CURRENT_THREAD_ID", "TRAE_AI_SHELL_ID", "VSCODE_AGENT", "ANTIGRAVITY_AGENT",
		// Our own: a host may run below another one.
		"AGENTHOST_CHILD", "AGENTHOST_SHIM",
	}
}

// exemptLoopback merges the loopback names into both spellings of NO_PROXY:
// agents reach the host's own servers (MCP, hooks) there, and unlike Go's client
// theirs don't leave loopback out by themselves. Each spelling gets what the
// other has, since programs read one or the other. It is done without a proxy in
// sight too, as agents can get one from their settings.
func exemptLoopback(vars variables) {
	var merged []string
	add := func(host string) {
		if host = strings.TrimSpace(host); host != "" && !slices.Contains(merged, host) {
			merged = append(merged, host)
		}
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		for host := range strings.SplitSeq(vars.get(name), ",") {
			add(host)
		}
	}
	if !slices.Contains(merged, "*") {
		for _, host := range []string{"127.0.0.1", "localhost", "::1"} {
			add(host)
		}
	}
	value := strings.Join(merged, ",")
	vars.set("NO_PROXY", value)
	vars.set("no_proxy", value)
}
