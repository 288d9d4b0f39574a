package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// `agenthost version` is answered before this package is there, and before TestMain.
// It is the same answer.
func TestVersionIsOne(t *testing.T) {
	early, err := exec.Command(os.Args[0], "version").Output()
	if err != nil {
		t.Fatalf("nobody answered early: %v", err)
	}
	var regular bytes.Buffer
	if code := run([]string{"version"}, &streams{in: strings.NewReader(""), out: &regular, err: &regular}); code != 0 {
		t.Fatalf("exit code %d: %s", code, regular.String())
	}
	if string(early) != regular.String() || !strings.HasPrefix(regular.String(), "agenthost dev (go") {
		t.Errorf("the early answer is %q, the command's %q", early, regular.String())
	}
}
