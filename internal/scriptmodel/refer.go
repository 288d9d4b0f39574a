package scriptmodel

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// reference is $(NAME) in the arguments of a call, with the quotes around it when
// it is a whole string.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"\$\([A-Za-z0-9_]+\)"|\$\([A-Za-z0-9_]+\)`)
})

// refer returns the step with the references in the arguments of its calls
// replaced by what the tool results of the conversation say.
func (s step) refer(r *request) (step, error) {
	out := make(step, len(s))
	for i, a := range s {
		out[i] = a
		if a.verb != "tool" && a.verb != "mcp" {
			continue
		}
		last := len(a.words) - 1
		var missing error
		args := reference().ReplaceAllStringFunc(a.words[last], func(ref string) string {
			value, ok := r.told(strings.Trim(ref, `"$()`))
			switch {
			case !ok:
				missing = fmt.Errorf("no tool result says %s", ref)
				return ref
			case ref[0] == '"' && !number().MatchString(value):
				return `"` + value + `"`
			}
			return value
		})
		if missing != nil {
			return nil, missing
		}
		out[i].words = append(append([]string(nil), a.words[:last]...), args)
	}
	return out, nil
}

var number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(0|[1-9][0-9]*)$`) })

// told is the word that follows name in the newest tool result that holds it: the
// value of a JSON member, or what stands behind it in a sentence. Underscores stand
// for blanks, too, and case does not matter.
func (r *request) told(name string) (string, bool) {
	follows := regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(name, "_", "[_ ]") + `[^A-Za-z0-9_]{1,6}([A-Za-z0-9_.-]+)`)
	for i := len(r.items) - 1; i >= 0; i-- {
		if r.items[i].kind != callResult {
			continue
		}
		if m := follows.FindAllStringSubmatch(r.items[i].text, -1); m != nil {
			return strings.TrimRight(m[len(m)-1][1], "."), true
		}
	}
	return "", false
}
