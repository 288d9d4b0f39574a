package acp

import (
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/contract"
)

func toolOf(id, status, meta string) string {
	return `{"sessionUpdate":"tool_call","toolCallId":"` + id + `","name":"Bash","kind":"execute","title":"` + id + `","status":"` + status + `","rawInput":{"command":"` + id + `"},"_meta":` + meta + `}`
}

const task = `{"sessionUpdate":"tool_call","toolCallId":"task","name":"Task","title":"Look around","kind":"think","status":"in_progress","rawInput":{"prompt":"x","agent_type":"g"}}`

// TestSubagentsByCall: claude-agent-acp names the call that spawned a sub-agent.
func TestSubagentsByCall(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.update(task)
	b.chunk("meanwhile ")
	b.update(toolOf("a", "in_progress", `{"claudeCode":{"parentToolUseId":"task"}}`))
	b.update(toolOf("deep", "completed", `{"claudeCode":{"parentToolUseId":"a"}}`))
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"task","status":"completed","rawOutput":"done"}`)
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want(`turn-start p1 | start task task {"prompt":"x","agent_type":"g"} | text meanwhile  | sub-start task | task: start a bash {"command":"a"} | task: sub-start a | ` +
		`a: start deep bash {"command":"deep"} | a: end deep completed | task: sub-stop a | task: end a | sub-stop task | end task completed | turn-end completed`)
	if e := b.drafts[3].Event.(contract.SubagentStart); e.Call != "task" || e.Title != "Look around" {
		t.Errorf("start %+v", e)
	}
}

// TestSubagentsByID: copilot names the sub-agent, and not who spawned it.
func TestSubagentsByID(t *testing.T) {
	b := plain(t)
	b.prompt()
	b.update(task)
	b.update(toolOf("a", "completed", `{"github.com/copilot":{"agentId":"g1"}}`))
	b.request("1", "session/request_permission", permission("b", "allow_once", "reject_once"))
	b.update(`{"sessionUpdate":"tool_call_update","toolCallId":"task","status":"completed"}`)
	b.submit(adapters.Abort{})
	b.result(b.last("session/prompt"), `{"stopReason":"cancelled"}`)
	b.want(`turn-start p1 | start task task {"prompt":"x","agent_type":"g"} | sub-start g1 | g1: start a bash {"command":"a"} | g1: end a completed | ` +
		`start b bash {"command":"ls"} | ask b | sub-stop g1 | end task completed | end b cancelled | turn-end cancelled`)
	if e := b.drafts[2].Event.(contract.SubagentStart); e.Call != "task" {
		t.Errorf("start %+v, want the call that can only be it", e)
	}
}

// TestSubagentSessions: agents that show sub-agents as sessions of their own.
func TestSubagentSessions(t *testing.T) {
	b := plain(t)
	child := func(u string) {
		b.line(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"child","update":` + u + `}}`)
	}
	b.prompt()
	child(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"of nobody yet"}}`)
	b.update(`{"sessionUpdate":"subagent_update","sessionId":"child","title":"Explorer","description":"finds things","state":{"state":"running"}}`)
	b.update(`{"sessionUpdate":"session_message","messageId":"m","senderSessionId":"s","recipientSessionId":"child","content":[{"type":"text","text":"find it"}]}`)
	child(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`)
	child(`{"sessionUpdate":"config_option_update","configOptions":[{"id":"model","category":"model","type":"select","currentValue":"small","options":[]}]}`)
	child(toolOf("a", "in_progress", `{"claudeCode":{"parentToolUseId":"unseen"}}`))
	b.line(`{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"child","toolCall":{"toolCallId":"w","kind":"edit","title":"Edit","rawInput":{"path":"/w/x"}},"options":[{"optionId":"y","kind":"allow_once","name":"Yes"}]}}`)
	b.answer(contract.AllowOnce)
	b.update(`{"sessionUpdate":"subagent_update","sessionId":"child","state":{"state":"idle"}}`)
	b.update(`{"sessionUpdate":"session_message","messageId":"n","senderSessionId":"child","recipientSessionId":"s","content":[{"type":"text","text":"found it"}]}`)
	child(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"once more"}}`)
	b.update(`{"sessionUpdate":"subagent_update","sessionId":"child","state":{"state":"idle"}}`)
	b.advance(ReportWait - 1)
	b.chunk("no report")
	b.advance(1)
	b.result(b.last("session/prompt"), `{"stopReason":"end_turn"}`)
	b.want(`turn-start p1 | start task-child task {"description":"Explorer","subagent_type":"finds things","prompt":"find it"} | sub-start child | child: thinking hm | child: start a bash {"command":"a"} | ` +
		`child: start w edit {"path":"/w/x"} | child: ask w | child: end a | child: end w | sub-stop child | end task-child completed | ` +
		`start task-child#2 task {"description":"Explorer","subagent_type":"finds things","prompt":"find it"} | sub-start child#2 | child#2: text once more | sub-stop child#2 | text no report | end task-child#2 completed | turn-end completed`)
	if len(b.errs) != 1 {
		t.Errorf("errors %v, want one for the text of nobody", b.errs)
	}
	if b.facts.Model != "" {
		t.Errorf("the sub-agent's model %q became the session's", b.facts.Model)
	}
	if e := b.drafts[10].Event.(contract.ToolCallEnd); string(e.Result.Output) != `"found it"` {
		t.Errorf("end %+v, want the report", e.Result)
	}
}
