package e2e

import (
	"strings"
	"testing"

	"github.com/agenthost/agenthost/internal/agentlab"
)

// claudeProcess is the CLI with its screen in a lab.
func claudeProcess(t testing.TB, lab *agentlab.Lab) int {
	t.Helper()
	return process(t, lab, "--settings", func(name string) bool { return strings.Contains(name, "claude") })
}

// free waits until the CLI's input line is empty and has the cursor.
func (d *desk) free() {
	d.t.Helper()
	d.until("a free input line", func(screen string) bool {
		at := strings.Split(d.show("#{cursor_x} #{cursor_y}"), " ")
		return at[0] == "2" && strings.Contains(screen, "\n❯") && !strings.Contains(screen, claudeDialog)
	})
}

// types pastes a line into the CLI's input line as a terminal does, and presses Enter
// when it is there.
func (d *desk) types(text string) {
	d.t.Helper()
	d.free()
	d.tmux("set-buffer", "--", text)
	d.tmux("paste-buffer", "-p", "-t", "lab")
	d.shows(lastWord(text))
	d.keys("Enter")
}

// Claude Code in a shell, as a person has it: `agenthost run claude` on a terminal with
// real keys, and a phone that sees and does the same.
func TestTerminalClaudeAtDesk(t *testing.T) {
	t.Parallel()
	d := atDesk(t, agentlab.New(t), "claude")
	d.day(keyboard{
		bullet: "● ", dialog: claudeDialog,
		types: d.types,
		allow: func() {
			n := 0
			d.until("the screen without the dialog", func(screen string) bool {
				if n++; strings.Contains(screen, claudeDialog) && n%50 == 1 {
					d.keys("Enter") // one that has just opened does not hear the first
				}
				return !strings.Contains(screen, claudeDialog)
			})
		},
		works:     func() { d.shows("esc to interrupt") },
		rests:     d.free,
		steered:   func(text string) { d.shows("❯ " + text) },
		fits:      func(cols, _ int) { d.shows("\n" + strings.Repeat("─", cols) + "\n") },
		processes: func() []int { return []int{claudeProcess(t, d.lab())} },
		quit:      func() { d.types("/exit") },
	})
}
