package peer

import (
	"testing"

	"github.com/agenthost/agenthost/internal/leaktest"
)

// TestMain checks in the end that no goroutine is left.
func TestMain(m *testing.M) { leaktest.Main(m, "relay/peer.", "coder/websocket") }
