package gemini

import (
	"encoding/json/jsontext"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// Hooks of Gemini CLI that the terminal Protocol is told about.
const (
	hookSessionStart = "SessionStart"
	hookBeforeAgent  = "BeforeAgent"
	hookBeforeTool   = "BeforeTool"
	hookAfterTool    = "AfterTool"
	hookNotification = "Notification"
	hookAfterAgent   = "AfterAgent"
	hookSessionEnd   = "SessionEnd"
)

// Times of a hook in milliseconds. A hook that times out says nothing: what it held up
// goes on, for the Notification hook to the dialog at the terminal.
const (
	// heldTimeout is the longest that a timer of Node.js has: the Notification hook is
	// held back while another dialog may stand.
	heldTimeout = "2147483647"
	// toldTimeout is for the others, which only tell: a host that does not hear them
	// must not hold up the agent.
	toldTimeout = "30000"
)

// terminalOverrides are the settings above the user's for a start with its screen. It
// adds hooks to the user's own and leaves how things look to the user.
//
// AfterModel, which fires for each piece of an answer, is not among the hooks: each call
// holds up the stream for a process, and is given the whole conversation. Nor is
// PreCompress, which fires before each request.
func terminalOverrides(req adapters.TerminalRequest, system rawjson.Value) jsontext.Value {
	o := req.Options
	hooks := jsontext.Value("{}")
	for _, event := range []string{
		hookSessionStart, hookBeforeAgent, hookBeforeTool, hookAfterTool, hookNotification, hookAfterAgent, hookSessionEnd,
	} {
		list := []byte("[")
		for h := range system.Get("hooks", event).Elements() { // an administrator's go first
			list = append(append(list, h...), ',')
		}
		timeout := toldTimeout
		if event == hookNotification {
			timeout = heldTimeout
		}
		list = rawjson.AppendString(append(list, `{"hooks":[{"type":"command","name":"agenthost","timeout":`+timeout+`,"command":`...), req.Hook)
		hooks = appendMember(hooks, event, append(list, "}]}]"...))
	}
	out := jsontext.Value(`{"general":{"sessionRetention":{"enabled":false}}}`)
	security := `{"enablePermanentToolApproval":false`
	if o.Settings["remember"] != "agent" {
		security += `,"disableAlwaysAllow":true`
	}
	if !o.AllowBypass {
		security += `,"disableYoloMode":true`
	}
	// A spinner never rests, and the screen is looked at when it rests.
	out = appendMember(out, "ui", []byte(`{"showSpinner":false}`))
	out = appendMember(out, "security", []byte(security+"}"))
	out = appendMember(out, "hooks", hooks)
	if servers := terminalServers(o.MCPServers); servers != nil {
		out = appendMember(out, "mcpServers", servers)
	}
	return out
}

// terminalServers are MCP servers as its settings have them, nil for none.
func terminalServers(list []adapters.MCPServer) jsontext.Value {
	if len(list) == 0 {
		return nil
	}
	pairs := func(list []adapters.Pair) jsontext.Value {
		out := jsontext.Value("{}")
		for _, p := range list {
			out = set(out, p.Name, p.Value)
		}
		return out
	}
	out := jsontext.Value("{}")
	for _, s := range list {
		server := jsontext.Value("{}")
		switch s.Transport {
		case "http":
			server = set(server, "httpUrl", s.URL)
		case "sse":
			server = set(server, "url", s.URL)
		default:
			server = set(server, "command", s.Command)
			args := []byte("[")
			for i, a := range s.Args {
				if i > 0 {
					args = append(args, ',')
				}
				args = rawjson.AppendString(args, a)
			}
			server = appendMember(server, "args", append(args, ']'))
			server = appendMember(server, "env", pairs(s.Env))
		}
		if len(s.Headers) > 0 {
			server = appendMember(server, "headers", pairs(s.Headers))
		}
		out = appendMember(without(out, s.Name), s.Name, server)
	}
	return out
}
