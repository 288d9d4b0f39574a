//go:build unix

package screen

import (
	"os"
	"testing"

	"golang.org/x/term"

	"github.com/agenthost/agenthost/internal/leaktest"
)

// TestMain lets the test binary be an agent.
func TestMain(m *testing.M) {
	if os.Getenv(composerEnv) != "" {
		os.Exit(beComposer())
	}
	leaktest.Main(m, "host/screen.", "internal/proc.")
}

func raw() error {
	_, err := term.MakeRaw(int(os.Stdin.Fd()))
	return err
}
