package gemini_test

import (
	"path/filepath"
	"testing"

	"github.com/agenthost/agenthost/adapters/adaptertest"
	"github.com/agenthost/agenthost/adapters/gemini"
)

func terminalSuite() adaptertest.Suite {
	return adaptertest.Suite{
		Adapter: adaptertest.Terminal(gemini.NewOn(bare)),
		Dir:     filepath.Join("testdata", "terminal"), GoldenDir: filepath.Join("testdata", "terminal-golden"),
	}
}

func TestTerminalGolden(t *testing.T)  { adaptertest.Golden(t, terminalSuite()) }
func TestTerminalConform(t *testing.T) { adaptertest.Conform(t, terminalSuite()) }
func FuzzTerminal(f *testing.F)        { adaptertest.Fuzz(f, terminalSuite()) }
