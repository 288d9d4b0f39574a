package gemini

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// hook takes a request of a hook. All are answered at once and with nothing, but the
// one that says that a person is about to be asked.
func (t *terminal) hook(f adapters.Frame) {
	held := false
	defer func() {
		if !held {
			t.release(f.ID)
		}
	}()
	if f.Dropped > 0 {
		t.errs = append(t.errs, fmt.Errorf("a hook of %d bytes was dropped", f.Dropped))
		return
	}
	v, err := rawjson.Parse(f.Data)
	if err != nil {
		t.errs = append(t.errs, fmt.Errorf("decoding a hook: %w", err))
		return
	}
	if t.open.hooked.IsZero() {
		t.open.hooked = t.now
	}
	t.turn.heard = t.now
	event := v.Get("hook_event_name").Text()
	t.sessionIs(v.Get("session_id").Text(), v.Get("transcript_path").Text(), v.Get("source").Text())
	switch event {
	case hookBeforeAgent:
		t.prompted(v.Get("prompt").Text(), stamped(v))
	case hookAfterAgent:
		if at := stamped(v); !at.IsZero() && at.Before(t.turn.since) {
			return // of the turn before, which was cancelled
		}
		t.afterAgent(v.Get("prompt_response").Text())
	case hookBeforeTool:
		if t.turn.has(stamped(v)) {
			t.beginCall(v.Get("tool_name").Text(), v.Get("tool_input"), v.Get("mcp_context"))
		}
	case hookAfterTool:
		if t.turn.has(stamped(v)) {
			t.ranCall(v.Get("tool_name").Text(), v.Get("tool_input"), v.Get("tool_response"))
		}
	case hookNotification:
		held = v.Get("notification_type").Text() == "ToolPermission" && t.gate.asks(t, f.ID, v.Get("details"))
	}
}

// release lets a hook go on.
func (t *terminal) release(id string) {
	if id != "" {
		t.step.Effects = append(t.step.Effects, adapters.HookReply{ID: id})
	}
}

// askedCall finds the call that a question is about, nil when that is not certain.
func (t *terminal) askedCall(details rawjson.Value) *heldCall {
	var found []*heldCall
	for _, c := range t.calls.list {
		if !c.ended && !c.asked && c.askedBy(details) {
			found = append(found, c)
		}
	}
	switch {
	case len(found) == 1:
		return found[0]
	case details.Get("type").Text() != "info":
		// Equal calls are asked for alike, so any of them will do.
		for _, c := range found {
			if c.name != found[0].name || string(c.input) != string(found[0].input) {
				return nil
			}
		}
	default:
		// What it shows has something of the call's input.
		found = slices.DeleteFunc(found, func(c *heldCall) bool { return !c.shownIn(details.Get("prompt").Text()) })
		if len(found) != 1 {
			return nil
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

// askedBy reports whether a question can be about a call.
func (c *heldCall) askedBy(details rawjson.Value) bool {
	in := rawjson.Value(c.input)
	switch details.Get("type").Text() {
	case "exec":
		return c.name == "run_shell_command" && in.Get("command").Text() == details.Get("command").Text()
	case "edit":
		path, given := details.Get("filePath").Text(), in.Get("file_path").Text()
		return callKind(c.name) == "edit" && given != "" && (path == given || strings.HasSuffix(path, "/"+strings.TrimPrefix(given, "./")))
	case "mcp":
		return strings.HasPrefix(c.name, "mcp_") && strings.HasSuffix(c.name, "_"+details.Get("toolName").Text())
	case "ask_user", "exit_plan_mode":
		return c.name == details.Get("type").Text()
	case "info":
		return c.name != "run_shell_command" && callKind(c.name) != "edit" && !strings.HasPrefix(c.name, "mcp_") &&
			c.name != "ask_user" && c.name != "exit_plan_mode"
	}
	return false
}

// shownIn reports whether a text has a value of the call's input.
func (c *heldCall) shownIn(text string) bool {
	for _, v := range rawjson.Value(c.input).Members() {
		if s := v.Text(); s != "" && strings.Contains(text, s) {
			return true
		}
	}
	return false
}
