package claude

import (
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
)

// The names in Options.Settings.
const (
	// settingRemember: "agent" hands an allow-always to the CLI's own rules, as it
	// suggests them; "host" (default) keeps it to agenthost's grants.
	settingRemember = "remember"
	// settingSettings is passed as --settings: a JSON object or a file.
	settingSettings = "settings"
	// settingSources is passed as --setting-sources.
	settingSources = "setting-sources"
)

// settings are the adapter's own, parsed.
type settings struct {
	rememberInAgent bool
	native          string
	sources         string
}

func parseSettings(o adapters.Options) (settings, error) {
	var s settings
	for name, v := range o.Settings {
		switch name {
		case settingRemember:
			if v != "agent" && v != "host" {
				return settings{}, fmt.Errorf("claude: setting %q: want agent or host, got %q", name, v)
			}
			s.rememberInAgent = v == "agent"
		case settingSettings:
			s.native = v
		case settingSources:
			s.sources = v
		default:
			names := []string{settingRemember, settingSettings, settingSources}
			slices.Sort(names)
			return settings{}, fmt.Errorf("claude: setting %q: want one of %q", name, names)
		}
	}
	return s, nil
}

// nativeSettings is the value of --settings, empty for none.
func (s settings) nativeSettings(sandbox bool) (string, error) {
	if !sandbox {
		return s.native, nil
	}
	// Without the sandbox the CLI would run commands outside of it, so it must not
	// start then.
	const box = `"sandbox":{"enabled":true,"failIfUnavailable":true}`
	text := strings.TrimSpace(s.native)
	if text == "" {
		return "{" + box + "}", nil
	}
	v := jsontext.Value(text)
	if v.Kind() != '{' || v.Compact() != nil {
		return "", fmt.Errorf("claude: setting %q: want a JSON object when the sandbox is on, got a file", settingSettings)
	}
	if len(v) == len("{}") {
		return "{" + box + "}", nil
	}
	return "{" + box + "," + string(v[1:]), nil
}
