package gemini

import (
	"cmp"
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// callBook are the calls of the running turn. Hooks name no call: what they and the
// chat file say of one is put together by its tool and input, in order.
type callBook struct {
	n    int
	list []*heldCall
}

// heldCall is one call of a tool.
type heldCall struct {
	id, name string
	input    jsontext.Value // clean
	native   string         // the id in the chat file, empty until it is there
	asked    bool
	ended    bool
}

func (c *callBook) reset() { c.list = nil }

// find is the first call that fits. When none has this input, it was changed at the
// terminal or by another hook: then it is the one call of the tool that fits, and only
// where nobody is being asked for it.
func (t *terminal) find(name string, input jsontext.Value, fits func(*heldCall) bool) *heldCall {
	var other *heldCall
	others := 0
	for _, x := range t.calls.list {
		switch {
		case x.name != name || !fits(x):
		case string(x.input) == string(input):
			return x
		default:
			other, others = x, others+1
		}
	}
	if others != 1 || t.gate.find(func(q *question) bool { return q.call == other && q.open }) != nil {
		return nil
	}
	return other
}

// beginCall tells the start of a call.
func (t *terminal) beginCall(name string, input rawjson.Value, mcp rawjson.Value) *heldCall {
	t.calls.n++
	c := &heldCall{id: name + "__" + strconv.Itoa(t.calls.n), name: name, input: cleaned(input)}
	t.calls.list = append(t.calls.list, c)
	b := []byte(`{"sessionUpdate":"tool_call","status":"in_progress"`)
	b = append(b, c.describe(mcp)...)
	t.update(jsontext.Value(append(b, '}')))
	return c
}

func cleaned(input rawjson.Value) jsontext.Value {
	if input.Kind() != rawjson.Object {
		return jsontext.Value("{}")
	}
	v := input.Clean()
	if v.Canonicalize() != nil {
		return input.Clean()
	}
	return v
}

// describe are the members of an update that say what a call is.
func (c *heldCall) describe(mcp rawjson.Value) []byte {
	member := func(b []byte, name, text string) []byte {
		return rawjson.AppendString(append(append(append(b, `,"`...), name...), `":`...), text)
	}
	b := member(nil, "toolCallId", c.id)
	name := c.name
	if server, tool := mcp.Get("server_name").Text(), mcp.Get("tool_name").Text(); server != "" && tool != "" && !strings.Contains(server, "/") {
		name = "mcp/" + server + "/" + tool
	}
	b = member(b, "name", name)
	b = member(b, "kind", callKind(c.name))
	if title := c.title(); title != "" {
		b = member(b, "title", title)
	}
	return append(append(b, `,"rawInput":`...), c.input...)
}

// title is the title that Gemini CLI gives such a call over ACP, where it says
// something that the input does not.
func (c *heldCall) title() string {
	in := rawjson.Value(c.input)
	switch c.name {
	case "run_shell_command":
		return in.Get("command").Text()
	case "invoke_agent":
		return fmt.Sprintf("Delegating to agent '%s'", in.Get("agent_name").Text())
	case "update_topic":
		return fmt.Sprintf("Update topic to: \"%s\"", in.Get("title").Text())
	case "web_fetch":
		if url := in.Get("url").Text(); url != "" {
			return "Fetching content from: " + url
		}
		return promptPrefix + `"` + in.Get("prompt").Text() + `"`
	}
	return ""
}

func callKind(name string) string {
	switch name {
	case "run_shell_command":
		return "execute"
	case "read_file", "read_many_files":
		return "read"
	case "list_directory", "glob", "grep_search", "search_file_content", "google_web_search":
		return "search"
	case "write_file", "replace":
		return "edit"
	case "web_fetch":
		return "fetch"
	case "update_topic", "invoke_agent":
		return "think"
	}
	return "other"
}

// ranCall is told by a hook what became of a call.
func (t *terminal) ranCall(name string, input, response rawjson.Value) {
	in := cleaned(input)
	c := t.find(name, in, func(c *heldCall) bool { return !c.ended })
	if c == nil {
		return // of the turn before, or the file has it
	}
	t.gate.allowed(t, c) // it ran
	failure := response.Get("error", "message").Text()
	t.endCall(c, "completed", failure, response.Get("returnDisplay"), response.Get("llmContent"))
}

// toldCall takes a call of the chat file, which comes when its batch is over.
func (t *terminal) toldCall(v rawjson.Value) {
	id, name := v.Get("id").Text(), v.Get("name").Text()
	if id == "" || name == "" || slices.ContainsFunc(t.calls.list, func(c *heldCall) bool { return c.native == id }) {
		return
	}
	c := t.find(name, cleaned(v.Get("args")), func(c *heldCall) bool { return c.native == "" })
	if c == nil {
		c = t.beginCall(name, v.Get("args"), nil)
	}
	c.native = id
	if c.ended {
		return
	}
	var response rawjson.Value
	for part := range v.Get("result").Elements() {
		if r := part.Get("functionResponse", "response"); r.Given() {
			response = r
		}
	}
	switch v.Get("status").Text() {
	case "cancelled":
		t.gate.refused(t, c)
		t.endCall(c, "cancelled", "", nil, nil)
	case "error":
		t.endCall(c, "failed", cmp.Or(response.Get("error").Text(), v.Get("resultDisplay").Text(), "the tool failed"), nil, nil)
	default:
		t.gate.allowed(t, c)
		t.endCall(c, "completed", response.Get("error").Text(), v.Get("resultDisplay"), response.Get("output"))
	}
}

// endCall tells the end of a call. display is what the screen shows of the result,
// content what the model is told.
func (t *terminal) endCall(c *heldCall, status, failure string, display, content rawjson.Value) {
	c.ended = true
	t.gate.ended(c)
	b := rawjson.AppendString([]byte(`{"sessionUpdate":"tool_call_update","toolCallId":`), c.id)
	if failure != "" && status == "completed" {
		status = "failed"
	}
	b = rawjson.AppendString(append(b, `,"status":`...), status)
	b = append(b, `,"content":[`...)
	switch text := c.output(display, content); {
	case failure != "":
		b = appendTextBlock(b, failure)
	case display.Get("fileDiff").Given():
		b = appendDiff(b, display, display.Get("isNewFile").True())
	case text != "":
		b = appendTextBlock(b, text)
	}
	t.update(jsontext.Value(append(b, ']', '}')))
}

// output is the text of a result.
func (c *heldCall) output(display, content rawjson.Value) string {
	if c.name == "run_shell_command" || c.name == "ask_user" || c.name == "update_topic" {
		return cmp.Or(display.Text(), shellText(content))
	}
	return cmp.Or(recordText(content), display.Text())
}

// shellText is what a shell command printed, of what the model is told of it: where
// it ran in a terminal, that is all there is.
func shellText(content rawjson.Value) string {
	text := strings.TrimSuffix(strings.TrimPrefix(recordText(content), "<untrusted_context>\n"), "\n</untrusted_context>")
	text, ok := strings.CutPrefix(text, "Output: ")
	if i := strings.LastIndex(text, "\nProcess Group PGID: "); ok && i >= 0 {
		text = text[:i]
	}
	if !ok || text == "(empty)" {
		return ""
	}
	return text
}

func appendTextBlock(b []byte, text string) []byte {
	b = rawjson.AppendString(append(b, `{"type":"content","content":{"type":"text","text":`...), text)
	return append(b, '}', '}')
}

// appendDiff appends a change of a file, as a result and a question have it.
func appendDiff(b []byte, v rawjson.Value, added bool) []byte {
	b = rawjson.AppendString(append(b, `{"type":"diff","path":`...), v.Get("filePath").Text())
	b = rawjson.AppendString(append(b, `,"oldText":`...), v.Get("originalContent").Text())
	b = rawjson.AppendString(append(b, `,"newText":`...), v.Get("newContent").Text())
	kind := "modify"
	if added {
		kind = "add"
	}
	b = rawjson.AppendString(append(b, `,"_meta":{"kind":`...), kind)
	return append(b, '}', '}')
}

// decidedAtTerminal says what a person decided in the dialog.
func (t *terminal) decidedAtTerminal(c *heldCall, d contract.Decision) {
	t.byUser(adapters.Draft{Event: contract.PermissionResponse{Call: c.id, Decision: d}})
}
