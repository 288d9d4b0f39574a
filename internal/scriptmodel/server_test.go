package scriptmodel

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// start serves a model on loopback until the end of the test.
func start(t *testing.T) *Local {
	t.Helper()
	l, err := Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return l
}

// post sends a chat request over the network and reads the answer.
func post(ctx context.Context, url, prompt string, stream bool) (status int, body string, err error) {
	e := endpoints()[2]
	data, err := json.Marshal(e.body(prompt, stream))
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+e.path(stream), bytes.NewReader(data))
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(all), err
}

func TestCounts(t *testing.T) {
	l := start(t)
	try := func(prompt string, want ...int) {
		t.Helper()
		for i, w := range want {
			status, body, err := post(t.Context(), l.URL, prompt, true)
			if err != nil || status != w {
				t.Errorf("%q, attempt %d: got %d %q, %v, want %d", prompt, i+1, status, body, err, w)
			}
			if w == 200 && !strings.Contains(body, "fine") {
				t.Errorf("%q, attempt %d: got %q, want fine", prompt, i+1, body)
			}
		}
	}
	try("SCRIPT: error once 503 busy\ntext fine", 503, 200, 200)
	try("SCRIPT: error 2x 503 busy ++ text fine", 503, 503, 200)
	try("SCRIPT: error 500 busy", 500, 500)
	// Another script has counts of its own, if only by a comment.
	try("SCRIPT: error once 503 busy\n# other\ntext fine", 503, 200)
	// So has the same script at another place of a conversation.
	s := l.Server
	r := converse("u:SCRIPT: error once 503 busy\ntext fine", "m:fine", "u:SCRIPT: error once 503 busy\ntext fine")
	if a := s.pick(chat(), r); a.status != 503 {
		t.Errorf("the script said again got status %d, want 503", a.status)
	}
}

func TestDrop(t *testing.T) {
	l := start(t)
	for _, stream := range []bool{true, false} {
		_, body, err := post(t.Context(), l.URL, "SCRIPT: text begin ++ drop ++ text never", stream)
		if err == nil || strings.Contains(body, "never") || strings.Contains(body, "begin") != stream {
			t.Errorf("stream %v: got %q, %v, want a cut connection", stream, body, err)
		}
	}
	// When the count is used up the whole step is played.
	post(t.Context(), l.URL, "SCRIPT: text begin ++ drop once ++ text end", true)
	if _, body, err := post(t.Context(), l.URL, "SCRIPT: text begin ++ drop once ++ text end", true); err != nil || !strings.Contains(body, "end") || !strings.Contains(body, "[DONE]") {
		t.Errorf("the second attempt got %q, %v, want it whole", body, err)
	}
	for i, want := range []Ending{EndDropped, EndDropped, EndDropped, EndDone} {
		if got := l.Requests()[i].Ending; got != want {
			t.Errorf("request %d ended %q, want %q", i, got, want)
		}
	}
}

// A client that goes away ends its answer, and the record says so.
func TestHangEndsWithTheClient(t *testing.T) {
	l := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error, 1)
	go func() {
		_, _, err := post(ctx, l.URL, "SCRIPT: text begin ++ hang", true)
		errs <- err
	}()
	wait, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	r, err := l.Await(wait, func(r Request) bool { return r.Kind == KindScript })
	if err != nil || r.Ending != EndRunning {
		t.Fatalf("got %+v, %v, want a running request", r, err)
	}
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v", err)
	}
	if _, err := l.Await(wait, func(r Request) bool { return r.Ending == EndClient }); err != nil {
		t.Error(err)
	}
}

// Close cuts what hangs, so that a test never waits for it.
func TestCloseEndsHang(t *testing.T) {
	l, err := Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 1)
	go func() {
		_, _, err := post(t.Context(), l.URL, "SCRIPT: hang", false)
		errs <- err
	}()
	wait, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if _, err := l.Await(wait, func(Request) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-errs; err == nil {
		t.Error("the client got an answer to hang")
	}
}

func TestHold(t *testing.T) {
	l := start(t)
	bodies := make(chan string, 1)
	go func() {
		_, body, _ := post(t.Context(), l.URL, "SCRIPT: text one ++ hold gate ++ text two", true)
		bodies <- body
	}()
	wait, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if _, err := l.Await(wait, func(Request) bool { return true }); err != nil {
		t.Fatal(err)
	}
	select {
	case body := <-bodies:
		t.Fatalf("the answer did not hold: %s", body)
	default:
	}
	resp, err := http.Post(l.URL+"/script/release/gate", "", nil)
	if err != nil || resp.StatusCode != http.StatusNoContent {
		t.Fatalf("release: %v, %v", resp, err)
	}
	resp.Body.Close()
	if body := <-bodies; !strings.Contains(body, "two") {
		t.Errorf("after release: %s", body)
	}
	l.Release("gate") // again does no harm
	if _, body, err := post(t.Context(), l.URL, "SCRIPT: hold gate\ntext later", true); err != nil || !strings.Contains(body, "later") {
		t.Errorf("a released gate held: %q, %v", body, err)
	}
}

// slow waits before every chunk that follows, wait once.
func TestPace(t *testing.T) {
	for script, want := range map[string]time.Duration{
		"text a b c":                     0,
		"slow 100\ntext a b c":           300 * time.Millisecond,
		"text a b ++ slow 50 ++ text c":  50 * time.Millisecond,
		"wait 70\ntext a b c":            70 * time.Millisecond,
		"slow 10\nchunks 20 5":           200 * time.Millisecond,
		"slow 10 ++ text a ++ think b c": 30 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			endpoints()[2].ask(t, New(), "SCRIPT: "+script, true)
			if got := time.Since(begin); got != want {
				t.Errorf("%q took %v, want %v", script, got, want)
			}
		})
	}
}

// A whole turn with every API: the record tells what was played.
func TestRecords(t *testing.T) {
	s := New()
	const prompt = "Please.\nSCRIPT: shell ls ;; text done"
	for _, e := range endpoints() {
		e.ask(t, s, prompt, true)
	}
	for i, r := range s.Played() {
		e := endpoints()[i]
		if r.Seq != i || r.API != e.name || r.Model != "m" || !r.Stream || r.Step != 0 || r.Script != "shell ls ;; text done" ||
			r.Status != 200 || r.Ending != EndDone || len(r.Texts) != 1 || r.Texts[0] != prompt || len(r.Tools) == 0 {
			t.Errorf("record of %s: %+v", e.name, r)
		}
	}
	if n := len(s.Played()); n != 4 {
		t.Errorf("%d requests were recorded, want 4", n)
	}
}

func TestAwaitEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := New().Await(ctx, func(Request) bool { return true }); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("got %v, want the cause", err)
	}
}

func TestDefaultAnswers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		items []string
		kind  Kind
		want  string
	}{
		{"no script", []string{"u:hello\nthere"}, KindEcho, "You said: hello there"},
		{"nothing at all", nil, KindEcho, "You said: "},
		{"used up", []string{"u:SCRIPT: text a", "m:a"}, KindEcho, "done."},
		{"used up, then a text", []string{"u:SCRIPT: text a", "m:a", "u:and now?"}, KindEcho, "You said: and now?"},
		{"empty script", []string{"u:SCRIPT:"}, KindEcho, "You said: "},
		{"long prompt", []string{"u:" + strings.Repeat("é", 300)}, KindEcho, "You said: " + strings.Repeat("é", 100)},
		{"bad script", []string{"u:SCRIPT: sing"}, KindBroken, `scriptmodel: step 1: unknown verb "sing"`},
	} {
		a := New().pick(chat(), converse(tt.items...))
		if a.kind != tt.kind || a.beats[0].text != tt.want {
			t.Errorf("%s: got %s %q, want %s %q", tt.name, a.kind, a.beats[0].text, tt.kind, tt.want)
		}
	}
}

// What agents ask for themselves is answered, and no script is played in it.
func TestChores(t *testing.T) {
	const script = `SCRIPT: shell rm -rf x`
	for _, tt := range []struct{ name, path, body, want string }{
		{
			"gemini's router", "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"` + script + `"}]}],
			"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"OBJECT","properties":{"complexity_reasoning":{"type":"STRING"},"complexity_score":{"type":"INTEGER"}},"required":["complexity_reasoning","complexity_score"]}}}`,
			`{\"complexity_reasoning\":\"scripted\",\"complexity_score\":1}`,
		},
		{"JSON without a schema", "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"` + script + `"}]}],"generationConfig":{"responseMimeType":"application/json"}}`, `"text":"{}"`},
		{
			"claude's title", "/v1/messages", `{"messages":[{"role":"user","content":"<session>\n` + script + `\n</session>"}],
			"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}}}}`,
			`{\"title\":\"Scripted session\"}`,
		},
		{"claude's probe", "/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":"quota"}]}`, `"text":"ok"`},
		{"opencode's title", "/v1/chat/completions", `{"messages":[{"role":"system","content":"You are a title generator. You output ONLY a thread title."},{"role":"user","content":"` + script + `"}]}`, `"content":"Scripted session"`},
		{"codex's title", "/v1/responses", `{"input":"Generate a title.\n\nUser prompt:\n` + script + `","text":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}}}}`, `{\"title\":\"Scripted session\"}`},
		{"a schema in the Responses API", "/v1/responses", `{"input":"rate this","text":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"risk":{"type":"string","enum":["low"]}},"required":["risk"]}}}}`, `{\"risk\":\"low\"}`},
	} {
		s := New()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, tt.path, strings.NewReader(tt.body)))
		if w.Code != 200 || !strings.Contains(w.Body.String(), tt.want) || s.Requests()[0].Kind != KindChore {
			t.Errorf("%s: got %s, %d %s, want %s", tt.name, s.Requests()[0].Kind, w.Code, w.Body, tt.want)
		}
	}
	// codex exec --output-schema is a person's wish.
	s := New()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/responses",
		strings.NewReader(`{"input":"SCRIPT: text {\"a\":7}","text":{"format":{"type":"json_schema","schema":{"type":"object"}}}}`)))
	if !strings.Contains(w.Body.String(), `{\"a\":7}`) {
		t.Errorf("a script under a schema: got %s", w.Body)
	}
}

func TestOtherRequests(t *testing.T) {
	for _, tt := range []struct {
		method, path, body string
		status             int
		kind               Kind
		want               string
	}{
		{"GET", "/v1/models", "", 200, KindModels, `"id":"scripted-1"`},
		{"GET", "/v1/models/any", "", 200, KindModels, `"id":"any"`},
		{"GET", "/v1beta/models", "", 200, KindModels, `"name":"models/scripted-1"`},
		{"POST", "/v1/messages/count_tokens?beta=true", "12345678", 200, KindCount, `{"input_tokens":3}`},
		{"POST", "/v1beta/models/m:countTokens", "12345678", 200, KindCount, `{"totalTokens":3}`},
		{"POST", "/v1beta/models/m:embedContent", "{}", 404, KindUnknown, "does not serve POST"},
		{"GET", "/favicon.ico", "", 404, KindUnknown, "does not serve GET"},
		{"POST", "/script/nothing", "", 404, KindUnknown, "does not serve"},
		{"POST", "/v1/responses", "{", 400, KindUnknown, "decoding the request"},
		{"POST", "/v1/messages", `{"messages":7}`, 400, KindUnknown, `"type":"invalid_request_error"`},
		{"POST", "/v1/chat/completions", strings.Repeat(" ", maxBody+1), 413, KindUnknown, "too large"},
	} {
		s := New()
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body)))
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s: got %d %s, want %d with %s", tt.method, tt.path, w.Code, w.Body, tt.status, tt.want)
		}
		if got := s.Requests()[0].Kind; got != tt.kind {
			t.Errorf("%s %s: recorded as %s, want %s", tt.method, tt.path, got, tt.kind)
		}
	}
}

func TestControlRequests(t *testing.T) {
	l := start(t)
	if _, _, err := post(t.Context(), l.URL, "SCRIPT: text a", true); err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(l.URL + "/script/requests")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct {
		Requests []struct {
			Script, API, Ending string
		}
	}
	if err := json.UnmarshalRead(resp.Body, &got, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if len(got.Requests) != 1 || got.Requests[0].Script != "text a" || got.Requests[0].API != "chat" {
		t.Errorf("got %+v, want the one request", got)
	}
}

// Equal requests in equal order get equal bytes, and call ids never repeat.
func TestSameAgain(t *testing.T) {
	play := func() string {
		s := New()
		var b strings.Builder
		for range 2 {
			for _, e := range endpoints() {
				b.WriteString(e.ask(t, s, "SCRIPT: shell ls ++ shell pwd", false).Body.String())
			}
		}
		return b.String()
	}
	first := play()
	if second := play(); first != second {
		t.Errorf("got\n%s\nand then\n%s", first, second)
	}
	seen := map[string]bool{}
	for _, f := range strings.FieldsFunc(first, func(r rune) bool { return r == '"' }) {
		if _, ok := stepOf(f); ok {
			if seen[f] {
				t.Errorf("call id %s came twice", f)
			}
			seen[f] = true
		}
	}
	if len(seen) != 12 { // two calls, three APIs with ids, twice
		t.Errorf("%d call ids, want 12", len(seen))
	}
}

// Whatever a client sends, it gets an answer.
func FuzzRequest(f *testing.F) {
	for _, e := range endpoints() {
		body, err := json.Marshal(e.body("SCRIPT: shell ls ++ text a ;; text b", true))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e.path(true), body)
	}
	f.Add("/v1/messages", []byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"SCRIPT: read a"}]}],"tools":[{"name":"Read","input_schema":true}]}`))
	f.Add("/v1/responses", []byte(`{"input":[{"type":"additional_tools","tools":[{"type":"namespace","name":"x","tools":[{"type":"custom","name":"exec"}]}]}]}`))
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		s := New()
		s.Close() // so that hang, hold and wait end at once
		r := httptest.NewRequest(http.MethodPost, "http://model/", bytes.NewReader(body))
		r.URL.Path = path
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if v := recover(); v != nil && v != http.ErrAbortHandler {
					panic(v)
				}
			}()
			s.ServeHTTP(w, r)
		}()
		if strings.HasPrefix(path, "/script/") {
			return
		}
		if n := len(s.Requests()); n != 1 || s.Requests()[0].Ending == EndRunning {
			t.Fatalf("POST %q: %d records, %+v", path, n, s.Requests())
		}
	})
}
