package acp

import (
	"path/filepath"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/adaptertest"
)

// suites are the recordings of real agents, one suite for each.
func suites() map[string]adaptertest.Suite {
	list := map[string]adaptertest.Suite{}
	for _, spec := range Known() {
		dir := filepath.Join("testdata", spec.Name)
		if found, _ := filepath.Glob(filepath.Join(dir, "transcripts", "*.jsonl")); len(found) == 0 {
			continue
		}
		list[spec.Name] = adaptertest.Suite{
			Adapter: New(spec), Wire: adaptertest.ACP(modesOf(spec)),
			Dir: filepath.Join(dir, "transcripts"), GoldenDir: filepath.Join(dir, "golden"),
			Options: adapters.Options{AllowBypass: true},
		}
	}
	return list
}

func modesOf(spec AgentSpec) adaptertest.ACPModes {
	m := adaptertest.ACPModes{}
	for mode, native := range spec.Quirks.Modes {
		m[native] = mode
	}
	return m
}

func TestGolden(t *testing.T) {
	for name, s := range suites() {
		t.Run(name, func(t *testing.T) { adaptertest.Golden(t, s) })
	}
}

func TestConform(t *testing.T) {
	for name, s := range suites() {
		t.Run(name, func(t *testing.T) { adaptertest.Conform(t, s) })
	}
}
