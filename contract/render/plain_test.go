package render_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/contract/render"
)

func TestPlain(t *testing.T) {
	for md, want := range map[string]string{
		"":                                  "",
		"Run `ls -l`":                       "Run ls -l",
		"Edit **a\\_b.go** (+1 −2)":         "Edit a_b.go (+1 −2)",
		"Allow \\[y/n\\]\\! \\(x\\-y\\)":    "Allow [y/n]! (x-y)",
		"Run `grep 'a\\*b' **/x`":           "Run grep 'a\\*b' **/x",
		"Run `` echo `date` ``":             "Run echo `date`",
		"Run ``a`b`` and `c`":               "Run a`b and c",
		"a ` alone, and 2 ** 3 ** 4":        "a ` alone, and 2 ** 3 ** 4",
		"C:\\dir\\new":                      "C:\\dir\\new",
		"never **closed":                    "never **closed",
		"Run `a command that was cut\\*…":   "Run a command that was cut\\*…",
		"Edit **a/path/that/was/cut…":       "Edit a/path/that/was/cut…",
		"ends in \\":                        "ends in \\",
		"**Bold** and \\*\\*not\\*\\* `**`": "Bold and **not** **",
	} {
		if got := render.Plain(md); got != want {
			t.Errorf("Plain(%q) = %q, want %q", md, got, want)
		}
	}
}

// What titles are made with, Plain takes apart again: what a person is shown is what was
// put in.
func TestPlainShowsWhatIsThere(t *testing.T) {
	text := rapid.StringOf(rapid.SampledFrom([]rune("ab `*_\\[]~é…")))
	rapid.Check(t, func(t *rapid.T) {
		s := present.Line(text.Draw(t, "text"))
		for name, md := range map[string]string{
			"Code": present.Code(s), "Escape": present.Escape(s), "Bold": present.Bold(s),
			"all": present.Escape(s) + " " + present.Code(s) + " " + present.Bold(s),
		} {
			want := s
			if name == "all" {
				want = s + " " + s + " " + s
			}
			if got := render.Plain(md); got != want {
				t.Fatalf("Plain of %s %q = %q, want %q", name, md, got, want)
			}
		}
	})
}
