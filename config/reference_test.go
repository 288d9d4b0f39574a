package config

import (
	"bytes"
	"encoding/json/v2"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "rewrite docs/config.md")

// reference is docs/config.md.
func reference() string {
	var b strings.Builder
	b.WriteString(`# Configuration

The file is ` + "`$XDG_CONFIG_HOME/agenthost/config.yaml`" + ` (usually ` + "`~/.config/agenthost/config.yaml`" + `), or the one that ` + "`--config`" + ` or
` + "`AGENTHOST_CONFIG`" + ` names. Later wins: default, file, variable, flag. ` + "`agenthost config init`" + ` writes a file with everything in it,
` + "`config check`" + ` says what is wrong, ` + "`config show`" + ` what is in force and where it comes from, ` + "`config schema`" + ` prints a JSON Schema
for editors.

A key that is unknown, misspelt or repeated, or a value of the wrong kind, is an error with its line. ` + "`agenthost run`" + `
reads it once, when it starts. Durations are written ` + "`20ms`, `10m`, `2h`, `30d`, `0`" + `; sizes ` + "`65536`, `64KiB`, `16MiB`" + `.

`)
	section := ""
	for _, k := range keys() {
		head, _, nested := strings.Cut(k.path, ".")
		if !nested {
			b.WriteString("## General\n\n" + table)
		} else if head != section {
			section = head
			for _, s := range sections() {
				if s.name == head {
					fmt.Fprintf(&b, "\n## %s\n\n%s\n\n%s", head, s.doc, table)
				}
			}
		}
		def := "`" + k.def + "`"
		if k.def == "" {
			def = ""
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", k.path, def, k.env(), k.help())
	}
	b.WriteString(referenceRest)
	return b.String()
}

const table = "| key | default | variable | |\n|---|---|---|---|\n"

const referenceRest = `
## permissions.rules

The rules of the policy, see [permissions.md](permissions.md). Each has one of ` + "`allow`, `ask`, `deny`" + ` and may have the filters ` + "`agents`" + ` (names),
` + "`cwd`" + ` (a path pattern) and ` + "`subagent`" + ` (true or false).

## agents

` + "`agents.NAME`" + ` sets something for the agent that users call NAME; names of variables, models and settings keep their case. A NAME that no
agent has is an error; in a variable, or in the filter agents of a rule, it is a warning.

| key | |
|---|---|
| ` + "`command`" + ` | a list that replaces the agent's own command |
| ` + "`args`" + ` | further arguments |
| ` + "`env`" + ` | variables: a mapping, or a list of ` + "`NAME=VALUE`" + ` |
| ` + "`passEnv`" + ` | globs of variables of the host that the agent gets too |
| ` + "`model`, `mode`, `thinking`" + ` | what sessions begin with; also ` + "`AGENTHOST_AGENTS_NAME_MODEL`, `_MODE`, `_THINKING`" + ` |
| ` + "`settings`" + ` | the adapter's own settings |

` + "`agents.custom`" + ` is a list of agents that speak ACP and are not known by themselves: ` + "`name`, `title`, `command`, `install`, `login`, `versionArgs`,\n`env`, `passEnv`" + ` and ` + "`quirks`" + ` (deviations from ACP; the schema lists them).

## prices

` + "`prices.MODEL`" + ` has ` + "`input`, `output`, `cacheRead`, `cacheWrite`" + ` in USD per million tokens; a name that ends in ` + "`*`" + ` stands for all models that begin
so, the longest wins. They serve agents that report no cost of their own.

` + "```yaml\n" + `agents:
  claude:
    model: claude-sonnet-4-6
    env: {ANTHROPIC_BASE_URL: "http://127.0.0.1:8080"}
  custom:
    - name: my-agent
      command: [my-agent, --acp]
prices:
  gpt-5*: {input: 1.25, output: 10}
` + "```\n"

func TestReferenceIsCurrent(t *testing.T) {
	file := filepath.Join("..", "docs", "config.md")
	if *update {
		if err := os.WriteFile(file, []byte(reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != reference() {
		t.Errorf("%s is not what the table of keys says (%v): run go test ./config -update", file, err)
	}
}

// The table is complete: every key can be read from a Config, and none twice.
func TestKeys(t *testing.T) {
	c, err := Load(LoadOptions{Environ: []string{"HOME=/h"}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, k := range keys() {
		if seen[k.path] || seen[k.env()] || k.doc == "" || k.of(c) == nil {
			t.Errorf("key %s: twice %t, doc %q, value %v", k.path, seen[k.path], k.doc, k.of(c))
		}
		seen[k.path], seen[k.env()] = true, true
		if k.def != "" && c.text(k) != k.def {
			t.Errorf("%s: the default %q reads as %q", k.path, k.def, c.text(k))
		}
	}
}

// enabled is Init's text with every line enabled.
func enabled() string {
	var b strings.Builder
	for line := range strings.Lines(Init()) {
		if line, ok := strings.CutPrefix(line, "#"); ok && (!strings.HasPrefix(line, " ") || strings.HasPrefix(line, "  ")) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// A new file changes nothing, and with every line enabled it is still right.
func TestInit(t *testing.T) {
	for name, content := range map[string]string{"as written": Init(), "enabled": enabled()} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(LoadOptions{File: file, Environ: []string{"HOME=/h"}})
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, content)
		}
		for _, k := range keys() {
			if k.def != "" && c.text(k) != k.def {
				t.Errorf("%s: %s is %q, want the default %q", name, k.path, c.text(k), k.def)
			}
			if !strings.Contains(content, k.path[strings.IndexByte(k.path, '.')+1:]+":") {
				t.Errorf("%s: no %s", name, k.path)
			}
		}
		if rules := len(c.Permissions.Rules); name == "enabled" && (rules != 6 || len(c.Custom) != 1 || len(c.prices) != 2) {
			t.Errorf("enabled: %d rules, %d custom agents, %d prices", rules, len(c.Custom), len(c.prices))
		}
	}
}

// validate checks YAML against the schema with another implementation.
func validate(t *testing.T, content string) error {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config.json", schema); err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := yaml.Unmarshal([]byte(content), &doc); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(value)
}

// The schema and the loader agree.
func TestSchema(t *testing.T) {
	for _, content := range []string{
		"{}", enabled(), "log:\nlimits: {abort: 1h30m, stall: 0, lineBytes: 1048576, restarts: 0}\n",
		"agents: {a: {env: [A=b], args: x, settings: {n: 1}}, custom: [{name: a, command: [a], quirks: {steer: never, modes: {plan: p}}}]}",
		"permissions: {rules: [{allow: a, agents: x, subagent: true}]}",
	} {
		if err := validate(t, content); err != nil {
			t.Errorf("the schema refuses\n%s\n%v", content, err)
		}
		if _, faults := parseFile([]byte(content), "f", "/h", nil); len(faults) > 0 {
			t.Errorf("the loader refuses\n%s\n%v", content, faults)
		}
	}
	for _, content := range []string{
		"permision: {}", "log: {level: x}", "limits: {abort: [1]}", "limits: {restarts: -1}", "permissions: {rules: [{allow: a, deny: b}]}",
		"permissions: {rules: [{agents: x}]}", "agents: {a: {comand: x}}", "agents: {custom: [{name: a}]}", "prices: {m: {input: 1}}", "limits: {lineBytes: 1XB}",
	} {
		if validate(t, content) == nil {
			t.Errorf("the schema takes\n%s", content)
		}
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(LoadOptions{File: file, Environ: []string{"HOME=/h"}}); err == nil {
			t.Errorf("the loader takes\n%s", content)
		}
	}
}
