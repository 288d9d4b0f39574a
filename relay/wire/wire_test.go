package wire

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestScopes(t *testing.T) {
	want := map[Scope]string{
		ScopeHost: "host", ScopeView: "view", ScopeControl: "view control", ScopeAdmin: "view control admin", "root": "",
	}
	for has, includes := range want {
		var got []string
		for _, need := range Scopes() {
			if has.Includes(need) {
				got = append(got, string(need))
			}
		}
		if strings.Join(got, " ") != includes {
			t.Errorf("%s includes %q, want %q", has, got, includes)
		}
	}
}

func TestMethods(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Methods() {
		if seen[m.Name] {
			t.Errorf("%s is there twice", m.Name)
		}
		seen[m.Name] = true
		if m.Command != (m.From == PartyViewer && m.To == PartyHost) {
			t.Errorf("%s: Command = %t from %s to %s", m.Name, m.Command, m.From, m.To)
		}
		if (m.From == PartyHost) != (m.Scope == ScopeHost) {
			t.Errorf("%s: scope %s from %s", m.Name, m.Scope, m.From)
		}
		if got, ok := MethodOf(m.Name); !ok || got != m {
			t.Errorf("MethodOf(%q) = %v, %t", m.Name, got, ok)
		}
	}
	if _, ok := MethodOf("session.shell"); ok {
		t.Error("an unknown method is known")
	}
}

// Every method has its shape, and a shape of a name that no method has is a mistake.
func TestShapes(t *testing.T) {
	shapes := Shapes()
	if len(shapes) != len(Methods()) {
		t.Fatalf("%d shapes, %d methods", len(shapes), len(Methods()))
	}
	for i, m := range Methods() {
		if shapes[i].Name != m.Name || shapes[i].Params == nil || m.Notification && shapes[i].Result != nil {
			t.Errorf("shape %d is %+v, want that of %s", i, shapes[i], m.Name)
		}
		if Ordered(m.Name) != (m.From == PartyHost) {
			t.Errorf("Ordered(%s) = %t", m.Name, Ordered(m.Name))
		}
	}
	for _, p := range Pushes() {
		if p.Params == nil || p.Result != nil {
			t.Errorf("push %+v", p)
		}
	}
}

func TestErrors(t *testing.T) {
	rpc := map[int64]bool{}
	for _, c := range Codes() {
		if rpc[c.RPCCode()] {
			t.Errorf("%s: JSON-RPC code %d is another's too", c, c.RPCCode())
		}
		rpc[c.RPCCode()] = true
		if s := c.HTTPStatus(); s < 400 || s > 599 {
			t.Errorf("%s: HTTP status %d", c, s)
		}
		e := Errorf(c, "what %d", 1).WithData(map[string]int{"n": 1})
		back := ErrorOf(c.RPCCode(), e.Message, e.RPCData())
		if back.Code != c || back.Message != "what 1" || string(back.Data) != `{"n":1}` {
			t.Errorf("%s came back as %+v", c, back)
		}
		if plain := ErrorOf(c.RPCCode(), "x", nil); plain.Code != c {
			t.Errorf("code %d without data = %s, want %s", c.RPCCode(), plain.Code, c)
		}
	}
	if len(rpc) != len(statuses) {
		t.Errorf("Codes lists %d, statuses has %d", len(rpc), len(statuses))
	}
	if got := ErrorOf(-1, "odd", jsontext.Value(`[]`)); got.Code != CodeInternal || !strings.Contains(got.Message, "odd") {
		t.Errorf("an unknown number = %+v", got)
	}
	wrapped := fmt.Errorf("sending: %w", Errorf(CodeStale, "late"))
	if !errors.Is(wrapped, &Error{Code: CodeStale}) || errors.Is(wrapped, &Error{Code: CodeBusy}) {
		t.Error("errors.Is does not go by the code")
	}
	if got := AsError(errors.New("dial tcp 10.0.0.1: secret")); got.Code != CodeInternal || strings.Contains(got.Message, "secret") {
		t.Errorf("a foreign error is told as %q", got.Message)
	}
}

func TestUnmarshal(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{``, ""},
		{`{"session":"s","text":"hi","new":{"a":1}}`, ""},
		{`{"session":1}`, "/session: want string, got number"},
		{`{"session":"a","session":"b"}`, "params are not valid JSON"},
		{`{"session":`, "params are not valid JSON"},
		{`[]`, "params: want object, got array"},
		{`{"admission":true}`, "/admission: want string, got true"},
		{`{"files":{}}`, "/files: want array, got object"},
		{`{"files":["a"]}`, "/files/0: want object, got string"},
		{`{"queue":"yes"}`, "/queue: want boolean, got string"},
	} {
		var p SendParams
		err := Unmarshal([]byte(c.in), &p)
		if c.want == "" {
			if err != nil {
				t.Errorf("Unmarshal(%s) = %v", c.in, err)
			}
			continue
		}
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeInvalid || !strings.Contains(e.Message, c.want) {
			t.Errorf("Unmarshal(%s) = %v, want %q", c.in, err, c.want)
		}
	}
}

// Envelopes keep their bytes, duplicate names included.
func TestEnvelopeBytes(t *testing.T) {
	const line = `{"id":"a","ev":{"t":"x","args":{"k":1,"k":2},"n":1e400}}`
	out, err := Marshal(AppendParams{Session: "s", Position: 3, Envelopes: []jsontext.Value{jsontext.Value(line)}})
	if err != nil {
		t.Fatal(err)
	}
	var back AppendParams
	if err := UnmarshalStream(out, &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Envelopes) != 1 || string(back.Envelopes[0]) != line || back.Position != 3 {
		t.Errorf("came back as %s", back.Envelopes)
	}
}

// FuzzUnmarshal: whatever arrives gives a value or an *Error, and a value that was
// read is written and read again as the same.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"session":"s","id":"x","text":"hi","files":[{"ref":"r"}],"admission":"steer"}`))
	f.Add([]byte(`{"session":"s","call":"c","nonce":"n","decision":"allow-once","args":{"a":1}}`))
	f.Add([]byte(`{"session":"s","position":4,"envelopes":[{},1]}`))
	f.Add([]byte(`{"session":"s","attachment":"a","offset":3,"data":"bHMN"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []any{&SendParams{}, &DecideParams{}, &AppendParams{}, &SpawnParams{}, &Hello{}, &OpenParams{}, &SubscribeParams{}, &TerminalInputParams{}} {
			if err := UnmarshalStream(data, v); err != nil {
				var e *Error
				if !errors.As(err, &e) {
					t.Fatalf("%T: %v is no *Error", v, err)
				}
				continue
			}
			once, err := Marshal(v)
			if err != nil {
				t.Fatalf("%T: %v", v, err)
			}
			if err := UnmarshalStream(once, v); err != nil {
				t.Fatalf("%T: what was written is not read: %v", v, err)
			}
			if twice, _ := Marshal(v); string(once) != string(twice) {
				t.Fatalf("%T: %s, then %s", v, once, twice)
			}
		}
	})
}

func TestEnvironmentCheck(t *testing.T) {
	long := strings.Repeat("x", EnvironmentBytes)
	for name, c := range map[string]struct {
		env  *Environment
		want Code
	}{
		"none":       {nil, ""},
		"all":        {&Environment{Inherit: []Variable{{"A", "b\nc"}}, Pass: []string{"A_*"}, Set: []Variable{{"B", ""}}}, ""},
		"no name":    {&Environment{Set: []Variable{{"", "geheim"}}}, CodeInvalid},
		"equals":     {&Environment{Inherit: []Variable{{"A=", "geheim"}}}, CodeInvalid},
		"NUL":        {&Environment{Set: []Variable{{"A", "geheim\x00"}}}, CodeInvalid},
		"no glob":    {&Environment{Pass: []string{"["}}, CodeInvalid},
		"long value": {&Environment{Set: []Variable{{"A", long}}}, CodeTooLarge},
		"long globs": {&Environment{Pass: []string{long, "*"}}, CodeTooLarge},
	} {
		err := c.env.Check()
		var e *Error
		if errors.As(err, &e); err == nil && c.want != "" || err != nil && (e == nil || e.Code != c.want || strings.Contains(err.Error(), "geheim")) {
			t.Errorf("%s: %v, want code %q and no value", name, err, c.want)
		}
	}
}
