package e2e

import (
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/claude"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/internal/agentlab"
)

// Rules that change while Claude Code runs hold at once: it is told anew what to ask
// for.
func TestRulesChangeWhileClaudeRuns(t *testing.T) {
	t.Parallel()
	lab := agentlab.New(t)
	s := hosted(t, lab, host.Config{Adapter: claude.New()})
	watch := func(uses ...adapters.Use) {
		s.host.AskFirst(func(string) []adapters.Use { return uses })
	}
	run := func(command string, asks bool) {
		t.Helper()
		s.submit(contract.Text{Text: script("shell "+command, "text After "+command+".")})
		if asks { // without a mediator every ask is refused
			wait[contract.PermissionRequest](s, nil)
		}
		if end, _ := wait[contract.TurnEnd](s, nil); end.Status != contract.TurnCompleted {
			t.Errorf("the turn of %q ended %+v %+v", command, end, end.Error)
		}
	}
	run("ls", false)
	watch(adapters.Use{Tool: "bash", Pattern: "ls *"})
	run("ls", true)
	run("pwd", false)
	watch(adapters.Use{Tool: "bash", Pattern: "pwd *"})
	run("ls", false)
	run("pwd", true)
	asked := 0
	for _, e := range s.stop() {
		if _, ok := e.Event.(contract.PermissionRequest); ok {
			asked++
		}
	}
	if asked != 2 {
		t.Errorf("it asked %d times, want twice", asked)
	}
	noneLeft(t, lab)
}
