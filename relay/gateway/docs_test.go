package gateway_test

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

// docs/relay.md has every method, push, route and error, as they are, and no others.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/relay.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	shapes := map[string]wire.Shape{}
	for _, s := range wire.Shapes() {
		shapes[s.Name] = s
	}
	name := func(v any) string {
		if v == nil {
			return "null"
		}
		return reflect.TypeOf(v).Name()
	}
	for _, m := range wire.Methods() {
		if m.From == wire.PartyViewer {
			row := fmt.Sprintf("| `%s` | %s | %s | %s |", m.Name, m.Scope, name(shapes[m.Name].Params), name(shapes[m.Name].Result))
			want = append(want, strings.ReplaceAll(row, "|  |", "| |"))
		}
	}
	for _, p := range wire.Pushes() {
		want = append(want, fmt.Sprintf("| `%s` | %s |", p.Name, name(p.Params)))
	}
	for _, r := range gateway.Routes() {
		want = append(want, fmt.Sprintf("| `%s %s` |", r.Method, r.Path))
	}
	for _, c := range wire.Codes() {
		want = append(want, fmt.Sprintf("| `%s` | %d | %d |", c, c.HTTPStatus(), c.RPCCode()))
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `") {
			rows[strings.TrimSpace(line)] = true
		}
	}
	for _, w := range want {
		found := false
		for row := range rows {
			if strings.HasPrefix(row, w) {
				found = true
				delete(rows, row)
			}
		}
		if !found {
			t.Errorf("docs/relay.md has no row %s", w)
		}
	}
	for row := range rows {
		t.Errorf("docs/relay.md has a row too many: %s", row)
	}
}
