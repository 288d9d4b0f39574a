package gemini

import (
	"encoding/json/jsontext"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// overrides are the settings that stand above the user's.
func overrides(o adapters.Options) jsontext.Value {
	security := `"enablePermanentToolApproval":false`
	if o.Settings["remember"] != "agent" {
		// What Gemini CLI allows from its own memory leaves no trace in the stream.
		security += `,"disableAlwaysAllow":true`
	}
	if !o.AllowBypass {
		security += `,"disableYoloMode":true`
	}
	return jsontext.Value(`{"general":{"sessionRetention":{"enabled":false}},` +
		`"tools":{"shell":{"enableInteractiveShell":false}},"security":{` + security + `}}`)
}

// softDefaults are settings beneath the user's own. byKey: where nothing is chosen, the
// key in the environment is how to log in. Over ACP session/new takes it without being
// told, session/load does not; with its screen Gemini CLI asks.
func softDefaults(byKey bool) jsontext.Value {
	auth := ""
	if byKey {
		auth = `,"security":{"auth":{"selectedType":"gemini-api-key"}}`
	}
	return jsontext.Value(`{"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false},` +
		`"privacy":{"usageStatisticsEnabled":false}` + auth + `}`)
}

// onlyKey reports whether a key in the environment is all that says how to log in.
func onlyKey(req adapters.LaunchRequest) bool {
	return req.Getenv != nil && req.Getenv("GEMINI_API_KEY") != "" && req.Getenv(baseURLVar) == ""
}

// merge lays one object over another; objects inside are merged, all else is
// replaced.
func merge(under, over jsontext.Value) jsontext.Value {
	out := jsontext.Value("{}")
	for name, value := range rawjson.Value(under).Members() {
		top := rawjson.Value(over).Get(name)
		switch {
		case top.Kind() == rawjson.Absent:
		case top.Kind() == rawjson.Object && value.Kind() == rawjson.Object:
			value = rawjson.Value(merge(jsontext.Value(value), jsontext.Value(top)))
		default:
			value = top
		}
		if rawjson.Value(out).Get(name).Kind() == rawjson.Absent {
			out = appendMember(out, name, value)
		}
	}
	for name, value := range rawjson.Value(over).Members() {
		if rawjson.Value(under).Get(name).Kind() == rawjson.Absent && rawjson.Value(out).Get(name).Kind() == rawjson.Absent {
			out = appendMember(out, name, value)
		}
	}
	return out
}

// withoutComments blanks the comments that Gemini CLI allows in settings.
func withoutComments(text []byte) []byte {
	out := append([]byte(nil), text...)
	for i := 0; i < len(out); i++ {
		switch {
		case out[i] == '"':
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case out[i] == '/' && i+1 < len(out) && out[i+1] == '/':
			for ; i < len(out) && out[i] != '\n'; i++ {
				out[i] = ' '
			}
		case out[i] == '/' && i+1 < len(out) && out[i+1] == '*':
			for start := i; i < len(out); i++ {
				ends := i >= start+3 && out[i] == '/' && text[i-1] == '*'
				if out[i] != '\n' {
					out[i] = ' '
				}
				if ends {
					break
				}
			}
		}
	}
	return out
}
