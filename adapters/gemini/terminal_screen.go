package gemini

import (
	"slices"
	"strings"
	"unicode"

	"github.com/agenthost/agenthost/adapters"
)

// view is what of a screen matters: it is looked at to know when to type, never to
// learn what was said.
type view struct {
	// composer: the input line is there. empty: nothing is typed in it. line is what
	// stands in it, text that with what stands below.
	composer, empty bool
	line, text      string
	// busy: a request runs. queued: what was sent waits for its turn. resuming: an
	// earlier session is being loaded.
	busy, queued, resuming bool
	// dialog: a question about a tool call, with its first answer selected.
	dialog bool
	// gate is a question at the start that a person has to answer, empty for none.
	gate  string
	paste bool
}

// Texts of Gemini CLI's screen.
const (
	allowOnce    = "● 1. Allow once"
	rejectLine   = "No, suggest changes (esc)"
	cancelHint   = "(esc to cancel"
	queuedHint   = "Queued (press ↑ to edit)"
	resumingHint = "Resuming session..."
)

// placeholders stand in an empty input line; the latter two with Vim's keys.
func placeholders() []string {
	return []string{"Type your message", "Press 'Esc' for NORMAL mode.", "Press 'i' for INSERT mode."}
}

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
		v.queued = v.queued || strings.Contains(line, queuedHint)
		v.resuming = v.resuming || strings.TrimSpace(line) == resumingHint
		for _, g := range gates() {
			if strings.Contains(line, g[0]) {
				v.gate = g[1]
			}
		}
	}
	v.dialog = selected && reject
	begin, end := composer(s.Lines)
	if begin < end {
		v.composer = true
		v.line, v.empty = typedLine(s.Lines[begin:end])
		v.text = strings.Join(s.Lines[begin:], "")
		v.gate = "" // what is left of it above
	}
	v.busy = slices.ContainsFunc(status(s.Lines, begin), func(line string) bool { return strings.Contains(line, cancelHint) })
	return v
}

// modeRows is how many rows say the mode, at most, of a narrow screen. statusRows is how
// many say what the CLI does.
const (
	modeRows   = 5
	statusRows = 5
)

// status is the rows that say what the CLI does: between a blank row and the rule over the
// mode and the input line. What stands above was said in the conversation, or is left of
// a frame that was drawn for another width. The input line begins at a row; where there is
// none, 0, or no such rule, it is all rows.
func status(lines []string, begin int) []string {
	for rule := begin - 2; rule >= max(0, begin-2-modeRows); rule-- {
		if !bar(lines[rule], '─') {
			continue
		}
		top := rule
		for top > max(0, rule-statusRows) && strings.TrimSpace(lines[top-1]) != "" {
			top--
		}
		return lines[top:rule]
	}
	return lines
}

// composer finds the input line: the rows of what stands in it, none where it is not
// there. Sent prompts look the same, so nothing of the conversation may stand below it:
// no frame of a dialog, and not the rule that is above each input line.
func composer(lines []string) (begin, end int) {
	end = -1
	bars := false
	for i, line := range lines {
		switch {
		case bar(line, '▀'):
			end, bars = i, true
		case notBelow(line), bar(line, '─'):
			end = -1
		}
	}
	if !bars {
		return plainComposer(lines)
	}
	if end < 1 {
		return 0, 0
	}
	begin = end - 1
	for begin > 0 && !bar(lines[begin], '▄') {
		begin--
	}
	if begin++; begin < end && sign(lines[begin]) != "" {
		return begin, end
	}
	return 0, 0
}

// plainComposer finds it where it has no bars, for want of colors or of the wish for
// them: between two rules or blank rows, below the row that says the mode, which has a
// rule above it.
func plainComposer(lines []string) (begin, end int) {
	edge := func(i int) bool { return strings.TrimSpace(lines[i]) == "" || bar(lines[i], '─') }
	for begin = len(lines) - 1; begin > 1; begin-- {
		if notBelow(lines[begin]) {
			return 0, 0
		}
		if !strings.HasPrefix(lines[begin], " ") || sign(lines[begin]) == "" || strings.HasPrefix(lines[begin], "  ") {
			continue
		}
		above := slices.IndexFunc(lines[max(0, begin-1-modeRows):begin-1], func(line string) bool { return bar(line, '─') })
		if !edge(begin-1) || above < 0 {
			return 0, 0
		}
		for end = begin + 1; end < len(lines) && !edge(end); {
			end++
		}
		return begin, end
	}
	return 0, 0
}

// notBelow reports whether a line cannot stand below the input line.
func notBelow(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "╭") || line == resumingHint
}

// sign is the prompt sign of a line, empty where it has none.
func sign(line string) string {
	line = strings.TrimSpace(line)
	for _, s := range []string{">", "*", "!"} {
		if strings.HasPrefix(line, s) {
			return s
		}
	}
	return ""
}

// typedLine is what is typed in the input line, and whether that is nothing.
func typedLine(block []string) (line string, empty bool) {
	s := sign(block[0])
	line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(strings.Join(block, " ")), s))
	placed := slices.ContainsFunc(placeholders(), func(p string) bool { return strings.HasPrefix(line, p) })
	return line, s != "!" && (line == "" || placed)
}

// shows reports whether what was typed stands in the input line, at least its end: of
// a long text the rest is out of sight. It goes by letters and digits: how the others
// are drawn, and where lines end, differs.
func (v view) shows(text string) bool {
	const most = 60
	if !v.composer || v.empty {
		return false
	}
	if strings.Contains(v.text, "[Pasted Text: ") || strings.Contains(v.text, "[Image ") {
		return true // stands for a text of many lines, or for a file
	}
	form := words
	if form(text) == "" {
		form = signs
	}
	typed := []rune(form(text))
	return strings.Contains(form(v.text), string(typed[max(0, len(typed)-most):]))
}

// words are the letters and digits of a text.
func words(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// signs is a text of no words without white space and what a screen may not have of it:
// what joins, varies or colors its signs.
func signs(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.In(r, unicode.M, unicode.Cf) || r >= 0x1f3fb && r <= 0x1f3ff {
			return -1
		}
		return r
	}, text)
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
