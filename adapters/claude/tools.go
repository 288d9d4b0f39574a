package claude

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/internal/rawjson"
	"github.com/agenthost/agenthost/internal/unidiff"
)

// The CLI's names of the tools that are treated specially.
const (
	toolAsk      = "AskUserQuestion"
	toolExitPlan = "ExitPlanMode"
	toolDialog   = "UserDialog" // ours: the CLI's dialogs are no tools
)

// tool is how a call is shown.
type tool struct{ name, title, description string }

// entry is one row of the table of tools. The title and the description are made
// of the input; an empty description means the agent's own, or the title.
type entry struct {
	name  string
	title func(v view) string
	more  func(v view) string
}

// view gives the input of a call, with paths as people know them.
type view struct {
	in  rawjson.Value
	dir string
}

func (v view) text(name string) string { return v.in.Get(name).Text() }

// path is a path in bold, relative to the working directory when inside of it.
func (v view) path(name string) string { return present.Bold(v.short(v.text(name))) }

func (v view) short(path string) string {
	if !filepath.IsAbs(path) || v.dir == "" {
		return path
	}
	rel, err := filepath.Rel(v.dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return rel
}

// code is a text as code, short enough to leave the title its words.
func (v view) code(name string) string { return present.CodeCut(v.text(name), codeLimit) }

// codeLimit is how many graphemes of a command or pattern a title shows: the
// title has 120 in all.
const codeLimit = 90

// tools is the table: one row for each tool that the CLI is known to have. The
// same deed has the same name in every agent, so that one policy serves all.
func tools() map[string]entry {
	return map[string]entry{
		"Bash":             {"bash", runTitle, backgroundNote},
		"Monitor":          {"bash", runTitle, backgroundNote},
		"BashOutput":       {"bash-output", word("Read the output of a background command"), nil},
		"TaskOutput":       {"task-output", word("Read the output of a background task"), nil},
		"KillShell":        {"kill-shell", word("Stop a background command"), nil},
		"KillBash":         {"kill-shell", word("Stop a background command"), nil},
		"TaskStop":         {"task-stop", word("Stop a background task"), nil},
		"Read":             {"read", on("Read", "file_path"), readRange},
		"NotebookRead":     {"read", on("Read", "notebook_path"), nil},
		"Write":            {"write", writeTitle, nil},
		"Edit":             {"edit", editTitle, nil},
		"MultiEdit":        {"edit", multiEditTitle, nil},
		"NotebookEdit":     {"notebook-edit", on("Edit notebook", "notebook_path"), nil},
		"LS":               {"list", on("List", "path"), nil},
		"Glob":             {"glob", searchTitle("Find files", "pattern"), nil},
		"Grep":             {"grep", searchTitle("Search for", "pattern"), grepDetails},
		"WebFetch":         {"web-fetch", on("Fetch", "url"), prompted},
		"WebSearch":        {"web-search", coded("Search the web for", "query"), nil},
		"web_search":       {"web-search", coded("Search the web for", "query"), nil},
		"web_fetch":        {"web-fetch", on("Fetch", "url"), nil},
		"Task":             {"task", agentTitle, prompted},
		"Agent":            {"task", agentTitle, prompted},
		"SendMessage":      {"send-message", messageTitle, nil},
		"TodoWrite":        {"todo", todoTitle, todoList},
		"TodoRead":         {"todo", word("Read the todo list"), nil},
		"TaskCreate":       {"todo", on("Add to the todo list:", "subject"), described},
		"TaskUpdate":       {"todo", taskTitle, nil},
		"TaskGet":          {"todo", word("Read a task of the todo list"), nil},
		"TaskList":         {"todo", word("Read the todo list"), nil},
		toolExitPlan:       {"plan", word("Plan ready for approval"), planText},
		"EnterPlanMode":    {"plan", word("Enter plan mode"), nil},
		toolAsk:            {"ask-user", askTitle, askList},
		"Elicitation":      {"ask-user", elicitTitle, elicitMessage},
		toolDialog:         {"dialog", dialogTitle, dialogPayload},
		"Skill":            {"skill", skillTitle, nil},
		"SlashCommand":     {"skill", coded("Run", "command"), nil},
		"Sleep":            {"sleep", word("Wait"), nil},
		"ScheduleWakeup":   {"schedule-wakeup", word("Schedule a wake-up"), nil},
		"ToolSearch":       {"tool-search", coded("Search for tools:", "query"), nil},
		"ListMcpResources": {"list-mcp-resources", word("List MCP resources"), nil},
		"ReadMcpResource":  {"read-mcp-resource", on("Read MCP resource", "uri"), nil},
	}
}

// describe says how a call is shown.
func (p *protocol) describe(native string, input rawjson.Value) tool {
	v := view{in: input, dir: p.info.Dir}
	t := tool{name: toolName(native)}
	if e, ok := tools()[native]; ok {
		t.title = e.title(v)
		if e.more != nil {
			t.description = e.more(v)
		}
	} else if server, tool, ok := mcpName(native); ok {
		t.title = present.Escape(server) + ": " + present.Bold(tool)
		t.description = firstArguments(input)
	} else {
		t.title = present.Escape(native)
		t.description = firstArguments(input)
	}
	if own := present.Escape(input.Get("description").Text()); own != "" && t.name != "todo" && t.name != "task" {
		// The agent's own words first.
		t.description = strings.TrimSpace(own + "\n" + t.description)
	}
	t.title = present.Title(t.title)
	if t.title == "" {
		t.title = present.Title(present.Escape(t.name))
	}
	if t.description = present.Description(t.description); t.description == "" {
		t.description = t.title
	}
	return t
}

// toolName is the canonical name of a tool.
func toolName(native string) string {
	if e, ok := tools()[native]; ok {
		return e.name
	}
	if server, tool, ok := mcpName(native); ok {
		return "mcp/" + server + "/" + tool
	}
	return hyphened(native)
}

// mcpName splits mcp__server__tool.
func mcpName(native string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(native, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}

// hyphened writes CamelCase and snake_case in lower case with hyphens.
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

func word(s string) func(view) string { return func(view) string { return s } }

func on(verb, name string) func(view) string {
	return func(v view) string { return strings.TrimSpace(verb + " " + v.path(name)) }
}

func coded(verb, name string) func(view) string {
	return func(v view) string { return strings.TrimSpace(verb + " " + v.code(name)) }
}

func searchTitle(verb, name string) func(view) string {
	return func(v view) string {
		s := verb + " " + v.code(name)
		if where := v.path("path"); where != "" {
			s += " in " + where
		}
		return s
	}
}

func runTitle(v view) string { return strings.TrimSpace("Run " + v.code("command")) }

func backgroundNote(v view) string {
	s := present.CodeCut(v.text("command"), present.DescriptionLimit/2)
	if v.in.Get("run_in_background").True() {
		s = strings.TrimSpace(s + " (in the background)")
	}
	return s
}

func readRange(v view) string {
	from, n := integer(v.in.Get("offset")), integer(v.in.Get("limit"))
	if from == 0 && n == 0 {
		return ""
	}
	s := "Read " + v.path("file_path") + fmt.Sprintf(" from line %d", max(from, 1))
	if n > 0 {
		s += fmt.Sprintf(", %d lines", n)
	}
	return s
}

func writeTitle(v view) string {
	return fmt.Sprintf("Write %s (%s)", v.path("file_path"), plural(lineCount(v.text("content")), "line"))
}

func editTitle(v view) string {
	return "Edit " + v.path("file_path") + " " + changeCount(v.in)
}

func multiEditTitle(v view) string {
	n := len(slices.Collect(v.in.Get("edits").Elements()))
	return fmt.Sprintf("Edit %s (%s)", v.path("file_path"), plural(n, "change"))
}

// changeCount says how many lines an edit adds and takes out.
func changeCount(in rawjson.Value) string {
	f := unidiff.Diff("f", "f", in.Get("old_string").Text(), in.Get("new_string").Text())
	return fmt.Sprintf("(+%d −%d)", f.Additions, f.Deletions)
}

func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func grepDetails(v view) string {
	var parts []string
	for _, name := range []string{"glob", "type", "output_mode"} {
		if s := v.text(name); s != "" {
			parts = append(parts, strings.ReplaceAll(name, "_", " ")+" "+present.Code(s))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return searchTitle("Search for", "pattern")(v) + ": " + strings.Join(parts, ", ")
}

func prompted(v view) string { return present.Escape(v.text("prompt")) }

func described(v view) string { return present.Escape(v.text("description")) }

func agentTitle(v view) string {
	title := v.text("description")
	if title == "" {
		title = v.text("subagent_type")
	}
	return strings.TrimSpace("Sub-agent: " + present.Escape(title))
}

func messageTitle(v view) string {
	return strings.TrimSpace("Message to " + present.Bold(v.text("to")))
}

func todoTitle(v view) string {
	all, done := 0, 0
	for t := range v.in.Get("todos").Elements() {
		all++
		if t.Get("status").Text() == "completed" {
			done++
		}
	}
	return fmt.Sprintf("Update the todo list (%d of %d done)", done, all)
}

func todoList(v view) string {
	var lines []string
	for t := range v.in.Get("todos").Elements() {
		mark := "·"
		switch t.Get("status").Text() {
		case "completed":
			mark = "✓"
		case "in_progress":
			mark = "→"
		}
		lines = append(lines, mark+" "+present.Escape(t.Get("content").Text()))
	}
	return strings.Join(lines, "\n")
}

func taskTitle(v view) string {
	s := "Update task " + present.Escape(v.text("taskId"))
	if status := v.text("status"); status != "" {
		s += ": " + present.Escape(strings.ReplaceAll(status, "_", " "))
	}
	return s
}

// planText is the plan itself, which is markdown already.
func planText(v view) string { return v.text("plan") }

func askTitle(v view) string {
	for q := range v.in.Get("questions").Elements() {
		return "Question: " + present.Escape(q.Get("question").Text())
	}
	return "Question"
}

func askList(v view) string {
	var lines []string
	for q := range v.in.Get("questions").Elements() {
		var options []string
		for o := range q.Get("options").Elements() {
			options = append(options, present.Escape(o.Get("label").Text()))
		}
		lines = append(lines, present.Escape(q.Get("question").Text())+" "+strings.Join(options, " / "))
	}
	return strings.Join(lines, "\n")
}

func elicitTitle(v view) string {
	return strings.TrimSpace("Question of MCP server " + present.Bold(v.text("mcp_server_name")))
}

func elicitMessage(v view) string { return present.Escape(v.text("message")) }

func dialogTitle(v view) string {
	return strings.TrimSpace("Dialog of Claude Code: " + present.Bold(v.text("dialog_kind")))
}

func dialogPayload(v view) string {
	return strings.TrimSpace("It can be answered in Claude Code's own interface only; here it can be dismissed.\n" + firstArguments(v.in.Get("payload")))
}

func skillTitle(v view) string {
	name := v.text("skill")
	if name == "" {
		name = v.text("command")
	}
	return strings.TrimSpace("Use skill " + present.Bold(name))
}

// firstArguments shows the first members of an input that nothing is known about.
func firstArguments(in rawjson.Value) string {
	const most = 5
	var parts []string
	for name, value := range in.Members() {
		if name == "description" {
			continue
		}
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
