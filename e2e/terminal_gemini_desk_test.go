package e2e

import (
	"strings"
	"testing"

	"github.com/agenthost/agenthost/internal/agentlab"
)

// Gemini CLI in a shell, as a person has it: `agenthost run gemini` on a terminal with
// real keys, and a phone that sees and does the same, but for what the CLI cannot. It
// waits for whole minutes, since Gemini CLI loses sessions that are loaded sooner.
func TestTerminalGeminiAtDesk(t *testing.T) {
	t.Parallel()
	d := atDesk(t, agentlab.New(t), "gemini")
	idle := func() { d.until("a free input line", geminiRests) }
	d.day(keyboard{
		bullet: "✦ ", dialog: "● 1. Allow once",
		types: func(line string) {
			idle()
			d.tmux("set-buffer", "--", line)
			d.tmux("paste-buffer", "-p", "-t", "lab")
			d.loses("Type your message")
			d.shows(lastWord(line))
			d.until("a prompt that was taken", pressedUntil(func() { d.keys("Enter") }, geminiTook))
		},
		allow: func() { d.keys("Enter") },
		works: func() { d.until("a Gemini that works", geminiWorks) },
		rests: idle,
		fits:  func(cols, _ int) { d.shows("\n" + strings.Repeat("▀", cols) + "\n") },
		processes: func() []int {
			return []int{geminiProcess(t, d.lab())}
		},
		quit: func() {
			idle()
			d.enter("/quit")
		},
	})
}
