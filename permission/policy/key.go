package policy

import (
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/permission/shell"
)

// maxCovers bounds the parts that are shown of one request.
const maxCovers = 100

// Covers are the parts of the request as people read them: commands, files,
// addresses, tools. They are the patterns of the ask.
func (a *Analysis) Covers() []string {
	out := make([]string, 0, min(len(a.items), maxCovers+1))
	for i := range a.items {
		if i == maxCovers {
			return append(out, fmt.Sprintf("and %d more", len(a.items)-i))
		}
		out = append(out, show(a.items[i].text))
	}
	return out
}

// Key is the request in the form in which grants are compared: the same key means
// the same deed. It is false when the request cannot be remembered, because what
// it does is known only when it runs.
func (a *Analysis) Key() (string, bool) {
	if a.unclear != "" || a.req.Question || len(a.items) == 0 || a.req.Tool == toolTyped {
		return "", false // what is typed means something else each time
	}
	for i := range a.items {
		it := &a.items[i]
		if it.why != "" || it.command != nil && !settled(it.command) {
			return "", false
		}
	}
	switch a.about {
	case aboutCommand:
		return a.commandKey()
	case aboutPath:
		return a.pathKey(), true
	case aboutURL:
		return a.textKey(), true
	}
	v := jsontext.Value(slices.Clone(a.req.Args))
	if len(v) > 0 {
		if err := v.Canonicalize(); err != nil {
			return "", false
		}
	}
	return a.textKey() + "\n" + string(v), true
}

// settled reports whether c does the same whenever it runs, as far as its text
// says.
func settled(c *shell.Command) bool {
	if c.Dynamic != "" {
		return false
	}
	// Words that xargs and find -exec fill in come from what the same script lists.
	for _, w := range c.Words {
		if w.Kind == shell.Dynamic || w.Kind == shell.Unknown && strings.ContainsAny(w.Text, "$`") {
			return false
		}
	}
	for _, x := range c.Assigns {
		if x.Value.Kind != shell.Known {
			return false
		}
	}
	for _, in := range c.Inner {
		if !settled(in.Command) {
			return false
		}
	}
	return true
}

// commandKey is the script in canonical spacing, the directories it runs in as
// far as the call names them, and every other argument that may matter.
func (a *Analysis) commandKey() (string, bool) {
	if a.script == nil {
		return "", false
	}
	normal := a.script.Normal()
	if normal == "" {
		return "", false
	}
	var b strings.Builder
	b.WriteString(normal)
	for i := range a.items {
		// A link that leads elsewhere makes it another deed.
		if pl := a.items[i].place; pl != nil {
			b.WriteString("\n> " + strings.Join(pl.real, " "))
		}
	}
	rest := slices.Clone(a.rest)
	slices.SortFunc(rest, func(x, y member) int { return strings.Compare(x.name, y.name) })
	for _, m := range rest {
		switch plainKey(m.name) {
		case "description", "timeout", "timeoutms", "explanation", "justification", "title", "runinbackground", "isbackground", "isinput":
			continue
		}
		v := m.value.Clone()
		if err := v.Canonicalize(); err != nil {
			return "", false
		}
		if s := string(v); s != "null" && s != "false" && s != `""` {
			b.WriteString("\n" + m.name + "=" + s)
		}
	}
	if a.went != wentNowhere {
		b.WriteString("\n@ " + strings.Join(a.dirs, " "))
	}
	return b.String(), true
}

// pathKey is the files with symlinks resolved.
func (a *Analysis) pathKey() string {
	var all []string
	for i := range a.items {
		all = append(all, strings.Join(a.items[i].place.real, "\x00"))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\n")
}

func (a *Analysis) textKey() string {
	var all []string
	for i := range a.items {
		all = append(all, a.items[i].text)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\n")
}

// Places are the files of the request with symlinks resolved; two analyses of one
// request with different places say that a link was changed in between.
func (a *Analysis) Places() string {
	var b strings.Builder
	for i := range a.items {
		it := &a.items[i]
		if it.place != nil {
			b.WriteString(strings.Join(it.place.real, "\x00") + "\n")
		}
		for k := range it.implied {
			if pl := it.implied[k].place; pl != nil {
				b.WriteString(strings.Join(pl.real, "\x00") + "\n")
			}
		}
	}
	return b.String()
}
