package config

import (
	"fmt"
	"path/filepath"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// reader reads the nodes of a YAML file and collects what is wrong.
type reader struct {
	file   string
	home   string
	faults Faults
}

func (r *reader) fault(n *yaml.Node, path, format string, args ...any) {
	r.faults = append(r.faults, Fault{File: r.file, Line: n.Line, Path: path, Text: fmt.Sprintf(format, args...)})
}

// at names a place for people, like "config.yaml:12: permissions.rules[0]".
func (r *reader) at(n *yaml.Node, path string) string {
	return fmt.Sprintf("%s:%d: %s", filepath.Base(r.file), n.Line, path)
}

// resolve follows an alias.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// isNull reports whether a key has no value: it then counts as not set.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if isNull(n) {
		return "nothing"
	}
	return strconv.Quote(n.Value)
}

// each calls f for every member of a mapping. A repeated key is a fault and is
// passed over; so is one that is not known, when known is not nil.
func (r *reader) each(n *yaml.Node, path string, known []string, f func(name, path string, v *yaml.Node)) {
	if n = resolve(n); isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fault(n, path, "want a mapping, got %s", describe(n))
		return
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := resolve(n.Content[i]), resolve(n.Content[i+1])
		at := join(path, k.Value)
		switch first := lines[k.Value]; {
		case k.Kind != yaml.ScalarNode || k.Tag == "!!merge":
			r.fault(k, path, "want a name as key, got %s", describe(k))
			continue
		case first > 0:
			r.fault(k, at, "repeated key: it stands in line %d already", first)
			continue
		}
		lines[k.Value] = k.Line
		if known != nil && !contains(known, k.Value) {
			r.fault(k, at, "unknown key %q%s", k.Value, suggest(k.Value, known))
			continue
		}
		f(k.Value, at, v)
	}
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// scalar reads one value as it is written.
func (r *reader) scalar(n *yaml.Node, path string) string {
	if n = resolve(n); n.Kind != yaml.ScalarNode {
		r.fault(n, path, "want one value, got %s", describe(n))
		return ""
	}
	if isNull(n) {
		return ""
	}
	return n.Value
}

// flag reads true or false.
func (r *reader) flag(n *yaml.Node, path string) bool {
	switch n = resolve(n); {
	case isNull(n):
	case n.Kind == yaml.ScalarNode && n.Value == "true":
		return true
	case n.Kind == yaml.ScalarNode && n.Value == "false":
	default:
		r.fault(n, path, "want true or false, got %s", describe(n))
	}
	return false
}

// word reads one of several words, the first when there is no value.
func (r *reader) word(n *yaml.Node, path string, words ...string) string {
	s := r.scalar(n, path)
	if s == "" {
		return words[0]
	}
	if !contains(words, s) {
		r.fault(n, path, "%v", unwanted(s, words))
	}
	return s
}

func unwanted(s string, words []string) error {
	_, err := key{kind: word, values: words}.parse(s, "")
	return err
}

// list reads a list of texts; one text alone is a list of one.
func (r *reader) list(n *yaml.Node, path string) []string {
	n = resolve(n)
	switch {
	case isNull(n):
		return nil
	case n.Kind == yaml.ScalarNode:
		return []string{n.Value}
	case n.Kind != yaml.SequenceNode:
		r.fault(n, path, "want a list, got %s", describe(n))
		return nil
	}
	texts := make([]string, 0, len(n.Content))
	for i, c := range n.Content {
		texts = append(texts, r.scalar(c, fmt.Sprintf("%s[%d]", path, i)))
	}
	return texts
}

// texts reads a mapping from names of the user's to texts.
func (r *reader) texts(n *yaml.Node, path string) map[string]string {
	m := map[string]string{}
	r.each(n, path, nil, func(name, at string, v *yaml.Node) { m[name] = r.scalar(v, at) })
	return m
}

// number reads a number of 0 or more.
func (r *reader) number(n *yaml.Node, path string) float64 {
	s := r.scalar(n, path)
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x >= 0 && x < 1e9) {
		r.fault(n, path, "want a number of 0 or more, got %s", describe(resolve(n)))
		return 0
	}
	return x
}
