//go:build unix && !linux

package workspace

import (
	"os"
	"testing"
)

// unprivileged skips a test whose point are the permissions of files when root
// runs it: no permission holds for root.
func unprivileged(t *testing.T) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("root may read and write everything, and only Linux takes that right from a thread")
	}
}
