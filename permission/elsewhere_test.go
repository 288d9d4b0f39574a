package permission_test

import (
	"errors"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission"
)

// An ask that was answered in the agent's own terminal is closed with that answer, and
// who comes late hears of it.
func TestDecidedElsewhere(t *testing.T) {
	m := permission.New(permission.Options{})
	defer m.Close()
	answers := make(chan permission.Answer, 2)
	settle := func(a permission.Answer) { answers <- a }
	if err := m.Open(permission.Ask{ID: "1", Session: "s", Tool: "bash", Cwd: t.TempDir()}, settle); err != nil {
		t.Fatal(err)
	}
	by := contract.DecisionBy{Resolver: contract.ByClient, ClientType: contract.ClientCLI, Rule: "in the agent's terminal"}
	m.Decided("1", contract.AllowAlways, by)
	m.Decided("1", contract.RejectOnce, by)
	m.Decided("unknown", contract.RejectOnce, by)
	if a := <-answers; a.Decision != contract.AllowAlways || a.By.Rule != by.Rule {
		t.Errorf("answer = %+v, want that of the terminal", a)
	}
	if len(answers) > 0 || len(m.Pending("s")) > 0 {
		t.Errorf("%d more answers, %d asks open; want none", len(answers), len(m.Pending("s")))
	}
	err := m.Resolve(t.Context(), "1", permission.Response{Decision: contract.RejectOnce})
	var late *permission.ErrResolved
	if !errors.As(err, &late) || late.Decision != contract.AllowAlways {
		t.Errorf("Resolve = %v afterwards, want ErrResolved with allow-always", err)
	}
}
