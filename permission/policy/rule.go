package policy

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// Rule is one line of a policy.
type Rule struct {
	// Kind is what it demands, Text its tool and patterns as written, Where the
	// place it comes from: rules[3], --allow.
	Kind  Verdict
	Text  string
	Where string

	// agents, cwd and subagent narrow the rule down; zero values do not.
	agents   []string
	cwd      *pathPattern
	subagent *bool

	// name is the rule as String gives it.
	name     string
	tool     string
	any      bool // no patterns, or *: every use, whatever it is about
	commands []commandPattern
	paths    []pathPattern
	urls     []urlPattern
	names    []namePattern
}

// String is the rule as explanations name it.
func (r *Rule) String() string { return r.name }

// class is what the uses of a tool are about.
type class int

const (
	aboutName class = iota
	aboutCommand
	aboutPath
	aboutURL
	aboutMCP
)

// classOf tells what a tool is about by its canonical name.
func classOf(tool string) class {
	switch tool {
	case "bash":
		return aboutCommand
	case "read", "write", "edit", "delete", "move", "list", "glob", "grep", "notebook-edit", "view-image":
		return aboutPath
	case "web-fetch", "network-access":
		return aboutURL
	case "mcp":
		return aboutMCP
	}
	if strings.HasPrefix(tool, "mcp/") {
		return aboutMCP
	}
	return aboutName
}

// parseRule reads TOOL or TOOL(PATTERN, …).
func parseRule(kind Verdict, text string, env Env) (*Rule, error) {
	text = strings.TrimSpace(text)
	tool, list, hasList, err := splitRule(text)
	if err != nil {
		return nil, err
	}
	r := &Rule{Kind: kind, Text: text, name: string(kind) + ": " + text, tool: tool}
	if server, ok := strings.CutPrefix(tool, "mcp/"); ok {
		if hasList {
			return nil, fmt.Errorf("want mcp(%s) or a tool without a list, got %q", server, text)
		}
		r.tool, list, hasList = "mcp", server, true
	}
	if !hasList {
		r.any = true
		return r, nil
	}
	if tool == "*" {
		return nil, fmt.Errorf("want * without a list for every tool, got %q", text)
	}
	patterns, err := splitList(list)
	if err != nil {
		return nil, err
	}
	for _, p := range patterns {
		if err := r.add(p, env); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", p, err)
		}
	}
	return r, nil
}

func (r *Rule) add(p string, env Env) error {
	if p == "*" {
		// Still read pattern by pattern for commands: * covers no dangerous option.
		r.any = classOf(r.tool) != aboutCommand || r.Kind != Allow
		if r.any {
			return nil
		}
	}
	switch classOf(r.tool) {
	case aboutCommand:
		c, err := parseCommandPattern(p)
		r.commands = append(r.commands, c)
		return err
	case aboutPath:
		c, err := parsePathPattern(p, env)
		r.paths = append(r.paths, c)
		return err
	case aboutURL:
		c, err := parseURLPattern(p)
		r.urls = append(r.urls, c)
		return err
	}
	if classOf(r.tool) == aboutMCP && !strings.Contains(p, "/") {
		return fmt.Errorf("want SERVER/TOOL, got %q", p)
	}
	c, err := parseNamePattern(p)
	r.names = append(r.names, c)
	return err
}

// splitRule cuts TOOL(LIST).
func splitRule(text string) (tool, list string, hasList bool, err error) {
	if text == "" {
		return "", "", false, errors.New("want TOOL or TOOL(PATTERN, …), got nothing")
	}
	if strings.ContainsAny(text, "\x00\r\n") {
		return "", "", false, fmt.Errorf("want one line, got %q", text)
	}
	tool = text
	if i := strings.IndexByte(text, '('); i >= 0 {
		if !strings.HasSuffix(text, ")") {
			return "", "", false, fmt.Errorf("want a closing ) at the end, got %q", text)
		}
		tool, list, hasList = text[:i], text[i+1:len(text)-1], true
	}
	for _, c := range []byte(tool) {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("-_/*.", c) >= 0) {
			hint := ""
			if s := strings.ToLower(tool); s != tool && strings.IndexByte(s, ' ') < 0 {
				hint = fmt.Sprintf(", did you mean %q", canonicalGuess(tool))
			}
			return "", "", false, fmt.Errorf("want a tool's name in lower case with hyphens, got %q%s", tool, hint)
		}
	}
	if tool == "" || strings.Contains(tool, "*") && tool != "*" && !strings.HasPrefix(tool, "mcp/") {
		return "", "", false, fmt.Errorf("want a tool's name, got %q", tool)
	}
	return tool, list, hasList, nil
}

// canonicalGuess turns WebFetch into web-fetch.
func canonicalGuess(tool string) string {
	var b strings.Builder
	for i, c := range tool {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				b.WriteByte('-')
			}
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// splitList cuts patterns at commas that are not quoted, escaped or in braces.
func splitList(list string) ([]string, error) {
	var out []string
	from, depth := 0, 0
	var quote byte
	cut := func(to int) error {
		p := strings.TrimSpace(list[from:to])
		if p == "" {
			return fmt.Errorf("want a pattern, got an empty one in %q", list)
		}
		out = append(out, p)
		from = to + 1
		return nil
	}
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case c == ',' && depth == 0:
			if err := cut(i); err != nil {
				return nil, err
			}
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("want a closing %c, got %q", quote, list)
	}
	if err := cut(len(list)); err != nil {
		return nil, err
	}
	return out, nil
}

// covers reports whether a rule about the tool of r is about uses of tool.
// Widely, a rule about changing a file is about every tool that changes one.
func (r *Rule) covers(tool string) bool {
	if r.tool == "*" || r.tool == tool {
		return true
	}
	if r.tool == "mcp" && strings.HasPrefix(tool, "mcp/") {
		return true
	}
	if r.Kind == Allow {
		return false
	}
	switch r.tool {
	case "edit":
		return tool == "write" || tool == "notebook-edit" || tool == "delete" || tool == "move"
	case "write":
		return tool == "move"
	case "read":
		return tool == "view-image" || tool == "grep"
	case "web-fetch":
		return tool == "network-access"
	}
	return false
}

// applies reports whether the filters of r let it speak about q.
func (r *Rule) applies(q *Analysis) bool {
	if r.agents != nil {
		ok := false
		for _, a := range r.agents {
			ok = ok || a == q.req.Agent
		}
		if !ok {
			return false
		}
	}
	if r.subagent != nil && *r.subagent != (q.req.Subagent != "") {
		return false
	}
	if r.cwd != nil {
		q.locateDirs()
		if r.Kind == Allow {
			return q.dirOK && r.cwd.allows(q.dir, q)
		}
		return r.cwd.touches(q.dir, q)
	}
	return true
}

// namePattern matches server/tool and the names of tools.
type namePattern struct {
	glob, wide string
	// prefix and widePrefix are what every match begins with.
	prefix, widePrefix string
}

func parseNamePattern(p string) (namePattern, error) {
	if _, err := path.Match(p, ""); err != nil {
		return namePattern{}, fmt.Errorf("want a glob, got %q", p)
	}
	n := namePattern{glob: p, wide: fold(p)}
	n.prefix, n.widePrefix = beforeWildcard(n.glob), beforeWildcard(n.wide)
	return n, nil
}

func beforeWildcard(glob string) string {
	if i := strings.IndexAny(glob, `*?[\`); i >= 0 {
		return glob[:i]
	}
	return glob
}

func (p *namePattern) allows(name string) bool {
	if !strings.HasPrefix(name, p.prefix) {
		return false
	}
	ok, err := path.Match(p.glob, name)
	return err == nil && ok
}

// touches is given the name folded, too.
func (p *namePattern) touches(name, wide string) bool {
	if p.allows(name) {
		return true
	}
	if !strings.HasPrefix(wide, p.widePrefix) {
		return false
	}
	ok, err := path.Match(p.wide, wide)
	return err == nil && ok
}
