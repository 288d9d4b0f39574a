package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/agenthost/agenthost/host/daemon"
	"github.com/agenthost/agenthost/relay/wire"
)

// Sessions of the daemon are told what rules are about, those that hold when they start.
func TestDaemonAsksFirst(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	file := filepath.Join(dir, "config.yaml")
	configure := func(rule string) {
		t.Helper()
		text := "stateDir: " + filepath.Join(dir, "state") + "\npermissions: {rules: [{deny: '" + rule + "'}]}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	configure("bash(ls *)")
	var errs bytes.Buffer
	s, err := openServer(&streams{out: &errs, err: &errs}, file, &serveFlags{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = s.daemon.Close(t.Context())
		s.close()
	}()
	pattern := func() string {
		t.Helper()
		p, err := s.prepare(t.Context(), daemon.Request{ID: "x", Spawn: wire.SpawnParams{Agent: "claude", Dir: dir}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if uses := p.Host.Options.AskFirst; len(uses) == 1 && uses[0].Tool == "bash" {
			return uses[0].Pattern
		}
		return "none"
	}
	if got := pattern(); got != "ls *" {
		t.Errorf("a session is told %q, want the rule of the config", got)
	}
	configure("bash(pwd *)")
	if s.reload(); errs.Len() > 0 && bytes.Contains(errs.Bytes(), []byte("broken")) {
		t.Fatal(errs.String())
	}
	if got := pattern(); got != "pwd *" {
		t.Errorf("after a change of the config a session is told %q, want its rule", got)
	}
}
