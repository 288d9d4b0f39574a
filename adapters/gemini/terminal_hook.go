package gemini

import (
	"fmt"
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
	t.open.hooks = true
	t.turn.heard = t.now
	event := v.Get("hook_event_name").Text()
	t.sessionIs(v.Get("session_id").Text(), v.Get("transcript_path").Text(), v.Get("source").Text())
	switch event {
	case hookBeforeAgent:
		t.prompted(v.Get("prompt").Text(), stamped(v))
	case hookAfterAgent:
		t.afterAgent(v.Get("prompt_response").Text())
	case hookBeforeTool:
		if t.turn.open {
			t.beginCall(v.Get("tool_name").Text(), v.Get("tool_input"), v.Get("mcp_context"))
		}
	case hookAfterTool:
		if t.turn.open {
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

// askedCall finds the call that a question is about.
func (t *terminal) askedCall(details rawjson.Value) *heldCall {
	kind := details.Get("type").Text()
	fits := func(c *heldCall) bool {
		in := rawjson.Value(c.input)
		switch kind {
		case "exec":
			return c.name == "run_shell_command" && in.Get("command").Text() == details.Get("command").Text()
		case "edit":
			path := details.Get("filePath").Text()
			given := in.Get("file_path").Text()
			return callKind(c.name) == "edit" && given != "" && (path == given || strings.HasSuffix(path, "/"+strings.TrimPrefix(given, "./")))
		case "mcp":
			return strings.HasPrefix(c.name, "mcp_") && strings.HasSuffix(c.name, "_"+details.Get("toolName").Text())
		case "info":
			return c.name == "web_fetch" || c.name == "google_web_search"
		case "ask_user":
			return c.name == "ask_user"
		case "exit_plan_mode":
			return c.name == "exit_plan_mode"
		}
		return false
	}
	for _, c := range t.calls.list {
		if !c.ended && !c.asked && fits(c) {
			return c
		}
	}
	return nil
}
