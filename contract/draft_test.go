package contract_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// draft returns the lines of a file with the draft's own examples.
func draft(t *testing.T, name string) [][]byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "draft", name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(b, []byte("\n")), []byte("\n"))
}

// TestDraftFlow runs the draft's "Realistic Flow" (m1 to m28) through everything.
// Its one readable id, sa_research, is no cuid2 ("production would be cuid2",
// says the draft): that is the one complaint about the text as it stands.
func TestDraftFlow(t *testing.T) {
	lines := draft(t, "flow.ndjson")
	if len(lines) != 28 {
		t.Fatalf("the flow has %d envelopes, want 28", len(lines))
	}
	asIs, rewritten := contract.NewValidator(contract.ProfileStrict), contract.NewValidator(contract.ProfileStrict)
	var complaints []string
	for i, l := range lines {
		e, err := contract.Decode(l)
		if err != nil {
			t.Fatalf("line %d: Decode = %v", i+1, err)
		}
		if got, err := contract.Encode(e); err != nil || string(got) != string(l) {
			t.Errorf("line %d: Encode = %s, %v, want %s", i+1, got, err, l)
		}
		if s, ok := contract.Strict(e); !ok || !sameJSON(t, s, e) {
			t.Errorf("line %d: Strict changes it: %+v", i+1, s)
		}
		for _, f := range asIs.Check(i+1, e) {
			complaints = append(complaints, f.Error())
			if f.Rule != "id" || f.Got != `"sa_research"` {
				t.Errorf("as it stands: %v", f)
			}
		}
		for _, f := range rewritten.CheckLine(i+1, bytes.ReplaceAll(l, []byte("sa_research"), []byte("saresearch"))) {
			t.Errorf("with a cuid2: %v", f)
		}
	}
	if want := 6; len(complaints) != want {
		t.Errorf("complaints about sa_research = %q, want %d", complaints, want)
	}
	if f := append(asIs.Finish(29), rewritten.Finish(29)...); len(f) > 0 {
		t.Errorf("Finish = %v", f)
	}
}

func sameJSON(t *testing.T, a, b contract.Envelope) bool {
	t.Helper()
	x, errX := contract.Encode(a)
	y, errY := contract.Encode(b)
	if errX != nil || errY != nil {
		t.Fatalf("Encode = %v, %v", errX, errY)
	}
	return bytes.Equal(x, y)
}

// TestDraftSnippets decodes the example of each event type.
func TestDraftSnippets(t *testing.T) {
	var types []contract.EventType
	for _, l := range draft(t, "snippets.ndjson") {
		ev, err := contract.DecodeEvent(l)
		if err != nil {
			t.Fatalf("DecodeEvent(%s) = %v", l, err)
		}
		types = append(types, ev.EventType())
		if got, err := contract.AppendEvent(nil, ev); err != nil || string(got) != string(l) {
			t.Errorf("AppendEvent = %s, %v, want %s", got, err, l)
		}
		role, turn := contract.RoleAgent, "t1"
		if slices.Contains([]contract.EventType{contract.TypeAbort, contract.TypePermissionResponse}, ev.EventType()) {
			role, turn = contract.RoleUser, ""
		}
		// The examples' sub-agent ids are readable, see TestDraftFlow.
		l = bytes.ReplaceAll(l, []byte("sa_abc123"), []byte("saabc123"))
		if ev, err = contract.DecodeEvent(l); err != nil {
			t.Fatalf("DecodeEvent(%s) = %v", l, err)
		}
		e := contract.Envelope{ID: "m1", Time: 1739347200000, Role: role, Turn: turn, Event: ev}
		if err := contract.Validate(e, contract.ProfileStrict); err != nil {
			t.Errorf("Validate(%s) = %v", l, err)
		}
	}
	if got := slices.Sorted(slices.Values(types)); !slices.Equal(got, slices.Sorted(slices.Values(contract.EventTypes()))) {
		t.Errorf("types = %q, want %q", got, contract.EventTypes())
	}
}

// TestEventTypesArePinned counts the draft's types: a change is a change of the
// contract.
func TestEventTypesArePinned(t *testing.T) {
	const want = "text file turn-start turn-end tool-call-start tool-call-end service subagent-start subagent-stop session-control-changed permission-request permission-response abort agent-configuration-changed"
	var got []string
	for _, e := range contract.EventTypes() {
		got = append(got, string(e))
	}
	if len(got) != 14 || strings.Join(got, " ") != want {
		t.Errorf("EventTypes = %q, want %q", got, want)
	}
}
