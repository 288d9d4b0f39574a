package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/contracttest"
	"github.com/agenthost/agenthost/contract/schema"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/contract/session/fold"
)

// oracle compiles a schema with an implementation that is not the generator's.
func oracle(t *testing.T, text string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func accepts(s *jsonschema.Schema, line []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// validates is the Go side of the comparison.
func validates(line []byte, p contract.Profile) error {
	e, err := contract.Decode(line)
	if err != nil {
		return err
	}
	return contract.Validate(e, p)
}

// TestDraftExamples: both schemas accept the draft's flow, but for its readable
// sub-agent ids, as contract.Validate does.
func TestDraftExamples(t *testing.T) {
	lines, err := os.ReadFile(filepath.Join("..", "testdata", "draft", "flow.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	for p, text := range map[contract.Profile]string{contract.ProfileExtended: schema.EnvelopeExtended, contract.ProfileStrict: schema.EnvelopeStrict} {
		s := oracle(t, text)
		n := 0
		for line := range bytes.Lines(lines) {
			n++
			if bytes.Contains(line, []byte("sa_research")) {
				if accepts(s, line) == nil {
					t.Errorf("%s: accepted: %s", p, line)
				}
				line = bytes.ReplaceAll(line, []byte("sa_research"), []byte("saresearch"))
			}
			if err := accepts(s, line); err != nil {
				t.Errorf("%s: %s: %v", p, line, err)
			}
		}
		if n != 28 {
			t.Errorf("%d envelopes, want 28", n)
		}
	}
}

// TestSchemaAgreesWithValidate over generated envelopes with up to two members
// broken.
func TestSchemaAgreesWithValidate(t *testing.T) {
	for p, text := range map[contract.Profile]string{contract.ProfileExtended: schema.EnvelopeExtended, contract.ProfileStrict: schema.EnvelopeStrict} {
		t.Run(string(p), func(t *testing.T) {
			s := oracle(t, text)
			good, bad := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				for _, e := range contracttest.Stream().Draw(t, "stream") {
					e, ok := p.Apply(e)
					if !ok {
						continue
					}
					line := breakIt(t, e)
					want := validates(line, p)
					if want != nil && strings.Contains(want.Error(), "id of one question") {
						continue // a schema cannot say that ids differ
					}
					got := accepts(s, line)
					if (got == nil) != (want == nil) {
						t.Fatalf("%s\nschema:   %v\nValidate: %v", line, got, want)
					}
					if want == nil {
						good++
					} else {
						bad++
					}
				}
			})
			if good < 100 || bad < 100 {
				t.Errorf("compared %d good and %d bad envelopes, want 100 of each", good, bad)
			}
		})
	}
}

// breakIt encodes e and changes up to two members somewhere in it.
func breakIt(t *rapid.T, e contract.Envelope) []byte {
	line, err := contract.Encode(e)
	if err != nil {
		t.Fatalf("Encode = %v", err)
	}
	n := rapid.IntRange(0, 2).Draw(t, "changes")
	if n == 0 {
		return line
	}
	var root map[string]any
	if err := json.Unmarshal(line, &root); err != nil {
		t.Fatalf("Unmarshal = %v", err)
	}
	for range n {
		change(t, root)
	}
	if line, err = json.Marshal(root); err != nil {
		t.Fatalf("Marshal = %v", err)
	}
	return line
}

// change deletes, replaces or adds a member of an object. Null and the empty
// string are left out: Decode takes them for absent members.
func change(t *rapid.T, object map[string]any) {
	names := slices.Sorted(maps.Keys(object))
	if len(names) > 0 {
		name := rapid.SampledFrom(names).Draw(t, "member")
		switch inner := object[name].(type) {
		case map[string]any:
			if rapid.IntRange(0, 3).Draw(t, "deeper") > 0 {
				change(t, inner)
				return
			}
		case []any:
			if first, ok := first(inner); ok && rapid.IntRange(0, 3).Draw(t, "deeper") > 0 {
				change(t, first)
				return
			}
		}
		switch rapid.IntRange(0, 2).Draw(t, "how") {
		case 0:
			delete(object, name)
			return
		case 1:
			object[name] = anyValue(t)
			return
		}
	}
	added := []string{"x", "turn", "subagent", "origin", "native", "steer", "thinking", "result", "usage", "cost", "call", "agentId", "image", "question", "by"}
	object[rapid.SampledFrom(added).Draw(t, "added")] = anyValue(t)
}

func first(list []any) (map[string]any, bool) {
	if len(list) == 0 {
		return nil, false
	}
	m, ok := list[0].(map[string]any)
	return m, ok
}

func anyValue(t *rapid.T) any {
	return rapid.SampledFrom([]any{
		5, -1, 1.5, 0, true, false, "x", "x1", "Upper Case", "under_score", "user", "agent", "text", "abort", "turn-end", "allow-once", "completed", "plan",
		map[string]any{},
		[]any{},
		[]any{map[string]any{}},
		map[string]any{"status": "completed"},
	}).Draw(t, "value")
}

// TestSchemaAgreesOn pins cases that random changes seldom reach.
func TestSchemaAgreesOn(t *testing.T) {
	extended, strict := oracle(t, schema.EnvelopeExtended), oracle(t, schema.EnvelopeStrict)
	envelope := func(role, more, ev string) string {
		return `{"id":"a1","time":1,"role":"` + role + `"` + more + `,"ev":` + ev + `}`
	}
	const turn = `,"turn":"t1"`
	tests := []struct {
		line             string
		extended, strict bool
	}{
		{envelope("user", "", `{"t":"text","text":""}`), true, true},
		{envelope("user", "", `{"t":"text","text":"a","x":null}`), true, false},
		{envelope("user", "", `{"t":"later"}`), true, false},
		{envelope("agent", `,"turn":"t9","subagent":"s9"`, `{"t":"later","x":{}}`), true, false},
		{envelope("user", "", `{"t":""}`), false, false},
		{envelope("user", "", `{}`), false, false},
		{envelope("user", "", `{"t":"permission-response","call":"c","decision":"allow-once","answers":[]}`), false, false},
		{envelope("user", turn, `{"t":"text","text":"a","steer":true}`), true, true},
		{envelope("user", turn, `{"t":"text","text":"a","steer":false}`), false, false},
		{envelope("agent", "", `{"t":"text","text":"a"}`), false, false},
		{envelope("agent", turn+`,"origin":"o"`, `{"t":"text","text":"a"}`), true, false},
		{envelope("agent", turn, `{"t":"tool-call-start","call":"c","name":"mcp/a/B_c","title":"t","description":"d","args":{}}`), true, true},
		{envelope("agent", turn, `{"t":"tool-call-start","call":"c","name":"b_c","title":"t","description":"d","args":{}}`), false, false},
		{envelope("agent", turn, `{"t":"tool-call-start","call":"c","name":"été\u2028","title":"t","description":"d","args":{}}`), false, false},
		{envelope("agent", turn, `{"t":"tool-call-start","call":"c","name":"É","title":"t","description":"d","args":{}}`), false, false},
		{envelope("agent", turn, `{"t":"tool-call-start","call":"c","name":"読む","title":"t","description":"d","args":{}}`), true, true},
		{envelope("agent", turn, `{"t":"turn-end","status":"completed","usage":{"inputTokens":1.0,"outputTokens":2e3,"cost":0}}`), true, true},
		{envelope("agent", turn, `{"t":"turn-end","status":"completed","usage":{"inputTokens":1,"outputTokens":2}}`), true, false},
		{envelope("agent", turn, `{"t":"turn-end","status":"completed","usage":{"inputTokens":1,"outputTokens":2,"cost":-0.1}}`), false, false},
		{envelope("agent", turn, `{"t":"permission-request","call":"c","toolName":"ask-user","title":"t","description":"d","args":{},"question":{"questions":[]}}`), false, false},
		{envelope("user", "", `{"t":"agent-configuration-changed","permissionMode":"auto"}`), true, false},
		{envelope("user", "", `{"t":"agent-configuration-changed"}`), true, true},
		{`{"id":"a1","time":253402300800000,"role":"user","ev":{"t":"abort"}}`, false, false},
		{`{"id":"m_1","time":1,"role":"user","ev":{"t":"abort"}}`, false, false},
		{`{"id":"a1","time":1,"role":"user","ev":{"t":"abort"},"x":1}`, true, false},
		{`[]`, false, false},
	}
	for _, tt := range tests {
		for _, side := range []struct {
			name string
			err  error
			want bool
		}{
			{"extended schema", accepts(extended, []byte(tt.line)), tt.extended},
			{"extended Validate", validates([]byte(tt.line), contract.ProfileExtended), tt.extended},
			{"strict schema", accepts(strict, []byte(tt.line)), tt.strict},
			{"strict Validate", validates([]byte(tt.line), contract.ProfileStrict), tt.strict},
		} {
			if (side.err == nil) != side.want {
				t.Errorf("%s of %s = %v, want accepted: %t", side.name, tt.line, side.err, side.want)
			}
		}
	}
}

// TestSchemaHasEveryMember compares the extended schema with the Go types, read
// on their own: every member of every struct, and no other.
func TestSchemaHasEveryMember(t *testing.T) {
	var doc struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(schema.EnvelopeExtended), &doc); err != nil {
		t.Fatal(err)
	}
	structs := map[string]reflect.Type{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || structs[typ.Name()] != nil {
			return
		}
		structs[typ.Name()] = typ
		for f := range typ.Fields() {
			visit(f.Type)
		}
	}
	for _, ev := range contracttest.Events() {
		visit(reflect.TypeOf(ev))
	}
	if got, want := slices.Sorted(maps.Keys(doc.Defs)), slices.Sorted(maps.Keys(structs)); !slices.Equal(got, want) {
		t.Errorf("definitions = %q, want %q", got, want)
	}
	for name, typ := range structs {
		var members, required []string
		if typ.Implements(reflect.TypeFor[contract.Event]()) {
			members, required = append(members, "t"), append(required, "t")
		}
		for f := range typ.Fields() {
			tag := f.Tag.Get("json")
			if member, _, optional := strings.Cut(tag, ","); member != "" {
				if members = append(members, member); !optional {
					required = append(required, member)
				}
			}
		}
		slices.Sort(members)
		if got := slices.Sorted(maps.Keys(doc.Defs[name].Properties)); !slices.Equal(got, members) {
			t.Errorf("members of %s = %q, want %q", name, got, members)
		}
		if got := doc.Defs[name].Required; !slices.Equal(got, required) {
			t.Errorf("required of %s = %q, want %q", name, got, required)
		}
	}
}

// TestSessionSchema accepts every event that a fold gives, and knows its lists.
func TestSessionSchema(t *testing.T) {
	s := oracle(t, schema.Session)
	rapid.Check(t, func(t *rapid.T) {
		f := fold.New(session.Session{ID: "root", WorkspaceID: "ws"})
		for _, e := range contracttest.Stream().Draw(t, "stream") {
			for _, ev := range append(f.Apply(e), f.Delta(fold.Delta{Time: e.Time, Text: "x"})...) {
				line, err := fold.Encode(ev)
				if err != nil {
					t.Fatalf("Encode = %v", err)
				}
				if err := accepts(s, line); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
		}
	})
	for _, bad := range []string{
		`{"type":"later","timestamp":"2026-08-09T10:11:12Z"}`,
		`{"type":"error"}`,
		`{"type":"part.end","timestamp":"2026-08-09T10:11:12Z","part":{"type":"image"}}`,
		`{"type":"session.status","timestamp":"2026-08-09T10:11:12Z","status":"asleep"}`,
		`{"type":"session.updated","timestamp":"2026-08-09T10:11:12Z","session":{"id":"a","status":"idle"}}`,
	} {
		if accepts(s, []byte(bad)) == nil {
			t.Errorf("accepted: %s", bad)
		}
	}
	var doc struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(schema.Session), &doc); err != nil {
		t.Fatal(err)
	}
	want := []string{"Capability", "Cost", "CustomPart", "Error", "Event", "FileDiff", "InputOption", "InputRequest", "Message", "ModelInfo", "ModelRef", "Part", "SendOpts", "Session", "TimeRange", "ToolPart", "ToolRef", "ToolState"}
	if got := slices.Sorted(maps.Keys(doc.Defs)); !slices.Equal(got, want) {
		t.Errorf("definitions = %s, want %s", fmt.Sprint(got), fmt.Sprint(want))
	}
}
