package gemini_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/gemini"
	"github.com/agenthost/agenthost/internal/rawjson"
)

func launchTerminal(m gemini.Machine, env map[string]string, o adapters.Options) (adapters.Launch, error) {
	return gemini.NewOn(m).LaunchTerminal(adapters.TerminalRequest{
		LaunchRequest: adapters.LaunchRequest{
			Dir: "/home/u/My Work", SessionID: "s", StateDir: "/state", Args: []string{"--mine"},
			Getenv: func(name string) string { return env[name] }, Options: o,
		},
		Hook: "'/opt/agent host' hook", HookClosed: "never", SocketDir: "/run/x",
	})
}

const earlier = "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"

func TestTerminalLaunch(t *testing.T) {
	home := map[string]string{"HOME": "/home/u", "GEMINI_API_KEY": "k"}
	own := func(l adapters.Launch) string { return l.Argv[slices.Index(l.Argv, "--session-id")+1] }
	first, err := launchTerminal(bare, home, adapters.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if id := own(first); !slices.Equal(first.Argv, []string{"gemini", "--approval-mode", "default", "--session-id", id, "--mine"}) || len(id) != 36 {
		t.Errorf("argv = %q", first.Argv)
	}
	if !first.Screen || first.Server != nil {
		t.Errorf("Launch = %+v, want Terminal frames and no server", first)
	}
	if got, want := env(first, "AGENTHOST_GEMINI_CHATS"), "/home/u/.gemini/tmp/my-work/chats/session-*-"+own(first)[:8]+".jsonl"; got != want {
		t.Errorf("chats = %q, want %q", got, want)
	}
	for name, c := range map[string]struct {
		options adapters.Options
		want    string
	}{
		"a mode":    {adapters.Options{Mode: "acceptEdits"}, "--approval-mode auto_edit"},
		"bypassing": {adapters.Options{Mode: "bypassPermissions", AllowBypass: true}, "--approval-mode yolo"},
		"a model":   {adapters.Options{Model: "m"}, "--model m"},
		"a sandbox": {adapters.Options{Sandbox: true}, "--sandbox"},
		"a place":   {adapters.Options{Dirs: []string{"/x"}}, "--include-directories /x"},
		"newest":    {adapters.Options{Continue: true}, "--resume latest"},
		"earlier":   {adapters.Options{Resume: earlier}, "--resume " + earlier},
	} {
		l, err := launchTerminal(bare, home, c.options)
		if err != nil || !strings.Contains(strings.Join(l.Argv, " "), c.want) {
			t.Errorf("%s: argv = %q, %v, want %q in it", name, l.Argv, err, c.want)
		}
	}
	for name, o := range map[string]adapters.Options{
		"a thinking level": {Thinking: "high"}, "a fork": {Fork: earlier}, "a system prompt": {SystemPrompt: "x"},
		"no mode": {Mode: "dontAsk"}, "yolo without the opt-in": {Mode: "bypassPermissions"}, "no session": {Resume: "x"},
	} {
		if _, err := launchTerminal(bare, home, o); err == nil {
			t.Errorf("%s = nil error", name)
		}
	}
}

// TestTerminalSettings: hooks are added to an administrator's, and nothing is written
// into the user's files.
func TestTerminalSettings(t *testing.T) {
	m := machine(map[string]string{
		"/etc/gemini-cli/settings.json": `{"hooks":{"BeforeTool":[{"matcher":"x","hooks":[]}]},"security":{"disableYoloMode":true}}`,
	}, "")
	l, err := launchTerminal(m, map[string]string{"GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": "http://x"}, adapters.Options{
		AllowBypass: true, MCPServers: []adapters.MCPServer{
			{Name: "a", Command: "/a", Args: []string{"1"}, Env: []adapters.Pair{{Name: "K", Value: "v"}}}, {Name: "b", Transport: "http", URL: "https://b"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := rawjson.Parse([]byte(file(l, "/state/gemini/settings.json")))
	if err != nil {
		t.Fatal(err)
	}
	var lists []string
	for h := range settings.Get("hooks", "BeforeTool").Elements() {
		lists = append(lists, string(h))
	}
	ours := func(timeout string) string {
		return `{"hooks":[{"type":"command","name":"agenthost","timeout":` + timeout + `,"command":"'/opt/agent host' hook"}]}`
	}
	if !slices.Equal(lists, []string{`{"matcher":"x","hooks":[]}`, ours("30000")}) {
		t.Errorf("BeforeTool = %q", lists)
	}
	// It alone is held back.
	if got := string(settings.Get("hooks", "Notification").Clean()); got != "["+ours("2147483647")+"]" {
		t.Errorf("Notification = %s", got)
	}
	if got := settings.Get("security").Clean(); string(got) != `{"disableYoloMode":true,"enablePermanentToolApproval":false,"disableAlwaysAllow":true}` {
		t.Errorf("security = %s", got)
	}
	if got := settings.Get("mcpServers").Clean(); string(got) != `{"a":{"command":"/a","args":["1"],"env":{"K":"v"}},"b":{"httpUrl":"https://b"}}` {
		t.Errorf("mcpServers = %s", got)
	}
	if settings.Get("hooks", "AfterModel").Given() {
		t.Error("AfterModel is hooked: it holds up each piece of an answer")
	}
	if got := file(l, "/state/gemini/system-defaults.json"); !strings.Contains(got, `"selectedType":"gemini-api-key"`) {
		t.Errorf("defaults = %s, want the key chosen", got)
	}
}

// TestTerminalWithoutSettings: what depends on settings of ours is told or refused.
func TestTerminalWithoutSettings(t *testing.T) {
	m := machine(nil, "/state does not belong to root")
	l, err := launchTerminal(m, nil, adapters.Options{})
	if err != nil || len(l.Notices) != 1 || !strings.Contains(l.Notices[0], "answered at its terminal alone") {
		t.Errorf("notices %q, %v", l.Notices, err)
	}
	if env(l, "GEMINI_CLI_SYSTEM_SETTINGS_PATH") != "" {
		t.Error("settings are set that it skips")
	}
	if _, err := launchTerminal(m, nil, adapters.Options{MCPServers: []adapters.MCPServer{{Name: "a"}}}); !errors.Is(err, adapters.ErrUnsupported) {
		t.Errorf("MCP servers = %v, want ErrUnsupported", err)
	}
}

// TestProjectNames: the directory of the chat files is the one that Gemini CLI knows, or
// will make.
func TestProjectNames(t *testing.T) {
	for projects, want := range map[string]string{
		``:                "my-work",
		`{"projects":{}}`: "my-work",
		`{"projects":{"/home/u/My Work":"work-7"}}`:         "work-7",
		`{"projects":{"/home/u/My Work":"../../etc"}}`:      "my-work",
		`{"projects":{"/a":"my-work","/b":"my-work-1"}}`:    "my-work-2",
		`{"projects":{"/home/u/other":"other"},"more":[1]}`: "my-work",
	} {
		files := map[string]string{}
		if projects != "" {
			files["/home/u/.gemini/projects.json"] = projects
		}
		l, err := launchTerminal(machine(files, ""), map[string]string{"HOME": "/home/u"}, adapters.Options{})
		if got := filepath.Base(filepath.Dir(filepath.Dir(env(l, "AGENTHOST_GEMINI_CHATS")))); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", projects, got, err, want)
		}
	}
}

// TestResumeWaitsForAnotherMinute runs what a resumed session is started with.
func TestResumeWaitsForAnotherMinute(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("there is no sh: nothing is started with it here")
	}
	home := t.TempDir()
	l, err := gemini.NewOn(bare).LaunchTerminal(adapters.TerminalRequest{LaunchRequest: adapters.LaunchRequest{
		Command: []string{"echo", "started"}, Dir: "/w", SessionID: "s", StateDir: "/state", Options: adapters.Options{Resume: earlier},
		Getenv: func(name string) string { return map[string]string{"HOME": home}[name] },
	}})
	if err != nil {
		t.Fatal(err)
	}
	start := func(minute time.Time) string {
		chats := filepath.Join(home, ".gemini", "tmp", "w", "chats")
		if err := os.MkdirAll(chats, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(chats, "session-"+minute.UTC().Format("2006-01-02T15-04")+"-"+earlier[:8]+".jsonl")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		// A second is not waited for: the file goes, as the minute does.
		fake := filepath.Join(home, "bin")
		if err := os.MkdirAll(fake, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(fake, "sleep"), []byte("#!/bin/sh\nexec rm '"+path+"'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(fake, "date"), []byte("#!/bin/sh\necho 2026-11-30T17-50\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(l.Argv[0], l.Argv[1:]...)
		cmd.Env = []string{"PATH=" + fake + ":" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	now := time.Date(2026, 11, 30, 17, 50, 20, 0, time.UTC)
	if got := start(now); !strings.HasPrefix(got, "Gemini CLI loses a session") || !strings.HasSuffix(got, "\nstarted --approval-mode default --resume "+earlier+"\n") {
		t.Errorf("in the minute of its file: %q", got)
	}
	if got := start(now.Add(-time.Minute)); got != "started --approval-mode default --resume "+earlier+"\n" {
		t.Errorf("a minute later: %q", got)
	}
}
