package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/config"
)

// load loads a file with this content and environment.
func load(t *testing.T, content string, o config.LoadOptions) (config.Config, error) {
	t.Helper()
	o.File = filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(o.File, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Environ = append(o.Environ, "HOME=/home/u")
	return config.Load(o)
}

func mustLoad(t *testing.T, content string, environ ...string) config.Config {
	t.Helper()
	c, err := load(t, content, config.LoadOptions{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	c, err := config.Load(config.LoadOptions{Environ: []string{"HOME=/nowhere/u"}})
	if err != nil {
		t.Fatal(err)
	}
	if c.File != "" || c.StateDir != "/nowhere/u/.local/state/agenthost" {
		t.Errorf("without a file: file %q, state %q", c.File, c.StateDir)
	}
	if c.Log != (config.Log{Level: "info", Format: "text"}) ||
		c.Journal != (config.Journal{Sync: "interval", Interval: 20 * time.Millisecond, SegmentBytes: 16 << 20}) ||
		c.NativeLog != (config.NativeLog{Enabled: true, FileBytes: 16 << 20, Files: 8}) ||
		c.Limits != (config.Limits{
			LineBytes: 64 << 20, OutputBytes: 256 << 10, StderrBytes: 16 << 10, Start: 2 * time.Minute, Stall: time.Minute,
			Abort: 20 * time.Second, Stop: 3 * time.Second, Quiet: 2 * time.Second, Restarts: 3,
		}) || c.Relay != (config.Relay{Profile: "extended"}) {
		t.Errorf("defaults are %s", c.Show())
	}
	want := config.Permissions{Mode: "default", Timeout: 10 * time.Minute, Remember: "host"}
	if !reflect.DeepEqual(c.Permissions, want) {
		t.Errorf("permissions are %+v, want %+v", c.Permissions, want)
	}
	for _, content := range []string{"", "\n# nothing\n", "---\n", "log:\njournal: \nagents:\nprices:\npermissions:\n  rules:\n  mode:\nlimits: {}\n", "agents:\n  custom:\n  x:\n", "\ufeff"} {
		got := mustLoad(t, content)
		if got.Log != c.Log || got.Limits != c.Limits || got.Journal != c.Journal || !reflect.DeepEqual(got.Permissions, want) {
			t.Errorf("%q changes the defaults: %s", content, got.Show())
		}
	}
}

func TestLayers(t *testing.T) {
	file := "log: {level: warn, format: json}\nlimits:\n  abort: 5s\n  lineBytes: 2MiB\nstateDir: ~/state\n"
	o := config.LoadOptions{
		Environ: []string{"AGENTHOST_LOG_LEVEL=error", "AGENTHOST_LIMITS_LINE_BYTES=4194304", "AGENTHOST_LIMITS_STALL=", "AGENTHOST_NATIVE_LOG_ENABLED=false"},
		Set:     map[string]config.Override{"log.level": {"debug", "--log-level"}},
	}
	c, err := load(t, file, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		path, origin string
		got, want    any
	}{
		{"log.level", "--log-level", c.Log.Level, "debug"},
		{"log.format", c.File + ":1", c.Log.Format, "json"},
		{"limits.lineBytes", "AGENTHOST_LIMITS_LINE_BYTES", c.Limits.LineBytes, int64(4 << 20)},
		{"limits.abort", c.File + ":3", c.Limits.Abort, 5 * time.Second},
		{"limits.stall", "default", c.Limits.Stall, time.Minute},
		{"nativeLog.enabled", "AGENTHOST_NATIVE_LOG_ENABLED", c.NativeLog.Enabled, false},
		{"stateDir", c.File + ":5", c.StateDir, "/home/u/state"},
	} {
		if w.got != w.want || c.Origin(w.path) != w.origin {
			t.Errorf("%s is %v from %q, want %v from %q", w.path, w.got, c.Origin(w.path), w.want, w.origin)
		}
	}
	if len(c.Warnings) > 0 {
		t.Errorf("warnings: %q", c.Warnings)
	}
}

// B168: a key that only the environment sets reaches the typed configuration.
func TestEnvironmentOnly(t *testing.T) {
	c, err := config.Load(config.LoadOptions{Environ: []string{"HOME=/nowhere", "XDG_STATE_HOME=/state", "AGENTHOST_RELAY_URL=ws://127.0.0.1:9", "AGENTHOST_PERMISSIONS_ON_ASK=deny"}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Relay.URL != "ws://127.0.0.1:9" || c.Permissions.OnAsk != "deny" || c.StateDir != "/state/agenthost" {
		t.Errorf("relay %q, onAsk %q, state %q", c.Relay.URL, c.Permissions.OnAsk, c.StateDir)
	}
	c = mustLoad(t, "permissions: {onAsk: wait}", "AGENTHOST_PERMISSIONS_ON_ASK=fail")
	if c.Permissions.OnAsk != "fail" {
		t.Errorf("onAsk is %q, want that of the environment", c.Permissions.OnAsk)
	}
	_, err = config.Load(config.LoadOptions{Environ: []string{}})
	if err == nil || !strings.Contains(err.Error(), "stateDir: want a directory, got none") {
		t.Errorf("without HOME: %v", err)
	}
}

// B166: names that are the user's data keep their case and dots.
func TestAgents(t *testing.T) {
	c := mustLoad(t, `
agents:
  claude:
    env:
      ANTHROPIC_BASE_URL: http://127.0.0.1:8080
      MixedCase_Var: x
      lower: y
      PORT: 0x10
      EMPTY:
      FLAG: yes
    passEnv: AWS_*
    model: gpt-5.2
    mode: plan
    settings: {Some.Setting: 1.50}
  "My-Agent":
    command: [agent, --Flag]
    args: [-v, 2]
    env: ["A=b=c", "D="]
  custom:
    - name: own
      title: My Own
      command: [own, --acp]
      install: npm i own
      login: own login
      versionArgs: [--version]
      passEnv: [OWN_*]
      env: {OWN_TOKEN: geheim-wort}
      quirks:
        modes: {plan: read-only}
        startMode: ask
        freeModes: [yolo]
        tools: {Shell: bash}
        nameFromTitle: true
        nameFromID: "-"
        titleIsCommand: true
        readFile: true
        usage: session
        steer: never
        fork:
        replaySettle: 250ms
        noLoad: it loses files
        errorText: "API Error"
`, "AGENTHOST_AGENTS_MY_AGENT_MODEL=m2", "AGENTHOST_AGENTS_NEW_ONE_THINKING=high", "AGENTHOST_AGENTS_CLAUDE_MODE=default")
	for name, want := range map[string]config.Agent{
		"claude": {
			Env: []config.Pair{
				{"ANTHROPIC_BASE_URL", "http://127.0.0.1:8080"},
				{"MixedCase_Var", "x"},
				{"lower", "y"},
				{"PORT", "0x10"},
				{"EMPTY", ""},
				{"FLAG", "yes"},
			},
			PassEnv: []string{"AWS_*"}, Model: "gpt-5.2", Mode: "default", Settings: map[string]string{"Some.Setting": "1.50"},
		},
		"My-Agent": {Command: []string{"agent", "--Flag"}, Args: []string{"-v", "2"}, Env: []config.Pair{{"A", "b=c"}, {"D", ""}}, Model: "m2"},
		"new-one":  {Thinking: "high"},
		"none":     {},
	} {
		if got := c.Agent(name); !reflect.DeepEqual(got, want) {
			t.Errorf("agent %s is %+v, want %+v", name, got, want)
		}
	}
	if got, want := c.Agents(), []string{"My-Agent", "claude", "new-one"}; !slices.Equal(got, want) {
		t.Errorf("Agents() = %q, want %q", got, want)
	}
	if len(c.Custom) != 1 {
		t.Fatalf("custom agents: %+v, want one", c.Custom)
	}
	own := c.Custom[0]
	if own.At != "config.yaml:20: agents.custom[0]" {
		t.Errorf("the custom agent stands at %q", own.At)
	}
	own.At = ""
	want := config.CustomAgent{
		Name: "own", Title: "My Own", Command: []string{"own", "--acp"}, Install: "npm i own", Login: "own login", VersionArgs: []string{"--version"},
		PassEnv: []string{"OWN_*"}, Env: []config.Pair{{"OWN_TOKEN", "geheim-wort"}},
		Quirks: config.Quirks{
			Modes: map[string]string{"plan": "read-only"}, StartMode: "ask", FreeModes: []string{"yolo"}, Tools: map[string]string{"Shell": "bash"},
			NameFromTitle: true, NameFromID: "-", TitleIsCommand: true, ReadFile: true, Usage: "session", Steer: "never", Fork: "advertised",
			ReplaySettle: 250 * time.Millisecond, NoLoad: "it loses files", ErrorText: "API Error",
		},
	}
	if !reflect.DeepEqual(own, want) {
		t.Errorf("the custom agent is %+v\nwant %+v", own, want)
	}
	if got, want := c.Secrets(), []string{"geheim-wort"}; !slices.Equal(got, want) {
		t.Errorf("Secrets() = %q, want %q", got, want)
	}
}

func TestRules(t *testing.T) {
	c := mustLoad(t, `
permissions:
  mode: plan
  allowBypass: true
  timeout: 0
  rules:
    - deny: bash(rm -rf /**)
    - allow: mcp(github/get_*)
      agents: [claude, codex]
      cwd: ~/src/**
      subagent: false
`)
	no := false
	want := []config.Rule{
		{Deny: "bash(rm -rf /**)", At: "config.yaml:7: permissions.rules[0]"},
		{Allow: "mcp(github/get_*)", Agents: []string{"claude", "codex"}, Cwd: "~/src/**", Subagent: &no, At: "config.yaml:8: permissions.rules[1]"},
	}
	if p := c.Permissions; !reflect.DeepEqual(p.Rules, want) || p.Mode != "plan" || !p.AllowBypass || p.Timeout != 0 {
		t.Errorf("permissions are %+v, want rules %+v", p, want)
	}
}

func TestPrices(t *testing.T) {
	c := mustLoad(t, `
prices:
  gpt-5.2: {input: 1, output: 2}
  gpt-5*: {input: 3, output: 4, cacheRead: 0.5, cacheWrite: 6}
  gpt-5.1*: {input: 5, output: 6}
`)
	for model, want := range map[string]float64{"gpt-5.2": 1, "gpt-5.2-mini": 3, "gpt-5": 3, "gpt-5.1-x": 5} {
		if p, ok := c.Price(model); !ok || p.Input != want {
			t.Errorf("Price(%q) = %+v, %t, want input %v", model, p, ok, want)
		}
	}
	if p, ok := c.Price("claude"); ok {
		t.Errorf("Price(claude) = %+v, want none", p)
	}
	p, _ := c.Price("gpt-5")
	if got, want := p.Cost(1_000_000, 500_000, 200_000, 100_000), 0.7*3+0.5*4+0.2*0.5+0.1*6; got-want > 1e-9 || want-got > 1e-9 {
		t.Errorf("Cost = %v, want %v", got, want)
	}
	if p, _ := c.Price("gpt-5.2"); p.CacheRead != 1 || p.CacheWrite != 1 || p.Cost(5, 0, 10, 0) < 0 {
		t.Errorf("price without cache prices is %+v", p)
	}
}

// B171 and its kin: nothing is ignored, every fault says where and what.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{"permision:\n  default: ask\n", `:1: permision: unknown key "permision", did you mean "permissions"?`},
		{"agents:\n  claude:\n    comand: [x]\n", `:3: agents.claude.comand: unknown key "comand", did you mean "command"?`},
		{"state_dir: /x\n", `:1: state_dir: unknown key "state_dir", did you mean "stateDir"?`},
		{"statedir: /x\n", `:1: statedir: unknown key "statedir", did you mean "stateDir"?`},
		{"enabled: true\n", `:1: enabled: unknown key "enabled"`},
		{"log:\n  level: info\n  level: warn\n", `:3: log.level: repeated key: it stands in line 2 already`},
		{"log: {}\nlog: {}\n", `:2: log: repeated key: it stands in line 1 already`},
		{"agents:\n  a: {}\n  a: {}\n", `:3: agents.a: repeated key`},
		{"agents: {a: {env: {X: 1, X: 2}}}\n", `:1: agents.a.env.X: repeated key`},
		{"log:\n  level: warning\n", `:2: log.level: want one of debug, info, warn, error, got "warning"`},
		{"permissions:\n  mode: acceptedits\n", `:2: permissions.mode: want one of default, acceptEdits, plan, bypassPermissions, got "acceptedits", did you mean "acceptEdits"?`},
		{"permissions: {mode: bypassPermissions}\n", `permissions.mode: want permissions.allowBypass: true with bypassPermissions, got false`},
		{"permissions: {allowBypass: 1}\n", `permissions.allowBypass: want true or false, got "1"`},
		{"permissions: {rules: {deny: x}}\n", `permissions.rules: want a list, got a mapping`},
		{"permissions:\n  rules:\n    - allow: a\n      deny: b\n", `:3: permissions.rules[0]: want one of allow, ask and deny, got 2 of them`},
		{"permissions:\n  rules:\n    - alow: a\n", `:3: permissions.rules[0].alow: unknown key "alow", did you mean "allow"?`},
		{"permissions:\n  rules:\n    - {allow: a, subagent: maybe}\n", `permissions.rules[0].subagent: want true or false, got "maybe"`},
		{"limits: {abort: 20}\n", `limits.abort: want a duration such as 20ms, 10m, 2h or 30d, or 0, got "20"`},
		{"limits: {abort: 1ms}\n", `limits.abort: want at least 1s, got "1ms"`},
		{"limits: {abort: -1s}\n", `limits.abort: want a duration`},
		{"limits: {abort: 0}\n", `limits.abort: want at least 1s, got "0"`},
		{"limits: {restarts: -1}\n", `limits.restarts: want an integer of at least 0, got "-1"`},
		{"limits: {restarts: 1.5}\n", `limits.restarts: want an integer`},
		{"limits: {lineBytes: 64M}\n", `limits.lineBytes: want a number of bytes such as 65536, 64KiB or 16MiB, got "64M"`},
		{"limits: {lineBytes: 99999999999999GiB}\n", `limits.lineBytes: want a number of bytes`},
		{"limits: {lineBytes: 1KiB}\n", `limits.lineBytes: want at least 1MiB, got "1KiB"`},
		{"limits: [1]\n", `limits: want a mapping, got a list`},
		{"limits: 5\n", `limits: want a mapping, got "5"`},
		{"log: {level: [info]}\n", `log.level: want one value, got a list`},
		{"stateDir: relative\n", `stateDir: want an absolute path or one that begins with ~/, got "relative"`},
		{"relay: {url: \"http://x/?token=geheim\"}\n", `relay.url: want a URL such as wss://relay.example/, got "http://x/…"`},
		{"relay: {url: \"://user:geheim@x\"}\n", `relay.url: want a URL`},
		{"agents: {a: {command: agent --acp}}\n", `agents.a.command: want a list such as [agent, --acp], got "agent --acp"`},
		{"agents: {a: {command: [\"\"]}}\n", `agents.a.command: want a program, got an empty text`},
		{"agents: {a: {command: [{x: y}]}}\n", `agents.a.command[0]: want one value, got a mapping`},
		{"agents: {a: {args: {x: y}}}\n", `agents.a.args: want a list, got a mapping`},
		{"agents: {a: {env: [geheim]}}\n", `agents.a.env[0]: want NAME=VALUE, got no =`},
		{"agents: {a: {env: {\"A=B\": c}}}\n", `agents.a.env.A=B: want the name and value of a variable, got "A=B"`},
		{"agents: {a: {env: 5}}\n", `agents.a.env: want a mapping, got "5"`},
		{"agents: {a: {mode: fast}}\n", `agents.a.mode: want one of default, acceptEdits`},
		{"agents: {a: {mode: bypassPermissions}}\n", `agents.a.mode: want permissions.allowBypass: true`},
		{"agents: {custom: [{name: x}]}\n", `agents.custom[0]: want a command, got none`},
		{"agents: {custom: [{command: [x]}]}\n", `agents.custom[0]: want a name, got none`},
		{"agents: {custom: [{name: a b, command: [x]}]}\n", `agents.custom[0].name: want a name without spaces and slashes, got "a b"`},
		{"agents: {custom: [{name: a, command: [x]}, {name: a, command: [x]}]}\n", `agents.custom[1].name: want a name of its own, got "a" again`},
		{"agents: {custom: [{name: a, command: [x], quirks: {steer: fast}}]}\n", `quirks.steer: want one of advertised, prompt, drain, never, got "fast"`},
		{"agents: {custom: [{name: a, command: [x], quirks: {replaySettle: 5}}]}\n", `quirks.replaySettle: want a duration`},
		{"agents: {custom: [{name: a, command: [x], quirks: {noresume: true}}]}\n", `unknown key "noresume", did you mean "noResume"?`},
		{"prices: {m: {input: -1, output: 1}}\n", `prices.m.input: want a number of 0 or more, got "-1"`},
		{"prices: {m: {input: 1}}\n", `prices.m: want input and output, got ["input"]`},
		{"prices: {m: {input: 1, output: NaN}}\n", `prices.m.output: want a number of 0 or more, got "NaN"`},
		{"base: &b {level: info}\nlog: {<<: *b}\n", `log: want a name as key`},
		{"a: [\n", `config.yaml:`},
		{"log:\n\tlevel: info\n", `:2: found character that cannot start any token`},
		{"log: {level: info}\n---\nlog: {level: warn}\n", `want one YAML document, got another behind it`},
		{"just text\n", `want a mapping, got "just text"`},
		{"- a\n", `want a mapping, got a list`},
		{"? [a]\n: b\n", `want a name as key, got a list`},
	} {
		_, err := load(t, c.content, config.LoadOptions{})
		var faults config.Faults
		if !errors.As(err, &faults) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q gave\n%v\nwant\n%s", c.content, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: the error tells a secret: %v", c.content, err)
		}
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	_, err := load(t, "log: {level: x}\nlimits: {abort: y}\nfoo: 1\n", config.LoadOptions{
		Environ: []string{"AGENTHOST_JOURNAL_SYNC=sometimes"},
		Set:     map[string]config.Override{"log.format": {"xml", "--log-format"}, "log.levl": {"info", "--log-level"}},
	})
	var faults config.Faults
	if !errors.As(err, &faults) || len(faults) != 6 {
		t.Fatalf("got %d faults, want 6: %v", len(faults), err)
	}
	for _, want := range []string{
		"AGENTHOST_JOURNAL_SYNC: journal.sync: want one of off, interval, always", "--log-format: log.format: want one of text, json",
		`--log-level: log.levl: unknown key, did you mean "log.level"?`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error has no %q:\n%v", want, err)
		}
	}
}

func TestCheck(t *testing.T) {
	bad := errors.New("rule 3 is odd")
	_, err := load(t, "log: {level: debug}", config.LoadOptions{Check: func(c config.Config) error {
		if c.Log.Level != "debug" {
			t.Errorf("Check sees level %q", c.Log.Level)
		}
		return bad
	}})
	if !errors.Is(err, bad) {
		t.Errorf("Load gave %v, want the error of Check", err)
	}
}

func TestWarnings(t *testing.T) {
	c, err := load(t, "", config.LoadOptions{
		Environ:  []string{"AGENTHOST_LOG_LEVLE=debug", "AGENTHOST_AGENTS_X_COLOR=red", "AGENTHOST_TEST_THING=1", "AGENTHOST_CONFIG=/x"},
		KnownEnv: []string{"AGENTHOST_TEST_THING"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"the variable AGENTHOST_AGENTS_X_COLOR means nothing",
		`the variable AGENTHOST_LOG_LEVLE means nothing, did you mean "AGENTHOST_LOG_LEVEL"?`,
	}
	if !slices.Equal(c.Warnings, want) {
		t.Errorf("warnings are %q, want %q", c.Warnings, want)
	}
	if err := os.Chmod(c.File, 0o606); err != nil {
		t.Fatal(err)
	}
	c, err = config.Load(config.LoadOptions{File: c.File, Environ: []string{"HOME=/home/u"}})
	if err != nil || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "can be written by everybody") {
		t.Errorf("a file for everybody gave %q, %v", c.Warnings, err)
	}
}

// What is set for an agent that there is not is set for nobody, so it is told.
func TestUnknownAgents(t *testing.T) {
	const file = `
permissions: {rules: [{deny: read, agents: [mine, cladue, claude]}]}
agents:
  clade: {model: m}
  other: {command: [other, --acp]}
  My_Agent: {model: m}
  custom:
    - {name: mine, command: [mine]}
    - {name: My_Agent, command: [mine]}
`
	known := []string{"claude", "codex"}
	_, err := load(t, file, config.LoadOptions{KnownAgents: known})
	var faults config.Faults
	if !errors.As(err, &faults) || len(faults) != 2 {
		t.Fatalf("Load gave %v, want two faults", err)
	}
	for i, want := range []string{
		`:4: agents.clade: unknown agent "clade", did you mean "claude"?`,
		`:5: agents.other: unknown agent "other"; one of your own stands under agents.custom`,
	} {
		if got := faults[i].Error(); !strings.HasSuffix(got, want) {
			t.Errorf("fault %d = %s, want %s", i, got, want)
		}
	}
	if _, err := load(t, file, config.LoadOptions{}); err != nil {
		t.Errorf("Load without known names gave %v", err)
	}

	good := strings.NewReplacer("  clade: {model: m}\n", "", "  other: {command: [other, --acp]}\n", "").Replace(file)
	c, err := load(t, good, config.LoadOptions{KnownAgents: known, Environ: []string{
		"AGENTHOST_AGENTS_CODEX_MODEL=a", "AGENTHOST_AGENTS_MINE_MODEL=b", "AGENTHOST_AGENTS_MY_AGENT_MODEL=c", "AGENTHOST_AGENTS_CODX_MODEL=d",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Agent("codex").Model != "a" || c.Agent("mine").Model != "b" || c.Agent("My_Agent").Model != "c" || slices.Contains(c.Agents(), "codx") {
		t.Errorf("agents are %q, want codex, mine and My_Agent with the models of the variables", c.Agents())
	}
	if len(c.Warnings) != 2 || !strings.HasSuffix(c.Warnings[0], `permissions.rules[0].agents: unknown agent "cladue", did you mean "claude"?`) ||
		c.Warnings[1] != `the variable AGENTHOST_AGENTS_CODX_MODEL means nothing: unknown agent "codx", did you mean "codex"?` {
		t.Errorf("warnings are %q", c.Warnings)
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct {
		o    config.LoadOptions
		path string
		must bool
	}{
		{config.LoadOptions{Environ: []string{"HOME=/h"}}, "/h/.config/agenthost/config.yaml", false},
		{config.LoadOptions{Environ: []string{"HOME=/h", "XDG_CONFIG_HOME=/x"}}, "/x/agenthost/config.yaml", false},
		{config.LoadOptions{Environ: []string{"HOME=/h", "XDG_CONFIG_HOME=rel"}}, "/h/.config/agenthost/config.yaml", false},
		{config.LoadOptions{Environ: []string{"HOME=/h", "AGENTHOST_CONFIG=/e.yaml"}}, "/e.yaml", true},
		{config.LoadOptions{File: "/f.yaml", Environ: []string{"AGENTHOST_CONFIG=/e.yaml"}}, "/f.yaml", true},
		{config.LoadOptions{Environ: []string{}}, "", false},
	} {
		if path, must := c.o.Path(); path != c.path || must != c.must {
			t.Errorf("Path of %+v = %q, %t, want %q, %t", c.o, path, must, c.path, c.must)
		}
	}
}

func TestUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, []byte(strings.Repeat("# x\n", 2<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "no such file", dir: "want a file, got a directory", big: "want at most 4MiB, got more", "/dev/null": "want a file, got a special file",
	} {
		if _, err := config.Load(config.LoadOptions{File: file, Environ: []string{"HOME=/h"}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load(%s) gave %v, want %q", file, err, want)
		}
	}
}

// B179: no way of printing a configuration tells a secret.
func TestSecretsStayInside(t *testing.T) {
	c := mustLoad(t, `
relay:
  url: wss://relay.example/ws?token=tok_FAKE_0001
agents:
  acp:
    command: [agent, --header, "Authorization: Bearer sk-fake-0001"]
    args: [--key, sk-fake-0004]
    env:
      MY_API_KEY: sk-fake-0002
      OTHER_TOKEN: "tok_FAKE_0003"
    settings:
      api-key: geheim-wort
`)
	for _, out := range []string{c.Show(), fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), c.LogValue().String()} {
		for _, secret := range []string{"tok_FAKE", "sk-fake", "geheim"} {
			if strings.Contains(out, secret) {
				t.Errorf("%q tells %q", out, secret)
			}
		}
	}
	if got, want := c.Secrets(), []string{"geheim-wort", "sk-fake-0002", "tok_FAKE_0003"}; !slices.Equal(got, want) {
		t.Errorf("Secrets() = %q, want %q", got, want)
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{"", config.Init(), "log: {level: info}", "a: &a [*a]", "agents: {x: {env: {A: b}}}", "permissions:\n  rules:\n    - allow: x\n", "? {}\n: y", "<<: 1"} {
		f.Add(s)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content string) {
		file := filepath.Join(dir, "config.yaml")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(config.LoadOptions{File: file, Environ: []string{"HOME=/home/u"}})
		if err != nil {
			return
		}
		// What is shown reads back as the same, when nothing in it is secret.
		shown := c.Show()
		if strings.Contains(shown, "***") {
			return
		}
		if err := os.WriteFile(file, []byte(shown), 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := config.Load(config.LoadOptions{File: file, Environ: []string{"HOME=/home/u"}})
		if err != nil {
			t.Fatalf("Show of %q does not read back: %v\n%s", content, err, shown)
		}
		if got := again.Show(); stripOrigins(got) != stripOrigins(shown) {
			t.Errorf("Show is\n%s\nthen\n%s", shown, got)
		}
	})
}

// stripOrigins leaves the comments out.
func stripOrigins(shown string) string {
	var b strings.Builder
	for line := range strings.Lines(shown) {
		line, _, _ = strings.Cut(line, "  # ")
		if !strings.HasPrefix(line, "#") {
			b.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	return b.String()
}
