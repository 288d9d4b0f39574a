package contract_test

import (
	jsonv1 "encoding/json"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/contracttest"
)

// reflective encodes e with the struct tags alone: the oracle of the hand-written
// encoder.
func reflective(t *rapid.T, e contract.Envelope) []byte {
	t.Helper()
	lenient := []json.Options{
		jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true),
		json.WithMarshalers(json.MarshalToFunc(func(enc *jsontext.Encoder, s string) error {
			return enc.WriteToken(jsontext.String(s))
		})),
	}
	ev, err := json.Marshal(e.Event, lenient...)
	if err != nil {
		t.Fatalf("encoding %T by reflection: %v", e.Event, err)
	}
	body := `{"t":"` + string(e.Event.EventType()) + `"`
	if len(ev) > 2 {
		body += ","
	}
	if u, ok := e.Event.(contract.Unknown); ok {
		ev, body = u.Body, "{"
	}
	line, err := json.Marshal(struct {
		ID       string         `json:"id"`
		Time     int64          `json:"time"`
		Role     contract.Role  `json:"role"`
		Turn     string         `json:"turn,omitzero"`
		Subagent string         `json:"subagent,omitzero"`
		Origin   string         `json:"origin,omitzero"`
		Event    jsontext.Value `json:"ev"`
		Extra    jsontext.Value `json:",embed"`
	}{e.ID, e.Time, e.Role, e.Turn, e.Subagent, e.Origin, jsontext.Value(body + string(ev[1:])), e.Extra}, lenient...)
	if err != nil {
		t.Fatalf("encoding the envelope by reflection: %v", err)
	}
	return line
}

func TestEncodeAgreesWithReflection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := contracttest.Arbitrary().Draw(t, "envelope")
		got, err := contract.Encode(e)
		if err != nil {
			t.Fatalf("Encode = %v", err)
		}
		if want := reflective(t, e); string(got) != string(want) {
			t.Errorf("Encode = %s\nwant     %s", got, want)
		}
		checkLine(t, got)
	})
}

// checkLine asserts what holds for everything that is written.
func checkLine(t interface {
	Helper()
	Errorf(string, ...any)
}, line []byte,
) {
	t.Helper()
	if !utf8.Valid(line) || !jsontext.Value(line).IsValid(jsontext.AllowDuplicateNames(true)) {
		t.Errorf("not valid JSON in valid UTF-8 without lone surrogates: %q", line)
	}
	if strings.ContainsAny(string(line), "\r\n") {
		t.Errorf("more than one line: %q", line)
	}
}

func TestDecodeUndoesEncode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := contracttest.Arbitrary().Draw(t, "envelope")
		line, err := contract.Encode(e)
		if err != nil {
			t.Fatalf("Encode = %v", err)
		}
		once, err := contract.Decode(line)
		if err != nil {
			t.Fatalf("Decode(%s) = %v", line, err)
		}
		again, err := contract.Encode(once)
		if err != nil {
			t.Fatalf("Encode again = %v", err)
		}
		if string(again) != string(line) {
			t.Errorf("Encode(Decode(line)) = %s\nwant                   %s", again, line)
		}
		if got := contract.PeekType(line); got != e.Event.EventType() && utf8.ValidString(string(e.Event.EventType())) {
			t.Errorf("PeekType = %q, want %q", got, e.Event.EventType())
		}
	})
}

func TestCodecThroughJSONPackages(t *testing.T) {
	e := contract.Envelope{ID: "a1", Time: math.MaxInt64, Role: contract.RoleUser, Event: contract.Text{Text: "<hi>"}, Extra: jsontext.Value(`{"x":1}`)}
	const want = `{"e":{"id":"a1","time":9223372036854775807,"role":"user","ev":{"t":"text","text":"<hi>"},"x":1}}`
	type holder struct {
		E contract.Envelope `json:"e"`
	}
	b, err := json.Marshal(holder{e})
	if err != nil || string(b) != want {
		t.Errorf("v2 Marshal = %s, %v, want %s", b, err, want)
	}
	var h holder
	if err := json.Unmarshal([]byte(want), &h); err != nil || !reflect.DeepEqual(h.E, e) {
		t.Errorf("v2 Unmarshal = %+v, %v, want %+v", h.E, err, e)
	}
	h = holder{}
	if err := jsonv1.Unmarshal([]byte(want), &h); err != nil || !reflect.DeepEqual(h.E, e) {
		t.Errorf("v1 Unmarshal = %+v, %v, want %+v", h.E, err, e)
	}
	if b, err := jsonv1.Marshal(holder{e}); err != nil || strings.ReplaceAll(strings.ReplaceAll(string(b), `\u003c`, "<"), `\u003e`, ">") != want {
		t.Errorf("v1 Marshal = %s, %v, want %s", b, err, want)
	}
	bad := contract.Envelope{Event: contract.ToolCallStart{Args: jsontext.Value("[]")}}
	if _, err := json.Marshal(bad); err == nil {
		t.Error("v2 Marshal of args that are no object: no error")
	}
	err = json.Unmarshal([]byte(`{"e":{"id":5}}`), &h)
	if fault, ok := errors.AsType[*contract.PathError](err); !ok || fault.Path != "id" {
		t.Errorf("v2 Unmarshal of a bad envelope = %v, want a PathError at id", err)
	}
}
