package gemini_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/gemini"
)

// bare is a machine without settings files, whose state directory is root's.
var bare = machine(nil, "")

// machine has some files; insecure is why Gemini CLI takes no settings of ours.
func machine(files map[string]string, insecure string) gemini.Machine {
	return gemini.Machine{
		OS: "linux",
		ReadFile: func(name string) ([]byte, error) {
			if text, ok := files[name]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		},
		Insecure: func(string) string { return insecure },
	}
}

func launch(t *testing.T, m gemini.Machine, env map[string]string, o adapters.Options) adapters.Launch {
	t.Helper()
	l, err := gemini.NewOn(m).Launch(adapters.LaunchRequest{
		Dir: "/w", SessionID: "s", StateDir: "/state", Args: []string{"--mine"},
		Getenv: func(name string) string { return env[name] }, Options: o,
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func env(l adapters.Launch, name string) string {
	for _, p := range l.Env {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

func file(l adapters.Launch, path string) string {
	for _, f := range l.Files {
		if f.Path == path {
			return strings.TrimSpace(string(f.Data))
		}
	}
	return ""
}

func TestLaunch(t *testing.T) {
	l := launch(t, bare, nil, adapters.Options{Dirs: []string{"/x", "/y"}})
	if want := []string{"gemini", "--acp", "--mine", "--include-directories", "/x", "--include-directories", "/y"}; !slices.Equal(l.Argv, want) {
		t.Errorf("argv = %q, want %q", l.Argv, want)
	}
	for name, want := range map[string]string{
		"GEMINI_CLI_NO_RELAUNCH": "1", "GEMINI_PTY_INFO": "child_process", "TMPDIR": "/state/tmp", "GEMINI_CLI_TRUST_WORKSPACE": "",
		"GEMINI_CLI_SYSTEM_SETTINGS_PATH": "/state/gemini/settings.json", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH": "/state/gemini/system-defaults.json",
	} {
		if got := env(l, name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if !slices.Equal(l.Pass, []string{"GEMINI_*", "GOOGLE_*"}) {
		t.Errorf("passes %q", l.Pass)
	}
	if file(l, "/state/tmp/README") == "" {
		t.Error("no file in TMPDIR, so that nobody makes it")
	}
	if got := env(launch(t, bare, nil, adapters.Options{Settings: map[string]string{"trust": "yes"}}), "GEMINI_CLI_TRUST_WORKSPACE"); got != "true" {
		t.Errorf("trusted directory: %q, want true", got)
	}
}

func TestLaunchSettings(t *testing.T) {
	const path, defaults = "/state/gemini/settings.json", "/state/gemini/system-defaults.json"
	tests := []struct {
		name         string
		options      adapters.Options
		env, files   map[string]string
		want, weaker string // settings, and defaults when not empty
	}{
		{
			name: "nothing there",
			want: `{"general":{"sessionRetention":{"enabled":false}},"tools":{"shell":{"enableInteractiveShell":false}},` +
				`"security":{"enablePermanentToolApproval":false,"disableAlwaysAllow":true,"disableYoloMode":true}}`,
			weaker: `{"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false},"privacy":{"usageStatisticsEnabled":false}}`,
		},
		{
			name:    "what a person opted in to",
			options: adapters.Options{AllowBypass: true, Settings: map[string]string{"remember": "agent"}},
			want: `{"general":{"sessionRetention":{"enabled":false}},"tools":{"shell":{"enableInteractiveShell":false}},` +
				`"security":{"enablePermanentToolApproval":false}}`,
		},
		{
			name: "an administrator's, with comments",
			files: map[string]string{
				"/etc/gemini-cli/settings.json": `{ // ours
					"tools": {"shell": {"pager": "cat"}, "core": ["a//b"]}, /* "x": 1 */ "security": {"disableYoloMode": true},
					"general": {"sessionRetention": {"enabled": true, "maxAge": "5d"}}}`,
				"/etc/gemini-cli/system-defaults.json": `{"general":{"enableAutoUpdate":true},"ui":{"theme":"x"}}`,
			},
			options: adapters.Options{AllowBypass: true},
			want: `{"tools":{"shell":{"pager":"cat","enableInteractiveShell":false},"core":["a//b"]},` +
				`"security":{"disableYoloMode":true,"enablePermanentToolApproval":false,"disableAlwaysAllow":true},` +
				`"general":{"sessionRetention":{"enabled":false,"maxAge":"5d"}}}`,
			weaker: `{"general":{"enableAutoUpdate":true,"enableAutoUpdateNotification":false},"privacy":{"usageStatisticsEnabled":false},"ui":{"theme":"x"}}`,
		},
		{
			name: "the user's own paths",
			env:  map[string]string{"GEMINI_CLI_SYSTEM_SETTINGS_PATH": "/u/sys.json", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH": "/u/def.json"},
			files: map[string]string{
				"/u/sys.json": `{"a":1}`, "/u/def.json": `{"b":2}`, "/etc/gemini-cli/settings.json": `{"c":3}`,
			},
			want: `{"a":1,"general":{"sessionRetention":{"enabled":false}},"tools":{"shell":{"enableInteractiveShell":false}},` +
				`"security":{"enablePermanentToolApproval":false,"disableAlwaysAllow":true,"disableYoloMode":true}}`,
			weaker: `{"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false},"privacy":{"usageStatisticsEnabled":false},"b":2}`,
		},
		{
			name: "a key, which session/load does not find by itself",
			env:  map[string]string{"GEMINI_API_KEY": "k"},
			want: `{"general":{"sessionRetention":{"enabled":false}},"tools":{"shell":{"enableInteractiveShell":false}},` +
				`"security":{"enablePermanentToolApproval":false,"disableAlwaysAllow":true,"disableYoloMode":true}}`,
			weaker: `{"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false},"privacy":{"usageStatisticsEnabled":false},` +
				`"security":{"auth":{"selectedType":"gemini-api-key"}}}`,
		},
		{
			name: "a key for a gateway",
			env:  map[string]string{"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1"},
			want: `{"general":{"sessionRetention":{"enabled":false}},"tools":{"shell":{"enableInteractiveShell":false}},` +
				`"security":{"enablePermanentToolApproval":false,"disableAlwaysAllow":true,"disableYoloMode":true}}`,
			weaker: `{"general":{"enableAutoUpdate":false,"enableAutoUpdateNotification":false},"privacy":{"usageStatisticsEnabled":false}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := launch(t, machine(tt.files, ""), tt.env, tt.options)
			if got := file(l, path); got != tt.want {
				t.Errorf("settings =\n%s\nwant\n%s", got, tt.want)
			}
			if got := file(l, defaults); tt.weaker != "" && got != tt.weaker {
				t.Errorf("defaults =\n%s\nwant\n%s", got, tt.weaker)
			}
		})
	}
}

// Settings that Gemini CLI would skip must not stand in for an administrator's.
func TestLaunchWhereSettingsAreSkipped(t *testing.T) {
	l := launch(t, machine(nil, "/home/u does not belong to root"), nil, adapters.Options{})
	if env(l, "GEMINI_CLI_SYSTEM_SETTINGS_PATH") != "" || env(l, "GEMINI_CLI_SYSTEM_DEFAULTS_PATH") != "" || file(l, "/state/gemini/settings.json") != "" {
		t.Errorf("%+v: settings were set though they are skipped", l)
	}
	if env(l, "GEMINI_PTY_INFO") != "child_process" {
		t.Error("the output of shell commands is lost")
	}
}

// session/load takes no key by itself, session/new does.
func TestLaunchWithAKeyAlone(t *testing.T) {
	const variable, usual = "GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"
	tests := []struct {
		resume string
		env    map[string]string
		want   string
	}{
		{"", map[string]string{"GEMINI_API_KEY": "k"}, ""},
		{"r", map[string]string{"GEMINI_API_KEY": "k"}, usual},
		{"r", map[string]string{"GEMINI_API_KEY": "k", variable: "http://gw"}, ""},
		{"r", nil, ""},
	}
	for _, tt := range tests {
		if got := env(launch(t, machine(nil, "x"), tt.env, adapters.Options{Resume: tt.resume}), variable); got != tt.want {
			t.Errorf("%+v: %s = %q", tt, variable, got)
		}
	}
}

// At its start it deletes the resumed sessions of the directory it is in.
func TestLaunchDir(t *testing.T) {
	tests := []struct{ os, insecure, start, want string }{
		{"linux", "", "", ""},
		{"linux", "not root's", "", "/"},
		{"windows", "not root's", "", `C:\`},
		{"linux", "not root's", "project", ""},
	}
	for _, tt := range tests {
		m := machine(nil, tt.insecure)
		m.OS = tt.os
		if got := launch(t, m, nil, adapters.Options{Settings: map[string]string{"start": tt.start}}).Dir; got != tt.want {
			t.Errorf("%+v: starts in %q, want %q", tt, got, tt.want)
		}
	}
}

func TestLaunchNotice(t *testing.T) {
	const keeps = `{"general":{"sessionRetention":{"enabled":false}}} // mine`
	tests := []struct {
		resume, settings string
		notices          int
	}{
		{"", "{}", 0}, {"r", "", 1}, {"r", keeps, 0}, {"r", "{}", 1}, {"r", "{", 1},
	}
	for _, tt := range tests {
		files := map[string]string{}
		if tt.settings != "" {
			files["/home/u/.gemini/settings.json"] = tt.settings
		}
		l := launch(t, machine(files, "x"), map[string]string{"HOME": "/home/u"}, adapters.Options{Resume: tt.resume})
		if len(l.Notices) != tt.notices {
			t.Errorf("%+v: notices %q, want %d", tt, l.Notices, tt.notices)
		}
	}
}

// An administrator's settings that cannot be read may forbid something.
func TestLaunchWithUnreadableSettings(t *testing.T) {
	broken := map[string]gemini.Machine{
		"not JSON":  machine(map[string]string{"/etc/gemini-cli/settings.json": "{"}, ""),
		"no object": machine(map[string]string{"/etc/gemini-cli/system-defaults.json": "[]"}, ""),
		"denied": {
			OS: "linux", Insecure: func(string) string { return "" },
			ReadFile: func(string) ([]byte, error) { return nil, errors.New("permission denied") },
		},
	}
	for name, m := range broken {
		if _, err := gemini.NewOn(m).Launch(adapters.LaunchRequest{Dir: "/w", StateDir: "/state"}); err == nil {
			t.Errorf("%s: launched", name)
		}
	}
}

func TestSystemPaths(t *testing.T) {
	for os, path := range map[string]string{
		"linux": "/etc/gemini-cli/settings.json", "darwin": "/Library/Application Support/GeminiCli/settings.json",
		"windows": `C:\ProgramData\gemini-cli\settings.json`,
	} {
		m := machine(map[string]string{path: `{"mine":1}`}, "")
		m.OS = os
		if got := file(launch(t, m, nil, adapters.Options{}), "/state/gemini/settings.json"); !strings.Contains(got, `"mine":1`) {
			t.Errorf("%s: settings = %s, want those of %s beneath", os, got, path)
		}
	}
}
