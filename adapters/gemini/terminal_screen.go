package gemini

import (
	"strings"

	"github.com/agenthost/agenthost/adapters"
)

// view is what of a screen matters: it is looked at to know when to type, never to
// learn what was said.
type view struct {
	// composer: the input line is there. empty: nothing is typed in it. busy: a
	// request runs.
	composer, empty, busy bool
	// dialog: a question about a tool call, with its first answer selected.
	dialog bool
	// gate is a question at the start that a person has to answer, empty for none.
	gate  string
	paste bool
}

// Texts of Gemini CLI's screen.
const (
	placeholder = "Type your message"
	allowOnce   = "● 1. Allow once"
	rejectLine  = "No, suggest changes (esc)"
	cancelHint  = "(esc to cancel"
)

// gates are questions at the start, by a text of theirs.
func gates() [][2]string {
	return [][2]string{
		{"Do you trust the files in this folder?", "whether you trust the files in this folder"},
		{"How would you like to authenticate", "how to log in"},
		{"Enter the authorization code", "for an authorization code"},
		{"Please visit the following URL to authorize", "for a login"},
	}
}

// look reads a screen.
func look(s adapters.Screen) view {
	v := view{paste: s.Paste}
	selected, reject := false, false
	for _, line := range s.Lines {
		inner := strings.TrimSpace(strings.Trim(strings.TrimSpace(line), "│"))
		selected = selected || inner == allowOnce
		reject = reject || strings.HasSuffix(inner, rejectLine)
		v.busy = v.busy || strings.Contains(line, cancelHint)
		for _, g := range gates() {
			if strings.Contains(line, g[0]) {
				v.gate = g[1]
			}
		}
	}
	v.dialog = selected && reject
	v.composer, v.empty = composer(s.Lines)
	if v.composer {
		v.gate = "" // what is left of it above
	}
	return v
}

// composer finds the input line: the last block between bars of half blocks, with no
// frame of a dialog below it. Sent prompts stand in such blocks, too.
func composer(lines []string) (there, empty bool) {
	end := -1
	for i, line := range lines {
		switch {
		case bar(line, '▀'):
			end = i
		case strings.HasPrefix(strings.TrimSpace(line), "╭"):
			end = -1
		}
	}
	if end < 1 {
		return false, false
	}
	begin := end - 1
	for begin > 0 && !bar(lines[begin], '▄') {
		begin--
	}
	text := strings.TrimSpace(strings.Join(lines[begin+1:end], " "))
	for _, prompt := range []string{">", "*", "!"} {
		rest, ok := strings.CutPrefix(text, prompt)
		if !ok {
			continue
		}
		rest = strings.TrimSpace(rest)
		return true, prompt != "!" && (rest == "" || strings.HasPrefix(rest, placeholder))
	}
	return false, false
}

// bar reports whether a line is a bar of the input line.
func bar(line string, block rune) bool {
	const least = 8
	n := 0
	for _, r := range strings.TrimSpace(line) {
		if r != block {
			return false
		}
		n++
	}
	return n >= least
}
