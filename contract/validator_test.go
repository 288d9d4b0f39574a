package contract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
)

// parse reads a stream in a shorthand, one envelope a line:
// ROLE TURN SUBAGENT EVENT, "-" for none. Ids and times count up.
func parse(t *testing.T, script string) []contract.Envelope {
	t.Helper()
	var stream []contract.Envelope
	for l := range strings.Lines(script) {
		f := strings.SplitN(strings.TrimSpace(l), " ", 4)
		if len(f) < 4 {
			continue
		}
		ev, err := contract.DecodeEvent([]byte(f[3]))
		if err != nil {
			t.Fatalf("line %q: %v", l, err)
		}
		n := len(stream) + 1
		e := contract.Envelope{ID: fmt.Sprintf("m%d", n), Time: int64(n), Role: contract.RoleAgent, Event: ev}
		if f[0] == "u" {
			e.Role = contract.RoleUser
		}
		if f[1] != "-" {
			e.Turn = f[1]
		}
		if f[2] != "-" {
			e.Subagent = f[2]
		}
		stream = append(stream, e)
	}
	return stream
}

const (
	turnEnd = `{"t":"turn-end","status":"completed"}`
	callC   = `{"t":"tool-call-start","call":"c","name":"bash","title":"t","description":"d","args":{}}`
	callD   = `{"t":"tool-call-start","call":"d","name":"bash","title":"t","description":"d","args":{}}`
	askC    = `{"t":"permission-request","call":"c","toolName":"bash","title":"t","description":"d","args":{}}`
	allowC  = `{"t":"permission-response","call":"c","decision":"allow-once"}`
	endC    = `{"t":"tool-call-end","call":"c"}`
	endD    = `{"t":"tool-call-end","call":"d"}`
	startS  = `{"t":"subagent-start","agentId":"s1"}`
	startS2 = `{"t":"subagent-start","agentId":"s2"}`
	stopS   = `{"t":"subagent-stop","agentId":"s1"}`
	stopS2  = `{"t":"subagent-stop","agentId":"s2"}`
	text    = `{"t":"text","text":"x"}`
	begin   = `{"t":"turn-start"}`
)

func TestValidator(t *testing.T) {
	tests := []struct{ name, stream, want string }{
		{"a turn", "u - - " + text + "\na t1 - " + begin + "\na t1 - " + callC + "\na t1 - " + askC + "\nu t1 - " + allowC + "\na t1 - " + endC + "\na t1 - " + turnEnd, ""},
		{"two turns", "a t1 - " + begin + "\na t1 - " + turnEnd + "\na t2 - " + begin + "\na t2 - " + turnEnd, ""},
		{"parallel calls", "a t1 - " + begin + "\na t1 - " + callC + "\na t1 - " + callD + "\na t1 - " + endC + "\na t1 - " + endD + "\na t1 - " + turnEnd, ""},
		{"a call asks twice", "a t1 - " + begin + "\na t1 - " + callC + "\na t1 - " + askC + "\nu - - " + allowC + "\na t1 - " + askC + "\nu - - " + allowC + "\na t1 - " + endC + "\na t1 - " + turnEnd, ""},
		{"nested sub-agents", "a t1 - " + begin + "\na t1 - " + startS + "\na t1 s1 " + startS2 + "\na t1 s2 " + text + "\na t1 s1 " + stopS2 + "\na t1 - " + stopS + "\na t1 - " + turnEnd, ""},
		{"parallel sub-agents", "a t1 - " + begin + "\na t1 - " + startS + "\na t1 - " + startS2 + "\na t1 s1 " + text + "\na t1 - " + stopS + "\na t1 s2 " + text + "\na t1 - " + stopS2 + "\na t1 - " + turnEnd, ""},
		{"a sub-agent outlives its turn", "a t1 - " + begin + "\na t1 - " + startS + "\na t1 - " + turnEnd + "\na t2 - " + begin + "\na t2 s1 " + text + "\na t2 - " + stopS + "\na t2 - " + turnEnd, ""},
		{"service outside turns", "a - - " + `{"t":"service","text":"x"}`, ""},
		{"an unknown event", "a t9 s9 " + `{"t":"later"}`, ""},

		{"turn in a turn", "a t1 - " + begin + "\na t2 - " + begin + "\na t2 - " + turnEnd, `2 E2 ev.t: want turn-end of turn "t1" first, got turn-start`},
		{"turn id again", "a t1 - " + begin + "\na t1 - " + turnEnd + "\na t1 - " + begin + "\na t1 - " + turnEnd, `3 E2 turn: want id of a new turn, got "t1" again`},
		{"end without start", "a t1 - " + turnEnd, `1 E3 turn: want id of an open turn, got "t1"`},
		{"end of another turn", "a t1 - " + begin + "\na t2 - " + turnEnd, `2 E3 turn: want "t1", got "t2"`},
		{"no end", "a t1 - " + begin, `2 E2 turn: want turn-end of turn "t1", got end of stream`},
		{"text of another turn", "a t1 - " + begin + "\na t2 - " + text + "\na t1 - " + turnEnd, `2 E3 turn: want "t1", got "t2"`},
		{"text after the turn", "a t1 - " + begin + "\na t1 - " + turnEnd + "\na t1 - " + text, `3 E3 turn: want id of an open turn, got "t1"`},
		{"service without the turn", "a t1 - " + begin + "\na - - " + `{"t":"service","text":"x"}` + "\na t1 - " + turnEnd, `2 E3 turn: want "t1", got nothing`},
		{"abort of another turn", "a t1 - " + begin + "\nu t2 - " + `{"t":"abort"}` + "\na t1 - " + turnEnd, `2 E3 turn: want "t1", got "t2"`},
		{"user text with a turn, told once", "a t1 - " + begin + "\nu t2 - " + text + "\na t1 - " + turnEnd, `2 E3 turn: want nothing on the user's text, got "t2"`},

		{"call left open", "a t1 - " + begin + "\na t1 - " + callC + "\na t1 - " + turnEnd, `3 E4 ev.call: want tool-call-end of "c" before the turn's end, got nothing`},
		{"call left open at the end", "a t1 - " + begin + "\na t1 - " + callC, `3 E4 ev.call: want tool-call-end of "c" before the turn's end, got nothing; 3 E2 turn: want turn-end of turn "t1", got end of stream`},
		{"call again", "a t1 - " + begin + "\na t1 - " + callC + "\na t1 - " + endC + "\na t1 - " + callC + "\na t1 - " + endC + "\na t1 - " + turnEnd, `4 E4 ev.call: want call not used before, got "c"`},
		{"end of no call", "a t1 - " + begin + "\na t1 - " + endC + "\na t1 - " + turnEnd, `2 E4 ev.call: want open call, got "c"`},
		{"end twice", "a t1 - " + begin + "\na t1 - " + callC + "\na t1 - " + endC + "\na t1 - " + endC + "\na t1 - " + turnEnd, `4 E4 ev.call: want open call, got "c", which has ended`},
		{"end by another sub-agent", "a t1 - " + begin + "\na t1 - " + startS + "\na t1 s1 " + callC + "\na t1 - " + endC + "\na t1 - " + stopS + "\na t1 - " + turnEnd, `4 E6 subagent: want that of the call's start, "s1", got ""`},

		{"request of no call", "a t1 - " + begin + "\na t1 - " + askC + "\nu t1 - " + allowC + "\na t1 - " + turnEnd, `2 E5 ev.call: want open call, got "c"; 3 E5 ev.call: want call whose permission-request is open, got "c"`},
		{"request twice", "a t1 - " + begin + "\na t1 - " + callC + "\na t1 - " + askC + "\na t1 - " + askC + "\nu t1 - " + allowC + "\na t1 - " + endC + "\na t1 - " + turnEnd, `4 E5 ev.call: want permission-response of "c" first, got permission-request`},
		{"response twice", "a t1 - " + begin + "\na t1 - " + callC + "\na t1 - " + askC + "\nu t1 - " + allowC + "\nu t1 - " + allowC + "\na t1 - " + endC + "\na t1 - " + turnEnd, `5 E5 ev.call: want call whose permission-request is open, got "c"`},
		{"no response", "a t1 - " + begin + "\na t1 - " + callC + "\na t1 - " + askC + "\na t1 - " + endC + "\na t1 - " + turnEnd, `4 E5 ev.call: want permission-response of "c" first, got tool-call-end`},
		{"response after the end", "a t1 - " + begin + "\na t1 - " + callC + "\na t1 - " + askC + "\na t1 - " + endC + "\nu t1 - " + allowC + "\na t1 - " + turnEnd, `4 E5 ev.call: want permission-response of "c" first, got tool-call-end; 5 E5 ev.call: want call whose permission-request is open, got "c"`},

		{"sub-agent that did not start", "a t1 - " + begin + "\na t1 s1 " + text + "\na t1 - " + turnEnd, `2 E6 subagent: want sub-agent between its start and stop, got "s1"`},
		{"sub-agent after its stop", "a t1 - " + begin + "\na t1 - " + startS + "\na t1 - " + stopS + "\na t1 s1 " + text + "\na t1 - " + turnEnd, `4 E6 subagent: want sub-agent between its start and stop, got "s1"`},
		{"sub-agent twice", "a t1 - " + begin + "\na t1 - " + startS + "\na t1 - " + startS + "\na t1 - " + stopS + "\na t1 - " + turnEnd, `3 E6 ev.agentId: want sub-agent that is not running, got "s1"`},
		{"stop without start", "a t1 - " + begin + "\na t1 - " + stopS + "\na t1 - " + turnEnd, `2 E6 ev.agentId: want sub-agent between its start and stop, got "s1"`},
		{"nested one left open", "a t1 - " + begin + "\na t1 - " + startS + "\na t1 s1 " + startS2 + "\na t1 - " + stopS + "\na t1 - " + stopS2 + "\na t1 - " + turnEnd, `4 E6 ev.agentId: want subagent-stop of the nested "s2" first, got "s1"`},
		{"its own parent", "a t1 - " + begin + "\na t1 - " + startS2 + "\na t1 s1 " + startS + "\na t1 - " + stopS + "\na t1 - " + stopS2 + "\na t1 - " + turnEnd, `3 E6 subagent: want sub-agent between its start and stop, got "s1"; 3 E6 subagent: want the sub-agent that started it, got "s1" itself`},
		{"left open", "a t1 - " + begin + "\na t1 - " + startS + "\na t1 - " + turnEnd, `4 E6 subagent: want subagent-stop of "s1", got end of stream`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := contract.NewValidator(contract.ProfileExtended)
			stream := parse(t, tt.stream)
			var faults []contract.Fault
			for i, e := range stream {
				faults = append(faults, v.Check(i+1, e)...)
			}
			faults = append(faults, v.Finish(len(stream)+1)...)
			var got []string
			for _, f := range faults {
				got = append(got, fmt.Sprintf("%d %s %v", f.Line, f.Rule, f.PathError))
			}
			if s := strings.Join(got, "; "); s != tt.want {
				t.Errorf("faults = %s\nwant     %s", s, tt.want)
			}
		})
	}
}

func TestValidatorIdsAndTimes(t *testing.T) {
	v := contract.NewValidator(contract.ProfileStrict)
	var got []string
	for i, l := range []string{
		`{"id":"a1","time":5,"role":"user","ev":{"t":"abort"}}`,
		`{"id":"a1","time":5,"role":"user","ev":{"t":"abort"}}`,
		`{"id":"a2","time":4,"role":"user","ev":{"t":"abort"}}`,
		`{"id":"a3","time":4,"role":"user","ev":{"t":"text"}}`,
		`{"id":"a3","time":5,"role":"user","origin":"o","ev":{"t":"abort"}}`,
		`not JSON`,
		`{"id":"a4","time":6,"role":"agent","turn":"t1","ev":{"t":"turn-start"}}`,
		`{"id":"a5","time":6,"role":"agent","turn":"t1","ev":{"t":"tool-call-start","call":"c","name":5}}`,
		`{"id":"a6","time":6,"role":"agent","turn":"t1","ev":{"t":"tool-call-end","call":"c"}}`,
		`{"id":"a7","time":6,"role":"agent","turn":"t1","ev":{"t":"turn-end","status":"completed"}}`,
	} {
		for _, f := range v.CheckLine(i+1, []byte(l)) {
			got = append(got, f.Error())
		}
	}
	got = append(got, fmt.Sprint(v.Finish(11)))
	want := []string{
		`2: id: want id not used before, got "a1" of line 1`,
		`3: time: want integer >= 5, got 4`,
		`4: ev.text: want string, got nothing`,
		`5: origin: want nothing beyond the draft, got string`,
		`5: id: want id not used before, got "a3" of line 4`,
		`6: envelope: want JSON object, got invalid character 'o' in literal null (expecting 'u') at byte 1`,
		`8: ev.name: want string, got number`,
		`8: ev.title: want string, got nothing`,
		`8: ev.description: want string, got nothing`,
		`8: ev.args: want object, got nothing`,
		`[]`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("faults:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
