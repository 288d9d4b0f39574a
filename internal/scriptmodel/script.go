package scriptmodel

import (
	"fmt"
	"strconv"
	"strings"
)

// A script is the list of answers to the model requests of one turn.
type script struct {
	text  string // as written, the key of its counts
	steps []step
}

// A step is one answer.
type step []act

// An act is one verb of a step with its arguments.
type act struct {
	verb  string
	id    string   // call id given with @, "" for a made one
	limit int      // attempts at which a failure happens, always for every one
	words []string // arguments of the verb's shape, unquoted
	nums  []int    // numeric arguments
}

// always is the limit of a failure that never stops.
const always = -1

// marker begins the line of a prompt that holds a script.
const marker = "SCRIPT:"

// findScript returns the script that a user text holds, and whether it holds one.
func findScript(text string) (string, bool) {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), marker)
		if !ok {
			continue
		}
		body := []string{rest}
		for _, more := range lines[i+1:] {
			if t := strings.TrimSpace(more); t == "" || strings.HasPrefix(t, "</") {
				break
			}
			body = append(body, more)
		}
		return strings.TrimSpace(strings.Join(body, "\n")), true
	}
	return "", false
}

// parseScript reads the language of the package documentation.
func parseScript(text string) (script, error) {
	sc := script{text: text}
	var pending step // acts that say nothing yet
	for n, raw := range splitSteps(text) {
		var st step
		for _, part := range splitOutside(raw, " ++ ") {
			a, err := parseAct(strings.TrimSpace(part))
			if err != nil {
				return script{}, fmt.Errorf("step %d: %w", n+1, err)
			}
			st = append(st, a)
		}
		pending = append(pending, st...)
		if !st.answers() {
			continue
		}
		if err := pending.check(); err != nil {
			return script{}, fmt.Errorf("step %d: %w", n+1, err)
		}
		sc.steps = append(sc.steps, pending)
		pending = nil
	}
	if pending == nil {
		return sc, nil
	}
	if !pending.fails() {
		return script{}, fmt.Errorf("the last step says nothing: join %q to the step it belongs to with ++", pending[len(pending)-1].verb)
	}
	if err := pending.check(); err != nil {
		return script{}, fmt.Errorf("last step: %w", err)
	}
	sc.steps = append(sc.steps, pending)
	return sc, nil
}

// answers reports whether the step holds something that a model request can be
// answered with.
func (s step) answers() bool {
	for _, a := range s {
		switch a.verb {
		case "text", "chunks", "tool", "mcp", "shell", "write", "edit", "read", "task", "empty":
			return true
		}
	}
	return false
}

// fails reports whether the step holds a failure, which can stand without content.
func (s step) fails() bool {
	for _, a := range s {
		switch a.verb {
		case "error", "fail", "drop", "badsse", "hang":
			return true
		}
	}
	return false
}

// check refuses an HTTP error after content: the status line is gone by then.
func (s step) check() error {
	said := false
	for _, a := range s {
		switch a.verb {
		case "error":
			if said {
				return fmt.Errorf("error must come before any content; fail ends a stream that has begun")
			}
		case "text", "chunks", "think", "tool", "mcp", "shell", "write", "edit", "read", "task", "raw":
			said = true
		}
	}
	return nil
}

// splitSteps divides a script at line ends and " ;; ", joining "++ " lines to
// the step before and leaving out comments and empty steps.
func splitSteps(text string) []string {
	var steps []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "++ "); ok && len(steps) > 0 {
			line = steps[len(steps)-1] + " ++ " + rest
			steps = steps[:len(steps)-1]
		}
		for _, s := range splitOutside(line, " ;; ") {
			if s = strings.TrimSpace(s); s != "" {
				steps = append(steps, s)
			}
		}
	}
	return steps
}

// splitOutside divides one line at sep where sep is not inside a double-quoted
// string. A quote that is not closed on the line is an ordinary character.
func splitOutside(line, sep string) []string {
	var parts []string
	line = " " + line + " " // so that a divider may stand at either end
	start := 0
	for i := 0; i < len(line); {
		if line[i] == '"' {
			i += max(quotedLen(line[i:]), 1)
			continue
		}
		if strings.HasPrefix(line[i:], sep) {
			parts = append(parts, line[start:i])
			// The blank that ends a divider may begin the next one.
			i += len(sep) - 1
			start = i
			continue
		}
		i++
	}
	return append(parts, line[start:])
}

// quotedLen is the length of the double-quoted string that s begins with,
// quotes included, or 0 when it is not closed.
func quotedLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// parseLimit reads a count ("once", "twice", "3x", "always") at the head of the
// arguments of a failure.
func parseLimit(rest string) (limit int, left string) {
	word, tail, _ := strings.Cut(rest, " ")
	switch word {
	case "once":
		return 1, strings.TrimSpace(tail)
	case "twice":
		return 2, strings.TrimSpace(tail)
	case "always":
		return always, strings.TrimSpace(tail)
	}
	if num, ok := strings.CutSuffix(word, "x"); ok {
		if n, err := strconv.Atoi(num); err == nil && n >= 0 {
			return n, strings.TrimSpace(tail)
		}
	}
	return always, rest
}
