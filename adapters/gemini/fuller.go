package gemini

import (
	"encoding/json/jsontext"
	"maps"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/internal/rawjson"
)

// fuller adds to a message what its tool call leaves out: the tool's name and, of
// a shell's and an MCP tool's, the input. member is where the call stands in the
// params. What is no message with a call is returned as it is.
func fuller(message rawjson.Value, member string) []byte {
	call := message.Get("params", member)
	id := call.Get("toolCallId").Text()
	native := toolName(id)
	if native == "" || call.Get("rawInput").Given() {
		return message
	}
	changes := map[string][]byte{}
	if !call.Get("name").Given() {
		changes["name"] = rawjson.AppendString(nil, native)
	}
	if status := call.Get("status").Text(); status == "pending" || status == "in_progress" {
		switch {
		case native == "run_shell_command":
			changes["rawInput"] = shellInput(call)
			changes["content"] = []byte("[]") // it explains the call and is no output
		case strings.HasPrefix(native, "mcp_"):
			if input := mcpInput(call); input != nil {
				changes["rawInput"] = input
				changes["content"] = []byte("[]")
				if name := mcpName(native, call.Get("title").Text(), input); name != "" {
					changes["name"] = rawjson.AppendString(nil, name)
				}
			}
		}
	}
	params := withMembers(message.Get("params"), map[string][]byte{member: withMembers(call, changes)})
	return withMembers(message, map[string][]byte{"params": params})
}

// withoutSubject takes the empty subject out of a thought that has none: Gemini CLI
// writes "**subject**" above every thought.
func withoutSubject(message rawjson.Value) []byte {
	update := message.Get("params", "update")
	content := update.Get("content")
	text, ok := strings.CutPrefix(content.Get("text").Wobbly(), "****\n")
	if !ok {
		return message
	}
	content = withMembers(content, map[string][]byte{"text": rawjson.AppendString(nil, text)})
	update = withMembers(update, map[string][]byte{"content": content})
	params := withMembers(message.Get("params"), map[string][]byte{"update": update})
	return withMembers(message, map[string][]byte{"params": params})
}

// explained is what Gemini CLI says about a shell call: where, why, and how.
var explained = pattern(`(?s)^\[(in|current working directory) (.*?)\](?: \((.*?)\))?( \[background\])?$`)

// shellInput puts a shell call's input together again from its title, which is the
// whole command, and its explanation.
func shellInput(call rawjson.Value) []byte {
	input := append(rawjson.AppendString([]byte(`{"command":`), call.Get("title").Text()), '}')
	m := explained().FindStringSubmatch(firstText(call))
	if m == nil {
		return input
	}
	if m[3] != "" {
		input = set(input, "description", m[3])
	}
	if m[1] == "in" {
		input = set(input, "dir_path", m[2])
	}
	if m[4] != "" {
		input = appendMember(input, "is_background", []byte("true"))
	}
	return input
}

// mcpInput is the input of an MCP tool, which its explanation is as JSON; nil when
// it was too long to be told.
func mcpInput(call rawjson.Value) rawjson.Value {
	v, err := rawjson.Parse([]byte(firstText(call)))
	if err != nil || v.Kind() != rawjson.Object {
		return nil
	}
	return rawjson.Value(v.Clean())
}

var mcpTitle = pattern(`^(\S+) \((\S+) MCP Server\)$`)

// mcpName tells server and tool apart, which the tool's own name does not, as
// mcp/SERVER/TOOL. The title of a call tells them, unless the call has an input
// "command": that is its title then, and could name any server. It is empty when
// it is not certain.
func mcpName(native, title string, input rawjson.Value) string {
	m := mcpTitle().FindStringSubmatch(title)
	if m == nil || input.Get("command").Kind() == rawjson.String {
		return ""
	}
	tool, server := m[1], m[2]
	if native != "mcp_"+server+"_"+tool || strings.Contains(server, "/") {
		return ""
	}
	return "mcp/" + server + "/" + tool
}

// firstText is the first text in a call's content.
func firstText(call rawjson.Value) string {
	for c := range call.Get("content").Elements() {
		if t := c.Get("content", "text").Text(); t != "" {
			return t
		}
	}
	return ""
}

// withMembers is an object with other values for some members: those that it has
// keep their place, new ones come last.
func withMembers(object rawjson.Value, changes map[string][]byte) []byte {
	out := jsontext.Value("{}")
	has := map[string]bool{}
	for name, value := range object.Members() {
		if change, ok := changes[name]; ok {
			value = change
		}
		has[name] = true
		out = appendMember(out, name, value)
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if !has[name] {
			out = appendMember(out, name, changes[name])
		}
	}
	return out
}
