package termpage

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

func get(t *testing.T, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	mux := http.NewServeMux()
	Register(mux)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	return w
}

// All that the page names is served, with a policy under which nothing else runs.
func TestPage(t *testing.T) {
	html := get(t, "GET", "/terminal/last")
	if html.Code != http.StatusOK || !strings.HasPrefix(html.Header().Get("Content-Type"), "text/html") {
		t.Fatalf("GET = %d %s", html.Code, html.Header().Get("Content-Type"))
	}
	if csp := html.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "script-src 'self';") || !strings.Contains(csp, "frame-ancestors 'none'") {
		t.Errorf("policy %q", csp)
	}
	body := html.Body.String()
	if inline := regexp.MustCompile(`<script>|<script [^>]*>[^<]| on[a-z]+=|javascript:|https?://`).FindString(body); inline != "" {
		t.Errorf("the page has %q, which its policy forbids", inline)
	}
	named := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(body, -1)
	if len(named) < 4 {
		t.Fatalf("the page names %v", named)
	}
	for _, n := range named {
		if w := get(t, "GET", n[1]); w.Code != http.StatusOK || w.Body.Len() == 0 || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("GET %s = %d", n[1], w.Code)
		}
	}
	if w := get(t, "GET", "/terminal/-/xterm.LICENSE"); !strings.Contains(w.Body.String(), "Permission is hereby granted") {
		t.Errorf("the license of xterm.js is not served")
	}
}

func TestPageRefuses(t *testing.T) {
	for _, path := range []string{"/terminal/-/page.go", "/terminal/-/terminal.html", "/terminal/", "/terminal/last/x", "/assets/terminal.js"} {
		if w := get(t, "GET", path); w.Code != http.StatusNotFound {
			t.Errorf("GET %s = %d, want %d", path, w.Code, http.StatusNotFound)
		}
	}
	if w := get(t, "POST", "/terminal/last"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST = %d", w.Code)
	}
}

// What the script calls of the protocol is there, and it says no address and no secret.
func TestScript(t *testing.T) {
	js := get(t, "GET", "/terminal/-/terminal.js").Body.String()
	for _, want := range []string{"'terminal.read'", "'terminal.input'", "'terminal.resize'", "'session.control'", "'viewer.hello'", "agenthost.v1", "bearer.", "epoch: meant", "keys do not go", "what was typed meanwhile is dropped"} {
		if !strings.Contains(js, want) {
			t.Errorf("the script has no %s", want)
		}
	}
	for _, never := range []string{"innerHTML", "eval(", "localStorage", "http://", "https://", "push(...", "catch(() => {})"} {
		if strings.Contains(js, never) {
			t.Errorf("the script has %s", never)
		}
	}
}
