package policy

import (
	"os"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// Allow-lists that compare prefixes were walked around with these commands.
func TestPrefixIsNotEnough(t *testing.T) {
	data, err := os.ReadFile("testdata/b058.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, rules := range [][]string{
		{"bash(git status, ls, echo)"},
		{"bash(git status *, ls *, echo *)"},
		{"bash(git status *)", "bash(ls *)", "bash(echo *)"},
	} {
		p, err := FromFlags(Flags{Allow: rules}, testEnv)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(data)) {
			line = strings.TrimSuffix(line, "\n")
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			n++
			cmd := strings.ReplaceAll(line, `\n`, "\n")
			if got := Explain(p, command(t, cmd), contract.ModeDefault); got.Verdict != Ask {
				t.Errorf("%v: Judge(%q) = %s, want ask\n%s", rules, cmd, got.Verdict, text(got))
			}
		}
		if n < 19 {
			t.Errorf("the table has %d commands, want 19", n)
		}
		for _, cmd := range []string{"git status", "ls", "echo"} {
			if got := Explain(p, command(t, cmd), contract.ModeDefault); got.Verdict != Allow {
				t.Errorf("%v: Judge(%q) = %s, want allow", rules, cmd, got.Verdict)
			}
		}
	}
}
