package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/agenthost/agenthost/adapters/acp"
	"github.com/agenthost/agenthost/config"
)

// everyQuirk sets each quirk that the ACP adapter has to something that is not
// its zero value.
const everyQuirk = `agents:
  custom:
    - name: odd
      command: [odd, --acp]
      quirks:
        modes: {default: ask}
        startMode: ask
        freeModes: [wild]
        tools: {zap: delete}
        nameFromTitle: true
        nameFromID: "--"
        titleIsCommand: true
        stubWait: 5s
        readFile: true
        writeFile: true
        terminal: true
        missingReadsEmpty: true
        noElicitation: true
        subagents: true
        usage: session
        steer: drain
        fork: branch
        rewind: true
        since: "2.1"
        replaySettle: 3s
        noResume: true
        noLoad: it forgets
        imagesAlone: true
        narrowOptions: [just_here]
        errorText: "Error: "
        launchTakes: [Dirs, SystemPrompt]
`

// TestCustomSpecTakesEveryQuirk: what the adapter can be told of an agent, the
// config can say, and it arrives. A new field fails here until it does.
func TestCustomSpecTakesEveryQuirk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(everyQuirk), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.LoadOptions{File: file, Environ: []string{"HOME=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Custom) != 1 {
		t.Fatalf("custom agents = %+v, want one", cfg.Custom)
	}
	from, to := map[string]bool{}, map[string]bool{}
	flat(t, reflect.ValueOf(cfg.Custom[0].Quirks), from)
	flat(t, reflect.ValueOf(customSpec(cfg.Custom[0]).Quirks), to)
	for name := range to {
		if !from[name] {
			t.Errorf("acp has the quirk %s, the config does not", name)
		}
	}
	for name := range from {
		if !to[name] {
			t.Errorf("the config has the quirk %s, acp does not", name)
		}
	}
	if len(to) < 20 {
		t.Errorf("only %d quirks were compared", len(to))
	}
}

// flat collects the names of a struct's fields, those of acp.ClientFeatures as its
// own, and fails for a zero value.
func flat(t *testing.T, v reflect.Value, names map[string]bool) {
	t.Helper()
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		if field.Type() == reflect.TypeFor[acp.ClientFeatures]() {
			flat(t, field, names)
			continue
		}
		if names[name] = true; field.IsZero() {
			t.Errorf("%v.%s did not arrive", v.Type(), name)
		}
	}
}
