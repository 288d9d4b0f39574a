package gemini

import (
	"encoding/json/jsontext"
	"strings"

	"github.com/agenthost/agenthost/adapters/acp"
	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// tools are the names of Gemini CLI's tools and the contract's.
func tools() map[string]string {
	return map[string]string{
		"run_shell_command": "bash", "list_background_processes": "list-background-processes",
		"read_background_output": "read-background-output",
		"read_file":              "read", "read_many_files": "read", "list_directory": "list", "glob": "glob",
		"grep_search": "grep", "search_file_content": "grep",
		"write_file": "write", "replace": "edit",
		"web_fetch": "web-fetch", "google_web_search": "web-search",
		"invoke_agent": "task", "update_topic": "think", "write_todos": "todo",
		"enter_plan_mode": "plan", "exit_plan_mode": "plan", "ask_user": "ask-user", "activate_skill": "skill",
		"save_memory": "save-memory", "complete_task": "complete-task",
	}
}

// toolName is the tool's name in a call's id, which is NAME__NAME_TIME_N when the
// model's service gave the call none, else NAME__ and the service's id. A name may
// hold "__" itself, so the doubled form is tried first.
func toolName(id string) string {
	for i := strings.Index(id, "__"); i >= 0; {
		name := id[:i]
		if rest := id[i+2:]; strings.HasPrefix(rest, name+"_") && counted().MatchString(rest[len(name):]) {
			return name
		}
		next := strings.Index(id[i+1:], "__")
		if next < 0 {
			break
		}
		i += 1 + next
	}
	name, _, ok := strings.Cut(id, "__")
	if !ok {
		return ""
	}
	return name
}

var counted = pattern(`^_\d+_\d+$`)

// Titles that Gemini CLI gives calls, by its own words.
var (
	searched  = pattern(`(?s)^'(.*)'(?: in .*?)?(?: within .*)?$`)
	webSearch = pattern(`(?s)^Searching the web for: "(.*)"$`)
	fetched   = pattern(`^Fetching content from: (\S+)$`)
	delegated = pattern(`^Delegating to agent '(.*)'$`)
	topic     = pattern(`(?s)^Update topic to: "(.*)"$`)
)

const (
	outsidePrefix = "Allow access to absolute path: "
	promptPrefix  = "Processing URLs and instructions from prompt: "
)

// describeTool is the hook that corrects what is said of a call. Gemini CLI gives
// no input, so what people and policies look at is read from its titles.
func describeTool(t *acp.Tool) {
	if t.Ended {
		endTool(t)
		return
	}
	switch native := toolName(t.ID); {
	case strings.HasPrefix(native, "mcp_"):
		t.Native = native
	case strings.HasPrefix(t.ID, "resolve-prompt-"):
		if path, ok := strings.CutPrefix(t.NativeTitle, outsidePrefix); ok {
			t.Name, t.Args = "read", set(t.Args, "path", path)
			t.Title = "Read " + present.Bold(path) + ", an attachment outside of the workspace"
		}
	case t.Name == "web-fetch":
		describeFetch(t)
	case t.Name == "web-search":
		if m := webSearch().FindStringSubmatch(t.NativeTitle); m != nil {
			t.Args = set(t.Args, "query", m[1])
		}
	case t.Name == "grep", t.Name == "glob":
		// The place is left out: it is shortened in the title.
		if m := searched().FindStringSubmatch(t.NativeTitle); m != nil {
			t.Args = set(t.Args, "pattern", m[1])
			t.Description = present.Escape(t.NativeTitle)
		}
	case t.Name == "list":
		// A longer place is shortened in the title, with dots.
		if place := t.NativeTitle; place != "" && !strings.Contains(place, "...") && rawjson.Value(t.Args).Get("path").Kind() == rawjson.Absent {
			t.Args = set(t.Args, "path", place)
		}
	case native == "update_topic":
		if m := topic().FindStringSubmatch(t.NativeTitle); m != nil {
			t.Args = set(t.Args, "title", m[1])
			t.Title = "Topic: " + present.Escape(m[1])
		}
	case t.Name == "task":
		if m := delegated().FindStringSubmatch(t.NativeTitle); m != nil {
			t.Args = set(t.Args, "agent_name", m[1])
			t.Title = "Task: " + present.Escape(m[1])
		}
	}
}

// describeFetch separates the two forms of web_fetch. A prompt can hold many URLs
// and its title shows a hundred characters of it; the model's service may follow
// what is no URL in it. So the call has no address: no rule about a site can allow
// it, and one that denies a site holds it up.
func describeFetch(t *acp.Tool) {
	if m := fetched().FindStringSubmatch(t.NativeTitle); m != nil {
		t.Args = set(t.Args, "url", m[1])
		return
	}
	prompt := strings.Trim(strings.TrimPrefix(t.NativeTitle, promptPrefix), `"`)
	t.Args = set(without(without(t.Args, "url"), "urls"), "prompt", prompt)
	t.Title = "Fetch what a prompt names"
	t.Description = present.Escape(prompt)
}

// cancelledText is the output of a shell command that a cancel ended.
const cancelledText = "Command cancelled by user."

func endTool(t *acp.Tool) {
	if t.Result.Status == contract.ToolCompleted && rawjson.Value(t.Result.Output).Text() == cancelledText {
		t.Result.Status = contract.ToolCancelled
	}
}

// set sets a member of an object.
func set(object jsontext.Value, name, text string) jsontext.Value {
	return appendMember(without(object, name), name, rawjson.AppendString(nil, text))
}

// without is an object without a member.
func without(object jsontext.Value, name string) jsontext.Value {
	out := jsontext.Value("{}")
	for n, v := range rawjson.Value(object).Members() {
		if n != name {
			out = appendMember(out, n, v)
		}
	}
	return out
}

// appendMember appends a member to an object, which it may overwrite.
func appendMember(object jsontext.Value, name string, value []byte) jsontext.Value {
	object = object[:len(object)-1]
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = append(rawjson.AppendString(object, name), ':')
	return append(append(object, value...), '}')
}
