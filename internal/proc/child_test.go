package proc

import (
	"context"
	"testing"
	"time"
)

// both runs a test with and without a shim.
func both(t *testing.T, test func(t *testing.T, supervise bool)) {
	t.Run("direct", func(t *testing.T) { test(t, false) })
	t.Run("supervised", func(t *testing.T) { test(t, true) })
}

// patience is how long a test waits for what must happen, on a machine that is
// busy with other things.
const patience = 60 * time.Second

func start(t *testing.T, spec Spec) *Child {
	t.Helper()
	if spec.Env == nil {
		spec.Env = []string{"PATH=/usr/bin:/bin"}
	}
	c, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatalf("Start(%q): %v", spec.Argv, err)
	}
	t.Cleanup(c.Close)
	return c
}

func bash(script string) []string { return []string{"/bin/bash", "-c", script} }

func TestEcho(t *testing.T) {
	both(t, func(t *testing.T, supervise bool) {
		c := start(t, Spec{Argv: []string{"/bin/cat"}, Supervise: supervise})
		if err := c.Write([]byte("hello\nworld\r\nend")); err != nil {
			t.Fatal(err)
		}
		c.CloseInput()
		var got []string
		for line := range c.Lines() {
			got = append(got, string(line.Data))
		}
		t.Log(got, c.Exit(), c.Pid())
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := c.Stop(ctx); err != nil {
			t.Fatal(err)
		}
	})
}
