package gemini

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// Machine is what Launch looks at.
type Machine struct {
	// OS is like runtime.GOOS.
	OS string
	// ReadFile reads a settings file.
	ReadFile func(name string) ([]byte, error)
	// Insecure says why Gemini CLI would skip a settings file in a directory that
	// need not exist yet, empty when it would take it.
	Insecure func(dir string) string
}

func thisMachine() Machine {
	return Machine{OS: runtime.GOOS, ReadFile: os.ReadFile, Insecure: insecure}
}

// Variables of Gemini CLI.
const (
	systemSettingsVar = "GEMINI_CLI_SYSTEM_SETTINGS_PATH"
	systemDefaultsVar = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
	baseURLVar        = "GOOGLE_GEMINI_BASE_URL"
)

// eitherFace adds what Gemini CLI is started with in both faces: one process, a
// directory of its own for temporary files, trust where it was given.
func eitherFace(req adapters.LaunchRequest, l *adapters.Launch) {
	env := func(name, value string) { l.Env = append(l.Env, adapters.Pair{Name: name, Value: value}) }
	env("GEMINI_CLI_NO_RELAUNCH", "1")
	tmp := filepath.Join(req.StateDir, "tmp")
	env("TMPDIR", tmp)
	l.Files = append(l.Files, adapters.LaunchFile{
		Path: filepath.Join(tmp, "README"), Data: []byte("Temporary files of one Gemini CLI session.\n"),
	})
	if req.Options.Settings["trust"] == "yes" {
		env("GEMINI_CLI_TRUST_WORKSPACE", "true")
	}
}

// launch is the hook that says how Gemini CLI is started.
func (m Machine) launch(req adapters.LaunchRequest, l *adapters.Launch) error {
	eitherFace(req, l)
	// In a terminal of its own the output of a shell command is not told.
	l.Env = append(l.Env, adapters.Pair{Name: "GEMINI_PTY_INFO", Value: "child_process"})
	for _, dir := range req.Options.Dirs {
		l.Argv = append(l.Argv, "--include-directories", dir)
	}
	if err := m.askFirst(req, l); err != nil {
		return err
	}
	return m.overlay(req, l)
}

// overlay puts our settings above the user's, where Gemini CLI takes them. Where it
// does not, it is started away from the session's directory: at its start it
// deletes the resumed sessions of the directory it is started in.
func (m Machine) overlay(req adapters.LaunchRequest, l *adapters.Launch) error {
	if o := req.Options; o.Resume != "" && !m.keepsSessions(req) {
		l.Notices = append(l.Notices, "Gemini CLI deletes a resumed session when it is started in its directory by itself. "+
			"To keep such sessions set general.sessionRetention.enabled to false in ~/.gemini/settings.json.")
	}
	dir := filepath.Join(req.StateDir, "gemini")
	if m.Insecure(dir) != "" {
		if req.Options.Settings["start"] != "project" {
			l.Dir = "/"
			if m.OS == "windows" {
				l.Dir = `C:\`
			}
		}
		if req.Options.Resume != "" && onlyKey(req) {
			// session/load takes a key only when a login method was chosen, or
			// when it has an address: the usual one, then.
			l.Env = append(l.Env, adapters.Pair{Name: baseURLVar, Value: "https://generativelanguage.googleapis.com"})
		}
		return nil
	}
	return m.systemFiles(req, l, softDefaults(onlyKey(req)), func(system jsontext.Value) jsontext.Value { return merge(system, overrides(req.Options)) })
}

// systemFiles adds the settings files that stand in for the system's: what ours makes
// of an administrator's, and our defaults beneath theirs.
func (m Machine) systemFiles(req adapters.LaunchRequest, l *adapters.Launch, soft jsontext.Value, ours func(system jsontext.Value) jsontext.Value) error {
	settingsPath, defaultsPath := m.systemPaths(req)
	system, err := m.readSettings(settingsPath)
	if err != nil {
		return err
	}
	defaults, err := m.readSettings(defaultsPath)
	if err != nil {
		return err
	}
	dir := filepath.Join(req.StateDir, "gemini")
	for _, f := range []struct {
		variable, name string
		data           jsontext.Value
	}{
		{systemSettingsVar, "settings.json", ours(system)},
		{systemDefaultsVar, "system-defaults.json", merge(soft, defaults)},
	} {
		path := filepath.Join(dir, f.name)
		l.Env = append(l.Env, adapters.Pair{Name: f.variable, Value: path})
		l.Files = append(l.Files, adapters.LaunchFile{Path: path, Data: append(f.data, '\n')})
	}
	return nil
}

// systemPaths are the files that an administrator may have, which ours replace.
func (m Machine) systemPaths(req adapters.LaunchRequest) (settings, defaults string) {
	getenv := func(name string) string {
		if req.Getenv == nil {
			return ""
		}
		return req.Getenv(name)
	}
	if settings = getenv(systemSettingsVar); settings == "" {
		switch m.OS {
		case "darwin":
			settings = "/Library/Application Support/GeminiCli/settings.json"
		case "windows":
			settings = `C:\ProgramData\gemini-cli\settings.json`
		default:
			settings = "/etc/gemini-cli/settings.json"
		}
	}
	if defaults = getenv(systemDefaultsVar); defaults == "" {
		defaults = filepath.Join(filepath.Dir(settings), "system-defaults.json")
	}
	return settings, defaults
}

// readSettings reads a settings file of an administrator; a missing one is empty.
// One that cannot be read stops the launch: going on without it could lift what
// it forbids.
func (m Machine) readSettings(path string) (jsontext.Value, error) {
	data, err := m.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return jsontext.Value("{}"), nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the system's settings of Gemini CLI: %w", err)
	}
	v, err := rawjson.Parse(withoutComments(data))
	if err != nil || v.Kind() != rawjson.Object {
		return nil, fmt.Errorf("system settings of Gemini CLI in %s: want a JSON object", path)
	}
	return v.Clean(), nil
}

// home is the directory that the user's own settings lie below.
func (m Machine) home(req adapters.LaunchRequest) string {
	if req.Getenv == nil {
		return ""
	}
	if home := req.Getenv("GEMINI_CLI_HOME"); home != "" {
		return home
	}
	return req.Getenv("HOME")
}

// keepsSessions reports whether the user's own settings keep resumed sessions.
func (m Machine) keepsSessions(req adapters.LaunchRequest) bool {
	if req.Getenv == nil {
		return false
	}
	data, err := m.ReadFile(filepath.Join(m.home(req), ".gemini", "settings.json"))
	if err != nil {
		return false
	}
	v, err := rawjson.Parse(withoutComments(data))
	enabled := v.Get("general", "sessionRetention", "enabled")
	return err == nil && enabled.Kind() == rawjson.Bool && !enabled.True()
}
