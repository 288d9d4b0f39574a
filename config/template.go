package config

import (
	"fmt"
	"strings"
)

// Init is the text of a new configuration file: every key with what it does, all
// commented out, so that the defaults hold until a line is enabled.
func Init() string {
	var b strings.Builder
	b.WriteString("# The configuration of agenthost. Enable a line to change its default.\n")
	b.WriteString("# Every key NAME also has a variable AGENTHOST_NAME; flags win over variables, variables over this file.\n")
	docs := map[string]string{}
	for _, s := range sections() {
		docs[s.name] = s.doc
	}
	section := ""
	for _, k := range keys() {
		head, name, nested := strings.Cut(k.path, ".")
		indent := ""
		if nested {
			indent = "  "
			if head != section {
				b.WriteString(examples(section))
				fmt.Fprintf(&b, "\n# %s\n#%s:\n", docs[head], head)
				section = head
			}
		} else {
			name = head
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "#%s# %s\n#%s%s: %s\n", indent, k.help(), indent, name, k.def)
	}
	b.WriteString(examples(section))
	fmt.Fprintf(&b, "\n# %s\n%s", docs["agents"], agentsExample)
	fmt.Fprintf(&b, "\n# %s\n%s", docs["prices"], pricesExample)
	return b.String()
}

// help is the key's description with its values.
func (k key) help() string {
	if k.kind == word {
		return k.doc + " One of: " + strings.Join(k.values, ", ") + "."
	}
	return k.doc
}

// examples are what stands in a section beside its keys.
func examples(section string) string {
	if section != "permissions" {
		return ""
	}
	return rulesExample
}

const rulesExample = `#  # Rules: the strictest kind that matches wins, deny over ask over allow.
#  rules:
#    - deny: bash(rm -rf /**)
#    - deny: edit(**/.env*)
#    - allow: bash(git status *, git diff *, go test ./...)
#    - allow: read(${cwd}/**)
#    - allow: mcp(github/get_*)
#      agents: [claude, codex]
#    - ask: web-fetch(*)
`

const agentsExample = `#agents:
#  claude:
#    model: claude-sonnet-4-6
#    env:
#      ANTHROPIC_BASE_URL: http://127.0.0.1:8080
#    passEnv: [AWS_*]
#    args: []
#  gemini:
#    command: [npx, -y, "@google/gemini-cli", --acp]
#    mode: default
#    thinking: high
#    settings:
#      permissions: host
#  custom:
#    - name: my-agent
#      command: [my-agent, --acp]
#      install: npm install -g my-agent
#      quirks:
#        titleIsCommand: true
`

const pricesExample = `#prices:
#  claude-sonnet-4-6: {input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75}
#  gpt-5*: {input: 1.25, output: 10}
`
