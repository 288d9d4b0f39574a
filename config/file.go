package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds a configuration file, in bytes: one of megabytes is no
// configuration but a mistaken path.
const maxFile = 4 << 20

// readFile reads the file. It refuses what is no regular file, since a pipe would
// block the host.
func readFile(path string) ([]byte, os.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s: want a file, got a %s", path, describeMode(info.Mode()))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: want at most %s, got more", path, formatSize(maxFile))
	}
	return data, info, err
}

func describeMode(m os.FileMode) string {
	if m.IsDir() {
		return "directory"
	}
	return "special file"
}

// document is what a file says.
type document struct {
	values map[string]value // by key.path
	agents map[string]Agent
	custom []CustomAgent
	rules  []Rule
	prices map[string]Price
	// known are the agents that there are, with those of the file; nil for any.
	known    []string
	warnings []string
}

// value is a scalar as it was written.
type value struct {
	text string
	from Fault // File, Line and Path of it
}

// parseFile reads a file's content. name is for faults; known are the agents that there
// are without the file, nil for any.
func parseFile(data []byte, name, home string, known []string) (document, Faults) {
	d := document{values: map[string]value{}, agents: map[string]Agent{}, prices: map[string]Price{}, known: known}
	r := &reader{file: name, home: home}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	var root, second yaml.Node
	switch err := dec.Decode(&root); {
	case errors.Is(err, io.EOF):
		return d, nil
	case err != nil:
		return d, Faults{syntaxFault(name, err)}
	}
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return d, Faults{{File: name, Line: second.Line, Text: "want one YAML document, got another behind it"}}
	}
	r.document(root.Content[0], &d)
	d.warnings = d.strangers()
	return d, r.faults
}

// strangers are warnings of rules that are for agents that there are not: they may be
// meant for other machines, and hold for nobody here.
func (d *document) strangers() (warnings []string) {
	if d.known == nil {
		return nil
	}
	for _, rule := range d.rules {
		for _, name := range rule.Agents {
			if !contains(d.known, name) {
				warnings = append(warnings, fmt.Sprintf("%s.agents: unknown agent %q%s", rule.At, name, suggest(name, d.known)))
			}
		}
	}
	return warnings
}

// syntaxFault takes the line out of an error of the YAML parser.
func syntaxFault(name string, err error) Fault {
	f := Fault{File: name, Text: strings.TrimPrefix(err.Error(), "yaml: ")}
	var rest string
	if n, _ := fmt.Sscanf(f.Text, "line %d: %s", &f.Line, &rest); n == 2 {
		_, f.Text, _ = strings.Cut(f.Text, ": ")
	}
	return f
}

// document reads the whole file.
func (r *reader) document(n *yaml.Node, d *document) {
	var top []string
	members := map[string][]string{} // of each section
	table := map[string]key{}
	for _, k := range keys() {
		section, name, nested := strings.Cut(k.path, ".")
		if !nested {
			top = append(top, section)
		}
		members[section] = append(members[section], name)
		table[k.path] = k
	}
	for _, s := range sections() {
		top = append(top, s.name)
	}
	members["permissions"] = append(members["permissions"], "rules")
	scalar := func(_, path string, v *yaml.Node) {
		if path == "permissions.rules" {
			d.rules = r.rules(v, path)
		} else if text := r.scalar(v, path); !isNull(v) {
			d.values[path] = value{text, Fault{File: r.file, Line: v.Line, Path: path}}
		}
	}
	r.each(n, "", top, func(name, path string, v *yaml.Node) {
		switch {
		case name == "agents":
			r.agents(v, path, d)
		case name == "prices":
			d.prices = r.prices(v, path)
		case members[name] != nil && table[name].path == "":
			r.each(v, path, members[name], scalar)
		default:
			scalar(name, path, v)
		}
	})
}

// rules reads permissions.rules; what they say is the policy's business.
func (r *reader) rules(n *yaml.Node, path string) []Rule {
	var rules []Rule
	r.items(n, path, func(at string, v *yaml.Node) {
		rule := Rule{At: r.at(v, at)}
		r.each(v, at, []string{"allow", "ask", "deny", "agents", "cwd", "subagent"}, func(name, at string, v *yaml.Node) {
			switch name {
			case "allow":
				rule.Allow = r.scalar(v, at)
			case "ask":
				rule.Ask = r.scalar(v, at)
			case "deny":
				rule.Deny = r.scalar(v, at)
			case "agents":
				rule.Agents = r.list(v, at)
			case "cwd":
				rule.Cwd = r.scalar(v, at)
			case "subagent":
				b := r.flag(v, at)
				rule.Subagent = &b
			}
		})
		if n := countSet(rule.Allow, rule.Ask, rule.Deny); n != 1 {
			r.fault(v, at, "want one of allow, ask and deny, got %d of them", n)
		}
		rules = append(rules, rule)
	})
	return rules
}

// countSet is how many of the texts are not empty.
func countSet(texts ...string) (n int) {
	for _, t := range texts {
		if t != "" {
			n++
		}
	}
	return n
}

// items calls f for every element of a list.
func (r *reader) items(n *yaml.Node, path string, f func(path string, v *yaml.Node)) {
	if n = resolve(n); isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		r.fault(n, path, "want a list, got %s", describe(n))
		return
	}
	for i, v := range n.Content {
		f(fmt.Sprintf("%s[%d]", path, i), resolve(v))
	}
}

// prices reads the price table.
func (r *reader) prices(n *yaml.Node, path string) map[string]Price {
	prices := map[string]Price{}
	r.each(n, path, nil, func(model, at string, v *yaml.Node) {
		var p Price
		seen := []string{}
		r.each(v, at, []string{"input", "output", "cacheRead", "cacheWrite"}, func(name, at string, v *yaml.Node) {
			seen = append(seen, name)
			x := r.number(v, at)
			switch name {
			case "input":
				p.Input = x
			case "output":
				p.Output = x
			case "cacheRead":
				p.CacheRead = x
			case "cacheWrite":
				p.CacheWrite = x
			}
		})
		if !slices.Contains(seen, "input") || !slices.Contains(seen, "output") {
			r.fault(v, at, "want input and output, got %q", seen)
		}
		if !slices.Contains(seen, "cacheRead") {
			p.CacheRead = p.Input
		}
		if !slices.Contains(seen, "cacheWrite") {
			p.CacheWrite = p.Input
		}
		prices[model] = p
	})
	return prices
}
