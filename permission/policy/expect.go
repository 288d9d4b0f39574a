package policy

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agenthost/agenthost/contract"
)

// Expectation is one line of a table that agenthost policy test runs.
type Expectation struct {
	// At is where it stands: tests[3].
	At string
	Request
	Mode contract.PermissionMode
	Want Verdict
	// Rule, when set, has to be part of the deciding rule.
	Rule string
}

// Result is what became of an Expectation.
type Result struct {
	At   string  `json:"at"`
	OK   bool    `json:"ok"`
	Want Verdict `json:"want"`
	// Rule is text of the rule that was to decide, empty for any.
	Rule string      `json:"rule,omitzero"`
	Use  string      `json:"use"`
	Got  Explanation `json:"got"`
}

// ParseTests reads a table of expectations in YAML:
//
//	cwd: /w/app
//	tests:
//	  - {tool: bash, command: git status, want: allow}
//	  - {tool: edit, path: .env, want: deny, rule: .env}
//	  - {tool: mcp/github/get_issue, args: {id: 1}, want: ask, agent: codex, mode: plan}
//
// A file may hold the policy, too, as "permissions"; ParseConfig reads that.
func ParseTests(data []byte) ([]Expectation, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("reading YAML: %w", err)
	}
	if len(doc.Content) == 0 {
		return nil, errors.New("want a table of tests, got an empty file")
	}
	p := parser{}
	base := Expectation{Mode: contract.ModeDefault}
	var out []Expectation
	var list *yaml.Node
	p.members(doc.Content[0], "", []string{"permissions", "cwd", "agent", "mode", "tests"}, func(key string, v *yaml.Node) {
		switch key {
		case "cwd":
			base.Cwd = p.text(v, key)
		case "agent":
			base.Agent = p.text(v, key)
		case "mode":
			base.Mode = p.mode(v, key)
		case "tests":
			list = v
		}
	})
	if list == nil || list.Kind != yaml.SequenceNode {
		p.fault(doc.Content[0], "tests", "want a list")
		return nil, errors.Join(p.faults...)
	}
	for i, n := range list.Content {
		out = append(out, p.expectation(n, fmt.Sprintf("tests[%d]", i), base))
	}
	return out, errors.Join(p.faults...)
}

func (p *parser) mode(n *yaml.Node, at string) contract.PermissionMode {
	m, err := ParseMode(p.text(n, at))
	if err != nil {
		p.fault(n, at, "%v", err)
	}
	return m
}

func (p *parser) expectation(n *yaml.Node, at string, base Expectation) Expectation {
	x := base
	x.At = at
	subject, args := "", jsontext.Value(nil)
	p.members(n, at, []string{"tool", "command", "path", "url", "args", "want", "rule", "cwd", "agent", "subagent", "mode"}, func(key string, v *yaml.Node) {
		name := join2(at, key)
		switch key {
		case "tool":
			x.Tool = p.text(v, name)
		case "command", "path", "url":
			subject = p.text(v, name)
		case "args":
			args = p.json(v, name)
		case "want":
			x.Want = Verdict(p.text(v, name))
			if x.Want != Allow && x.Want != Ask && x.Want != Deny {
				p.fault(v, name, "want allow, ask or deny, got %q", x.Want)
			}
		case "rule":
			x.Rule = p.text(v, name)
		case "cwd":
			x.Cwd = p.text(v, name)
		case "agent":
			x.Agent = p.text(v, name)
		case "subagent":
			if p.flag(v, name) {
				x.Subagent = "subagent"
			}
		case "mode":
			x.Mode = p.mode(v, name)
		}
	})
	switch {
	case x.Tool == "":
		p.fault(n, at, "want a tool")
	case x.Want == "":
		p.fault(n, at, "want what is expected: want: allow, ask or deny")
	}
	if args != nil {
		x.Args = args
		return x
	}
	tool, made, err := UseOf(x.Tool, subject)
	if err != nil {
		p.fault(n, at, "%v", err)
	}
	x.Tool, x.Args = tool, made
	return x
}

// json turns a YAML value into JSON.
func (p *parser) json(n *yaml.Node, at string) jsontext.Value {
	var v any
	if err := n.Decode(&v); err != nil {
		p.fault(n, at, "want a value, got %v", err)
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		p.fault(n, at, "want a value that JSON can hold, got %v", err)
		return nil
	}
	return data
}

// RunTests holds p against a table.
func RunTests(p *Policy, list []Expectation) []Result {
	out := make([]Result, 0, len(list))
	for _, x := range list {
		a := p.Analyse(x.Request)
		got := p.Judge(a, x.Mode)
		out = append(out, Result{
			At: x.At, Want: x.Want, Rule: x.Rule, Got: got, Use: x.Tool + ": " + strings.Join(a.Covers(), "; "),
			OK: got.Verdict == x.Want && strings.Contains(got.Rule, x.Rule),
		})
		a.Release()
	}
	return out
}

// WriteResults writes what failed, and a last line that counts; it returns the
// number of failures.
func WriteResults(w io.Writer, list []Result) (failed int, err error) {
	var b strings.Builder
	for _, r := range list {
		if r.OK {
			continue
		}
		failed++
		by := ""
		if r.Rule != "" {
			by = fmt.Sprintf(" by a rule with %q", r.Rule)
		}
		fmt.Fprintf(&b, "%s: %s: want %s%s, got ", r.At, r.Use, r.Want, by)
		if err := r.Got.WriteText(&b); err != nil {
			return failed, err
		}
	}
	fmt.Fprintf(&b, "%d of %d as expected\n", len(list)-failed, len(list))
	_, err = io.WriteString(w, b.String())
	return failed, err
}
