//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agenthost/agenthost/adapters"
)

// scripted is an agent whose command is a package manager's script, with the program
// behind it.
type scripted struct {
	adapters.Adapter
	program string
}

func (scripted) Name() string { return "scripted" }
func (scripted) Describe() adapters.Description {
	return adapters.Description{Command: []string{"scripted-agent"}, VersionArgs: []string{"--version"}}
}

func (s scripted) Unwrap(string, string, string) []string { return []string{s.program} }

// The program is asked for its version, not the script around it; the script when the
// program is not there.
func TestVersionOfProgram(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "lib", "program")
	if err := os.Mkdir(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(path, says string) {
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+says+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "scripted-agent"), "1.0 of the script")
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	if got := probe(t.Context(), scripted{program: program}); got.Version != "1.0 of the script" {
		t.Errorf("version %q, want the script's", got.Version)
	}
	write(program, "2.0 of the program")
	got := probe(t.Context(), scripted{program: program})
	if got.Version != "2.0 of the program" || got.Path != filepath.Join(dir, "scripted-agent") {
		t.Errorf("version %q of %s, want the program's, and the command that people type", got.Version, got.Path)
	}
}
