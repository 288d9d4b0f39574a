package gemini

import (
	"encoding/json/jsontext"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/askfirst"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// Gemini CLI reads and searches, and runs commands that it holds to be harmless,
// without asking. Rules of its policy engine in the highest tier, an administrator's,
// make it ask (seen with 0.61.0). A rule for commands has to have a pattern of their
// arguments: the engine's own opinion of a command stands above one that has none.
//
// Inside of its sub-agents nobody can be asked over ACP, an ask there waits for ever.
// There such a use is denied; the model is told and goes on.

// policyFile has these rules, below the session's state directory.
const policyFile = "ask-first.toml"

// policyArg names a file of rules of the administrator's tier.
const policyArg = "--admin-policy"

// subagents are Gemini CLI's own. One that a user defines asks in vain.
var subagents = [...]string{"codebase_investigator", "cli_help", "generalist", "browser_agent", "confucius"}

// askRule is a rule of Gemini CLI: tools, and a regular expression that their arguments
// as JSON meet, empty for any.
type askRule struct {
	tools  []string
	mcp    string
	inArgs string
}

// askPolicy is a policy of Gemini CLI that asks for uses, empty when it asks for them
// in any case.
func askPolicy(uses []adapters.Use) []byte {
	var rules []askRule
	for _, u := range uses {
		for _, r := range askRules(u) {
			if !slices.ContainsFunc(rules, r.equal) {
				rules = append(rules, r)
			}
		}
	}
	var b strings.Builder
	for _, r := range rules {
		r.write(&b, "", "ask_user", "500")
		for _, name := range subagents {
			r.write(&b, name, "deny", "501")
		}
	}
	return []byte(b.String())
}

func (r askRule) equal(o askRule) bool {
	return slices.Equal(r.tools, o.tools) && r.mcp == o.mcp && r.inArgs == o.inArgs
}

// write writes r as TOML. Its texts have no single quote, so that they stand as they are
// within two.
func (r askRule) write(b *strings.Builder, subagent, decision, priority string) {
	b.WriteString("[[rule]]\ntoolName = ['" + strings.Join(r.tools, "', '") + "']\n")
	if r.mcp != "" {
		b.WriteString("mcpName = '" + r.mcp + "'\n")
	}
	if r.inArgs != "" {
		b.WriteString("argsPattern = '" + r.inArgs + "'\n")
	}
	if subagent != "" {
		b.WriteString("subagent = '" + subagent + "'\ndenyMessage = 'A rule of agenthost wants this asked, and nobody can be asked inside of a sub-agent.'\n")
	}
	b.WriteString("decision = '" + decision + "'\npriority = " + priority + "\n\n")
}

const (
	shell = "run_shell_command"
	// anything meets all arguments: with a pattern a rule stands above the opinion that
	// a command is harmless.
	anything = "."
	// inCommand begins what is looked for in the command; the arguments have a NUL
	// between them.
	inCommand = `"command":[^\x00]*[^A-Za-z0-9_\x00]`
	// disguise is a quote or backslash within a word, which may hide any text.
	disguise = `"command":"[^\x00]*[A-Za-z0-9_./-][\x22\x27\x5c]+[A-Za-z0-9_./-]`
)

func askRules(u adapters.Use) []askRule {
	disguised := askRule{tools: []string{shell}, inArgs: disguise}
	reads, writes := []string{"read_file", "read_many_files", "grep_search"}, []string{"write_file", "replace"}
	files := func(tools ...string) []askRule {
		text := askfirst.Text(u.Pattern)
		if text == "" {
			return []askRule{{tools: tools}, {tools: []string{shell}, inArgs: anything}}
		}
		return []askRule{{tools: append(tools, shell), inArgs: anyCase(text)}, disguised}
	}
	switch u.Tool {
	case "*":
		// Not what sub-agents end with, and the like.
		all := append(append(reads, writes...), "glob", "list_directory", "web_fetch", "google_web_search", "invoke_agent", "activate_skill", "save_memory")
		return []askRule{{tools: []string{shell}, inArgs: anything}, {tools: all}, {tools: []string{"*"}, mcp: "*"}}
	case "bash":
		return []askRule{{tools: []string{shell}, inArgs: commandPattern(u.Pattern)}, disguised}
	case "read", "view-image":
		return files(reads...)
	case "grep":
		return files("grep_search")
	case "glob":
		return files("glob")
	case "list":
		return files("list_directory", "glob")
	case "write", "edit", "notebook-edit", "delete", "move":
		return files(writes...)
	case "web-fetch":
		if host := askfirst.Host(u.Pattern); askfirst.Plain(host) {
			return []askRule{{tools: []string{"web_fetch", shell}, inArgs: anyCase(host)}}
		}
		return []askRule{{tools: []string{"web_fetch"}}}
	case "web-search":
		return []askRule{{tools: []string{"google_web_search"}}}
	case "task":
		return []askRule{{tools: []string{"invoke_agent"}}}
	case "skill":
		return []askRule{{tools: []string{"activate_skill"}}}
	case "mcp":
		server := askfirst.Server(u.Pattern)
		if !askfirst.Plain(server) {
			server = "*"
		}
		return []askRule{{tools: []string{"*"}, mcp: server}}
	}
	return nil
}

// commandPattern meets the arguments of a command that names the program of a pattern
// anywhere, as a word of its own.
func commandPattern(pattern string) string {
	name, variable := askfirst.Program(pattern)
	switch {
	case variable != "":
		return inCommand + anyCase(variable) + "="
	case name == "":
		return anything
	}
	return inCommand + anyCase(name) + "[^A-Za-z0-9_]"
}

// maxText is how much of a text is looked for. Gemini CLI leaves a rule out whose
// expression is longer than 2,048 characters, or has a quantifier in a group with one.
const maxText = 200

// anyCase is a regular expression for a plain text in any case.
func anyCase(text string) string {
	text = text[:min(len(text), maxText)]
	var b strings.Builder
	for _, c := range text {
		switch lower, upper := strings.ToLower(string(c)), strings.ToUpper(string(c)); {
		case lower != upper:
			b.WriteString("[" + lower + upper + "]")
		case c >= '0' && c <= '9' || c == '_' || c == '-' || c == '/':
			b.WriteRune(c)
		default:
			b.WriteString("[" + string(c) + "]")
		}
	}
	return b.String()
}

// askFirst adds the policy of a launch. An administrator's own paths would be replaced
// by it, so that they are named, too.
func (m Machine) askFirst(req adapters.LaunchRequest, l *adapters.Launch) error {
	rules := askPolicy(req.Options.AskFirst)
	if len(rules) == 0 {
		return nil
	}
	path := filepath.Join(req.StateDir, "gemini", policyFile)
	l.Files = append(l.Files, adapters.LaunchFile{Path: path, Data: rules})
	l.Argv = append(l.Argv, policyArg, path)
	system, _ := m.systemPaths(req)
	settings, err := m.readSettings(system)
	if err != nil {
		return err
	}
	all := []jsontext.Value{settings}
	for _, dir := range []string{m.home(req), req.Dir} {
		// What Gemini CLI cannot read either says nothing.
		if v, err := m.readSettings(filepath.Join(dir, ".gemini", "settings.json")); err == nil {
			all = append(all, v)
		}
	}
	for _, v := range all {
		for theirs := range rawjson.Value(v).Get("adminPolicyPaths").Elements() {
			l.Argv = append(l.Argv, policyArg, theirs.Text())
		}
	}
	return nil
}

// AsksFirst implements adapters.AsksFirst.
func (Adapter) AsksFirst() {}

var _ adapters.AsksFirst = Adapter{}
