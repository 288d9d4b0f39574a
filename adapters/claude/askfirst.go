package claude

import (
	"path"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/askfirst"
)

// Claude Code reads, and runs commands that it holds to be harmless, without
// asking; in mode acceptEdits it edits, too. Rules of its own below
// "permissions.ask" make it ask, whatever the mode (seen with 2.1.332). They are
// made a little wider than the rules that they stand for: agenthost decides.

// AsksFirst implements adapters.AsksFirst.
func (Adapter) AsksFirst() {}

var _ adapters.AsksFirst = Adapter{}

// submitAskFirst tells the CLI, as it runs, the rules in place of those it was told so
// before. They hold from the next tool on, and beside those of the start: what only
// those are about is still asked for (seen with 2.1.332).
func (p *protocol) submitAskFirst(c adapters.AskFirst) {
	settings := new(object).raw("permissions", withAsk(nil, askRules(c.Uses, p.info.Dir)))
	body := new(object).str("subtype", "apply_flag_settings").raw("settings", settings.value()).value()
	p.request("apply_flag_settings", body, func(r reply) {
		if r.err != nil {
			p.fail(c.ID, *r.err)
			return
		}
		p.succeed(c.ID, nil)
	})
}

// askRules are the CLI's words for uses in the directory dir.
func askRules(uses []adapters.Use, dir string) []string {
	var rules []string
	add := func(list ...string) {
		for _, r := range list {
			if !slices.Contains(rules, r) {
				rules = append(rules, r)
			}
		}
	}
	for _, u := range uses {
		switch u.Tool {
		case "*":
			add("Bash", "Read", "Edit", "WebFetch", "WebSearch", "Agent", "Skill", "Glob", "Grep")
		case "bash":
			add(askCommand(u.Pattern))
		case "read", "view-image", "grep", "glob", "list":
			add(askFiles(map[string]string{"grep": "Grep", "glob": "Glob", "list": "Glob"}[u.Tool], "Read", u.Pattern, dir)...)
			if u.Tool == "list" {
				add("Bash(ls *)")
			}
		case "write", "edit", "notebook-edit", "delete", "move":
			add(askFiles("", "Edit", u.Pattern, dir)...)
		case "web-fetch":
			add(askAddress(u.Pattern))
		case "web-search":
			add("WebSearch")
		case "task":
			add("Agent")
		case "skill":
			add("Skill")
		case "mcp":
			if server := askfirst.Server(u.Pattern); server != "" {
				add("mcp__" + server)
			}
		}
	}
	return rules
}

// askCommand asks for a program with whatever arguments: the rule is about them in
// any order.
func askCommand(pattern string) string {
	name, variable := askfirst.Program(pattern)
	switch {
	case variable != "":
		return "Bash(*" + variable + "=*)"
	case name == "":
		return "Bash"
	}
	return "Bash(" + name + " *)"
}

// askFiles asks for the files of a pattern, and for the commands that name them.
func askFiles(also, tool, pattern, dir string) []string {
	var rules []string
	if also != "" {
		rules = append(rules, also)
	}
	needle := askfirst.Text(pattern)
	if needle == "" {
		return append(rules, tool, "Bash")
	}
	rules = append(rules, "Bash(*"+needle+"*)")
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "${cwd}/"), "./")
	if i := strings.IndexAny(pattern, "{["); i >= 0 {
		pattern = pattern[:i] + "*"
		if !strings.Contains(pattern, "/") {
			pattern += "*/**"
		}
	}
	switch {
	case strings.HasPrefix(pattern, "~/"):
		return append(rules, tool+"("+pattern+")")
	case strings.HasPrefix(pattern, "/"):
		return append(rules, tool+"(/"+pattern+")") // one slash is the directory of the settings
	case strings.HasPrefix(pattern, "**/"):
		return append(rules, tool+"("+pattern+")", tool+"(//"+pattern+")")
	case dir == "" || strings.ContainsAny(dir, `()*?[]{}\`):
		return append(rules, tool)
	}
	return append(rules, tool+"(/"+path.Join(dir, pattern)+")")
}

func askAddress(pattern string) string {
	host := askfirst.Host(pattern)
	if host == "" {
		return "WebFetch"
	}
	return "WebFetch(domain:" + host + ")"
}
