package gateway_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/contract/session"
	"github.com/agenthost/agenthost/contract/session/fold"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

// A session's events are those of the fold of its envelopes, whether they are had from
// the start, from the middle, after a snapshot, or as pages.
func TestEventsFormat(t *testing.T) {
	b := newBench(t, gateway.Options{})
	if _, body := b.do("POST", "/v1/sessions", "control-token", `{"agent":"echo","dir":"/w","id":"abcdefgh","title":"T","prompt":{"text":"one"}}`); !strings.Contains(body, "abcdefgh") {
		t.Fatal(body)
	}
	for i := range 200 {
		b.do("POST", "/v1/sessions/abcdefgh/messages", "control-token", fmt.Sprintf(`{"text":"message %d"}`, i))
		if i == 150 {
			b.host.AppendLines("abcdefgh", []byte(`damaged`), []byte(`{"id":"x","time":1,"role":"agent","ev":{"t":"future"}}`))
		}
	}
	var all wire.EnvelopesPage
	var lines []jsontext.Value
	for next := wire.Position(0); ; {
		b.get(fmt.Sprintf("/v1/sessions/abcdefgh/envelopes?limit=1000&from=%d", next), &all)
		lines = append(lines, all.Envelopes...)
		if next = all.Next; next == all.End {
			break
		}
	}
	f := fold.New(session.Session{ID: "abcdefgh", WorkspaceID: "/w", Title: "T", AgentID: "echo"})
	var want []string
	at := map[wire.Position]int{} // how many events lie before a position
	for i, line := range lines {
		at[wire.Position(i)] = len(want)
		e, err := contract.Decode(line)
		if err != nil {
			if string(line) != "null" {
				t.Fatalf("%s: %v", line, err)
			}
			continue
		}
		for _, ev := range f.Apply(e) {
			raw, err := fold.Encode(ev)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, string(raw))
		}
	}
	end := wire.Position(len(lines))
	at[end] = len(want)

	for _, from := range []wire.Position{0, 1, 333, 700, end} {
		var got []string
		for next := from; next < end; {
			var page wire.EventsPage
			b.get(fmt.Sprintf("/v1/sessions/abcdefgh/events?limit=100&from=%d", next), &page)
			for _, e := range page.Events {
				got = append(got, string(e))
			}
			if page.Next <= next {
				t.Fatalf("page from %d ends at %d", next, page.Next)
			}
			next = page.Next
		}
		if strings.Join(got, "\n") != strings.Join(want[at[from]:], "\n") {
			t.Errorf("from %d: %d events, want %d", from, len(got), len(want)-at[from])
		}
	}

	transcript, err := fold.Encode(f.Transcript())
	if err != nil {
		t.Fatal(err)
	}
	c, pushes, _ := b.dial("view-token")
	var r wire.SubscribeResult
	if err := c.Call(t.Context(), wire.SessionSubscribe, wire.SubscribeParams{Session: "abcdefgh", Format: wire.FormatEvents, Snapshot: true, Live: true}, &r); err != nil {
		t.Fatal(err)
	}
	if r.Next != end || string(r.Transcript) != string(transcript) {
		t.Errorf("snapshot at %d, want %d; same transcript %t", r.Next, end, string(r.Transcript) == string(transcript))
	}
	b.host.Live("abcdefgh", wire.Live{Delta: &wire.Delta{At: end, Time: 5, Text: "lost: no turn is open"}})
	ask := b.host.Ask("abcdefgh", "c9")
	var kinds []string
	for len(kinds) == 0 || kinds[len(kinds)-1] != "changed" {
		p := next(t, pushes)
		switch p.method {
		case wire.PushEvents:
			var e wire.EventsPush
			if err := wire.UnmarshalStream(p.params, &e); err != nil || e.Next != e.Position && e.Position != end {
				t.Fatalf("%s: %v", p.params, err)
			}
			for _, raw := range e.Events {
				kinds = append(kinds, eventType(t, raw))
			}
		case wire.PushLive:
			var l wire.LivePush
			if err := wire.UnmarshalStream(p.params, &l); err != nil || len(l.Items) != 1 || l.Items[0].Ask.Nonce != ask.Nonce {
				t.Fatalf("%s: %v", p.params, err)
			}
			kinds = append(kinds, "ask")
		case wire.PushChanged:
			kinds = append(kinds, "changed")
		}
	}
	if got := strings.Join(kinds, " "); !strings.Contains(got, "input.request") || !strings.Contains(got, "ask changed") {
		t.Errorf("after the snapshot: %s", got)
	}
}

func eventType(t *testing.T, raw jsontext.Value) string {
	t.Helper()
	var e struct {
		Type string `json:"type"`
	}
	if err := wire.UnmarshalStream(raw, &e); err != nil {
		t.Fatal(err)
	}
	return e.Type
}

// Deltas become part.delta events of the part that the envelope ends.
func TestLive(t *testing.T) {
	b := newBench(t, gateway.Options{})
	s := b.host.Add(wire.Session{})
	turn, err := contract.Encode(contract.Envelope{ID: "t1", Time: 5, Role: contract.RoleAgent, Turn: "t1", Event: contract.TurnStart{}})
	if err != nil {
		t.Fatal(err)
	}
	b.host.AppendLines(s.ID, turn)
	c, pushes, _ := b.dial("view-token")
	for _, format := range []wire.Format{wire.FormatEnvelopes, wire.FormatEvents} {
		var r wire.SubscribeResult
		if err := c.Call(t.Context(), wire.SessionSubscribe, wire.SubscribeParams{Session: s.ID, From: wire.FromEnd, Format: format, Live: true}, &r); err != nil || r.Next != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		b.host.Live(s.ID, wire.Live{Delta: &wire.Delta{At: 1, Time: 6, Turn: "t1", Text: "hel"}})
		p := next(t, pushes)
		var l wire.LivePush
		if err := wire.UnmarshalStream(p.params, &l); err != nil || p.method != wire.PushLive {
			t.Fatalf("%s %s: %v", p.method, p.params, err)
		}
		switch {
		case format == wire.FormatEnvelopes && (len(l.Items) != 1 || l.Items[0].Delta.Text != "hel" || l.Events != nil):
			t.Errorf("envelopes: %s", p.params)
		case format == wire.FormatEvents && (len(l.Events) != 2 || eventType(t, l.Events[1]) != "part.delta"):
			t.Errorf("events: %s", p.params)
		}
		if err := c.Call(t.Context(), wire.SessionUnsubscribe, wire.UnsubscribeParams{Subscription: r.Subscription}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// The strict profile has the draft's members alone, and null for what has no place in
// it, so that positions hold.
func TestStrict(t *testing.T) {
	b := newBench(t, gateway.Options{})
	s := b.host.Add(wire.Session{})
	b.host.AppendLines(s.ID,
		[]byte(`{"id":"a1","time":5,"role":"agent","turn":"t1","origin":"native","ev":{"t":"text","text":"hi","new":1}}`),
		[]byte(`{"id":"a2","time":5,"role":"agent","ev":{"t":"future"}}`),
		[]byte(`not an envelope`),
	)
	var page wire.EnvelopesPage
	b.get("/v1/sessions/last/envelopes?profile=strict", &page)
	if page.Next != 3 || len(page.Envelopes) != 3 || string(page.Envelopes[1]) != "null" || string(page.Envelopes[2]) != "null" ||
		strings.Contains(string(page.Envelopes[0]), "native") || strings.Contains(string(page.Envelopes[0]), "new") {
		t.Errorf("strict %s", page.Envelopes)
	}
	b.get("/v1/sessions/last/envelopes", &page)
	if !strings.Contains(string(page.Envelopes[0]), `"new":1`) || string(page.Envelopes[2]) != "null" {
		t.Errorf("extended %s", page.Envelopes)
	}
	if _, body := b.do("GET", "/v1/sessions/last/envelopes?profile=strict", "view-token", "", "Accept", "application/x-ndjson"); strings.Count(body, "\n") != 1 {
		t.Errorf("strict lines %s", body)
	}
}

// What is no longer kept is told: to one who begins before it, and to one who is
// overtaken.
func TestReset(t *testing.T) {
	b := newBench(t, gateway.Options{})
	s := b.host.Add(wire.Session{})
	for i := range 20 {
		b.host.Say(s.ID, fmt.Sprint(i))
	}
	b.host.Trim(s.ID, 8)
	c, pushes, _ := b.dial("view-token")
	var r wire.SubscribeResult
	if err := c.Call(t.Context(), wire.SessionSubscribe, wire.SubscribeParams{Session: s.ID, From: 2}, &r); err != nil || r.Next != 8 {
		t.Fatalf("%+v, %v", r, err)
	}
	p := next(t, pushes)
	if p.method != wire.PushReset || !strings.Contains(string(p.params), `"oldest":8`) {
		t.Errorf("first %s %s", p.method, p.params)
	}
	collect(t, pushes, 8, 12)
	var page wire.EnvelopesPage
	b.get("/v1/sessions/last/envelopes?from=2", &page)
	if page.Position != 8 || page.Oldest != 8 || page.Next != 20 {
		t.Errorf("page %+v", page)
	}
	events := b.sse("/v1/sessions/last/events?from=2")
	if e := events.next(); e.name != "reset" || !strings.Contains(e.data, `"oldest":8`) {
		t.Errorf("event %+v", e)
	}
}

// A subscription ends when the session is removed, and with the error when its stream
// fails; others of the connection go on.
func TestEnded(t *testing.T) {
	b := newBench(t, gateway.Options{})
	one, two := b.host.Add(wire.Session{}), b.host.Add(wire.Session{})
	c, pushes, _ := b.dial("view-token")
	subscribe := func(id string) string {
		t.Helper()
		var r wire.SubscribeResult
		if err := c.Call(t.Context(), wire.SessionSubscribe, wire.SubscribeParams{Session: id}, &r); err != nil {
			t.Fatal(err)
		}
		return r.Subscription
	}
	ended := func() (e wire.EndedPush) {
		t.Helper()
		p := next(t, pushes)
		if err := wire.Unmarshal(p.params, &e); err != nil || p.method != wire.PushEnded {
			t.Fatalf("%s %s: %v", p.method, p.params, err)
		}
		return e
	}
	s1, s2 := subscribe(one.ID), subscribe(two.ID)
	b.host.Remove(one.ID)
	if e := ended(); e.Subscription != s1 || e.Error != nil {
		t.Errorf("removed: %+v", e)
	}
	b.host.Fail(two.ID, errors.New("disk 10.0.0.1 is gone"))
	if e := ended(); e.Subscription != s2 || e.Error == nil || e.Error.Code != wire.CodeInternal || strings.Contains(e.Error.Message, "10.0") {
		t.Errorf("failed: %+v", e)
	}
	if !strings.Contains(b.log.String(), "disk 10.0.0.1 is gone") {
		t.Error("the fault is not in the log")
	}
	if err := c.Call(t.Context(), wire.HostsList, nil, nil); err != nil {
		t.Error(err)
	}
}

func TestSubscriptionLimit(t *testing.T) {
	b := newBench(t, gateway.Options{Limits: gateway.Limits{Subscriptions: 2}})
	s := b.host.Add(wire.Session{})
	c, _, _ := b.dial("view-token")
	var r wire.SubscribeResult
	for i := range 3 {
		err := c.Call(t.Context(), wire.SessionSubscribe, wire.SubscribeParams{Session: s.ID}, &r)
		if i < 2 && err != nil || i == 2 && !errors.Is(err, &wire.Error{Code: wire.CodeTooLarge}) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if err := c.Call(t.Context(), wire.SessionUnsubscribe, wire.UnsubscribeParams{Subscription: r.Subscription}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), wire.SessionsSubscribe, nil, nil); err != nil {
		t.Errorf("after unsubscribing: %v", err)
	}
}

// A file goes up in pieces; a piece at the wrong place is refused and told where to go
// on; a file of another sum is no file; what comes down is not for running.
func TestFiles(t *testing.T) {
	b := newBench(t, gateway.Options{})
	const text = "hello <script>"
	sum := sha256.Sum256([]byte(text))
	create := func(hash string) (u wire.Upload) {
		t.Helper()
		resp, body := b.do("POST", "/v1/files", "control-token", fmt.Sprintf(`{"name":"a\"b.html","size":%d,"sha256":%q}`, len(text), hash))
		if err := wire.Unmarshal([]byte(body), &u); err != nil || resp.StatusCode != 201 || resp.Header.Get("Location") != "/v1/files/"+u.Ref {
			t.Fatalf("create = %s %s", resp.Status, body)
		}
		return u
	}
	patch := func(ref, piece string, offset int) (*http.Response, string) {
		return b.do("PATCH", "/v1/files/"+ref, "control-token", piece, "Content-Type", "application/octet-stream", "Upload-Offset", strconv.Itoa(offset))
	}
	u := create(hex.EncodeToString(sum[:]))
	patch(u.Ref, text[:5], 0)
	if resp, _ := b.do("HEAD", "/v1/files/"+u.Ref, "view-token", ""); resp.Header.Get("Upload-Offset") != "5" {
		t.Errorf("HEAD %v", resp.Header)
	}
	if resp, body := patch(u.Ref, text[:5], 0); resp.StatusCode != 409 || !strings.Contains(body, `"offset":5`) {
		t.Errorf("the first piece again = %s %s", resp.Status, body)
	}
	if resp, _ := b.do("GET", "/v1/files/"+u.Ref, "view-token", ""); resp.StatusCode != 404 {
		t.Errorf("half a file = %s", resp.Status)
	}
	if resp, body := patch(u.Ref, text[5:], 5); resp.StatusCode != 200 || resp.Header.Get("Upload-Offset") != strconv.Itoa(len(text)) {
		t.Errorf("the rest = %s %s", resp.Status, body)
	}
	resp, body := b.do("GET", "/v1/files/"+u.Ref, "view-token", "")
	h := resp.Header
	if body != text || h.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") ||
		h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("GET = %s, %v", body, h)
	}
	u = create(strings.Repeat("0", 64))
	if resp, body := patch(u.Ref, text, 0); resp.StatusCode != 400 || !strings.Contains(body, "sha256") {
		t.Errorf("another sum = %s %s", resp.Status, body)
	}
	u = create("")
	if resp, _ := patch(u.Ref, text+"more", 0); resp.StatusCode != 413 {
		t.Errorf("more than it has = %s", resp.Status)
	}
}

// The list as an event stream.
func TestSessionsStream(t *testing.T) {
	b := newBench(t, gateway.Options{})
	s := b.host.Add(wire.Session{Dir: "/w"})
	events := b.sse("/v1/sessions?dir=/w")
	if e := events.next(); e.name != "sessions" || !strings.Contains(e.data, s.ID) {
		t.Errorf("first %+v", e)
	}
	b.host.Add(wire.Session{Dir: "/other"})
	b.host.Change(s.ID, func(s *wire.Session) { s.Title = "new" })
	if e := events.next(); e.name != "change" || !strings.Contains(e.data, `"title":"new"`) {
		t.Errorf("second %+v", e)
	}
}

// A page ends at its bytes.
func TestPageBytes(t *testing.T) {
	b := newBench(t, gateway.Options{Limits: gateway.Limits{PageBytes: 1000}})
	s := b.host.Add(wire.Session{})
	for range 10 {
		b.host.Say(s.ID, strings.Repeat("x", 3000))
	}
	next := wire.Position(0)
	for range 10 {
		var page wire.EnvelopesPage
		b.get(fmt.Sprintf("/v1/sessions/last/envelopes?from=%d&limit=50", next), &page)
		if page.Position != next || page.Next <= next || len(page.Envelopes) > 3 {
			t.Fatalf("page from %d: to %d with %d", next, page.Next, len(page.Envelopes))
		}
		if next = page.Next; next == 10 {
			return
		}
	}
	t.Errorf("ended at %d", next)
}
