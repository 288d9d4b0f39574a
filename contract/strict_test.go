package contract_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/contracttest"
)

// draftMembers are the draft's tables, typed in from the document: what each
// object may hold. It is on purpose not made from the Go types.
var draftMembers = map[string][]string{
	"envelope":                    {"id", "time", "role", "turn", "subagent", "ev"},
	"text":                        {"t", "text", "thinking", "steer"},
	"file":                        {"t", "ref", "name", "size", "image"},
	"file.image":                  {"width", "height", "thumbhash"},
	"turn-start":                  {"t"},
	"turn-end":                    {"t", "status", "usage"},
	"turn-end.usage":              {"inputTokens", "outputTokens", "cost"},
	"tool-call-start":             {"t", "call", "name", "title", "description", "args"},
	"tool-call-end":               {"t", "call"},
	"service":                     {"t", "text"},
	"subagent-start":              {"t", "agentId", "title"},
	"subagent-stop":               {"t", "agentId"},
	"session-control-changed":     {"t", "clientType", "tokenId"},
	"permission-request":          {"t", "call", "toolName", "title", "description", "args"},
	"permission-response":         {"t", "call", "decision"},
	"abort":                       {"t"},
	"agent-configuration-changed": {"t", "permissionMode", "model", "thinkingLevel", "sandbox"},
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
	Errorf(string, ...any)
}

// checkDraftOnly asserts that line has members of the draft alone.
func checkDraftOnly(t fataler, line []byte) {
	t.Helper()
	var e map[string]json.RawMessage
	var ev map[string]json.RawMessage
	var typ string
	unmarshal(t, line, &e)
	unmarshal(t, e["ev"], &ev)
	unmarshal(t, ev["t"], &typ)
	checkMembers(t, "envelope", e)
	checkMembers(t, typ, ev)
	for _, nested := range []string{"file.image", "turn-end.usage"} {
		if name, ok := cutPrefix(nested, typ+"."); ok && ev[name] != nil {
			var inner map[string]json.RawMessage
			unmarshal(t, ev[name], &inner)
			checkMembers(t, nested, inner)
			if nested == "turn-end.usage" && len(inner) != 3 {
				t.Errorf("usage has %d members, want all 3: %s", len(inner), ev[name])
			}
		}
	}
}

func cutPrefix(s, prefix string) (string, bool) {
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):], true
	}
	return "", false
}

func unmarshal(t fataler, b []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("reading %s: %v", b, err)
	}
}

func checkMembers(t fataler, object string, got map[string]json.RawMessage) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if !slices.Contains(draftMembers[object], name) {
			t.Errorf("%s has %q, which the draft does not", object, name)
		}
	}
}

// TestStrictOfAnything: what Strict makes of any envelope has the draft's members
// alone, whatever else is wrong with it, and Strict changes nothing of its
// argument.
func TestStrictOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := contracttest.Arbitrary().Draw(t, "envelope")
		before, err := contract.Encode(e)
		if err != nil {
			t.Fatalf("Encode = %v", err)
		}
		s, ok := contract.Strict(e)
		if !ok {
			return
		}
		line, err := contract.Encode(s)
		if err != nil {
			t.Fatalf("Encode = %v", err)
		}
		checkDraftOnly(t, line)
		faults, _ := contract.Validate(s, contract.ProfileStrict).(contract.Faults)
		for _, f := range faults {
			if f.Rule == "profile" {
				t.Errorf("Validate finds what Strict leaves: %v", f)
			}
		}
		if after, err := contract.Encode(e); err != nil || string(after) != string(before) {
			t.Errorf("Strict changed its argument: %s, then %s, %v", before, after, err)
		}
	})
}

func TestProfileApply(t *testing.T) {
	e := contract.Envelope{ID: "a1", Time: 1, Role: contract.RoleUser, Origin: "o", Event: contract.Text{Text: "a"}}
	if got, ok := contract.ProfileExtended.Apply(e); !ok || got.Origin != "o" {
		t.Errorf("extended: Apply = %+v, %t, want it unchanged", got, ok)
	}
	if got, ok := contract.ProfileStrict.Apply(e); !ok || got.Origin != "" {
		t.Errorf("strict: Apply = %+v, %t, want it without origin", got, ok)
	}
	e.Event = contract.Unknown{T: "later"}
	if _, ok := contract.ProfileStrict.Apply(e); ok {
		t.Error("strict: Apply of an unknown event = true, want false")
	}
}
