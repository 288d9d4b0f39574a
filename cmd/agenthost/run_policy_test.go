package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agenthost/agenthost/config"
	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/permission/policy"
)

// A policy file changes the settings that it says; the config's others hold.
func TestPolicyFileKeepsSettings(t *testing.T) {
	base, err := basePolicy(configuration{Permissions: config.Permissions{
		Mode: "acceptEdits", Timeout: 7 * time.Minute, OnAsk: "deny", Remember: "agent",
		Rules: []config.Rule{{Deny: "bash(rm *)"}},
	}}, policy.Env{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "policy.yaml")
	for text, want := range map[string]policy.Policy{
		"rules: [{allow: bash}]":                 {Mode: contract.ModeAcceptEdits, Timeout: 7 * time.Minute, OnAsk: policy.OnAskDeny, Remember: policy.RememberAgent},
		"{mode: default, timeout: 1m}":           {Mode: contract.ModeDefault, Timeout: time.Minute, OnAsk: policy.OnAskDeny, Remember: policy.RememberAgent},
		"permissions: {onAsk: wait, timeout: 0}": {Mode: contract.ModeAcceptEdits, OnAsk: policy.OnAskWait, Remember: policy.RememberAgent},
		"remember: host":                         {Mode: contract.ModeAcceptEdits, Timeout: 7 * time.Minute, OnAsk: policy.OnAskDeny, Remember: policy.RememberHost},
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := policyFile(path, policy.Env{})
		if err != nil {
			t.Fatal(err)
		}
		got := policy.Join(base, file)
		if got.Mode != want.Mode || got.Timeout != want.Timeout || got.OnAsk != want.OnAsk || got.Remember != want.Remember {
			t.Errorf("%s: %s, %v, %s, %s, want %s, %v, %s, %s", text,
				got.Mode, got.Timeout, got.OnAsk, got.Remember, want.Mode, want.Timeout, want.OnAsk, want.Remember)
		}
		if e := policy.Explain(got, policy.Request{Tool: "bash", Args: []byte(`{"command":"rm x"}`), Cwd: "/w"}, contract.ModeDefault); e.Verdict != policy.Deny {
			t.Errorf("%s: rm is %s, want deny by the config's rule", text, e.Verdict)
		}
	}
}
