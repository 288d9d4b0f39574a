package codex

import (
	"encoding/json/jsontext"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// sourceUser is the source of a command that a person ran.
const sourceUser = "userShell"

// tool is how a call is shown.
type tool struct{ name, title, description, native string }

// entry is one row of the table of tools: how an item is shown, and its input.
type entry struct {
	name  func(v view) string
	title func(v view) string
	more  func(v view) string
	args  func(v view) jsontext.Value
}

// view gives an item, with paths as people know them.
type view struct {
	it  rawjson.Value
	dir string
}

func (v view) text(name string) string { return v.it.Get(name).Text() }

func (v view) code(name string) string { return present.CodeCut(v.text(name), codeLimit) }

// path is a path in bold, relative to the working directory when inside of it.
func (v view) path(path string) string {
	if filepath.IsAbs(path) && v.dir != "" {
		if rel, err := filepath.Rel(v.dir, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
	}
	return present.Bold(path)
}

// codeLimit is how many graphemes of a command or pattern a title shows: the
// title has 120 in all.
const codeLimit = 90

// tools is the table, by the type of item. The same deed has the same name in
// every agent, so that one policy serves all.
func tools() map[string]entry {
	return map[string]entry{
		itemCommand:       {named("bash"), runTitle, runNote, commandArgs},
		itemFiles:         {filesName, filesTitle, filesNote, filesArgs},
		itemMCP:           {mcpName, mcpTitle, argumentNote, argumentArgs},
		"dynamicToolCall": {dynamicName, dynamicTitle, argumentNote, argumentArgs},
		itemCollab:        {collabName, collabTitle, collabNote, picked("prompt", "model", "receiverThreadIds", "tool")},
		itemAgent:         {activityName, activityTitle, nil, picked("agentPath", "kind", "model")},
		"webSearch":       {named("web-search"), searchTitle, nil, picked("query", "action")},
		"imageView":       {named("view-image"), func(v view) string { return "Look at " + v.path(v.text("path")) }, nil, picked("path")},
		"imageGeneration": {named("generate-image"), word("Make a picture"), nil, picked("prompt", "revisedPrompt")},
		"sleep":           {named("sleep"), sleepTitle, nil, picked("durationMs")},
		itemQuestion:      {named("ask-user"), askTitle, askList, picked("questions", "message", "serverName", "requestedSchema", "url")},
		itemPermissions:   {named("request-permissions"), word("More permissions for this turn"), permissionsNote, permissionsArgs},
		itemTyped:         {named("write-stdin"), typedTitle, nil, picked("command")},
		itemInvisible:     {invisibleName, invisibleTitle, nil, invisibleArgs},
	}
}

// The kinds of calls that are no items of the server: its questions, its wish for
// permissions, what it types into a command, and calls that only the model's own
// words tell.
const (
	itemQuestion    = "requestUserInput"
	itemPermissions = "request_permissions"
	itemTyped       = "terminalInteraction"
	itemInvisible   = "rawToolCall"
)

// describe says how a call is shown, and what its input is.
func (p *protocol) describe(it rawjson.Value) (tool, jsontext.Value) {
	v := view{it: it, dir: p.info.Dir}
	native := it.Get("type").Text()
	e, ok := tools()[native]
	if !ok {
		title := present.Title(present.Escape(native))
		return tool{name: "tool", title: orElse(title, "tool"), description: orElse(title, "tool"), native: native}, it.Clean()
	}
	t := tool{name: e.name(v), title: present.Title(e.title(v)), native: nativeName(v, native)}
	if e.more != nil {
		t.description = present.Description(e.more(v))
	}
	if t.title == "" {
		t.title = present.Title(present.Escape(t.name))
	}
	if t.description == "" {
		t.description = t.title
	}
	return t, e.args(v)
}

// nativeName is Codex's own name of a tool.
func nativeName(v view, kind string) string {
	switch {
	case kind == itemCommand && v.text("source") == sourceUser:
		return contract.NativeUserShell
	case kind == itemInvisible:
		return v.text("name")
	case kind == itemMCP, kind == "dynamicToolCall", kind == itemCollab:
		return orElse(v.text("tool"), kind)
	}
	return kind
}

func named(s string) func(view) string { return func(view) string { return s } }

func word(s string) func(view) string { return func(view) string { return s } }

// picked takes members of an item as the input.
func picked(names ...string) func(view) jsontext.Value {
	return func(v view) jsontext.Value {
		o := new(object)
		for _, name := range names {
			if m := v.it.Get(name); m.Given() {
				o.raw(name, m.Clean())
			}
		}
		return o.value()
	}
}

func runTitle(v view) string {
	return strings.TrimSpace("Run " + present.CodeCut(rawCommand(v.text("command")), codeLimit))
}

func runNote(v view) string {
	return present.CodeCut(rawCommand(v.text("command")), present.DescriptionLimit/2)
}

// commandArgs: a policy looks at "command", which is what the shell gets.
func commandArgs(v view) jsontext.Value {
	o := new(object).str("command", rawCommand(v.text("command")))
	if v.text("source") != sourceUser {
		o.text("cwd", v.text("cwd"))
	}
	return o.value()
}

// filesName is "write", "edit", "delete" or "move" when all changes are that, else
// "edit".
func filesName(v view) string {
	name := ""
	for c := range v.it.Get("changes").Elements() {
		n := changeName(c)
		if name != "" && n != name {
			return "edit"
		}
		name = n
	}
	return orElse(name, "edit")
}

func changeName(c rawjson.Value) string {
	switch kind := c.Get("kind"); {
	case kind.Get("type").Text() == "add":
		return "write"
	case kind.Get("type").Text() == "delete":
		return "delete"
	case kind.Get("move_path").Text() != "":
		return "move"
	}
	return "edit"
}

func filesTitle(v view) string {
	diffs := fileDiffs(v.it.Get("changes"))
	if len(diffs) == 0 {
		return "Edit files"
	}
	verb := map[string]string{"write": "Write", "edit": "Edit", "delete": "Delete", "move": "Move"}[filesName(v)]
	if len(diffs) == 1 {
		return verb + " " + changeLine(v, diffs[0])
	}
	plus, minus := 0, 0
	for _, d := range diffs {
		plus, minus = plus+d.Additions, minus+d.Deletions
	}
	return fmt.Sprintf("%s %d files (+%d −%d)", verb, len(diffs), plus, minus)
}

func changeLine(v view, d contract.FileDiff) string {
	s := v.path(d.Path)
	if d.OldPath != "" {
		s = v.path(d.OldPath) + " to " + s
	}
	return s + fmt.Sprintf(" (+%d −%d)", d.Additions, d.Deletions)
}

func filesNote(v view) string {
	var lines []string
	for _, d := range fileDiffs(v.it.Get("changes")) {
		lines = append(lines, string(d.Status)+" "+changeLine(v, d))
	}
	return strings.Join(lines, "\n")
}

// filesArgs: a policy looks at "path" and "paths", people at "changes".
func filesArgs(v view) jsontext.Value {
	o := new(object)
	var paths []string
	add := func(path string) {
		if path != "" && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	for c := range v.it.Get("changes").Elements() {
		add(c.Get("path").Text())
		add(c.Get("kind", "move_path").Text())
	}
	if len(paths) > 0 {
		o.str("path", paths[0])
	}
	if len(paths) > 1 {
		o.raw("paths", quoted(paths))
	}
	if c := v.it.Get("changes"); c.Given() {
		o.raw("changes", c.Clean())
	}
	return o.value()
}

func mcpName(v view) string {
	server, name := v.text("server"), v.text("tool")
	if server == "" || name == "" {
		return hyphened(orElse(name, "mcp"))
	}
	return "mcp/" + server + "/" + name
}

func mcpTitle(v view) string {
	return present.Escape(v.text("server")) + ": " + present.Bold(v.text("tool"))
}

func dynamicName(v view) string { return hyphened(v.text("tool")) }

func dynamicTitle(v view) string { return present.Escape(v.text("tool")) }

func argumentNote(v view) string { return firstArguments(v.it.Get("arguments")) }

// argumentArgs is the input as the model gave it, an object in any case.
func argumentArgs(v view) jsontext.Value {
	in := v.it.Get("arguments")
	switch {
	case in.Kind() == rawjson.Object:
		return in.Clean()
	case in.Given():
		return new(object).raw("input", in.Clean()).value()
	}
	return jsontext.Value("{}")
}

func collabName(v view) string {
	switch v.text("tool") {
	case "spawnAgent", "resumeAgent":
		return "task"
	case "sendInput", "sendMessage", "followupTask":
		return "send-message"
	case "closeAgent", "interruptAgent":
		return "task-stop"
	case "wait":
		return "task-output"
	}
	return orElse(hyphened(v.text("tool")), "task")
}

func collabTitle(v view) string {
	prompt := present.Escape(firstLine(v.text("prompt")))
	switch v.text("tool") {
	case "spawnAgent":
		return strings.TrimSpace("Sub-agent: " + prompt)
	case "resumeAgent":
		return "Wake a sub-agent"
	case "sendInput", "sendMessage", "followupTask":
		return strings.TrimSpace("Message to a sub-agent: " + prompt)
	case "closeAgent", "interruptAgent":
		return "Stop a sub-agent"
	case "wait":
		return "Wait for sub-agents"
	}
	return present.Escape(v.text("tool"))
}

func collabNote(v view) string { return present.Escape(v.text("prompt")) }

func activityName(v view) string {
	switch v.text("kind") {
	case "started":
		return "task"
	case "interrupted":
		return "task-stop"
	}
	return "send-message"
}

func activityTitle(v view) string {
	who := present.Bold(v.text("agentPath"))
	switch v.text("kind") {
	case "started":
		return "Sub-agent " + who
	case "interrupted":
		return "Stop sub-agent " + who
	}
	return "Message to sub-agent " + who
}

func typedTitle(v view) string { return "Type into a command: " + v.code("command") }

func searchTitle(v view) string { return strings.TrimSpace("Search the web for " + v.code("query")) }

func sleepTitle(v view) string {
	return fmt.Sprintf("Wait %.1f s", float64(integer(v.it.Get("durationMs")))/1000)
}

func askTitle(v view) string {
	for q := range v.it.Get("questions").Elements() {
		return "Question: " + present.Escape(q.Get("question").Text())
	}
	if server := v.text("serverName"); server != "" {
		return "Question of MCP server " + present.Bold(server)
	}
	return "Question"
}

func askList(v view) string {
	lines := []string{present.Escape(v.text("message")), present.Escape(v.text("url"))}
	for q := range v.it.Get("questions").Elements() {
		var options []string
		for o := range q.Get("options").Elements() {
			options = append(options, present.Escape(o.Get("label").Text()))
		}
		lines = append(lines, present.Escape(q.Get("question").Text())+" "+strings.Join(options, " / "))
	}
	return strings.TrimSpace(strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n"))
}

func permissionsNote(v view) string {
	parts := []string{present.Escape(v.text("reason"))}
	if v.it.Get("permissions", "network", "enabled").True() {
		parts = append(parts, "Use the network")
	}
	for _, path := range permissionPaths(v.it) {
		parts = append(parts, "Use "+v.path(path))
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// permissionPaths are the places that more permissions are wanted for.
func permissionPaths(it rawjson.Value) []string {
	var paths []string
	add := func(v rawjson.Value) {
		if s := v.Text(); s != "" && !slices.Contains(paths, s) {
			paths = append(paths, s)
		}
	}
	files := it.Get("permissions", "fileSystem")
	for _, list := range []string{"read", "write"} {
		for e := range files.Get(list).Elements() {
			add(e)
		}
	}
	for e := range files.Get("entries").Elements() {
		add(e.Get("path", "path"))
		add(e.Get("path", "pattern"))
	}
	return paths
}

func permissionsArgs(v view) jsontext.Value {
	o := new(object)
	if paths := permissionPaths(v.it); len(paths) > 0 {
		o.str("path", paths[0]).raw("paths", quoted(paths))
	}
	if perm := v.it.Get("permissions"); perm.Given() {
		o.raw("permissions", perm.Clean())
	}
	o.text("reason", v.text("reason")).text("cwd", v.text("cwd"))
	return o.value()
}

// hyphened writes camelCase and snake_case in lower case with hyphens.
func hyphened(s string) string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		switch {
		case r >= 'A' && r <= 'Z':
			if lower {
				b.WriteByte('-')
			}
			b.WriteRune(r + 'a' - 'A')
			lower = false
		case r == '_' || r == ' ':
			b.WriteByte('-')
			lower = false
		default:
			b.WriteRune(r)
			lower = true
		}
	}
	if b.Len() == 0 {
		return "tool"
	}
	return b.String()
}

// firstArguments shows the first members of an input that nothing is known about.
func firstArguments(in rawjson.Value) string {
	const most = 5
	var parts []string
	for name, value := range in.Members() {
		if len(parts) == most {
			parts = append(parts, "…")
			break
		}
		s := value.Text()
		if value.Kind() != rawjson.String {
			s = string(value.Clean())
		}
		parts = append(parts, present.Escape(name)+" "+present.CodeCut(s, codeLimit))
	}
	return strings.Join(parts, ", ")
}
