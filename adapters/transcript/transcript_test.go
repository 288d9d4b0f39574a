package transcript_test

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agenthost/agenthost/adapters"
	"github.com/agenthost/agenthost/adapters/transcript"
	"github.com/agenthost/agenthost/contract"
)

func header() transcript.Header {
	return transcript.Header{Version: 1, Agent: "fake", AgentVersion: "1.2", Dir: "/w", Start: 1796000000000}
}

func encode(t *testing.T, recs ...transcript.Record) string {
	t.Helper()
	var b bytes.Buffer
	if err := transcript.Write(&b, transcript.File{Header: header(), Records: recs}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFramesRoundTrip(t *testing.T) {
	tests := []struct{ name, data, member string }{
		{"object", `{"a":1, "b" : [ true ]}`, `"m":`},
		{"number keeps its digits", `{"id":9007199254740993,"x":1.0e3}`, `"m":`},
		{"escapes stay", `{"a":"\u00e9\/<>"}`, `"m":`},
		{"string", `"x"`, `"m":`},
		{"noise", `npm WARN deprecated`, `"raw":`},
		{"outer space", ` {"a":1}`, `"raw":`},
		{"trailing space", `{"a":1} `, `"raw":`},
		{"carriage return", "{\"a\":1,\r\"b\":2}", `"raw":`},
		{"two values", `{"a":1}{"b":2}`, `"raw":`},
		{"duplicate names", `{"a":1,"a":2}`, `"raw":`},
		{"lone surrogate", `{"a":"\ud83d"}`, `"raw":`},
		{"torn", `{"a":`, `"raw":`},
		{"broken bytes", "\xff\xfe", `"b64":`},
		{"broken bytes in JSON", "{\"a\":\"\xff\"}", `"b64":`},
		{"line separator", "a\u2028b", `"raw":`},
		{"newlines of a terminal", "a\r\n\x1b[2J\x00", `"raw":`},
		{"empty", ``, `{"t":7,"d":"out"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := adapters.Frame{Source: adapters.Stdout, Data: []byte(tt.data)}
			text := encode(t, transcript.FrameRecord(7, want))
			if !strings.Contains(text, tt.member) {
				t.Errorf("line = %q, want it to hold %q", text, tt.member)
			}
			f, err := transcript.Read(strings.NewReader(text))
			if err != nil || len(f.Bad) > 0 || len(f.Records) != 1 {
				t.Fatalf("Read = %+v, %v, want one record", f, err)
			}
			got, ok := f.Records[0].Frame()
			if !ok || string(got.Data) != tt.data || got.Source != want.Source {
				t.Errorf("Frame = %q from %v, %v, want %q", got.Data, got.Source, ok, tt.data)
			}
		})
	}
}

func TestFrameSources(t *testing.T) {
	all := []adapters.Source{
		adapters.Stdout, adapters.Stderr, adapters.Terminal, adapters.LogFile, adapters.Hook, adapters.Socket,
	}
	for _, src := range all {
		want := adapters.Frame{Source: src, Data: []byte("x"), Dropped: 5, ID: "i", File: "f", Reconnected: true}
		if got, ok := transcript.FrameRecord(1, want).Frame(); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("Frame of %+v = %+v, %v", want, got, ok)
		}
	}
}

func TestFrameRecordCopies(t *testing.T) {
	data := []byte("abc")
	r := transcript.FrameRecord(1, adapters.Frame{Data: data})
	data[0] = 'X'
	if string(r.Data) != "abc" {
		t.Errorf("record = %q after the frame's buffer was reused, want %q", r.Data, "abc")
	}
}

func commands() []adapters.Command {
	yes := true
	return []adapters.Command{
		adapters.Open{ID: "o"},
		adapters.Prompt{ID: "p", Text: "hi\n", Files: []adapters.Attachment{
			{Name: "a.png", MIME: "image/png", Path: "/w/a.png", Data: []byte{0xff, 0}},
		}},
		adapters.Steer{ID: "s", Text: "go left"},
		adapters.Abort{},
		adapters.Answer{Ask: "1", Decision: contract.AllowOnce, Message: "ok", Args: jsontext.Value(`{"a":1}`)},
		adapters.Answer{Ask: "2", Decision: contract.RejectOnce, Cancelled: true, Answers: jsontext.Value(`{"q":"x"}`)},
		adapters.Configure{ID: "c", Mode: contract.ModePlan, Model: "m", ThinkingLevel: "high", Sandbox: &yes},
		adapters.Op{ID: "x", Name: "rewind", Params: jsontext.Value(`{"to":3}`)},
		adapters.AskFirst{ID: "a", Uses: []adapters.Use{{Tool: "bash", Pattern: "rm *"}, {Tool: "read"}}},
		adapters.AskFirst{ID: "a"},
		adapters.EffectDone{
			ID: "e", Content: "c", Terminal: "t", Output: "o", Truncated: true,
			Exit: &adapters.TerminalExit{Code: 3, Signal: "SIGTERM"},
		},
		adapters.EffectDone{ID: "e", Err: &adapters.EffectError{NotFound: true, Refused: true, Message: "no"}},
		adapters.Close{},
	}
}

func TestCommandsRoundTrip(t *testing.T) {
	for _, want := range commands() {
		f, err := transcript.Read(strings.NewReader(encode(t, transcript.CommandRecord(3, want))))
		if err != nil || len(f.Records) != 1 {
			t.Fatalf("Read = %+v, %v", f, err)
		}
		got, err := f.Records[0].Command()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("Command = %#v, %v, want %#v", got, err, want)
		}
	}
}

func TestCommandWithInvalidJSON(t *testing.T) {
	r := transcript.CommandRecord(1, adapters.Op{ID: "x", Name: "n", Params: jsontext.Value(`{"a`)})
	got, err := r.Command()
	want := adapters.Op{ID: "x", Name: "n"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Command = %#v, %v, want %#v", got, err, want)
	}
}

func TestExitRoundTrip(t *testing.T) {
	want := adapters.ExitStatus{Code: -1, Signal: "SIGKILL", Err: "e", Stderr: "tail", Requested: true}
	got, err := transcript.ExitRecord(9, want).Exit()
	if err != nil || got != want {
		t.Errorf("Exit = %+v, %v, want %+v", got, err, want)
	}
}

func TestWrongDirection(t *testing.T) {
	if _, err := transcript.TickRecord(1).Command(); err == nil {
		t.Error("Command of a tick = nil error")
	}
	if _, err := transcript.TickRecord(1).Exit(); err == nil {
		t.Error("Exit of a tick = nil error")
	}
	if _, ok := transcript.TickRecord(1).Frame(); ok {
		t.Error("Frame of a tick = true")
	}
	if _, err := (transcript.Record{Dir: transcript.Cmd, Data: []byte(`{"cmd":"dance"}`)}).Command(); err == nil {
		t.Error("Command of an unknown command = nil error")
	}
}

func TestHeaderSessionInfo(t *testing.T) {
	want := adapters.SessionInfo{
		ID: "s1", Dir: "/w", NativeOpened: time.UnixMilli(1796000000123).UTC(), Client: adapters.ClientInfo{Name: "agenthost", Title: "A", Version: "1"},
		Options: adapters.Options{
			Model: "m", Mode: "plan", Thinking: "high", Sandbox: true, Resume: "r", Continue: true,
			Fork: "f", ForkAt: "g", Dirs: []string{"/x"}, SystemPrompt: "be brief", AllowBypass: true, MaxTurns: 3,
			BudgetUSD: 1.5, AllowedTools: []string{"a"}, DisallowedTools: []string{"b"},
			Settings: map[string]string{"Key.A": "v"},
			MCPServers: []adapters.MCPServer{{
				Name: "m", Transport: "stdio", Command: "c", Args: []string{"-x"}, URL: "u",
				Env:     []adapters.Pair{{Name: "TOKEN", Value: "secret"}},
				Headers: []adapters.Pair{{Name: "Authorization", Value: "secret"}},
			}},
		},
	}
	var b bytes.Buffer
	w, err := transcript.NewWriter(&b, transcript.NewHeader("fake", want), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(transcript.TickRecord(1)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "secret") {
		t.Errorf("header holds an MCP server's secret: %s", b.String())
	}
	r, err := transcript.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	want.Options.MCPServers[0].Env[0].Value = transcript.Masked
	want.Options.MCPServers[0].Headers[0].Value = transcript.Masked
	if got := r.Header().SessionInfo(); !reflect.DeepEqual(got, want) {
		t.Errorf("SessionInfo = %+v, want %+v", got, want)
	}
}

func TestReaderToleratesBadLines(t *testing.T) {
	text := `{"transcript":1,"agent":"x","newer":[1]}` + "\n" +
		"\n" +
		`{"t":1,"d":"out","m":1,"newer":true}` + "\n" +
		`garbage` + "\n" +
		`{"d":"out","raw":"no time"}` + "\n" +
		`{"t":2,"raw":"no direction"}` + "\n" +
		`{"t":3,"d":"telepathy","m":{"a":1}}` + "\r\n" +
		`{"t":4,"d":"err","raw":"last, no line end"}`
	f, err := transcript.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, b := range f.Bad {
		lines = append(lines, b.Line)
	}
	if want := []int{4, 5, 6}; !reflect.DeepEqual(lines, want) {
		t.Errorf("bad lines = %v (%v), want %v", lines, f.Bad, want)
	}
	var got []string
	for _, r := range f.Records {
		got = append(got, string(r.Dir)+" "+string(r.Data))
	}
	want := []string{"out 1", `telepathy {"a":1}`, "err last, no line end"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("records = %q, want %q", got, want)
	}
	if string(f.Header.Extra) != `{"newer":[1]}` {
		t.Errorf("header extra = %s, want the unknown member", f.Header.Extra)
	}
}

func TestReaderNeedsHeader(t *testing.T) {
	for _, text := range []string{"", "\n\n", "x", `{"t":1,"d":"out"}`, `{"transcript":2}`, `[]`} {
		if _, err := transcript.NewReader(strings.NewReader(text)); err == nil {
			t.Errorf("NewReader(%q) = nil error", text)
		}
	}
}

func TestReaderReportsReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	in := io.MultiReader(strings.NewReader(`{"transcript":1}`+"\n"+`{"t":1,"d":"out"}`+"\n"), failing{broken})
	if _, err := transcript.Read(in); !errors.Is(err, broken) {
		t.Errorf("Read error = %v, want %v", err, broken)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestWriterKeepsTimeFromGoingBack(t *testing.T) {
	text := encode(t, transcript.TickRecord(5), transcript.TickRecord(3), transcript.TickRecord(6))
	f, err := transcript.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, r := range f.Records {
		got = append(got, r.T)
	}
	if want := []int64{5, 5, 6}; !reflect.DeepEqual(got, want) {
		t.Errorf("times = %v, want %v", got, want)
	}
}

func TestWriterRedactsAndWritesWholeLines(t *testing.T) {
	var w lineWriter
	out, err := transcript.NewWriter(&w, header(), func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("sk-secret"), []byte("***"))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{`{"key":"sk-secret"}`, "text sk-secret"} {
		if err := out.Write(transcript.InRecord(1, []byte(data+"\n"))); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`{"t":1,"d":"in","m":{"key":"***"}}` + "\n", `{"t":1,"d":"in","raw":"text ***"}` + "\n"}
	if got := w.writes[1:]; !reflect.DeepEqual(got, want) {
		t.Errorf("writes = %q, want %q", got, want)
	}
}

type lineWriter struct{ writes []string }

func (w *lineWriter) Write(b []byte) (int, error) {
	w.writes = append(w.writes, string(b))
	return len(b), nil
}

func TestWriterReportsErrors(t *testing.T) {
	r, w := io.Pipe()
	r.CloseWithError(errors.New("gone"))
	if _, err := transcript.NewWriter(w, header(), nil); err == nil {
		t.Error("NewWriter to a closed pipe = nil error")
	}
}

func TestEffects(t *testing.T) {
	tests := map[string]adapters.Effect{
		`{"effect":"read-file","id":"1","path":"/a","line":2,"limit":3}`: adapters.ReadFile{ID: "1", Path: "/a", Line: 2, Limit: 3},
		`{"effect":"write-file","id":"1","path":"/a","content":"c"}`:     adapters.WriteFile{ID: "1", Path: "/a", Content: "c"},
		`{"effect":"terminal-create","id":"1","limit":9,"command":"sh","args":["-c"],"env":[{"name":"K","value":"***"}],"dir":"/d"}`: adapters.TerminalCreate{
			ID: "1", Command: "sh", Args: []string{"-c"}, Env: []adapters.Pair{{Name: "K", Value: "secret"}}, Dir: "/d", Limit: 9,
		},
		`{"effect":"terminal-output","id":"1","terminal":"t"}`:  adapters.TerminalOutput{ID: "1", Terminal: "t"},
		`{"effect":"terminal-wait","id":"1","terminal":"t"}`:    adapters.TerminalWait{ID: "1", Terminal: "t"},
		`{"effect":"terminal-kill","id":"1","terminal":"t"}`:    adapters.TerminalKill{ID: "1", Terminal: "t"},
		`{"effect":"terminal-release","id":"1","terminal":"t"}`: adapters.TerminalRelease{ID: "1", Terminal: "t"},
		`{"effect":"look","id":"1"}`:                            adapters.Look{ID: "1"},
	}
	for want, e := range tests {
		if got := string(transcript.EffectRecord(1, e).Data); got != want {
			t.Errorf("EffectRecord(%#v) = %s, want %s", e, got, want)
		}
	}
}
