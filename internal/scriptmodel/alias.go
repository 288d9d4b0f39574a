package scriptmodel

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"
)

// A call is a tool call in the words of the agent that asked.
type call struct {
	id        string
	name      string
	namespace string
	custom    bool
	args      jsontext.Value // a JSON object; for a custom tool its "input" is sent
}

// input is the free text that a custom tool gets: the only member named input or
// patch, else the arguments as they are.
func (c call) input() string {
	var args map[string]jsontext.Value
	if lenient(c.args, &args) == nil {
		for _, name := range []string{"input", "patch", "code"} {
			var s string
			if v, ok := args[name]; ok && lenient(v, &s) == nil {
				return s
			}
		}
	}
	return string(c.args)
}

// resolve turns a tool act into a call of the tools that are offered.
func (a act) resolve(tools []tool) (call, error) {
	w := a.words
	switch a.verb {
	case "tool":
		return native(tools, w[0], w[1]), nil
	case "mcp":
		return mcpCall(tools, w[0], w[1], w[2])
	case "shell":
		return shellCall(tools, w[0])
	case "write":
		return writeCall(tools, w[0], w[1])
	case "edit":
		return editCall(tools, w[0], w[1], w[2])
	case "read":
		return readCall(tools, w[0])
	}
	return taskCall(tools, w[0])
}

// native calls a tool by its own name, whether it is offered or not. NAMESPACE/NAME
// is one in a namespace that the agent shows when it is searched for.
func native(tools []tool, name, args string) call {
	c := call{name: name, args: jsontext.Value(args)}
	if t, ok := offered(tools, name); ok {
		c.namespace, c.custom = t.namespace, t.custom
	} else if namespace, name, ok := strings.Cut(name, "/"); ok {
		c.namespace, c.name = namespace, name
	}
	return c
}

// offered returns the first of names that is offered.
func offered(tools []tool, names ...string) (tool, bool) {
	for _, n := range names {
		for _, t := range tools {
			if t.name == n {
				return t, true
			}
		}
	}
	return tool{}, false
}

// missing is the error for an alias that finds no tool.
func missing(what string, tools []tool) error {
	return fmt.Errorf("no %s tool among those offered: %s", what, strings.Join(sortedNames(tools), ", "))
}

// fill makes a call of t from values by alternative parameter names. Parameters
// that t does not have are left out, required ones that are missing get an example.
func (t tool) fill(values ...param) call {
	args := map[string]any{}
	for _, v := range values {
		if name := t.params.has(v.names...); name != "" {
			args[name] = v.value
		}
	}
	t.params.complete(args)
	return call{name: t.name, namespace: t.namespace, custom: t.custom, args: encode(args)}
}

// A param is a value and the names that agents give its parameter.
type param struct {
	value any
	names []string
}

func pathParam(path string) param {
	return param{path, []string{"file_path", "filePath", "absolute_path", "path", "filename", "target_file"}}
}

func aboutParam(text string) param {
	return param{text, []string{"description", "explanation", "instruction"}}
}

func shellCall(tools []tool, cmd string) (call, error) {
	t, ok := offered(tools, "run_shell_command", "exec_command", "shell_command", "Bash", "bash", "shell", "execute_command", "terminal")
	if !ok {
		if js, ok := codeMode(tools); ok {
			return js.script("const r = await tools.exec_command(" + string(encode(map[string]any{"cmd": cmd})) + "); text(r.output);"), nil
		}
		return call{}, missing("shell", tools)
	}
	var value any = cmd
	name := t.params.has("command", "cmd", "script")
	if name != "" && t.params.Properties[name].Type == "array" {
		value = []string{"bash", "-lc", cmd}
	}
	return t.fill(param{value, []string{"command", "cmd", "script"}}, aboutParam("Run "+cmd)), nil
}

func writeCall(tools []tool, path, content string) (call, error) {
	t, ok := offered(tools, "write_file", "Write", "write", "create", "create_file")
	if ok {
		return t.fill(pathParam(path), param{content, []string{"content", "file_text", "contents", "text"}}), nil
	}
	if _, patches := offered(tools, "apply_patch"); !patches {
		if _, js := codeMode(tools); !js {
			c, err := shellCall(tools, "printf %s "+quoted(content)+" > "+quoted(path))
			if err != nil {
				return call{}, missing("write", tools)
			}
			return c, nil
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "*** Begin Patch\n*** Add File: %s\n", path)
	for line := range strings.SplitSeq(strings.TrimSuffix(content, "\n"), "\n") {
		b.WriteString("+" + line + "\n")
	}
	return patchCall(tools, b.String()+"*** End Patch\n", "write")
}

func editCall(tools []tool, path, before, after string) (call, error) {
	t, ok := offered(tools, "replace", "Edit", "edit", "str_replace", "search_replace")
	if ok {
		return t.fill(pathParam(path), aboutParam("Edit "+path),
			param{before, []string{"old_string", "oldString", "old_str", "oldText"}},
			param{after, []string{"new_string", "newString", "new_str", "newText"}}), nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "*** Begin Patch\n*** Update File: %s\n@@\n", path)
	for line := range strings.SplitSeq(before, "\n") {
		b.WriteString("-" + line + "\n")
	}
	for line := range strings.SplitSeq(after, "\n") {
		b.WriteString("+" + line + "\n")
	}
	return patchCall(tools, b.String()+"*** End Patch\n", "edit")
}

// patchCall sends a patch to apply_patch, in code mode from its script.
func patchCall(tools []tool, patch, what string) (call, error) {
	t, ok := offered(tools, "apply_patch")
	if ok {
		return call{name: t.name, namespace: t.namespace, custom: t.custom, args: encode(map[string]any{"input": patch})}, nil
	}
	if js, ok := codeMode(tools); ok {
		return js.script("text(await tools.apply_patch(" + string(encode(patch)) + "));"), nil
	}
	return call{}, missing(what, tools)
}

func readCall(tools []tool, path string) (call, error) {
	t, ok := offered(tools, "read_file", "Read", "read", "view")
	if ok {
		return t.fill(pathParam(path)), nil
	}
	c, err := shellCall(tools, "cat "+quoted(path))
	if err != nil {
		return call{}, missing("read", tools)
	}
	return c, nil
}

// quoted is s as one word of a POSIX shell.
func quoted(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// taskCall starts a sub-agent and, where there is a choice, waits for it.
func taskCall(tools []tool, prompt string) (call, error) {
	t, ok := offered(tools, "Agent", "Task", "task", "invoke_agent", "spawn_agent", "agent")
	if !ok {
		return call{}, missing("sub-agent", tools)
	}
	return t.fill(
		param{prompt, []string{"prompt", "message", "objective", "query"}},
		aboutParam("Scripted sub-agent"),
		param{false, []string{"run_in_background"}},
		param{t.subagent(), []string{"subagent_type", "agent_name"}},
	), nil
}

// subagent is a kind of sub-agent that the agent with this tool has built in.
func (t tool) subagent() string {
	switch t.name {
	case "invoke_agent":
		return "codebase_investigator"
	case "task":
		return "general"
	}
	return "general-purpose"
}

// mcpCall finds the name under which the agent offers the tool of an MCP server:
// mcp__server__tool, mcp_server_tool, server_tool, or a tool in a namespace.
func mcpCall(tools []tool, server, name, args string) (call, error) {
	for _, t := range tools {
		full := t.namespace + "__" + t.name
		if strings.HasSuffix(t.name, name) && strings.Contains(full, server) {
			return call{name: t.name, namespace: t.namespace, custom: t.custom, args: jsontext.Value(args)}, nil
		}
	}
	if js, ok := codeMode(tools); ok {
		return js.script("text(await tools.mcp__" + server + "__" + name + "(" + args + "));"), nil
	}
	// claude and codex look MCP tools up when they need them and do not list them.
	if _, ok := offered(tools, "ToolSearch"); ok {
		return call{name: "mcp__" + server + "__" + name, args: jsontext.Value(args)}, nil
	}
	if _, ok := offered(tools, toolSearch); ok {
		return call{name: name, namespace: "mcp__" + server, args: jsontext.Value(args)}, nil
	}
	return call{}, missing("mcp "+server+" "+name, tools)
}

// codeMode returns the tool that runs JavaScript which calls the other tools
// (codex with gpt-5.6 and later).
func codeMode(tools []tool) (tool, bool) {
	t, ok := offered(tools, "exec")
	return t, ok && t.custom
}

// script calls the code mode tool with JavaScript.
func (t tool) script(js string) call {
	return call{name: t.name, namespace: t.namespace, custom: t.custom, args: encode(map[string]any{"input": js})}
}
