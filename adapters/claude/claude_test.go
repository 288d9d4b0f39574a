package claude_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters/adaptertest"
	"github.com/agenthost/agenthost/adapters/claude"
)

func suite() adaptertest.Suite {
	return adaptertest.Suite{Adapter: claude.New(), Wire: adaptertest.Claude()}
}

func TestGolden(t *testing.T) { adaptertest.Golden(t, suite()) }

// TestConform tries every command in every state of the recordings, which takes
// long: it leaves out those whose states others reach as well.
func TestConform(t *testing.T) {
	s := suite()
	s.Skip = map[string]string{}
	paths, err := filepath.Glob("testdata/transcripts/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		for _, family := range []string{"b6", "e4", "f1_SIG", "f2_close", "g6", "h1", "h4", "i2", "f5"} {
			if strings.HasPrefix(name, family) && name != "b6f_resume_unknown" && name != "f1_SIGKILL_tool" && name != "f2_close_queued" {
				s.Skip[name] = "a text or a tool and its end, as in others"
			}
		}
	}
	adaptertest.Conform(t, s)
}

// TestCovered: docs/protocol/claude.md says of each native type what becomes of it.
func TestCovered(t *testing.T) { adaptertest.Covered(t, suite(), "../../docs/protocol/claude.md") }

// TestTraps: the traps of docs/protocol/claude.md name files, words and tests that are
// there.
func TestTraps(t *testing.T) { adaptertest.Traps(t, "../../docs/protocol/claude.md", "../..") }

func FuzzProtocol(f *testing.F) { adaptertest.Fuzz(f, suite()) }
