package scriptmodel

import "testing"

// converse makes a conversation: "u:text" is a user text, "m:text" a model text,
// "c:id" a call, "r" a result.
func converse(words ...string) *request {
	r := &request{}
	for _, w := range words {
		kind, text := w[0], ""
		if len(w) > 2 {
			text = w[2:]
		}
		switch kind {
		case 'u':
			r.items = append(r.items, item{kind: userText, text: text})
		case 'm':
			r.items = append(r.items, item{kind: modelText, text: text})
		case 'c':
			r.items = append(r.items, item{kind: modelCall, callID: text})
		case 'r':
			r.items = append(r.items, item{kind: callResult})
		}
	}
	return r
}

func TestLocate(t *testing.T) {
	const s = "u:SCRIPT: text a"
	for _, tt := range []struct {
		name  string
		items []string
		want  position
	}{
		{"empty", nil, position{}},
		{"no script", []string{"u:hello"}, position{later: "hello"}},
		{"blocks of the agent are not said", []string{"u:hello", "u:<context>x</context>", "u:# AGENTS.md of x"}, position{later: "hello"}},
		{"first request", []string{"u:<context>", s}, position{script: "text a"}},
		{"what was said before does not count", []string{"u:hello", "m:hi", s}, position{script: "text a"}},
		{"after one call", []string{s, "c:x", "r"}, position{script: "text a", next: 1}},
		{"text and calls are one answer", []string{s, "m:look", "c:x", "c:y", "r", "r"}, position{script: "text a", next: 1}},
		{"two rounds", []string{s, "c:x", "r", "m:now", "c:y", "r"}, position{script: "text a", next: 2}},
		{"a steer goes on", []string{s, "c:x", "r", "u:faster"}, position{script: "text a", next: 1, later: "faster"}},
		{"the last script counts", []string{s, "c:x", "r", "m:done", "u:SCRIPT: text b"}, position{script: "text b", round: 1}},
		{"its answers only", []string{s, "m:a", "u:SCRIPT: text b", "c:x", "r"}, position{script: "text b", round: 1, next: 1}},
		{"the agent's question after an answer", []string{s, "m:a", "u:<notice>", "m:b"}, position{script: "text a", next: 2}},
		{
			"our ids hold where results stand between calls",
			[]string{s, "c:call_000000000001_s0_0", "r", "c:call_000000000001_s0_1", "r"},
			position{script: "text a", next: 1},
		},
		{
			"and go on from there",
			[]string{s, "c:call_000000000001_s0_0", "r", "c:call_000000000001_s0_1", "r", "m:x", "c:toolu_000000000002_s1_0", "r"},
			position{script: "text a", next: 2},
		},
		{"and where an answer is missing", []string{s, "c:toolu_000000000002_s4_0", "r", "m:x"}, position{script: "text a", next: 6}},
		{"ids of others do not", []string{s, "c:call_abc", "r"}, position{script: "text a", next: 1}},
	} {
		if got := converse(tt.items...).locate(); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestStepOf(t *testing.T) {
	a := &answer{serial: 12, sum: 0xabcdef01, step: 7}
	for _, prefix := range []string{"call_", "toolu_"} {
		id := a.callID(prefix, 3)
		if n, ok := stepOf(id); n != 7 || !ok {
			t.Errorf("stepOf(%q) = %d, %v, want 7, true", id, n, ok)
		}
	}
	for _, id := range []string{"", "call_1", "call_a_b_c", "x_1_s2_3", "call_1_s-2_3", "call__s_"} {
		if n, ok := stepOf(id); ok {
			t.Errorf("stepOf(%q) = %d, true, want false", id, n)
		}
	}
}

// The histories are what the real agents send after one answer with two parallel
// calls, reduced to the members that matter.
func TestHistories(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    protocol
		body string
	}{
		{"gemini", gemini("m", true), `{"contents":[
			{"role":"user","parts":[{"text":"<session_context>\nx\n</session_context>"}]},
			{"role":"user","parts":[{"text":"SCRIPT: shell a ++ shell b ;; text c"}]},
			{"role":"model","parts":[{"thought":true,"text":"hm"},{"functionCall":{"name":"s","args":{}}},{"functionCall":{"name":"s","args":{}}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"s","response":{"output":""}}},{"functionResponse":{"name":"s","response":{}}}]}]}`},
		{"messages", messages(), `{"model":"m","system":"be good","messages":[
			{"role":"user","content":[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"SCRIPT: shell a ++ shell b ;; text c"}]},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"tool_use","id":"1","name":"s","input":{}},{"type":"tool_use","id":"2","name":"s","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"},{"type":"tool_result","tool_use_id":"2"},{"type":"text","text":"<system-reminder>y</system-reminder>"}]}]}`},
		{"chat", chat(), `{"model":"m","messages":[
			{"role":"system","content":"be good"},
			{"role":"user","content":[{"type":"text","text":"SCRIPT: shell a ++ shell b ;; text c"}]},
			{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"s","arguments":"{}"}},{"id":"2"}]},
			{"role":"tool","tool_call_id":"1","content":"x"},{"role":"tool","tool_call_id":"2","content":"x"}]}`},
		{"responses", responses(), `{"model":"m","instructions":"be good","input":[
			{"type":"message","role":"developer","content":[{"type":"input_text","text":"x"}]},
			{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>"}]},
			{"type":"message","role":"user","content":[{"type":"input_text","text":"SCRIPT: shell a ++ shell b ;; text c"}]},
			{"type":"reasoning","summary":[]},
			{"type":"function_call","call_id":"call_000000000001_s0_0","name":"s","arguments":"{}"},
			{"type":"function_call_output","call_id":"call_000000000001_s0_0","output":"x"},
			{"type":"custom_tool_call","call_id":"call_000000000001_s0_1","name":"s","input":"x"},
			{"type":"custom_tool_call_output","call_id":"call_000000000001_s0_1","output":"x"}]}`},
	} {
		r, err := tt.p.decode([]byte(tt.body))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got, want := r.locate(), (position{script: "shell a ++ shell b ;; text c", next: 1}); got != want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, want)
		}
	}
}

// A sub-agent of codex has its task in a message between agents, after its
// parent's history.
func TestCodexSubAgentTask(t *testing.T) {
	r, err := responses().decode([]byte(`{"input":[
		{"type":"message","role":"user","content":[{"type":"input_text","text":"SCRIPT: task x ;; text parent"}]},
		{"type":"function_call","call_id":"call_000000000001_s0_0","name":"spawn_agent"},
		{"type":"function_call_output","call_id":"call_000000000001_s0_0","output":"aborted"},
		{"type":"agent_message","author":"/root","recipient":"/root/a","content":[{"type":"input_text","text":"Payload:"},{"type":"encrypted_content","encrypted_content":"SCRIPT: text child"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.locate(), (position{script: "text child", round: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
