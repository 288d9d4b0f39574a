//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/wire"
)

// pad is what a program wrote, for those who wait for it.
type pad struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (p *pad) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *pad) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// wait waits until a text stands there n times.
func (p *pad) wait(t *testing.T, text string, n int) {
	t.Helper()
	for deadline := time.Now().Add(patience); strings.Count(p.String(), text) < n; <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%q never came %d times in:\n%s", text, n, p)
		}
	}
}

// atDaemon is a connection to a daemon of this test's own, with the agent fake.
func atDaemon(t *testing.T) *link {
	t.Helper()
	dir, err := os.MkdirTemp("", "ah") // short: a socket lies in it
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"HOME": dir, "XDG_STATE_HOME": filepath.Join(dir, "s"), "XDG_CONFIG_HOME": filepath.Join(dir, "c"), "XDG_RUNTIME_DIR": "",
	} {
		t.Setenv(name, value)
	}
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte("agents: {custom: [{name: fake, command: [fake-acp]}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := openServer(&streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard}, file, &serveFlags{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	doors, err := s.doors(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.daemon.Serve(ctx, doors...) }()
	t.Cleanup(func() {
		if err := s.daemon.Close(context.Background()); err != nil {
			t.Error(err)
		}
		cancel()
		<-served
		s.close()
		_ = os.RemoveAll(dir)
	})
	l, err := (&remote{}).dial(t.Context(), s.live.Config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// TestAttach: a person types prompts and answers asks; what others answer is taken
// off the screen; the end of the input leaves, and the session goes on.
func TestAttach(t *testing.T) {
	l := atDaemon(t)
	s, err := l.Spawn(t.Context(), wire.SpawnParams{Agent: "fake", Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	in, typing := io.Pipe()
	var out, screen pad
	v := &viewing{st: &streams{out: &out, err: &screen}, link: l, session: s, form: "text", profile: contract.ProfileExtended}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	done := make(chan error, 1)
	go func() { done <- v.attached(ctx, leave, newKeyboard(in)) }()
	keys := func(text string) { _, _ = io.WriteString(typing, text) }

	screen.wait(t, "> ", 1)
	keys("hello there\n")
	out.wait(t, "hello there", 1)
	screen.wait(t, "> ", 2)
	keys("run make\n")
	screen.wait(t, "make", 1)
	screen.wait(t, "and Enter: ", 1)
	keys("y\n")
	out.wait(t, "it ran", 1)

	screen.wait(t, "> ", 3)
	keys("run make again\n")
	screen.wait(t, "and Enter: ", 2)
	asks, err := l.Asks(t.Context(), s.ID)
	if err != nil || len(asks) != 1 {
		t.Fatalf("the open asks are %+v, %v", asks, err)
	}
	if _, err := l.Decide(t.Context(), wire.DecideParams{Session: s.ID, Call: asks[0].Call, Decision: contract.RejectOnce}); err != nil {
		t.Fatal(err)
	}
	out.wait(t, "it was refused", 1)
	screen.wait(t, "answered elsewhere", 1)

	screen.wait(t, "> ", 4)
	typing.Close()
	if err := <-done; err != nil {
		t.Errorf("leaving gave %v", err)
	}
	if s, err := l.Session(t.Context(), s.ID); err != nil || s.State != wire.StateRunning {
		t.Errorf("after the person left the session is %s, %v", s.State, err)
	}
}
