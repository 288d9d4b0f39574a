package server_test

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agenthost/agenthost/relay/peer"
	"github.com/agenthost/agenthost/relay/server"
	"github.com/agenthost/agenthost/relay/store"
	"github.com/agenthost/agenthost/relay/wire"
)

func code(err error) wire.Code {
	var e *wire.Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code
}

// follow reads n envelopes of a session as a viewer, from the beginning, and checks
// that each is there once and in order.
func follow(t *testing.T, r *relay, token, session string, n, size int) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	stream, err := r.viewer(t, token).Backend.Stream(ctx, session, 0)
	if err != nil {
		return err
	}
	next := 0
	for item, err := range stream {
		if err != nil {
			return err
		}
		if item.Line == nil {
			continue
		}
		if want := envelope(session, next, size); item.Position != int64(next) || string(item.Line) != want {
			return fmt.Errorf("got position %d %.60s, want %d %.60s", item.Position, item.Line, next, want)
		}
		if next++; next == n {
			return nil
		}
	}
	return fmt.Errorf("the stream ended at %d of %d", next, n)
}

// The connection is cut again and again while sessions are written to; viewers have
// each envelope once.
func TestCuts(t *testing.T) {
	r := startRelay(t)
	p := newProxy(t, r.http.URL)
	h := newFakeHost("laptop")
	const sessions, batches, per, size = 3, 200, 20, 30
	for i := range sessions {
		h.add(fmt.Sprintf("session%d", i), 1, size)
	}
	connect(t, h, p.url(), r.token(t, "acme", wire.ScopeHost))
	view := r.token(t, "acme", wire.ScopeView)
	until(t, "the sessions", func() bool {
		list, _ := r.viewer(t, view).Backend.Sessions(t.Context(), wire.SessionsParams{})
		return len(list) == sessions
	})
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			if err := follow(t, r, view, fmt.Sprintf("session%d", i), 1+batches*per, size); err != nil {
				t.Errorf("session%d: %v", i, err)
			}
		})
	}
	for b := range batches {
		for i := range sessions {
			h.add(fmt.Sprintf("session%d", i), per, size)
		}
		p.cut()
		if b%10 == 9 {
			// Let something through now and then.
			next, err := tenantOf(t, r, "acme").Next(t.Context(), "session0")
			if err != nil {
				t.Fatal(err)
			}
			until(t, "progress", func() bool {
				now, _ := tenantOf(t, r, "acme").Next(t.Context(), "session0")
				return now > next || now == int64(1+(b+1)*per)
			})
		}
	}
	wg.Wait()
}

func tenantOf(t *testing.T, r *relay, name string) *store.Tenant {
	t.Helper()
	tn, err := r.store.Tenant(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return tn
}

// Long envelopes go through, and small ones do not wait for a person's decision behind
// them.
func TestLongEnvelopes(t *testing.T) {
	r := startRelay(t)
	h := newFakeHost("laptop")
	const size = 3 << 20
	h.add("long1", 5, size)
	connect(t, h, r.http.URL, r.token(t, "acme", wire.ScopeHost))
	view := r.token(t, "acme", wire.ScopeView)
	until(t, "the session", func() bool {
		_, err := r.viewer(t, view).Backend.Session(t.Context(), "long1")
		return err == nil
	})
	if err := follow(t, r, view, "long1", 5, size); err != nil {
		t.Error(err)
	}
}

// One store, two processes: the host is at one, the viewer at the other.
func TestTwoProcesses(t *testing.T) {
	a := startRelay(t)
	second, err := store.Open(t.Context(), a.store.Conn(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Close)
	b := serveStore(t, second)
	h := newFakeHost("laptop")
	var got wire.Caller
	h.call = func(_ context.Context, c wire.Caller, method string, params jsontext.Value) (jsontext.Value, error) {
		got = c
		return wire.Marshal(struct {
			Method string `json:"method"`
			Params string `json:"params"`
		}{method, string(params)})
	}
	h.add("session1", 10, 5)
	connect(t, h, a.http.URL, a.token(t, "acme", wire.ScopeHost))
	control := a.token(t, "acme", wire.ScopeControl)
	v := b.viewer(t, control)
	until(t, "the session at the other process", func() bool {
		_, err := v.Backend.Session(t.Context(), "session1")
		return err == nil
	})
	if err := follow(t, b, control, "session1", 10, 5); err != nil {
		t.Error(err)
	}
	// What a viewer says of who it is is not passed on as such.
	result, err := v.Backend.Call(t.Context(), v.Caller, wire.SessionAbort, jsontext.Value(`{"session":"sess","caller":{"scope":"admin"},"new":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"method":"session.abort","params":"{\"caller\":{\"scope\":\"admin\"},\"new\":1,\"session\":\"session1\"}"}`; string(result) != want {
		t.Errorf("the host got %s, want %s", result, want)
	}
	if got.Scope != wire.ScopeControl || got.TokenID != v.Caller.TokenID || got.Local {
		t.Errorf("the host was told of %+v, want %+v", got, v.Caller)
	}
	// Live text is not stored, and arrives.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	stream, err := v.Backend.Stream(ctx, "session1", 10)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				h.change(func() {
					s := h.sessions["session1"]
					s.live = append(s.live, wire.Live{Delta: &wire.Delta{Text: "hi"}})
				})
			}
		}
	}()
	for item, err := range stream {
		if err != nil {
			t.Fatal(err)
		}
		if item.Live != nil && item.Live.Delta.Text == "hi" {
			close(stop)
			return
		}
	}
	t.Error("no live text came")
}

func TestCommandErrors(t *testing.T) {
	r := startRelay(t)
	h := newFakeHost("laptop")
	h.add("session1", 1, 1)
	entered, release := make(chan struct{}, 1), make(chan struct{})
	h.call = func(ctx context.Context, _ wire.Caller, method string, _ jsontext.Value) (jsontext.Value, error) {
		switch method {
		case wire.SessionDecide:
			return nil, wire.Errorf(wire.CodeStale, "late").WithData(wire.Ask{Call: "c"})
		case wire.SessionOp:
			entered <- struct{}{}
			<-release
		case wire.SessionStop:
			return nil, errors.New("a secret of the host")
		}
		return jsontext.Value("{}"), nil
	}
	p := newProxy(t, r.http.URL)
	_, stop := connect(t, h, p.url(), r.token(t, "acme", wire.ScopeHost))
	view, control := r.viewer(t, r.token(t, "acme", wire.ScopeView)), r.viewer(t, r.token(t, "acme", wire.ScopeControl))
	until(t, "the session", func() bool {
		_, err := view.Backend.Session(t.Context(), "session1")
		return err == nil
	})
	call := func(method, params string) error {
		_, err := control.Backend.Call(t.Context(), control.Caller, method, jsontext.Value(params))
		return err
	}
	if _, err := view.Backend.Call(t.Context(), view.Caller, wire.SessionAbort, jsontext.Value(`{"session":"session1"}`)); code(err) != wire.CodeForbidden {
		t.Errorf("aborting with the scope view = %v", err)
	}
	for _, c := range []struct {
		method, params string
		want           wire.Code
	}{
		{wire.SessionDecide, `{"session":"session1","call":"c"}`, wire.CodeStale},
		{wire.SessionStop, `{"session":"session1"}`, wire.CodeInternal},
		{wire.SessionAbort, `{"session":"nothere"}`, wire.CodeNotFound},
		{wire.SessionAbort, `{"session":"ses"}`, wire.CodeNotFound}, // too short a prefix
		{wire.SessionAbort, `{"session":7}`, wire.CodeInvalid},
		{wire.SessionAbort, `{"session":""}`, wire.CodeInvalid},
		{wire.SessionAbort, `{}`, wire.CodeInvalid},
		{wire.SessionAbort, `{"session":"session1","session":"x"}`, wire.CodeInvalid},
		{wire.SessionAbort, `[`, wire.CodeInvalid},
		{wire.SessionRemove, `{"session":"session1"}`, wire.CodeForbidden}, // admin
		{wire.SessionAppend, `{"session":"session1"}`, wire.CodeUnknownMethod},
		{"session.shell", `{}`, wire.CodeUnknownMethod},
		{wire.SessionSpawn, `{"host":"other","agent":"x"}`, wire.CodeHostOffline},
	} {
		err := call(c.method, c.params)
		if code(err) != c.want || strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%s %s = %v, want %s", c.method, c.params, err, c.want)
		}
	}
	// The connection breaks while the host works: nobody knows.
	failed := make(chan error, 1)
	go func() { failed <- call(wire.SessionOp, `{"session":"session1","name":"rewind"}`) }()
	<-entered
	p.setDown(true)
	if err := <-failed; code(err) != wire.CodeUnknown {
		t.Errorf("a call whose connection broke = %v, want unknown_outcome", err)
	}
	close(release)
	stop()
	until(t, "the host being away", func() bool {
		hosts, _ := view.Backend.Hosts(t.Context())
		return len(hosts) == 1 && !hosts[0].Online
	})
	err := call(wire.SessionAbort, `{"session":"session1"}`)
	var e *wire.Error
	if !errors.As(err, &e) || e.Code != wire.CodeHostOffline {
		t.Fatalf("a call to an absent host = %v", err)
	}
	var away wire.Host
	if err := json.Unmarshal(e.Data, &away); err != nil || away.ID != "laptop" || away.LastSeen == 0 || away.Online {
		t.Errorf("its data is %s, %v", e.Data, err)
	}
}

// A message for an absent host is kept when its sender says so, and reaches the host
// once, before anything newer.
func TestKept(t *testing.T) {
	r := startRelay(t)
	h := newFakeHost("laptop")
	h.add("session1", 1, 1)
	var mu sync.Mutex
	var texts []string
	var cut atomic.Bool
	p := newProxy(t, r.http.URL)
	h.call = func(_ context.Context, _ wire.Caller, _ string, params jsontext.Value) (jsontext.Value, error) {
		var s wire.SendParams
		if err := wire.Unmarshal(params, &s); err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		if s.ID == "" {
			return nil, wire.Errorf(wire.CodeInvalid, "no id")
		}
		texts = append(texts, s.Text)
		if cut.CompareAndSwap(true, false) {
			p.cut() // after it took the message, before anybody knows
		}
		return wire.Marshal(wire.SentResult{ID: s.ID})
	}
	host := r.token(t, "acme", wire.ScopeHost)
	_, stop := connect(t, h, p.url(), host)
	v := r.viewer(t, r.token(t, "acme", wire.ScopeControl))
	online := func() bool {
		hosts, _ := v.Backend.Hosts(t.Context())
		return len(hosts) == 1 && hosts[0].Online
	}
	until(t, "the session", func() bool {
		_, err := v.Backend.Session(t.Context(), "session1")
		return err == nil
	})
	stop()
	until(t, "the host being away", func() bool { return !online() })
	send := func(text string, queue bool) (wire.SentResult, error) {
		raw, err := v.Backend.Call(t.Context(), v.Caller, wire.SessionSend, jsontext.Value(fmt.Sprintf(`{"session":"session1","text":%q,"queue":%t}`, text, queue)))
		var res wire.SentResult
		if err == nil {
			err = json.Unmarshal(raw, &res)
		}
		return res, err
	}
	if _, err := send("lost", false); code(err) != wire.CodeHostOffline {
		t.Errorf("a message that is not to be kept = %v", err)
	}
	for _, text := range []string{"one", "two"} {
		if res, err := send(text, true); err != nil || !res.Kept || res.ID == "" {
			t.Errorf("keeping %s = %+v, %v", text, res, err)
		}
	}
	cut.Store(true)
	connect(t, h, p.url(), host)
	got := func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(texts, " ")
	}
	// The first is handed out again after the cut: the host knows it by its id.
	until(t, "the messages", func() bool { return got() == "one one two" })
}

// A newer connection of a host ends the older one.
func TestTakeOver(t *testing.T) {
	r := startRelay(t)
	token := r.token(t, "acme", wire.ScopeHost)
	first, second := newFakeHost("laptop"), newFakeHost("laptop")
	first.add("session1", 1, 1)
	answer := func(who string) func(context.Context, wire.Caller, string, jsontext.Value) (jsontext.Value, error) {
		return func(context.Context, wire.Caller, string, jsontext.Value) (jsontext.Value, error) {
			return jsontext.Value(`"` + who + `"`), nil
		}
	}
	first.call, second.call = answer("first"), answer("second")
	u, stop := connect(t, first, r.http.URL, token)
	v := r.viewer(t, r.token(t, "acme", wire.ScopeControl))
	ask := func() string {
		raw, err := v.Backend.Call(t.Context(), v.Caller, wire.SessionAbort, jsontext.Value(`{"session":"session1"}`))
		if err != nil {
			return err.Error()
		}
		return string(raw)
	}
	until(t, "the first", func() bool { return ask() == `"first"` })
	connect(t, second, r.http.URL, token)
	until(t, "the first being put out", func() bool { return !u.Status().Connected || ask() == `"second"` })
	stop()
	until(t, "the second", func() bool { return ask() == `"second"` })
}

// Hosts cannot write what is another's.
func TestForeignSessions(t *testing.T) {
	r := startRelay(t)
	mine, other := newFakeHost("mine"), newFakeHost("other")
	mine.add("session1", 3, 1)
	token := r.token(t, "acme", wire.ScopeHost)
	connect(t, mine, r.http.URL, token)
	view := r.token(t, "acme", wire.ScopeView)
	until(t, "the session", func() bool {
		_, err := r.viewer(t, view).Backend.Session(t.Context(), "session1")
		return err == nil
	})
	if err := follow(t, r, view, "session1", 3, 1); err != nil {
		t.Fatal(err)
	}
	other.add("session1", 9, 1)
	other.add("session2", 1, 1)
	connect(t, other, r.http.URL, token)
	until(t, "the other host's own session", func() bool {
		_, err := r.viewer(t, view).Backend.Session(t.Context(), "session2")
		return err == nil
	})
	s, err := r.viewer(t, view).Backend.Session(t.Context(), "session1")
	if err != nil || s.Host != "mine" {
		t.Errorf("the session is one of %s now, %v", s.Host, err)
	}
	if next, err := tenantOf(t, r, "acme").Next(t.Context(), "session1"); next != 3 || err != nil {
		t.Errorf("it has %d envelopes, %v; want 3", next, err)
	}
	// What its host removes is gone, and what it removed while away too.
	mine.change(func() { delete(mine.sessions, "session1") })
	until(t, "the removal", func() bool {
		_, err := r.viewer(t, view).Backend.Session(t.Context(), "session1")
		return code(err) == wire.CodeNotFound
	})
}

func (r *relay) do(t *testing.T, method, path, token, contentType, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.http.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

const asJSON = "application/json"

func TestTokensOverHTTP(t *testing.T) {
	r := startRelay(t)
	operator, admin := r.token(t, server.Operator, wire.ScopeAdmin), r.token(t, "acme", wire.ScopeAdmin)
	control, view, host := r.token(t, "acme", wire.ScopeControl), r.token(t, "acme", wire.ScopeView), r.token(t, "acme", wire.ScopeHost)
	for _, c := range []struct {
		name, method, path, token, typ, body string
		want                                 int
		holds                                string
	}{
		{"no token", "GET", "/v1/tokens", "", "", "", 401, "unauthorized"},
		{"a wrong token", "GET", "/v1/tokens", "aht_wrong", "", "", 401, "unauthorized"},
		{"view", "GET", "/v1/tokens", view, "", "", 403, "forbidden"},
		{"control", "POST", "/v1/tokens", control, asJSON, `{"scope":"view"}`, 403, "forbidden"},
		{"a host", "POST", "/v1/tokens", host, asJSON, `{"scope":"view"}`, 403, "forbidden"},
		{"an admin", "GET", "/v1/tokens", admin, "", "", 200, `"tenant":"acme"`},
		{"an admin makes one", "POST", "/v1/tokens", admin, asJSON, `{"scope":"view","name":"phone","ttlMs":1000}`, 201, `"secret":"aht_`},
		{"another tenant", "POST", "/v1/tokens", admin, asJSON, `{"scope":"view","tenant":"other"}`, 403, "forbidden"},
		{"the operator", "POST", "/v1/tokens", operator, asJSON, `{"scope":"admin","tenant":"other"}`, 201, `"tenant":"other"`},
		{"the operator without a tenant", "POST", "/v1/tokens", operator, asJSON, `{"scope":"host"}`, 400, "tenant"},
		{"a code of the operator without a tenant", "POST", "/v1/pairings", operator, asJSON, `{"scope":"control"}`, 400, "tenant"},
		{"another token of the operator", "POST", "/v1/tokens", operator, asJSON, `{"scope":"admin"}`, 201, server.Operator},
		{"a bad scope", "POST", "/v1/tokens", admin, asJSON, `{"scope":"root"}`, 400, "want one of"},
		{"a bad tenant", "POST", "/v1/tokens", operator, asJSON, `{"scope":"view","tenant":"a.b"}`, 400, "tenant"},
		{"a form", "POST", "/v1/tokens", admin, "text/plain", `{"scope":"view"}`, 400, "Content-Type"},
		{"no JSON", "POST", "/v1/tokens", admin, asJSON, `{`, 400, "invalid"},
		{"a long body", "POST", "/v1/tokens", admin, asJSON, `{"name":"` + strings.Repeat("x", 70<<10) + `"}`, 413, "too_large"},
		{"revoking nothing", "DELETE", "/v1/tokens/tok_none", admin, "", "", 404, "not_found"},
		{"a viewer as a host", "GET", wire.HostPath, view, "", "", 403, "forbidden"},
		{"the operator as a host", "GET", wire.HostPath, r.token(t, server.Operator, wire.ScopeHost), "", "", 403, "forbidden"},
		{"a path as a file", "GET", wire.HostFilesPath + "/..%2f..%2fetc", host, "", "", 404, "not_found"},
		{"a viewer at the hosts' files", "GET", wire.HostFilesPath + "/abc", view, "", "", 403, "forbidden"},
		{"a file's ref with a dot", "POST", wire.HostFilesPath, host, asJSON, `{"ref":"../x","size":1}`, 400, "ref"},
		{"health", "GET", "/healthz", "", "", "", 200, "ok"},
		{"ready", "GET", "/readyz", "", "", "", 200, "ready"},
	} {
		got, body := r.do(t, c.method, c.path, c.token, c.typ, c.body)
		if got != c.want || !strings.Contains(body, c.holds) {
			t.Errorf("%s: %d %s, want %d with %q", c.name, got, body, c.want, c.holds)
		}
		for _, secret := range []string{operator, admin, control, view, host} {
			if strings.Contains(body, secret) {
				t.Errorf("%s: the answer holds a token: %s", c.name, body)
			}
		}
	}
}

func TestPairingOverHTTP(t *testing.T) {
	r := startRelay(t)
	admin := r.token(t, "acme", wire.ScopeAdmin)
	status, body := r.do(t, "POST", "/v1/pairings", admin, asJSON, `{"scope":"control"}`)
	var made struct {
		Code string `json:"code"`
	}
	if err := json.Unmarshal([]byte(body), &made); status != 201 || err != nil {
		t.Fatalf("%d %s", status, body)
	}
	redeem := func(code string) (int, string) {
		return r.do(t, "POST", "/v1/pair", "", asJSON, fmt.Sprintf(`{"code":%q,"name":"phone"}`, code))
	}
	if status, body := redeem("AAAAA-BBBBB"); status != 401 {
		t.Errorf("a wrong code: %d %s", status, body)
	}
	status, body = redeem(made.Code)
	var got struct {
		Secret string      `json:"secret"`
		Token  store.Token `json:"token"`
	}
	if err := json.Unmarshal([]byte(body), &got); status != 201 || err != nil || got.Token.Scope != wire.ScopeControl {
		t.Fatalf("pairing: %d %s", status, body)
	}
	if p := r.viewer(t, got.Secret); p.Caller.Name != "phone" {
		t.Errorf("the paired token is %+v", p.Caller)
	}
	if status, _ := redeem(made.Code); status != 401 {
		t.Errorf("a used code: %d", status)
	}
	limited := false
	for range 10 {
		if status, _ := redeem("AAAAA-BBBBB"); status == 429 {
			limited = true
		}
	}
	if !limited {
		t.Error("codes can be tried without a limit")
	}
}

// A revoked token ends a host's connection too, and nothing is told of others.
func TestTenants(t *testing.T) {
	r := startRelay(t)
	h := newFakeHost("laptop")
	h.add("session1", 1, 1)
	connect(t, h, r.http.URL, r.token(t, "acme", wire.ScopeHost))
	view, foreign := r.token(t, "acme", wire.ScopeView), r.token(t, "other", wire.ScopeAdmin)
	until(t, "the session", func() bool {
		_, err := r.viewer(t, view).Backend.Session(t.Context(), "session1")
		return err == nil
	})
	v := r.viewer(t, foreign)
	if _, err := v.Backend.Session(t.Context(), "session1"); code(err) != wire.CodeNotFound {
		t.Errorf("another tenant finds the session: %v", err)
	}
	if hosts, err := v.Backend.Hosts(t.Context()); len(hosts) != 0 || err != nil {
		t.Errorf("another tenant sees hosts %v, %v", hosts, err)
	}
	if _, err := v.Backend.Stream(t.Context(), "session1", 0); code(err) != wire.CodeNotFound {
		t.Errorf("another tenant reads: %v", err)
	}
	if _, err := v.Backend.Call(t.Context(), v.Caller, wire.SessionAbort, jsontext.Value(`{"session":"session1"}`)); code(err) != wire.CodeNotFound {
		t.Errorf("another tenant aborts: %v", err)
	}
	if _, err := v.Backend.Call(t.Context(), v.Caller, wire.SessionSpawn, jsontext.Value(`{"host":"laptop"}`)); code(err) != wire.CodeHostOffline {
		t.Errorf("another tenant spawns: %v", err)
	}
}

// Files of a host reach viewers, from where an upload broke off.
func TestHostFiles(t *testing.T) {
	r := startRelay(t)
	host := r.token(t, "acme", wire.ScopeHost)
	status, body := r.do(t, "POST", wire.HostFilesPath, host, asJSON, `{"ref":"file1","name":"a.txt","size":6}`)
	if status != 201 || !strings.Contains(body, `"ref":"file1"`) {
		t.Fatalf("%d %s", status, body)
	}
	if status, _ := r.do(t, "POST", wire.HostFilesPath, host, asJSON, `{"ref":"file1","size":6}`); status != 409 {
		t.Errorf("the same ref again: %d", status)
	}
	patch := func(offset, data string) int {
		req, _ := http.NewRequestWithContext(t.Context(), "PATCH", r.http.URL+wire.HostFilesPath+"/file1", strings.NewReader(data))
		req.Header.Set("Authorization", "Bearer "+host)
		req.Header.Set("Upload-Offset", offset)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	for _, c := range []struct {
		offset, data string
		want         int
	}{{"x", "abc", 400}, {"0", "abc", 200}, {"0", "abc", 409}, {"3", "defg", 413}, {"3", "def", 200}} {
		if got := patch(c.offset, c.data); got != c.want {
			t.Errorf("%s at %s: %d, want %d", c.data, c.offset, got, c.want)
		}
	}
	if status, body := r.do(t, "GET", wire.HostFilesPath+"/file1", host, "", ""); status != 200 || body != "abcdef" {
		t.Errorf("reading: %d %q", status, body)
	}
	files := r.viewer(t, r.token(t, "acme", wire.ScopeView)).Backend.(interface {
		Open(context.Context, string) (io.ReadCloser, wire.Upload, error)
	})
	f, _, err := files.Open(t.Context(), "file1")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, []byte("abcdef")) {
		t.Errorf("a viewer reads %q, %v", got, err)
	}
}

// A host pushes deltas and asks for its own sessions only: what people would answer
// is what the session's host asks.
func TestForeignLive(t *testing.T) {
	r := startRelay(t)
	mine := newFakeHost("mine")
	mine.add("session1", 1, 1)
	token := r.token(t, "acme", wire.ScopeHost)
	connect(t, mine, r.http.URL, token)
	v := r.viewer(t, r.token(t, "acme", wire.ScopeView))
	until(t, "the session", func() bool {
		s, err := v.Backend.Session(t.Context(), "session1")
		return err == nil && s.End == 1
	})
	seq, err := v.Backend.Stream(t.Context(), "session1", 0)
	if err != nil {
		t.Fatal(err)
	}
	next, stop := iter.Pull2(seq)
	defer stop()
	for { // the stream listens to what is live once it gives what is stored
		item, err, ok := next()
		if err != nil || !ok {
			t.Fatalf("the stream ended: %v", err)
		}
		if item.Line != nil {
			break
		}
	}
	liar, err := peer.Dial(t.Context(), strings.Replace(r.http.URL, "http", "ws", 1)+wire.HostPath, peer.Options{Token: token, Ordered: wire.Ordered})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- liar.Serve(t.Context(), nil) }()
	defer func() { liar.Close(peer.StatusNormal, ""); <-served }()
	hello := wire.Hello{Protocols: []string{wire.Protocol}, Host: &wire.Host{ID: "liar"}}
	if err := liar.Call(t.Context(), wire.HostHello, hello, nil); err != nil {
		t.Fatal(err)
	}
	say := func(session, text string) error {
		return liar.Call(t.Context(), wire.SessionLive, wire.LiveParams{Session: session, Items: []wire.Live{{Delta: &wire.Delta{Text: text}}}}, nil)
	}
	for session, want := range map[string]wire.Code{"session1": wire.CodeForbidden, "session9": wire.CodeNotFound, "a.>": wire.CodeInvalid, "": wire.CodeInvalid} {
		if err := say(session, "a lie"); code(err) != want {
			t.Errorf("live of %q = %v, want %s", session, err, want)
		}
	}
	// What follows comes and the lie does not: the relay passes on in order.
	nc := r.store.Conn()
	truth, err := wire.Marshal(wire.LiveParams{Session: "session1", Items: []wire.Live{{Delta: &wire.Delta{Text: "the truth"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish("live.acme.session1", truth); err != nil {
		t.Fatal(err)
	}
	for {
		item, err, ok := next()
		if err != nil || !ok {
			t.Fatalf("the stream ended: %v", err)
		}
		if item.Live == nil {
			continue
		}
		if item.Live.Delta == nil || item.Live.Delta.Text != "the truth" {
			t.Errorf("live is %+v, want the truth alone", item.Live)
		}
		return
	}
}

// A process whose store takes nothing is alive and not ready.
func TestNotReady(t *testing.T) {
	s, stop := openStore(t, t.TempDir())
	t.Cleanup(stop)
	var full atomic.Bool
	srv := server.New(server.Options{Store: s, Health: func() error {
		if full.Load() {
			return errors.New("no space left on device")
		}
		return nil
	}})
	t.Cleanup(srv.Close)
	for _, c := range []struct {
		full bool
		path string
		want int
	}{{false, "/readyz", 200}, {true, "/readyz", 503}, {true, "/healthz", 200}, {false, "/readyz", 200}} {
		full.Store(c.full)
		w := httptest.NewRecorder()
		srv.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path, nil))
		if w.Code != c.want {
			t.Errorf("%s, full %t: %d, want %d", c.path, c.full, w.Code, c.want)
		}
		w = httptest.NewRecorder()
		srv.Metrics().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		if want := map[bool]string{false: "\nagenthost_relay_ready 1\n", true: "\nagenthost_relay_ready 0\n"}[c.full]; !strings.Contains(w.Body.String(), want) {
			t.Errorf("full %t: the metrics have no %q", c.full, want)
		}
	}
}
