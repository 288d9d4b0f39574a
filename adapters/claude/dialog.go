package claude

import (
	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/internal/rawjson"
)

// Requests of the CLI that a host gets only when it offered to serve them: it
// registered hooks, serves MCP servers of its own, or can show dialogs. We offer
// none of it. What comes all the same (of an older process's session, or of a
// version that asks unasked) must not hang a turn, and people must see it.

// dialog takes a dialog of the CLI's own interface. What its answers look like
// depends on its kind, which only that interface knows, so all that people can do
// here is dismiss it: the CLI then does what it does by default. Left alone it
// stays open until the CLI gives up, in minutes or never.
func (p *protocol) dialog(id string, req rawjson.Value) {
	if id == "" {
		return
	}
	// It may come while nothing runs, and begins no turn of the CLI's.
	a := &ask{request: id, dialog: true, call: "dialog-" + id, own: true}
	if c := p.calls[req.Get("tool_use_id").Text()]; c != nil && !c.ended {
		a.call, a.agent, a.own = c.id, c.agent, false
	}
	c := p.announce(a.call, a.agent, toolDialog, req, "")
	t := p.describe(toolDialog, req)
	a.draft = adapters.Draft{Subagent: a.agent, Event: contract.PermissionRequest{
		Call: a.call, ToolName: t.name, Title: t.title, Description: t.description, Args: c.input.Clean(),
		Options: []contract.PermissionOption{{Decision: contract.RejectOnce, Label: "Dismiss"}},
	}}
	p.asks = append(p.asks, a)
	p.putAsk(a)
}

// dismissed is the answer to a dialog, whatever was decided: none of ours can be
// its result.
func dismissed() []byte { return new(object).str("behavior", "cancelled").value() }

// mcpMessage answers a message to an MCP server of the host's own: there is none,
// in the words of JSON-RPC, so that the caller fails and not the whole request.
func (p *protocol) mcpMessage(id string, req rawjson.Value) {
	reply := new(object).str("jsonrpc", "2.0")
	if call := req.Get("message", "id"); call.Given() {
		failure := new(object).raw("code", []byte("-32601")).str("message", "agenthost serves no MCP server of this name")
		reply.raw("id", call.Clean()).raw("error", failure.value())
	} else {
		reply.raw("id", []byte("0")).raw("result", []byte("{}")) // a notification: nobody reads it
	}
	p.write(controlResponse(id, new(object).raw("mcp_response", reply.value()).value()))
	p.refused("mcp_message")
}
