package codex_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/adapters"
)

// TestSchema names everything of the schema of the pinned version that the
// translator does not know, or that the mapping table lacks.
func TestSchema(t *testing.T) {
	schema, err := os.ReadFile("testdata/schema-0.171.0.txt")
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("../../docs/protocol/codex.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(schema)) {
		kind, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || kind == "#" {
			continue
		}
		seen++
		s := start(t, adapters.Options{})
		s.submit(adapters.Prompt{ID: "p1", Text: "go"})
		s.answer("turn/start", `{"turn":{"id":"t1"}}`)
		s.hear(`{"method":"turn/started","params":{"threadId":"thr-1","turn":{"id":"t1"}}}`)
		shown := name
		switch kind {
		case "notification":
			s.hear(fmt.Sprintf(`{"method":%q,"params":{"threadId":"thr-1","turnId":"t1","turn":{"id":"t1"},"item":{"type":"sleep","id":"i"}}}`, name))
		case "request":
			before := len(s.wrote)
			s.hear(fmt.Sprintf(`{"id":5,"method":%q,"params":{"threadId":"thr-1","turnId":"t1","itemId":"i"}}`, name))
			if len(s.wrote) == before && s.asks() == 0 {
				t.Errorf("request %s is neither answered nor asked", name)
			}
			if name == "applyPatchApproval" || name == "execCommandApproval" {
				s.errs = 0 // of the first protocol, which nobody speaks to us
			}
		case "item":
			shown = "item: " + name
			s.hear(fmt.Sprintf(`{"method":"item/started","params":{"threadId":"thr-1","turnId":"t1","item":{"type":%q,"id":"i"}}}`, name),
				fmt.Sprintf(`{"method":"item/completed","params":{"threadId":"thr-1","turnId":"t1","item":{"type":%q,"id":"i"}}}`, name))
		default:
			t.Fatalf("line %q: want a notification, a request or an item", line)
		}
		if s.errs > 0 {
			t.Errorf("%s %s is not known", kind, name)
		}
		if !strings.Contains(string(table), "`"+shown+"`") {
			t.Errorf("docs/protocol/codex.md lacks `%s`", shown)
		}
	}
	if seen < 100 {
		t.Errorf("the schema names %d things, want all of them", seen)
	}
}
