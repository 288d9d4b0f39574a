package claude

import (
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/silence"
	"github.com/agenthost/agenthost/internal/rawjson"
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
	// stall is after how long a silence is told, 0 for never.
	stall time.Duration
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
		case silence.Setting:
			d, err := silence.Parse(v)
			if err != nil {
				return settings{}, fmt.Errorf("claude: %w", err)
			}
			s.stall = d
		default:
			names := []string{settingRemember, settingSettings, settingSources, silence.Setting}
			slices.Sort(names)
			return settings{}, fmt.Errorf("claude: setting %q: want one of %q", name, names)
		}
	}
	return s, nil
}

// nativeSettings is the value of --settings, empty for none. ask are rules of the
// CLI's for what it has to ask about.
func (s settings) nativeSettings(sandbox bool, ask []string) (string, error) {
	text := strings.TrimSpace(s.native)
	v := jsontext.Value(text)
	isObject := text == "" || v.Kind() == '{' && v.IsValid()
	switch {
	case sandbox && !isObject:
		return "", fmt.Errorf("claude: setting %q: want a JSON object when the sandbox is on, got a file", settingSettings)
	case !isObject || !sandbox && len(ask) == 0:
		// The user's own file of settings is the user's: what runs without asking
		// against a rule is told of when it did.
		return s.native, nil
	}
	o := new(object)
	if sandbox {
		// Without the sandbox the CLI would run commands outside of it, so it must
		// not start then.
		o.raw("sandbox", []byte(`{"enabled":true,"failIfUnavailable":true}`))
	}
	given := rawjson.Value(v)
	if len(ask) > 0 {
		o.raw("permissions", withAsk(given.Get("permissions"), ask))
	}
	for name, value := range given.Members() {
		if !(sandbox && name == "sandbox") && !(len(ask) > 0 && name == "permissions") {
			o.raw(name, value.Clean())
		}
	}
	return string(o.value()), nil
}

// withAsk adds rules to the user's permissions.
func withAsk(given rawjson.Value, ask []string) []byte {
	o := new(object)
	for name, value := range given.Members() {
		if name != "ask" {
			o.raw(name, value.Clean())
		}
	}
	list := []byte{'['}
	for v := range given.Get("ask").Elements() {
		list = append(append(list, v.Clean()...), ',')
	}
	for i, rule := range ask {
		if i > 0 {
			list = append(list, ',')
		}
		list = appendQuote(list, rule)
	}
	return o.raw("ask", append(list, ']')).value()
}
