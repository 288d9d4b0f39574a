package main

import (
	"encoding/json/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/host"
)

func TestTested(t *testing.T) {
	for _, c := range []struct {
		said string
		want bool
	}{
		{"2.1.332 (Claude Code)", true},
		{"codex-cli 2.1.332", true},
		{"v2.1.332", true},
		{"agent version 2.1.332, built today", true},
		{"2.1.3321", false},
		{"12.1.332", false},
		{"2.1.332-nightly", false},
		{"", false},
	} {
		if got := tested(c.said, []string{"0.1", "2.1.332"}); got != c.want {
			t.Errorf("tested(%q) = %t, want %t", c.said, got, c.want)
		}
	}
}

func TestCheckClock(t *testing.T) {
	state := t.TempDir()
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	id := "tz4a98xxat96iws9zmbrgj3a"
	meta, err := json.Marshal(host.Meta{ID: id, Updated: at.UnixMilli()})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(host.SessionDir(state, id), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(host.SessionDir(state, id), "session.json"), meta, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		dir  string
		now  time.Time
		want health
	}{
		{state, at.Add(time.Hour), healthy},
		{state, at.Add(-time.Second), healthy},
		{state, at.Add(-time.Hour), doubtful},
		{state, at.AddDate(-1, 0, 0), ill},
		{t.TempDir(), at, healthy},
		{t.TempDir(), time.Unix(0, 0), ill},
	} {
		if f := checkClock(c.dir, c.now); f.Status != c.want || (f.Mend == "") != (c.want == healthy) {
			t.Errorf("checkClock at %s = %+v, want %s", c.now, f, c.want)
		}
	}
}

func TestCheckState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if f := checkState(dir); f.Status != healthy {
		t.Errorf("checkState of a new directory = %+v", f)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("checkState left %v, %v", left, err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err == nil && readable(info.Mode()) {
		if f := checkState(dir); f.Status != doubtful || !strings.Contains(f.Mend, "chmod 700") {
			t.Errorf("checkState of an open directory = %+v", f)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{file, filepath.Join(file, "below")} {
		if f := checkState(bad); f.Status != ill || f.Mend == "" {
			t.Errorf("checkState(%s) = %+v, want a failure with its mend", bad, f)
		}
	}
}

func TestCheckDisk(t *testing.T) {
	// A directory that is not there yet is on the disk of the one above it.
	f := checkDisk(filepath.Join(t.TempDir(), "not", "there"))
	if _, known := room(t.TempDir()); known != strings.Contains(f.Detail, "MiB left") {
		t.Errorf("checkDisk = %+v", f)
	}
}

func TestCheckSupervisor(t *testing.T) {
	if f := checkSupervisor(t.Context()); f.Status != healthy {
		t.Errorf("checkSupervisor = %+v", f)
	}
}
