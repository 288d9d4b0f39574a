package replay

import (
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
)

// dialogue drives a Mapper line by line. "> x" is what the recorded client said,
// "< x" what the Protocol is to hear of the agent's x, "w x" what the Protocol
// wrote, "a call" an ask of it. What came of each line is compared with the
// "= x" lines that follow it.
func dialogue(t *testing.T, w Wire, script string) {
	t.Helper()
	var f transcript.File
	for line := range strings.Lines(script) {
		if said, ok := strings.CutPrefix(strings.TrimSpace(line), "> "); ok {
			f.Records = append(f.Records, transcript.Record{Dir: transcript.In, Data: []byte(said)})
		}
	}
	m := w.Mapper(f)
	var got, want []string
	step := ""
	flush := func() {
		t.Helper()
		if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
			t.Errorf("%s\ngives %s\nwant  %s", step, g, w)
		}
		got, want = nil, nil
	}
	frames := func(list []adapters.Frame) {
		for _, f := range list {
			got = append(got, string(f.Data))
		}
	}
	commands := func(list []adapters.Command) {
		for _, c := range list {
			got = append(got, string(transcript.CommandRecord(0, c).Data))
		}
	}
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		op, arg, _ := strings.Cut(line, " ")
		if op == "=" {
			want = append(want, arg)
			continue
		}
		flush()
		step = line
		switch op {
		case ">":
			commands(m.Said([]byte(arg)))
		case "<":
			frames(m.Heard(adapters.Frame{Data: []byte(arg)}))
		case "w":
			frames(m.Wrote([]byte(arg)))
		case "a":
			commands(m.Stepped(adapters.Step{Emit: []adapters.Draft{{Ask: arg, Event: contract.PermissionRequest{}}}}))
		case "e":
			commands(m.Stepped(adapters.Step{Effects: []adapters.Effect{adapters.ReadFile{ID: arg}}}))
		}
	}
	flush()
	if notes := m.Notes(); len(notes) > 0 {
		t.Errorf("notes = %q, want none", notes)
	}
}

func TestACPWire(t *testing.T) {
	dialogue(t, ACP(ACPModes{"yolo": contract.ModeBypassPermissions}), `
		> {"id":5,"method":"initialize","params":{}}
		w {"id":1,"method":"initialize","params":{}}
		< {"id":5,"result":{"a": 1}}
		= {"id":1,"result":{"a": 1}}
		w {"id":2,"method":"session/new","params":{}}
		> {"id":6,"method":"session/new","params":{}}
		< {"jsonrpc":"2.0","id":6,"result":{"sessionId":"s"}}
		= {"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}
		> {"id":7,"method":"session/set_mode","params":{"sessionId":"s","modeId":"yolo"}}
		= {"cmd":"configure","mode":"bypassPermissions"}
		< {"id":7,"result":{}}
		w {"id":"3","method":"session/set_mode","params":{}}
		= {"id":"3","result":{}}
		> {"id":8,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"},{"type":"image","mimeType":"image/png","data":"AA=="}]}}
		= {"cmd":"prompt","text":"hi","files":[{"name":"image","mime":"image/png","data":"QUE9PQ=="}]}
		< {"id":0,"method":"session/request_permission","params":{"options":[{"optionId":"k","kind":"allow_always"}]}}
		= {"id":0,"method":"session/request_permission","params":{"options":[{"optionId":"k","kind":"allow_always"}]}}
		> {"id":0,"result":{"outcome":{"outcome":"selected","optionId":"k"}}}
		a ask-1
		= {"cmd":"answer","ask":"ask-1","decision":"allow-always"}
		< {"id":1,"method":"fs/read_text_file","params":{}}
		= {"id":1,"method":"fs/read_text_file","params":{}}
		e fx
		> {"id":1,"result":{"content":"text"}}
		= {"cmd":"effect-done","id":"fx","content":"text"}
		> {"method":"session/cancel","params":{"sessionId":"s"}}
		= {"cmd":"abort"}
		< noise
		= noise
	`)
}

func TestClaudeWire(t *testing.T) {
	dialogue(t, Claude(), `
		> {"type":"control_request","request_id":"req_a","request":{"subtype":"initialize"}}
		w {"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}
		< {"type":"control_response","response":{"subtype":"success","request_id":"req_a","response":{"x":1}}}
		= {"type":"control_response","response":{"subtype":"success","request_id":"1","response":{"x":1}}}
		> {"type":"user","message":{"content":[{"type":"text","text":"hi"}]},"uuid":"theirs"}
		= {"cmd":"prompt","text":"hi"}
		w {"type":"user","message":{"content":"hi"},"uuid":"ours"}
		< {"type":"command_lifecycle","command_uuid":"theirs","state":"queued"}
		= {"type":"command_lifecycle","command_uuid":"ours","state":"queued"}
		< {"type":"control_request","request_id":"r9","request":{"subtype":"can_use_tool","input":{"a": 1}}}
		= {"type":"control_request","request_id":"r9","request":{"subtype":"can_use_tool","input":{"a": 1}}}
		a ask-1
		> {"type":"control_response","response":{"subtype":"success","request_id":"r9","response":{"behavior":"allow","updatedInput":{"a":1}}}}
		= {"cmd":"answer","ask":"ask-1","decision":"allow-once"}
		< {"type":"control_request","request_id":"r10","request":{"subtype":"can_use_tool","input":{}}}
		= {"type":"control_request","request_id":"r10","request":{"subtype":"can_use_tool","input":{}}}
		a ask-2
		> {"type":"control_response","response":{"subtype":"success","request_id":"r10","response":{"behavior":"deny","message":"no"}}}
		= {"cmd":"answer","ask":"ask-2","decision":"reject-once","message":"no"}
		> {"type":"control_request","request_id":"req_b","request":{"subtype":"interrupt"}}
		= {"cmd":"abort"}
		w {"type":"control_request","request_id":"2","request":{"subtype":"interrupt"}}
		< {"type":"control_response","response":{"subtype":"success","request_id":"req_b"}}
		= {"type":"control_response","response":{"subtype":"success","request_id":"2"}}
		> {"type":"control_request","request_id":"req_c","request":{"subtype":"set_permission_mode","mode":"plan"}}
		= {"cmd":"configure","mode":"plan"}
		> {"type":"control_request","request_id":"req_d","request":{"subtype":"set_max_thinking_tokens","max_thinking_tokens":4000}}
		= {"cmd":"configure","thinking":"4000"}
		> {"type":"control_request","request_id":"req_e","request":{"subtype":"set_max_thinking_tokens","max_thinking_tokens":null}}
		= {"cmd":"configure","thinking":"default"}
		> {"type":"keep_alive"}
	`)
}

func TestClaudeOptions(t *testing.T) {
	f := transcript.File{Header: transcript.Header{Command: []string{
		"claude", "--resume", "r1", "--fork-session", "--model", "m", "--permission-mode", "plan", "--max-turns", "3",
	}}}
	got := Claude().Options(f, adapters.Options{})
	if got.Fork != "r1" || got.Resume != "" || got.Model != "m" || got.Mode != "plan" || got.MaxTurns != 3 {
		t.Errorf("Options = %+v", got)
	}
}

func TestCodexWire(t *testing.T) {
	dialogue(t, Codex(), `
		> {"id":1,"method":"initialize","params":{}}
		w {"id":10,"method":"initialize","params":{}}
		< {"id":1,"result":{}}
		= {"id":10,"result":{}}
		> {"method":"initialized"}
		> {"id":2,"method":"thread/start","params":{}}
		w {"id":11,"method":"thread/start","params":{}}
		> {"id":3,"method":"turn/start","params":{"threadId":"t","clientUserMessageId":"cu","input":[{"type":"text","text":"go"}]}}
		= {"cmd":"prompt","text":"go"}
		w {"id":12,"method":"turn/start","params":{"threadId":"t","clientUserMessageId":"ours"}}
		< {"method":"item/started","params":{"item":{"type":"userMessage","clientId":"cu"}}}
		= {"method":"item/started","params":{"item":{"type":"userMessage","clientId":"ours"}}}
		< {"id":0,"method":"item/commandExecution/requestApproval","params":{}}
		= {"id":0,"method":"item/commandExecution/requestApproval","params":{}}
		a k
		> {"id":0,"result":{"decision":"acceptForSession"}}
		= {"cmd":"answer","ask":"k","decision":"allow-always"}
		< {"id":1,"method":"item/tool/requestUserInput","params":{}}
		= {"id":1,"method":"item/tool/requestUserInput","params":{}}
		a q
		> {"id":1,"result":{"answers":{"q1":{"answers":["B"]}}}}
		= {"cmd":"answer","ask":"q","decision":"allow-once","answers":{"q1":["B"]}}
		> {"id":4,"method":"turn/interrupt","params":{"threadId":"t"}}
		= {"cmd":"abort"}
	`)
}
