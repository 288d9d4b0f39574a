package gemini

import (
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
)

// Whether a request runs is read off the rows above the input line alone: what is left of
// a frame for another width stays on the screen, and the model may say anything.
func TestBusyIsReadOffTheStatus(t *testing.T) {
	wide, narrow := strings.Repeat("─", 50), strings.Repeat("─", 12)
	line := []string{" Shift+Tab to accept edits", strings.Repeat("▄", 40), " >   Type your message", strings.Repeat("▀", 40)}
	plain := []string{" Shift+Tab to accept edits", wide, " > Type your message", wide, " /lab"}
	const hint = " Thinking... (esc to cancel, 1s)"
	for name, c := range map[string]struct {
		lines []string
		want  bool
	}{
		"runs":                            {append([]string{"✦ text", "", "", hint, wide}, line...), true},
		"runs, on a narrow screen":        {append([]string{"", " Executing Hooks: one,", " two", " (esc to cancel, 1s)", "  ? for shortcuts", wide}, line...), true},
		"runs, without colors":            {append([]string{"", hint, wide}, plain...), true},
		"runs, a narrow mode":             {append([]string{"", hint, wide, " Shift+Tab", " to accept"}, line...), true},
		"runs, no input line":             {[]string{"", hint, wide, "╭───╮"}, true},
		"runs, without a rule":            {append([]string{"", hint}, line...), true},
		"rests":                           {append([]string{"✦ text", "", "", "", wide}, line...), false},
		"rests below what is left":        {append([]string{"ks: agenthost, agenthost", "st (esc to cancel, 0s)", wide, narrow, "✦ text", "", "", "", wide}, line...), false},
		"rests below what was said":       {append([]string{"✦ Press it" + hint, "", "", wide}, line...), false},
		"rests, without colors, below it": {append([]string{hint, wide, "✦ text", "", "", wide}, plain...), false},
	} {
		v := look(adapters.Screen{Cols: 50, Rows: 20, Lines: c.lines})
		if v.busy != c.want || v.composer != (name != "runs, no input line") {
			t.Errorf("%s: busy %v, an input line %v, want busy %v", name, v.busy, v.composer, c.want)
		}
	}
}
