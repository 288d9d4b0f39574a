package early

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What is imported here is initialised before the answer, and keeps it waiting: whatever
// needs these waits for most of the program.
func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	imports := strings.Fields(string(out))
	if !slices.Contains(imports, "os") {
		t.Fatalf("imports %q, want os among them", imports)
	}
	for _, late := range []string{"bytes", "strings", "unicode", "fmt", "reflect", "os/signal", "context", "encoding/json/v2", "runtime/debug"} {
		if slices.Contains(imports, late) {
			t.Errorf("%s is imported, and with it the answer has to wait for most of the program", late)
		}
	}
}
