package scriptmodel

import (
	"encoding/json/jsontext"
	"slices"
	"strings"
)

// A Setup is what an agent needs to talk to a scripted model and to nobody else.
type Setup struct {
	Agent string
	// Note is what a person who uses it by hand needs to know besides; mostly empty.
	Note string
	// Env are NAME=value pairs. They hold no credentials, only fakes.
	Env []string
	// Files are configuration files by their path in the home directory.
	Files map[string]string
}

// FakeKey is the API key that setups use. The server accepts any.
const FakeKey = "sk-fake-scripted-model-0000"

// Setups returns the setups of all agents that are known, by name. base is the
// URL of the server without a slash at its end, dir the directory that the agents
// will work in.
func Setups(base, dir string) []Setup {
	claude := claudeSetup(base, dir)
	bridge := claude
	bridge.Agent, bridge.Note = "claude-agent-acp", "agenthost run claude-acp"
	return []Setup{claude, bridge, codexSetup(base, dir), geminiSetup(base, dir), opencodeSetup(base)}
}

// SetupFor returns the setup of one agent, false when it is not known.
func SetupFor(agent, base, dir string) (Setup, bool) {
	all := Setups(base, dir)
	i := slices.IndexFunc(all, func(s Setup) bool { return s.Agent == agent })
	if i < 0 {
		return Setup{}, false
	}
	return all[i], true
}

func indented(v any) string {
	text := encode(v)
	// The value was encoded a line ago, so it can be indented.
	_ = text.Indent(jsontext.WithIndent("  "))
	return string(text) + "\n"
}

// claudeSetup answers the questions that the terminal UI asks at its first start:
// theme, whether to use the key, whether the directory is trusted.
func claudeSetup(base, dir string) Setup {
	return Setup{
		Agent: "claude",
		Env: []string{
			"ANTHROPIC_BASE_URL=" + base,
			"ANTHROPIC_API_KEY=" + FakeKey,
			"DISABLE_TELEMETRY=1",
			"DISABLE_AUTOUPDATER=1",
			"DISABLE_ERROR_REPORTING=1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		},
		Files: map[string]string{".claude.json": indented(map[string]any{
			"hasCompletedOnboarding": true,
			"theme":                  "dark",
			"customApiKeyResponses":  map[string]any{"approved": []string{FakeKey[len(FakeKey)-20:]}, "rejected": []string{}},
			"projects":               map[string]any{dir: map[string]any{"hasTrustDialogAccepted": true}},
		})},
	}
}

// codexSetup answers what the terminal UI would ask: whether the directory is
// trusted and whether to change to a newer model.
func codexSetup(base, dir string) Setup {
	return Setup{
		Agent: "codex",
		Note:  "agenthost run codex passes the variable on with --pass-env SCRIPTMODEL_API_KEY",
		Env:   []string{"SCRIPTMODEL_API_KEY=" + FakeKey},
		Files: map[string]string{".codex/config.toml": strings.TrimLeft(`
model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
daemon_auto_start = false

[model_providers.scripted]
name = "Scripted model"
base_url = "`+base+`/v1"
wire_api = "responses"
env_key = "SCRIPTMODEL_API_KEY"

[projects.`+string(encode(dir))+`]
trust_level = "trusted"

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"
`, "\n")},
	}
}

// geminiSetup trusts the directory, without which the modes that allow edits are
// refused, and turns session retention off: its clean-up loses sessions that were
// loaded once (google-gemini/gemini-cli issue 28775).
func geminiSetup(base, dir string) Setup {
	return Setup{
		Agent: "gemini",
		Env: []string{
			"GEMINI_API_KEY=" + FakeKey,
			"GOOGLE_GEMINI_BASE_URL=" + base,
		},
		Files: map[string]string{
			".gemini/settings.json": indented(map[string]any{
				"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
				"general": map[string]any{
					"sessionRetention":             map[string]any{"enabled": false},
					"enableAutoUpdate":             false,
					"enableAutoUpdateNotification": false,
				},
				"privacy": map[string]any{"usageStatisticsEnabled": false},
			}),
			".gemini/trustedFolders.json": indented(map[string]any{dir: "TRUST_FOLDER"}),
		},
	}
}

// opencodeSetup asks before shell commands and edits; opencode's own default
// allows everything.
func opencodeSetup(base string) Setup {
	model := func(name string) map[string]any {
		return map[string]any{
			"name": name, "tool_call": true, "reasoning": true,
			"limit": map[string]any{"context": 200_000, "output": 32_000},
			"cost":  map[string]any{"input": 1, "output": 10},
		}
	}
	return Setup{
		Agent: "opencode",
		Env: []string{
			"OPENCODE_DISABLE_AUTOUPDATE=1",
			"OPENCODE_DISABLE_MODELS_FETCH=1",
			"OPENCODE_DISABLE_LSP_DOWNLOAD=1",
			"OPENCODE_DISABLE_SHARE=1",
		},
		Files: map[string]string{".config/opencode/opencode.json": indented(map[string]any{
			"model":       "scripted/" + ModelName,
			"small_model": "scripted/" + SmallModelName,
			"autoupdate":  false,
			"share":       "disabled",
			"permission":  map[string]any{"bash": "ask", "edit": "ask"},
			"provider": map[string]any{"scripted": map[string]any{
				"name":    "Scripted model",
				"npm":     "@ai-sdk/openai-compatible",
				"options": map[string]any{"baseURL": base + "/v1", "apiKey": FakeKey},
				"models":  map[string]any{ModelName: model(ModelName), SmallModelName: model(SmallModelName)},
			}},
		})},
	}
}
