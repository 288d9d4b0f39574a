//go:build unix

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/internal/hook"
)

// The command that CommandLine is made of reaches the host.
func TestHook(t *testing.T) {
	dir, err := os.MkdirTemp("", "h")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	var s *hook.Server
	ready := make(chan struct{})
	s, err = hook.Listen(hook.Options{Dir: dir}, func(r hook.Request) {
		<-ready
		s.Reply(r.ID, append([]byte("got "), r.Data...), 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	close(ready)
	defer s.Close()
	var out, errs bytes.Buffer
	code := run([]string{hookCommand, hook.Socket(dir)}, &streams{in: strings.NewReader("it"), out: &out, err: &errs})
	if code != 0 || out.String() != "got it" || errs.Len() > 0 {
		t.Errorf("hook = %d, %q, %q; want 0 and the answer", code, &out, &errs)
	}
	s.Close()
	if code := run([]string{hookCommand, "--closed", hook.Socket(dir)}, &streams{in: strings.NewReader("it"), out: &out, err: &errs}); code != 2 {
		t.Errorf("hook --closed without a host = %d, want 2", code)
	}
}
