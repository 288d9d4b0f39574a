package contract_test

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// line wraps an event in an envelope.
func line(ev string) string {
	return `{"id":"a1","time":5,"role":"agent","ev":` + ev + `}`
}

func TestDecodeIsLenient(t *testing.T) {
	tests := []struct {
		name, ev string
		want     contract.Event
	}{
		{"duplicate names: the last counts", `{"t":"abort","t":"text","text":"a","text":"b"}`, contract.Text{Text: "b"}},
		{
			"a duplicate object is replaced, not merged", `{"t":"turn-end","status":"completed","usage":{"inputTokens":1,"outputTokens":2,"cacheReadTokens":3},"usage":{"inputTokens":4,"outputTokens":5}}`,
			contract.TurnEnd{Status: "completed", Usage: &contract.Usage{InputTokens: 4, OutputTokens: 5}},
		},
		{"names are case-sensitive", `{"t":"text","text":"a","Text":"b"}`, contract.Text{Text: "a", Extra: jsontext.Value(`{"Text":"b"}`)}},
		{"escaped names", `{"\u0074":"text","te\u0078t":"a"}`, contract.Text{Text: "a"}},
		{"null for absent", `{"t":"text","text":"a","thinking":null,"refs":null}`, contract.Text{Text: "a"}},
		{
			"null output is a value", `{"t":"tool-call-end","call":"c","result":{"status":"completed","output":null}}`,
			contract.ToolCallEnd{Call: "c", Result: &contract.ToolResult{Status: "completed", Output: jsontext.Value("null")}},
		},
		{"broken UTF-8 in text", "{\"t\":\"text\",\"text\":\"a\xff\xe2\x82\"}", contract.Text{Text: "a\uFFFD\uFFFD\uFFFD"}},
		{
			"broken UTF-8 in raw args", "{\"t\":\"tool-call-start\",\"call\":\"c\",\"name\":\"n\",\"title\":\"t\",\"description\":\"d\",\"args\":{\"a\xff\":\"\xc3\"}}",
			contract.ToolCallStart{Call: "c", Name: "n", Title: "t", Description: "d", Args: jsontext.Value("{\"a\uFFFD\":\"\uFFFD\"}")},
		},
		{
			"lone surrogates", `{"t":"text","text":"\ud83d!\ude00","x":"\ud83d\ud83d\ude00\uDE00"}`,
			contract.Text{Text: "\uFFFD!\uFFFD", Extra: jsontext.Value("{\"x\":\"\uFFFD\\ud83d\\ude00\uFFFD\"}")},
		},
		{"a high surrogate before another character", `{"t":"text","text":"a","x":"\ud83d\u0041\uD83Dx"}`, contract.Text{Text: "a", Extra: jsontext.Value("{\"x\":\"\uFFFD\\u0041\uFFFDx\"}")}},
		{"an escaped backslash before u is no escape", `{"t":"text","text":"a","x":"\\ud800"}`, contract.Text{Text: "a", Extra: jsontext.Value(`{"x":"\\ud800"}`)}},
		{"raw values stay byte for byte", `{"t":"text","text":"a", "x" : [ 1.0, 1e2 ,"\u0041\/" ] }`, contract.Text{Text: "a", Extra: jsontext.Value(`{"x" : [ 1.0, 1e2 ,"\u0041\/" ]}`)}},
		{
			"unknown members at every level", `{"t":"permission-request","call":"c","toolName":"n","title":"t","description":"d","args":{},"options":[{"decision":"allow-once","label":"l","x":1}],"question":{"questions":[{"id":"i","question":"q","options":[{"label":"l","y":2}],"z":3}],"w":4}}`,
			contract.PermissionRequest{
				Call: "c", ToolName: "n", Title: "t", Description: "d", Args: jsontext.Value("{}"),
				Options: []contract.PermissionOption{{Decision: "allow-once", Label: "l", Extra: jsontext.Value(`{"x":1}`)}},
				Question: &contract.Question{Extra: jsontext.Value(`{"w":4}`), Questions: []contract.QuestionField{{
					ID: "i", Question: "q", Extra: jsontext.Value(`{"z":3}`),
					Options: []contract.QuestionOption{{Label: "l", Extra: jsontext.Value(`{"y":2}`)}},
				}}},
			},
		},
		{"an unknown event is kept whole", `{"a":1, "t":"later", "b":[ ]}`, contract.Unknown{T: "later", Body: jsontext.Value(`{"a":1, "t":"later", "b":[ ]}`)}},
		{"an unknown value of an enumeration", `{"t":"turn-end","status":"paused"}`, contract.TurnEnd{Status: "paused"}},
		{"64-bit integers", `{"t":"file","ref":"r","name":"n","size":9223372036854775807}`, contract.File{Ref: "r", Name: "n", Size: math.MaxInt64}},
		{"integers of floating-point peers", `{"t":"file","ref":"r","name":"n","size":2.5e3}`, contract.File{Ref: "r", Name: "n", Size: 2500}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := contract.Decode([]byte(line(tt.ev) + "\r\n"))
			if err != nil {
				t.Fatalf("Decode = %v", err)
			}
			if !reflect.DeepEqual(e.Event, tt.want) {
				t.Errorf("Decode = %#v\nwant     %#v", e.Event, tt.want)
			}
		})
	}
}

func TestDecodeKeepsUnknownEnvelopeMembers(t *testing.T) {
	const in = `{"v":3,"id":"a1","time":5,"role":"agent","seal":{"k":[1]},"ev":{"t":"abort"}}`
	const want = `{"id":"a1","time":5,"role":"agent","ev":{"t":"abort"},"v":3,"seal":{"k":[1]}}`
	e, err := contract.Decode([]byte(in))
	if err != nil {
		t.Fatalf("Decode = %v", err)
	}
	if got, err := contract.Encode(e); err != nil || string(got) != want {
		t.Errorf("Encode = %s, %v, want %s", got, err, want)
	}
}

func TestDecodeKeepsNothingOfTheLine(t *testing.T) {
	in := []byte(line(`{"t":"tool-call-start","call":"c","name":"n","title":"t","description":"d","args":{"a":"b"},"x":"y"}`))
	e, err := contract.Decode(in)
	if err != nil {
		t.Fatalf("Decode = %v", err)
	}
	want, err := contract.Encode(e)
	if err != nil {
		t.Fatalf("Encode = %v", err)
	}
	for i := range in {
		in[i] = '!'
	}
	if got, err := contract.Encode(e); err != nil || string(got) != string(want) {
		t.Errorf("after the line changed: Encode = %s, %v, want %s", got, err, want)
	}
}

func TestDecodeFaults(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", " \n", "envelope: want JSON object, got nothing"},
		{"array", "[]", "envelope: want JSON object, got array"},
		{"two values", "{} {}", "envelope: want JSON object, got invalid character '{' after top-level value at byte 3"},
		{"syntax", `{"id":}`, "envelope: want JSON object, got invalid character '}' at start of value at byte 6"},
		{"nothing there", "{}", "id: want string, got nothing; time: want integer, got nothing; role: want string, got nothing; ev: want object, got nothing"},
		{
			"wrong types", `{"id":1,"time":"2","role":null,"turn":{},"ev":[]}`,
			"id: want string, got number; time: want integer, got string; role: want string, got null; turn: want string, got object; ev: want object, got array",
		},
		{"no type", line(`{}`), "ev.t: want string, got nothing"},
		{"type of the wrong type", line(`{"t":"text","t":7}`), "ev.t: want string, got number"},
		{
			"token counts", line(`{"t":"turn-end","status":"completed","usage":{"inputTokens":"5","outputTokens":1.5,"cost":"free"}}`),
			"ev.usage.inputTokens: want integer >= 0, got string; ev.usage.outputTokens: want integer >= 0, got 1.5; ev.usage.cost: want number, got string",
		},
		{"beyond 64 bits", line(`{"t":"file","ref":"r","name":"n","size":9223372036854775808}`), "ev.size: want integer >= 0, got 9223372036854775808"},
		{"beyond 2^53 as a float", line(`{"t":"file","ref":"r","name":"n","size":1e17}`), "ev.size: want integer >= 0, got 1e17"},
		{"cost out of range", line(`{"t":"turn-end","status":"completed","usage":{"inputTokens":5,"outputTokens":1,"cost":1e999}}`), "ev.usage.cost: want number, got 1e999"},
		{"args", line(`{"t":"tool-call-start","call":"c","name":"n","title":"t","description":"d","args":[1]}`), "ev.args: want object, got array"},
		{"answers", line(`{"t":"permission-response","call":"c","decision":"allow-once","answers":"yes"}`), "ev.answers: want object, got string"},
		{"elements", line(`{"t":"text","text":"a","refs":[{"ref":"r"},5,{"name":"n"}]}`), "ev.refs[1]: want object, got number; ev.refs[2].ref: want string, got nothing"},
		{
			"deep elements", line(`{"t":"permission-request","call":"c","toolName":"n","title":"t","description":"d","args":{},"patterns":["a",1],"question":{"questions":[{"id":"i","question":"q","options":[{}]}]}}`),
			"ev.patterns[1]: want string, got number; ev.question.questions[0].options[0].label: want string, got nothing",
		},
		{
			"a list that is none", line(`{"t":"permission-request","call":"c","toolName":"n","title":"t","description":"d","args":{},"options":{},"question":{}}`),
			"ev.options: want array, got object; ev.question.questions: want array, got nothing",
		},
		{"objects", line(`{"t":"turn-end","status":"failed","usage":5,"error":true}`), "ev.usage: want object, got number; ev.error: want object, got boolean"},
		{"flags", line(`{"t":"text","text":"a","steer":"yes"}`), "ev.steer: want boolean, got string"},
		{"too deep", line(`{"t":"x","a":` + strings.Repeat("[", 9500) + strings.Repeat("]", 9500) + `}`), "envelope: want nesting of at most 9000 levels, got more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := contract.Decode([]byte(tt.in))
			if fmt.Sprint(err) != tt.want {
				t.Errorf("Decode = %v\nwant     %s", err, tt.want)
			}
			if _, ok := errors.AsType[*contract.PathError](err); !ok {
				t.Errorf("Decode's error is %T: want a PathError in it", err)
			}
		})
	}
}

// TestDepth: brackets in strings do not count, nor do those that were closed.
func TestDepth(t *testing.T) {
	wide := `{"t":"x","a":"` + strings.Repeat(`[\"{`, 5000) + `","b":[` + strings.Repeat("[{}],", 5000) + `[]]}`
	if _, err := contract.Decode([]byte(line(wide))); err != nil {
		t.Errorf("wide: Decode = %v", err)
	}
	deep := `{"t":"x","a":` + strings.Repeat("[", 8000) + strings.Repeat("]", 8000) + `,"b":"` + strings.Repeat("x", 10000) + `"}`
	e, err := contract.Decode([]byte(line(deep)))
	if err != nil {
		t.Fatalf("deep: Decode = %v", err)
	}
	if _, err := contract.Encode(e); err != nil {
		t.Errorf("deep: Encode = %v", err)
	}
}

func TestCleanJSON(t *testing.T) {
	for in, want := range map[string]string{`{"a" : 1}`: `{"a" : 1}`, "[1,\n2]": "[1,2]", `"\ud800"`: "\"\uFFFD\""} {
		if got, ok := contract.CleanJSON(jsontext.Value(in)); !ok || string(got) != want {
			t.Errorf("CleanJSON(%q) = %q, %t, want %q", in, got, ok, want)
		}
	}
	if _, ok := contract.CleanJSON(jsontext.Value("{")); ok {
		t.Error("CleanJSON of broken JSON = true, want false")
	}
}

func TestAllows(t *testing.T) {
	for d, want := range map[contract.Decision]bool{contract.AllowOnce: true, contract.AllowAlways: true, contract.RejectOnce: false, contract.RejectAlways: false, "": false, "allow": false} {
		if got := d.Allows(); got != want {
			t.Errorf("%q.Allows() = %t, want %t", d, got, want)
		}
	}
}

func TestDecodeReturnsWhatItCouldRead(t *testing.T) {
	e, err := contract.Decode([]byte(`{"id":"a1","time":5,"role":"user","ev":{"t":"text","text":9,"steer":true}}`))
	if err == nil || e.ID != "a1" || !reflect.DeepEqual(e.Event, contract.Text{Steer: true}) {
		t.Errorf("Decode = %+v, %v, want id a1, a steer text and an error", e, err)
	}
}

func TestEncodeFaults(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(-1)
	call := func(args string) contract.Event { return contract.ToolCallStart{Args: jsontext.Value(args)} }
	tests := []struct {
		name string
		e    contract.Envelope
		want string
	}{
		{"no event", contract.Envelope{}, "ev: want event, got nothing"},
		{"a pointer", contract.Envelope{Event: &contract.Text{}}, "ev: want one of the 14 event structs or Unknown, by value, got *contract.Text"},
		{"NaN", contract.Envelope{Event: contract.TurnEnd{Usage: &contract.Usage{Cost: &nan}}}, "ev.usage.cost: want finite number, got NaN"},
		{"infinite", contract.Envelope{Event: contract.TurnEnd{Usage: &contract.Usage{Cost: &inf}}}, "ev.usage.cost: want finite number, got -Inf"},
		{"args cut off", contract.Envelope{Event: call(`{"a":`)}, `ev.args: want JSON object, got invalid JSON "{\"a\":"`},
		{"args and more", contract.Envelope{Event: call(`{},"x":1`)}, `ev.args: want JSON object, got invalid JSON "{},\"x\":1"`},
		{"args empty", contract.Envelope{Event: call(``)}, `ev.args: want JSON object, got invalid JSON ""`},
		{"args of another type", contract.Envelope{Event: call(` [1] `)}, "ev.args: want JSON object, got array"},
		{"output", contract.Envelope{Event: contract.ToolCallEnd{Result: &contract.ToolResult{Output: jsontext.Value("nope")}}}, `ev.result.output: want JSON value, got invalid JSON "nope"`},
		{
			"schema",
			contract.Envelope{Event: contract.PermissionRequest{Question: &contract.Question{Questions: []contract.QuestionField{{}, {Schema: jsontext.Value("{")}}}}},
			`ev.question.questions[1].schema: want JSON value, got invalid JSON "{"`,
		},
		{"extra of another type", contract.Envelope{Event: contract.Abort{}, Extra: jsontext.Value("[]")}, "extra: want JSON object, got array"},
		{
			"extra with a known member",
			contract.Envelope{Event: contract.Text{Extra: jsontext.Value(`{"\u0074":1,"steer":true,"x":1}`)}, Extra: jsontext.Value(`{"turn":"t"}`)},
			"ev.t: want member once, got it in Extra too; ev.steer: want member once, got it in Extra too; turn: want member once, got it in Extra too",
		},
		{"unknown that is known", contract.Envelope{Event: contract.Unknown{T: "text"}}, `ev.t: want type this version does not know, got "text"`},
		{"unknown of another type", contract.Envelope{Event: contract.Unknown{T: "x", Body: jsontext.Value(`{"t":"y"}`)}}, `ev.t: want "x", got "y"`},
		{"unknown that is no object", contract.Envelope{Event: contract.Unknown{T: "x", Body: jsontext.Value(`1`)}}, `ev: want JSON object, got number`},
		{"too deep", contract.Envelope{Event: call(`{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`)}, "envelope: want nesting of at most 9000 levels, got more"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := contract.Encode(tt.e)
			if fmt.Sprint(err) != tt.want || b != nil {
				t.Errorf("Encode = %q, %v\nwant nil, %s", b, err, tt.want)
			}
		})
	}
}

func TestEncodeMends(t *testing.T) {
	tests := []struct {
		name string
		ev   contract.Event
		want string
	}{
		{"nil args", contract.ToolCallStart{}, `{"t":"tool-call-start","call":"","name":"","title":"","description":"","args":{}}`},
		{"null args", contract.PermissionRequest{Args: jsontext.Value(" null")}, `{"t":"permission-request","call":"","toolName":"","title":"","description":"","args":{}}`},
		{"line ends between tokens", contract.PermissionResponse{Args: jsontext.Value("{\r\n  \"a\": [1,\n2]\n}")}, `{"t":"permission-response","call":"","decision":"","args":{  "a": [1,2]}}`},
		{
			"surrogates and bytes",
			contract.ToolCallEnd{Result: &contract.ToolResult{Output: jsontext.Value("\"\\ud800\xff\\uD83D\\uDE00\"")}},
			"{\"t\":\"tool-call-end\",\"call\":\"\",\"result\":{\"status\":\"\",\"output\":\"\uFFFD\uFFFD\\uD83D\\uDE00\"}}",
		},
		{"extra", contract.Abort{Extra: jsontext.Value(" {\n\"a\\ud800\" : 1 } ")}, "{\"t\":\"abort\",\"a\uFFFD\" : 1}"},
		{"empty extra", contract.Abort{Extra: jsontext.Value("{}")}, `{"t":"abort"}`},
		{"unknown without a body", contract.Unknown{T: "x\xff"}, "{\"t\":\"x\uFFFD\"}"},
		{"text", contract.Text{Text: "a\xed\xa0\x80"}, "{\"t\":\"text\",\"text\":\"a\uFFFD\uFFFD\uFFFD\"}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := contract.AppendEvent(nil, tt.ev)
			if err != nil || string(got) != tt.want {
				t.Errorf("AppendEvent = %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

func TestDecodeEvent(t *testing.T) {
	ev, err := contract.DecodeEvent([]byte(`{"t":"service","text":"hi"}`))
	if want := (contract.Service{Text: "hi"}); err != nil || !reflect.DeepEqual(ev, want) {
		t.Errorf("DecodeEvent = %+v, %v, want %+v", ev, err, want)
	}
	if _, err := contract.DecodeEvent([]byte(`{"t":"service"}`)); fmt.Sprint(err) != "text: want string, got nothing" {
		t.Errorf("DecodeEvent without text = %v", err)
	}
}

func TestPeekType(t *testing.T) {
	tests := []struct {
		in   string
		want contract.EventType
	}{
		{line(`{"t":"turn-end","status":"completed"}`), "turn-end"},
		{`{"ev":{"a":{"t":"x"},"t" : "text"},"id":"\"ev\":"}`, "text"},
		{`{"ev":{"t":"text"},"\u0065v":{"\u0074":"ab\u006frt"}}`, "abort"},
		{line(`{"t":"later"}`), "later"},
		{`{"x":{"ev":{"t":"text"}}}`, ""},
		{`{"ev":{"t":5}}`, ""},
		{`{"ev":{"t":"te`, "te"},
		{`{"ev":"t"}`, ""},
		{"", ""},
		{"{", ""},
		{`{"`, ""},
		{`{"ev":`, ""},
		{"[]", ""},
		{`{"ev":{"t":"`, ""},
		{`{"\`, ""},
	}
	for _, tt := range tests {
		if got := contract.PeekType([]byte(tt.in)); got != tt.want {
			t.Errorf("PeekType(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
