package uplink_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/uplink"
	"github.com/agenthost/agenthost/relay/wire"
)

// fakeRelay takes what an uplink sends, slowly if told so.
type fakeRelay struct {
	t    *testing.T
	http *httptest.Server
	// scheme is that of the URL it is dialled by.
	scheme string
	// gate, when not nil, lets one append through for each token.
	gate chan struct{}

	mu       sync.Mutex
	lines    map[string][]string
	base     map[string]int64 // position of the first line
	meta     map[string]wire.Session
	closed   []string
	inflight int
	files    map[string]string
	conn     *peer.Conn
}

func newFakeRelay(t *testing.T) *fakeRelay {
	r := &fakeRelay{t: t, lines: map[string][]string{}, base: map[string]int64{}, meta: map[string]wire.Session{}, files: map[string]string{}, inflight: 4, scheme: "ws"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+wire.HostPath, r.serve)
	mux.HandleFunc("POST "+wire.HostFilesPath, func(w http.ResponseWriter, req *http.Request) {
		data, _ := io.ReadAll(req.Body)
		var p wire.UploadParams
		if err := wire.Unmarshal(data, &p); err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if _, ok := r.files[p.Ref]; ok {
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"code":"conflict","message":"there"}`))
			return
		}
		r.files[p.Ref] = ""
		w.WriteHeader(http.StatusCreated)
	})
	mux.HandleFunc(wire.HostFilesPath+"/{ref}", func(w http.ResponseWriter, req *http.Request) {
		ref := req.PathValue("ref")
		data, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		if req.Method == http.MethodPatch {
			if req.Header.Get("Upload-Offset") != fmt.Sprint(len(r.files[ref])) {
				t.Errorf("offset %s, want %d", req.Header.Get("Upload-Offset"), len(r.files[ref]))
			}
			r.files[ref] += string(data)
			return
		}
		w.Header().Set("Upload-Offset", fmt.Sprint(len(r.files[ref])))
		w.Header().Set("Upload-Length", fmt.Sprint(len(r.files[ref])))
		_, _ = io.WriteString(w, r.files[ref])
	})
	r.http = httptest.NewServer(mux)
	t.Cleanup(r.http.Close)
	return r
}

func (r *fakeRelay) serve(w http.ResponseWriter, req *http.Request) {
	conn, err := peer.Accept(w, req, peer.Options{Ordered: wire.Ordered})
	if err != nil {
		return
	}
	r.mu.Lock()
	r.conn = conn
	r.mu.Unlock()
	_ = conn.Serve(context.WithoutCancel(req.Context()), r.handle)
}

func (r *fakeRelay) handle(ctx context.Context, method string, params jsontext.Value) (any, error) {
	switch method {
	case wire.HostHello:
		return wire.Welcome{Protocol: wire.Protocol, Limits: wire.Limits{Inflight: r.inflight}}, nil
	case wire.SessionOpen:
		var p wire.OpenParams
		if err := wire.UnmarshalStream(params, &p); err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		id := p.Session.ID
		if r.meta[id].Version < p.Session.Version {
			r.meta[id] = p.Session
		}
		return wire.OpenResult{Next: r.base[id] + int64(len(r.lines[id])), Version: r.meta[id].Version}, nil
	case wire.SessionAppend:
		return r.append(ctx, params)
	case wire.SessionMetadata:
		var p wire.MetadataParams
		if err := wire.UnmarshalStream(params, &p); err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if has := r.meta[p.Session.ID]; has.Version != p.Expect {
			return nil, wire.Errorf(wire.CodeConflict, "other version").WithData(has)
		}
		r.meta[p.Session.ID] = p.Session
		return wire.MetadataResult{Version: p.Session.Version}, nil
	case wire.SessionClose:
		var p wire.CloseParams
		if err := wire.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.closed = append(r.closed, p.Session)
		return struct{}{}, nil
	}
	return nil, nil
}

func (r *fakeRelay) append(ctx context.Context, params jsontext.Value) (any, error) {
	var p wire.AppendParams
	if err := wire.UnmarshalStream(params, &p); err != nil {
		return nil, err
	}
	if r.gate != nil {
		select {
		case <-r.gate:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.base[p.Session] + int64(len(r.lines[p.Session]))
	if p.Reset && len(r.lines[p.Session]) == 0 {
		r.base[p.Session] = p.Position
		next = p.Position
	}
	if p.Position > next {
		return nil, wire.Errorf(wire.CodeGap, "gap").WithData(wire.AppendResult{Next: next})
	}
	for i, line := range p.Envelopes {
		if p.Position+int64(i) >= next {
			r.lines[p.Session] = append(r.lines[p.Session], string(line))
		}
	}
	return wire.AppendResult{Next: r.base[p.Session] + int64(len(r.lines[p.Session]))}, nil
}

func (r *fakeRelay) has(session string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.lines[session])
}

// fakeHost is a Source with one journal a session.
type fakeHost struct {
	mu       sync.Mutex
	changed  chan struct{}
	sessions map[string]*wire.Session
	lines    map[string][]string
	oldest   map[string]int64
	given    int // lines that streams gave and no append has taken
	files    map[string]string
	streams  int // that are read
	opened   int // streams so far
	call     func(caller wire.Caller, method string, params jsontext.Value) (jsontext.Value, error)
}

func newFakeHost() *fakeHost {
	return &fakeHost{changed: make(chan struct{}), sessions: map[string]*wire.Session{}, lines: map[string][]string{}, oldest: map[string]int64{}, files: map[string]string{}}
}

func (h *fakeHost) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *fakeHost) add(session string, lines ...string) {
	h.change(func() {
		if h.sessions[session] == nil {
			h.sessions[session] = &wire.Session{ID: session, Version: 1}
		}
		h.lines[session] = append(h.lines[session], lines...)
		h.sessions[session].End = int64(len(h.lines[session]))
	})
}

func (h *fakeHost) Hosts(context.Context) ([]wire.Host, error) {
	return []wire.Host{{ID: "laptop"}}, nil
}

func (h *fakeHost) WatchSessions(ctx context.Context, _ wire.SessionsParams) ([]wire.Session, iter.Seq2[wire.SessionsPush, error], error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	told := map[string]int64{}
	var list []wire.Session
	for id, s := range h.sessions {
		list = append(list, *s)
		told[id] = s.Version
	}
	return list, func(yield func(wire.SessionsPush, error) bool) {
		for {
			h.mu.Lock()
			wait := h.changed
			var out []wire.SessionsPush
			for id, s := range h.sessions {
				if told[id] != s.Version {
					told[id] = s.Version
					meta := *s
					out = append(out, wire.SessionsPush{Session: &meta})
				}
			}
			for id := range told {
				if h.sessions[id] == nil {
					delete(told, id)
					out = append(out, wire.SessionsPush{Removed: id})
				}
			}
			h.mu.Unlock()
			for _, p := range out {
				if !yield(p, nil) {
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-wait:
			}
		}
	}, nil
}

func (h *fakeHost) Stream(ctx context.Context, session string, from wire.Position) (iter.Seq2[gateway.Item, error], error) {
	return func(yield func(gateway.Item, error) bool) {
		h.mu.Lock()
		h.streams++
		h.opened++
		h.mu.Unlock()
		defer func() {
			h.mu.Lock()
			h.streams--
			h.mu.Unlock()
		}()
		next := from
		for {
			h.mu.Lock()
			wait, lines, oldest := h.changed, h.lines[session], h.oldest[session]
			h.mu.Unlock()
			if next < oldest {
				next = oldest
				if !yield(gateway.Item{Position: next, Reset: true}, nil) {
					return
				}
			}
			for ; next < int64(len(lines)); next++ {
				h.mu.Lock()
				h.given++
				h.mu.Unlock()
				if !yield(gateway.Item{Position: next, Line: []byte(lines[next])}, nil) {
					return
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-wait:
			}
		}
	}, nil
}

func (h *fakeHost) Call(_ context.Context, caller wire.Caller, method string, params jsontext.Value) (jsontext.Value, error) {
	return h.call(caller, method, params)
}

func (h *fakeHost) Create(_ context.Context, _ wire.Caller, p wire.UploadParams) (wire.Upload, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ref := fmt.Sprintf("local%d", len(h.files))
	h.files[ref] = ""
	return wire.Upload{Ref: ref, Size: p.Size}, nil
}

func (h *fakeHost) Append(_ context.Context, ref string, _ int64, r io.Reader) (wire.Upload, error) {
	data, err := io.ReadAll(r)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files[ref] += string(data)
	n := int64(len(h.files[ref]))
	return wire.Upload{Ref: ref, Size: n, Offset: n}, err
}

func (h *fakeHost) Stat(_ context.Context, ref string) (wire.Upload, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, ok := h.files[ref]
	if !ok {
		return wire.Upload{}, wire.Errorf(wire.CodeNotFound, "no file %q", ref)
	}
	return wire.Upload{Ref: ref, Name: ref, Size: int64(len(f)), Offset: int64(len(f))}, nil
}

func (h *fakeHost) Open(ctx context.Context, ref string) (io.ReadCloser, wire.Upload, error) {
	u, err := h.Stat(ctx, ref)
	h.mu.Lock()
	defer h.mu.Unlock()
	return io.NopCloser(strings.NewReader(h.files[ref])), u, err
}

func start(t *testing.T, h *fakeHost, r *fakeRelay, dir string, profile contract.Profile) (stop func()) {
	t.Helper()
	u, err := uplink.New(uplink.Options{
		URL: strings.Replace(r.http.URL, "http", r.scheme, 1), Token: func() (string, error) { return "t", nil }, Source: h,
		StateDir: dir, Profile: profile, MinWait: time.Millisecond, MaxWait: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- u.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1500 {
		if ok() {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatalf("waited too long for %s", what)
}

func numbered(from, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(`{"n":%d,"text":%q}`, from+i, strings.Repeat("d", 400))
	}
	return out
}

func check(t *testing.T, r *fakeRelay, session string, want []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.lines[session]
	if len(got) != len(want) {
		t.Fatalf("the relay has %d envelopes, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("envelope %d is %.60s, want %.60s", i, got[i], want[i])
		}
	}
}

// B195: the relay is away while 100,000 envelopes are made; then it takes them in small
// steps. What is under way is bounded, since the journal keeps the rest.
func TestOutage(t *testing.T) {
	r, h := newFakeRelay(t), newFakeHost()
	r.gate = make(chan struct{})
	want := numbered(0, 100_000)
	h.add("s", want...)
	start(t, h, r, t.TempDir(), "")
	// As much as the relay takes unanswered, a batch being made and one piece each in
	// three hands.
	const bound = (4+2)*256 + 256 + 3
	for i := range 3 {
		until(t, "the uplink to be stuck", func() bool {
			h.mu.Lock()
			before := h.given
			h.mu.Unlock()
			<-time.After(20 * time.Millisecond)
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.given == before && before > 0
		})
		h.mu.Lock()
		if under := h.given - r.has("s"); under > bound {
			t.Errorf("%d envelopes are under way, want at most %d", under, bound)
		}
		h.mu.Unlock()
		if i < 2 {
			r.gate <- struct{}{}
		}
	}
	close(r.gate)
	until(t, "the rest", func() bool { return r.has("s") == len(want) })
	check(t, r, "s", want)
}

// B070: position 0 is a position. B080: what the relay has already counts as sent.
func TestFromZeroAndAgain(t *testing.T) {
	r, h := newFakeRelay(t), newFakeHost()
	dir := t.TempDir()
	want := numbered(0, 5)
	h.add("s", want[0])
	stop := start(t, h, r, dir, "")
	until(t, "the first", func() bool { return r.has("s") == 1 })
	stop()
	// The answer to it was lost: the cursor says nothing was sent.
	if err := os.WriteFile(filepath.Join(dir, "s.cursor"), []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.add("s", want[1:]...)
	start(t, h, r, dir, "")
	until(t, "the others", func() bool { return r.has("s") == 5 })
	check(t, r, "s", want)
}

// A relay that lost everything is told everything; one that is told of a session which
// was removed while it was away forgets it.
func TestLostAndRemoved(t *testing.T) {
	r, h := newFakeRelay(t), newFakeHost()
	dir := t.TempDir()
	want := numbered(0, 50)
	h.add("s", want...)
	h.add("old", want[:1]...)
	stop := start(t, h, r, dir, "")
	until(t, "both", func() bool { return r.has("s") == 50 && r.has("old") == 1 })
	stop()
	r.mu.Lock()
	r.lines["s"] = nil
	r.mu.Unlock()
	h.change(func() { delete(h.sessions, "old") })
	start(t, h, r, dir, "")
	until(t, "everything again", func() bool { return r.has("s") == 50 })
	check(t, r, "s", want)
	until(t, "the removal", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.closed) == 1 && r.closed[0] == "old"
	})
	if _, err := os.Stat(filepath.Join(dir, "old.cursor")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cursor of the removed session is there: %v", err)
	}
}

// What the host's retention took before the relay had it is told as a reset.
func TestTrimmed(t *testing.T) {
	r, h := newFakeRelay(t), newFakeHost()
	h.oldest["s"] = 30
	h.add("s", numbered(0, 50)...)
	start(t, h, r, t.TempDir(), "")
	until(t, "the rest", func() bool { return r.has("s") == 20 })
	check(t, r, "s", numbered(30, 20))
	if r.base["s"] != 30 {
		t.Errorf("it begins at %d, want 30", r.base["s"])
	}
}

// A stopped session that the relay has whole is not followed, until it goes on.
func TestResting(t *testing.T) {
	r, h := newFakeRelay(t), newFakeHost()
	want := numbered(0, 20)
	h.add("s", want[:10]...)
	h.change(func() { h.sessions["s"].State = wire.StateStopped })
	following := func(n int) func() bool {
		return func() bool {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.streams == n
		}
	}
	stop := start(t, h, r, t.TempDir(), "")
	until(t, "the first half", func() bool { return r.has("s") == 10 })
	until(t, "the stream being left", following(0))
	h.change(func() { h.sessions["s"].State, h.sessions["s"].Version = wire.StateRunning, 2 })
	until(t, "the stream being followed", following(1))
	h.add("s", want[10:]...)
	h.change(func() { h.sessions["s"].State, h.sessions["s"].Version = wire.StateStopped, 3 })
	until(t, "the second half", func() bool { return r.has("s") == 20 })
	until(t, "the stream being left again", following(0))
	until(t, "the state", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.meta["s"].Version == 3
	})
	check(t, r, "s", want)
	stop()
	// It is whole there already.
	before := h.opened
	start(t, h, r, t.TempDir(), "")
	h.change(func() { h.sessions["s"].Title, h.sessions["s"].Version = "new", 4 })
	until(t, "the title", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.meta["s"].Title == "new"
	})
	if h.opened != before {
		t.Errorf("it was followed %d times though the relay has it all", h.opened-before)
	}
}

func TestMetadata(t *testing.T) {
	r, h := newFakeRelay(t), newFakeHost()
	r.meta["s"] = wire.Session{ID: "s", Version: 40} // another word of an earlier life
	h.add("s", numbered(0, 1)...)
	start(t, h, r, t.TempDir(), "")
	until(t, "the envelope", func() bool { return r.has("s") == 1 })
	h.change(func() { h.sessions["s"].Title, h.sessions["s"].Version = "two", 2 })
	until(t, "the title", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.meta["s"].Title == "two"
	})
}

func TestStrictProfile(t *testing.T) {
	r, h := newFakeRelay(t), newFakeHost()
	h.add("s", `{"id":"tz4a98xxat96iws9zmbrgj3a","time":1,"role":"agent","origin":"x","ev":{"t":"service","text":"hi","kind":"notice"}}`)
	start(t, h, r, t.TempDir(), contract.ProfileStrict)
	until(t, "the envelope", func() bool { return r.has("s") == 1 })
	check(t, r, "s", []string{`{"id":"tz4a98xxat96iws9zmbrgj3a","time":1,"role":"agent","ev":{"t":"service","text":"hi"}}`})
}

// Files that people send are brought here, those that a stream names are given.
func TestFiles(t *testing.T) {
	for _, scheme := range []string{"ws", "http"} {
		t.Run(scheme, func(t *testing.T) { filesBothWays(t, scheme) })
	}
}

func filesBothWays(t *testing.T, scheme string) {
	r, h := newFakeRelay(t), newFakeHost()
	r.scheme = scheme
	r.files["remote1"] = "a picture"
	h.files["mine"] = "a plot"
	var got wire.SendParams
	var who wire.Caller
	h.call = func(caller wire.Caller, _ string, params jsontext.Value) (jsontext.Value, error) {
		who = caller
		return jsontext.Value("{}"), wire.Unmarshal(params, &got)
	}
	h.add("s", `{"id":"a","time":1,"role":"agent","turn":"t","ev":{"t":"file","ref":"mine","name":"plot.png","size":6}}`)
	start(t, h, r, t.TempDir(), "")
	until(t, "the file of the stream", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.files["mine"] == "a plot"
	})
	r.mu.Lock()
	conn := r.conn
	r.mu.Unlock()
	send := wire.Command{
		Caller: wire.Caller{TokenID: "tok", Scope: wire.ScopeControl},
		Params: jsontext.Value(`{"session":"s","text":"look","files":[{"ref":"remote1","name":"p.png"}],"newer":1}`),
	}
	if err := conn.Call(t.Context(), wire.SessionSend, send, nil); err != nil {
		t.Fatal(err)
	}
	if len(got.Files) != 1 || h.files[got.Files[0].Ref] != "a picture" || got.Text != "look" {
		t.Errorf("the host got %+v", got)
	}
	if who.TokenID != "tok" || who.Local {
		t.Errorf("for the caller %+v", who)
	}
	send.Params = jsontext.Value(`{"session":"s","text":"look","text":"again"}`)
	var e *wire.Error
	if err := conn.Call(t.Context(), wire.SessionSend, send, nil); !errors.As(err, &e) || e.Code != wire.CodeInvalid {
		t.Errorf("a member twice = %v, want invalid", err)
	}
	if err := conn.Call(t.Context(), wire.SessionSubscribe, send, nil); !errors.As(err, &e) || e.Code != wire.CodeUnknownMethod {
		t.Errorf("what is no command = %v, want unknown_method", err)
	}
}

func TestOptions(t *testing.T) {
	for _, url := range []string{"", "relay", "ftp://relay", "wss://relay?token=x", "wss://me:pw@relay"} {
		if _, err := uplink.New(uplink.Options{URL: url, StateDir: t.TempDir()}); err == nil || strings.Contains(err.Error(), "pw@") {
			t.Errorf("URL %q: %v, want an error without the password", url, err)
		}
	}
}
