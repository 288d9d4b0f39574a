package e2e

import (
	"encoding/json/jsontext"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// The cases of the bug log in which Codex's app-server is played, through the whole
// binary. docs/protocol/codex.md has the tests of the others.
func TestCodexBugs(t *testing.T) {
	for _, c := range []struct {
		script string
		drive  func(s *session)
	}{
		{"B022-elicit.txt", func(s *session) {
			s.prompt("hi")
			ask, _ := wait[contract.PermissionRequest](s, nil)
			if ask.ToolName != "bash" || !strings.Contains(ask.Description, "needs more rights") {
				s.t.Errorf("ask = %+v", ask)
			}
			s.decide(ask.Call, contract.AllowOnce)
			form, _ := wait(s, func(ev contract.PermissionRequest) bool { return ev.Question != nil })
			s.send(contract.PermissionResponse{Call: form.Call, Decision: contract.AllowOnce, Answers: jsontext.Value(`{"ok":"true"}`)})
			if end := s.turnEnd(); end.Status != contract.TurnCompleted {
				s.t.Errorf("turn-end = %+v", end)
			}
			s.finish(0)
		}},
		{"B044-stall.txt", func(s *session) {
			s.prompt("hi")
			wait(s, func(ev contract.Service) bool {
				return ev.Kind == contract.ServiceNotice && strings.Contains(ev.Text, "No word from Codex for 1s")
			})
			s.send(contract.Abort{})
			if end := s.turnEnd(); end.Status != contract.TurnCancelled {
				s.t.Errorf("turn-end = %+v", end)
			}
			s.finish(0)
		}},
		{"B077-codexdup.txt", func(s *session) {
			s.prompt("hi")
			s.turnEnd()
			var texts []string
			for _, e := range s.finish(0) {
				if ev, ok := e.Event.(contract.Text); ok && e.Role == contract.RoleAgent {
					texts = append(texts, ev.Text)
				}
			}
			if want := []string{"Hello world", "no deltas here"}; !slices.Equal(texts, want) {
				s.t.Errorf("texts = %q, want %q", texts, want)
			}
		}},
	} {
		t.Run(strings.TrimSuffix(c.script, ".txt"), func(t *testing.T) {
			t.Parallel()
			silence := filepath.Join(t.TempDir(), "silence.yaml")
			if err := os.WriteFile(silence, []byte("limits: {stall: 1s}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			c.drive(fake(t, "codex", c.script, "--on-ask", "wait", "--config", silence))
		})
	}
}
