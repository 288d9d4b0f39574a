package acp

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/adaptertest"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
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

// TestEveryAgentOnEveryRecording: the quirks of one agent do no harm with another,
// as versions change what an agent says.
func TestEveryAgentOnEveryRecording(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "*", "transcripts", "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := transcript.Read(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, spec := range append(Known(), fake) {
			s := adaptertest.Suite{Adapter: New(spec), Wire: adaptertest.ACP(modesOf(spec)), Options: adapters.Options{AllowBypass: true}}
			for _, fault := range adaptertest.Play(s, file).Faults {
				t.Errorf("%s as %s: %s", path, spec.Name, fault)
			}
		}
	}
}

// TestCovered: every native type of the recordings is in the mapping tables.
func TestCovered(t *testing.T) {
	for name, s := range suites() {
		t.Run(name, func(t *testing.T) { adaptertest.Covered(t, s, filepath.Join("..", "..", "docs", "protocol", "acp.md")) })
	}
}

// FuzzProtocol replays mutated recordings of the agent with the most deviations.
func FuzzProtocol(f *testing.F) {
	adaptertest.Fuzz(f, suites()["opencode"])
}

// FuzzLines feeds lines to a running turn: whatever they are, nothing panics, no
// rule of the contract is broken, and nothing is open after Exit.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		`{"sessionUpdate":"tool_call","toolCallId":"t","kind":"edit","status":"pending","rawInput":{"path":"/w/a"},"content":[{"type":"diff","path":"/w/a","oldText":null,"newText":"x"}]}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","rawOutput":{"metadata":{"diff":"--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"}}}`,
		`{"sessionUpdate":"agent_message_chunk","messageId":"m","content":{"type":"text","text":"\ud83d"}}`,
		`{"sessionUpdate":"subagent_update","sessionId":"c","state":{"state":"running"}}`,
		`{"sessionUpdate":"config_option_update","configOptions":[{"id":"mode","category":"mode","type":"select","currentValue":"x","options":[]}]}`,
		`{"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":1e300}}`,
	} {
		f.Add([]byte(s), byte(0))
	}
	f.Add([]byte(`{"toolCall":{"toolCallId":"t"},"options":[{"optionId":"a","kind":"allow_once"}],"sessionId":"s"}`), byte(1))
	f.Add([]byte(askForm), byte(2))
	f.Add([]byte(`{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":-5,"totalTokens":9e18}}`), byte(3))
	f.Add([]byte(`{"code":429,"message":"{","data":[]}`), byte(4))
	f.Fuzz(func(t *testing.T, data []byte, kind byte) {
		b := plain(t)
		b.prompt()
		b.update(`{"sessionUpdate":"tool_call","toolCallId":"open","kind":"execute","status":"in_progress","title":"x","rawInput":{"command":"x"}}`)
		prompt := b.last("session/prompt")
		line := string(data)
		switch kind % 6 {
		case 0:
			b.update(line)
			b.update(line)
		case 1:
			b.request("0", "session/request_permission", line)
		case 2:
			b.request("0", "elicitation/create", line)
		case 3:
			b.result(prompt, line)
		case 4:
			b.fail(prompt, line)
		case 5:
			b.line(line)
		}
		b.advance(time.Hour)
		for len(b.asks) > 0 {
			b.answer(contract.AllowOnce)
		}
		b.submit(adapters.Abort{})
		b.advance(time.Hour)
		b.exit(adapters.ExitStatus{Code: 1})
	})
}

// TestTraps: what the table of traps names is there.
func TestTraps(t *testing.T) {
	root := filepath.Join("..", "..")
	adaptertest.Traps(t, filepath.Join(root, "docs", "protocol", "acp.md"), root)
}
