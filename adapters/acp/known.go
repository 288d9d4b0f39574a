package acp

import (
	"encoding/json/v2"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

// Known lists the ACP agents that this package knows, but for Gemini CLI, which
// has an adapter of its own. "Tested" versions were recorded against a scripted
// model; the command lines of the others are those of the public ACP registry.
func Known() []AgentSpec {
	return []AgentSpec{
		claudeACP(), codexACP(), opencode(), qwen(), copilot(),
		{
			Name: "goose", Title: "Goose", Command: []string{"goose", "acp"},
			Install: "brew install block-goose-cli", Login: "goose configure", VersionArgs: []string{"--version"},
			Pass: []string{"GOOSE_*", "OPENAI_*", "ANTHROPIC_*", "GOOGLE_*", "DATABRICKS_*", "OPENROUTER_*", "OLLAMA_*"},
		},
		{
			Name: "cursor", Title: "Cursor", Command: []string{"cursor-agent", "acp"},
			Install: "curl https://cursor.com/install -fsS | bash", Login: "cursor-agent login", VersionArgs: []string{"--version"},
			Pass: []string{"CURSOR_*"},
		},
		{
			Name: "kimi", Title: "Kimi CLI", Command: []string{"kimi", "acp"},
			Install: "uv tool install kimi-cli", Login: "kimi login", VersionArgs: []string{"--version"},
			Pass: []string{"KIMI_*", "MOONSHOT_*"},
		},
		{
			Name: "auggie", Title: "Auggie", Command: []string{"auggie", "--acp"},
			Install: "npm install -g @augmentcode/auggie", Login: "auggie login", VersionArgs: []string{"--version"},
			Pass: []string{"AUGMENT_*"},
		},
		{
			Name: "cline", Title: "Cline", Command: []string{"cline", "--acp"},
			Install: "npm install -g cline", Login: "cline auth", VersionArgs: []string{"--version"},
			Pass: []string{"CLINE_*", "ANTHROPIC_*", "OPENAI_*", "OPENROUTER_*", "GEMINI_*"},
		},
		{
			Name: "droid", Title: "Factory Droid", Command: []string{"droid", "exec", "--output-format", "acp"},
			Install: "npm install -g droid", Login: "droid", VersionArgs: []string{"--version"},
			Pass: []string{"FACTORY_*"},
		},
		{
			Name: "junie", Title: "Junie", Command: []string{"junie", "--acp=true"},
			Install: "npm install -g @jetbrains/junie-cli", Login: "junie", VersionArgs: []string{"--version"},
			Pass: []string{"JUNIE_*"},
		},
		{
			Name: "vibe", Title: "Mistral Vibe", Command: []string{"vibe-acp"},
			Install: "uv tool install mistral-vibe", Login: "vibe --setup", VersionArgs: []string{"--version"},
			Pass: []string{"MISTRAL_*", "VIBE_*"},
		},
		{
			Name: "openhands", Title: "OpenHands", Command: []string{"openhands", "acp"},
			Install: "uv tool install openhands", Login: "openhands login", VersionArgs: []string{"--version"},
			Pass: []string{"LLM_*", "OPENHANDS_*"},
		},
	}
}

// stubWait is for agents that announce a call before the model has written its
// input, and always fill it in.
const stubWait = time.Minute

// claudeACP is Claude Code behind its ACP bridge. The native adapter tells more:
// the bridge has no rewind, and hides what a sub-agent was told.
func claudeACP() AgentSpec {
	return AgentSpec{
		Name: "claude-acp", Title: "Claude Code (ACP)", Command: []string{"claude-agent-acp"},
		Install: "npm install -g @agentclientprotocol/claude-agent-acp", Login: "claude /login",
		Credentials: []string{ // those of Claude Code, which is inside
			"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX",
			"CLAUDE_CODE_USE_FOUNDRY", "$CLAUDE_CONFIG_DIR/.credentials.json", "~/.claude/.credentials.json",
		},
		VersionArgs: []string{"--version"}, Tested: []string{"0.101.0", "0.16.2"},
		Pass: []string{"ANTHROPIC_*", "CLAUDE_*", "AWS_*", "VERTEX_*", "CLOUD_ML_REGION", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"},
		Quirks: Quirks{
			Client:    ClientFeatures{Subagents: true},
			StartMode: "default", // it starts in "auto", where a model decides on permissions
			FreeModes: []string{"auto", "bypassPermissions", "dontAsk"},
			StubWait:  stubWait,
			Tools:     map[string]string{"BashOutput": "bash-output", "KillShell": "kill-shell", "Task": "task", "Agent": "task"},
		},
	}
}

// codexACP is Codex behind its ACP bridge. Its mode "agent" lets a model review
// permissions. Refusing ends the turn: it has no "decline and go on".
func codexACP() AgentSpec {
	return AgentSpec{
		Name: "codex-acp", Title: "Codex (ACP)", Command: []string{"codex-acp"},
		Install: "npm install -g @agentclientprotocol/codex-acp", Login: "codex login",
		Tested: []string{"2.6.0"},
		Env:    []adapters.Pair{{Name: "INITIAL_AGENT_MODE", Value: "read-only"}, {Name: "NO_BROWSER", Value: "1"}},
		Pass:   []string{"OPENAI_*", "CODEX_*", "MODEL_PROVIDER", "AZURE_OPENAI_*"},
		Quirks: Quirks{
			Modes: map[contract.PermissionMode]string{
				contract.ModeDefault: "read-only", contract.ModeAcceptEdits: "workspace-write",
				contract.ModeBypassPermissions: "agent-full-access",
			},
			StartMode: "read-only",
			FreeModes: []string{"agent", "agent-full-access"},
			Tools:     map[string]string{"exec_command": "bash", "apply_patch": "edit", "update_plan": "plan"},
		},
	}
}

// opencode asks for nothing unless it is configured to, and the asks of its
// sub-agents never reach a client: the sub-agent waits for ever. So the main agent
// is made to ask, and sub-agents to do without what would have to be asked. The
// setting "permissions" = "agent" leaves the user's own configuration alone.
func opencode() AgentSpec {
	return AgentSpec{
		Name: "opencode", Title: "opencode", Command: []string{"opencode", "acp"},
		Install: "npm install -g opencode-ai", Login: "opencode auth login",
		Credentials: []string{"OPENCODE_AUTH_CONTENT", "$XDG_DATA_HOME/opencode/auth.json", "~/.local/share/opencode/auth.json"},
		VersionArgs: []string{"--version"}, Tested: []string{"1.18.33"},
		Env: []adapters.Pair{{Name: "OPENCODE_DISABLE_AUTOUPDATE", Value: "1"}},
		Pass: []string{
			"OPENCODE_*", "OPENAI_*", "ANTHROPIC_*", "GEMINI_*", "GOOGLE_*", "OPENROUTER_*", "GROQ_*", "MISTRAL_*", "XAI_*", "AWS_*", "AZURE_*",
		},
		Quirks: Quirks{
			Modes:         map[contract.PermissionMode]string{contract.ModeDefault: "build", contract.ModePlan: "plan"},
			NameFromTitle: true, StubWait: stubWait,
			Usage: UsageLastRequest, Steer: SteerPrompt,
		},
		Hooks: Hooks{Launch: launchOpencode},
	}
}

func launchOpencode(req adapters.LaunchRequest, l *adapters.Launch) error {
	if req.Options.Settings["permissions"] == "agent" {
		return nil
	}
	ask := map[string]string{"edit": "ask", "bash": "ask", "webfetch": "ask", "external_directory": "ask"}
	l.Env = append(l.Env, adapters.Pair{Name: "OPENCODE_PERMISSION", Value: mustJSON(ask)})
	if req.Getenv != nil && req.Getenv("OPENCODE_CONFIG_CONTENT") != "" {
		return nil // the user's own wins
	}
	deny := map[string]any{"permission": map[string]string{
		"edit": "deny", "bash": "deny", "webfetch": "deny", "external_directory": "deny",
	}}
	content := map[string]any{"agent": map[string]any{"general": deny, "explore": deny}}
	l.Env = append(l.Env, adapters.Pair{Name: "OPENCODE_CONFIG_CONTENT", Value: mustJSON(content)})
	return nil
}

// mustJSON encodes what always can be encoded.
func mustJSON(v any) string {
	data, _ := json.Marshal(v, json.Deterministic(true))
	return string(data)
}

// qwen is Qwen Code, a fork of Gemini CLI. From 0.24 on it starts in "auto", asks
// for messages between its tools, and can rewind and branch.
func qwen() AgentSpec {
	return AgentSpec{
		Name: "qwen", Title: "Qwen Code", Command: []string{"qwen", "--acp"},
		Install: "npm install -g @qwen-code/qwen-code", Login: "qwen",
		VersionArgs: []string{"--version"}, Tested: []string{"0.24.4", "0.15.10"},
		Pass: []string{"QWEN_*", "OPENAI_*", "DASHSCOPE_*"},
		Quirks: Quirks{
			Modes: map[contract.PermissionMode]string{
				contract.ModeAcceptEdits: "auto-edit", contract.ModeBypassPermissions: "yolo",
			},
			StartMode: "default", FreeModes: []string{"auto", "yolo"},
			StubWait: stubWait,
			Steer:    SteerDrain, Fork: ForkBranch, Rewind: true, Since: "0.24",
		},
	}
}

// copilot is GitHub Copilot CLI. Failures of its model's service come as text.
func copilot() AgentSpec {
	return AgentSpec{
		Name: "copilot", Title: "GitHub Copilot CLI", Command: []string{"copilot", "--acp", "--no-auto-update"},
		Install: "npm install -g @github/copilot", Login: "copilot login",
		VersionArgs: []string{"--version"}, Tested: []string{"1.0.102"},
		Pass: []string{"COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST"},
		Quirks: Quirks{
			Modes: map[contract.PermissionMode]string{
				contract.ModeDefault: "https://agentclientprotocol.com/protocol/session-modes#agent",
				contract.ModePlan:    "https://agentclientprotocol.com/protocol/session-modes#plan",
			},
			Usage: UsageSession, ErrorText: "Error: ", Steer: SteerNever, Fork: ForkNever,
		},
	}
}
