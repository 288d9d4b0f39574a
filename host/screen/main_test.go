package screen

import (
	"testing"

	"github.com/agenthost/agenthost/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m, "host/screen.", "internal/proc.") }
