package policy

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/contract"
)

// Explain judges a request and says why: what agenthost policy explain shows.
func Explain(p *Policy, q Request, mode contract.PermissionMode) Explanation {
	a := p.Analyse(q)
	defer a.Release()
	return p.Judge(a, mode)
}

// ParseUse reads "bash: git status && ls" or "read: src/a.go": a tool and what it
// is used on.
func ParseUse(text string) (tool string, args jsontext.Value, err error) {
	tool, subject, ok := strings.Cut(text, ":")
	tool, subject = strings.TrimSpace(tool), strings.TrimSpace(subject)
	if !ok || tool == "" || strings.ContainsAny(tool, " \t\n(") {
		return "", nil, fmt.Errorf("want TOOL: SUBJECT, such as \"bash: git status\", got %q", text)
	}
	return UseOf(tool, subject)
}

// UseOf makes the arguments with which tool is used on subject: a command, a path,
// an address, or server/tool for mcp.
func UseOf(tool, subject string) (string, jsontext.Value, error) {
	key := ""
	switch classOf(tool) {
	case aboutCommand:
		key = "command"
	case aboutPath:
		key = "path"
	case aboutURL:
		key = "url"
	case aboutMCP:
		if tool == "mcp" {
			tool = "mcp/" + subject
		}
		return tool, jsontext.Value("{}"), nil
	default:
		switch tool {
		case toolTyped:
			key = "command"
		case toolPermissions:
			key = "path"
		default:
			return tool, jsontext.Value("{}"), nil
		}
	}
	args, err := json.Marshal(map[string]string{key: subject}, jsontext.AllowInvalidUTF8(true))
	return tool, jsontext.Value(args), err
}

// WriteText writes e for people.
func (e Explanation) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", e.Verdict)
	if e.Rule != "" {
		fmt.Fprintf(&b, "  by %s", e.Rule)
	}
	b.WriteByte('\n')
	if e.Why != "" {
		fmt.Fprintf(&b, "  because %s\n", e.Why)
	}
	for _, p := range e.Parts {
		fmt.Fprintf(&b, "  %-5s  %s\n", p.Verdict, p.Command)
		if p.Rule != "" {
			fmt.Fprintf(&b, "         by %s\n", p.Rule)
		}
		if p.Why != "" {
			fmt.Fprintf(&b, "         %s\n", p.Why)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes e as one JSON object and a line end.
func (e Explanation) WriteJSON(w io.Writer) error { return writeJSON(w, e) }

func writeJSON(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}

// Summary is a policy in numbers: what agenthost policy check shows of a good one.
type Summary struct {
	Mode    contract.PermissionMode `json:"mode"`
	Bypass  bool                    `json:"allowBypass"`
	Timeout string                  `json:"timeout"`
	OnAsk   OnAsk                   `json:"onAsk,omitzero"`
	Deny    int                     `json:"deny"`
	Ask     int                     `json:"ask"`
	Allow   int                     `json:"allow"`
	// Warnings are rules that are well formed and hardly what was meant.
	Warnings []string `json:"warnings,omitempty"`
}

// Check sums p up and looks for rules that hardly say what was meant. agents are the
// names of those that there are; nil checks no name.
func Check(p *Policy, agents []string) Summary {
	s := Summary{
		Mode: p.Mode, Bypass: p.AllowBypass, Timeout: p.Timeout.String(), OnAsk: p.OnAsk,
		Deny: len(p.deny), Ask: len(p.ask), Allow: len(p.allow),
	}
	if p.Timeout == 0 {
		s.Timeout = "for ever"
	}
	for _, r := range p.Rules() {
		if w := r.warning(); w != "" {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s: %s: %s", r.Where, r, w))
		}
		for _, a := range r.agents {
			if agents != nil && !slices.Contains(agents, a) {
				s.Warnings = append(s.Warnings, fmt.Sprintf("%s: %s: unknown agent %q%s", r.Where, r, a, nearest(a, agents)))
			}
		}
	}
	return s
}

// warning says what is odd about a rule, "" for nothing.
func (r *Rule) warning() string {
	if !knownTool(r.tool) {
		if near := nearest(r.tool, knownTools()); near != "" {
			return "no agent has a tool of that name here" + near
		}
	}
	for i := range r.commands {
		c := &r.commands[i]
		if n := len(c.words); n > 0 {
			last := c.words[n-1]
			if strings.HasSuffix(c.text, ":*") && strings.Count(last.prefix, ":") == 1 && n < 3 && !strings.Contains(c.text, "run ") {
				return fmt.Sprintf("%q matches words that begin with %q; did you mean %q", c.text, last.prefix, strings.TrimSuffix(c.text, ":*")+" *")
			}
			if c.words[0].lone && r.Kind == Allow && len(c.words) == 1 {
				return "it allows every program"
			}
		}
	}
	return ""
}

// Tools are the canonical names that rules are about.
func Tools() []string { return knownTools() }

func knownTools() []string {
	return []string{
		"bash", "read", "write", "edit", "delete", "move", "list", "glob", "grep", "web-fetch", "web-search", "todo", "plan", "task",
		"ask-user", "view-image", "think", "notebook-edit", "skill", "sleep", "mcp", "network-access", "write-stdin", "request-permissions",
	}
}

func knownTool(tool string) bool {
	for _, t := range knownTools() {
		if t == tool {
			return true
		}
	}
	return tool == "*"
}

// WriteText writes s for people.
func (s Summary) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "mode %s, asks wait %s; %d deny, %d ask and %d allow rules\n", s.Mode, s.Timeout, s.Deny, s.Ask, s.Allow)
	for _, x := range s.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", x)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes s as one JSON object and a line end.
func (s Summary) WriteJSON(w io.Writer) error { return writeJSON(w, s) }
