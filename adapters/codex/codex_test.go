package codex_test

import (
	"testing"

	"github.com/agenthost/agenthost/adapters/adaptertest"
	"github.com/agenthost/agenthost/adapters/codex"
)

func suite() adaptertest.Suite {
	return adaptertest.Suite{Adapter: codex.New(), Wire: adaptertest.Codex()}
}

func TestGolden(t *testing.T) { adaptertest.Golden(t, suite()) }

func FuzzProtocol(f *testing.F) { adaptertest.Fuzz(f, suite()) }

// TestConform tries every command in every state of the recordings, which takes
// long: it leaves out those whose states others reach as well.
func TestConform(t *testing.T) {
	s := suite()
	s.Skip = map[string]string{}
	for _, name := range []string{
		"proc_kill_sigint_danger-full-access", "proc_kill_sigint_workspace-write", "proc_kill_sigkill_danger-full-access",
		"proc_kill_sigterm_danger-full-access", "proc_kill_sigterm_workspace-write", "proc_kill_sighup",
		"proc_kill_stdinclose_nohup_danger", "proc_kill_stdinclose_setsid_danger", "proc_kill_codemode_stdinclose",
		"app_notify_hooks", "app_nogit", "app_plan_enabled", "ws_unix-2", "ws_unix-4",
	} {
		s.Skip[name] = "a text or a tool and its end, as in others"
	}
	adaptertest.Conform(t, s)
}

// TestCovered: docs/protocol/codex.md says of each native type what becomes of it.
func TestCovered(t *testing.T) { adaptertest.Covered(t, suite(), "../../docs/protocol/codex.md") }

// TestTraps: the traps of docs/protocol/codex.md name files, words and tests that are
// there.
func TestTraps(t *testing.T) { adaptertest.Traps(t, "../../docs/protocol/codex.md", "../..") }
