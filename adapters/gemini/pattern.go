package gemini

import (
	"regexp"
	"sync"
)

// pattern compiles an expression when it is first used: most runs of the program
// are of another agent or none, and the expressions are the most expensive thing
// that this package would do at each start.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
