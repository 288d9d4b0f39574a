package claude_test

import (
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/adaptertest"
	"github.com/agenthost/agenthost/adapters/claude"
	"github.com/agenthost/agenthost/adapters/replay"
	"github.com/agenthost/agenthost/internal/rawjson"
)

func terminalSuite() adaptertest.Suite {
	return adaptertest.Suite{
		Adapter: adaptertest.Terminal(claude.New()), Wire: terminalWire{replay.Claude()},
		Dir: "testdata/terminal", GoldenDir: "testdata/terminal-golden",
	}
}

// terminalWire names the native types of the terminal face; the recordings hold
// their commands.
type terminalWire struct{ replay.Wire }

// Types implements replay.Wire.
func (terminalWire) Types(f adapters.Frame) []string {
	v, err := rawjson.Parse(f.Data)
	if err != nil {
		return nil
	}
	switch f.Source {
	case adapters.Hook:
		return []string{"hook: " + v.Get("hook_event_name").Text()}
	case adapters.Terminal:
		return []string{"screen: at rest"}
	case adapters.LogFile:
	default:
		return nil
	}
	name := "file: " + v.Get("type").Text()
	types := []string{name}
	for _, sub := range []rawjson.Value{v.Get("subtype"), v.Get("attachment", "type")} {
		if sub.Given() {
			types = append(types, name+"/"+sub.Text())
		}
	}
	return types
}

// Grease implements replay.Wire.
func (terminalWire) Grease() [][]byte { return nil }

func TestTerminalGolden(t *testing.T) { adaptertest.Golden(t, terminalSuite()) }

// TestTerminalCovered: docs/protocol/claude.md says of each what becomes of it.
func TestTerminalCovered(t *testing.T) {
	adaptertest.Covered(t, terminalSuite(), "../../docs/protocol/claude.md")
}

func TestTerminalConform(t *testing.T) { adaptertest.Conform(t, terminalSuite()) }

func FuzzTerminal(f *testing.F) { adaptertest.Fuzz(f, terminalSuite()) }
