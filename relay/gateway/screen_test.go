package gateway_test

import (
	"encoding/json/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/contract"
	"github.com/agenthost/agenthost/relay/gateway"
	"github.com/agenthost/agenthost/relay/wire"
)

// The screen is text for curl, and JSON for who takes that.
func TestScreen(t *testing.T) {
	b := newBench(t, gateway.Options{})
	b.host.Add(wire.Session{ID: "abcdefgh"})
	b.host.Show("abcdefgh", "$ make\nok")
	const path = "/v1/sessions/abcdefgh/screen"
	resp, body := b.do("GET", path, "view-token", "")
	if got := resp.Header.Get("Content-Type"); body != "$ make\nok\n" || got != "text/plain; charset=utf-8" {
		t.Errorf("GET = %q of %s, want the screen as text", body, got)
	}
	_, body = b.do("GET", path, "view-token", "", "Accept", "application/json")
	var s wire.TerminalScreen
	if err := json.Unmarshal([]byte(body), &s); err != nil || s.Cols != 80 || s.Rows != 24 || strings.Join(s.Lines, "\n") != "$ make\nok" {
		t.Errorf("GET as JSON = %s, %v", body, err)
	}
	if resp, body = b.do("GET", path, "", ""); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("GET without a token = %s %s", resp.Status, body)
	}
	if resp, body = b.do("GET", "/v1/sessions/none/screen", "view-token", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("GET of no session = %s %s", resp.Status, body)
	}
}

// Who watches does not type; who may control types when he holds control, and every
// other one is told who does.
func TestTerminalScopes(t *testing.T) {
	b := newBench(t, gateway.Options{})
	b.host.Add(wire.Session{ID: "abcdefgh"})
	const path = "/v1/sessions/abcdefgh/terminal/"
	const keys, size, read = `{"attachment":"a","offset":0,"data":"bHMN"}`, `{"cols":100,"rows":30}`, `{"after":-1}`
	want := func(token, what, body, code string) {
		t.Helper()
		resp, answer := b.do("POST", path+what, token, body)
		var e wire.Error
		if code == "" && resp.StatusCode >= 300 || code != "" && (json.Unmarshal([]byte(answer), &e) != nil || string(e.Code) != code) {
			t.Errorf("%s of %s = %s %s, want %q", what, token, resp.Status, answer, code)
		}
	}
	want("host-token", "read", read, "forbidden")
	want("view-token", "read", read, "")
	want("view-token", "input", keys, "forbidden")
	want("view-token", "size", size, "forbidden")
	for _, token := range []string{"control-token", "admin-token"} {
		want(token, "input", keys, "control")
		want(token, "size", size, "control")
	}
	b.host.Change("abcdefgh", func(s *wire.Session) {
		s.Control = &wire.Control{ClientType: contract.ClientPhone, TokenID: "id-of-control"}
	})
	want("admin-token", "input", keys, "control")
	want("control-token", "input", keys, "")
	want("control-token", "input", keys, "") // again: typed once
	want("control-token", "size", size, "")
	if got := b.host.Typed("abcdefgh"); got != "ls\r" {
		t.Errorf("typed %q, want %q", got, "ls\r")
	}
	if cols, rows, _ := b.host.Size("abcdefgh"); cols != 100 || rows != 30 {
		t.Errorf("size %dx%d, want 100x30", cols, rows)
	}
}
