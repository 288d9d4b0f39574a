package contract_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// FuzzDecode: never panics; what decodes encodes again, into one clean line that
// decodes to the same; PeekType agrees; what Strict makes of it is the draft's.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(hotLine))
	f.Add([]byte(line(`{"t":"text","text":"\ud83d","x":"\ud800\u0041","x":1}`)))
	f.Add([]byte("{\"id\":\"a\xff\",\"time\":1e3,\"role\":\"user\",\"ev\":{\"t\":\"later\",\"y\":[1,\n2]},\"z\":{}}"))
	f.Add([]byte(line(`{"t":"permission-request","call":"c","toolName":"n","title":"t","description":"d","args":{},"options":[{"decision":"allow-once","label":"l"}],"question":{"questions":[{"id":"i","question":"q","schema":true}]}}`)))
	f.Add([]byte(line(`{"t":"turn-end","status":"failed","usage":{"inputTokens":1,"outputTokens":2,"cost":0.1},"error":{"message":"m"}}`)))
	f.Add([]byte(line(`{"t":"tool-call-end","call":"c","result":{"status":"error","output":null,"files":[{"path":"p","status":"added","patch":""}]}}`)))
	f.Fuzz(func(t *testing.T, in []byte) {
		peeked := contract.PeekType(in)
		e, err := contract.Decode(in)
		if err != nil {
			return
		}
		if peeked != e.Event.EventType() {
			t.Errorf("PeekType = %q, Decode found %q", peeked, e.Event.EventType())
		}
		line, err := contract.Encode(e)
		if err != nil {
			t.Fatalf("Decode accepts what Encode refuses: %v", err)
		}
		checkLine(t, line)
		again, err := contract.Decode(line)
		if err != nil {
			t.Fatalf("Decode refuses what Encode wrote: %v\n%s", err, line)
		}
		second, err := contract.Encode(again)
		if err != nil || string(second) != string(line) {
			t.Errorf("not a fix point: %s, %v\nthen             %s", line, err, second)
		}
		third, err := contract.Decode(second)
		if err != nil || !reflect.DeepEqual(third, again) {
			t.Errorf("decoded differently: %+v, %v\nthen                 %+v", again, err, third)
		}
		if s, ok := contract.Strict(e); ok {
			line, err := contract.Encode(s)
			if err != nil {
				t.Fatalf("Encode of Strict = %v", err)
			}
			checkLine(t, line)
			checkDraftOnly(t, line)
		}
	})
}

// FuzzEncodeRaw: no raw member, however broken, makes a line that is broken.
func FuzzEncodeRaw(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":"\ud800"}`, "{\"\xff\":[1,\n2]}", `{"a":1}x`, ` null `, `[[`} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, raw, text string) {
		for _, ev := range []contract.Event{
			contract.ToolCallStart{Args: []byte(raw), Title: text, Extra: []byte(raw)},
			contract.ToolCallEnd{Call: text, Result: &contract.ToolResult{Output: []byte(raw), Extra: []byte(raw)}},
			contract.Unknown{T: "x", Body: []byte(raw)},
		} {
			line, err := contract.Encode(contract.Envelope{ID: text, Event: ev, Extra: []byte(raw)})
			if err != nil {
				if line != nil {
					t.Errorf("an error with bytes: %q", line)
				}
				continue
			}
			checkLine(t, line)
			if strings.Count(raw, "[") < 1000 && strings.Count(raw, "{") < 1000 {
				if _, err := contract.Decode(line); err != nil {
					t.Errorf("Decode refuses what Encode wrote: %v\n%s", err, line)
				}
			}
		}
	})
}

// FuzzValidator: no stream of lines panics it, in either profile, and what it
// finds it can say.
func FuzzValidator(f *testing.F) {
	f.Add([]byte(hotLine + "\n" + hotLine))
	f.Add([]byte(line(`{"t":"turn-start"}`) + "\n" + line(`{"t":"turn-end","status":"x"}`)))
	f.Add([]byte(line(`{"t":"subagent-start","agentId":"s1"}`) + "\n\n{}\n" + line(`{"t":"subagent-stop","agentId":"s1"}`)))
	f.Fuzz(func(t *testing.T, stream []byte) {
		for _, p := range []contract.Profile{contract.ProfileExtended, contract.ProfileStrict} {
			v, n := contract.NewValidator(p), 0
			for l := range bytes.Lines(stream) {
				n++
				for _, f := range v.CheckLine(n, l) {
					if f.Line != n || f.Want == "" || f.Got == "" {
						t.Errorf("fault %+v of line %d: want a line, want and got", f, n)
					}
				}
			}
			for _, f := range v.Finish(n) {
				if f.Rule == "" {
					t.Errorf("fault %v at the end without a rule", f)
				}
			}
		}
	})
}
