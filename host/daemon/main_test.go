package daemon

import (
	"os"
	"testing"

	"github.com/agenthost/agenthost/internal/leaktest"
)

// TestMain fails when tests leave goroutines or temporary files behind.
func TestMain(m *testing.M) {
	os.Exit(leaktest.Files(func() int { return leaktest.Run(m) }))
}
