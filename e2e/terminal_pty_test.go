package e2e

import (
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/pty"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// A program of which nothing is known but its screen: prompts are typed, a turn ends
// when the screen is at rest, and what is new on it is told when that is asked for.
func TestTerminalPty(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	s := hosted(t, lab, host.Config{
		Adapter: pty.New(), Face: adapters.FaceTerminal, Cols: 80, Rows: 24, Args: []string{"bash", "--norc", "--noprofile"},
		Options: adapters.Options{Settings: map[string]string{"rest": "3s", "screenText": "yes"}},
	})
	h := hubOf(s)
	h.shows("bash-")
	s.prompt("echo one\necho $((1+1)) lines")
	if end := s.says("2 lines"); end.Status != contract.TurnCompleted {
		t.Errorf("the turn ended %+v", end)
	}
	h.enter("echo typed here")
	h.Resize(100, 30)
	s.prompt("stty size")
	s.says("30 100")

	s.prompt("for i in 1 2 3 4 5 6 7 8; do echo n$i; sleep 0.2; done")
	s.says("n8")

	s.prompt("echo begun; sleep 60")
	h.shows("\nbegun")
	s.send(contract.Abort{})
	s.turnEnd()

	s.prompt("read -p 'Sure? (y/n) ' x")
	s.turnEnd()
	h.shows("Sure? (y/n)")
	s.prompt("rm -rf everything")
	s.fails(contract.CodeInvalidRequest)
	s.stop()
	noneLeft(t, lab)
}
