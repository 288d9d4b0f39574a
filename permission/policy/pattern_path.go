package policy

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/agenthost/agenthost/permission/shell"
)

// pathPattern matches paths.
type pathPattern struct {
	base base
	// glob is relative to the base, or absolute; wide is the same folded.
	glob, wide string
	// name is set when the pattern is **/name: only the last element counts.
	name, wideName string
	// prefix is literal text that glob begins with, up to a "/".
	prefix, widePrefix string
	// linked is where prefix leads, folded, when that is another place.
	linked string
	// need and wideNeed are literal text that every match of glob and of wide
	// holds: most paths are told apart by it.
	need, wideNeed string
}

// base is what a path pattern is relative to.
type base int

const (
	baseAnywhere base = iota // **/x
	baseRoot                 // /x
	baseCwd                  // x, ./x, ${cwd}/x
	baseHome                 // ~/x
)

func parsePathPattern(text string, env Env) (pathPattern, error) {
	p := pathPattern{base: baseCwd}
	glob := text
	if env.Windows {
		glob = strings.ReplaceAll(glob, `\`, "/")
	}
	for {
		switch {
		case strings.HasPrefix(glob, "${cwd}"):
			glob = strings.TrimPrefix(glob[len("${cwd}"):], "/")
		case glob == "~" || strings.HasPrefix(glob, "~/"):
			if env.Home == "" {
				return p, errors.New("want an absolute path: the home directory is not known")
			}
			p.base, glob = baseHome, strings.TrimPrefix(glob[1:], "/")
		case env.isAbs(glob):
			p.base = baseRoot
		case strings.HasPrefix(glob, "**/"):
			p.base = baseAnywhere
		case strings.HasPrefix(glob, "./"):
			glob = glob[2:]
			continue
		}
		break
	}
	if strings.Contains(glob, "${") {
		return p, fmt.Errorf("want ${cwd} at the beginning and no other variable, got %q", text)
	}
	if p.base == baseCwd || p.base == baseRoot {
		glob = cleanGlob(glob)
	}
	if glob != "" && !doublestar.ValidatePattern(glob) {
		return p, fmt.Errorf("want a glob, got %q", text)
	}
	if p.base == baseCwd && (glob == ".." || strings.HasPrefix(glob, "../")) {
		return p, fmt.Errorf("want a path that does not begin above the session's directory, got %q", text)
	}
	p.glob, p.wide = glob, fold(glob)
	if rest, ok := strings.CutPrefix(glob, "**/"); ok && !strings.Contains(rest, "/") && !strings.Contains(rest, "**") {
		p.name, p.wideName = rest, fold(rest)
	}
	p.prefix = literalPrefix(glob)
	p.widePrefix = fold(p.prefix)
	p.need, p.wideNeed = needed(p.glob), needed(p.wide)
	p.link(env)
	return p, nil
}

// cleanGlob takes "." and ".." out of the part of a glob that has no wildcard.
func cleanGlob(glob string) string {
	lit := literalPrefix(glob)
	if lit == "" || lit == "/" {
		return glob
	}
	tail := glob[len(lit):]
	lit = path.Clean(lit)
	if lit == "." {
		return tail
	}
	if tail == "" {
		return lit
	}
	return join(lit, tail)
}

// literalPrefix is what glob begins with before its first wildcard, up to and
// with the last "/" there; all of a glob without one.
func literalPrefix(glob string) string {
	i := strings.IndexAny(glob, `*?[{\`)
	if i < 0 {
		return glob
	}
	return glob[:strings.LastIndexByte(glob[:i], '/')+1]
}

// allows reports whether every reading of pl, symlinks resolved, is in p.
func (p *pathPattern) allows(pl place, q *Analysis) bool {
	if pl.why != "" || len(pl.real) == 0 {
		return false
	}
	for _, real := range pl.real {
		if !p.matchReal(real, q) {
			return false
		}
	}
	return true
}

// needed is the longest text within one segment that every match of glob holds,
// "" when none is found easily.
func needed(glob string) string {
	if i := strings.IndexAny(glob, `[{\`); i >= 0 {
		glob = glob[:i]
		// What stands before it may belong to it: a[bc].
		glob = glob[:strings.LastIndexAny(glob, "*?/")+1]
	}
	best := ""
	for _, run := range strings.FieldsFunc(glob, func(c rune) bool { return c == '*' || c == '?' || c == '/' }) {
		if len(run) > len(best) {
			best = run
		}
	}
	return best
}

func (p *pathPattern) matchReal(real string, q *Analysis) bool {
	switch p.base {
	case baseCwd:
		rel, ok := below(real, q.realCwd)
		return ok && p.match(rel)
	case baseHome:
		rel, ok := below(real, q.homeDir().real)
		return ok && p.match(rel)
	case baseAnywhere:
		return p.match(strings.TrimPrefix(real, "/"))
	}
	return p.match(real)
}

func (p *pathPattern) match(rel string) bool {
	if !strings.Contains(rel, p.need) {
		return false
	}
	if p.name != "" {
		return matchGlob(p.name, path.Base(rel))
	}
	// "a/**" matches "a" as well.
	if !strings.HasPrefix(rel, p.prefix) && rel+"/" != p.prefix {
		return false
	}
	return matchGlob(p.glob, rel)
}

// touches reports whether any reading of pl, with or without symlinks resolved,
// in any case, may be in p.
func (p *pathPattern) touches(pl place, q *Analysis) bool {
	for _, w := range pl.wide {
		if strings.Contains(w, p.wideNeed) && p.touch(w, q) {
			return true
		}
	}
	return false
}

func (p *pathPattern) touch(wide string, q *Analysis) bool {
	if p.name != "" {
		return matchGlob(p.wideName, path.Base(wide))
	}
	switch p.base {
	case baseCwd:
		return p.touchBelow(wide, q.dir.wide)
	case baseHome:
		return p.touchBelow(wide, q.homeDir().wide)
	case baseRoot:
		return p.wideMatch(wide) || p.touchLinked(wide)
	}
	return matchGlob(p.wide, strings.TrimPrefix(wide, "/"))
}

func (p *pathPattern) touchBelow(wide string, dirs []string) bool {
	for _, d := range dirs {
		if rel, ok := below(wide, d); ok && p.wideMatch(rel) {
			return true
		}
	}
	return false
}

// rooted are the folded directories that a pattern is relative to, "" for itself; ok
// is false for a pattern that may match anywhere.
func (p *pathPattern) rooted(q *Analysis) (dirs []string, ok bool) {
	switch p.base {
	case baseCwd:
		return q.dir.wide, true
	case baseHome:
		return q.homeDir().wide, true
	case baseRoot:
		return []string{""}, true
	}
	return []string{"/**"}, false
}

// meets reports whether a path with marks for text that is not known, folded, may
// be in p.
func (p *pathPattern) meets(marked string, q *Analysis) bool {
	dirs, _ := p.rooted(q)
	for _, d := range dirs {
		glob := p.wide
		switch {
		case p.base == baseAnywhere:
			glob = "/" + glob
		case p.base != baseRoot:
			glob = d + "/" + glob
		}
		if globsMeet(marked, glob) {
			return true
		}
	}
	return false
}

// startsBelow reports whether what p matches lies below the folded directory dir.
func (p *pathPattern) startsBelow(dir string, q *Analysis) bool {
	dirs, ok := p.rooted(q)
	if !ok {
		return false
	}
	for _, d := range dirs {
		prefix := p.widePrefix
		if p.base != baseRoot {
			prefix = d + "/" + prefix
		}
		if _, in := below(strings.TrimSuffix(prefix, "/"), dir); in {
			return true
		}
	}
	return false
}

// reachesBelow reports whether r is about something below a place.
func (r *Rule) reachesBelow(pl *place, q *Analysis) bool {
	for i := range r.paths {
		for _, w := range pl.wide {
			if r.paths[i].startsBelow(w, q) {
				return true
			}
		}
	}
	return false
}

// maxMeet bounds the work of comparing two globs; longer ones may meet.
const maxMeet = 1 << 16

// globsMeet reports whether some path fits both marked, in which AnyText stands for
// any text of one segment, and glob. It may say so of two that never meet.
func globsMeet(marked, glob string) bool {
	a, b := []rune(marked), []rune(glob)
	if len(a)*len(b) > maxMeet {
		return true
	}
	seen := make([]bool, (len(a)+1)*(len(b)+1))
	var meet func(i, j int) bool
	meet = func(i, j int) bool {
		if k := i*(len(b)+1) + j; seen[k] {
			return false // it was tried, and did not
		} else {
			seen[k] = true
		}
		wildA := i < len(a) && a[i] == shell.AnyText
		wildB := j < len(b) && strings.ContainsRune("*?[{", b[j])
		switch {
		case i == len(a) && j == len(b):
			return true
		case wildA && meet(i+1, j), wildB && meet(i, j+1):
			return true
		case wildB && (b[j] == '[' || b[j] == '{'):
			// What is in brackets may be anything.
			end := strings.IndexRune(string(b[j:]), map[rune]rune{'[': ']', '{': '}'}[b[j]])
			if end < 0 {
				return true
			}
			rest := len([]rune(string(b[j:])[:end])) + 1
			return i < len(a) && meet(i+1, j) || meet(i, j+rest)
		case i == len(a) || j == len(b):
			return false
		case wildA && wildB:
			return false
		case wildA:
			return b[j] != '/' && !(b[j] == '.' && j > 0 && b[j-1] == '/') && meet(i, j+1)
		case wildB:
			deep := b[j] == '*' && (j+1 < len(b) && b[j+1] == '*' || j > 0 && b[j-1] == '*')
			return (a[i] != '/' || deep) && meet(i+1, j)
		}
		return a[i] == b[j] && meet(i+1, j+1)
	}
	return meet(0, 0)
}

// wideMatch is matchGlob with a cheap test first.
func (p *pathPattern) wideMatch(s string) bool {
	if !strings.HasPrefix(s, p.widePrefix) && s+"/" != p.widePrefix {
		return false
	}
	return matchGlob(p.wide, s)
}

// touchLinked compares with the place that the literal part of an absolute
// pattern leads to: /etc is a link on some systems.
func (p *pathPattern) touchLinked(wide string) bool {
	if p.linked == "" {
		return false
	}
	rel, ok := below(wide, p.linked)
	return ok && matchGlob(p.wide[len(p.widePrefix):], rel)
}

// link finds where the literal part of an absolute pattern leads, once: when the
// policy is loaded.
func (p *pathPattern) link(env Env) {
	dir := strings.TrimSuffix(p.prefix, "/")
	if p.base != baseRoot || dir == "" {
		return
	}
	if real, why := env.resolve(dir); why == "" && real != dir {
		p.linked = fold(real)
		p.wideNeed = "" // a match may have the other place's name
	}
}

func matchGlob(glob, name string) bool {
	if glob == "" {
		return name == ""
	}
	ok, err := doublestar.Match(glob, name)
	return err == nil && ok
}
