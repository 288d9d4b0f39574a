//go:build unix

package proc

import (
	"io"
	"testing"
)

// onTerminal starts a child on a terminal that ends with the test at the latest.
func onTerminal(t *testing.T, spec Spec) *Child {
	t.Helper()
	if spec.Terminal == nil {
		spec.Terminal = &TerminalSize{}
	}
	return start(t, spec)
}

// TestB135EndOfTerminal: what the child wrote last is read, its end is io.EOF, and the
// status is its own.
func TestB135EndOfTerminal(t *testing.T) {
	both(t, func(t *testing.T, supervise bool) {
		for range 20 {
			c := onTerminal(t, Spec{Argv: bash(`printf hello; exit 3`), Supervise: supervise})
			out, err := io.ReadAll(c.Terminal())
			if string(out) != "hello" || err != nil {
				t.Errorf("read %q, %v, want hello", out, err)
			}
			if exit := c.Exit(); exit.Code != 3 {
				t.Errorf("exit = %v, want exit status 3", exit)
			}
			if _, ok := <-c.Lines(); ok {
				t.Error("a child on a terminal has lines")
			}
			c.Close()
		}
	})
}
