package policy

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agenthost/agenthost/internal/slip"
)

// Parse reads a policy in YAML: the value of the configuration's "permissions", or
// a file that has "permissions" at its top, whose other members are left alone.
// The error joins every fault with its path and line.
func Parse(data []byte, env Env) (*Policy, error) {
	c, err := ParseConfig(data)
	if err != nil {
		return nil, err
	}
	return Compile(c, env)
}

// ParseConfig reads a policy in YAML without compiling it.
func ParseConfig(data []byte) (Config, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return Config{}, fmt.Errorf("reading YAML: %w", err)
	}
	if len(doc.Content) == 0 {
		return Config{}, errors.New("want a policy, got an empty file")
	}
	p := parser{}
	c := p.policy(doc.Content[0])
	return c, errors.Join(p.faults...)
}

// parser collects faults while it reads.
type parser struct{ faults []error }

func (p *parser) fault(n *yaml.Node, at, format string, args ...any) {
	p.faults = append(p.faults, fmt.Errorf("line %d: %s: %s", n.Line, at, fmt.Sprintf(format, args...)))
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	if n.Tag == "!!null" {
		return "nothing"
	}
	return fmt.Sprintf("%q", n.Value)
}

// members calls f for every member of a mapping; names are checked by known.
func (p *parser) members(n *yaml.Node, at string, known []string, f func(key string, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		p.fault(n, at, "want a mapping, got %s", kindOf(n))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		name := join2(at, k.Value)
		if seen[k.Value] {
			p.fault(k, name, "want it once, got it again")
		}
		seen[k.Value] = true
		if known == nil {
			f(k.Value, v)
			continue
		}
		ok := false
		for _, x := range known {
			ok = ok || x == k.Value
		}
		if !ok {
			p.fault(k, name, "want one of %s, got %q%s", strings.Join(known, ", "), k.Value, nearest(k.Value, known))
			continue
		}
		f(k.Value, v)
	}
}

func join2(at, key string) string {
	if at == "" {
		return key
	}
	return at + "." + key
}

func (p *parser) policy(n *yaml.Node) Config {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == "permissions" {
				return p.body(n.Content[i+1], "permissions")
			}
		}
	}
	return p.body(n, "")
}

func (p *parser) body(n *yaml.Node, at string) Config {
	var c Config
	p.members(n, at, []string{"mode", "allowBypass", "timeout", "onAsk", "remember", "rules"}, func(key string, v *yaml.Node) {
		name := join2(at, key)
		switch key {
		case "mode":
			c.Mode = p.text(v, name)
		case "timeout":
			c.Timeout = p.text(v, name)
		case "onAsk":
			c.OnAsk = p.text(v, name)
		case "remember":
			c.Remember = p.text(v, name)
		case "allowBypass":
			c.AllowBypass = p.flag(v, name)
		case "rules":
			c.Rules = p.rules(v, name)
		}
	})
	return c
}

func (p *parser) text(n *yaml.Node, at string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		p.fault(n, at, "want text, got %s", kindOf(n))
		return ""
	}
	return n.Value
}

func (p *parser) flag(n *yaml.Node, at string) bool {
	var b bool
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" || n.Decode(&b) != nil {
		p.fault(n, at, "want true or false, got %s", kindOf(n))
	}
	return b
}

func (p *parser) rules(n *yaml.Node, at string) []RuleConfig {
	if n.Kind != yaml.SequenceNode {
		if n.Tag == "!!null" {
			return nil
		}
		p.fault(n, at, "want a list of rules, got %s", kindOf(n))
		return nil
	}
	var out []RuleConfig
	for i, r := range n.Content {
		out = append(out, p.rule(r, fmt.Sprintf("%s[%d]", at, i)))
	}
	return out
}

func (p *parser) rule(n *yaml.Node, at string) RuleConfig {
	rc := RuleConfig{At: at}
	p.members(n, at, []string{"allow", "ask", "deny", "agents", "cwd", "subagent"}, func(key string, v *yaml.Node) {
		name := join2(at, key)
		switch key {
		case "allow":
			rc.Allow = orSpace(p.text(v, name))
		case "ask":
			rc.Ask = orSpace(p.text(v, name))
		case "deny":
			rc.Deny = orSpace(p.text(v, name))
		case "cwd":
			rc.Cwd = p.text(v, name)
		case "subagent":
			b := p.flag(v, name)
			rc.Subagent = &b
		case "agents":
			rc.Agents = p.names(v, name)
		}
	})
	return rc
}

func (p *parser) names(n *yaml.Node, at string) []string {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		return []string{n.Value}
	}
	if n.Kind != yaml.SequenceNode {
		p.fault(n, at, "want a list of names, got %s", kindOf(n))
		return nil
	}
	out := []string{}
	for i, x := range n.Content {
		out = append(out, p.text(x, fmt.Sprintf("%s[%d]", at, i)))
	}
	return out
}

// nearest suggests the known word that got is a slip of.
func nearest(got string, known []string) string {
	if near := slip.Nearest(got, known); near != "" {
		return fmt.Sprintf(", did you mean %q", near)
	}
	return ""
}
