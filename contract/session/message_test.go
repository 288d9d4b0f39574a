package session_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/agenthost/agenthost/contract/session"
)

// TestConstructors pins what each constructor writes on the wire.
func TestConstructors(t *testing.T) {
	at := time.Date(2026, 8, 9, 10, 11, 12, 345e6, time.UTC)
	code := 0
	tests := []struct {
		name string
		m    session.Message
		want string
	}{
		{"user", session.UserMessage("m1", "hi", at), `{"id":"m1","type":"user","createdAt":"2026-08-09T10:11:12.345Z","text":"hi"}`},
		{
			"assistant", session.AssistantMessage("m2", []session.Part{{Type: session.PartText, ID: "p1", Text: "yo"}}, at),
			`{"id":"m2","type":"assistant","createdAt":"2026-08-09T10:11:12.345Z","parts":[{"type":"text","id":"p1","text":"yo"}]}`,
		},
		{"shell", session.ShellMessage("m3", "ls", &code, at), `{"id":"m3","type":"shell","createdAt":"2026-08-09T10:11:12.345Z","command":"ls","exitCode":0}`},
		{"running shell", session.ShellMessage("m3", "ls", nil, at), `{"id":"m3","type":"shell","createdAt":"2026-08-09T10:11:12.345Z","command":"ls"}`},
		{"agent switch", session.AgentSwitchMessage("m4", "claude", "codex", at), `{"id":"m4","type":"agent_switch","createdAt":"2026-08-09T10:11:12.345Z","fromAgent":"claude","toAgent":"codex"}`},
		{"model switch", session.ModelSwitchMessage("m5", nil, &session.ModelRef{ID: "b", Provider: "p"}, at), `{"id":"m5","type":"model_switch","createdAt":"2026-08-09T10:11:12.345Z","toModel":{"id":"b","provider":"p"}}`},
		{"compaction", session.CompactionMessage("m6", "c", at), `{"id":"m6","type":"compaction","createdAt":"2026-08-09T10:11:12.345Z","text":"c"}`},
		{"system", session.SystemMessage("m7", "s", &at), `{"id":"m7","type":"system","createdAt":"2026-08-09T10:11:12.345Z","text":"s"}`},
		{"system without a time", session.SystemMessage("m7", "s", nil), `{"id":"m7","type":"system","text":"s"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := json.Marshal(tt.m); err != nil || string(got) != tt.want {
				t.Errorf("Marshal = %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}
