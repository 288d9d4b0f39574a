package daemon

import (
	"fmt"
	"testing"

	"github.com/agenthost/agenthost/host"
	"github.com/agenthost/agenthost/relay/wire"
)

// What keeps a session from being started or handed over now is busy, whoever wraps it.
func TestBusyErrors(t *testing.T) {
	for _, err := range []error{&host.NativeOpenError{Native: "n", Session: "s"}, &host.HandOverError{Why: "a turn runs"}, host.ErrBusy} {
		if got := wireError(fmt.Errorf("starting: %w", err)); got.Code != wire.CodeBusy {
			t.Errorf("wireError(%v) = %v, want %s", err, got, wire.CodeBusy)
		}
	}
}
