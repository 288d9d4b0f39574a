package codex

import (
	"encoding/json/jsontext"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agenthost/agenthost/adapters/present"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// rawCall is a call in the model's own words that no item told yet.
type rawCall struct {
	id, name string
	it       rawjson.Value
	// told is how many calls of the thread the stream had when it was made.
	told int
}

// maxRaw bounds the calls whose output is awaited.
const maxRaw = 256

// rawItem takes a piece of the conversation as the model has it. Calls that the
// server tells in no item (a command that the sandbox denied at once, a patch that
// does not fit, small tools) are told from here, when their output shows that no
// item came.
func (p *protocol) rawItem(th *thread, turn string, it rawjson.Value) {
	id := it.Get("call_id").Text()
	if id == "" || !p.speaks(th) {
		return
	}
	switch it.Get("type").Text() {
	case "function_call", "custom_tool_call":
		name := it.Get("name").Text()
		if name == "" {
			return
		}
		if len(th.raw) >= maxRaw {
			th.raw = th.raw[1:]
		}
		th.raw = append(th.raw, rawCall{id, name, invisible(it), th.told})
	case "function_call_output", "custom_tool_call_output":
		i := slices.IndexFunc(th.raw, func(c rawCall) bool { return c.id == id })
		if i < 0 {
			return
		}
		c := th.raw[i]
		th.raw = slices.Delete(th.raw, i, i+1)
		if th.calls[id] != nil || th.finished[id] {
			return
		}
		if c.name == cell && (th.told != c.told || !strings.Contains(rawText(it.Get("output")), "Script failed")) {
			return // its calls are items
		}
		if toldOtherwise(c.name, rawText(it.Get("output"))) {
			return
		}
		p.endCall(th, turn, p.announce(th, turn, id, c.it), rawOutcome(c.name, it.Get("output")))
	}
}

// cell is the tool of code mode: a script that calls the others.
const cell = "exec"

// toldOtherwise reports whether the stream has what a call did: a plan, what was
// typed into a command, the output of a script that went on, a message. One that
// failed did nothing else, and is told like any other.
func toldOtherwise(name, output string) bool {
	switch name {
	case "update_plan":
		return strings.HasPrefix(output, "Plan updated")
	case "write_stdin":
		return strings.Contains(output, "Wall time:")
	case "wait":
		return !strings.Contains(output, "Script failed") && !refused(output)
	case "send_message_to_user_async", "request_user_input_async":
		return strings.Contains(output, `"accepted":true`)
	}
	return false
}

// invisible is a call as an item of ours.
func invisible(it rawjson.Value) rawjson.Value {
	o := new(object).str("type", itemInvisible).str("name", it.Get("name").Text())
	in := it.Get("input")
	if text := it.Get("arguments").Text(); text != "" {
		if v, err := rawjson.Parse([]byte(text)); err == nil {
			in = v
		} else {
			in = it.Get("arguments")
		}
	}
	if in.Given() {
		o.raw("arguments", in.Clean())
	}
	return o.value()
}

func invisibleName(v view) string {
	switch name := v.text("name"); {
	case shells(name):
		return "bash"
	case name == "apply_patch":
		return "edit"
	default:
		return hyphened(name)
	}
}

// shells reports whether a tool of the model's runs commands.
func shells(name string) bool {
	return slices.Contains([]string{"exec_command", "shell", "shell_command", "local_shell"}, name)
}

// invisibleCommand is the command line of a shell call.
func invisibleCommand(v view) string {
	in := v.it.Get("arguments")
	for _, name := range []string{"cmd", "command"} {
		m := in.Get(name)
		if s := m.Text(); s != "" {
			return s
		}
		var words []string
		for w := range m.Elements() {
			words = append(words, w.Text())
		}
		if len(words) > 0 {
			return strings.Join(words, " ")
		}
	}
	return ""
}

func invisibleTitle(v view) string {
	switch invisibleName(v) {
	case "bash":
		return strings.TrimSpace("Run " + present.CodeCut(invisibleCommand(v), codeLimit))
	case "edit":
		return "Edit files"
	case cell:
		return "Run a script of tool calls"
	}
	return present.Escape(v.text("name"))
}

func invisibleArgs(v view) jsontext.Value {
	if invisibleName(v) == "bash" {
		return new(object).str("command", invisibleCommand(v)).text("cwd", v.it.Get("arguments", "workdir").Text()).value()
	}
	return argumentArgs(v)
}

// rawText is the text of an output: a string, or blocks.
func rawText(output rawjson.Value) string {
	text := output.Text()
	for b := range output.Elements() {
		text += b.Get("text").Text()
	}
	return text
}

// exited is compiled when it is needed: most runs of this program never do.
var exited = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:Process exited with code|Exit code:) (-?[0-9]+)`)
})

// refused reports whether an output says that the call was not carried out.
func refused(text string) bool {
	starts := []string{"failed to ", "unable to ", "unsupported call", "exec_command failed", "write_stdin failed"}
	return slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(text, start) }) ||
		strings.Contains(text, " is unavailable in ")
}

// rawOutcome is how a call ended that only its output tells. A command or an edit
// that no item told never ran, or failed at once.
func rawOutcome(name string, output rawjson.Value) *contract.ToolResult {
	text := rawText(output)
	r := &contract.ToolResult{Status: contract.ToolCompleted}
	if text != "" {
		r.Output = quote(text)
	}
	m := exited().FindStringSubmatch(text)
	if m != nil && m[1] != "0" {
		r.Status, r.Error = contract.ToolError, fmt.Sprintf("exit code %s", m[1])
		return r
	}
	failed := name == cell || m == nil && shells(name) || name == "wait" || refused(text) || strings.Contains(text, "verification failed") || strings.Contains(text, "failed for `")
	if failed || name == "apply_patch" && !strings.Contains(text, "Success") {
		_, why, script := strings.Cut(text, "Script error:\n")
		if !script {
			why = text
		}
		r.Status, r.Error = contract.ToolError, orElse(cut(firstLine(why)), "the tool failed")
	}
	return r
}
