package jsonrpc

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	"errors"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agenthost/agenthost/internal/rawjson"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		line   string
		kind   Kind
		id     string
		method string
	}{
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, Response, `1`, ``},
		{`{"id":0,"method":"item/x","params":{}}`, Request, `0`, `item/x`}, // Codex leaves out jsonrpc, and starts at 0
		{`{"method":"thread/started","params":{},"emittedAtMs":5}`, Notification, ``, `thread/started`},
		{`{"jsonrpc":"2.0","id":"abc-ü","method":"m"}`, Request, `"abc-ü"`, `m`},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"m"}`, Request, `9007199254740993`, `m`},
		{`{"jsonrpc":"2.0","id":-1,"method":"m"}`, Request, `-1`, `m`},
		{`{"jsonrpc":"2.0","id":null,"method":"m"}`, Request, `null`, `m`},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, Response, `null`, ``},
		{`{"error":{"code":-32700,"message":"Parse error"}}`, Response, ``, ``},
		{`{"id":3,"result":null}`, Response, `3`, ``},
		{`{"id":3}`, Response, `3`, ``},
		{`{"id":3,"result":null,"error":null}`, Response, `3`, ``},
		{`{"params":{"id":9},"method":"m","id":2}`, Request, `2`, `m`}, // key order does not matter
	} {
		m, err := Parse([]byte(c.line))
		if err != nil || m.Kind != c.kind || string(m.ID) != c.id || m.Method != c.method {
			t.Errorf("Parse(%s) = kind %d, id %s, method %q, %v; want %d, %s, %q", c.line, m.Kind, m.ID, m.Method, err, c.kind, c.id, c.method)
		}
	}
	for line, want := range map[string]error{
		`Loaded cached credentials.`: ErrNotJSON, ``: ErrNotJSON, `{"id":1,"method":`: ErrNotJSON, `{"a":1}{"b":2}`: ErrNotJSON,
		`[]`: ErrNotMessage, `"x"`: ErrNotMessage, `null`: ErrNotMessage, `{}`: ErrNotMessage, `{"id":null}`: ErrNotMessage,
		`{"method":5,"id":1}`: ErrNotMessage,
	} {
		if _, err := Parse([]byte(line)); !errors.Is(err, want) {
			t.Errorf("Parse(%q) = %v, want %v", line, err, want)
		}
	}
}

func TestErrorShapes(t *testing.T) {
	for line, want := range map[string]Error{
		`{"id":1,"error":{"code":400,"message":"{\"error\":{\"message\":\"bad\"}}"}}`: {Code: 400, Message: `{"error":{"message":"bad"}}`},
		`{"id":1,"error":{"code":-32603,"message":"x","data":[1]}}`:                   {Code: -32603, Message: "x", Data: rawjson.Value(`[1]`)},
		`{"id":1,"error":{"code":"401","message":"x","data":"d"}}`:                    {Code: 401, Message: "x", Data: rawjson.Value(`"d"`)},
		`{"id":1,"error":"plain"}`:                                                    {Message: "plain"},
		`{"id":1,"error":{"message":{"deep":"\ud83d"}}}`:                              {Message: "{\"deep\":\"\ufffd\"}"},
		`{"id":1,"error":{"code":99999999999,"message":""}}`:                          {Code: 99999999999},
		`{"id":1,"error":7}`: {Message: "7"},
	} {
		m, err := Parse([]byte(line))
		if err != nil || m.Err == nil || m.Err.Code != want.Code || m.Err.Message != want.Message || string(m.Err.Data) != string(want.Data) {
			t.Errorf("Parse(%s) = %+v, %v, want %+v", line, m.Err, err, want)
		}
	}
}

func TestSplitBatch(t *testing.T) {
	var methods []string
	var errs int
	SplitBatch([]byte(`[{"method":"a"},5,{"id":1,"method":"b"}]`), func(m Message, err error) {
		if err != nil {
			errs++
			return
		}
		methods = append(methods, m.Method)
	})
	if len(methods) != 2 || methods[0] != "a" || methods[1] != "b" || errs != 1 {
		t.Errorf("batch gave %q and %d errors, want [a b] and 1", methods, errs)
	}
}

func TestAppend(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{string(AppendRequest(nil, 7, "session/new", []byte(`{"cwd":"/w"}`))), `{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"/w"}}` + "\n"},
		{string(AppendNotification(nil, "a\"b", nil)), `{"jsonrpc":"2.0","method":"a\"b"}` + "\n"},
		{string(AppendResult(nil, rawjson.Value(`9007199254740993`), nil)), `{"jsonrpc":"2.0","id":9007199254740993,"result":null}` + "\n"},
		{string(AppendResult(nil, rawjson.Value(`"abc-ü"`), []byte(`{}`))), `{"jsonrpc":"2.0","id":"abc-ü","result":{}}` + "\n"},
		{string(AppendError(nil, rawjson.Value(`0`), MethodNotFound, "no <x>", nil)), `{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"no <x>"}}` + "\n"},
		{string(AppendError(nil, nil, ParseError, "\xff", []byte(`[1]`))), "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"\ufffd\",\"data\":[1]}}\n"},
	} {
		if c.got != c.want {
			t.Errorf("got  %swant %s", c.got, c.want)
		}
	}
}

func TestPending(t *testing.T) {
	t0 := time.Unix(100, 0)
	var p Pending[string]
	a := p.Add("m", t0.Add(10*time.Second), "a")
	b := p.Add("m", time.Time{}, "b")
	c := p.Add("m", t0.Add(5*time.Second), "c")
	if a != 1 || b != 2 || c != 3 {
		t.Fatalf("ids %d, %d, %d, want 1, 2, 3", a, b, c)
	}
	if next := p.Next(); !next.Equal(t0.Add(5 * time.Second)) {
		t.Errorf("Next() = %v, want +5 s", next)
	}
	if w, ok := p.Take(rawjson.Value(`"2"`)); !ok || w.Value != "b" {
		t.Errorf("Take(%q) = %+v, %v, want b", `"2"`, w, ok)
	}
	for _, id := range []string{`2`, `0`, `"x"`, `null`, `2.5`, ``} {
		if w, ok := p.Take(rawjson.Value(id)); ok {
			t.Errorf("Take(%s) = %+v, want nothing", id, w)
		}
	}
	if late := p.Expired(t0.Add(5 * time.Second)); len(late) != 1 || late[0].Value != "c" {
		t.Errorf("Expired(+5 s) = %+v, want c", late)
	}
	p.SetDeadline(a, time.Time{})
	if late := p.Expired(t0.Add(time.Hour)); len(late) != 0 || !p.Next().IsZero() {
		t.Errorf("Expired(+1 h) = %+v, want nothing", late)
	}
	if all := p.Drain(); len(all) != 1 || all[0].Value != "a" || p.Len() != 0 {
		t.Errorf("Drain() = %+v, want a", all)
	}
	if d := p.Add("m", time.Time{}, "d"); d != 4 {
		t.Errorf("id %d after all were answered, want 4: ids are never reused", d)
	}
}

// FuzzParse: what was read can be answered with the id it had, and the answer is
// strict JSON that reads as the same message.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"id":0,"method":"x","params":[1]}`, `[{"method":"a"},{"id":"\ud83d","method":"b"}]`,
		`{"id":1,"error":{"code":1,"message":"\ud83d","data":"` + "\xff" + `"}}`, `{"jsonrpc":"2.0","method":"session/update","params":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		SplitBatch(line, func(m Message, err error) {
			if err != nil {
				if m.Kind != 0 {
					t.Fatalf("%q: a message beside the error %v", line, err)
				}
				return
			}
			switch m.Kind {
			case Request:
				answer := AppendResult(nil, m.ID, []byte(`{}`))
				back, err := Parse(answer)
				if err != nil || back.Kind != Response && m.ID.Given() {
					t.Fatalf("answer %q to %q reads as %+v, %v", answer, line, back, err)
				}
				strict(t, answer)
			case Response:
				if m.Err != nil {
					strict(t, AppendError(nil, m.ID, m.Err.Code, m.Err.Message, m.Err.Data.Clean()))
				}
			case Notification:
				strict(t, AppendNotification(nil, m.Method, m.Params.Clean()))
			default:
				t.Fatalf("%q: kind %d", line, m.Kind)
			}
		})
	})
}

func strict(t *testing.T, line []byte) {
	t.Helper()
	if !utf8.Valid(line) || bytes.Count(line, []byte("\n")) != 1 || !json.Valid(line) ||
		!jsontext.Value(bytes.TrimSpace(line)).IsValid(jsontext.AllowDuplicateNames(true)) {
		t.Fatalf("%q is not one strict line", line)
	}
}
