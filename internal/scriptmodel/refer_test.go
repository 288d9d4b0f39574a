package scriptmodel

import (
	"strings"
	"testing"
)

// What a result said can be used in the arguments of a later call, in the words of
// each API.
func TestReferences(t *testing.T) {
	const script = `SCRIPT: tool start ;; tool use {\"id\":\"$(session_id)\",\"who\":\"$(agent_id)\",\"code\":\"f($(session_id))\"}`
	for _, tt := range []struct {
		p    protocol
		body string
	}{
		{responses(), `{"input":[{"role":"user","content":"` + script + `"},{"type":"function_call","call_id":"x"},
			{"type":"function_call_output","call_id":"x","output":"old session ID 1. running with session ID 4711. {\"agent_id\":\"01a-b\"}"}]}`},
		{chat(), `{"messages":[{"role":"user","content":"` + script + `"},{"role":"assistant","tool_calls":[{"id":"x"}]},
			{"role":"tool","content":"session ID 4711 {\"agent_id\":\"01a-b\"}"}]}`},
		{messages(), `{"messages":[{"role":"user","content":"` + script + `"},{"role":"assistant","content":[{"type":"tool_use","id":"x"}]},
			{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"session ID 4711 {\"agent_id\":\"01a-b\"}"}]}]}]}`},
		{gemini("m", true), `{"contents":[{"role":"user","parts":[{"text":"` + script + `"}]},{"role":"model","parts":[{"functionCall":{"id":"x"}}]},
			{"role":"user","parts":[{"functionResponse":{"response":{"session_id":4711,"agent_id":"01a-b"}}}]}]}`},
	} {
		r, err := tt.p.decode([]byte(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		a := New().pick(tt.p, r)
		if len(a.beats) != 1 || a.beats[0].text != `{"id":4711,"who":"01a-b","code":"f(4711)"}` {
			t.Errorf("%s: %+v", tt.p.name, a.beats)
		}
	}
	r := converse(`u:SCRIPT: tool use {"id":"$(agent_id)"}`)
	if a := New().pick(chat(), r); a.kind != KindBroken || !strings.Contains(a.beats[0].text, "agent_id") {
		t.Errorf("a reference to nothing: %+v", a)
	}
}

// A tool that is not offered can be called in its namespace.
func TestNamespace(t *testing.T) {
	for name, want := range map[string]call{
		"spawn":    {name: "spawn", namespace: "offered"},
		"ns/spawn": {name: "spawn", namespace: "ns"},
		"a/b":      {name: "a/b", custom: true},
		"other":    {name: "other"},
	} {
		got := native([]tool{{name: "spawn", namespace: "offered"}, {name: "a/b", custom: true}}, name, "{}")
		if got.name != want.name || got.namespace != want.namespace || got.custom != want.custom {
			t.Errorf("tool %s = %+v, want %+v", name, got, want)
		}
	}
}
