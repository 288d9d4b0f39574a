package acp

import (
	"encoding/json/jsontext"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/internal/rawjson"
)

// args is a call's input as an object. What policies look at is added where the
// agent has it elsewhere: "command" of a shell call, "path" of a file's, and all
// "paths" where there are several.
func (p *Protocol) args(c *call) jsontext.Value {
	return p.argsOf(c, c.input, c.paths)
}

func (p *Protocol) argsOf(c *call, input rawjson.Value, paths []string) jsontext.Value {
	var extra []member
	switch input.Kind() {
	case rawjson.Object:
	case rawjson.Absent, rawjson.Null:
		input = rawjson.Value("{}")
	default:
		extra, input = append(extra, member{"input", input.Clean()}), rawjson.Value("{}")
	}
	switch name := p.canonical(c); name {
	case "bash":
		if command := p.command(c, input); command != "" {
			extra = append(extra, member{"command", rawjson.AppendString(nil, command)})
		}
	case "read", "write", "edit", "delete", "move", "list", "notebook-edit", "view-image":
		names := slices.Concat(pathNames(), otherPaths())
		if name == "move" {
			names = append(names, "source", "destination", "from", "to") // texts elsewhere
		}
		paths = allPaths(input, names, paths)
		if len(paths) > 0 && !hasPath(input) {
			extra = append(extra, member{"path", rawjson.AppendString(nil, paths[0])})
		}
		if len(paths) > 1 {
			extra = append(extra, member{"paths", stringList(paths)})
		}
	case "web-fetch":
		if list := titleURLs(c.title); len(list) > 0 && !input.Get("url").Given() && !input.Get("urls").Given() {
			extra = append(extra, member{"url", rawjson.AppendString(nil, list[0])})
			if len(list) > 1 {
				extra = append(extra, member{"urls", stringList(list)})
			}
		}
	}
	return withMembers(input, extra)
}

// titleURLs are all URLs of a title, each once: what the call is about, where its
// input does not tell. Of a title that was cut the end is not known, so it tells
// nothing.
func titleURLs(title string) []string {
	if t := strings.TrimRight(title, "\"')]} \t\n"); strings.HasSuffix(t, "…") || strings.HasSuffix(t, "...") {
		return nil
	}
	var out []string
	for _, u := range urlPattern().FindAllString(title, -1) {
		if u = strings.TrimRight(u, ".,;:!?)]}"); !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// pathNames are the members that policies read a path from.
func pathNames() []string {
	return []string{"path", "file_path", "filePath", "absolute_path", "notebook_path"}
}

// otherPaths are members that some agents use besides.
func otherPaths() []string {
	return []string{
		"filepath", "fileName", "filename", "file_name", "file", "target_file", "targetFile", "directory", "dir",
		"old_path", "new_path", "oldPath", "newPath",
	}
}

// allPaths are the paths of an input and those that the agent tells beside it, each
// once. The input's come first: they are what the tool gets.
func allPaths(input rawjson.Value, names, told []string) []string {
	var out []string
	add := func(path string) {
		if path != "" && !slices.ContainsFunc(out, func(have string) bool { return samePath(have, path) }) {
			out = append(out, path)
		}
	}
	for _, name := range names {
		add(input.Get(name).Text())
	}
	for _, path := range told {
		add(path)
	}
	return out
}

// samePath also takes a relative path for the same as an absolute one that ends
// with it: agents tell one file in both ways.
func samePath(a, b string) bool {
	return a == b || strings.HasSuffix(a, "/"+b) || strings.HasSuffix(b, "/"+a)
}

// command is the command line of a shell call where the input has none under that
// name: an argv, or a title that is known to be the command. Empty when the input
// has it already, or nobody told.
func (p *Protocol) command(c *call, input rawjson.Value) string {
	switch v := input.Get("command"); v.Kind() {
	case rawjson.String:
		return ""
	case rawjson.Array:
		return shellLine(v)
	}
	switch v := input.Get("cmd"); v.Kind() {
	case rawjson.String:
		return v.Text()
	case rawjson.Array:
		return shellLine(v)
	}
	if p.spec.Quirks.TitleIsCommand {
		return c.title
	}
	return ""
}

// shellLine writes an argv as one line that a shell reads as that argv.
func shellLine(argv rawjson.Value) string {
	var words []string
	for v := range argv.Elements() {
		w := v.Text()
		if w == "" || strings.ContainsFunc(w, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+=:,./@%", r))
		}) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func hasPath(input rawjson.Value) bool {
	for _, name := range pathNames() {
		if input.Get(name).Kind() == rawjson.String && !input.Get(name).Empty() {
			return true
		}
	}
	return false
}

type member struct {
	name  string
	value []byte
}

// withMembers replaces or appends members of an object; the agent's own value of
// that name would be read by nobody otherwise.
func withMembers(object rawjson.Value, extra []member) jsontext.Value {
	if len(extra) == 0 {
		return object.Clean()
	}
	out := []byte{'{'}
	put := func(name string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(rawjson.AppendString(out, name), ':')
		out = append(out, value...)
	}
next:
	for name, value := range object.Members() {
		for _, m := range extra {
			if m.name == name {
				continue next
			}
		}
		put(name, value.Clean())
	}
	for _, m := range extra {
		put(m.name, m.value)
	}
	return append(out, '}')
}

func stringList(list []string) []byte {
	out := []byte{'['}
	for i, s := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = rawjson.AppendString(out, s)
	}
	return append(out, ']')
}
