package codex

import (
	"fmt"
	"slices"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/silence"
)

// The names in Options.Settings.
const (
	// settingRemember: "agent" hands an allow-always to Codex, which then does not
	// ask for the same command or file again in this thread; "host" (default) keeps
	// it to agenthost's grants.
	settingRemember = "remember"
	// settingNetwork: "true" lets sandboxed commands use the network.
	settingNetwork = "network"
	// settingSummary is what is asked for of the model's reasoning: auto (default),
	// concise, detailed or none.
	settingSummary = "reasoning-summary"
	// settingApproval is when the mode "default" asks: "untrusted" (default) before
	// every command that is not known to be harmless and every edit, "on-request" only
	// for what the sandbox does not allow.
	settingApproval = "approval"
)

// settings are the adapter's own, parsed.
type settings struct {
	rememberInAgent bool
	network         bool
	summary         string
	approval        string
	// stall is after how long a silence is told, 0 for never.
	stall time.Duration
}

// allowed are the values of each setting, the default first.
func allowed() map[string][]string {
	return map[string][]string{
		settingRemember: {"host", "agent"},
		settingNetwork:  {"false", "true"},
		settingSummary:  {"auto", "concise", "detailed", "none"},
		settingApproval: {policyUntrusted, policyOnRequest},
	}
}

func parseSettings(o adapters.Options) (settings, error) {
	table := allowed()
	get := func(name string) string {
		if v, ok := o.Settings[name]; ok && slices.Contains(table[name], v) {
			return v
		}
		return table[name][0]
	}
	s := settings{
		rememberInAgent: get(settingRemember) == "agent", network: get(settingNetwork) == "true",
		summary: get(settingSummary), approval: get(settingApproval),
	}
	for name, v := range o.Settings {
		if name == silence.Setting {
			d, err := silence.Parse(v)
			if err != nil {
				return s, fmt.Errorf("codex: %w", err)
			}
			s.stall = d
			continue
		}
		values, known := table[name]
		if !known {
			names := []string{silence.Setting}
			for n := range table {
				names = append(names, n)
			}
			slices.Sort(names)
			return s, fmt.Errorf("codex: setting %q: want one of %q", name, names)
		}
		if !slices.Contains(values, v) {
			return s, fmt.Errorf("codex: setting %q: want one of %q, got %q", name, values, v)
		}
	}
	return s, nil
}
