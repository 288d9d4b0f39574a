package fold_test

import (
	"bytes"
	"encoding/json/jsontext"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/contract/session/fold"
)

func start(f *fold.Fold) {
	f.Apply(contract.Envelope{ID: "e1", Time: 1000, Role: contract.RoleAgent, Turn: "t1", Event: contract.TurnStart{}})
}

func TestDescribe(t *testing.T) {
	f := fold.New(meta())
	if got := f.Describe(5, meta()); got != nil {
		t.Errorf("Describe without a change = %+v, want nothing", got)
	}
	start(f)
	now := meta()
	now.Title, now.Summary, now.Archived, now.WorkspaceID = "New", "sum", true, "ws2"
	now.Status, now.ID, now.AgentID = session.StatusError, "other", "other" // the stream's, not ours
	got := f.Describe(2000, now)
	if len(got) != 1 || got[0].Type != session.EventSessionUpdated || got[0].SessionID != "root" {
		t.Fatalf("Describe = %+v, want one session.updated", got)
	}
	want := session.Session{ID: "root", WorkspaceID: "ws2", Title: "New", AgentID: "claude", Status: session.StatusBusy, Summary: "sum", Archived: true, Time: got[0].Session.Time}
	if !reflect.DeepEqual(*got[0].Session, want) || !reflect.DeepEqual(f.Session(), want) {
		t.Errorf("session = %+v, %+v, want %+v", *got[0].Session, f.Session(), want)
	}
}

func TestDescribeArchives(t *testing.T) {
	f := fold.New(meta())
	archived := meta()
	archived.Archived = true
	status := func() session.Status { return f.Session().Status }
	f.Describe(1, archived)
	if got := status(); got != session.StatusArchived {
		t.Errorf("archived: status = %q, want archived", got)
	}
	f.Describe(2, meta())
	if got := status(); got != session.StatusIdle {
		t.Errorf("taken out: status = %q, want idle", got)
	}
	start(f)
	f.Describe(3, archived)
	if got := status(); got != session.StatusBusy {
		t.Errorf("archived in a turn: status = %q, want busy", got)
	}
}

// TestRawThatIsNoJSON: an envelope made in memory may hold anything; events can
// be written all the same.
func TestRawThatIsNoJSON(t *testing.T) {
	f := fold.New(meta())
	start(f)
	bad := jsontext.Value(`{"a":`)
	for _, ev := range []contract.Event{
		contract.ToolCallStart{Call: "c", Args: bad},
		contract.PermissionRequest{Call: "c", Args: bad, Question: &contract.Question{Extra: bad}},
		contract.ToolCallEnd{Call: "c", Result: &contract.ToolResult{Output: bad}},
		contract.File{Extra: bad},
		contract.Unknown{T: "x", Body: bad},
		contract.ToolCallStart{Call: "d", Args: bad, Native: contract.NativeUserShell},
		contract.ToolCallEnd{Call: "d", Result: &contract.ToolResult{Output: bad}},
	} {
		for _, ev := range f.Apply(contract.Envelope{ID: "e2", Time: 2, Role: contract.RoleAgent, Turn: "t1", Event: ev}) {
			encode(t, ev)
		}
	}
	encode(t, f.Transcript())
}

// TestPending: those of sub-agents are in the list of the root, and in theirs.
func TestPending(t *testing.T) {
	f := fold.New(meta())
	start(f)
	for i, e := range []contract.Envelope{
		{Event: contract.SubagentStart{AgentID: "s1"}},
		{Event: contract.ToolCallStart{Call: "a"}},
		{Event: contract.PermissionRequest{Call: "a"}},
		{Subagent: "s1", Event: contract.ToolCallStart{Call: "b"}},
		{Subagent: "s1", Event: contract.PermissionRequest{Call: "b"}},
	} {
		e.ID, e.Time, e.Role, e.Turn = "r"+string(rune('0'+i)), 2, contract.RoleAgent, "t1"
		f.Apply(e)
	}
	ids := func(list []session.InputRequest) (ids []string) {
		for _, in := range list {
			ids = append(ids, in.ID)
		}
		return ids
	}
	tr := f.Transcript()
	for name, got := range map[string][]string{"Fold": ids(f.Pending()), "root": ids(tr.Pending)} {
		if !reflect.DeepEqual(got, []string{"r2", "r4"}) {
			t.Errorf("%s: pending = %q, want r2 and r4", name, got)
		}
	}
	if got := ids(tr.Children[0].Pending); !reflect.DeepEqual(got, []string{"r4"}) {
		t.Errorf("child: pending = %q, want r4", got)
	}
	f.Apply(contract.Envelope{ID: "r5", Time: 3, Role: contract.RoleUser, Event: contract.PermissionResponse{Call: "b", Decision: contract.AllowOnce}})
	if got := ids(f.Pending()); !reflect.DeepEqual(got, []string{"r2"}) {
		t.Errorf("after a response: pending = %q, want r2", got)
	}
}

// TestLive: one who comes in the middle of a text gets all of it so far, and the
// envelope ends the part that they know.
func TestLive(t *testing.T) {
	f := fold.New(meta())
	if got := f.Live(1); got != nil {
		t.Errorf("Live of an empty session = %+v, want nothing", got)
	}
	start(f)
	f.Delta(fold.Delta{Time: 1, Text: "Hel"})
	f.Delta(fold.Delta{Time: 2, Text: "lo"})
	f.Delta(fold.Delta{Time: 2, Thinking: true, Text: "hm"})
	var got []string
	for _, ev := range f.Live(3) {
		got = append(got, string(ev.Type)+" "+ev.PartID+" "+ev.Delta)
	}
	want := []string{"part.start e1-reasoning-1 ", "part.delta e1-reasoning-1 hm", "part.start e1-text-1 ", "part.delta e1-text-1 Hello"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Live = %q, want %q", got, want)
	}
	ends := f.Apply(contract.Envelope{ID: "e2", Time: 4, Role: contract.RoleAgent, Turn: "t1", Event: contract.Text{Text: "Hello!"}})
	if len(ends) != 1 || ends[0].Type != session.EventPartEnd || ends[0].PartID != "e1-text-1" || ends[0].Part.Text != "Hello!" {
		t.Errorf("the envelope gives %+v, want the end of e1-text-1", ends)
	}
	if got := f.Live(5); len(got) != 2 {
		t.Errorf("Live after it = %+v, want the reasoning alone", got)
	}
}

// TestEventsAreKept: what was given out does not change with what comes later.
func TestEventsAreKept(t *testing.T) {
	f := fold.New(meta())
	var events []session.Event
	var told []string
	script := [][]byte{
		[]byte(`{"id":"e1","time":1,"role":"agent","turn":"t1","ev":{"t":"turn-start"}}`),
		[]byte(`{"id":"e2","time":2,"role":"agent","turn":"t1","ev":{"t":"tool-call-start","call":"c","name":"bash","title":"t","description":"d","args":{"a":1}}}`),
		[]byte(`{"id":"e3","time":3,"role":"agent","turn":"t1","ev":{"t":"tool-call-end","call":"c","result":{"status":"completed","output":1,"files":[{"path":"p","status":"added","patch":""}]}}}`),
		[]byte(`{"id":"e4","time":4,"role":"agent","turn":"t1","ev":{"t":"agent-configuration-changed","model":"m"}}`),
		[]byte(`{"id":"e5","time":5,"role":"agent","turn":"t1","ev":{"t":"turn-end","status":"completed","usage":{"inputTokens":1,"outputTokens":2,"cost":3}}}`),
		[]byte(`{"id":"e6","time":6,"role":"agent","turn":"t2","ev":{"t":"turn-start"}}`),
		[]byte(`{"id":"e7","time":7,"role":"agent","turn":"t2","ev":{"t":"turn-end","status":"failed","usage":{"inputTokens":1,"outputTokens":2,"cost":3},"model":"n"}}`),
	}
	var transcripts []fold.Transcript
	for _, line := range script {
		events = append(events, f.Apply(decode(t, line))...)
		transcripts = append(transcripts, f.Transcript())
		told = told[:0:0]
		for _, ev := range events {
			told = append(told, string(encode(t, ev)))
		}
		for _, tr := range transcripts {
			told = append(told, string(encode(t, tr)))
		}
	}
	again := fold.New(meta())
	var want []string
	for _, line := range script {
		for _, ev := range again.Apply(decode(t, line)) {
			want = append(want, string(encode(t, ev)))
		}
	}
	for i := range events {
		if told[i] != want[i] {
			t.Errorf("event %d became %s\nwas      %s", i, told[i], want[i])
		}
	}
	again = fold.New(meta())
	for i, line := range script {
		again.Apply(decode(t, line))
		if got, was := told[len(events)+i], string(encode(t, again.Transcript())); got != was {
			t.Errorf("transcript %d became %s\nwas %s", i, got, was)
		}
	}
}

// TestTimesOutOfRange are cut: every event can be written.
func TestTimesOutOfRange(t *testing.T) {
	for ms, want := range map[int64]string{math.MinInt64: "1970-01-01T00:00:00Z", -1: "1970-01-01T00:00:00Z", math.MaxInt64: "9999-12-31T23:59:59.999Z"} {
		f := fold.New(meta())
		for _, ev := range f.Apply(contract.Envelope{ID: "e1", Time: ms, Role: contract.RoleUser, Event: contract.Text{Text: "a"}}) {
			if line := string(encode(t, ev)); !strings.Contains(line, `"timestamp":"`+want+`"`) {
				t.Errorf("time %d gives %s, want %s", ms, line, want)
			}
		}
	}
}

func TestEncode(t *testing.T) {
	ev := session.Event{Type: session.EventInputRequest, Delta: "<&>\xff", Input: &session.InputRequest{
		ID: "a", Metadata: map[string]jsontext.Value{"z": jsontext.Value(`1e2`), "a": jsontext.Value(`"\u003c\/"`)},
	}}
	const want = "{\"type\":\"input.request\",\"timestamp\":\"0001-01-01T00:00:00Z\",\"delta\":\"<&>\uFFFD\",\"input\":{\"id\":\"a\",\"kind\":\"\",\"metadata\":{\"a\":\"\\u003c\\/\",\"z\":1e2}}}"
	if got := string(encode(t, ev)); got != want {
		t.Errorf("Encode = %s\nwant     %s", got, want)
	}
}

func TestRestoreFaults(t *testing.T) {
	f := fold.New(meta())
	start(f)
	f.Apply(contract.Envelope{ID: "e2", Time: 2, Role: contract.RoleAgent, Turn: "t1", Event: contract.ToolCallStart{Call: "c"}})
	f.Apply(contract.Envelope{ID: "e3", Time: 3, Role: contract.RoleAgent, Turn: "t1", Event: contract.PermissionRequest{Call: "c"}})
	f.Apply(contract.Envelope{ID: "e4", Time: 4, Role: contract.RoleAgent, Turn: "t1", Event: contract.SubagentStart{AgentID: "s"}})
	good, err := f.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fold.Restore(good); err != nil {
		t.Fatalf("Restore = %v", err)
	}
	for name, change := range map[string][2]string{
		"not JSON":          {"{", ""},
		"other version":     {`"version":1`, `"version":2`},
		"no session":        {`"scopes":[`, `"scopes":[],"x":[`},
		"open message":      {`"open":0`, `"open":7`},
		"parent":            {`"parent":0,"session":{"id":"s"`, `"parent":1,"session":{"id":"s"`},
		"call's session":    {`"call":"c","scope":0,"message"`, `"call":"c","scope":2,"message"`},
		"call's message":    {`"message":0,"place":0`, `"message":1,"place":0`},
		"call's place":      {`"message":0,"place":0`, `"message":0,"place":1`},
		"request's session": {`"asks":[{"scope":0`, `"asks":[{"scope":-1`},
	} {
		bad := bytes.Replace(good, []byte(change[0]), []byte(change[1]), 1)
		if bytes.Equal(bad, good) {
			t.Fatalf("%s: %q is not in %s", name, change[0], good)
		}
		if _, err := fold.Restore(bad); err == nil {
			t.Errorf("%s: Restore(%s) gave no error", name, bad)
		}
	}
}

// FuzzRestore: a damaged snapshot is refused or gives a fold that works.
func FuzzRestore(f *testing.F) {
	g := fold.New(meta())
	start(g)
	g.Apply(contract.Envelope{ID: "e2", Time: 2, Turn: "t1", Event: contract.ToolCallStart{Call: "c"}})
	g.Apply(contract.Envelope{ID: "e3", Time: 3, Turn: "t1", Event: contract.SubagentStart{AgentID: "s"}})
	g.Apply(contract.Envelope{ID: "e4", Time: 4, Turn: "t1", Event: contract.PermissionRequest{Call: "c"}})
	snapshot, err := g.Snapshot()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(snapshot)
	f.Add([]byte(`{"version":1,"scopes":[{"session":{},"open":-1}]}`))
	f.Fuzz(func(t *testing.T, snapshot []byte) {
		g, err := fold.Restore(snapshot)
		if err != nil {
			return
		}
		for _, ev := range []contract.Event{
			contract.ToolCallEnd{Call: "c", Result: &contract.ToolResult{Files: []contract.FileDiff{{}}}},
			contract.Text{Text: "x"},
			contract.SubagentStop{AgentID: "s"},
			contract.TurnStart{},
			contract.TurnEnd{},
		} {
			g.Apply(contract.Envelope{ID: "e9", Time: 9, Role: contract.RoleAgent, Subagent: "s", Event: ev})
			g.Delta(fold.Delta{Call: "c", Text: "x"})
			g.Delta(fold.Delta{Subagent: "s", Text: "x"})
		}
		g.Transcript()
		if _, err := g.Snapshot(); err != nil {
			t.Errorf("Snapshot = %v", err)
		}
	})
}
