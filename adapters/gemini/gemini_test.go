package gemini_test

import (
	"testing"

	"github.com/agenthost/agenthost/adapters/adaptertest"
	"github.com/agenthost/agenthost/adapters/gemini"
	"github.com/agenthost/agenthost/contract"
)

func suite() adaptertest.Suite {
	return adaptertest.Suite{
		Adapter: gemini.NewOn(bare),
		Wire: adaptertest.ACP(adaptertest.ACPModes{
			"autoEdit": contract.ModeAcceptEdits, "yolo": contract.ModeBypassPermissions,
		}),
	}
}

func TestGolden(t *testing.T)   { adaptertest.Golden(t, suite()) }
func TestConform(t *testing.T)  { adaptertest.Conform(t, suite()) }
func FuzzProtocol(f *testing.F) { adaptertest.Fuzz(f, suite()) }

func TestCovered(t *testing.T) {
	adaptertest.Covered(t, suite(), "../../docs/protocol/acp.md", "../../docs/protocol/gemini.md")
}

// TestTraps: what the table of traps names is there.
func TestTraps(t *testing.T) {
	adaptertest.Traps(t, "../../docs/protocol/gemini.md", "../..")
}
