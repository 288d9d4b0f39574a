package prompt

import (
	"strings"

	"github.com/agenthost/agenthost/permission"
)

// shown is one line of what an ask is about; mark is its kind: '$' a command, '+'
// and '-' of a diff, '@' a header, ' ' anything else.
type shown struct {
	mark rune
	text string
}

// bodyLines are the lines that a person has to see to decide.
func bodyLines(a *permission.Ask) []shown {
	args, err := parseArgs(a.Args)
	if err != nil {
		return plainLines(' ', string(a.Args))
	}
	var out []shown
	var old, now string
	edits := false
	for _, m := range args {
		switch key := strings.ToLower(strings.ReplaceAll(m.name, "_", "")); key {
		case "command", "cmd":
			out = append(out, plainLines('$', m.text())...)
		case "diff", "patch", "unifieddiff", "patchtext", "input":
			out = append(out, diffLines(m.text())...)
		case "oldstring", "oldtext":
			old, edits = m.text(), true
		case "newstring", "newtext":
			now, edits = m.text(), true
		case "content", "newsource", "filetext":
			out = append(out, plainLines('+', m.text())...)
		case "description":
			// It is in the head.
		default:
			out = append(out, shown{'@', m.name + ": " + m.text()})
		}
	}
	if edits {
		if old != "" {
			out = append(out, plainLines('-', old)...)
		}
		if now != "" {
			out = append(out, plainLines('+', now)...)
		}
	}
	return out
}

func plainLines(mark rune, text string) []shown {
	var out []shown
	for line := range strings.Lines(text) {
		out = append(out, shown{mark, strings.TrimRight(line, "\r\n")})
		if mark == '$' {
			mark = ' ' // further lines of a command
		}
	}
	return out
}

// diffLines tells added from removed lines.
func diffLines(text string) []shown {
	var out []shown
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "@@"),
			strings.HasPrefix(line, "*** "), strings.HasPrefix(line, "diff "):
			out = append(out, shown{'@', line})
		case strings.HasPrefix(line, "+"):
			out = append(out, shown{'+', line[1:]})
		case strings.HasPrefix(line, "-"):
			out = append(out, shown{'-', line[1:]})
		default:
			out = append(out, shown{' ', line})
		}
	}
	return out
}
