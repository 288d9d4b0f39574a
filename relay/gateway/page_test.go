package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/agenthost/agenthost/relay/gateway"
)

// The page of the agent's own screen is for everybody who may see this server at all, and
// for no page of another origin; a token in its address is refused like any other.
func TestTerminalPage(t *testing.T) {
	b := newBench(t, gateway.Options{})
	resp, body := b.do("GET", "/terminal/last", "", "")
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, "/terminal/-/xterm.js") || resp.Header.Get("Content-Security-Policy") == "" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("GET = %s, %v", resp.Status, resp.Header)
	}
	for _, c := range []struct {
		path   string
		header []string
		status int
	}{
		{"/terminal/last?token=s3cr3t", nil, http.StatusUnauthorized},
		{"/terminal/last", []string{"Host", "evil.example"}, http.StatusForbidden},
		{"/terminal/-/xterm.js", []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		{"/terminal/-/none.js", nil, http.StatusNotFound},
	} {
		if resp, body := b.do("GET", c.path, "", "", c.header...); resp.StatusCode != c.status || strings.Contains(body, "s3cr3t") {
			t.Errorf("GET %s %v = %s %s, want %d", c.path, c.header, resp.Status, body, c.status)
		}
	}
}
