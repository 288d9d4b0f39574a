package gemini

import (
	"encoding/json/jsontext"
	"maps"
	"regexp"
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
			}
		}
	}
	params := withMembers(message.Get("params"), map[string][]byte{member: withMembers(call, changes)})
	return withMembers(message, map[string][]byte{"params": params})
}

// explained is what Gemini CLI says about a shell call: where, why, and how.
var explained = regexp.MustCompile(`(?s)^\[(in|current working directory) (.*?)\](?: \((.*?)\))?( \[background\])?$`)

// shellInput puts a shell call's input together again from its title, which is the
// whole command, and its explanation.
func shellInput(call rawjson.Value) []byte {
	input := append(rawjson.AppendString([]byte(`{"command":`), call.Get("title").Text()), '}')
	m := explained.FindStringSubmatch(firstText(call))
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
func mcpInput(call rawjson.Value) []byte {
	v, err := rawjson.Parse([]byte(firstText(call)))
	if err != nil || v.Kind() != rawjson.Object {
		return nil
	}
	return v.Clean()
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
