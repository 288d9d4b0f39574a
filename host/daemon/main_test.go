package daemon

import (
	"testing"

	"github.com/agenthost/agenthost/internal/leaktest"
)

// TestMain fails when tests leave goroutines behind.
func TestMain(m *testing.M) { leaktest.Main(m) }
