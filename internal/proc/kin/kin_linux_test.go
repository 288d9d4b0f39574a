package kin

import (
	"os"
	"syscall"
	"testing"
)

func TestParseStat(t *testing.T) {
	const after = " S 12 34 34 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 1000 200 18446744073709551615 1"
	for _, test := range []struct {
		in   string
		want Stat
		ok   bool
	}{
		{"7 (bash)" + after, Stat{Process{7, 123456}, 'S', 12, 34, 34, 1}, true},
		{"7 (a) b (c))" + after, Stat{Process{7, 123456}, 'S', 12, 34, 34, 1}, true},
		{"7 (new\nline)" + after, Stat{Process{7, 123456}, 'S', 12, 34, 34, 1}, true},
		{"", Stat{}, false},
		{"7 (bash) S 12 34", Stat{}, false},
		{"7 (bash) S x y z 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 1000 200", Stat{}, false},
	} {
		if got, ok := parseStat(7, []byte(test.in)); ok != test.ok || ok && got != test.want {
			t.Errorf("parseStat(%q) = %+v, %v, want %+v, %v", test.in, got, ok, test.want, test.ok)
		}
	}
	if s, ok := ReadStat(os.Getpid()); !ok || s.Parent != os.Getppid() || s.Group != syscall.Getpgrp() || s.Dead() {
		t.Errorf("readStat of ourselves = %+v, %v", s, ok)
	}
}

// TestDead: a process is dead when its last thread is.
func TestDead(t *testing.T) {
	for _, test := range []struct {
		state   byte
		threads int
		want    bool
	}{{'S', 1, false}, {'Z', 1, true}, {'Z', 0, true}, {'Z', 2, false}, {'X', 1, true}} {
		if got := (Stat{State: test.state, Threads: test.threads}).Dead(); got != test.want {
			t.Errorf("state %c with %d threads: dead %v, want %v", test.state, test.threads, got, test.want)
		}
	}
}

// FuzzParseStat: names of processes are anyone's choice and stand in what we read of
// /proc.
func FuzzParseStat(f *testing.F) {
	f.Add("bash")
	f.Add("a) R 1 1 1")
	f.Fuzz(func(t *testing.T, name string) {
		content := "7 (" + name + ") S 12 34 34 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 1000 200"
		if s, ok := parseStat(7, []byte(content)); !ok || s != (Stat{Process{7, 123456}, 'S', 12, 34, 34, 1}) {
			t.Errorf("parseStat(%q) = %+v, %v", content, s, ok)
		}
	})
}

// TestVariable reads our own environment as /proc has it.
func TestVariable(t *testing.T) {
	for _, entry := range os.Environ()[:1] {
		name, want := entry, ""
		for i := range entry {
			if entry[i] == '=' {
				name, want = entry[:i], entry[i+1:]
				break
			}
		}
		if got, set := Variable(os.Getpid(), name); !set || got != want {
			t.Errorf("Variable(%q) = %q, %v, want %q", name, got, set, want)
		}
		if got, set := Variable(os.Getpid(), name+"X"); set {
			t.Errorf("Variable(%q) = %q, want none", name+"X", got)
		}
	}
	if _, set := Variable(-1, "PATH"); set {
		t.Error("a process that isn't there has a variable")
	}
}
