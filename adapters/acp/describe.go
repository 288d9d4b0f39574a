package acp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// describe makes what is said of a call, to people and to policies.
func (p *Protocol) describe(c *call) Tool {
	return p.described(c, p.args(c), c.description())
}

func (p *Protocol) described(c *call, args []byte, description string) Tool {
	t := Tool{
		ID: c.id, Native: p.nativeName(c), Kind: c.kind, NativeTitle: c.title,
		Name: p.canonical(c), Description: description, Args: args, Paths: c.paths,
	}
	if hook := p.spec.Hooks.Tool; hook != nil {
		hook(&t)
	}
	if t.Title = present.Title(t.Title); t.Title == "" {
		t.Title = p.titleOf(c, t)
	}
	if t.Description = present.Description(t.Description); t.Description == "" {
		t.Description = p.derived(c, t)
	}
	return t
}

// derived is a description for a call whose agent gives none: what the title had
// to leave out, else the agent's own title, else the title again.
func (p *Protocol) derived(c *call, t Tool) string {
	args := rawjson.Value(t.Args)
	if command := args.Get("command").Text(); t.Name == "bash" && command != "" {
		return present.Description("Run " + present.CodeCut(command, present.DescriptionLimit-10))
	}
	own := present.Line(c.title)
	if own == "" || toolLike(own) || strings.Contains(t.Title, present.Escape(own)) {
		switch t.Name {
		case "read", "write", "edit", "delete", "move", "list":
			if paths := allPaths(args, slices.Concat(pathNames(), otherPaths()), nil); len(paths) > 0 {
				verb, _, _ := strings.Cut(t.Title, " ")
				return present.Description(verb + " " + present.CodeCut(paths[0], present.DescriptionLimit-40))
			}
		}
		return t.Title
	}
	return present.Description(present.Escape(own))
}

// description is the agent's own description of a call.
func (c *call) description() string {
	if d := c.input.Get("description").Text(); d != "" {
		return present.Escape(d)
	}
	if c.asked != nil {
		if d := blocksText(c.asked.Get("content")); d != "" {
			return present.Escape(d)
		}
	}
	return ""
}

// titleOf is the summary of a call for a phone. The table is the contract's.
func (p *Protocol) titleOf(c *call, t Tool) string {
	args := rawjson.Value(t.Args)
	first := func(names ...string) string {
		for _, n := range names {
			if s := args.Get(n).Text(); s != "" {
				return s
			}
		}
		return ""
	}
	file := p.relative(first(append(pathNames(), "filepath", "directory", "dir")...))
	pattern := first("pattern", "query", "regex")
	const code = 100 // leaves room for the words around it in a title of 120
	title := ""
	switch t.Name {
	case "bash":
		title = words("Run", present.CodeCut(first("command"), code))
	case "read":
		title = words("Read", present.Bold(file))
	case "write":
		title = words("Write", present.Bold(file))
	case "edit":
		title = words("Edit", present.Bold(file)) + p.counts(c)
	case "delete":
		title = words("Delete", present.Bold(file))
	case "move":
		title = words("Move", present.Bold(file))
	case "list":
		title = words("List", present.Bold(file))
	case "glob":
		title = words("Find", present.CodeCut(pattern, code))
	case "grep":
		title = words("Search for", present.CodeCut(pattern, code))
		if file != "" && title != "" {
			title += " in " + present.Bold(file)
		}
	case "web-fetch":
		title = words("Fetch", present.CodeCut(first("url"), code))
		if more := elements(args.Get("urls")) - 1; more > 0 && title != "" {
			title += fmt.Sprintf(" and %d more", more)
		}
	case "web-search":
		title = words("Search the web for", present.CodeCut(pattern, code))
	case "task":
		title = words("Task:", present.Escape(first("description", "title", "name")))
	}
	if title = present.Title(title); title != "" {
		return title
	}
	if own := present.Title(present.Escape(c.title)); own != "" {
		return own
	}
	return present.Title(present.Escape(strings.ToUpper(t.Name[:1]) + t.Name[1:]))
}

func elements(list rawjson.Value) int {
	n := 0
	for range list.Elements() {
		n++
	}
	return n
}

// words joins a verb and its object; without an object there is no title.
func words(verb, object string) string {
	if object == "" {
		return ""
	}
	return verb + " " + object
}

// counts shows how large an edit is, where the agent shows it beforehand.
func (p *Protocol) counts(c *call) string {
	list := p.contentFiles(c, c.diffs)
	if len(list) == 0 && c.asked != nil {
		list = p.askedFiles(c)
	}
	if len(list) == 0 {
		return ""
	}
	add, del := 0, 0
	for _, f := range list {
		add, del = add+f.Additions, del+f.Deletions
	}
	return fmt.Sprintf(" (+%d −%d)", add, del)
}
