package contract_test

import (
	"encoding/json/jsontext"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

func TestDeeper(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct {
		v      string
		levels int
		want   bool
	}{
		{"1", 0, false},
		{"[]", 1, false},
		{"[]", 0, true},
		{"[[]]", 1, true},
		{`{"a":{"b":[1,{}]}}`, 4, false},
		{`{"a":{"b":[1,{}]}}`, 3, true},
		{`["[[[[", "\"[[[", "\\", [], []]`, 2, false},
		{`[` + strings.Repeat(`[],`, 5000) + `{}]`, 2, false},
		{nested(1000), 1000, false},
		{nested(1001), 1000, true},
	} {
		if got := contract.Deeper(jsontext.Value(c.v), c.levels); got != c.want {
			t.Errorf("Deeper(%.40s, %d) = %t, want %t", c.v, c.levels, got, c.want)
		}
	}
}
